"use strict";
/* The first page: who leads where, and the way to everything else. */
annBench.frame.page(null, async (overview) => {
  const { el, link, scroll } = annBench.dom;
  const { table } = annBench.tables;
  const { boardHref, entryHref } = annBench.frame;
  const files = new Map(overview.entries.map((entry) => [entry.name, entry.file]));
  const entryLink = (name) => link(entryHref(files.get(name)), name);
  const listed = (names) => el("span", {}, ...names.flatMap((name, i) => (i ? [", ", entryLink(name)] : [entryLink(name)])));

  const few = (names) => (names.length <= 4 ? listed(names) : el("span", {}, listed(names.slice(0, 4)), ` and ${names.length - 4} more`));

  const boards = table(
    [
      { head: "Track and data set", left: true, cell: (board) => link(boardHref(board.file), board.title), sort: (board) => board.title },
      { head: "First tier", left: true, cell: (board) => few(board.leaders) },
      { head: "Best", cell: (board) => board.score || "–" },
      { head: "Ranked by", wide: true, cell: (board) => board.rule },
      { head: "Entries", cell: (board) => board.ranked, sort: (board) => board.ranked },
      { head: "Results", cell: (board) => board.results, sort: (board) => board.results },
      { head: "Measured on", wide: true, cell: (board) => board.conditions },
    ],
    overview.boards,
  );
  const overall = table(
    [
      { head: "Algorithm", left: true, cell: (row) => entryLink(row.algorithm), sort: (row) => row.algorithm },
      { head: "Mean rank", cell: (row) => row.mean_rank.toFixed(2), sort: (row) => -row.mean_rank },
      { head: "Mean score", cell: (row) => annBench.format.kinds.share(row.mean_score), sort: (row) => row.mean_score },
      { head: "Boards", cell: (row) => row.boards, sort: (row) => row.boards },
      { head: "In the first tier", cell: (row) => row.wins, sort: (row) => row.wins },
    ],
    overview.overall,
  );
  const entries = table(
    [
      { head: "Entry", left: true, cell: (entry) => entryLink(entry.name), sort: (entry) => entry.name },
      { head: "Source", left: true, cell: (entry) => ({ true: "open", false: "closed" })[entry.open] || "–" },
      { head: "Results", cell: (entry) => entry.results, sort: (entry) => entry.results },
      { head: "Failed", cell: (entry) => entry.failed || "–", sort: (entry) => entry.failed },
      { head: "Measured on", wide: true, cell: (entry) => entry.boards.join("; ") },
    ],
    overview.entries,
  );

  const counted = (count, one, many) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
  const content = [
    el("h1", {}, "Nearest neighbour search, measured"),
    el("p", {}, `${counted(overview.results, "result", "results")} of ${counted(overview.entries.length, "entry", "entries")} on ${counted(overview.boards.length, "board", "boards")}. `,
      "Entries of one tier cannot be told apart. Only what was measured under the same conditions stands on one board."),
    overview.damaged ? el("p", { class: "warning" }, `${counted(overview.damaged, "damaged file was", "damaged files were")} left out.`) : null,
    el("h2", {}, "Boards"),
    overview.boards.length ? scroll("Boards", boards) : el("p", {}, "No result is ok yet; the entries below say why."),
  ].filter(Boolean);
  if (overview.boards.length > 1) {
    content.push(el("h2", {}, "Overall"), el("p", {}, "By mean rank; a board without the entry counts as its last rank. The score is recall, normalised so that a guess is 0 and exact search 1. ",
      annBench.download.buttons("overall", () => overview.overall)), scroll("Overall", overall));
  }
  content.push(el("h2", {}, "Entries"), scroll("Entries", entries));
  return { title: "Overview", content };
});
