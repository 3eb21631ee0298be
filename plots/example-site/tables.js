"use strict";
/* Tables whose heads sort them. */
annBench.tables = (() => {
  const { el } = annBench.dom;

  /* columns: {head, cell(row) -> text or element, sort(row) -> number or text, left, wide}; heads with `sort`
     are buttons. `left` is for texts, `wide` for long ones. */
  const classOf = (column) => (column.wide ? "left wide" : column.left ? "left" : null);

  function table(columns, rows, options = {}) {
    const body = el("tbody");
    const heads = columns.map((column) => el("th", { scope: "col", class: classOf(column) }));
    let turned = null;

    function fill(order) {
      body.replaceChildren(
        ...order.map((row) =>
          el("tr", {}, ...columns.map((column) => el("td", { class: classOf(column) }, column.cell(row)))),
        ),
      );
    }

    function sort(column, head) {
      const up = turned && turned.head === head ? !turned.up : Boolean(column.left);
      if (turned) turned.head.removeAttribute("aria-sort");
      turned = { head, up };
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      fill([...rows].sort((a, b) => compare(column.sort(a), column.sort(b), up)));
    }

    columns.forEach((column, place) => {
      const press = () => sort(column, heads[place]);
      heads[place].append(column.sort ? annBench.dom.button(column.head, press, { class: "sort" }) : column.head);
    });
    fill(rows);
    return el("table", { class: options.class }, options.caption ? el("caption", {}, options.caption) : null,
      el("thead", {}, el("tr", {}, ...heads)), body);
  }

  /* What is missing stands last, whichever way. */
  function compare(a, b, up) {
    const none = (value) => value === null || value === undefined || Number.isNaN(value);
    if (none(a) || none(b)) return none(a) - none(b);
    const order = typeof a === "string" ? a.localeCompare(b) : a - b;
    return up ? order : -order;
  }

  return { table };
})();
