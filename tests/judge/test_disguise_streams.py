"""Rows of a stream in another order: the same live points at every search, under ids that are mapped back."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ann_bench.audit.stand import turned
from ann_bench.judge.disguise_streams import stream_orders
from ann_bench.workload import Build, Delete, Insert, Operation, Replace, Search, Workload

ROWS = 60


@st.composite
def workloads(draw: Any, builds: bool = True) -> Workload:
    """Any valid stream: nothing is inserted twice, nothing deleted or replaced that is not there."""
    live: set[int] = set()
    steps: list[Operation] = []
    if builds and draw(st.booleans()):
        steps.append(Build(range(draw(st.integers(1, ROWS)))))
        live |= set(steps[0].rows)
    for _ in range(draw(st.integers(1, 8))):
        count = draw(st.integers(1, 12))
        row = draw(st.integers(0, ROWS - count))
        first = draw(st.integers(0, 70))
        ids = range(first, first + count)
        if not live & set(ids):
            steps.append(Insert(ids, range(row, row + count)))
            live |= set(ids)
        elif set(ids) <= live:
            if draw(st.booleans()):
                steps.append(Delete(ids))
                live -= set(ids)
            else:
                steps.append(Replace(ids, range(row, row + count)))
        steps.append(Search(1, 1))
    return Workload(tuple(steps), max_points=200)


def lives(workload: Workload) -> list[dict[int, int]]:
    """The row under each live id, at each search."""
    held: dict[int, int] = {}
    found = []
    for one in workload.operations:
        if isinstance(one, Search):
            found.append(dict(held))
        elif isinstance(one, Delete):
            for number in one.ids:
                del held[number]
        else:
            held.update(zip(one.rows if isinstance(one, Build) else one.ids, one.rows, strict=True))
    return found


@settings(max_examples=60)
@given(workloads(), st.integers(0, 99))
def test_the_same_points_are_live_at_every_search(workload: Workload, seed: int) -> None:
    """What an entry has under an id, both named as they were, is what the plain stream has there."""
    orders = stream_orders(workload, ROWS, seed)
    assert sorted(orders.rows.tolist()) == list(range(ROWS))
    assert sorted(orders.ids.tolist()) == list(range(len(orders.ids)))
    for plain in lives(workload):
        assert {int(orders.ids[one]): int(orders.rows[row]) for one, row in plain.items()} == plain
    again = stream_orders(workload, ROWS, seed)
    assert np.array_equal(again.rows, orders.rows)
    assert np.array_equal(again.ids, orders.ids)


def test_what_is_put_in_another_order() -> None:
    """All within a range, nothing across; what a row is replaced by goes with it."""
    steps = (Insert(range(40), range(40)), Delete(range(30)), Search(1, 1), Replace(range(30, 40), range(50, 60)))
    orders = stream_orders(Workload(steps, max_points=40), ROWS, "a seed")
    for first, last in ((0, 30), (30, 40), (40, 50), (50, 60)):
        assert sorted(orders.rows[first:last]) == list(range(first, last))
    assert (orders.rows[:30] != np.arange(30)).sum() > 20
    assert np.array_equal(orders.rows[30:40] - 30, orders.rows[50:60] - 50)
    assert np.array_equal(orders.ids, orders.rows[:40])
    assert not np.array_equal(stream_orders(Workload(steps, 40), ROWS, "another").rows, orders.rows)


@settings(max_examples=50)
@given(workloads(builds=False))
def test_a_runbook_from_the_other_end_is_valid(workload: Workload) -> None:
    """With the same number of points at each step: those as far from the end as the others were from the beginning."""
    for plain, there in zip(lives(workload), lives(turned(workload, ROWS)), strict=True):
        assert sorted(there.values()) == sorted(ROWS - 1 - row for row in plain.values())
        assert min(there, default=0) >= 0
        assert {one - min(there) for one in there} == {max(plain) - one for one in plain} if plain else not there
