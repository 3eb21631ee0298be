"""Sealed files: what is written comes back, and nothing else does."""

from __future__ import annotations

import dataclasses
import errno
import math
import multiprocessing
import os
import resource
import stat
import time
from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ann_bench.errors import ResultError, StorageError
from ann_bench.ragged import Ragged, offsets_of
from ann_bench.results import atomic
from ann_bench.results.bundle import SEAL_BYTES, bundle_path, read, write
from ann_bench.results.model import (
    CURVE,
    INVALID_KINDS,
    Answers,
    Bundle,
    Control,
    Identity,
    Outcome,
    Score,
    Status,
    Step,
    Usage,
)
from tests.results import made


def same(one: Bundle, other: Bundle) -> None:
    assert one.identity.fields == other.identity.fields
    assert one.identity.key == other.identity.key
    for name in ("outcome", "provenance", "counts", "usage", "truths", "stats"):
        assert getattr(one, name) == getattr(other, name), name
    assert repr(one.steps) == repr(other.steps)  # NaN seconds are equal here
    for name in ("seconds", "answer_of"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        assert getattr(one, name).dtype == getattr(other, name).dtype
    assert len(one.answers) == len(other.answers)
    for a, b in zip(one.answers, other.answers, strict=True):
        same_answers(a, b)
    same_scores(one.scores, other.scores)
    assert (one.control is None) == (other.control is None)
    if one.control is None or other.control is None:
        return
    same_scores(one.control.scores, other.control.scores)
    for name in ("seed", "variants", "variant"):
        assert getattr(one.control, name) == getattr(other.control, name)
    for name in ("numbers", "seconds", "cpu_seconds", "published_cpu_seconds", "answer_of"):
        np.testing.assert_equal(getattr(other.control, name), getattr(one.control, name))
    assert len(one.control.answers) == len(other.control.answers)
    for a, b in zip(one.control.answers, other.control.answers, strict=True):
        same_answers(a, b)


def same_answers(a: Answers, b: Answers) -> None:
    assert isinstance(a, Ragged) == isinstance(b, Ragged)
    parts = [(a.offsets, b.offsets), (a.ids, b.ids)] if isinstance(a, Ragged) and isinstance(b, Ragged) else [(a, b)]
    for one, other in parts:
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype


def same_scores(one: Sequence[Score], other: Sequence[Score]) -> None:
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        assert a.invalid == b.invalid
        for name in ("hits", "hits_strict", "hits_bigann", "possible"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
            assert getattr(b, name).dtype.kind == "u"
        assert (a.returned is None) == (b.returned is None) == (b.curve is None)
        if a.returned is not None:
            np.testing.assert_array_equal(a.returned, b.returned)
            np.testing.assert_array_equal(a.curve, b.curve)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@st.composite
def controls(draw: st.DrawFn, shape: tuple[int, int, int]) -> Control | None:
    if draw(st.booleans()):
        return None
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    builds, _, searches = shape
    sizes = [draw(st.integers(0, 9)) for _ in range(searches)]
    scores = tuple(
        Score(*(rng.integers(0, 11, n).astype(np.uint16) for _ in range(4)), invalid=dict.fromkeys(INVALID_KINDS, n))
        for _ in range(builds)
        for n in sizes
    )
    return Control(
        seed=draw(st.integers(0, 2**62)),
        variants=9,
        variant=draw(st.integers(0, 8)),
        numbers=tuple(rng.integers(0, 2**40, n) for n in sizes),
        seconds=rng.random((builds, searches)),
        cpu_seconds=rng.random((builds, searches)),
        published_cpu_seconds=np.where(rng.random(shape) < 0.2, np.nan, rng.random(shape)),
        answer_of=np.arange(builds * searches, dtype=np.int32).reshape(builds, searches),
        answers=tuple(rng.integers(-2, 99, (len(score.hits), 10)).astype(np.int32) for score in scores),
        scores=scores,
    )


@st.composite
def within(draw: st.DrawFn, queries: int) -> tuple[Answers, Score]:
    """Answers within a radius, of any number, and a score that 16 bits cannot hold."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    offsets = offsets_of(rng.integers(0, draw(st.integers(1, 9)), queries))
    ids = rng.integers(-2, 2**31 - 1, int(offsets[-1])).astype(np.int32)
    arrays = [rng.integers(0, 2**32, queries).astype(np.uint32) for _ in range(5)]
    curve = rng.integers(0, 2**50, (2, CURVE))
    return Ragged(offsets, ids), Score(*arrays[:4], dict.fromkeys(INVALID_KINDS, 1), arrays[4], curve)


@st.composite
def bundles(draw: st.DrawFn) -> Bundle:
    shape = tuple(draw(st.integers(0, 3)) for _ in range(3))
    count = draw(st.integers(0, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    sizes = [(draw(st.integers(0, 40)), draw(st.integers(1, 12))) for _ in range(count)]
    scores = tuple(
        Score(np.minimum(*counts[:2]), counts[2], counts[3], counts[0],
              invalid={"out_of_range": 0, "duplicate": n, "not_live": 1, "fails_filter": 2})
        for n, k in sizes
        for counts in [rng.integers(0, k + 1, (4, n)).astype(np.uint16)]
    )  # fmt: skip
    answers: tuple[Answers, ...] = tuple(rng.integers(-2, 2**31 - 1, size).astype(np.int32) for size in sizes)
    if count and draw(st.booleans()):  # some of the searches have a radius, or all
        chosen = [draw(within(n)) if draw(st.booleans()) else None for n, _ in sizes]
        answers = tuple(one[0] if one else ids for one, ids in zip(chosen, answers, strict=True))
        scores = tuple(one[1] if one else old for one, old in zip(chosen, scores, strict=True))
    fields = {"algorithm": draw(names), "query": draw(st.dictionaries(names, st.integers() | names, max_size=3))}
    seconds = np.where(rng.random(shape) < 0.2, np.nan, rng.random(shape))
    status = draw(st.sampled_from([one for one in Status if one is not Status.OK or np.isfinite(seconds).any()]))
    lasted = st.floats(0, allow_infinity=False) | st.just(math.nan)
    return Bundle(
        identity=made.identity(**fields),
        outcome=Outcome(status, draw(st.text()), draw(st.text())),
        provenance=draw(st.dictionaries(st.text(), json_values, max_size=3)),
        counts=tuple(draw(st.integers(0, 10**7)) for _ in range(shape[2])),
        seconds=seconds,
        answer_of=rng.integers(-1, max(count, 0), shape).astype(np.int32) if count else np.full(shape, -1, np.int32),
        answers=answers,
        scores=scores,
        steps=tuple(Step(b, 0, "build", draw(lasted), 0.5) for b in range(draw(st.integers(0, 2)))),
        usage=Usage(draw(st.integers(0, 2**50))),
        truths=tuple(draw(st.lists(st.text(), max_size=2))),
        stats=draw(st.dictionaries(st.text(), json_values, max_size=3)),
        control=draw(controls(shape)),
    )


@settings(max_examples=60, deadline=None)
@given(bundles())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, bundle: Bundle) -> None:
    folder = tmp_path_factory.mktemp("results")
    path = write(bundle, folder)
    assert path.parents[3] == folder
    same(read(path), bundle)
    plain = read(path, answers=False)
    assert plain.answers == ()
    assert plain.control is None or plain.control.answers == ()
    assert [p for p in folder.rglob("*") if p.is_file()] == [path]


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write(made.bundle(queries=30), tmp_path_factory.mktemp("sealed")).read_bytes()


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_any_changed_byte_is_noticed(
    sealed: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(sealed) - 1) | st.integers(len(sealed) - SEAL_BYTES, len(sealed) - 1))
    changed = bytearray(sealed)
    changed[place] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.getbasetemp() / "flipped.h5"
    path.write_bytes(changed)
    with pytest.raises(ResultError, match=r"flipped\.h5"):
        read(path)


@pytest.mark.parametrize("cut", [1, 8, SEAL_BYTES - 1, SEAL_BYTES, SEAL_BYTES + 1, 1000])
def test_missing_bytes_are_noticed(sealed: bytes, tmp_path: Path, cut: int) -> None:
    path = tmp_path / "short.h5"
    for content in (sealed[:-cut], sealed[cut:], sealed + b"x" * cut, b"", sealed[:cut]):
        path.write_bytes(content)
        with pytest.raises(ResultError, match=r"short\.h5"):
            read(path)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none.h5", tmp_path):
        with pytest.raises(ResultError, match="cannot be read"):
            read(path)


def test_hdf5_opens_a_sealed_file_as_it_is(tmp_path: Path) -> None:
    bundle = made.bundle(queries=50)
    path = write(bundle, tmp_path)
    before = path.read_bytes()
    with h5py.File(path, "r") as file:
        ids = file["answers"][()].reshape(file["answer_shapes"][0])
        np.testing.assert_array_equal(ids, bundle.answers[0])
        assert file.attrs["format"] == "ann-bench bundle"
        assert file["answers"].compression == "gzip"
        assert file["answers"].shuffle
    assert path.read_bytes() == before


def test_same_content_same_bytes(tmp_path: Path) -> None:
    one = write(made.bundle(), tmp_path / "one")
    time.sleep(1.1)  # HDF5's own time stamps count seconds
    other = write(made.bundle(), tmp_path / "other")
    assert one.name == other.name
    assert one.read_bytes() == other.read_bytes()


def test_reading_never_writes(tmp_path: Path) -> None:
    path = write(made.bundle(), tmp_path)
    path.chmod(stat.S_IRUSR)
    before = path.stat()
    read(path)
    after = path.stat()
    assert (before.st_mtime_ns, before.st_size, before.st_ino) == (after.st_mtime_ns, after.st_size, after.st_ino)


def test_a_sealed_file_that_is_no_bundle(tmp_path: Path) -> None:
    import hashlib

    def seal(content: bytes) -> Path:
        path = tmp_path / "foreign.h5"
        path.write_bytes(content + b"ANNSEAL1" + hashlib.sha256(content).digest())
        return path

    with pytest.raises(ResultError, match="no HDF5 file"):
        read(seal(b"hello"))
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file["x"] = 1
    with pytest.raises(ResultError, match="holds no ann-bench bundle"):
        read(seal((tmp_path / "plain.h5").read_bytes()))
    with h5py.File(tmp_path / "newer.h5", "w") as file:
        file.attrs.update({"format": "ann-bench bundle", "version": 99})
    with pytest.raises(ResultError, match="newer ann-bench"):
        read(seal((tmp_path / "newer.h5").read_bytes()))
    with h5py.File(tmp_path / "empty.h5", "w") as file:
        file.attrs.update({"format": "ann-bench bundle", "version": 1})
    with pytest.raises(ResultError, match=r"foreign\.h5: does not hold"):
        read(seal((tmp_path / "empty.h5").read_bytes()))


def test_parts_that_do_not_fit_are_not_written(tmp_path: Path) -> None:
    good = made.bundle()
    for changes in ({"counts": (1, 2)}, {"scores": ()}, {"answers": ()}):
        with pytest.raises(ValueError, match=r"its|answers"):
            write(Bundle(**{**vars(good), **changes}), tmp_path)
    control = made.control(good, np.full((1, 30), 9))
    two = np.zeros((2, 1))
    for changes in (
        {"seconds": two},
        {"cpu_seconds": two},
        {"published_cpu_seconds": two},
        {"numbers": ()},
        {"scores": (), "answers": ()},
    ):
        with pytest.raises(ValueError, match="its control batches"):
            write(dataclasses.replace(good, control=dataclasses.replace(control, **changes)), tmp_path)
    assert not list(tmp_path.rglob("*.*"))


@pytest.mark.parametrize("name", ["../../etc", "a/b", "", ".", "..", ".hidden", "x" * 500, "naïve|*?", "a\nb"])
def test_any_name_stays_in_the_folder(tmp_path: Path, name: str) -> None:
    bundle = made.failed(algorithm=name, dataset=name, track=name)
    path = write(bundle, tmp_path)
    assert tmp_path in path.resolve().parents
    assert len(path.relative_to(tmp_path).parts) == 4
    assert read(path).identity["algorithm"] == name


def test_counters_of_any_kind_are_kept(tmp_path: Path) -> None:
    stats = {"a": np.int64(3), "b": np.arange(2), "c": Path("x"), "d": float("nan")}
    found = read(write(Bundle(made.identity(), Outcome(Status.OK), stats=stats), tmp_path)).stats
    assert (found["a"], found["b"], found["c"]) == (3, [0, 1], "x")
    with pytest.raises(TypeError, match="cannot hold"):
        write(Bundle(made.identity(), Outcome(Status.OK), stats={"a": object()}), tmp_path)


def leftovers(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("call", ["open", "fsync", "replace"])
@pytest.mark.parametrize("problem", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_full_disk_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, problem: BaseException
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise problem

    if call == "fsync":
        monkeypatch.setattr(atomic.os, "fsync", fail)
    else:
        monkeypatch.setattr(Path, call, fail)
    with pytest.raises(KeyboardInterrupt if isinstance(problem, KeyboardInterrupt) else StorageError) as caught:
        write(made.bundle(), tmp_path)
    monkeypatch.undo()
    if isinstance(caught.value, StorageError):
        assert "disk is full; free some space" in str(caught.value)
        assert "\n" not in str(caught.value)
    assert not leftovers(tmp_path)


def test_a_real_limit_leaves_nothing_and_keeps_the_old_file(tmp_path: Path) -> None:
    path = write(made.bundle(queries=5), tmp_path)
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(StorageError, match="ulimit"):
            write(made.bundle(queries=2000), tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert leftovers(tmp_path) == [path]
    assert path.read_bytes() == before


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="choose another folder"):
        write(made.bundle(), tmp_path / "file")
    with pytest.raises(StorageError, match="choose another folder"):
        write(made.bundle(), tmp_path / "file" / "deeper")


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_a_read_only_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StorageError, match="permission"):
        write(made.bundle(), tmp_path)
    tmp_path.chmod(0o700)


def _write_often(folder: Path) -> None:
    for _ in range(20):
        write(made.bundle(queries=200), folder)


def test_two_writers_of_one_bundle_do_no_harm(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_often, args=(tmp_path,)) for _ in range(2)]
    for writer in writers:
        writer.start()
    path = bundle_path(tmp_path, made.bundle().identity)
    while any(writer.is_alive() for writer in writers):
        if path.exists():
            read(path)
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert leftovers(tmp_path) == [path]


def test_identities_differ_in_every_field() -> None:
    base = made.identity()
    for name in base.fields:
        assert Identity({**base.fields, name: "other"}).key != base.key
