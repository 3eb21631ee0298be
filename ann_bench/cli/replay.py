"""`ann-bench replay`: measure a result once more from what it says of itself."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ann_bench.cli._options import messages
from ann_bench.cli._progress import bars
from ann_bench.cli.compare import Share
from ann_bench.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from ann_bench.compare.replay import Replayed
    from ann_bench.entries.entry import Entry
    from ann_bench.results.model import Bundle
    from ann_bench.stats import Estimate

EPILOG = """\b
Examples:
  ann-bench replay results/filtered/yfcc-10M/mine/0123....h5
  ann-bench replay 0123 --results results --entry ../mine
"""


@click.command("replay", epilog=EPILOG, short_help="Measure a result once more and compare.")
@click.argument("bundle", metavar="FILE|KEY")
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    default="results",
    show_default=True,
    help="Where a result is looked up by the first digits of its key.",
)
@click.option(
    "--into",
    type=click.Path(path_type=Path),
    default="results-replay",
    show_default=True,
    help="Where the new one goes.",
)
@click.option("--entry", metavar="PLACE", help="Where the entry lies. Default: the one of its name here.")
@click.option("--dataset", metavar="NAME|FILE", help="The data set. Default: the manifest that the result names.")
@click.option(
    "--within",
    type=Share(),
    default="10%",
    show_default=True,
    metavar="SHARE",
    help="By how much the speed may differ, beyond what chance explains.",
)
@click.option("--challenge", metavar="SEED", help="The seed of its challenge, of which the result keeps a digest only.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def command(bundle: str, results: Path, within: float, as_json: bool, **options: Any) -> int:
    """Measure a result once more, with the arguments, limits, mode, repeats and seed that it names, and compare.

    It is refused, with the field, where data, entry, packages, image or limits are not as they were. On another machine
    only status and recall are compared. Exit code 0: it agrees; 1: status, recall or speed do not; 2: refused.
    """
    console = messages()
    wanted = Again(**options)
    path = _find(bundle, results)
    return _say(_measured(path, wanted, console), path, within, as_json=as_json, console=console)


@dataclass(frozen=True)
class Again:
    """What was typed of the new measurement; None: what the result says."""

    into: Path
    entry: str | None
    dataset: str | None
    challenge: str | None


def _measured(path: Path, wanted: Again, console: Console) -> Replayed:
    """The result, and the same measured now."""
    from ann_bench.compare.replay import plan_again, replayed
    from ann_bench.datasets.prepare import prepare
    from ann_bench.datasets.registry import find_manifest
    from ann_bench.judge.run import execute
    from ann_bench.results.store import Store, read
    from ann_bench.sandbox import find_sandbox

    then, store = read(path), Store(wanted.into)
    if wanted.into.resolve() in path.resolve().parents:
        raise UsageError(f"{path} lies in {wanted.into}, where the new result goes; name another folder with --into")
    track = then.identity["track"]
    manifest = find_manifest(wanted.dataset or then.provenance.get("manifest") or then.identity["dataset"], track)
    found = _entry(then, wanted.entry)
    sandbox = find_sandbox(then.identity["sandbox"])
    store.check_writable()
    with bars(console) as progress:
        sandbox.prepare([found], wanted.into / "logs", progress)
        data = prepare(manifest, then.identity["queries"], progress)
        again = plan_again(then, data, found, sandbox, wanted.challenge)
        execute(again, store, force=True, progress=progress)
    return replayed(then, store.get(again.jobs[0].configs[0].identity))


def _find(bundle: str, results: Path) -> Path:
    """The file of a result, by its path or by the first digits of its key."""
    from ann_bench.results.store import Store

    if Path(bundle).is_file():
        return Path(bundle)
    if Path(bundle).name != bundle or Path(bundle).suffix:
        raise UsageError(f"{bundle}: there is no such file")
    found = [path for path in Store(results).paths() if path.stem.startswith(bundle)]
    if len(found) != 1:
        several = f"{len(found)} results in {results} begin so; give more digits"
        raise UsageError(
            f"{bundle}: {several if found else f'no file, and no result in {results} has a key like that'}"
        )
    return found[0]


def _entry(then: Bundle, place: str | None) -> Entry:
    from ann_bench.datasets.home import home
    from ann_bench.entries.discovery import entries_at, resolve
    from ann_bench.entries.entry import entry_hash

    name, track = str(then.identity["algorithm"]), str(then.identity["track"])
    if place is None:
        try:
            return resolve(name, home(), track)[0]
        except UsageError as error:
            raise UsageError(f"the entry {name!r} is not here ({error}); name its place with --entry") from error
    there = entries_at(place, track)
    named = [entry for entry in there if entry.name == name]
    # `compare` calls one of two versions of an entry otherwise: its files tell
    named += [replace(one, name=name) for one in there if entry_hash(one) == then.identity.fields.get("entry_hash")]
    if not named:
        raise UsageError(f"{place}: holds no entry called {name!r}, which is what was measured")
    return named[0]


def _say(done: Replayed, path: Path, within: float, *, as_json: bool, console: Console) -> int:
    from ann_bench.compare.replay import as_json as listed
    from ann_bench.results.figures import figures

    problems = done.problems(within)
    if as_json:
        click.echo(json.dumps({"bundle": str(path), **listed(done), "problems": problems}, indent=2))
        return 1 if problems else 0
    old, new = figures(done.then), figures(done.now)
    answers = "the same answers in every batch" if done.same_answers else "other answers"
    click.echo(f"status  {old.status}, now {new.status}")
    click.echo(f"recall  {old.recall:.4f}, now {new.recall:.4f}: {answers}")
    for figure, ratio in done.ratios.items():
        was, now = (figure.show(getattr(one, figure.name)) for one in (old, new))
        click.echo(f"{figure.title:<6}  {was}, now {now}: {ratio.value:.3f} x ({_interval(ratio)})")
    if done.same_machine and not all(math.isfinite(ratio.low) for ratio in done.ratios.values()):
        console.print(
            "one measurement each says nothing of chance: speeds without an interval are not judged", style="dim"
        )
    if not done.same_machine:
        console.print("measured on another machine: the speeds are not compared", style="dim")
    click.echo("it agrees" if not problems else f"it does not agree: {'; '.join(problems)}")
    return 1 if problems else 0


def _interval(ratio: Estimate) -> str:
    return f"95 %: {ratio.low:.3f} to {ratio.high:.3f}" if math.isfinite(ratio.low) else "no interval"
