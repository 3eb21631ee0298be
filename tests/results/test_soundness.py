"""Sealed files that say what no measurement can say."""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ann_bench.errors import ResultError
from ann_bench.results import layout
from ann_bench.results.bundle import MAGIC, read, write
from ann_bench.results.export import FORMATS, render
from ann_bench.results.figures import figures
from ann_bench.results.model import Bundle, Status
from tests.results import made

Change = Callable[[h5py.File], None]


def sealed(change: Change) -> bytes:
    """A good bundle, changed and sealed again, as a program would write it that is not ours."""
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        layout.fill(file, made.bundle(queries=20))
        change(file)
    return buffer.getvalue() + MAGIC + hashlib.sha256(buffer.getvalue()).digest()


def manifest(*path: str, value: Any) -> Change:
    """Another value in the manifest."""

    def change(file: h5py.File) -> None:
        whole = json.loads(file["manifest"][()].tobytes())
        part = whole
        for name in path[:-1]:
            part = part[name]
        part[path[-1]] = value
        del file["manifest"]
        file["manifest"] = np.frombuffer(json.dumps(whole).encode(), dtype=np.uint8)

    return change


def array(name: str, value: Any) -> Change:
    """Another array."""

    def change(file: h5py.File) -> None:
        del file[name]
        if value is not None:
            file[name] = value

    return change


WRONG = {
    r"`identity\.k` is null, not a whole number": manifest("identity", "k", value=None),
    r"`identity\.cpus` is 1\.5": manifest("identity", "cpus", value=1.5),
    r"`identity\.runs` is True": manifest("identity", "runs", value=True),
    r"`identity\.memory_limit_bytes` is -1": manifest("identity", "memory_limit_bytes", value=-1),
    r"`identity\.track` is 7, not text": manifest("identity", "track", value=7),
    r"`identity\.build` is \[1\], not a mapping": manifest("identity", "build", value=[1]),
    r"`identity\.workload` is null": manifest("identity", "workload", value=None),
    r"`identity\.workload` is \[\{'a': 1\}\], not a list": manifest("identity", "workload", value=[{"a": 1}]),
    r"`identity\.machine` is \{\}": manifest("identity", "machine", value={}),
    r"says nothing of what was measured": manifest("identity", value="x"),
    r"`provenance\.environment` is null": manifest("provenance", "environment", value=None),
    r"`provenance\.chance_recall` is 'x', not a number": manifest("provenance", "chance_recall", value="x"),
    r"`manifest\.provenance` is \[\]": manifest("provenance", value=[]),
    r"`manifest\.counts` is \['x'\]": manifest("counts", value=["x"]),
    r"`manifest\.usage\.processes` is 'x'": manifest("usage", "processes", value="x"),
    r"'fine' is not a valid Status": manifest("status", value="fine"),
    r"its times are not all seconds": array("seconds", np.full((1, 5, 1), -1.0)),
    r"its times are not": array("seconds", np.full((1, 5, 1), math.inf)),
    r"says ok, but no search": array("seconds", np.full((1, 5, 1), math.nan)),
    r"do not fit together": array("seconds", np.zeros((1, 4, 1))),
    r"times \(\)": array("seconds", "text"),
    r"answers have numbers that are none": array("answer_of", np.full((1, 5, 1), -2, np.int32)),
    r"names answers that it does not hold": array("answer_of", np.full((1, 5, 1), 1, np.int32)),
    r"more hits than there are": array("hits", np.full(20, 11, np.uint16)),
    r"no whole numbers": array("hits", np.full(20, 0.5)),
    r"hold 3 values where 20 belong": array("hits", np.zeros(3, np.uint16)),
    r"values where": array("score_sizes", np.array([-5, 25])),
    r"times of its calls": array("steps/seconds", np.array([-3.0])),
    r"steps|list index": array("steps/kind", np.array([99], np.int32)),
    r"does not hold what": array("possible", None),
}  # fmt: skip


@pytest.mark.parametrize("reason", list(WRONG))
def test_what_cannot_be_is_named(tmp_path: Path, reason: str) -> None:
    path = tmp_path / "odd.h5"
    path.write_bytes(sealed(WRONG[reason]))
    with pytest.raises(ResultError, match=rf"odd\.h5: .*({reason})"):
        read(path)


def test_what_cannot_be_is_not_written(tmp_path: Path) -> None:
    good = made.bundle()
    for seconds in (-good.seconds, good.seconds * math.inf, good.seconds * math.nan):
        with pytest.raises(ValueError, match=r"its times|no search"):
            write(Bundle(**{**vars(good), "seconds": seconds}), tmp_path)
    assert not list(tmp_path.rglob("*.h5"))
    failed = Bundle(**{**vars(made.bundle(status=Status.TIMEOUT)), "seconds": good.seconds * math.nan})
    assert read(write(failed, tmp_path)).outcome.status is Status.TIMEOUT


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
places = st.sampled_from(
    [
        ("status",), ("counts",), ("usage",), ("truths",), ("stats",), ("detail",), ("log",), ("provenance",),
        *(("provenance", name) for name in ("environment", "machine", "date", "data", "chance_recall", "canary")),
        *(("identity", name) for name in (
            "k", "runs", "track", "algorithm", "build", "query", "workload", "mode", "challenge", "until", "limits",
            "machine", "packages", "tuned", "cpus", "queries")),
    ]
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(place=places, value=anything)
def test_any_manifest_is_refused_or_shown(
    tmp_path_factory: pytest.TempPathFactory, place: tuple[str, ...], value: Any
) -> None:
    path = tmp_path_factory.mktemp("any") / "odd.h5"
    path.write_bytes(sealed(manifest(*place, value=value)))
    try:
        found = figures(read(path))
    except ResultError as error:
        assert str(error).startswith(f"{path}: ")
        return
    for form in FORMATS:
        assert render([found], form)
