"""A leaderboard as a table for a terminal, markdown, csv or json: the same rows in each."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ann_bench.report import format as show
from ann_bench.report.leaderboard import Board, Overall, overall
from ann_bench.report.ranking import once
from ann_bench.results.figures import Figures
from ann_bench.results.published import Published, best_published
from ann_bench.results.text import markdown, spreadsheet

#: What the rows of csv and json hold.
COLUMNS = (
    "track", "dataset", "queries", "k", "standing", "rank", "tier", "algorithm", "tuned", "open_source", "figure",
    "score", "score_low", "score_high", "recall", "qps", "build_seconds", "peak_memory_bytes", "build", "query",
    "sandbox", "machine", "why", "build_seconds_low", "build_seconds_high",
)  # fmt: skip

#: The heads of the table for people.
HEADS = ("rank", "tier", "algorithm", "source", "recall", "QPS", "build s", "memory", "operating point")

Row = dict[str, Any]


def rows(board: Board, published: Sequence[Published] = ()) -> list[Row]:
    """All that a board shows, one row each; `standing` is ranked, unranked, apart or published."""
    found = []
    for place in board.places:
        standing = "ranked" if place.best else "unranked"
        found.append(_row(board, place.best, standing, place.algorithm, place.why, (place.rank, place.tier)))
    found += [_row(board, one.best, "apart", one.best.algorithm, one.reason) for one in board.apart]
    for row in best_published(beside(board.sample, published), board.score.figure, board.score.least_recall):
        found.append(_published(board, row))
    return found


def beside(one: Figures, published: Sequence[Published]) -> list[Published]:
    """The published results that belong beside a measured one: of its track, data set and k."""
    if one.single or one.challenge:  # they were measured in batches, on the data as they are
        return []
    return [row for row in published if (row.track, row.dataset, row.k) == (one.track, one.dataset, one.k)]


def homeless(found: Sequence[Board], published: Sequence[Published]) -> list[str]:
    """Published results beside which nothing was measured: track, data set and how many there are."""
    shown = {id(row) for board in found for row in beside(board.sample, published)}
    counts = Counter(f"{row.track}, {row.dataset}, k = {row.k}" for row in published if id(row) not in shown)
    return [f"{place}: {count} published, nothing measured to show them beside" for place, count in counts.items()]


def _row(board: Board, one: Figures | None, standing: str, name: str, why: str, level: tuple[int, int] = (0, 0)) -> Row:
    sample, figure = board.sample, board.score.figure
    row: Row = {**dict.fromkeys(COLUMNS), "standing": standing, "algorithm": name, "figure": figure, "why": why}
    row.update(track=sample.track, dataset=sample.dataset, queries=sample.queries, k=sample.k)
    row.update(rank=level[0] or None, tier=level[1] or None)
    if one is not None:
        row.update(
            tuned=bool(one.tuned),
            open_source=one.provenance.get("environment", {}).get("open_source"),
            score=_known(getattr(one, figure)),
            score_low=_known(getattr(one, f"{figure}_low", math.nan)),
            score_high=_known(getattr(one, f"{figure}_high", math.nan)),
            recall=_known(one.recall),
            qps=_known(one.qps),
            build_seconds=_known(one.build_seconds),
            build_seconds_low=_known(one.build_seconds_low),
            build_seconds_high=_known(one.build_seconds_high),
            peak_memory_bytes=one.peak_memory_bytes,
            build=one.build,
            query=one.query,
            sandbox=one.sandbox,
            machine=one.identity.fields.get("machine"),
        )
    return row


def _published(board: Board, one: Published) -> Row:
    row = _row(board, None, "published", one.name, "")
    row.update(
        score=_known(getattr(one, board.score.figure)),
        recall=_known(one.recall),
        qps=_known(one.qps),
        build_seconds=_known(one.build_seconds),
        query=one.parameters,
        machine=one.machine,
    )
    return row


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def cells(row: Mapping[str, Any]) -> list[str]:
    """A row under HEADS, for people."""

    def number(name: str) -> float:
        return math.nan if row[name] is None else float(row[name])

    unknown = (math.nan, math.nan)
    bounds = (number("score_low"), number("score_high"))
    interval, around = (bounds, unknown) if row["figure"] == "qps" else (unknown, bounds)
    point = row["query"] if row["standing"] == "published" else show.config(row["query"]) if row["query"] else ""
    return [
        "" if row["rank"] is None else str(row["rank"]),
        "" if row["tier"] is None else str(row["tier"]),
        f"{row['algorithm']} (tuned)"
        if row["tuned"] and "(tuned)" not in str(row["algorithm"])
        else str(row["algorithm"]),
        {True: "open", False: "closed"}.get(row["open_source"], "?"),
        show.recall_within(number("recall"), *around),
        show.short_rate(number("qps"), *interval),
        show.seconds(number("build_seconds")),
        show.size(row["peak_memory_bytes"]),
        str(point),
    ]


def title(one: Figures) -> str:
    """What a result is compared in: track and data set, and whatever is not as usual."""
    parts = [one.track, one.dataset]
    parts += [f"{one.queries} queries"] if one.queries != "public" else []
    parts += [f"radius {one.radius:g}"] if one.ranged else [f"k = {one.k}"] if one.k != 10 else []
    parts += [f"mode {one.mode}"] if one.single else []
    parts += [f"in disguise ({one.challenge})"] if one.challenge else []
    return ", ".join(parts)


def head(board: Board) -> str:
    """What stands above a board."""
    one = board.sample
    score = "best mean recall" if board.score.figure == "recall" else "most queries per second"
    if one.single and math.isfinite(one.rate):
        score = "highest rate that keeps the latency"
    bound = "" if board.score.least_recall is None else f" at {one.measured} >= {board.score.least_recall:.2f}"
    return f"{title(one)}: {score}{bound}"


def where(one: Figures) -> str:
    """On what a result was measured."""
    machine = one.identity.fields.get("machine") or "a machine without a name"
    return f"{machine}, {show.cpus(one.cpus)}, {show.size(one.memory_limit_bytes)}, {one.sandbox}"


def conditions(board: Board) -> str:
    """Under what all of a board was measured."""
    remarks = [] if board.isolated else ["entries ran as plain processes, so this ranking is unofficial"]
    ranked = [place.best for place in board.places if place.best]
    if board.score.figure == "qps" and len(ranked) > 1 and all(once(one) for one in ranked):
        remarks.append("measured once each, so that no two can be told apart")
    return f"{where(board.sample)}: {'; '.join(remarks)}" if remarks else where(board.sample)


def _markdown(found: Sequence[Board], published: Sequence[Published]) -> str:
    parts = []
    for board in found:
        shown = rows(board, published)
        parts += [f"### {markdown(head(board))}", "", markdown(conditions(board)), ""]
        parts += [_line(HEADS), _line(["---:", "---:", "---", "---", "---:", "---:", "---:", "---:", "---"])]
        parts += [_line(cells(row)) for row in shown if row["standing"] == "ranked"]
        parts.append("")
        rest = [row for row in shown if row["standing"] != "ranked"]
        parts += [f"- {markdown(_remark(row))}" for row in rest] + [""] * bool(rest)
    many = overall(found)
    if many:
        parts += ["### Overall", "", _line(OVERALL), _line(["---", "---:", "---:", "---:", "---:"])]
        parts += [*(_line(_overall(row)) for row in many), ""]
    return "\n".join(parts)


OVERALL = ("algorithm", "mean rank", "mean score", "boards", "in the first tier")


def _overall(row: Overall) -> list[str]:
    return [row.algorithm, f"{row.mean_rank:.2f}", show.recall(row.mean_score), str(row.boards), str(row.wins)]


def overall_cells(found: Sequence[Board]) -> list[list[str]]:
    """The rows of the overall table, under OVERALL."""
    return [_overall(row) for row in overall(found)]


def _remark(row: Mapping[str, Any]) -> str:
    """One line for what is not ranked."""
    if row["standing"] == "unranked":
        return f"{row['algorithm']}: {row['why']}"
    shown = cells(row)
    rate = f", {shown[5]} QPS" if row["qps"] is not None else ""
    where = row["machine"] if row["standing"] == "published" else row["why"]
    return f"{row['algorithm']}: recall {shown[4]}{rate} ({where}); {shown[8]}"


def remarks(shown: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each row that is not ranked."""
    return [_remark(row) for row in shown if row["standing"] != "ranked"]


def _line(texts: Sequence[str]) -> str:
    return "| " + " | ".join(map(markdown, texts)) + " |"


def _csv(found: Sequence[Board], published: Sequence[Published]) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for board in found:
        writer.writerows(map(_safe, rows(board, published)))
    return buffer.getvalue()


def _safe(row: Row) -> Row:
    return {name: spreadsheet(value) if isinstance(value, str) else value for name, value in row.items()}


def _json(found: Sequence[Board], published: Sequence[Published]) -> str:
    boards = [
        {"title": head(board), "conditions": conditions(board), "rows": rows(board, published)} for board in found
    ]
    many = [{**vars(row), "mean_score": _known(row.mean_score)} for row in overall(found)]
    return json.dumps({"boards": boards, "overall": many}, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


#: Every format for files and pipes, and what writes it.
FORMATS: dict[str, Callable[[Sequence[Board], Sequence[Published]], str]] = {
    "markdown": _markdown,
    "csv": _csv,
    "json": _json,
}
