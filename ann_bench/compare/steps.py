"""Where a series of measurements steps from one level to another.

A stretch at a level of its own is sought by the largest t statistic over all the stretches that there could be, from
one value to another or to an end of the series, and what lies before, in and after it is searched again (circular
binary segmentation: Olshen, Venkatraman, Lucito and Wigler, Biostatistics 5, 2004). How large the statistic becomes by
chance is found by simulation, for each length. Then each step is put where it is best between its neighbours (Bai,
Econometric Theory 13, 1997), and one that is none between them is dropped. Values that stand alone are drawn to their
neighbours before (Hampel's filter), because one slow night is no step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

Floats = npt.NDArray[np.float64]

#: How often a series without any step is said to have one.
FALSE_ALARMS = 0.01
#: A level has as many values as this at least: one slow night, or two, are no step.
LEAST = 3

_WORK = 20_000_000  # stretches that are looked at in a simulation, about
_WINDOW = 2  # values on either side that one is held against
_FAR = 3.0  # times the noise


@dataclass(frozen=True)
class Step:
    """The first place of a new level, and the medians before (back to the step before) and after."""

    place: int
    before: float
    after: float

    @property
    def ratio(self) -> float:
        """How many times the level before is the level after."""
        return self.after / self.before


def steps(values: Sequence[float] | Floats) -> list[Step]:
    """The steps in a series of positive values, in order; the values are compared as logarithms.

    Series with fewer than 2 * LEAST values have none that could be told from noise.
    """
    series = np.log(np.asarray(values, dtype=np.float64))
    tamed = _tamed(series)
    places = _settled(tamed, _places(tamed, 0))
    ends = [0, *places, len(series)] if len(series) else []
    levels = [math.exp(float(np.median(series[start:stop]))) for start, stop in pairwise(ends)]
    return [Step(place, *pair) for place, pair in zip(places, pairwise(levels), strict=True)]


def _places(series: Floats, start: int) -> list[int]:
    """The ends of stretches at levels of their own."""
    length = len(series)
    if length < 2 * LEAST:
        return []
    largest, first, after = _largest(series[None])
    if largest[0] <= _critical(length):
        return []
    ends = [0, *sorted({int(first[0]), int(after[0])} - {0, length}), length]
    inner = [place for begin, end in pairwise(ends) for place in _places(series[begin:end], start + begin)]
    return sorted([*(start + end for end in ends[1:-1]), *inner])


def _largest(series: Floats) -> tuple[Floats, npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Of each series (n, length) the largest squared statistic of a stretch, where it begins, and where it has ended.

    A stretch, and what lies before and after it where there is anything, has LEAST values. The statistic is the share
    of the squares that it explains over the share that it does not.
    """
    count, length = series.shape
    centred = series - series.mean(axis=1, keepdims=True)
    total = (centred**2).sum(axis=1)
    sums = np.concatenate([np.zeros((count, 1)), centred.cumsum(axis=1)], axis=1)
    best, first, after = np.full(count, -1.0), np.zeros(count, np.intp), np.zeros(count, np.intp)
    for size in range(LEAST, length - LEAST + 1):
        begins = np.arange(length - size + 1)
        rest = length - size - begins
        begins = begins[((begins == 0) | (begins >= LEAST)) & ((rest == 0) | (rest >= LEAST))]
        explained = (sums[:, begins + size] - sums[:, begins]) ** 2 * (length / (size * (length - size)))
        place = explained.argmax(axis=1)
        value = explained[np.arange(count), place]
        better = value > best
        best[better], first[better], after[better] = value[better], begins[place[better]], begins[place[better]] + size
    return best / np.maximum(total - best, 1e-12 * total + 1e-24), first, after


@cache
def _critical(length: int) -> float:
    """The statistic that a series without a step stays below, but for FALSE_ALARMS."""
    rng = np.random.default_rng([2004, length])
    count = int(np.clip(_WORK / length**2, 500, 10_000))
    series = _tamed_all(rng.standard_normal((count, length)))
    return float(np.quantile(_largest(series)[0], 1 - FALSE_ALARMS))


def _settled(series: Floats, places: Sequence[int]) -> list[int]:
    """Each step where it is best between its neighbours, as far as it is one there."""
    found = list(places)
    number = 0
    while number < len(found):
        start = found[number - 1] if number else 0
        stop = found[number + 1] if number + 1 < len(found) else len(series)
        statistics = _statistics(series[start:stop])
        best = int(statistics.argmax())
        found[number] = start + LEAST + best
        if statistics[best] > stdtrit(stop - start - 2, 1 - FALSE_ALARMS / 2):
            number += 1
        else:
            del found[number]
            number = 0  # its neighbours have more room now
    return found


def _statistics(series: Floats) -> Floats:
    """Two-sample t statistics for a step before every place from LEAST on."""
    length = len(series)
    centred = series - series.mean()
    left = np.arange(LEAST, length - LEAST + 1)
    between = centred.cumsum()[left - 1] ** 2 * (length / (left * (length - left)))
    total = float((centred**2).sum())
    found: Floats = np.sqrt(between / np.maximum(total - between, 1e-12 * total + 1e-24) * (length - 2))
    return found


def _tamed(series: Floats) -> Floats:
    return _tamed_all(series[None])[0] if len(series) else series


def _tamed_all(series: Floats) -> Floats:
    """Values far from their neighbours' median take its place; the noise is what changes from one to the next."""
    length = series.shape[1]
    if length < 2 * _WINDOW + 1:
        return series
    changes = np.abs(np.diff(series, axis=1))
    noise = np.median(changes, axis=1, keepdims=True) / (0.6745 * math.sqrt(2))
    padded = np.pad(series, ((0, 0), (_WINDOW, _WINDOW)), mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * _WINDOW + 1, axis=1)
    middle = np.median(windows, axis=2)
    tamed: Floats = np.where(np.abs(series - middle) > _FAR * noise, middle, series)
    return tamed
