"""`ann-bench data`: which data sets there are, getting them, and looking at them."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ann_bench.cli._options import messages, quiet_option
from ann_bench.cli._progress import bars

WIDE = {"max_content_width": 100}


@click.group(
    "data", short_help="List data sets, get them ready, look at them.", context_settings={"max_content_width": 100}
)
def command() -> None:
    """List data sets, get them ready (downloaded or made, checked, and hashed), and look at them.

    \b
    Examples:
      ann-bench data list
      ann-bench data prepare yfcc-like-100k
      ann-bench data describe debian-20k --track ood
    """


@command.command("list", epilog="\b\nExample:\n  ann-bench data list --json")
@click.option("--track", metavar="NAME", help="Only those for this track.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def list_(track: str | None, as_json: bool) -> int:
    """The data sets that are known by name; a dagger marks those that are known to be wrong, and refused."""
    from ann_bench.datasets.registry import list_manifests
    from ann_bench.tracks import find_track

    preset = None if track is None else find_track(track)
    known = [k for k in list_manifests() if preset is None or preset.name in k.tracks]
    if as_json:
        rows = [
            {
                "name": k.name,
                "tracks": list(k.tracks),
                "source": k.source,
                "description": k.description,
                "refused": k.refused,
            }
            for k in known
        ]
        click.echo(json.dumps(rows, indent=2))
        return 0
    width = max((len(k.name) for k in known), default=0)
    tracks = max((len(", ".join(k.tracks)) for k in known), default=0)
    for k in known:
        mark = "\N{DAGGER} " if k.refused else ""
        click.echo(f"{k.name:<{width}}  {', '.join(k.tracks):<{tracks}}  {mark}{k.description}")
    return 0


@command.command(
    "prepare",
    epilog="\b\nExamples:\n  ann-bench data prepare yfcc-like-1M\n  ann-bench data prepare my.yaml --queries private",
)
@click.argument("dataset", metavar="NAME|FILE")
@click.option("--track", metavar="NAME", help="The track to prepare for, where the name serves several.")
@click.option("--queries", default="public", show_default=True, metavar="NAME", help="The query set.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@quiet_option
def prepare_(dataset: str, track: str | None, queries: str, as_json: bool, quiet: bool) -> int:
    """Download or make a data set, check every file of it, and hash it."""
    from ann_bench.datasets.prepare import prepare
    from ann_bench.datasets.registry import find_manifest
    from ann_bench.judge.plan import data_hashes

    console = messages(quiet=quiet)
    with bars(console) as progress:
        data = prepare(find_manifest(dataset, track), queries, progress)
        hashes = data_hashes(data)
    row = {
        "name": data.name,
        "rows": data.rows,
        "dim": data.dim,
        "dtype": data.dtype,
        "metric": data.metric,
        "queries": data.queries.count,
        "tags": data.tags.shape[1] if data.tags else None,
        "hashes": hashes,
    }
    if as_json:
        click.echo(json.dumps(row, indent=2))
        return 0
    tags = f", {row['tags']:,} tags" if data.tags else ""
    shape = f"{data.rows:,} x {data.dim} {data.dtype}, {data.metric}{tags}"
    click.echo(f"{data.name}: {shape}; {data.queries.count:,} queries: ready")
    return 0


@command.command("describe", epilog="\b\nExample:\n  ann-bench data describe debian-20k --track filtered")
@click.argument("dataset", metavar="NAME|FILE")
@click.option("--track", metavar="NAME", help="The track to look for, where the name serves several.")
@click.option("--queries", default="public", show_default=True, metavar="NAME", help="The query set.")
@click.option(
    "--picture", type=click.Path(path_type=Path), help="Where to draw it (.png, .svg, .pdf). Default: plots/."
)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def describe(dataset: str, track: str | None, queries: str, picture: Path | None, as_json: bool) -> int:
    """What of a data set matters for search, in figures and a picture.

    Size, lengths, nonzeros; how often tags occur and which share of the rows passes each filter; intrinsic dimension,
    contrast, and how far the queries lie from the base.
    """
    from ann_bench.datasets.cache import cache_root
    from ann_bench.datasets.prepare import prepare
    from ann_bench.datasets.registry import find_manifest
    from ann_bench.errors import UsageError
    from ann_bench.report.description import description
    from ann_bench.report.profile import draw_profile
    from ann_bench.truth.profile import profile

    if picture is not None and picture.suffix not in (".png", ".svg", ".pdf"):
        raise UsageError(f"--picture {picture}: the name must end in .png, .svg or .pdf")
    with bars(messages()) as progress:
        data = prepare(find_manifest(dataset, track), queries, progress)
        found = profile(data, progress, cache_root() / "truth")
    path = picture or Path("plots") / "-".join(["data", data.name, *([track] if track else [])])
    path = path if path.suffix in (".png", ".svg", ".pdf") else path.with_name(f"{path.name}.png")
    draw_profile(found, path)
    if as_json:
        click.echo(json.dumps({**found.to_json(), "picture": str(path)}, indent=2))
        return 0
    for line in description(found):
        click.echo(line)
    click.echo(f"picture: {path}")
    return 0
