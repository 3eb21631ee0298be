"""`ann-bench truth`: compute exact answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import click

from ann_bench.cli._options import Bytes, messages, quiet_option
from ann_bench.cli._progress import bars

if TYPE_CHECKING:
    from ann_bench.truth.model import AnyTruth

_SUFFIXES = ("gt", "rangeres")  # of answers for the nearest, and of those within a radius

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
    help="Write the answers here too, as big-ann's .gt (of range searches .rangeres); of several searches a folder, "
    "step<N>.gt for operation N.",
)
@click.option("--memory", type=Bytes(), help="Memory that the computation may use, such as 2g. Default: 768m.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
@quiet_option
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
    console = messages(quiet=options["quiet"])
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


def _write(output: Path, steps: Sequence[int], truths: Sequence[AnyTruth]) -> None:
    """One file, or one for each search into a folder."""
    from ann_bench.datasets.files import writing
    from ann_bench.errors import UsageError

    if len(truths) == 1:
        _write_one(output, truths[0])
        return
    if output.exists() and not output.is_dir():
        raise UsageError(f"{output}: is a file; {len(truths)} searches go into a folder: name another --output")
    with writing(output):
        output.mkdir(parents=True, exist_ok=True)
    for step, truth in zip(steps, truths, strict=True):
        _write_one(output / f"step{step}.{_SUFFIXES[_ranged(truth)]}", truth)


def _write_one(path: Path, truth: AnyTruth) -> None:
    from ann_bench.datasets.formats import write_ranges, write_truth
    from ann_bench.truth.model import RangeTruth

    if isinstance(truth, RangeTruth):
        write_ranges(path, truth.counts, truth.found.ids, truth.distances)
    else:
        write_truth(path, truth.ids, truth.distances)


def _ranged(truth: AnyTruth) -> bool:
    from ann_bench.truth.model import RangeTruth

    return isinstance(truth, RangeTruth)


def _row(index: int, step: int, truth: AnyTruth) -> dict[str, Any]:
    from ann_bench.truth.model import RangeTruth

    counts = truth.counts
    row = {"search": index, "step": step, "queries": len(counts), "key": truth.key}
    row["without_answer"] = int((counts == 0).sum())
    if isinstance(truth, RangeTruth):
        total, most = int(counts.sum()), int(counts.max(initial=0))
        middle = float(median(counts.tolist() or [0]))
        return {**row, "answers": total, "mean": total / max(1, len(counts)), "median": middle, "most": most}
    k = truth.ids.shape[1]
    return {**row, "k": k, "fewer_than_k": int((counts < k).sum())}


def _summary(rows: Sequence[dict[str, Any]]) -> str:
    """What the searches have in common, in one line; the key of a single one on a second."""
    if not rows:
        return "no search"
    asked = " or ".join(f"{count:,}" for count in sorted({row["queries"] for row in rows}))
    searches = f"{len(rows):,} searches of " if len(rows) > 1 else ""
    ranged = [row for row in rows if "answers" in row]
    told = _within(ranged) if ranged else _nearest(rows)
    text = f"{searches}{asked} queries, {told} {sum(row['without_answer'] for row in rows):,} none"
    return f"{text}\nkey {rows[0]['key']}" if len(rows) == 1 else text


def _within(rows: Sequence[dict[str, Any]]) -> str:
    """Of range searches: total, mean, median (of all the searches the middle one), most."""
    total = sum(row["answers"] for row in rows)
    mean = sum(row["mean"] * row["queries"] for row in rows) / max(1, sum(row["queries"] for row in rows))
    middle = median([row["median"] for row in rows])
    most = max(row["most"] for row in rows)
    return f"{total:,} within the radius: mean {mean:,.1f}, median {middle:,g}, most {most:,} a query;"


def _nearest(rows: Sequence[dict[str, Any]]) -> str:
    tops = " or ".join(map(str, sorted({row["k"] for row in rows})))
    return f"exact top {tops}; {sum(row['fewer_than_k'] for row in rows):,} have fewer than {tops} answers,"
