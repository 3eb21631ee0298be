"""The table of a run, for a terminal of 100 columns and readable in 80."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from ann_bench.report import format as show
from ann_bench.report.alike import as_one, wording
from ann_bench.report.columns import columns, of_the_best, recall_head
from ann_bench.report.ranking import best_per_algorithm, once, tiers_of
from ann_bench.results.figures import Figures
from ann_bench.tracks import Score

#: Below this many columns intervals are written in short, and a status stands in the place of the speed.
WIDE = 100


#: How a table says what is ranked; any other figure is called by its name.
_RANKED = {
    "qps": "Most queries per second",
    "rate": "Highest rate that keeps the latency",
    "recall": "Best mean recall",
}


def results_table(figures: Iterable[Figures], k: int, score: Score | None) -> RenderableType:
    """Every result, then the reasons of what failed, then notes, then the best result of each algorithm.

    `k` is named in the head. The best are chosen and ranked by `score` (that of the track); without one there is no
    such table. Streams have columns of their own. The answer is for `rich.console.Console.print`.
    """
    return _Results(sorted(figures, key=_order), k, score)


@dataclass(frozen=True)
class _Results:
    """Rendered when the width is known."""

    figures: Sequence[Figures]
    k: int
    score: Score | None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        wide = options.max_width >= WIDE
        marks = {one.challenge for one in self.figures}
        if len(marks) == 1 and (mark := marks.pop()):
            yield Text(f"on the data in disguise: {mark}")
        modes = {one.mode for one in self.figures if one.single}
        if len(modes) == 1 and all(one.single for one in self.figures):
            yield Text(
                f"queries one by one, {modes.pop()}; milliseconds from when each was due; wire: without the entry"
            )
        yield self._all(wide)
        failed = [one for one in self.figures if not one.ok]
        if failed:
            yield Text()
            yield from _reasons(failed)
        noted = _notes(self.figures)
        if noted:
            yield Text()
            yield from noted
        if self.score is not None and self.figures:
            yield Text()
            yield self._title(self.score)  # not the table's, which would wrap where the table is narrow
            best = best_per_algorithm(self.figures, self.score)
            levels = _tiers(best, self.score)
            yield self._best(best, levels, wide)
            yield from _told_apart(best, levels, self.score)

    def _all(self, wide: bool) -> Table:
        shown = columns(self.figures, self.k, wide=wide)
        heads = ["algorithm", "query", *(["status"] if wide else []), *shown]
        table = _table(*heads)
        table.columns[0].min_width = min(16, max((len(one.algorithm) for one in self.figures), default=0))
        builds = _varied_builds(self.figures)
        previous = None
        for one in self.figures:
            query = show.config(one.query)
            if one.algorithm in builds:
                query = f"{show.config(one.build)}; {query}"
            if one.challenge and len({other.challenge for other in self.figures}) > 1:
                query = f"{query} ({one.challenge} in disguise)"
            status = Text(one.status, style="" if one.ok else "bold red")
            table.add_row(
                Text("" if one.algorithm == previous else one.algorithm),
                Text(query),
                *([status] if wide else []),
                *(
                    status if head.startswith("QPS") and not (wide or one.ok) else column(one)
                    for head, column in shown.items()
                ),
                style="" if one.ok else "dim",
            )
            previous = one.algorithm
        return table

    def _title(self, score: Score) -> Text:
        head = recall_head(self.figures, self.k)
        bound = "" if score.least_recall is None else f" at {head} >= {score.least_recall:.2f}"
        return Text(f"{_RANKED.get(score.figure, f'Best {score.figure}')}{bound}", style="bold")

    def _best(self, best: Mapping[str, Figures | None], levels: Mapping[str, int], wide: bool) -> Table:
        shown = of_the_best(columns(self.figures, self.k, wide=wide))
        table = _table("algorithm", "query", *(["tier"] if levels else []), *shown)
        bound = self.score is not None and self.score.least_recall is not None
        measured = {one.algorithm for one in self.figures if not math.isnan(one.recall)}
        for name, one in best.items():
            tier = [str(levels.get(name, show.MISSING))] if levels else []
            if one is None:
                why = "none reaches it" if name in measured and bound else "not measured"
                table.add_row(Text(name), Text(why, style="dim"), *tier, *[show.MISSING] * len(shown))
            else:
                cells = (column(one) for column in shown.values())
                table.add_row(Text(name), Text(show.config(one.query)), *tier, *cells)
        return table


def _tiers(best: Mapping[str, Figures | None], score: Score) -> dict[str, int]:
    """The tier of each algorithm that is ranked; nothing where there are no two, or nothing tells them apart."""
    ranked = [one for one in best.values() if one is not None]
    if len(ranked) < 2 or not _can_tell(ranked, score):
        return {}
    return dict(zip((one.algorithm for one in ranked), tiers_of(ranked, score), strict=True))


def _told_apart(best: Mapping[str, Figures | None], levels: Mapping[str, int], score: Score) -> list[Text]:
    """What the tiers mean, or why there are none."""
    ranked = [one for one in best.values() if one is not None]
    if len(ranked) < 2 or score.figure == "rate":
        return []
    if not levels:
        said = "measured once each, so that no two can be told apart: --builds 5"
    elif score.figure == "qps" and any(len(one.rates) == 1 for one in ranked):
        said = "entries of one tier cannot be told apart (one build each: as these indexes are)"
    else:
        said = "entries of one tier cannot be told apart"
    return [Text(said, style="dim")]


def _can_tell(ranked: Sequence[Figures], score: Score) -> bool:
    """Whether tiers say anything: rates of single runs tell nobody apart."""
    return score.figure != "rate" and not (score.figure == "qps" and all(map(once, ranked)))


def _order(one: Figures) -> tuple[str, str, bool, float, str]:
    unknown = math.isnan(one.recall)
    return one.algorithm, one.build, unknown, 0.0 if unknown else one.recall, one.query


def _table(*heads: str) -> Table:
    """Names to the left, where they may wrap; numbers to the right, in one piece."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for head in heads:
        left = head in ("algorithm", "query", "status")
        wraps = head in ("algorithm", "query")
        table.add_column(head, justify="left" if left else "right", no_wrap=not wraps, overflow="fold")
    return table


def _varied_builds(figures: Sequence[Figures]) -> set[str]:
    """The algorithms of which more than one build is in the table."""
    names = [name for name, _ in {(one.algorithm, one.build) for one in figures}]
    return {name for name in names if names.count(name) > 1}


def _reasons(failed: Sequence[Figures]) -> list[Text]:
    """A line for each result that is none: which, and why; one line where all of an entry have one reason."""
    lines = []
    for name in dict.fromkeys(one.algorithm for one in failed):
        mine = [one for one in failed if one.algorithm == name]
        alike = len(mine) > 1 and len({(one.status, one.detail) for one in mine}) == 1
        lines += [_reason(mine[0], name)] if alike else [_reason(one, _which(one)) for one in mine]
    return lines


def _reason(one: Figures, which: str) -> Text:
    counted = (f"{count:,} {kind.replace('_', ' ')}" for kind, count in one.invalid.items() if count)
    detail = one.detail or ", ".join(counted)
    return Text.assemble((which, "bold"), f"  {one.status}", f": {detail}" if detail else "")


def _notes(figures: Sequence[Figures]) -> list[Text]:
    """A line for each result that looks odd; one line where several of an entry look odd in the same way."""
    alike: dict[tuple[str, str], list[tuple[Figures, str]]] = {}
    for one in figures:
        for note in one.notes:
            alike.setdefault((one.algorithm, wording(note)), []).append((one, note))
    lines = []
    for (name, _), same in alike.items():
        which = _which(same[0][0]) if len(same) == 1 else f"{name}, {len(same)} of its results"
        lines.append(Text.assemble((which, "bold"), f": {as_one([note for _, note in same])}"))
    return lines


def _which(one: Figures) -> str:
    return one.algorithm if one.query == "{}" else f"{one.algorithm} {show.config(one.query)}"
