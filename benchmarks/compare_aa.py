"""How often compare calls a difference that is none, and finds one that is there: simulated entries, all of compare.

Every pseudo-experiment makes the raw times and answers of two entries, as result files hold them, and asks
`ann_bench.compare` for the verdict: figures, fronts, what lies between two query configs, the interval and the word.
The truth is known, because both entries are the same but for a factor in their speed. Builds differ in speed and in
recall, runs scatter, some are disturbed, a machine drifts while both are measured in turn or one after the other; both
answer the same queries, of which some are hard. A/A is to be called in fewer than 1 of 100 comparisons.
"""

from __future__ import annotations

import argparse
import math
import shlex
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ann_bench.compare.figure import PERCENTILES, QPS, RECALL, Figure
from ann_bench.compare.matched import NotReachedError
from ann_bench.compare.verdict import PAIR, Side, compare
from ann_bench.results.model import INVALID_KINDS, Asks, Bundle, Identity, Outcome, Score, Status
from ann_bench.stats import Verdict

Floats = npt.NDArray[np.float64]

K, CALLED = 10, 0.01
RECALL_ASKED = 0.95
#: Query configs of an entry: recall and queries per second.
FRONT = ((0.90, 4000.0), (0.935, 3000.0), (0.97, 2000.0), (0.99, 1000.0))
TRUE = (0.0, 0.05, 0.10, 0.30)


@dataclass(frozen=True)
class Noise:
    """What disturbs a measurement, as shares of the speed; `recalls` is how builds differ in recall.

    `drift` is by how much the machine changes from the first run to the last; `apart`: one entry is measured after the
    other.
    """

    name: str
    runs: float = 0.02
    builds: float = 0.0
    outliers: float = 0.0
    recalls: float = 0.0
    drift: float = 0.0
    apart: bool = False


@dataclass(frozen=True)
class Design:
    """How often is measured, with how many queries, and what is compared."""

    builds: int = 5
    runs: int = 3
    queries: int = 1000
    figure: Figure = QPS


NOISES = (
    Noise("runs 2 %"),
    Noise("runs 10 %, 1 of 10 disturbed", runs=0.1, outliers=0.1),
    Noise("builds 5 %", builds=0.05, recalls=0.003),
    Noise("builds 18 %", builds=0.18, recalls=0.005),
    Noise("drift 20 %, in turn", drift=0.2, builds=0.02),
    Noise("drift 20 %, one after the other", drift=0.2, builds=0.02, apart=True),
)
PLANS = (
    *((noise, Design()) for noise in NOISES),
    (NOISES[2], Design(3, 5)),
    (NOISES[2], Design(10, 3)),
    (NOISES[2], Design(queries=200)),
    (NOISES[2], Design(figure=PERCENTILES["p50"])),
    (NOISES[2], Design(figure=PERCENTILES["p99"])),
    (NOISES[2], Design(5, 1, figure=RECALL)),
)


def session(noise: Noise, design: Design) -> tuple[Floats, Floats]:
    """When each run of two entries takes place, 0 to 1: in turn within a run, or one entry after the other."""
    count, shape = design.builds * design.runs, (design.builds, design.runs)
    places = np.linspace(0, 1, 2 * count)
    if noise.apart:
        return places[:count].reshape(shape), places[count:].reshape(shape)
    return places[::2].reshape(shape), places[1::2].reshape(shape)


@dataclass(frozen=True)
class Entry:
    """A simulated entry: its name, how many times faster it is than its front says, and its token of a pair."""

    name: str
    factor: float
    token: str

    def side(self, noise: Noise, design: Design, hard: Floats, when: Floats, rng: np.random.Generator) -> Side:
        """All its query configs, measured; `hard` (queries,) says how hard each query is for everybody."""
        speeds = rng.normal(0, noise.builds, design.builds)
        recalls = rng.normal(0, noise.recalls, design.builds)
        bundles = []
        for place, (recall, qps) in enumerate(FRONT if design.figure is not RECALL else FRONT[-1:]):
            shape = (design.builds, design.runs)
            logs = speeds[:, None] + rng.normal(0, noise.runs, shape) + noise.drift * (when - 0.5)
            logs -= np.log1p(rng.exponential(0.3, shape)) * (rng.random(shape) < noise.outliers)
            rates = qps * self.factor * np.exp(logs)
            wanted = np.clip(recall + (self.factor - 1 if design.figure is RECALL else 0) + recalls, 0.01, 0.999)
            bundles.append(self._bundle(place, _answers(wanted, hard, rng), rates, design, hard, rng))
        return Side(self.name, self.name, bundles)

    def _bundle(
        self,
        place: int,
        scores: tuple[Score, ...],
        rates: Floats,
        design: Design,
        hard: Floats,
        rng: np.random.Generator,
    ) -> Bundle:
        identity: dict[str, Any] = {
            "track": "simulated", "dataset": "simulated", "queries": "public", "algorithm": self.name,
            "build": {}, "query": {"effort": place}, "k": K, "runs": design.runs, "builds": design.builds,
            "sandbox": "process", "cpus": 1, "memory_limit_bytes": 2**30,
        }  # fmt: skip
        answer_of = np.repeat(np.arange(design.builds, dtype=np.int32), design.runs).reshape(*rates.shape, 1)
        one = Bundle(
            identity=Identity(identity),
            outcome=Outcome(Status.OK),
            provenance={PAIR: self.token} if self.token else {},
            counts=(design.queries,),
            seconds=(design.queries / rates)[:, :, None],
            answer_of=answer_of,
            scores=scores,
        )
        if design.figure not in PERCENTILES.values():
            return one
        mode = {**identity, "mode": {"kind": "latency"}}
        return replace(one, identity=Identity(mode), asks=_asks(rates, hard, rng))


def _answers(recalls: Floats, hard: Floats, rng: np.random.Generator) -> tuple[Score, ...]:
    """One score for each build: the same queries are hard for all, so that they miss more of their neighbours."""
    found = []
    none = dict.fromkeys(INVALID_KINDS, 0)
    for recall in recalls:
        odds = math.log(recall / (1 - recall)) + 0.35 - hard
        hits = rng.binomial(K, 1 / (1 + np.exp(-odds))).astype(np.uint16)
        found.append(Score(hits, hits, hits, np.full(len(hits), K, dtype=np.uint16), none))
    return tuple(found)


def _asks(rates: Floats, hard: Floats, rng: np.random.Generator) -> Asks:
    """Queries one at a time: half of what makes one slow is the query's own, half of the moment."""
    shape = (*rates.shape, len(hard))
    took = np.exp(0.4 * hard + rng.normal(0, 0.4, shape)) / rates[:, :, None]
    due = np.cumsum(took, axis=2) - took
    one = (*rates.shape, 1)
    return Asks(due, due, due + took, np.full((*one, 1), 1e-5), np.zeros(one), np.full(one, np.nan))


def called(noise: Noise, design: Design, difference: float, count: int) -> tuple[float, float]:
    """Shares of the comparisons of an entry with one that is so much slower: called slower, called faster."""
    rng = np.random.default_rng([1, design.builds, design.runs, design.queries])
    first, second = session(noise, design)
    slower = faster = 0
    token = "" if noise.apart else "together"
    for _ in range(count):
        hard = rng.normal(0, 1, design.queries)
        a = Entry("a", 1.0, token).side(noise, design, hard, first, rng)
        b = Entry("b", 1 - difference, token).side(noise, design, hard, second, rng)
        try:
            found = compare(a, b, None if design.figure is RECALL else RECALL_ASKED, design.figure)
        except NotReachedError:  # an honest end, and no verdict
            continue
        slower += found.verdict is Verdict.SLOWER
        faster += found.verdict is Verdict.FASTER
    return slower / count, faster / count


def main(argv: list[str]) -> int:
    """Print the table; returns 1 where an entry differs from itself too often."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks compare-aa", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--experiments", type=int, default=1000, help="A/A comparisons of each line (a fifth of A/B)")
    count = parser.parse_args(argv).experiments
    print("python -m benchmarks compare-aa " + shlex.join(argv))
    print(f"{count:,} A/A comparisons a line, {max(1, count // 5):,} of each true difference; in % of them")
    print("| noise | builds x runs, queries, figure | A/A called | found: 5 % | 10 % | 30 % | the wrong way |")
    print("|---|---|---|---|---|---|---|")
    missed = 0
    for noise, design in PLANS:
        shares = [called(noise, design, one, count if one == 0 else max(1, count // 5)) for one in TRUE]
        of_same, wrong = sum(shares[0]), max(faster for _, faster in shares[1:])
        # two standard errors of 1 in 100, so that chance is no failure; one after the other, a drift is a difference
        bad = not noise.apart and of_same >= CALLED + 2 * math.sqrt(CALLED / count)
        missed += bad
        what = f"{design.builds} x {design.runs}, {design.queries:,}, {design.figure.title}"
        found = " | ".join(f"{100 * slower:.0f}" for slower, _ in shares[1:])
        print(f"| {noise.name} | {what} | {100 * of_same:.2f} | {found} | {100 * wrong:.1f} |{' CALLED' * bad}")
    print("goals: " + (f"MISSED in {missed} lines" if missed else "reached"))
    return 1 if missed else 0
