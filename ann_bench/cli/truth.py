"""`ann-bench truth`: compute exact answers."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ann_bench.cli._options import messages
from ann_bench.cli._progress import bars

EPILOG = """\b
Examples:
  ann-bench truth --track filtered
  ann-bench truth --track filtered --dataset my.yaml --k 100 --output my.gt
"""


@click.command("truth", epilog=EPILOG, short_help="Compute exact answers.")
@click.option("--track", required=True, metavar="NAME", help="The track, such as filtered.")
@click.option(
    "--dataset", metavar="NAME|FILE", help="A data set, or a manifest of your own (.yaml). Default: the track's."
)
@click.option("--queries", default="public", show_default=True, metavar="NAME", help="The query set.")
@click.option("--k", type=click.IntRange(1, 10_000), help="Neighbours to a query. Default: the track's.")
@click.option("--output", type=click.Path(path_type=Path), help="Write the answers here too, as big-ann's .gt.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def command(track: str, dataset: str | None, queries: str, k: int | None, output: Path | None, as_json: bool) -> int:
    """Compute the exact answers to the searches of a track, and check a truth file that the manifest names.

    Answers are kept in the cache under the hash of all that they depend on.
    """
    from ann_bench.datasets.formats import write_truth
    from ann_bench.datasets.prepare import prepare
    from ann_bench.datasets.registry import find_manifest
    from ann_bench.errors import UsageError
    from ann_bench.judge.run import ask_all
    from ann_bench.tracks import find_track

    preset = find_track(track)
    console = messages()
    with bars(console) as progress:
        data = prepare(find_manifest(dataset or preset.default_dataset, track), queries, progress)
        asked = ask_all(data, preset.workload(data, k or preset.k), progress)
    if output is not None:
        if len(asked.truths) != 1:
            raise UsageError(f"--output takes one search; this workload has {len(asked.truths)}")
        write_truth(output, asked.truths[0].ids, asked.truths[0].distances)
    rows = [
        {
            "search": index,
            "queries": len(truth.ids),
            "k": truth.ids.shape[1],
            "key": truth.key,
            "without_answer": int((truth.ids[:, 0] < 0).sum()),
            "fewer_than_k": int((truth.ids[:, -1] < 0).sum()),
        }
        for index, truth in enumerate(asked.truths)
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return 0
    for row in rows:
        lacking = f"{row['fewer_than_k']:,} have fewer than {row['k']} answers, {row['without_answer']:,} none"
        click.echo(f"{data.name}, {data.queries.name}: {row['queries']:,} queries, exact top {row['k']}; {lacking}")
        click.echo(f"key {row['key']}")
    return 0
