"""What watching costs: batches with the board drawn before them against batches without, run by run in one measurement.

Before every other run of each query config the board is drawn, as `ann-bench run` draws it on a terminal, and before
the one after it nothing is; so with builds, which wake the judge once a second and draw. Ratios of the speeds of
neighbours, drawn / not drawn: below 1 watching costs.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import numpy as np
from rich.console import Console

from ann_bench.cli._live.board import Board
from ann_bench.cli._live.screen import Screen
from ann_bench.datasets.home import home
from ann_bench.datasets.prepare import prepare
from ann_bench.datasets.registry import find_manifest
from ann_bench.entries.discovery import Data, choose
from ann_bench.judge.events import Began, Event, GoesOn
from ann_bench.judge.plan import Options, plan, setting
from ann_bench.judge.repeat import Repeat
from ann_bench.judge.run import execute
from ann_bench.results.store import Store
from ann_bench.sandbox import find_sandbox
from ann_bench.tracks import find_track


class _EveryOther(Screen):
    """Draws before runs and in builds of odd numbers, always, and otherwise never."""

    drawings = 0

    def _is_due(self, event: Event) -> bool:
        if not isinstance(event, Began | GoesOn) or event.work.kind not in ("search", "build"):
            return False
        due = event.work.number % 2 == 1
        self.drawings += due
        return due


def main(argv: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks watching")
    parser.add_argument("--track", default="dense")
    parser.add_argument("--dataset", default="blobs-20k")
    parser.add_argument("--algorithm", default="hnswlib")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--builds", type=int, default=4)
    wish = parser.parse_args(argv)
    track = find_track(wish.track)
    manifest = find_manifest(wish.dataset, track.name)
    entries = choose(track.name, home(), (wish.algorithm,), (), Data(manifest.name, manifest.metric))
    options = Options(runs=wish.runs, builds=wish.builds, memory_bytes=2 << 30, repeat=Repeat(warmups=1))
    common = setting(track, prepare(manifest, "public"), find_sandbox("process"), options)
    with tempfile.TemporaryDirectory() as folder, Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        console = Console(file=nowhere, force_terminal=True, width=100, height=30)
        screen = _EveryOther(console, Board(), lambda: None)
        with screen:
            tally = execute(plan(common, entries, wanted=True), Store(folder), watch=screen.take)
    pairs = [bundle.seconds.sum(axis=2).reshape(wish.builds, -1, 2) for bundle in tally.bundles]
    ratios = np.concatenate([pair[..., 1] / pair[..., 0] for pair in pairs]).ravel()  # run 1 is drawn, run 2 is not
    built = [step.seconds for step in tally.bundles[0].steps if step.kind == "build"]
    builds = np.divide(built[1::2], built[0::2])
    print(f"{screen.drawings} drawings")
    print("| drawn / not drawn, speed | pairs | median | least | largest |\n|---|---|---|---|---|")
    for name, values in (("QPS", ratios), ("build", builds)):
        print(f"| {name} | {len(values)} | {np.median(values):.3f} | {values.min():.2f} | {values.max():.2f} |")
    return 0
