"""`ann-bench truth`: compute exact answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ann_bench.cli._options import Bytes, messages
from ann_bench.cli._progress import bars

if TYPE_CHECKING:
    from ann_bench.truth.model import Truth

EPILOG = """\b
Examples:
  ann-bench truth --track filtered
  ann-bench truth --track filtered --dataset my.yaml --k 100 --output my.gt
  ann-bench truth --track streaming --memory 2g --output answers/
"""


@click.command("truth", epilog=EPILOG, short_help="Compute exact answers.")
@click.option("--track", required=True, metavar="NAME", help="The track, such as filtered.")
@click.option(
    "--dataset", metavar="NAME|FILE", help="A data set, or a manifest of your own (.yaml). Default: the track's."
)
@click.option("--queries", default="public", show_default=True, metavar="NAME", help="The query set.")
@click.option("--k", type=click.IntRange(1, 10_000), help="Neighbours to a query. Default: the track's.")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Write the answers here too, as big-ann's .gt; of several searches a folder, step<N>.gt for operation N.",
)
@click.option("--memory", type=Bytes(), help="Memory that the computation may use, such as 2g. Default: 768m.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def command(**options: Any) -> int:
    """Compute the exact answers to the searches of a track, and check a truth file that the manifest names.

    Answers are kept in the cache under the hash of all that they depend on. Interrupted work goes on where it
    stopped when the same command is given again.
    """
    from ann_bench.datasets.prepare import prepare
    from ann_bench.datasets.registry import find_manifest
    from ann_bench.judge.run import ask_all
    from ann_bench.tracks import find_track
    from ann_bench.truth.store import DEFAULT_MEMORY
    from ann_bench.workload import Search

    preset = find_track(options["track"])
    console = messages()
    with bars(console) as progress:
        manifest = find_manifest(options["dataset"] or preset.default_dataset, options["track"])
        data = prepare(manifest, options["queries"], progress)
        workload = preset.workload(data, options["k"] or preset.k)
        truths = ask_all(data, workload, progress, options["memory"] or DEFAULT_MEMORY).truths
    steps = [number for number, step in enumerate(workload.operations, 1) if isinstance(step, Search)]
    if options["output"] is not None:
        _write(options["output"], steps, truths)
    rows = [_row(index, step, truth) for index, (step, truth) in enumerate(zip(steps, truths, strict=True))]
    if options["as_json"]:
        click.echo(json.dumps(rows, indent=2))
    else:
        click.echo(f"{data.name}, {data.queries.name}: {_summary(rows)}")
    return 0


def _write(output: Path, steps: Sequence[int], truths: Sequence[Truth]) -> None:
    """One file, or one for each search into a folder."""
    from ann_bench.datasets.files import writing
    from ann_bench.datasets.formats import write_truth
    from ann_bench.errors import UsageError

    if len(truths) == 1:
        write_truth(output, truths[0].ids, truths[0].distances)
        return
    if output.exists() and not output.is_dir():
        raise UsageError(f"{output}: is a file; {len(truths)} searches go into a folder: name another --output")
    with writing(output):
        output.mkdir(parents=True, exist_ok=True)
    for step, truth in zip(steps, truths, strict=True):
        write_truth(output / f"step{step}.gt", truth.ids, truth.distances)


def _row(index: int, step: int, truth: Truth) -> dict[str, Any]:
    return {
        "search": index,
        "step": step,
        "queries": len(truth.ids),
        "k": truth.ids.shape[1],
        "key": truth.key,
        "without_answer": int((truth.ids[:, 0] < 0).sum()),
        "fewer_than_k": int((truth.ids[:, -1] < 0).sum()),
    }


def _summary(rows: Sequence[dict[str, Any]]) -> str:
    """What the searches have in common, in one line; the key of a single one on a second."""
    if not rows:
        return "no search"
    asked, tops = (sorted({row[name] for row in rows}) for name in ("queries", "k"))
    counts = " or ".join(f"{count:,}" for count in asked)
    lacking, without = (sum(row[name] for row in rows) for name in ("fewer_than_k", "without_answer"))
    searches = f"{len(rows):,} searches of " if len(rows) > 1 else ""
    top = " or ".join(map(str, tops))
    text = f"{searches}{counts} queries, exact top {top}; {lacking:,} have fewer than {top} answers, {without:,} none"
    return f"{text}\nkey {rows[0]['key']}" if len(rows) == 1 else text
