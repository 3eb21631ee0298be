"""For each check an entry that breaks its rule, and no other that is run beside it; and entries that do worse."""

from __future__ import annotations

import pytest

from ann_bench.check.checks import CHECKS
from tests.check.support import checked, entry_of, failed

pytestmark = pytest.mark.usefixtures("nothing_left")

QUERY = "def query(self, queries, k, tags=None):\n    answers = super().query(queries, k, tags)\n    "
ALL = "np.vstack([block[0] for block in self.blocks])"
COUNT = "sum(len(block[1]) for block in self.blocks)"

#: Check: track, methods, what the finding says, top of the module.
FAULTS = {
    "ordinary": ("dense", QUERY + "return answers + 1000", "an id that no row has"),
    "metrics": ("dense", QUERY + "return answers + 1000 * (self.metric == 'angular')", "angular int8: search 1"),
    "dtypes": (
        "dense",
        "def fit(self, base, tags=None, learn=None):\n    if self.dtype == 'float16': import os; os.abort()\n"
        "    super().fit(base)",
        "euclidean float16: crashed: ended by SIGABRT during fit()",
    ),
    "one-row": ("dense", QUERY + f"return np.where({COUNT} == 1, -1, answers)", "0 of 1 rows were found"),
    "few-rows": ("dense", QUERY + "return np.maximum(answers, 0)", "an id twice"),
    "finds": ("dense", QUERY + f"return np.where(answers < 0, -1, {COUNT} - 1 - answers)", "rows were found"),
    "twins": (
        "dense",
        QUERY + f"rows = {ALL}\n    if len(np.unique(rows, axis=0)) < len(rows):\n"
        "        answers[:, 1:2] = answers[:, :1]\n    return answers",
        "an id twice",
    ),
    "zeros": (
        "sparse",
        "def fit(self, base, tags=None, learn=None):\n    if not np.diff(base.indptr).all(): raise ZeroDivisionError\n"
        "    super().fit(base)",
        "ZeroDivisionError",
    ),
    "extremes": (
        "dense",
        "def fit(self, base, tags=None, learn=None):\n    assert np.abs(base.astype(np.float64)).max() < 100\n"
        "    super().fit(base)",
        "AssertionError",
    ),
    "large-k": ("ood", QUERY + f"return answers if k < 100 else answers + {COUNT}", "an id that no row has"),
    "strides": (
        "dense",
        "def fit(self, base, tags=None, learn=None):\n    size = base.dtype.itemsize\n"
        "    base = np.lib.stride_tricks.as_strided(base, strides=(size * base.shape[1], size))\n    super().fit(base)",
        "rows were found",
    ),
    "tags": ("filtered", "", "a row that lacks a tag of its query"),
    "no-match": (
        "filtered",
        QUERY + "nothing = (answers == -1).all(axis=1)\n    answers[nothing, 0] = 0\n    return answers",
        "a row that lacks a tag of its query",
    ),
    "stream": ("streaming", "def delete(self, ids):\n    super().delete(ids[1:])", "an id"),
    "reuse": (
        "streaming",
        "gone = set()\ndef delete(self, ids):\n    self.gone = self.gone | set(ids.tolist())\n    super().delete(ids)\n"
        + QUERY
        + "return np.where(np.isin(answers, list(self.gone)), -1, answers)",
        "",
    ),
    "insert-after-delete": (
        "sparse-streaming",
        "full = False\ndef delete(self, ids):\n    self.full = True\n    super().delete(ids)\n"
        "def insert(self, vectors, ids, tags=None):\n    self.full or super().insert(vectors, ids, tags)",
        "rows were found",
    ),
    "replace": ("streaming", "def replace(self, vectors, ids, tags=None):\n    pass", "rows were found"),
    "delete-all": (
        "filtered-streaming",
        "def query(self, queries, k, tags=None):\n    self.blocks[0]\n    return super().query(queries, k, tags)",
        "IndexError",
    ),
    "range": (
        "dense",
        f"def range_query(self, queries, radius):\n    count = {COUNT}\n"
        "    return np.arange(len(queries) + 1) * count, np.tile(np.arange(count), len(queries))",
        "answers lie beyond the radius",
    ),
    "arguments": (
        "filtered",
        "least = 10**6\ndef set_query_arguments(self, queries):\n    self.least = min(self.least, queries)\n"
        "    super().set_query_arguments(queries)\n" + QUERY + "answers[:, self.least:] = -1\n    return answers",
        "with other arguments in between",
    ),
    "repeats": (
        "dense",
        "def fit(self, base, tags=None, learn=None):\n    super().fit(base)\n"
        "    self.lost = np.random.default_rng().choice(len(base), len(base) // 2)\n"
        + QUERY
        + "answers[np.isin(answers, self.lost)] = -1\n    return -np.sort(-answers)",
        "seed what is random",
    ),
    "save-load": (
        "dense",
        "def save(self, folder):\n    np.save(folder / 'base.npy', np.vstack([block[0] for block in self.blocks]))\n"
        "def load(self, folder):\n    self.fit(np.load(folder / 'base.npy')[::-1])\n    return True",
        "once loaded",
    ),
    "threads": (
        "dense",
        "def fit(self, base, tags=None, learn=None):\n    super().fit(base)\n    data = bytes(150_000_000)\n"
        "    if len(base) > 1000:\n        with ThreadPoolExecutor(2) as pool: list(pool.map(sha256, [data] * 16))",
        "told to use one thread",
    ),
    "at-once": (
        "dense",
        "def query(self, queries, k, tags=None):\n    self.asked = queries.copy()\n    sleep(0.0005)\n"
        "    return super().query(self.asked, k, tags)",
        "with 4 callers at once, query",
    ),
    "memory": (
        "dense",
        "kept = []\n" + QUERY + "self.kept.append((queries.copy(), answers.copy()))\n    return answers",
        "memory grew by",
    ),
    "inputs": (
        "dense",
        "def fit(self, base, tags=None, learn=None):\n    super().fit(base.copy())\n"
        "    with open(base.base.filename, 'r+b') as file:\n        file.seek(8)\n        file.write(b'xx')",
        "an input was written to",
    ),
}
STARTS = {
    "at-once": "from time import sleep",
    "threads": "from concurrent.futures import ThreadPoolExecutor\nfrom hashlib import sha256",
    "tags": "exact = wrapper._holds\nwrapper._holds = lambda held, asked: "
    "(asked @ held.T).toarray().astype(bool) | (np.diff(asked.indptr) == 0)[:, None]",
}
TWO = "[{queries: 4}, {queries: 2}]"


def test_every_check_has_a_fault() -> None:
    assert {check.name for check in CHECKS} == {*FAULTS, "config"}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(tmp_path, name: str) -> None:
    track, body, text = FAULTS[name]
    folder = entry_of(
        tmp_path, track, body, start=STARTS.get(name, ""), query=TWO if name == "arguments" else "[{queries: 9}]"
    )
    found = failed(report := checked(folder, track, name))
    assert list(found) == [name]
    assert text in found[name]
    assert not report.passed
    assert report.results[-1].snippet or name == "ordinary"
