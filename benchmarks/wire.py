"""What it costs to put one query by itself: microseconds of a null query at the median, one and several in flight.

An entry that answers at once, in each sandbox, in random turns. Beside it two bare processes that send each other 40
bytes over a Unix socket, on the same CPUs: less than that no way to another process can cost here.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import socket
import statistics
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

from ann_bench.datasets.prepare import prepare
from ann_bench.datasets.registry import find_manifest
from ann_bench.entries.discovery import entry_at
from ann_bench.judge.asked import Asked, published
from ann_bench.judge.driver import Driver
from ann_bench.judge.pattern import Pattern
from ann_bench.judge.plan import Options, setting
from ann_bench.judge.seat import seated
from ann_bench.sandbox import find_sandbox
from ann_bench.tracks import find_track
from ann_bench.workload import Search
from benchmarks.harness import ENTRIES, ready

#: Microseconds that the way may add at the median in a container.
GOAL = 60.0


@dataclass(frozen=True)
class Seen:
    """Microseconds of a query at the median, queries a second, the share of the time that the client worked."""

    median: float
    rate: float
    busy: float


def main(arguments: list[str]) -> int:
    """Run the benchmark and print its times."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks wire", description=__doc__)
    parser.add_argument("--sandbox", nargs="+", default=["process", "docker"])
    parser.add_argument("--track", default="dense")
    parser.add_argument("--dataset", default="debian-20k")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--flight", type=int, default=4, help="how many queries are in flight where it is several")
    parser.add_argument("--cpus", type=int, default=1, help="of the entry; where one is left the client has it")
    parser.add_argument("--rounds", type=int, default=10)
    chosen = parser.parse_args(arguments)
    cases = [(sandbox, flight) for sandbox in chosen.sandbox for flight in (1, chosen.flight)]
    seen: dict[tuple[str, int], list[Seen]] = {case: [] for case in cases}
    bare: list[float] = []
    with ExitStack() as stack:
        benches = {name: _Bench.open(name, chosen, stack) for name in chosen.sandbox}
        cpus = benches[chosen.sandbox[0]].cpus
        rng = np.random.default_rng(1)
        for turn in range(chosen.rounds + 1):
            bare += [round_trip(cpus, chosen.queries)] if turn else []
            for place in rng.permutation(len(cases)):
                found = benches[cases[place][0]].measure(cases[place][1])
                seen[cases[place]] += [found] if turn else []  # the first round warms up
    print(f"microseconds of a null query at the median, {chosen.rounds} rounds of {chosen.queries:,} queries:")
    print(f"  two bare processes          {_shown(bare)}")
    for (sandbox, flight), values in seen.items():
        rate, busy = (statistics.median(getattr(one, name) for one in values) for name in ("rate", "busy"))
        print(
            f"  {sandbox:<8} {flight:>3} in flight      {_shown([one.median for one in values])}   "
            f"{rate:>7,.0f} queries/s, client at work {busy:.0%}"
        )
    counted = {case: values for case, values in seen.items() if case[1] == 1}
    worst = statistics.median(one.median for one in counted[chosen.sandbox[-1], 1])
    print(f"{chosen.sandbox[-1]}, one in flight: {worst:.0f} us   (goal < {GOAL:.0f} us in Docker)")
    return 0 if worst < GOAL else 1


def round_trip(cpus: Sequence[int], rounds: int) -> float:
    """Microseconds at the median between two processes, the other one on these CPUs."""
    ours, theirs = socket.socketpair()
    other = multiprocessing.Process(target=_echo, args=(theirs, ours, set(cpus)))
    other.start()
    theirs.close()
    took = []
    with seated(cpus), ours:
        for _ in range(rounds):
            start = time.perf_counter()
            ours.send(b"x" * 40)
            ours.recv(64)
            took.append(time.perf_counter() - start)
    other.join()
    return statistics.median(took) * 1e6


def _echo(mine: socket.socket, other: socket.socket, cpus: set[int]) -> None:
    other.close()
    os.sched_setaffinity(0, cpus)
    while data := mine.recv(64):
        mine.send(data)


def _shown(values: list[float]) -> str:
    return f"{statistics.median(values):6.1f} (min {min(values):.1f}, max {max(values):.1f})"


@dataclass(frozen=True)
class _Bench:
    """One sandbox with its worker."""

    driver: Driver
    asked: Asked
    search: Search
    cpus: Sequence[int]

    @staticmethod
    def open(sandbox: str, chosen: argparse.Namespace, stack: ExitStack) -> _Bench:
        """Start the worker; it ends with the stack."""
        track = find_track(chosen.track)
        data = prepare(find_manifest(chosen.dataset, track.name))
        common = setting(track, data, find_sandbox(sandbox), Options(cpus=chosen.cpus))
        driver = ready(common, entry_at(ENTRIES / "null", track.name), {})
        stack.callback(driver.close)
        driver.set_query_arguments({"queries": 1, "k": common.k})
        search = Search(min(chosen.queries, data.queries.count), common.k, filtered=track.features.filtered)
        return _Bench(driver, published(data, search), search, common.cpus)

    def measure(self, flight: int) -> Seen:
        """One pass over the queries, so many in flight, and as many threads to answer them."""
        order = np.random.default_rng(2).permutation(self.search.queries)
        with seated(self.cpus) as apart:
            pattern = Pattern(flight, flight, alone=apart)
            _, window, served = self.driver.serve(self.asked, self.search, order[np.newaxis], pattern)
        middle = float(np.median(served.answered - served.due)) * 1e6
        return Seen(middle, self.search.queries / window.seconds, served.busy)
