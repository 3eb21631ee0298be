"""Two entries measured in turn, so that whatever the machine does meets both alike."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from dataclasses import replace

from ann_bench.compare.verdict import PAIR
from ann_bench.errors import UsageError
from ann_bench.judge.measure import measure_together
from ann_bench.judge.plan import Job, Setting
from ann_bench.judge.record import Questions
from ann_bench.results.model import Bundle

log = logging.getLogger(__name__)


def measure_pair(
    setting: Setting, jobs: tuple[Job, Job], questions: Questions, keep: Callable[[int, Bundle], None]
) -> None:
    """Measure all the query configs of two entries; `keep` gets side (0 or 1) and bundle of each, failed or not.

    Where both fit into memory at once they take turns (see `ann_bench.judge.party`), and their bundles say so under
    PAIR; otherwise they are measured one after the other, with a warning. Streams take turns by whole runs: one build
    of each query config, then the next. Raises UsageError where an entry is not there.
    """
    for job in jobs:
        if job.refusal is not None:
            raise UsageError(f"{job.entry.name}: {job.refusal.status.value} ({job.refusal.detail})")
    token, warned = secrets.token_hex(8), False

    def kept(job: Job, bundle: Bundle) -> None:
        nonlocal warned
        in_turn = len(bundle.provenance.get("turns", {}).get("of", ())) == len(jobs)
        if not in_turn and not warned:
            warned = True
            log.warning(
                "two indexes of up to %.3g GiB have no room here at once: they are measured one after the other, and a "
                "drift of the machine counts; a smaller --memory lets them take turns",
                setting.limits.memory_bytes / 2**30,
            )
        told = {**bundle.provenance, PAIR: token} if in_turn else bundle.provenance
        keep(0 if job is jobs[0] else 1, replace(bundle, provenance=told))

    measure_together(setting, [(job, job.configs) for job in jobs], questions, kept, in_turn=True)
