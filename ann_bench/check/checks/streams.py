"""An index that changes between searches."""

from __future__ import annotations

from hypothesis import strategies as st

from ann_bench.check.bench import Trace
from ann_bench.check.case import Arguments, Case, Setup, Step
from ann_bench.check.checks.answers import asked_by, kinds, rows
from ann_bench.check.explore import seeds, smallest
from ann_bench.check.make import Asking, beginning, data_of, searching
from ann_bench.check.registry import Verdict, check
from ann_bench.check.rules import invalid, lost
from ann_bench.check.subject import Kind, Subject
from ann_bench.check.vectors import apart, picked
from ann_bench.datasets.live import LiveSet
from ann_bench.workload import Delete, Insert, Operation, Replace, Search

#: Rows that a random stream takes its vectors from, and ids that it uses.
POOL, IDS = 30, 40


@check("stream", needs="stream")
def stream(subject: Subject) -> Verdict:
    """Inserts, deletes and replaces in any order, also of ids used before, with a search after each: every answer is
    live at its time, and valid.
    """

    @st.composite
    def cases(draw: st.DrawFn) -> Case:
        kind, config, seed = draw(kinds(subject)), draw(st.sampled_from(subject.configs)), draw(seeds)
        base = rows(subject, kind, POOL, seed)
        queries = asked_by(subject, kind, base, seed)
        asking = Asking([config], draw(st.sampled_from([10, 1, 100])))
        search = Search(queries.shape[0], asking.k, subject.features.filtered)
        live, steps, most = LiveSet(), list[Step](), 1
        for _ in range(draw(st.integers(1, 8))):
            operation = _change(draw, live)
            _follow(live, operation)
            most = max(most, len(live))
            steps += [operation, search]
        return Case(data_of(subject, kind, base, queries, asking), (Setup(most), Arguments(config), *steps))

    return smallest(subject, cases(), invalid)


def _change(draw: st.DrawFn, live: LiveSet) -> Operation:
    """An insert into a gap, or a delete or replace of some of the ids that are live."""
    free = _gaps(live)
    kind = draw(st.sampled_from(["insert"] * bool(free) + ["delete", "replace"] * bool(len(live))))
    ids = _part(draw, free if kind == "insert" else list(live.ranges))
    if kind == "delete":
        return Delete(ids)
    start = draw(st.integers(0, POOL - len(ids)))
    return (Insert if kind == "insert" else Replace)(ids, range(start, start + len(ids)))


def _part(draw: st.DrawFn, spans: list[range]) -> range:
    span = draw(st.sampled_from(spans))
    count = draw(st.integers(1, min(len(span), 12)))
    start = span.start + draw(st.integers(0, len(span) - count))
    return range(start, start + count)


def _gaps(live: LiveSet) -> list[range]:
    edges = [0, *(edge for one in live.ranges for edge in (one.start, one.stop)), IDS]
    return [range(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b]


def _follow(live: LiveSet, operation: Operation) -> None:
    if isinstance(operation, Insert):
        live.add(operation.ids)
    elif isinstance(operation, Delete):
        live.remove(operation.ids)


def _finds_last(subject: Subject, case: Case, trace: Trace) -> str:
    return lost(case, trace, last=len(subject.configs))


def _changed(subject: Subject, kind: Kind, seed: int, count: int, steps: tuple[Step, ...], now: list[int]) -> Case:
    """Rows that lie far apart change so; then the rows that are in the index `now` are asked by themselves."""
    base = apart(kind, 2 * count, seed, sparse=subject.features.sparse)
    queries = picked(base, now)
    asking = Asking(subject.configs, k=1)
    data = data_of(subject, kind, base, queries, asking)
    return Case(data, (*beginning(subject, count), *steps, *searching(subject, queries.shape[0], asking)))


_counts = st.integers(2, 20)


@check("reuse", needs="stream")
def reuse(subject: Subject) -> Verdict:
    """Some ids are deleted and inserted again with other vectors: the new vectors are found, half of them at the
    least.
    """

    def case(kind: Kind, seed: int, count: int) -> Case:
        half = range(count // 2)
        new = range(count, count + len(half))
        steps = (Insert(range(count), range(count)), Delete(half), Insert(half, new))
        return _changed(subject, kind, seed, count, steps, [*new, *range(count // 2, count)])

    drawn = st.builds(case, kinds(subject), seeds, _counts)
    return smallest(subject, drawn, lambda case, trace: _finds_last(subject, case, trace))


@check("insert-after-delete", needs="stream")
def insert_after_delete(subject: Subject) -> Verdict:
    """Some ids are deleted, and others inserted that were never used: both the old rest and the new rows are found."""

    def case(kind: Kind, seed: int, count: int) -> Case:
        half, new = range(count // 2), range(count, count + count // 2)
        steps = (Insert(range(count), range(count)), Delete(half), Insert(new, new))
        return _changed(subject, kind, seed, count, steps, [*new, *range(count // 2, count)])

    drawn = st.builds(case, kinds(subject), seeds, _counts)
    return smallest(subject, drawn, lambda case, trace: _finds_last(subject, case, trace))


@check("replace", needs="stream")
def replace(subject: Subject) -> Verdict:
    """Live ids get other vectors: these are found, half of them at the least."""

    def case(kind: Kind, seed: int, count: int) -> Case:
        whole, new = range(count), range(count, 2 * count)
        steps = (Insert(whole, whole), Replace(whole, new))
        return _changed(subject, kind, seed, count, steps, [*new])

    drawn = st.builds(case, kinds(subject), seeds, _counts)
    return smallest(subject, drawn, lambda case, trace: _finds_last(subject, case, trace))


@check("delete-all", needs="stream")
def delete_all(subject: Subject) -> Verdict:
    """All points are deleted: a search has no answers; then points are inserted, and found."""

    def case(kind: Kind, seed: int, count: int) -> Case:
        whole, new = range(count), range(count, 2 * count)
        empty = Search(count, 10, subject.features.filtered)
        steps = (Insert(whole, whole), Delete(whole), empty, Insert(whole, new))
        return _changed(subject, kind, seed, count, steps, [*new])

    drawn = st.builds(case, kinds(subject), seeds, _counts)
    return smallest(subject, drawn, lambda case, trace: _finds_last(subject, case, trace))
