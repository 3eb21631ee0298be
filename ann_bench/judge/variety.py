"""What differs from one build of an index to the next: the seed of its random choices, and the order of the rows.

An entry says in config.yaml which argument takes a seed (`seed`), and whether any order of rows will do (`any_order`).
What the builds then differ in is what an index owes to chance, which is what the interval over builds is to show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from ann_bench.entries.entry import Entry
from ann_bench.judge.disguise import disguised
from ann_bench.judge.plan import Job, Setting

_SEEDS = 2**31 - 1  # what every library takes


def build_seed(seed: int, build: int) -> int:
    """The seed of one of the builds, from that of a run."""
    return int(np.random.default_rng([seed, build]).integers(1, _SEEDS))


def arguments(job: Job, seed: int, build: int) -> dict[str, Any]:
    """The arguments of the constructor for this build."""
    name = job.entry.config.seed
    return job.build if name is None else {**job.build, name: build_seed(seed, build)}


def shuffles(setting: Setting, entry: Entry) -> bool:
    """Whether every build of an entry gets the rows in another order: of repeated builds that take any."""
    return entry.config.any_order and setting.builds > 1 and not setting.workload.mutates and setting.challenge is None


@contextmanager
def orders(setting: Setting, jobs: Sequence[Job], seed: int, build: int) -> Iterator[list[Setting]]:
    """What each of the jobs sees in a build; the rows in another order lie in the cache as long as the block lasts."""
    if not any(shuffles(setting, job.entry) for job in jobs):
        yield [setting] * len(jobs)
        return
    with disguised(setting.dataset, f"build {build} of {seed}", rows=True) as other:
        shown = replace(setting, disguise=other)
        yield [shown if shuffles(setting, job.entry) else setting for job in jobs]
