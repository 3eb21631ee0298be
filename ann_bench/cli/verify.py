"""`ann-bench verify`: recompute every figure from raw answers."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ann_bench.cli._options import messages
from ann_bench.errors import AnnBenchError, ResultError

if TYPE_CHECKING:
    from ann_bench.datasets.dataset import Dataset
    from ann_bench.results.figures import Figures
    from ann_bench.results.model import Bundle
    from ann_bench.results.signature import Signers

EPILOG = """\b
Examples:
  ann-bench verify --results results
  ann-bench verify --table results.csv --plot plots/filtered-yfcc-10M.svg
  ann-bench verify --signed-by allowed_signers
"""


@click.command("verify", epilog=EPILOG, short_help="Recompute every figure from raw answers.")
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    multiple=True,
    default=[Path("results")],
    show_default=True,
    help="The results; may be given again.",
)
@click.option(
    "--table",
    "tables",
    type=click.Path(path_type=Path),
    multiple=True,
    help="A table or leaderboard made of them (.csv, .json, .parquet, .md, .tex): every cell is compared.",
)
@click.option(
    "--plot",
    "plots",
    type=click.Path(path_type=Path),
    multiple=True,
    help="A plot made of them (.svg, .png, .pdf): its figures are compared, and it is drawn again.",
)
@click.option(
    "--signed-by",
    metavar="WHO",
    help="Each result must be signed by: an allowed-signers file of ssh, a fingerprint (ssh or GPG), or an address.",
)
@click.option(
    "--allowed-signers",
    type=click.Path(path_type=Path),
    default=Path("~/.ssh/allowed_signers"),
    show_default=True,
    help="Where an address of an ssh key is looked up.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def command(
    results: tuple[Path, ...],
    tables: tuple[Path, ...],
    plots: tuple[Path, ...],
    signed_by: str | None,
    allowed_signers: Path,
    as_json: bool,
) -> int:
    """Recompute every figure of every result from its raw answers, the data set and the exact truth.

    A file in which any byte has changed is refused before that. Tables and plots are held against what was
    recomputed: the first cell or point that differs is named. Exit code 0 when everything follows, 1 when
    anything differs; what differs is named.
    """
    from ann_bench.results.signature import Signers

    messages()
    found = _Found()
    for folder in results:
        _results(folder, Signers(signed_by, allowed_signers) if signed_by else None, found)
    for path in tables:
        found.files += _file(path, lambda path: _table(path, found), found)
    for path in plots:
        from ann_bench.report.verify_plot import check_plot

        found.files += _file(path, lambda path: check_plot(path, found.figures, found.bundle), found)
    _say(found, as_json=as_json, files=bool(tables or plots))
    return 1 if found.problems else 0


@dataclass
class _Found:
    """What was looked at: figures of the results that were verified, tables and plots that fit them, what does not."""

    total: int = 0
    good: int = 0
    figures: dict[str, Figures] = field(default_factory=dict)
    paths: dict[str, Path] = field(default_factory=dict)
    files: list[dict[str, Any]] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)

    def bundle(self, one: Figures) -> Bundle | None:
        """The verified bundle of some figures, for pictures that show single queries."""
        from ann_bench.results.store import read

        return read(self.paths[one.key], answers=False) if one.key in self.paths else None


def _results(folder: Path, signers: Signers | None, found: _Found) -> None:
    from ann_bench.judge.verify import Verifier
    from ann_bench.results.figures import figures
    from ann_bench.results.newest import date
    from ann_bench.results.store import Damaged, Store

    store = Store(folder)
    verifier = Verifier(_dataset_of)
    for item in store.scan(answers=True):
        found.total += 1
        if isinstance(item, Damaged):
            found.problems.append((str(item.path), item.reason.removeprefix(f"{item.path}: ")))
            continue
        path = store.path(item.identity)
        try:
            if signers is not None:
                signers.check(path)
        except ResultError as error:  # what is wrong with the tool, or with what was asked for, is no problem of a file
            found.problems.append((str(path), str(error)))
            continue
        try:
            verifier.verify(item)
        except AnnBenchError as error:
            found.problems.append((str(path), str(error)))
        else:
            found.good += 1
            one = figures(item)
            if date(found.figures.get(one.key, one)) <= date(one):  # of one measured twice, tables have the newest
                found.figures[one.key], found.paths[one.key] = one, path


def _table(path: Path, found: _Found) -> list[str]:
    from ann_bench.report.verify_board import check_board
    from ann_bench.results.tables import check_table

    notes = check_board(path, found.figures)
    return [f"{check_table(path, found.figures)} rows"] if notes is None else notes


def _file(path: Path, check: Any, found: _Found) -> list[dict[str, Any]]:
    """One table or plot: what is to be said of it, or its problem."""
    try:
        return [{"file": str(path), "notes": check(path)}]
    except ResultError as error:
        found.problems.append((str(path), str(error)))
        return []


def _say(found: _Found, *, as_json: bool, files: bool) -> None:
    good = found.good
    if as_json:
        listed = [{"file": file, "problem": problem} for file, problem in found.problems]
        more = {"files": found.files} if files else {}
        click.echo(json.dumps({"verified": good, "problems": listed, **more}, indent=2))
        return
    for file, problem in found.problems:
        click.echo(f"{file}: {problem}", err=True)
    for one in found.files:
        click.echo("; ".join([f"{one['file']}: follows from these results", *one["notes"]]))
    whole = good == found.total
    click.echo(f"{good} of {found.total} results verified" + (": all figures follow from raw answers" * whole))


def _dataset_of(bundle: Bundle) -> Dataset:
    from ann_bench.datasets.prepare import prepare
    from ann_bench.datasets.registry import find_manifest

    manifest = find_manifest(bundle.provenance.get("manifest", bundle.identity["dataset"]), bundle.identity["track"])
    return prepare(manifest, bundle.identity["queries"])
