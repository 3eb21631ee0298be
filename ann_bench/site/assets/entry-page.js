"use strict";
/* An entry: where it stands, and every result of it. */
annBench.frame.page(null, async (overview) => {
  const { el, link, scroll, facts } = annBench.dom;
  const { kinds, within, config } = annBench.format;
  const { boardHref, resultHref } = annBench.frame;
  const file = annBench.settings.subject("entry");
  const entry = await annBench.data.load(file);
  const only = (board) => `${boardHref(board)}#only=${encodeURIComponent(entry.name)}`;
  const groups = new Map();
  for (const result of entry.results) {
    groups.set(result.place, [...(groups.get(result.place) || []), result]);
  }
  const places = annBench.tables.table(
    [
      { head: "Board", left: true, cell: ([board, title]) => link(boardHref(board), title) },
      { head: "Rank", cell: ([, , rank]) => rank || "–" },
      { head: "Tier", cell: ([, , , tier]) => tier || "–" },
      { head: "Remark", wide: true, cell: ([, , , , why]) => why },
      { head: "Picture", left: true, cell: ([board]) => link(only(board), "this entry alone") },
    ],
    entry.places,
  );

  const columns = [
    { head: "Operating point", wide: true, cell: (result) => link(resultHref(file, result.key), `${config(result.build)}; ${config(result.query)}`) },
    { head: "Status", left: true, cell: (result) => (result.older ? `${result.status}, replaced by a newer one` : result.status), sort: (result) => result.status },
    { head: "Recall", cell: (result) => kinds.share(result.recall), sort: (result) => result.recall },
    { head: "QPS", cell: (result) => within("number", result.qps, result.qps_low, result.qps_high), sort: (result) => result.qps },
    { head: "Build", cell: (result) => within("seconds", result.build_seconds, result.build_seconds_low, result.build_seconds_high), sort: (result) => result.build_seconds },
    { head: "Memory", cell: (result) => kinds.bytes(result.peak_memory_bytes), sort: (result) => result.peak_memory_bytes },
    { head: "Conditions", left: true, cell: (result) => [`${result.cpus} CPU${result.cpus === 1 ? "" : "s"}`, kinds.bytes(result.memory_limit_bytes), result.sandbox, result.mode].filter((part) => part !== "batch").join(", ") },
  ];
  const plain = ({ drill, stages, identity, provenance, ...result }) => result;

  return {
    title: entry.name,
    content: [
      el("h1", {}, entry.name),
      facts([
        ["Source", { true: "open", false: "closed" }[entry.open] || "not said"],
        ["Packages", Object.entries(entry.packages).map((pair) => pair.join(" ")).join(", ") || "not said"],
        ["Results", String(entry.results.length)],
      ]),
      el("h2", {}, "Places"),
      entry.places.length ? scroll("Places", places) : el("p", {}, "It is on no board."),
      ...[...groups].flatMap(([name, results]) => [
        el("h2", {}, name),
        el("p", {}, annBench.download.buttons(`${entry.name}-${name}`.replaceAll(/[^\p{L}\p{N}.-]+/gu, "-"), () => results.map(plain))),
        scroll(`Results on ${name}`, annBench.tables.table(columns, results)),
      ]),
    ],
  };
});
