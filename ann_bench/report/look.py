"""How pictures look: what they are drawn on, and the style of each algorithm."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ann_bench.report.palette import Style, on_dark, styles
from ann_bench.report.paper import PAGE, Paper


@dataclass(frozen=True)
class Look:
    """Paper, and the styles that algorithms have in all pictures of one command (empty: each picture has its own)."""

    paper: Paper = PAGE
    styles: Mapping[str, Style] = field(default_factory=dict)

    def of(self, names: Iterable[str]) -> dict[str, Style]:
        """The style of each of the algorithms of a picture."""
        names = list(names)
        known = self.styles if all(name in self.styles for name in names) else styles(names)
        return {name: on_dark(known[name]) if self.paper.dark else known[name] for name in names}


PLAIN = Look()
