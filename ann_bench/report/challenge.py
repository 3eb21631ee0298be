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
    """
    plain = {_rest(one): one for one in newest(one for one in others if one.ok and not one.challenge)}
    pairs = [(plain[_rest(one)], one) for one in rows if one.ok and one.challenge and _rest(one) in plain]
    if not pairs:
        return Text("no result without the challenge to compare with: run the same without --challenge", style="dim")
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.title, table.title_justify, table.title_style = "As published, and in disguise", "left", "bold"
    for head in ("algorithm", "query"):
        table.add_column(head, overflow="fold")
    for head in ("recall", "in disguise", "QPS", "in disguise", "ratio"):
        table.add_column(head, justify="right", no_wrap=True)
    for before, after in sorted(pairs, key=lambda pair: (pair[0].algorithm, pair[0].build, pair[0].recall)):
        rates = [show.number(one.qps, show.unit(one.qps, math.nan, math.nan)) for one in (before, after)]
        ratio = f"{after.qps / before.qps:.2f}" if before.qps > 0 else show.MISSING
        cells = [show.recall(before.recall), show.recall(after.recall), *rates, ratio]
        table.add_row(Text(before.algorithm), Text(show.config(before.query)), *cells)
    return table


def _rest(one: Figures) -> str:
    """All that two such results have in common."""
    return canonical({name: v for name, v in one.identity.fields.items() if name not in {"challenge"} | VERSION})
