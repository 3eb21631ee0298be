"use strict";
/* A track and data set: needs, picture and ranking that follow each other. */
annBench.frame.page(annBench.settings.subject("board"), async (overview) => {
  const { el, link, button, scroll } = annBench.dom;
  const { kinds, within, config } = annBench.format;
  const { entryHref, resultHref } = annBench.frame;
  const file = annBench.settings.subject("board");
  const data = await annBench.data.load(`board-${file}`);
  const files = new Map(overview.entries.map((entry) => [entry.name, entry.file]));
  const figure = data.rule ? data.rule.figure : data.stream ? "recall" : "qps";
  const official = data.rule && data.rule.least ? data.rule.least : 0;
  const has = (name) => Object.hasOwn(data.axes, name);
  const height = data.single && has("p99") ? "p99" : data.stream && has("search_seconds") ? "search_seconds" : "qps";
  const usual = { x: has("recall") ? "recall" : Object.keys(data.axes)[0], y: height };
  const built = data.stream ? "update_seconds" : "build_seconds";

  /* Points as objects, by set of conditions. */
  const sets = data.sets.map((set) => ({
    ...set,
    points: set.points.map((row, place) => {
      const point = Object.fromEntries(data.columns.map((name, place) => [name, row[place]]));
      return { ...point, build: data.configs[point.build], query: data.configs[point.query], built: point[built] || 0, spread: set.spreads[place] };
    }),
  }));

  const state = { set: 0, ...usual, even: false, recall: official, memory: Infinity, build: Infinity, off: new Set(), steps: null };
  const current = () => sets[state.set];
  const names = () => [...new Set(current().points.map((point) => point.algorithm))];

  function restore() {
    const kept = annBench.settings.read();
    const first = (name) => (kept[name] ? kept[name][0] : null);
    const number = (name, usual) => (first(name) !== null && first(name) !== "" && !Number.isNaN(Number(first(name))) ? Number(first(name)) : usual);
    state.set = Math.max(0, sets.findIndex((set) => set.id === first("set")));
    state.x = has(first("x")) ? first("x") : usual.x;
    state.y = has(first("y")) ? first("y") : usual.y;
    state.even = first("scale") === "even";
    state.recall = number("recall", official);
    state.memory = number("memory", Infinity);
    state.build = number("build", Infinity);
    state.steps = first("steps");
    state.off = new Set(kept.only ? names().filter((name) => !kept.only.includes(name)) : kept.off || []);
  }

  function keep() {
    const unless = (value, usual) => (value === usual ? null : value);
    annBench.settings.write({
      set: state.set ? current().id : null,
      x: unless(state.x, usual.x),
      y: unless(state.y, usual.y),
      scale: state.even ? "even" : null,
      recall: unless(state.recall, official),
      memory: unless(state.memory, Infinity),
      build: unless(state.build, Infinity),
      steps: state.steps,
      off: state.off.size ? [...state.off] : null,
    });
  }

  const needs = () => ({ least: { recall: state.recall }, most: { peak_memory_bytes: state.memory, built: state.build } });
  const visible = () => current().points.filter((point) => !state.off.has(point.algorithm));

  /* The ranking. */
  const ranking = el("div");
  const said = el("p", { role: "status", "aria-live": "polite", id: "said" });
  const shownConfig = (point) => [point.build, point.query].filter((part) => Object.keys(part).length).map(config).join("; ") || "no arguments";
  const named = (point) => el("span", { class: "entry" }, annBench.legend.swatch(overview.styles[point.algorithm]),
    link(entryHref(files.get(point.algorithm)), point.algorithm));

  function rankingTable() {
    const all = annBench.ranking.rank(current().points, needs(), figure);
    const tiers = annBench.tiers.of(all, figure);
    const rows = all.map((point, place) => ({ ...point, place: place + 1, tier: tiers[place] })).filter((point) => !state.off.has(point.algorithm));
    const count = names().length;
    said.textContent = all.length ? `${all.length} of ${count} algorithms meet these needs.` : `None of ${count} algorithms meets these needs.`;
    const number = (name, head, cell) => (has(name) ? [{ head, cell: cell || ((point) => kinds[data.axes[name].kind](point[name])), sort: (point) => point[name] }] : []);
    const columns = [
      { head: "Rank", cell: (point) => point.place, sort: (point) => -point.place },
      { head: "Tier", cell: (point) => point.tier || "–" },
      { head: "Algorithm", left: true, cell: named, sort: (point) => point.algorithm },
      ...number("recall", data.measured, (point) => (figure === "recall" ? within("share", point.recall, point.recall_low, point.recall_high) : kinds.share(point.recall))),
      ...number("qps", "QPS", (point) => within("number", point.qps, point.qps_low, point.qps_high)),
      ...(data.single ? number("p99", "p99") : []),
      ...number(built, data.stream ? "Changes" : "Build"),
      ...number("peak_memory_bytes", "Memory"),
      { head: "Operating point", wide: true, cell: (point) => link(resultHref(files.get(point.algorithm), point.key), shownConfig(point)) },
    ];
    ranking.replaceChildren(scroll("Ranking", annBench.tables.table(columns, rows, { class: "ranking" })));
  }

  /* What others have published, by the same rule; it has no rank here. */
  const beside = el("div");
  function publishedTable() {
    const found = annBench.ranking.rank(data.published, { least: { recall: state.recall }, most: { built: state.build } }, figure);
    beside.replaceChildren(found.length ? scroll("Published elsewhere", annBench.tables.table([
      { head: "Algorithm", left: true, cell: (row) => row.algorithm, sort: (row) => row.algorithm },
      { head: "Recall", cell: (row) => kinds.share(row.recall), sort: (row) => row.recall },
      { head: "QPS", cell: (row) => kinds.number(row.qps), sort: (row) => row.qps },
      { head: "Build", cell: (row) => kinds.seconds(row.built), sort: (row) => row.built },
      { head: "Measured on", left: true, cell: (row) => row.machine },
      { head: "Operating point", wide: true, cell: (row) => row.parameters },
    ], found)) : el("p", {}, "None of them meets these needs."));
  }

  /* The picture. */
  const place = el("div", { class: "picture", id: "picture", role: "img" });
  const picked = el("p", { class: "picked", "aria-live": "polite" });
  const pick = (point) => picked.replaceChildren(named(point), " ", link(resultHref(files.get(point.algorithm), point.key), shownConfig(point)),
    ` recall ${kinds.share(point.recall)}, ${kinds.number(point.qps)} QPS`);

  function drawPicture() {
    place.setAttribute("aria-label", `${data.axes[state.y].label} against ${data.axes[state.x].label} of ${names().length} algorithms; the table below has the same data`);
    return annBench.picture.draw(place, {
      points: visible(), axes: data.axes, x: state.x, y: state.y, even: state.even, styles: overview.styles,
      fits: (point) => annBench.ranking.fits(point, needs()), bound: state.recall, onpick: pick,
    });
  }

  let waiting = false;
  function refresh() {
    keep();
    rankingTable();
    publishedTable();
    if (waiting) return;
    waiting = true; // a slider moves faster than a picture is drawn
    requestAnimationFrame(() => {
      waiting = false;
      drawPicture();
      if (steps) steps.draw();
    });
  }

  /* Controls. */
  restore();
  const axisSelect = (id, label) => {
    const select = el("select", { id }, ...Object.entries(data.axes).map(([name, axis]) => el("option", { value: name }, axis.label)));
    select.addEventListener("change", () => {
      state[id] = select.value;
      refresh();
    });
    return { select, element: el("span", {}, el("label", { for: id }, label), " ", select) };
  };
  const xAxis = axisSelect("x", "Across");
  const yAxis = axisSelect("y", "Up");
  const even = el("input", { type: "checkbox", id: "even" });
  even.addEventListener("change", () => {
    state.even = even.checked;
    refresh();
  });
  const setSelect = el("select", { id: "set" }, ...sets.map((set, i) => el("option", { value: i }, `${set.conditions} (${set.points.length} results)`)));
  setSelect.addEventListener("change", () => {
    state.set = Number(setSelect.value);
    keep();
    window.location.reload(); // other results, other sliders
  });

  const bound = (id, label, kind, values) => {
    const stops = [...annBench.sliders.stopsOf(values), Infinity];
    return annBench.sliders.slider({ id, label, kind, stops, any: Infinity, value: state[id], onchange: (value) => { state[id] = value; refresh(); } });
  };
  const sliders = { recall: annBench.sliders.slider({
    id: "recall", label: "Recall at least", kind: "share", stops: annBench.sliders.recalls, any: 0, value: state.recall,
    onchange: (value) => { state.recall = value; refresh(); },
  }) };
  if (has("peak_memory_bytes")) sliders.memory = bound("memory", "Memory at most", "bytes", current().points.map((point) => point.peak_memory_bytes));
  if (has(built)) sliders.build = bound("build", data.stream ? "All changes at most" : "Build time at most", "seconds", current().points.map((point) => point.built));

  const order = annBench.ranking.rank(current().points, { least: {}, most: {} }, figure).map((point) => point.algorithm);
  const legend = annBench.legend.legend(order, overview.styles, state.off, refresh);
  const steps = Object.keys(data.steps).length && state.set === 0
    ? annBench.steps.panel(data.steps, overview.styles, {
        figure: state.steps, shown: (name) => !state.off.has(name),
        onchange: (name) => { state.steps = name; keep(); },
      })
    : null;

  function sync() {
    xAxis.select.value = state.x;
    yAxis.select.value = state.y;
    even.checked = state.even;
    setSelect.value = state.set;
    for (const [name, slider] of Object.entries(sliders)) slider.set(state[name]);
    legend.sync();
  }

  function reset() {
    Object.assign(state, usual, { even: false, recall: official, memory: Infinity, build: Infinity, steps: null });
    state.off.clear();
    sync();
    refresh();
  }

  window.addEventListener("hashchange", () => window.location.reload());
  document.addEventListener("themechange", refresh);

  const rows = (points) => points.map(({ built: _, spread: __, ...point }) => point);
  const failures = current().failures;
  const remarks = [...data.remarks];
  const every = el("details", {}, el("summary", {}, "Every result as a table"));
  every.addEventListener("toggle", () => {
    if (every.open && every.children.length === 1) every.append(scroll("All results", annBench.tables.table([
      { head: "Algorithm", left: true, cell: named, sort: (point) => point.algorithm },
      ...Object.entries(data.axes).map(([name, axis]) => ({ head: axis.label, cell: (point) => kinds[axis.kind](point[name]), sort: (point) => point[name] })),
      { head: "Operating point", wide: true, cell: (point) => link(resultHref(files.get(point.algorithm), point.key), shownConfig(point)) },
    ], current().points)));
  });

  const content = [
    el("h1", {}, data.title),
    el("p", {}, `Ranked by ${data.rule_text}. `, current().conditions, current().official ? "." : ": entries ran as plain processes, so this ranking is unofficial."),
    sets.length > 1 ? el("p", { class: "controls" }, el("label", { for: "set" }, "Conditions "), setSelect) : null,
    el("div", { class: "board" },
      el("div", { class: "side" },
        el("fieldset", { class: "panel" }, el("legend", {}, "Needs"), ...Object.values(sliders).map((slider) => slider.element), said),
        legend.element),
      el("section", { class: "centre", "aria-label": "Picture" },
        el("div", { class: "controls" }, xAxis.element, yAxis.element, el("span", {}, even, " ", el("label", { for: "even" }, "Even scales")),
          button("Reset", reset), annBench.download.buttons(data.name, () => rows(visible()))),
        place, picked)),
    el("h2", {}, "Ranking"),
    el("p", {}, `The best operating point of each algorithm that meets the needs, by ${figure === "qps" ? "queries per second" : "recall"}. Entries of one tier cannot be told apart. The address holds these settings: share it.`),
    ranking,
    data.published.length ? el("section", {}, el("h2", {}, "Published elsewhere"),
      el("p", {}, "Measured by others, on machines of their own: shown beside, never ranked with what was measured here."), beside) : null,
    steps ? steps.element : null,
    remarks.length && state.set === 0 ? el("section", {}, el("h2", {}, "Not ranked"), el("ul", {}, ...remarks.map((line) => el("li", {}, line)))) : null,
    failures.length ? el("section", {}, el("h2", {}, "Failed"), el("ul", {}, ...failures.map(([key, name, status, detail]) =>
      el("li", {}, link(resultHref(files.get(name), key), `${name}: ${status}`), detail ? ` (${detail})` : "")))) : null,
    every,
  ].filter(Boolean);
  sync();
  rankingTable();
  publishedTable();
  return { title: data.title, content, ready: async () => { await drawPicture(); if (steps) await steps.draw(); } };
});
