"""Results with a challenge beside those of the same configurations without one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ann_bench.report import format as show
from ann_bench.results.figures import Figures, canonical
from ann_bench.results.newest import VERSION, newest


def beside(rows: Sequence[Figures], others: Iterable[Figures]) -> RenderableType:
    """A table of recall and speed on the data as they are and in disguise; a line where there is nothing to compare.

    `others` is where the results without a challenge are looked for; equal but for the challenge, the newest version.
    Each kind of challenge has columns of its own: those of `rows`, and others that the same configurations have.
    """
    known = newest(one for one in others if one.ok)
    plain = {_rest(one): one for one in known if not one.challenge}
    mine = [one for one in rows if one.ok and one.challenge and _rest(one) in plain]
    if not mine:
        return Text("no result without the challenge to compare with: run the same without --challenge", style="dim")
    shown = {_rest(one) for one in mine}
    hidden = {(_rest(one), one.challenge): one for one in [*known, *mine] if one.challenge and _rest(one) in shown}
    kinds = sorted({kind for _, kind in hidden})
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.title, table.title_justify, table.title_style = "As published, and in disguise", "left", "bold"
    for head in ("algorithm", "query"):
        table.add_column(head, overflow="fold")
    for head in ("recall", *kinds, "QPS", *(word for kind in kinds for word in (kind, "ratio"))):
        table.add_column(head, justify="right", overflow="fold")
    for before in sorted((plain[rest] for rest in shown), key=lambda one: (one.algorithm, one.build, one.recall)):
        after = [hidden.get((_rest(before), kind)) for kind in kinds]
        recalls = [show.recall(one.recall) if one else show.MISSING for one in after]
        speeds = [cell for one in after for cell in _speed(before, one)]
        cells = [show.recall(before.recall), *recalls, _rate(before), *speeds]
        table.add_row(Text(before.algorithm), Text(show.config(before.query)), *cells)
    return table


def _speed(before: Figures, after: Figures | None) -> tuple[str, str]:
    """Queries per second in disguise, and how many times as many they are."""
    if after is None or not before.qps > 0:
        return (show.MISSING, show.MISSING) if after is None else (_rate(after), show.MISSING)
    return _rate(after), f"{after.qps / before.qps:.2f}"


def _rate(one: Figures) -> str:
    return show.number(one.qps, show.unit(one.qps, math.nan, math.nan))


def _rest(one: Figures) -> str:
    """All that two such results have in common."""
    return canonical({name: v for name, v in one.identity.fields.items() if name not in {"challenge"} | VERSION})
