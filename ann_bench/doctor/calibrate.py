"""How small a difference this machine can show: the same index measured twice, over and over (A/A).

Two workers hold the same index and answer the same batch in turn, through sandbox, wire and clock of a real run. Any
difference between them is error. Results are medians of a few runs, so medians of as many are compared, of any two
times during the calibration, as `run` measures one entry after the other.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ann_bench.arrays import ArrayRef
from ann_bench.datasets.dataset import Dataset, QuerySet
from ann_bench.datasets.formats import write_xbin
from ann_bench.datasets.formats.xbin import locate_xbin
from ann_bench.entries.discovery import entry_at
from ann_bench.judge.asked import published
from ann_bench.judge.driver import Driver
from ann_bench.sandbox import Sandbox, Session, WorkerSpec
from ann_bench.workload import Build, Limits, Search

RUNS = 5  # of which a result is the median
ROUNDS = 40
_ROWS, _DIM, _QUERIES, _K = 20_000, 64, 2_000, 10
_CANARY = Path(__file__).parent / "canary"
_SHARE = 0.95


@dataclass(frozen=True)
class Calibration:
    """Seconds of every batch, (2, rounds): two identical indexes in turn."""

    seconds: npt.NDArray[np.float64]

    @property
    def resolution(self) -> float:
        """The difference, as a share, that 95 of 100 comparisons of two identical results stay below."""
        return resolution(self.seconds, RUNS)

    @property
    def sentence(self) -> str:
        """The one line that it all comes down to."""
        return (
            f"this machine cannot resolve differences below {show_share(self.resolution)} "
            f"(two results of the same index, {RUNS} runs of {np.median(self.seconds):.2f} s each, "
            f"differed by more in 1 of 20 comparisons)"
        )


def show_share(share: float) -> str:
    """A share in two digits, rounded up."""
    percent = 100 * share
    digits = max(0, 1 - math.floor(math.log10(percent))) if percent > 0 else 1
    return f"{math.ceil(percent * 10**digits) / 10**digits:g} %"


def resolution(seconds: npt.NDArray[np.float64], runs: int) -> float:
    """Of all windows of `runs` rounds of both rows, the quantile of the ratio of their medians; less 1."""
    windows = [np.median(np.lib.stride_tricks.sliding_window_view(row, runs), axis=1) for row in seconds]
    ratios = [abs(math.log(a / b)) for a, b in product(*windows)]
    return math.exp(float(np.quantile(ratios, _SHARE))) - 1


def calibrate(
    sandbox: Sandbox, limits: Limits, *, rounds: int = ROUNDS, cpus: Sequence[int] | None = None
) -> Calibration:
    """Measure; raises EntryFailure where even this cannot run here, StorageError where there is no room."""
    limits = sandbox.fit(limits)
    cpus = (cpus or sandbox.cpus())[: limits.cpus]
    seconds = np.empty((2, rounds))
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        dataset = _dataset(Path(folder), rng)
        pair = [_started(sandbox.open(_spec(dataset, limits, cpus)), dataset, limits, stack) for _ in range(2)]
        search = Search(_QUERIES, _K)
        asked, order = published(dataset, search), np.arange(_QUERIES)
        for turn in range(-2, rounds):  # the first two warm up
            for which in rng.permutation(2):
                _, window = pair[which].search(asked, search, order)
                seconds[which, max(turn, 0)] = window.seconds
    return Calibration(seconds)


def _spec(dataset: Dataset, limits: Limits, cpus: Sequence[int]) -> WorkerSpec:
    assert isinstance(dataset.base, ArrayRef)
    return WorkerSpec(entry_at(_CANARY, "any"), limits, cpus, [Path(dataset.base.path)])


def _started(session: Session, dataset: Dataset, limits: Limits, stack: ExitStack) -> Driver:
    driver = Driver(session, dataset, limits)
    stack.callback(driver.close)
    driver.start(entry_at(_CANARY, "any"), {})
    driver.change(Build(range(_ROWS)))
    driver.set_query_arguments({})
    return driver


def _dataset(folder: Path, rng: np.random.Generator) -> Dataset:
    refs = []
    for name, rows in (("base", _ROWS), ("queries", _QUERIES)):
        path = folder / f"{name}.fbin"
        write_xbin(path, rng.random((rows, _DIM), dtype=np.float32))
        refs.append(locate_xbin(path, "float32"))
    return Dataset("calibration", "ip", refs[0], None, QuerySet("public", refs[1]))
