"""Real vectors, and answers that another program computed: ids must be equal, ties and all."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from ann_bench.arrays import ArrayRef, CsrRef
from ann_bench.datasets.formats.knn import read_truth
from ann_bench.errors import DataError
from ann_bench.truth.exact import exact
from ann_bench.truth.model import Problem, Truth
from ann_bench.truth.store import check_given
from tests.truth.helpers import debian


def i8bin(path: Path) -> ArrayRef:
    rows, dim = np.fromfile(path, "<u4", 2).tolist()
    return ArrayRef(str(path), "int8", (rows, dim), 8)


def spmat(path: Path) -> CsrRef:
    rows, columns, entries = np.fromfile(path, "<i8", 3).tolist()
    name, first = str(path), 24 + 8 * (rows + 1)
    return CsrRef(
        ArrayRef(name, "int64", (rows + 1,), 24),
        ArrayRef(name, "int32", (entries,), first),
        ArrayRef(name, "float32", (entries,), first + 4 * entries),
        (rows, columns),
    )


def filtered() -> Problem:
    return Problem(
        "euclidean",
        10,
        i8bin(debian("base.i8bin")),
        i8bin(debian("queries.sentences.i8bin")),
        spmat(debian("base.tags.spmat")),
        spmat(debian("queries.sentences.tags.spmat")),
    )


def equal(problem: Problem, name: str) -> None:
    wanted, measured = read_truth(debian(name))
    ids, distances = exact(problem)
    np.testing.assert_array_equal(ids, wanted)
    sign = -1 if problem.metric == "ip" else 1
    np.testing.assert_array_equal((sign * distances).astype(np.float32), measured)
    check_given(problem, Truth(ids, distances, ""), debian(name))


def test_filtered():
    equal(filtered(), "queries.sentences.filtered.gt")


def test_euclidean():
    problem = Problem("euclidean", 10, i8bin(debian("base.i8bin")), i8bin(debian("queries.sentences.i8bin")))
    equal(problem, "queries.sentences.euclidean.gt")


def test_inner_product():
    problem = Problem("ip", 10, i8bin(debian("base.i8bin")), i8bin(debian("queries.names.i8bin")))
    equal(problem, "queries.names.ip.gt")


def test_sparse(tmp_path):
    (tmp_path / "base.spmat").write_bytes(gzip.decompress(debian("base.sparse.spmat.gz").read_bytes()))
    problem = Problem("ip", 10, spmat(tmp_path / "base.spmat"), spmat(debian("queries.sparse.spmat")))
    equal(problem, "queries.sparse.ip.gt")


def test_the_truth_of_another_question_is_refused():
    problem = filtered()
    ids, distances = exact(problem)
    with pytest.raises(DataError, match=r"query 0 names id \d+, which does not hold its tags"):
        check_given(problem, Truth(ids, distances, ""), debian("queries.sentences.euclidean.gt"))
