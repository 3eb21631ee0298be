"""A newer version of an entry stands for an older one, and for nothing else."""

from __future__ import annotations

import dataclasses

import pytest

from ann_bench.results.figures import Figures, figures
from ann_bench.results.model import Bundle
from ann_bench.results.newest import newest
from tests.results import made

OLD, NEW = "2026-01-01T00:00:00+00:00", "2026-02-01T00:00:00+00:00"


def result(date: str, **fields: object) -> Figures:
    return figures(made.bundle(queries=5, date=date, **fields))


@pytest.mark.parametrize("field", ["entry_hash", "packages"])
def test_the_newest_version_is_kept(field: str) -> None:
    old, new = result(OLD, **{field: "1"}), result(NEW, **{field: "2"})
    assert newest([new, old]) == [new]
    assert newest([old, new]) == [new]


def test_a_measurement_stands_for_an_older_one_that_could_not_be() -> None:
    absent = made.failed(packages={})
    absent = Bundle(**{**vars(absent), "provenance": made.provenance(OLD), "identity": made.identity(packages={})})
    measured = result(NEW, packages={"faiss-cpu": "1.8"})
    assert newest([measured, figures(absent)]) == [measured]


@pytest.mark.parametrize(
    "field",
    ["track", "dataset", "queries", "algorithm", "build", "query", "k", "runs", "builds", "sandbox", "cpus",
     "memory_limit_bytes", "limits", "data_hash", "machine", "metric", "workload"],
)  # fmt: skip
def test_other_conditions_are_other_results(field: str) -> None:
    base = result(OLD)
    other = 3 if isinstance(base.identity.fields.get(field), int) else {"other": 1}
    changed = dataclasses.replace(result(NEW), identity=made.identity(**{field: other}))
    assert newest([changed, base]) == [changed, base]


def test_the_order_stays_and_a_date_beats_none() -> None:
    undated = dataclasses.replace(result(OLD, entry_hash="0"), provenance={})
    one, two, three = result(OLD, k=3), result(OLD, entry_hash="1"), result(OLD, k=1)
    assert newest([one, two, undated, three]) == [one, two, three]
    assert newest([]) == []


def test_what_is_passed_over_can_be_chosen() -> None:
    few, many = result(OLD, runs=3), result(NEW, runs=9)
    assert newest([few, many]) == [few, many]
    assert newest([few, many], apart_from=("runs",)) == [many]
