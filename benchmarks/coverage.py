"""Do intervals hold the truth, and does an entry differ from itself? Simulated entries, whose truth is known.

An entry has a speed, builds that differ in it, and runs that scatter round their build: lognormal noise, some runs
that something disturbed, a machine that drifts while it measures. Every pseudo-experiment measures two such entries
from scratch and asks `ann_bench.stats` what `run`, tables and `compare` ask it. Coverage: how often the 95 % interval
of the speed (and of the ratio) holds the truth; to be within 93 and 97 of 100, where runs do not drift. A/A: how often
two results of the same entry are called different; to be below 1 of 100.
"""

from __future__ import annotations

import argparse
import math
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from ann_bench.stats import (
    Verdict,
    differs,
    median_estimate,
    percentile_estimate,
    ratio_estimate,
    recall_estimate,
)
from ann_bench.stats.goal import Watched, levels, needed

Floats = npt.NDArray[np.float64]

COVERED, CALLED = (0.93, 0.97), 0.01
#: Two standard errors of a share of 1 in 20, so that chance is no failure.
CHANCE = 2 * 0.22
RATIO = 1.05
#: What `--until` is tried with.
GOAL = 0.02


@dataclass(frozen=True)
class Noise:
    """What disturbs a measurement; shares of the speed, all of them.

    `outliers` of the runs are slower by an exponential factor of mean `slow`. `drift` is by how much the machine
    changes from the first run of the session to the last.
    """

    name: str
    runs: float = 0.02
    builds: float = 0.0
    outliers: float = 0.0
    slow: float = 0.3
    drift: float = 0.0


@dataclass(frozen=True)
class Design:
    """How often is measured, and whether two entries take turns."""

    builds: int
    runs: int


NOISES = (
    Noise("runs 2 %"),
    Noise("runs 10 %", runs=0.1),
    Noise("outliers: 1 of 10 runs", outliers=0.1),
    Noise("builds 5 %", builds=0.05),
    Noise("builds 18 %", builds=0.18),
    Noise("builds 18 %, runs 10 %, outliers", runs=0.1, builds=0.18, outliers=0.1),
)
DRIFTS = (Noise("drift 5 %", drift=0.05), Noise("drift 5 %, builds 5 %", builds=0.05, drift=0.05))
DESIGNS = (
    Design(1, 5),
    Design(1, 10),
    Design(2, 5),
    Design(3, 3),
    Design(3, 5),
    Design(5, 1),
    Design(5, 5),
    Design(10, 3),
)


def measured(noise: Noise, design: Design, rng: np.random.Generator, when: Floats) -> Floats:
    """Rates of an entry whose true rate is 1: (builds, runs); `when` is the place of each in the session, 0 to 1."""
    shape = (design.builds, design.runs)
    logs = rng.normal(0, noise.runs, shape)
    if design.builds > 1:  # of one build the truth is that of this index
        logs += rng.normal(0, noise.builds, (design.builds, 1))
    logs -= np.log1p(rng.exponential(noise.slow, shape)) * (rng.random(shape) < noise.outliers)
    return np.exp(logs - center(noise) + noise.drift * (when - 0.5))


def center(noise: Noise, _known: dict[Noise, float] = {}) -> float:  # noqa: B006
    """The logarithm of the median run of a build, from two million of them."""
    if noise not in _known:
        rng, shape = np.random.default_rng(1), 2_000_000
        slowed = np.log1p(rng.exponential(noise.slow, shape)) * (rng.random(shape) < noise.outliers)
        _known[noise] = float(np.median(rng.normal(0, noise.runs, shape) - slowed))
    return _known[noise]


def sessions(design: Design, interleaved: bool) -> tuple[Floats, Floats]:
    """The places in the session of the runs of two entries: in turn, or one entry after the other."""
    count = design.builds * design.runs
    places = np.linspace(0, 1, 2 * count)
    shape = (design.builds, design.runs)
    if interleaved:
        return places[::2].reshape(shape), places[1::2].reshape(shape)
    return places[:count].reshape(shape), places[count:].reshape(shape)


@dataclass(frozen=True)
class Row:
    """Shares of the pseudo-experiments of one noise and one design."""

    noise: Noise
    design: Design
    interleaved: bool
    held: float
    ratio_held: float
    called: float
    called_paired: float
    width: float

    @property
    def promised(self) -> bool:
        """Whether the goals hold here: not where a machine drifts while one entry is measured after the other."""
        return self.noise.drift == 0 or self.interleaved

    def shortcomings(self, slack: float) -> list[str]:
        """What of it is not as it should be, beyond chance; two builds may be wide."""
        if not self.promised:
            return []
        least, most = min(self.held, self.ratio_held), max(self.held, self.ratio_held)
        wide = most > COVERED[1] + slack and self.design.builds != 2 and self.noise.drift == 0
        found = ["NARROW"] * (least < COVERED[0] - slack) + ["wide"] * wide
        return found + ["CALLED"] * (max(self.called, self.called_paired) >= CALLED)


def experiment(noise: Noise, design: Design, count: int, seed: int, *, interleaved: bool = True) -> Row:
    """Many pseudo-experiments."""
    rng = np.random.default_rng([seed, design.builds, design.runs])
    first, second = sessions(design, interleaved)
    held, ratio_held, called, paired, widths = 0, 0, 0, 0, []
    for _ in range(count):
        a, b = measured(noise, design, rng, first), measured(noise, design, rng, second)
        one, ratio = median_estimate(a), ratio_estimate(a * RATIO, b)
        held += one.holds(1.0)
        ratio_held += ratio.holds(RATIO)
        called += differs(a, b) is not Verdict.CANNOT_TELL
        paired += differs(a, b, paired=True) is not Verdict.CANNOT_TELL
        widths.append(ratio.width)
    shares = (held / count, ratio_held / count, called / count, paired / count)
    return Row(noise, design, interleaved, *shares, float(np.median(widths)))


def rows(count: int) -> Iterator[Row]:
    """The study of speeds."""
    for noise in NOISES:
        for design in DESIGNS:
            if noise.builds == 0 or design.builds > 1:
                yield experiment(noise, design, count, 1)
    for noise in DRIFTS:
        for design in (Design(1, 5), Design(5, 5)):
            for interleaved in (False, True):
                if noise.builds == 0 or design.builds > 1:
                    yield experiment(noise, design, count, 2, interleaved=interleaved)


def unlike_builds(count: int) -> float:
    """How often two results of one build each, of the same entry, are called different where builds differ by 18 %."""
    rng, called = np.random.default_rng(3), 0
    for _ in range(count):
        a, b = (rng.lognormal(0, 0.18) * rng.lognormal(0, 0.02, (1, 5)) for _ in range(2))
        called += differs(a, b) is not Verdict.CANNOT_TELL
    return called / count


def percentile(share: float, design: Design, queries: int, count: int) -> float:
    """Coverage of a percentile of latencies; half of their spread is the query's, half of the moment."""
    rng, held = np.random.default_rng([4, design.builds, design.runs]), 0
    truth = math.exp(float(ndtri(share)) * math.sqrt(0.5))
    for _ in range(count):
        logs = rng.normal(0, 0.5, queries) + rng.normal(0, 0.5, (design.builds, design.runs, queries))
        logs += rng.normal(0, 0.03, (design.builds, design.runs, 1))
        logs += rng.normal(0, 0.1, (design.builds, 1, 1)) * (design.builds > 1)
        held += percentile_estimate(list(map(list, np.exp(logs))), share).holds(truth)
    return held / count


def recall(design: Design, count: int) -> float:
    """Coverage of a recall of 0.9 on 1,000 queries, in builds that differ by 0.005."""
    rng, held = np.random.default_rng([5, design.builds, design.runs]), 0
    for _ in range(count):
        builds = rng.normal(0, 0.005, (design.builds, 1)) * (design.builds > 1)
        values = rng.beta(9, 1, 1000)
        runs = values.mean() + builds + np.zeros((design.builds, design.runs))
        held += recall_estimate(runs, values + builds.mean()).holds(0.9)
    return held / count


@dataclass(frozen=True)
class Stopped:
    """Results whose runs (or builds) were stopped when they were known within 2 %; shares as of `Row`."""

    noise: Noise
    what: str
    most: int
    held: float
    ratio_held: float
    called: float
    made: float
    reached: float

    def shortcomings(self, slack: float) -> list[str]:
        """What of it is not as it should be, beyond chance."""
        narrow = min(self.held, self.ratio_held) < COVERED[0] - slack
        wide = max(self.held, self.ratio_held) > COVERED[1] + slack
        return ["NARROW"] * narrow + ["wide"] * wide + ["CALLED"] * (self.called >= CALLED + slack / 2)


def stopped(noise: Noise, what: str, most: int, count: int) -> Stopped:
    """Many pseudo-experiments with `--until 2%`."""
    rng = np.random.default_rng([6, most])
    shape = (1, most) if what == "runs" else (most, 1)
    level, sure = levels(stopped=True)
    held, ratio_held, called, made, reached = 0, 0, 0, [], 0
    for _ in range(count):
        a, b = (_until(np.exp(_noisy(noise, shape, rng))) for _ in range(2))
        ratio = ratio_estimate(a * RATIO, b, level=level)
        held += median_estimate(a, level).holds(1.0)
        ratio_held += ratio.holds(RATIO)
        called += differs(a, b, level=sure) is not Verdict.CANNOT_TELL
        made.append(a.size)
        reached += median_estimate(a, level).width <= GOAL
    shares = (held / count, ratio_held / count, called / count)
    return Stopped(noise, what, most, *shares, float(np.mean(made)), reached / count)


def _noisy(noise: Noise, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
    logs = rng.normal(0, noise.runs, shape)
    logs -= np.log1p(rng.exponential(noise.slow, shape)) * (rng.random(shape) < noise.outliers)
    return logs - center(noise)


def _until(rates: Floats) -> Floats:
    """What was measured when that was enough; all of it where it never was."""
    found = needed([Watched("QPS", rates)], GOAL) or rates.size
    return rates[:, :found] if rates.shape[0] == 1 else rates[:found]


def stops(count: int) -> Iterator[Stopped]:
    """The study of `--until`."""
    for runs in (0.005, 0.01, 0.02, 0.03, 0.05):
        for what, most in (("runs", 50), ("builds", 20)):
            yield stopped(Noise(f"{what} {100 * runs:g} %", runs=runs), what, most, count)
    yield stopped(Noise("runs 2 %, outliers", runs=0.02, outliers=0.1), "runs", 50, count)


def main(argv: list[str]) -> int:
    """Run; returns 1 where an interval is too narrow, or an entry differs from itself too often."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks coverage", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--experiments", type=int, default=2000, help="pseudo-experiments for each line")
    count = parser.parse_args(argv).experiments
    slack = CHANCE / count**0.5
    print("python -m benchmarks coverage " + shlex.join(argv))
    print(f"{count:,} pseudo-experiments a line; true ratio {RATIO}; in % of them")
    print("| noise | builds x runs | 95 % of speed | 95 % of ratio | +- of ratio | A/A called | A/A called, paired |")
    print("|---|---|---|---|---|---|---|")
    missed: list[str] = []
    for row in rows(count):
        order = ("in turn" if row.interleaved else "one after the other") if row.noise.drift else ""
        name = ", ".join(filter(None, [row.noise.name, order]))
        shares = " | ".join(f"{100 * one:.1f}" for one in (row.held, row.ratio_held, row.width))
        calls = f"{100 * row.called:.2f} | {100 * row.called_paired:.2f}"
        short = row.shortcomings(slack)
        missed += short
        print(f"| {name} | {row.design.builds} x {row.design.runs} | {shares} | {calls} | {' '.join(short)}".rstrip())
    called = unlike_builds(count)
    print(f"one build each, builds differ by 18 %: {100 * called:.0f} % of the A/A comparisons call a difference")
    few = max(10, count // 5)
    for share, queries in ((0.5, 1000), (0.99, 1000), (0.999, 5000)):
        found = [percentile(share, design, queries, few) for design in (Design(1, 1), Design(1, 5), Design(3, 3))]
        shown = ", ".join(f"{100 * one:.1f}" for one in found)
        print(f"p{100 * share:g} of {queries:,} queries, 1 x 1, 1 x 5, 3 x 3 ({few} experiments): {shown}")
    found = [recall(design, few) for design in (Design(1, 1), Design(3, 3), Design(5, 5))]
    print(f"recall, 1 x 1, 3 x 3, 5 x 5 ({few}): {', '.join(f'{100 * one:.1f}' for one in found)}")
    print("| stopped within 2 % | most | 95 % of speed | 95 % of ratio | A/A called | repeats | reached |")
    print("|---|---|---|---|---|---|---|")
    for one in stops(count):
        shares = f"{100 * one.held:.1f} | {100 * one.ratio_held:.1f} | {100 * one.called:.2f}"
        short = one.shortcomings(slack)
        missed += short
        tail = f"{one.made:.1f} | {100 * one.reached:.0f} | {' '.join(short)}".rstrip()
        print(f"| {one.noise.name} | {one.most} {one.what} | {shares} | {tail}", flush=True)
    bad = len([one for one in missed if one.isupper()])
    print(f"goals: {f'MISSED in {bad} lines' if bad else 'reached'}; wider than need be: {missed.count('wide')} lines")
    return 1 if bad else 0
