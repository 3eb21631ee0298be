"use strict";
/* What happened over the steps of a workload that changes its index. */
annBench.steps = (() => {
  const { el } = annBench.dom;
  /* Rows are [step, kind, points, seconds, live, memory, recall]. */
  const figures = {
    recall: { label: "Recall", kind: "share", of: (row) => row[6], when: (row) => row[1] === "search" },
    latency: { label: "Mean time of a query", kind: "seconds", of: (row) => row[3] / row[2], when: (row) => row[1] === "search" && row[2] > 0 },
    insert: { label: "Mean time of an insert", kind: "seconds", of: (row) => row[3] / row[2], when: (row) => row[1] === "insert" && row[2] > 0 },
    delete: { label: "Mean time of a delete", kind: "seconds", of: (row) => row[3] / row[2], when: (row) => row[1] === "delete" && row[2] > 0 },
    replace: { label: "Mean time of a replace", kind: "seconds", of: (row) => row[3] / row[2], when: (row) => row[1] === "replace" && row[2] > 0 },
    live: { label: "Live points", kind: "number", of: (row) => row[4], when: () => true },
    memory: { label: "Memory", kind: "bytes", of: (row) => row[5], when: (row) => row[5] > 0 },
  };

  /* `stages`: rows by algorithm; `shown(name)` says whether it is drawn; `figure` and `onchange(figure)` as in the address. */
  function panel(stages, styles, options) {
    const rows = Object.values(stages).flat();
    const names = Object.keys(figures).filter((name) => rows.some(figures[name].when));
    let current = names.includes(options.figure) ? options.figure : names[0];
    const place = el("div", { class: "picture", role: "img", "aria-label": "Figures over the steps of the workload; the data can be downloaded" });
    const select = el("select", { id: "step-figure" }, ...names.map((name) => el("option", { value: name, selected: name === current }, figures[name].label)));

    function draw() {
      const { label, kind, of, when } = figures[current];
      const found = Object.entries(stages).filter(([name]) => options.shown(name)).map(([name, all]) => {
        const part = all.filter(when);
        return { name, style: styles[name], x: part.map((row) => row[0]), y: part.map(of) };
      });
      return annBench.picture.lines(place, found, label, kind);
    }

    select.addEventListener("change", () => {
      current = select.value;
      options.onchange(current);
      draw();
    });
    const data = () => Object.entries(stages).flatMap(([algorithm, all]) =>
      all.map(([step, operation, points, seconds, live, memory_bytes, recall]) => ({ algorithm, step, operation, points, seconds, live, memory_bytes, recall })));
    const element = el("section", { "aria-label": "Step by step" }, el("h2", {}, "Step by step"),
      el("p", { class: "controls" }, el("label", { for: "step-figure" }, "Shown "), select, annBench.download.buttons("steps", data)), place);
    return { element, draw };
  }

  return { panel };
})();
