"""What the way to an entry adds to a query that is put by itself: microseconds at the median, one or several in flight.

An entry that sleeps, or answers at once, says how long its own calls took; the client's time beyond that is what judge,
wire and worker add. Sandboxes and patterns in turn, in random order; a null call, in which the entry has no part, is
shown beside it.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Sequence
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
class Case:
    """A sandbox, how many queries are in flight, how long the entry sleeps (seconds)."""

    sandbox: str
    flight: int
    sleep: float

    def __str__(self) -> str:
        """For a line of the table."""
        what = f"sleeps {self.sleep * 1e3:g} ms" if self.sleep else "answers at once"
        return f"{self.sandbox:<8} {self.flight:>3} in flight, {what:<16}"


@dataclass(frozen=True)
class Seen:
    """Microseconds added, and those of a null call, at the median; queries a second; the client's own work."""

    added: float
    null: float
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
    parser.add_argument("--cpus", type=int, default=1, help="of the entry; the client wants one of its own")
    parser.add_argument("--rounds", type=int, default=10)
    chosen = parser.parse_args(arguments)
    seen: dict[Case, list[Seen]] = {}
    with ExitStack() as stack:
        benches = {name: _Bench.open(name, chosen, stack) for name in chosen.sandbox}
        cases = list(_cases(chosen.sandbox, chosen.flight))
        rng = np.random.default_rng(1)
        for turn in range(chosen.rounds + 1):
            for place in rng.permutation(len(cases)):
                found = benches[cases[place].sandbox].measure(cases[place])
                if turn:  # the first round warms up
                    seen.setdefault(cases[place], []).append(found)
    print(f"microseconds beyond the entry's own, {chosen.rounds} rounds of {chosen.queries:,} queries:")
    for case, values in seen.items():
        print(f"  {case} {_shown([one.added for one in values])}   null call {_shown([one.null for one in values])}")
        busy = statistics.median(one.busy for one in values)
        print(f"{'':<41}{statistics.median(one.rate for one in values):>9,.0f} queries/s, client at work {busy:.0%}")
    worst = max(statistics.median(one.added for one in values) for case, values in seen.items() if _counts(case, seen))
    print(f"most of these medians: {worst:.0f} us   (goal < {GOAL:.0f} us in Docker)")
    return 0 if worst < GOAL else 1


def _cases(sandboxes: Sequence[str], flight: int) -> Iterator[Case]:
    """One in flight, asleep or not; several in flight asleep, so that no query waits for another one's CPU."""
    for sandbox in sandboxes:
        yield from (Case(sandbox, 1, 0.0), Case(sandbox, 1, 0.001), Case(sandbox, flight, 0.001))
        yield Case(sandbox, flight, 0.0)


def _counts(case: Case, seen: dict[Case, list[Seen]]) -> bool:
    """The goal is one of containers; several queries of an entry that answers at once wait for each other."""
    docker = any(one.sandbox == "docker" for one in seen)
    return (case.sandbox == "docker" or not docker) and (case.flight == 1 or case.sleep > 0)


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
        driver = ready(common, entry_at(ENTRIES / "sleeps", track.name), {})
        stack.callback(driver.close)
        search = Search(min(chosen.queries, data.queries.count), common.k, filtered=track.features.filtered)
        return _Bench(driver, published(data, search), search, common.cpus)

    def measure(self, case: Case) -> Seen:
        """One pass over the queries."""
        self.driver.set_query_arguments({"seconds": case.sleep})
        order = np.random.default_rng(2).permutation(self.search.queries)
        with seated(self.cpus):
            pattern = Pattern(case.flight, case.flight)
            _, window, served = self.driver.serve(self.asked, self.search, order, pattern)
        own = float(self.driver.stats()["median"])
        added = float(np.median(served.answered - served.due)) - own
        rate = self.search.queries / window.seconds
        return Seen(added * 1e6, float(np.median(served.null)) * 1e6, rate, served.busy)
