"use strict";
/* Which queries fail. */
annBench.queries = (() => {
  const { el, scroll } = annBench.dom;
  const { table } = annBench.tables;
  const percent = (part) => (part > 0 && part < 0.001 ? "< 0.1 %" : `${(100 * part).toFixed(1)} %`);

  const bar = (part) => el("span", { class: "bar", style: `--part: ${(100 * part).toFixed(2)}%` });

  function histogram(drill) {
    const total = drill.queries - drill.empty;
    const most = Math.max(...drill.bins);
    const rows = drill.bins.map((count, tenth) => ({ recall: tenth === 10 ? "100 %" : `${10 * tenth}–${10 * tenth + 9} %`, queries: count }));
    return { rows, element: scroll("Queries by recall", table(
      [
        { head: "Recall", left: true, cell: (row) => row.recall },
        { head: "Queries", cell: (row) => row.queries.toLocaleString("en") },
        { head: "Share", cell: (row) => percent(row.queries / total) },
        { head: "", left: true, cell: (row) => bar(row.queries / most) },
      ], rows, { class: "bars" })) };
  }

  /* Queries in groups; `found` are rows of label, queries, recall, how many lack an answer. */
  function groups(head, name, found) {
    const rows = found.map(([label, queries, recall, failing]) => ({ [name]: label, queries, recall, failing }));
    return { rows, element: scroll(`Queries by ${head}`, table(
      [
        { head, left: true, cell: (row) => row[name] },
        { head: "Queries", cell: (row) => row.queries.toLocaleString("en") },
        { head: "Recall", cell: (row) => annBench.format.kinds.share(row.recall) },
        { head: "Lack an answer", cell: (row) => percent(row.failing / row.queries) },
        { head: "", left: true, cell: (row) => bar(row.recall) },
      ], rows, { class: "bars" })) };
  }

  function worst(drill) {
    const rows = drill.worst.map(([query, hits, strict, possible]) => ({ query, recall: hits / possible, hits, strict, possible }));
    return { rows, element: scroll("Worst queries", table(
      [
        { head: "Query", cell: (row) => row.query, sort: (row) => row.query },
        { head: "Recall", cell: (row) => annBench.format.kinds.share(row.recall), sort: (row) => row.recall },
        { head: "Found", cell: (row) => row.hits, sort: (row) => row.hits },
        { head: "Found by id", cell: (row) => row.strict, sort: (row) => row.strict },
        { head: "To find", cell: (row) => row.possible, sort: (row) => row.possible },
      ], rows)) };
  }

  /* All that is known of the queries of a result, as sections. */
  function sections(drill) {
    const total = drill.queries - drill.empty;
    const lacking = total - drill.bins[10];
    const parts = [el("p", {}, `${lacking.toLocaleString("en")} of ${total.toLocaleString("en")} queries lack a true answer in some search or run.`,
      drill.empty ? ` ${drill.empty.toLocaleString("en")} have no true answer and are not counted.` : "")];
    const add = (title, name, { rows, element }) => parts.push(el("section", {}, el("h3", {}, title), el("p", {}, annBench.download.buttons(name, () => rows)), element));
    add("By recall", "queries-by-recall", histogram(drill));
    if (drill.matches.length) add("By the number of true answers", "queries-by-answers", groups("True answers", "answers", drill.matches));
    if (drill.selectivity.length) add("By how many rows pass the filter", "queries-by-selectivity", groups("Rows that pass", "rows", drill.selectivity));
    if (drill.distance.length) add("By the distance to the nearest row", "queries-by-distance", groups("Distance", "distance", drill.distance));
    if (drill.worst.length) add(`The ${drill.worst.length} worst`, "worst-queries", worst(drill));
    return parts;
  }

  return { sections };
})();
