"use strict";
/* Elements from text that is only ever text. */
annBench.dom = (() => {
  function el(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "on") {
        for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
      } else if (value === true) {
        element.setAttribute(name, "");
      } else if (value !== false && value !== null && value !== undefined) {
        element.setAttribute(name, value);
      }
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  }

  const link = (href, text, attributes = {}) => el("a", { href, ...attributes }, text);

  const button = (text, listener, attributes = {}) =>
    el("button", { type: "button", on: { click: listener }, ...attributes }, text);

  /* A table that scrolls by itself where it is too wide, also by keyboard. */
  const scroll = (label, table) => el("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": label }, table);

  /* Names and values in two columns. */
  function facts(pairs) {
    const list = el("dl", { class: "facts" });
    for (const [name, value] of pairs) list.append(el("dt", {}, name), el("dd", {}, value));
    return list;
  }

  return { el, link, button, scroll, facts };
})();
