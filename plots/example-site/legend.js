"use strict";
/* Marks of algorithms, and the list that shows and hides them. */
annBench.legend = (() => {
  const { el, button } = annBench.dom;
  const space = "http://www.w3.org/2000/svg";
  const shapes = {
    circle: "M8 4a4 4 0 1 0 .01 0z",
    cross: "M6.5 3.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
    "triangle-down": "M3.5 5h9L8 12.5z",
    "triangle-left": "M11 3.5v9L3.5 8z",
    x: "M5.2 3.2 8 6l2.8-2.8 2 2L10 8l2.8 2.8-2 2L8 10l-2.8 2.8-2-2L6 8 3.2 5.2z",
    square: "M4.5 4.5h7v7h-7z",
    pentagon: "M8 3.5l4.3 3.1-1.6 5.1H5.3L3.7 6.6z",
    "triangle-right": "M5 3.5v9L12.5 8z",
    diamond: "M8 3l5 5-5 5-5-5z",
    "triangle-up": "M3.5 11h9L8 3.5z",
    star: "M8 2.5l1.4 3.8 4 .2-3.1 2.5 1 3.9L8 10.7l-3.3 2.2 1-3.9-3.1-2.5 4-.2z",
  };

  const colour = (style) => (annBench.theme.dark() ? style[1] : style[0]);

  /* A small picture of an algorithm's marker; it says nothing that the name beside it does not. */
  function swatch(style) {
    const svg = document.createElementNS(space, "svg");
    const path = document.createElementNS(space, "path");
    const line = document.createElementNS(space, "path");
    for (const [name, value] of Object.entries({ viewBox: "-4 0 24 16", width: 24, height: 16, class: "swatch", "aria-hidden": "true" })) {
      svg.setAttribute(name, value);
    }
    line.setAttribute("d", "M-4 8h24");
    line.setAttribute("class", "line");
    path.setAttribute("class", "mark");
    if (style[3] !== "solid") line.setAttribute("stroke-dasharray", style[3].replaceAll("px", ""));
    path.setAttribute("d", shapes[style[2]]);
    svg.append(line, path);
    const paint = () => svg.style.setProperty("--mark", colour(style));
    paint();
    document.addEventListener("themechange", paint);
    return svg;
  }

  /* names in order; `off` is a Set that this list changes; `onchange()` after each change. */
  function legend(names, styles, off, onchange) {
    const boxes = new Map();
    const list = el("ul", { class: "legend" });
    names.forEach((name, place) => {
      const box = el("input", { type: "checkbox", id: `show-${place}`, checked: !off.has(name) });
      box.addEventListener("change", () => {
        if (box.checked) off.delete(name);
        else off.add(name);
        onchange();
      });
      boxes.set(name, box);
      list.append(el("li", {}, box, el("label", { for: box.id }, swatch(styles[name]), el("span", { class: "name" }, name))));
    });

    function sync() {
      for (const [name, box] of boxes) box.checked = !off.has(name);
    }

    function all(hidden) {
      for (const name of names) {
        if (hidden) off.add(name);
        else off.delete(name);
      }
      sync();
      onchange();
    }

    const element = el("fieldset", { class: "panel" }, el("legend", {}, "Algorithms"),
      el("p", { class: "buttons" }, button("Show all", () => all(false)), button("Hide all", () => all(true))), list);
    return { element, sync };
  }

  return { legend, swatch, colour };
})();
