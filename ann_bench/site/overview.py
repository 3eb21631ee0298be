"""What the first page shows, and what all pages share: boards, entries, styles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ann_bench.report import board_table
from ann_bench.report import format as show
from ann_bench.report.leaderboard import overall
from ann_bench.report.palette import DARK, styles
from ann_bench.results.figures import Figures
from ann_bench.site.boards import Page, rule_text
from ann_bench.site.embed import plain
from ann_bench.site.entries import entry_file

#: matplotlib's markers by the names that plotly has for them.
_SYMBOLS = {
    "o": "circle", "P": "cross", "v": "triangle-down", "<": "triangle-left", "X": "x", "s": "square", "p": "pentagon",
    ">": "triangle-right", "D": "diamond", "^": "triangle-up", "*": "star",
}  # fmt: skip


def overview(found: Sequence[Page], entries: Mapping[str, Sequence[Figures]], damaged: int) -> dict[str, Any]:
    """The first page as JSON; `damaged` counts the files that were left out."""
    ranked = [page.board for page in found if page.board]
    of_board = {one.algorithm for page in found for one in page.results}
    shared: dict[str, Any] = plain(
        {
            "boards": [_board(page) for page in found],
            "overall": [vars(row) for row in overall(ranked)],
            "entries": [
                {
                    "name": name,
                    "file": entry_file(name),
                    "open": results[-1].provenance.get("environment", {}).get("open_source"),
                    "results": len(results),
                    "failed": sum(not one.ok for one in results),
                    "shown": name in of_board,
                    "boards": sorted({(one.track + ", " + one.dataset) for one in results}),
                }
                for name, results in entries.items()
            ],
            "styles": _styles(entries),
            "results": sum(map(len, entries.values())),
            "damaged": damaged,
        }
    )
    return shared


def _styles(names: Mapping[str, object]) -> dict[str, list[str]]:
    """Colour, colour on a dark page, plotly's symbol and dashes of each algorithm."""
    found = {}
    for name, style in styles(names).items():
        dashes = ",".join(f"{2 * part:g}px" for part in style.dashes[1]) or "solid"
        found[name] = [style.colour, DARK.get(style.colour, style.colour), _SYMBOLS[style.marker], dashes]
    return found


def _board(page: Page) -> dict[str, Any]:
    board, one = page.board, page.pictures[0].points[0]
    first = [place for place in board.places if place.tier == 1 and place.best] if board else []
    return {
        "file": page.file,
        "title": page.title,
        "track": one.track,
        "rule": rule_text(page),
        "leaders": [place.algorithm for place in first],
        "score": _score(first[0].best, board.score.figure) if board and first and first[0].best else "",
        "ranked": sum(place.best is not None for place in board.places) if board else 0,
        "results": len(page.results),
        "conditions": board_table.conditions(board) if board else "",
        "official": bool(board and board.isolated),
    }


def _score(one: Figures, figure: str) -> str:
    if figure == "qps":
        return f"{show.short_rate(one.qps, one.qps_low, one.qps_high)} QPS"
    return f"recall {show.recall(getattr(one, figure))}"
