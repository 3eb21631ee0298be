"""`ann-bench verify`: recompute every figure from raw answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ann_bench.cli._options import messages
from ann_bench.errors import AnnBenchError

if TYPE_CHECKING:
    from ann_bench.datasets.dataset import Dataset
    from ann_bench.results.model import Bundle

EPILOG = """\b
Example:
  ann-bench verify --results results
"""


@click.command("verify", epilog=EPILOG, short_help="Recompute every figure from raw answers.")
@click.option("--results", type=click.Path(path_type=Path), default="results", show_default=True, help="The results.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def command(results: Path, as_json: bool) -> int:
    """Recompute every figure of every result from its raw answers, the data set and the exact truth.

    A file in which any byte has changed is refused before that. Exit code 0 when everything follows, 1 when
    anything differs; what differs is named.
    """
    from ann_bench.judge.verify import Verifier
    from ann_bench.results.store import Damaged, Store

    messages()
    store = Store(results)
    verifier = Verifier(_dataset_of)
    problems: list[tuple[str, str]] = []
    total = 0
    for found in store.scan(answers=True):
        total += 1
        if isinstance(found, Damaged):
            problems.append((str(found.path), found.reason.removeprefix(f"{found.path}: ")))
            continue
        try:
            verifier.verify(found)
        except AnnBenchError as error:
            problems.append((str(store.path(found.identity)), str(error)))
    if as_json:
        listed = [{"file": file, "problem": problem} for file, problem in problems]
        click.echo(json.dumps({"verified": total - len(problems), "problems": listed}, indent=2))
    else:
        for file, problem in problems:
            click.echo(f"{file}: {problem}", err=True)
        click.echo(
            f"{total - len(problems)} of {total} results verified"
            + (": all figures follow from raw answers" * (not problems))
        )
    return 1 if problems else 0


def _dataset_of(bundle: Bundle) -> Dataset:
    from ann_bench.datasets.prepare import prepare
    from ann_bench.datasets.registry import find_manifest

    manifest = find_manifest(bundle.provenance.get("manifest", bundle.identity["dataset"]), bundle.identity["track"])
    return prepare(manifest, bundle.identity["queries"])
