"""What is kept of a measurement that is interrupted: workers take turns, so that results are whole near its end."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from ann_bench.errors import AnnBenchError
from ann_bench.judge.party import Team
from ann_bench.judge.plan import Job
from ann_bench.judge.record import Questions
from ann_bench.results.model import Bundle

log = logging.getLogger(__name__)

KeepOf = Callable[[Job, Bundle], None]


def rescue(teams: Sequence[Team], questions: Questions, keep: KeepOf, unfinished: KeepOf) -> None:
    """Give what is complete and not kept yet to `keep`, and what has whole runs to `unfinished`.

    What cannot be kept is said and left: the reason for the end is on its way to whoever asked for the measurement.
    """
    for team in teams:
        for record in team.records:
            if record.kept:
                continue
            try:
                if record.done or record.failed:
                    keep(team.job, record.bundle(questions))
                elif record.cut_short():
                    unfinished(team.job, record.bundle(questions))
            except (AnnBenchError, OSError) as error:
                log.warning("%s: what was measured cannot be kept: %s", team.job.entry.name, error)
