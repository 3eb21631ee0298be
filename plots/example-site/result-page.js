"use strict";
/* A result: its figures, what it takes to repeat it, and which queries it fails. */
annBench.frame.page(null, async (overview) => {
  const { el, link, facts } = annBench.dom;
  const { kinds, within, config } = annBench.format;
  const { boardHref, entryHref } = annBench.frame;
  const file = annBench.settings.subject("entry");
  const entry = await annBench.data.load(file);
  const result = entry.results.find((one) => one.key === annBench.settings.subject("result"));
  if (!result) throw new Error("This site has no such result.");
  const build = result.build;
  const query = result.query;

  const figures = Object.entries(entry.axes).filter(([name]) => result[name] !== null)
    .map(([name, axis]) => [axis.label, within(axis.kind, result[name], result[`${name}_low`], result[`${name}_high`])]);

  /* Nested provenance as nested lists. */
  const tree = (value) => {
    if (value === null || typeof value !== "object") return String(value ?? "–");
    if (Array.isArray(value)) return value.every((one) => one === null || typeof one !== "object") ? value.join(", ") : JSON.stringify(value);
    return facts(Object.entries(value).map(([name, one]) => [name, tree(one)]));
  };

  const steps = result.stages.length ? annBench.steps.panel({ [entry.name]: result.stages }, overview.styles, { shown: () => true, figure: null, onchange: () => {} }) : null;
  const invalid = Object.entries(result.invalid);
  const content = [
    el("h1", {}, entry.name, el("small", {}, ` on ${result.place}`)),
    el("p", {}, link(entryHref(file), "All results of this entry"), result.board ? " · " : null, result.board ? link(boardHref(result.board), "Its board") : null),
    result.status === "ok" ? null : el("p", { class: "warning" }, `${result.status}${result.detail ? `: ${result.detail}` : ""}`),
    ...result.notes.map((note) => el("p", { class: "warning" }, note)),
    invalid.length ? el("p", { class: "warning" }, `Invalid ids in the worst run: ${invalid.map(([kind, count]) => `${count} ${kind.replaceAll("_", " ")}`).join(", ")}`) : null,
    el("h2", {}, "Operating point"),
    facts([["Build", config(build)], ["Query", config(query)], ["Measured", `${result.measured}, ${result.queries} queries`]]),
    el("h2", {}, "Figures"),
    facts(figures),
    result.rates.length ? facts([["Queries per second of each run", result.rates.map((runs) => runs.map((rate) => kinds.number(rate)).join(" ")).join("; ")]]) : null,
    steps ? steps.element : null,
    el("h2", {}, "Queries"),
    ...(result.drill ? annBench.queries.sections(result.drill) : [el("p", {}, "No query of this result has answers to count.")]),
    el("h2", {}, "Provenance"),
    facts([["Result", result.key]]),
    tree(result.identity),
    el("h3", {}, "When and where"),
    tree(result.provenance),
    result.workload.length ? el("details", {}, el("summary", {}, `Workload: ${result.operations} operations`),
      el("ul", {}, ...result.workload.map((operation) => el("li", {}, config(operation)))),
      result.operations > result.workload.length ? el("p", {}, `and ${result.operations - result.workload.length} more`) : null) : null,
    result.usage ? el("details", {}, el("summary", {}, "Memory and CPU of the whole run"), tree(result.usage)) : null,
    result.stats && Object.keys(result.stats).length ? el("details", {}, el("summary", {}, "What the entry says of itself"), tree(result.stats)) : null,
    result.log ? el("details", {}, el("summary", {}, "Last lines of its log"), el("pre", { tabindex: "0" }, result.log)) : null,
    el("p", {}, annBench.download.buttons(`result-${result.key}`, () => [result])),
  ].filter(Boolean);
  if (steps) document.addEventListener("themechange", steps.draw);
  return { title: `${entry.name}, ${config(query)}`, content, ready: steps ? steps.draw : null };
});
