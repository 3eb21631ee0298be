"use strict";
/* Pictures by plotly. Names reach it escaped, because it reads some HTML in its texts. */
annBench.picture = (() => {
  const { kinds, config, known } = annBench.format;
  const ticks = [1, 0.9, 0.99, 0.95, 0.5, 0.999, 0.8, 0, 0.98, 0.7, 0.6, 0.995, 0.3, 0.4, 0.2, 0.1, 0.97, 0.85]; // the wanted first
  let library = null;

  const ready = () => (library = library || annBench.data.script("lib/plotly.min.js"));
  const escape = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  /* How an axis places values: ratios, or for shares the distance from 1, unless the visitor wants them even. */
  function scaleOf(axis, values, even, width) {
    const least = Math.min(...values, 1);
    if (axis.kind === "share" && !even && (least < 0.8 || least >= 0.98)) {
      const gap = least >= 0.98 ? 0.001 : 0.01;
      const place = (value) => -Math.log10(1 + gap - value);
      return { place, layout: ticksOf(place, least, Math.max(...values), 45 / width) };
    }
    const log = axis.log && !even && values.every((value) => value > 0);
    return { place: (value) => value, layout: log ? { type: "log", nticks: 6, tickformat: ",.4~r" } : {} };
  }

  /* The wanted ticks that have room beside each other. */
  function ticksOf(place, least, most, part) {
    const room = part * (place(most) - place(least));
    const shown = [];
    for (const tick of ticks) {
      if (tick >= least - 0.05 && shown.every((other) => Math.abs(place(other) - place(tick)) > room)) shown.push(tick);
    }
    return { tickvals: shown.map(place), ticktext: shown.map(String) };
  }

  function units(axis, values) {
    if (axis.kind !== "bytes") return axis.kind === "seconds" ? { by: 1, label: `${axis.label} (s)` } : { by: 1, label: axis.label };
    const large = Math.max(...values) >= 2 ** 30;
    return { by: large ? 2 ** -30 : 2 ** -20, label: `${axis.label} (${large ? "GiB" : "MiB"})` };
  }

  /* Where all values are one, plotly would show far too much beside it. */
  function around(values, by, scale) {
    if (!values.length || values.some((value) => value !== values[0])) return {};
    const at = scale.place(values[0] * by);
    if (scale.layout.type === "log") return { range: [Math.log10(at) - 0.3, Math.log10(at) + 0.3] };
    const room = Math.abs(at) * 0.1 || 1;
    return { range: [at - room, at + room] };
  }

  /* A figure, its axis and the values on it, ready to be placed. */
  function prepare(name, axis, points, even, width) {
    const values = points.map((point) => point[name]).filter(known);
    const unit = units(axis, values);
    const scale = scaleOf(axis, values.map((value) => value * unit.by), even, width);
    return {
      name,
      better: axis.better,
      place: (point) => (known(point[name]) ? scale.place(point[name] * unit.by) : null),
      at: (value) => scale.place(value * unit.by),
      layout: { ...scale.layout, ...around(values, unit.by, scale), title: { text: escape(unit.label) } },
    };
  }

  function hover(point, axes) {
    const lines = [`<b>${escape(point.algorithm)}</b>`];
    for (const part of [point.build, point.query]) if (Object.keys(part).length) lines.push(escape(config(part)));
    for (const name of ["recall", "qps", "build_seconds", "peak_memory_bytes"]) {
      if (axes[name] && known(point[name])) lines.push(`${escape(axes[name].label)}: ${kinds[axes[name].kind](point[name])}`);
    }
    return lines.flatMap((line) => line.match(/.{1,90}/gu) || []).join("<br>");
  }

  function common(x, y) {
    const axis = { gridcolor: css("--line"), zeroline: false, linecolor: css("--muted"), automargin: true };
    return {
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: css("--text"), family: "system-ui, sans-serif", size: 13 },
      margin: { l: 56, r: 12, t: 30, b: 48 },
      showlegend: false,
      hovermode: "closest",
      hoverlabel: { align: "left", bgcolor: css("--panel"), font: { color: css("--text") } },
      dragmode: window.matchMedia("(pointer: coarse)").matches ? false : "zoom",
      modebar: { bgcolor: "rgba(0,0,0,0)", color: css("--muted"), activecolor: css("--text") },
      xaxis: { ...axis, ...x },
      yaxis: { ...axis, ...y },
    };
  }

  /* Only these buttons: another one would send the data to a service. */
  const buttons = [["toImage"], ["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]];
  const settings = { responsive: true, displaylogo: false, modeBarButtons: buttons };

  /* Plotly's own buttons have pictures only. */
  function name(place) {
    for (const button of place.querySelectorAll(".modebar-btn")) button.setAttribute("aria-label", button.dataset.title);
  }

  /* Lines through the front of each algorithm, its other points small beside it.
     scene: {points, axes, x, y, even, styles, fits(point), bound, onpick(point)}. */
  async function draw(place, scene) {
    await ready();
    const x = prepare(scene.x, scene.axes[scene.x], scene.points, scene.even, place.clientWidth - 80);
    const y = prepare(scene.y, scene.axes[scene.y], scene.points, scene.even, place.clientHeight - 80);
    const style = (point) => scene.styles[point.algorithm];
    const trace = (name, part, mode, size, opacity) => ({
      type: "scatter", mode, name: escape(name), x: part.map(x.place), y: part.map(y.place), customdata: part.map((point) => point.key),
      hoverinfo: "text", hovertext: part.map((point) => hover(point, scene.axes)),
      marker: {
        size, color: part.map((point) => annBench.legend.colour(style(point))), symbol: part.map((point) => style(point)[2]),
        opacity: part.map((point) => (scene.fits(point) ? opacity : 0.3)),
      },
    });
    const beaten = [];
    const fronts = [];
    for (const [name, points] of grouped(scene.points)) {
      const front = new Set(annBench.ranking.front(points, x, y));
      beaten.push(...points.filter((point) => !front.has(point)));
      const line = { color: annBench.legend.colour(scene.styles[name]), width: 1.5, dash: scene.styles[name][3] };
      fronts.push({ ...trace(name, [...front], "lines+markers", 9, 1), line });
    }
    const traces = [trace("beaten", beaten, "markers", 5, 0.6), ...fronts];
    const layout = common(x.layout, y.layout);
    const bound = (on) => ({ type: "line", line: { color: css("--muted"), dash: "dash", width: 1 }, ...on });
    if (scene.bound > 0 && scene.x === "recall") layout.shapes = [bound({ yref: "paper", y0: 0, y1: 1, x0: x.at(scene.bound), x1: x.at(scene.bound) })];
    if (scene.bound > 0 && scene.y === "recall") layout.shapes = [bound({ xref: "paper", x0: 0, x1: 1, y0: y.at(scene.bound), y1: y.at(scene.bound) })];
    layout.uirevision = `${scene.x} ${scene.y} ${scene.even}`;
    const known = new Map(scene.points.map((point) => [point.key, point]));
    await window.Plotly.react(place, traces, layout, settings);
    name(place);
    place.removeAllListeners("plotly_click");
    place.on("plotly_click", (event) => scene.onpick(known.get(event.points[0].customdata)));
  }

  function grouped(points) {
    const groups = new Map();
    for (const point of points) groups.set(point.algorithm, [...(groups.get(point.algorithm) || []), point]);
    return groups;
  }

  /* One line an algorithm over the steps of a workload. lines: [{name, style, x, y}]. */
  async function lines(place, found, label, kind) {
    await ready();
    const traces = found.map(({ name, style, x, y }) => ({
      type: "scatter", mode: x.length > 40 ? "lines" : "lines+markers", name: escape(name), x, y, hoverinfo: "text",
      hovertext: x.map((step, i) => `<b>${escape(name)}</b><br>step ${step}: ${kinds[kind](y[i])}`),
      line: { color: annBench.legend.colour(style), width: 1.5, dash: style[3] },
      marker: { color: annBench.legend.colour(style), symbol: style[2], size: 7 },
    }));
    const values = found.flatMap(({ y }) => y);
    const unit = units({ label, kind }, values);
    for (const trace of traces) trace.y = trace.y.map((value) => (known(value) ? value * unit.by : null));
    await window.Plotly.react(place, traces, common({ title: { text: "Step of the workload" } }, { title: { text: escape(unit.label) } }), settings);
    name(place);
  }

  return { draw, lines };
})();
