"""What commands that show results read: the wanted figures, and the files that are no results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ann_bench.errors import AnnBenchError, ResultError, UsageError

if TYPE_CHECKING:
    from ann_bench.results.figures import Figures
    from ann_bench.results.store import Damaged


@dataclass
class Source:
    """The wanted figures of some folders; `paths` has the file of every good result, by its key."""

    folders: Sequence[Path]
    wanted: dict[str, str]
    figures: list[Figures] = field(default_factory=list)
    damaged: list[Damaged] = field(default_factory=list)
    paths: dict[str, Path] = field(default_factory=dict)

    @property
    def seen(self) -> int:
        """How many good results there are, wanted or not."""
        return len(self.paths)

    def empty(self, what: str) -> AnnBenchError:
        """The error of a command for which nothing is left: wrong usage, or damaged files where there are any."""
        return (ResultError if self.damaged else UsageError)(f"{what}: {self.nothing()}")

    def nothing(self) -> str:
        """Why there is nothing to show."""
        places = ", ".join(map(str, self.folders))
        if not self.seen:
            return f"no file in {places} is a result that can be read; make some with `ann-bench run --track NAME`"
        if not self.figures and self.seen:
            filters = " ".join(f"--{name} {value}" for name, value in self.wanted.items())
            return f"no result in {places} is of {filters}"
        return f"none of {self.seen} results in {places} is ok; see `ann-bench export --format markdown`"

    def complaint(self) -> str:
        """The line that ends a command which had to leave something out."""
        count = len(self.damaged)
        return f"{count} damaged file{'s' * (count > 1)} left out; measure again or remove them"


def read_figures(
    folders: Sequence[Path], *, track: str | None = None, dataset: str | None = None, alike: bool | None = False
) -> Source:
    """The figures of results in some folders; damaged files are named on standard error.

    `alike` as in `conditions.scan_folders`: UsageError where results that are to be put together differ.
    """
    from ann_bench.datasets.cache import cache_root
    from ann_bench.results.cached import cached_figures
    from ann_bench.results.conditions import Agreement, Unlike
    from ann_bench.results.store import Damaged, Store
    from ann_bench.results.text import visible

    wanted = {name: value for name, value in (("track", track), ("dataset", dataset)) if value is not None}
    source = Source(folders, wanted)
    several, unlike = len(folders) > 1, Unlike()
    agreement = Agreement(several if alike is None else alike)
    for folder in folders:
        store = Store(folder)
        for path, item in cached_figures(store, cache_root() / ".figures"):
            if isinstance(item, Damaged):
                click.echo(f"left out: {visible(item.reason)}", err=True)
                source.damaged.append(item)
                continue
            once = source.paths.setdefault(item.identity.key, path) == path
            if all(getattr(item, name) == value for name, value in wanted.items()):
                agreement.check(path, item)
                if several and not agreement.asked and (line := unlike.look(path, item)):
                    click.echo(visible(line), err=True)
                if once:
                    source.figures.append(item)
    return source
