"""Range answers in the cache: kept under their hash, taken up where a run stopped, within the memory given."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ann_bench.datasets.formats import write_ranges
from ann_bench.errors import DataError, UsageError
from ann_bench.truth import given, ranges
from ann_bench.truth.model import Live, Problem, RangeTruth, Truth
from ann_bench.truth.problems import Searches
from ann_bench.truth.store import check_given, key_of, truth_for, truths_for
from ann_bench.truth.within import within
from tests.truth.helpers import save, save_bags

MB = 1 << 20


def problem_of(folder: Path, seed: int = 1, radius: float = 30.0) -> Problem:
    rng = np.random.default_rng(seed)
    base, queries = (rng.integers(0, 10, (n, 4)).astype(np.uint8) for n in (200, 90))
    return Problem("euclidean", 10, save(folder, base), save(folder, queries), radius=radius)


def same(truth: RangeTruth | Truth, problem: Problem) -> None:
    assert isinstance(truth, RangeTruth)
    wanted = within(problem)
    for name in ("offsets", "ids"):
        np.testing.assert_array_equal(getattr(truth.found, name), getattr(wanted.found, name))
    np.testing.assert_array_equal(truth.distances, wanted.distances)


def test_kept_and_found_again(tmp_path, monkeypatch):
    problem = problem_of(tmp_path)
    first = truth_for(problem, tmp_path)
    same(first, problem)
    monkeypatch.setattr(ranges, "within", None)  # nothing is computed again
    again = truth_for(problem, tmp_path)
    same(again, problem)
    assert again.key == first.key
    assert [path.name for path in (tmp_path / "truth").iterdir() if path.suffix != ".lock"] == [f"{first.key}.ranges"]


def test_the_key_holds_the_radius_and_no_k(tmp_path):
    problem = problem_of(tmp_path)
    assert key_of(problem) == key_of(replace(problem, k=3))
    others = [replace(problem, radius=31.0), replace(problem, metric="ip"), replace(problem, radius=None)]
    live = Live(np.arange(5, dtype=np.int64), np.arange(5, dtype=np.int64))
    assert len({key_of(one) for one in [problem, *others, replace(problem, live=live)]}) == 5


@pytest.mark.parametrize("where", ["start", "middle", "end", "short", "empty"])
def test_a_damaged_file_is_computed_again(tmp_path, where, caplog):
    problem = problem_of(tmp_path)
    truth = truth_for(problem, tmp_path)
    path = tmp_path / "truth" / f"{truth.key}.ranges"
    del truth
    data = bytearray(path.read_bytes())
    if where in ("start", "middle", "end"):
        data[{"start": 9, "middle": len(data) // 2, "end": len(data) - 1}[where]] ^= 1
    path.write_bytes(data[: {"short": len(data) - 50, "empty": 0}.get(where, len(data))])
    same(truth_for(problem, tmp_path), problem)
    assert "damaged" in caplog.text


def test_interrupted_work_goes_on_where_it_stopped(tmp_path, monkeypatch):
    problem = problem_of(tmp_path)
    asked: list[int] = []

    def watched(part, *rest, stop: int | None = None):
        if len(asked) == stop:
            raise KeyboardInterrupt
        asked.append(part.queries.shape[0])
        return within(part, *rest)

    monkeypatch.setattr(ranges, "_PAIRS", 200 * 20)
    monkeypatch.setattr(ranges, "_FEWEST", 1)
    monkeypatch.setattr(ranges, "within", lambda *of: watched(*of, stop=3))
    with pytest.raises(KeyboardInterrupt):
        truth_for(problem, tmp_path)
    parts = next((tmp_path / "truth").glob("*.parts"))
    assert sorted(path.name for path in parts.iterdir()) == ["0-20", "20-40", "40-60"]
    (parts / "20-40").write_bytes(b"damaged")
    (parts / "junk").write_bytes(b"")
    asked.clear()
    monkeypatch.setattr(ranges, "within", watched)
    same(truth_for(problem, tmp_path), problem)
    assert asked == [20, 20, 20, 10]  # the first block was sound, what came after the damaged one is not trusted
    assert not parts.exists()


def test_little_memory_makes_small_blocks(tmp_path, monkeypatch):
    problem = problem_of(tmp_path, radius=1e9)
    sizes = []

    def watched(part, *rest):
        sizes.append(part.queries.shape[0])
        return within(part, *rest)

    monkeypatch.setattr(ranges, "within", watched)
    monkeypatch.setattr(ranges, "_room", lambda *of: 1000)
    same(truth_for(problem, tmp_path), problem)
    assert sizes[:6] == [90, 45, 22, 11, 5, 5]
    assert max(sizes[4:]) == 5


def test_too_little_memory_is_said(tmp_path):
    with pytest.raises(UsageError, match="give at least"):
        truth_for(problem_of(tmp_path), tmp_path, memory_bytes=20 * MB)


def test_streams_tags_and_the_nearest_beside_them(tmp_path):
    rng = np.random.default_rng(2)
    problem = problem_of(tmp_path)
    live = Live(np.arange(50, 90, dtype=np.int64), rng.permutation(200)[:40].astype(np.int64))
    bags = [
        [[tag for tag in range(3) if rng.random() < share] for _ in range(n)] for n, share in ((200, 0.6), (90, 0.4))
    ]
    tags, query_tags = (save_bags(tmp_path, one, 3) for one in bags)
    asked = [
        replace(problem, live=live),
        replace(problem, radius=None, live=live),
        replace(problem, tags=tags, query_tags=query_tags),
    ]
    found = truths_for(Searches.of(asked), tmp_path)
    same(found[0], asked[0])
    assert isinstance(found[1], Truth)
    np.testing.assert_array_equal(found[1].ids, truth_for(asked[1], tmp_path / "other").ids)
    same(found[2], asked[2])
    assert set(found[0].found.ids.tolist()) <= set(range(50, 90))
    assert found[0].counts.sum() == len(found[0].distances)


def test_no_queries_and_no_rows(tmp_path):
    problem = problem_of(tmp_path)
    for one in (
        replace(problem, queries=problem.queries.part(0, 0)),
        replace(problem, live=Live(np.zeros(0, np.int64), np.zeros(0, np.int64))),
    ):
        same(truth_for(one, tmp_path), one)


def write(path: Path, lists: list[list[int]]) -> Path:
    ids = np.array([one for line in lists for one in line], dtype=np.int64)
    write_ranges(path, np.array([len(line) for line in lists]), ids, np.zeros(len(ids)))
    return path


def lists_of(truth: RangeTruth) -> list[list[int]]:
    return [part.tolist() for part in np.split(truth.found.ids, truth.found.offsets[1:-1])]


def test_a_file_from_elsewhere(tmp_path, monkeypatch):
    problem = problem_of(tmp_path)
    truth = truth_for(problem, tmp_path)
    lists = lists_of(truth)
    path = tmp_path / "given.rangeres"
    check_given(problem, truth, write(path, [line[::-1] for line in lists]))
    number = next(n for n, line in enumerate(lists) if len(line) > 2)
    absent = next(row for row in range(200) if row not in lists[number])
    for changed, why in (
        (lists[number][1:], f"lacks id {lists[number][0]}"),
        ([*lists[number], absent], f"names id {absent}, which lies beyond the radius"),
        ([*lists[number], lists[number][0]], "names an id twice"),
        ([*lists[number], 200], "names id 200, which is not in the base"),
        ([*lists[number], -1], "names id -1, which is not in the base"),
    ):
        wrong = [changed if n == number else line for n, line in enumerate(lists)]
        with pytest.raises(DataError, match=f"query {number} {why}"):
            check_given(problem, truth, write(path, wrong))
    with pytest.raises(DataError, match="it answers 89 queries"):
        check_given(problem, truth, write(path, lists[1:]))
    monkeypatch.setattr(given, "_WHOLE", 10)
    monkeypatch.setattr(given, "_SAMPLE", 90)
    check_given(problem, truth, write(path, lists))


def test_a_border_that_float32_cannot_see_is_forgiven(tmp_path):
    base = np.array([[0.0], [1.0], [1.000001], [3.0]], dtype=np.float32)
    problem = Problem("euclidean", 1, save(tmp_path, base), save(tmp_path, base[:1]), radius=1.000001)
    truth = truth_for(problem, tmp_path)
    assert truth.found.ids.tolist() == [0, 1]
    for given_ids in ([0], [0, 1], [0, 1, 2]):
        check_given(problem, truth, write(tmp_path / "given.rangeres", [given_ids]))
    with pytest.raises(DataError, match="id 3"):
        check_given(problem, truth, write(tmp_path / "given.rangeres", [[0, 1, 3]]))


def test_a_file_that_ignores_tags_is_told(tmp_path):
    problem = problem_of(tmp_path, radius=1e6)
    bags = [[0] if n % 2 else [] for n in range(200)]
    problem = replace(problem, tags=save_bags(tmp_path, bags, 1), query_tags=save_bags(tmp_path, [[0]] * 90, 1))
    truth = truth_for(problem, tmp_path)
    with pytest.raises(DataError, match="query 0 names id 0, which does not hold its tags"):
        check_given(problem, truth, write(tmp_path / "given.rangeres", [list(range(200))] * 90))


def test_sparse_rows_are_kept_too(tmp_path):
    rng = np.random.default_rng(4)
    from tests.truth.helpers import save_any

    matrix = csr_matrix(np.where(rng.random((60, 12)) < 0.4, rng.random((60, 12)), 0).astype(np.float32))
    problem = Problem("ip", 1, save_any(tmp_path, matrix), save_any(tmp_path, matrix[:9]), radius=1.0)
    same(truth_for(problem, tmp_path), problem)
