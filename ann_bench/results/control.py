"""What the control batches of a bundle say: the same queries with a little noise, against the published ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ann_bench.results.model import Bundle, Control
from ann_bench.results.rounds import answers_of
from ann_bench.stats import mean, median

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Compared:
    """Mean recall on the sample, published and unseen; `evidence` that the unseen is lower and not by chance.

    Evidence is the sum of the differences, query by query, over the root of the sum of their squares. An entry that
    does not know the published queries is as likely to gain as to lose on each, and then, whatever the sizes of the
    differences, evidence exceeds x with a probability of at most exp(-x ** 2 / 2) (Hoeffding's bound for random signs).
    Of n queries it is at most the root of n: fewer than 26 can never exceed 5.
    """

    published: float
    unseen: float
    evidence: float


def control_recall(bundle: Bundle) -> float:
    """Recall on the sample of the control batches: the mean over queries, then searches, then builds."""
    control = bundle.control
    if control is None:
        return math.nan
    means = np.append([mean(score.recalls) for score in control.scores], np.nan)
    return mean([mean(searches) for searches in means[control.answer_of]])


def compare(bundle: Bundle) -> Compared:
    """Recall of published and unseen queries, on the same ones; NaN and no evidence where nothing was measured."""
    control = bundle.control
    pairs = [_pairs(bundle, control, search) for search in range(len(control.numbers))] if control else []
    both = np.concatenate(pairs) if pairs else np.zeros((0, 2))
    lost = both[:, 0] - both[:, 1]
    size = math.sqrt(math.fsum(lost * lost))
    return Compared(mean(both[:, 0]), mean(both[:, 1]), math.fsum(lost) / size if size else 0.0)


@dataclass(frozen=True)
class Excess:
    """What control batches took more than the median of the runs: as a factor, and in seconds."""

    factor: float = 0.0
    seconds: float = 0.0

    def beyond(self, factor: float, seconds: float) -> bool:
        """Whether it is more than this factor, and by more than these seconds."""
        return self.factor > factor and self.seconds > seconds


def delays(bundle: Bundle) -> list[tuple[Excess, Excess]]:
    """What the control batches of each build took more than its runs: time, and CPU time."""
    control = bundle.control
    if control is None:
        return []
    time = _excess(control.seconds, bundle.seconds)
    return list(zip(time, _excess(control.cpu_seconds, control.published_cpu_seconds), strict=True))


def _excess(unseen: Floats, published: Floats) -> list[Excess]:
    """For each build, from (builds, searches) and (builds, runs, searches)."""
    found = []
    for took, runs in zip(unseen.sum(axis=1).tolist(), published.sum(axis=2), strict=True):
        usual = median(runs)
        known = math.isfinite(took) and math.isfinite(usual)
        factor = took / usual if known and usual > 0 else math.inf
        found.append(Excess(factor, took - usual) if known else Excess())
    return found


def _pairs(bundle: Bundle, control: Control, search: int) -> Floats:
    """Recall of each query of the sample, published and unseen (queries, 2): means over the runs and builds."""
    numbers = control.numbers[search]
    builds = np.flatnonzero(control.answer_of[:, search] >= 0)
    unseen = [control.scores[control.answer_of[build, search]].recalls for build in builds]
    given = answers_of(bundle)[builds, ..., search].ravel()
    published = [bundle.scores[answer].recalls[numbers] for answer in given[given >= 0]]
    if not unseen or not published:
        return np.zeros((0, 2))
    both = np.column_stack([np.mean(published, axis=0), np.mean(unseen, axis=0)])
    return np.asarray(both[np.isfinite(both).all(axis=1)])
