"""Tables of text in the style of the results table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


def plain_table(heads: Sequence[str], lines: Sequence[Sequence[str]], left: Collection[int]) -> Table:
    """A table for `rich`; the columns of these places stand to the left, numbers to the right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from ann_bench.results.text import visible

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for place, name in enumerate(heads):
        table.add_column(name, justify="left" if place in left else "right", overflow="fold")
    for line in lines:
        table.add_row(*(Text(visible(cell)) for cell in line))
    return table
