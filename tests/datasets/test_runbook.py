"""Runbooks: what the grammar allows, and one line for each of the rules that a file may break."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ann_bench import yamlfile
from ann_bench.datasets.home import home
from ann_bench.datasets.live import LiveSet
from ann_bench.datasets.runbook import read_runbook
from ann_bench.errors import UsageError
from ann_bench.workload import Delete, Insert, Replace, Search, Workload

REAL = home().parent / "shared" / "data" / "runbooks"
SEARCH = Search(40, 10)
GOOD = """
tiny:
  max_pts: 60
  1: {operation: insert, start: 0, end: 50}
  2: {operation: search}
  3: {operation: delete, start: 10, end: 20}
  4: {operation: "replace", tags_start: 0, tags_end: 5, ids_start: 90, ids_end: 95}
  5: {operation: insert, start: 10, end: 15}
  6: {operation: search}
  gt_url: "https://example.org/steps"
other:
  max_pts: nonsense
"""


def read(folder: Path, text: str, rows: int = 100) -> Workload:
    path = folder / "book.yaml"
    path.write_text(text, encoding="utf-8")
    return read_runbook(path, "tiny", rows, SEARCH)


def refused(folder: Path, text: str) -> str:
    with pytest.raises(UsageError) as caught:
        read(folder, text)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(folder / "book.yaml"))
    return message.removeprefix(str(folder))


def test_steps_become_operations(tmp_path: Path) -> None:
    workload = read(tmp_path, GOOD)
    assert workload == Workload(
        (
            Insert(range(50), range(50)),
            SEARCH,
            Delete(range(10, 20)),
            Replace(range(5), range(90, 95)),
            Insert(range(10, 15), range(10, 15)),
            SEARCH,
        ),
        60,
    )


def test_steps_may_stand_in_any_order(tmp_path: Path) -> None:
    book = yaml.safe_load(GOOD)
    book["tiny"] = dict(reversed(book["tiny"].items()))
    assert read(tmp_path, yaml.safe_dump(book, sort_keys=False)) == read(tmp_path, GOOD)


def test_an_empty_index_may_be_searched(tmp_path: Path) -> None:
    text = "tiny: {max_pts: 9, 1: {operation: search}, 2: {operation: insert, start: 0, end: 9}}"
    assert read(tmp_path, text).operations[0] == SEARCH
    text = (
        "tiny: {max_pts: 9, 1: {operation: insert, start: 0, end: 9}, 2: {operation: delete, start: 0, end: 9}, "
        "3: {operation: search}}"
    )
    assert len(read(tmp_path, text).searches) == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("tiny:", "huge:", "a runbook for huge, other, not for tiny"),
        ("  max_pts: 60\n", "", ":3: tiny: the key 'max_pts' is missing"),
        ("max_pts: 60", "max_pts: 0", ":3: tiny: max_pts is a whole number from 1 on, found '0'"),
        ("max_pts: 60", "max_pts: lots", "found 'lots'"),
        ("max_pts: 60", "max_pts: [60]", "found 'a list or mapping'"),
        ("max_pts: 60", "max_points: 60", ":3: tiny: unknown key 'max_points': did you mean 'max_pts'?"),
        ("max_pts: 60", "max_pts: 60\n  [1, 2]: 3", "unknown key 'a list or mapping'"),
        ("  3:", "  7:", ":7: tiny, step 4: there is no step 3 before it"),
        ("  1:", "  0:", ":4: tiny, step 0: steps are numbered from 1"),
        ("  1:", "  -1:", "step -1: steps are numbered from 1"),
        ("  3:", "  2:", ":6: the key '2' stands here a second time"),
        ("  3:", "  +2:", ":6: tiny, step 2: stands here a second time"),
        ("  3:", "  three:", "unknown key 'three'"),
        ("  3:", "  3.0:", "unknown key '3.0'"),
        (
            "operation: delete",
            "operation: delte",
            ":6: tiny, step 3: unknown operation 'delte': did you mean 'delete'?",
        ),
        ("operation: delete", "operation: [delete]", "step 3: unknown operation"),
        ("operation: delete, ", "", "step 3: the key 'operation' is missing"),
        ("{operation: delete, start: 10, end: 20}", "delete", "step 3: expected `operation: ...`"),
        ("start: 10, end: 20", "start: 10, stop: 20", "step 3: unknown key of delete 'stop'"),
        ("start: 10, end: 20", "start: 10", "step 3: the key 'end' of delete is missing"),
        ("2: {operation: search}", "2: {operation: search, k: 5}", "step 2: unknown key of search 'k'"),
        ("start: 10, end: 20", "start: 1.5, end: 20", "step 3: start is a whole number, found '1.5'"),
        ("start: 10, end: 20", "start: '10', end: 20", "step 3: start is a whole number, found '10'"),
        ("start: 10, end: 20", "start: true, end: 20", "step 3: start is a whole number, found 'true'"),
        ("start: 10, end: 20", "start: 20, end: 20", "step 3: the range start 20 to end 20 is empty"),
        ("start: 10, end: 20", "start: 20, end: 10", "step 3: the range start 20 to end 10 is reversed"),
        ("start: 10, end: 20", "start: -1, end: 10", "step 3: start -1 is below 0"),
        ("start: 10, end: 20", "start: 10, end: 101", "step 3: end 101 is beyond the data set's 100 rows"),
        ("ids_end: 95", "ids_end: 94", "step 4: 5 tags are replaced by 4 rows"),
        ("ids_start: 90, ids_end: 95", "ids_start: 96, ids_end: 101", "step 4: ids_end 101 is beyond"),
        ("start: 10, end: 15", "start: 5, end: 15", ":8: tiny, step 5: insert of id 5, which is live already"),
        ("start: 10, end: 15", "start: 12, end: 22", "step 5: insert of id 20, which is live already"),
        ("start: 10, end: 20", "start: 45, end: 55", "step 3: delete of id 50, which is not live"),
        ("tags_start: 0, tags_end: 5", "tags_start: 8, tags_end: 13", "step 4: replace of tag 10, which is not live"),
        ("max_pts: 60", "max_pts: 44", "step 1: 50 points are live, max_pts is 44"),
        ("start: 10, end: 15", "start: 50, end: 71", "step 5: 61 points are live, max_pts is 60"),
        ("GOOD", "tiny: 3", "expected max_pts and numbered steps"),
        ("GOOD", "- tiny", ":1: a runbook begins with the name of its data set"),
        ("GOOD", "", ":1: a runbook begins with the name of its data set"),
        ("GOOD", "tiny: {max_pts: 5}", "no search"),
        ("GOOD", "tiny: {max_pts: 5, 1: {operation: insert, start: 0, end: 5}}", "no search"),
        ("GOOD", "tiny: {max_pts: 5\n1: ", "no valid YAML"),
        ("GOOD", "tiny: &a {max_pts: 5, 1: *a}", "no valid YAML|too large|step 1"),
    ],
)
def test_errors(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = new if old == "GOOD" else GOOD.replace(old, new)
    found = refused(tmp_path, text)
    assert any(part in found for part in message.split("|")), found


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_runbook(tmp_path / "none.yaml", "tiny", 100, SEARCH)


def test_a_long_runbook_is_read_in_well_under_a_second(tmp_path: Path) -> None:
    steps: dict[Any, Any] = {"max_pts": 640}
    for at in range(640):
        steps[2 * at + 1] = {"operation": "insert", "start": at, "end": at + 1}
        steps[2 * at + 2] = {"operation": "search"}
    path = tmp_path / "book.yaml"
    path.write_text(yaml.safe_dump({"tiny": steps}))
    begin = time.process_time()
    assert len(read_runbook(path, "tiny", 640, SEARCH).operations) == 1280
    assert time.process_time() - begin < 0.9


ROWS = {"random-xs": 10_000, "random-xs-clustered": 10_000, "msturing-30M-clustered": 29_998_994}
BOOKS = {
    # steps, searches, rows inserted, rows deleted, rows replaced, most live: reference of big-ann-benchmarks
    ("simple_runbook.yaml", "random-xs"): (6, 3, 15_000, 5_000, 0, 10_000),
    ("simple_runbook.yaml", "msturing-10M"): (6, 3, 15_000_000, 5_000_000, 0, 10_000_000),
    ("simple_runbook.yaml", "msspacev-1M"): (6, 3, 1_500_000, 500_000, 0, 1_000_000),
    ("simple_replace_runbook.yaml", "random-xs"): (8, 4, 7_500, 2_500, 5_000, 7_500),
    ("clustered_runbook.yaml", "random-xs-clustered"): (64, 32, 10_000, 0, 0, 10_000),
    ("clustered_runbook.yaml", "msturing-10M-clustered"): (64, 32, 10_000_000, 0, 0, 10_000_000),
    ("delete_runbook.yaml", "random-xs-clustered"): (76, 32, 10_000, None, 0, 6_400),
    ("delete_runbook.yaml", "msturing-10M-clustered"): (75, 33, 10_000_000, None, 0, 5_300_498),
    ("final_runbook.yaml", "msturing-30M-clustered"): (1280, 640, 29_998_834, 27_630_980, 0, 10_292_043),
    ("msturing-10M_slidingwindow_runbook.yaml", "msturing-10M"): (400, 100, 10_000_000, 5_000_000, 0, 5_000_000),
    ("wikipedia-1M_expiration_time_replace_delete_runbook.yaml", "wikipedia-1M"): (316, 100, None, None, None, 415_355),
}


@pytest.mark.parametrize(("file", "dataset"), BOOKS)
def test_real_runbooks(file: str, dataset: str) -> None:
    if not REAL.is_dir():
        pytest.skip("the real runbooks are not here (../shared/data/runbooks)")
    rows = ROWS.get(dataset, 10_000_000 if "-10M" in dataset else 1_000_000)
    workload = read_runbook(REAL / file, dataset, rows, SEARCH)
    steps, searches, inserted, deleted, replaced, most = BOOKS[file, dataset]
    assert (len(workload.operations), len(workload.searches)) == (steps, searches)
    for kind, expected in ((Insert, inserted), (Delete, deleted), (Replace, replaced)):
        if expected is not None:
            assert sum(len(op.ids) for op in workload.operations if isinstance(op, kind)) == expected
    live, high = 0, 0
    for op in workload.operations:
        live += len(op.ids) if isinstance(op, Insert) else -len(op.ids) if isinstance(op, Delete) else 0
        high = max(high, live)
    assert high == most <= workload.max_points


def test_every_real_runbook_is_read() -> None:
    if not REAL.is_dir():
        pytest.skip("the real runbooks are not here (../shared/data/runbooks)")
    files = sorted(REAL.glob("*.yaml"))
    assert len(files) == 7
    for path in files:
        tree = yamlfile.compose(path)
        for name, _ in tree.value:  # type: ignore[union-attr]
            assert read_runbook(path, name.value, 35_000_000, SEARCH).searches


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 12), st.booleans()), max_size=30))
def test_live_ranges_agree_with_a_set(steps: list[tuple[int, int, bool]]) -> None:
    live, naive = LiveSet(), set[int]()
    for start, length, add in steps:
        ids = range(start, start + length)
        assert live.first_present(ids) == next((i for i in ids if i in naive), None)
        assert live.first_absent(ids) == next((i for i in ids if i not in naive), None)
        if add and not naive & set(ids):
            live.add(ids)
            naive |= set(ids)
        elif not add and naive >= set(ids):
            live.remove(ids)
            naive -= set(ids)
        assert len(live) == len(naive)
        assert np.array_equal([i for part in live.ranges for i in part], sorted(naive))
        assert all(a.stop < b.start for a, b in zip(live.ranges, live.ranges[1:], strict=False))
