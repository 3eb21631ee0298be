"use strict";
/* Needs as sliders: each stop is a value at which the ranking may change. */
annBench.sliders = (() => {
  const { el } = annBench.dom;
  const { kinds } = annBench.format;
  const most = 200;

  /* Distinct values in order; where there are too many, evenly picked ones. */
  function stopsOf(values) {
    const sorted = [...new Set(values.filter(annBench.format.known))].sort((a, b) => a - b);
    if (sorted.length <= most) return sorted;
    return Array.from({ length: most }, (_, i) => sorted[Math.round((i * (sorted.length - 1)) / (most - 1))]);
  }

  const recalls = [0, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.88, 0.9, 0.91, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97, 0.98, 0.985, 0.99, 0.995, 0.999, 1];

  const distance = (a, b) => (a === b ? 0 : Math.abs(a - b)); // two infinities are equal
  const nearest = (stops, value) =>
    stops.reduce((best, stop, place) => (distance(stop, value) < distance(stops[best], value) ? place : best), 0);

  /* options: {id, label, kind, stops, value, any, onchange(value)}; `any` is the stop that asks for nothing. */
  function slider(options) {
    const { id, stops, any } = options;
    const words = (value) => (value === any ? "any" : kinds[options.kind](value));
    const output = el("output", { for: id });
    const input = el("input", { type: "range", id, min: 0, max: stops.length - 1, step: 1 });

    function show(value) {
      output.textContent = words(value);
      input.setAttribute("aria-valuetext", words(value));
    }

    function set(value) {
      input.value = nearest(stops, value);
      show(value);
    }

    input.addEventListener("input", () => {
      show(stops[input.value]);
      options.onchange(stops[input.value]);
    });
    set(options.value);
    return { element: el("div", { class: "slider" }, el("label", { for: id }, options.label), output, input), set };
  }

  return { slider, stopsOf, recalls };
})();
