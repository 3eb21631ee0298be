"""`ann-bench plot`: recall against queries per second, from results."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from ann_bench.errors import ResultError, UsageError
from ann_bench.results.conditions import scan_folders
from ann_bench.results.model import Bundle
from ann_bench.results.store import Damaged


@click.command("plot")
@click.option("--results", type=click.Path(path_type=Path), multiple=True, default=[Path("results")],
              show_default=True, help="Folder of results; may be given again.")  # fmt: skip
@click.option("--track", help="Only results of this track.")
@click.option("--dataset", help="Only results on this data set.")
@click.option("--output", type=click.Path(path_type=Path), default=Path("plots"), show_default=True,
              help="Folder for the pictures.")  # fmt: skip
@click.option("--format", "formats", default="png,svg", show_default=True, help="Any of png, svg, pdf, with commas.")
@click.option("--json", "as_json", is_flag=True, help="Print the files written, and the damaged ones, as JSON.")
def command(
    results: tuple[Path, ...], track: str | None, dataset: str | None, output: Path, formats: str, as_json: bool
) -> None:
    """Draw recall against queries per second, one picture for each track and data set.

    A stream is drawn step by step instead: recall, time of searches and changes, live points and memory.
    Only results that are ok and were measured under the same conditions share a picture. Result files are only
    read; damaged ones are named and left out, and the exit code is 1. Several folders are put together only where
    their results were measured under the same conditions; otherwise the field that differs is named.

    \b
    Example: ann-bench plot --track filtered --dataset debian-20k --format pdf
    """
    from ann_bench.report.plot import plot

    source = _Source(results, {"track": track, "dataset": dataset})
    written = plot(source, output, tuple(part.strip() for part in formats.split(",") if part.strip()))
    if as_json:
        click.echo(json.dumps({"written": list(map(str, written)), "damaged": [str(d.path) for d in source.damaged]}))
    else:
        for path in written:
            click.echo(path)
    if source.damaged:
        count = len(source.damaged)
        raise ResultError(f"{count} damaged file{'s' * (count > 1)} left out; measure again or remove them")
    if not written:
        raise UsageError(f"nothing to draw: {source.nothing()}; see `ann-bench export --format markdown`")


class _Source:
    """The wanted bundles, one by one; damaged files are named on standard error as they are met."""

    def __init__(self, folders: Sequence[Path], wanted: dict[str, str | None]) -> None:
        self.folders = folders
        self.wanted = wanted
        self.seen = 0
        self.damaged: list[Damaged] = []

    def nothing(self) -> str:
        """Why there is no picture."""
        folders = ", ".join(map(str, self.folders))
        if not self.seen:
            filters = " ".join(f"--{name} {value}" for name, value in self.wanted.items() if value is not None)
            return f"no result in {folders} is of {filters}"
        return f"none of {self.seen} results in {folders} is ok"

    def __iter__(self) -> Iterator[Bundle]:
        for item in scan_folders(self.folders, self._is_wanted):
            if isinstance(item, Damaged):
                click.echo(f"left out: {item.reason}", err=True)
                self.damaged.append(item)
            else:
                self.seen += 1
                yield item

    def _is_wanted(self, bundle: Bundle) -> bool:
        return all(value is None or bundle.identity[name] == value for name, value in self.wanted.items())
