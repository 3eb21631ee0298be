"use strict";
/* Data of a picture or a table as a file, made in the browser. */
annBench.download = (() => {
  function save(name, type, text) {
    const address = URL.createObjectURL(new Blob([text], { type }));
    const link = annBench.dom.el("a", { href: address, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }

  function cell(value) {
    if (value === null || value === undefined) return "";
    let text = typeof value === "object" ? JSON.stringify(value) : String(value);
    if (typeof value !== "number" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`; // no formula for a spreadsheet
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  function csv(rows) {
    const columns = [...new Set(rows.flatMap(Object.keys))];
    return [columns, ...rows.map((row) => columns.map((name) => row[name]))].map((line) => line.map(cell).join(",") + "\n").join("");
  }

  /* Two buttons; `rows()` gives objects when one is pressed. */
  function buttons(name, rows) {
    const { el, button } = annBench.dom;
    return el(
      "span",
      { class: "buttons" },
      button("CSV", () => save(`${name}.csv`, "text/csv", csv(rows())), { "aria-label": "Download the data as CSV" }),
      button("JSON", () => save(`${name}.json`, "application/json", JSON.stringify(rows(), null, 1) + "\n"), {
        "aria-label": "Download the data as JSON",
      }),
    );
  }

  return { csv, buttons };
})();
