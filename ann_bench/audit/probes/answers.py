"""What is in the answers, and whether they are the same whenever they are asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ann_bench.arrays import held_csr
from ann_bench.audit.registry import Finding, Verdict, probe
from ann_bench.audit.subject import Floats, Numbers, Subject
from ann_bench.audit.weigh import Bounds, worse
from ann_bench.judge.filters import holds_all
from ann_bench.judge.scoring import validate
from ann_bench.ragged import Ragged, offsets_of
from ann_bench.results.model import INVALID_KINDS, Answers
from ann_bench.truth.distance import pair_distances
from ann_bench.truth.model import Problem

#: Whether a batch is timed, whole or in pieces is no reason for other answers; threads may make small differences.
SAME = Bounds(suspicious=0.01, fail=0.05)
#: So many queries are asked one by one; with fewer than 26 no difference would be beyond chance.
ALONE = 50
#: Shares of answers that are not given where there are some, and of those no better than chance.
SHORT, PADDED, PADDED_MUCH = 0.5, 0.01, 0.2
#: An id stands for padding where it answers this share of the queries, and is right for less than a tenth of these.
EVERYWHERE = 0.5
#: Random rows that an answer is held against, and how many of them have to match where a search is filtered.
RANDOM_ROWS, LEAST_ROWS = 64, 8


@probe("same answers")
def same_answers(subject: Subject) -> Finding:
    """The answers to a batch are as good the third time as the first, and query by query as good as all at once."""
    line = subject.plain()
    batches = [line.ask(subject.published, subject.search)[0] for _ in range(3)]
    subject.given += batches
    recalls = [subject.score(batch).recalls for batch in batches]
    numbers = subject.sample[:ALONE]
    alone = _alone(subject, numbers)
    together = recalls[0][numbers]
    return Finding.worst(
        _alike("the second time", recalls[0], recalls[1]),
        _alike("the third time", recalls[0], recalls[2]),
        _alike("one by one", together, alone),
    )


def _alike(name: str, before: Floats, after: Floats) -> Finding:
    """Neither is worse than the other."""
    return Finding.gravest(worse(name, before, after, SAME), worse(f"not {name}", after, before, SAME))


def _alone(subject: Subject, numbers: Numbers) -> Floats:
    """Recalls of these queries, each asked by itself."""
    lists: list[Any] = [np.zeros(0, dtype=np.int32)] * subject.search.queries
    for number in numbers.tolist():
        given, _ = subject.plain().ask(*subject.taken(np.array([number])))
        lists[number] = given.ids if isinstance(given, Ragged) else given[0]
    counts = np.array([len(one) for one in lists])
    whole: Answers = Ragged(offsets_of(counts), np.concatenate(lists))
    if subject.search.radius is None:
        whole = np.full((len(lists), subject.search.k), -1, dtype=np.int32)
        whole[counts > 0] = np.stack([one for one in lists if len(one)])
    recalls: Floats = subject.score(whole).recalls[numbers]
    return recalls


@probe("answers")
def answers(subject: Subject) -> Finding:
    """No id twice, none that is no answer, none missing for want of effort, none that is there to fill the row."""
    if not subject.given:
        subject.given.append(subject.plain().ask(subject.published, subject.search)[0])
    invalid = dict.fromkeys(INVALID_KINDS, 0)
    for batch in subject.given:
        for kind, count in subject.score(batch).invalid.items():
            invalid[kind] += count
    if any(invalid.values()):
        counted = ", ".join(f"{count:,} {kind.replace('_', ' ')}" for kind, count in invalid.items() if count)
        return Finding(Verdict.FAIL, f"ids that are no answers: {counted}")
    ids = subject.given[0]
    if isinstance(ids, Ragged):
        return Finding(Verdict.PASS, f"{len(ids.ids):,} ids within the radius, all valid")
    return Finding.worst(_short(subject, ids), _padded(subject, ids))


def _short(subject: Subject, ids: npt.NDArray[np.int32]) -> Finding:
    possible = int(np.minimum(subject.truth.counts, subject.search.k).sum())
    given = int((ids >= 0).sum())
    share = 1 - given / possible if possible else 0.0
    text = f"{share:.1%} of the answers are missing"
    return Finding(Verdict.SUSPICIOUS if share > SHORT else Verdict.PASS, text)


def _padded(subject: Subject, ids: npt.NDArray[np.int32]) -> Finding:
    """Ids that answer everything, or that are farther than half of the rows that anybody could draw."""
    filler = _everywhere(subject, ids)
    share = float(np.isin(ids, filler).sum()) / max(1, int((ids >= 0).sum()))
    share = max(share, _chance(subject, ids))
    text = f"{share:.1%} of them are as good as chance"
    if share > PADDED_MUCH:
        return Finding(Verdict.FAIL, text)
    return Finding(Verdict.SUSPICIOUS if share > PADDED else Verdict.PASS, text)


def _everywhere(subject: Subject, ids: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    names, counts = np.unique(ids[ids >= 0], return_counts=True)
    suspects = names[counts > EVERYWHERE * len(ids)]
    known = np.asarray(getattr(subject.truth, "ids", np.zeros((0, 0))))
    times_right = np.array([(known == one).sum() for one in suspects.tolist()])
    filler: npt.NDArray[np.int32] = suspects[times_right < 0.1 * EVERYWHERE * len(ids)] if len(suspects) else suspects
    return filler


def _chance(subject: Subject, ids: npt.NDArray[np.int32]) -> float:
    """The share of the answers that are farther than half of the random rows that match, of the sample."""
    numbers, problem = subject.sample, subject.problem
    if not _points(problem):
        return 0.0
    base, vectors = problem.base.open(), problem.queries.open()[numbers]
    rows = np.random.default_rng(3).integers(0, _points(problem), (len(numbers), RANDOM_ROWS))
    rows = rows if problem.live is None else problem.live.rows[rows]
    distances = pair_distances(problem.metric, vectors, base, rows)
    if problem.tags is not None and problem.query_tags is not None:
        matching = holds_all(problem.tags, held_csr(problem.query_tags.open()[numbers]), rows)
        distances = np.where(matching, distances, np.nan)
    known = (~np.isnan(distances)).sum(axis=1) >= LEAST_ROWS
    median = np.full(len(numbers), np.inf)
    median[known] = np.nanmedian(distances[known], axis=1)
    verdict = validate(replace(problem, query_tags=None, tags=None), ids[numbers])
    given = np.where(verdict.valid, verdict.rows, -1)
    own = pair_distances(problem.metric, vectors, base, given)
    # the right answers are no chance, however far the farthest of them lie
    reach = np.asarray(getattr(subject.truth, "distances", np.zeros((0, 0))))[numbers]
    last = np.where(np.isfinite(reach), reach, -np.inf).max(axis=1)
    far = (given >= 0) & (own > median[:, None]) & (own > last[:, None] + abs(last[:, None]) * 1e-6)
    return float(far.sum()) / max(1, int((given >= 0).sum()))


def _points(problem: Problem) -> int:
    """How many points are live."""
    return problem.base.shape[0] if problem.live is None else len(problem.live.ids)
