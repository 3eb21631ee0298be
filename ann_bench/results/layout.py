"""How a bundle lies in HDF5: a JSON manifest and flat arrays. docs/results.md describes it for readers.

A stream of 640 searches with 10,000 queries each gives 256 MB of ids: they are written and read without another copy.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from itertools import pairwise
from pathlib import PurePath
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from ann_bench.ragged import Ragged, offsets_of
from ann_bench.results.model import (
    CURVE,
    INVALID_KINDS,
    STEP_KINDS,
    Answers,
    Asks,
    Bundle,
    Control,
    Identity,
    Outcome,
    Score,
    Status,
    Step,
    Usage,
)
from ann_bench.results.rounds import answers_of
from ann_bench.results.soundness import check_manifest, check_measured

FORMAT = "ann-bench bundle"
#: 2: the steps lie in arrays. In files of version 1 they are part of the manifest, without times of day and memory.
#: 3: answers of range searches, of any number to a query.
#: 4: single queries that a run asks several times.
VERSION = 4

_SCORES = ("hits", "hits_strict", "hits_bigann", "possible")
_CONTROL_SECONDS = ("seconds", "cpu_seconds", "published_cpu_seconds")
_ASKS = ("due", "sent", "answered", "null", "busy", "rate")
_STEPS = {
    "build": "<i4", "operation": "<i4", "run": "<i4", "seconds": "<f8", "cpu_seconds": "<f8", "began": "<f8",
    "memory_bytes": "<i8", "points": "<i8",
}  # fmt: skip
_CHUNK_BYTES = 1 << 20
_RAGGED = -1  # in the place of k


def fill(file: h5py.File, bundle: Bundle) -> None:
    """Write the bundle into an empty HDF5 file; ValueError where its parts do not fit together."""
    _check(bundle)
    check_measured(bundle)
    if len(bundle.answers) != len(bundle.scores):
        raise ValueError(f"{len(bundle.answers)} answers but {len(bundle.scores)} scores")
    manifest = json.dumps(_manifest(bundle), indent=1, default=_plain).encode("ascii")
    file.attrs["format"] = FORMAT
    file.attrs["version"] = VERSION
    _put(file, "manifest", np.frombuffer(manifest, dtype=np.uint8))
    _put(file, "seconds", np.asarray(bundle.seconds, dtype="<f8"))
    _put(file, "answer_of", np.asarray(bundle.answer_of, dtype="<i4"))
    _put_scored(file, bundle.answers, bundle.scores)
    _put_steps(file.create_group("steps"), bundle.steps)
    if bundle.control is not None:
        _put_control(file.create_group("control"), bundle.control)
    if bundle.asks is not None:
        asks = file.create_group("asks")
        for name in _ASKS:
            _put(asks, name, np.asarray(getattr(bundle.asks, name), dtype="<f8"))
        if bundle.asks.answer_of is not None:
            _put(asks, "answer_of", np.asarray(bundle.asks.answer_of, dtype="<i4"))


def _put_scored(group: h5py.Group, answers: Sequence[Answers], scores: Sequence[Score]) -> None:
    """Answers and the score of each."""
    shapes = [(ids.queries, _RAGGED) if isinstance(ids, Ragged) else ids.shape for ids in answers]
    _put(group, "answer_shapes", np.array(shapes, dtype="<i8").reshape(-1, 2))
    _put_parts(group, "answers", [ids.ids if isinstance(ids, Ragged) else ids for ids in answers], "<i4")
    ragged = [ids.counts for ids in answers if isinstance(ids, Ragged)]
    if ragged:
        _put_parts(group, "answer_counts", ragged, "<i4")
    _put(group, "score_sizes", np.array([len(score.hits) for score in scores], dtype="<i8"))
    ranged = [score for score in scores if score.returned is not None and score.curve is not None]
    for name in _SCORES:
        _put_parts(group, name, [getattr(score, name) for score in scores], "<u4" if ranged else "<u2")
    if ranged:
        _put_parts(group, "returned", [_of_all(score) for score in scores], "<u4")
        curves = [np.full((2, CURVE), -1) if score.curve is None else score.curve for score in scores]
        _put(group, "curve", np.array(curves, dtype="<i8"))
    invalid = [[score.invalid.get(kind, 0) for kind in INVALID_KINDS] for score in scores]
    _put(group, "invalid", np.array(invalid, dtype="<i8").reshape(-1, len(INVALID_KINDS)))


def _of_all(score: Score) -> npt.NDArray[Any]:
    return np.zeros(len(score.hits), dtype=np.uint32) if score.returned is None else score.returned


def _put_steps(group: h5py.Group, steps: Sequence[Step]) -> None:
    """One array for each field, one place for each step; kinds as places in STEP_KINDS."""
    _put(group, "kind", np.array([STEP_KINDS.index(step.kind) for step in steps], dtype="<i4"))
    for name, dtype in _STEPS.items():
        _put(group, name, np.array([getattr(step, name) for step in steps], dtype=dtype))


def _put_control(group: h5py.Group, control: Control) -> None:
    _put(group, "recipe", np.array([control.seed, control.variants, control.variant], dtype="<i8"))
    _put(group, "sizes", np.array([len(numbers) for numbers in control.numbers], dtype="<i8"))
    _put_parts(group, "numbers", control.numbers, "<i8")
    for name in _CONTROL_SECONDS:
        _put(group, name, np.asarray(getattr(control, name), dtype="<f8"))
    _put(group, "answer_of", np.asarray(control.answer_of, dtype="<i4"))
    _put_scored(group, control.answers, control.scores)


def take(file: h5py.File, *, answers: bool) -> Bundle:
    """The bundle in an HDF5 file; without its ids (half of the work of reading it) where not `answers`.

    Raises KeyError, TypeError or ValueError where the file does not hold one.
    """
    if file.attrs.get("format") != FORMAT:
        raise ValueError(f"holds no {FORMAT}")
    if int(file.attrs["version"]) > VERSION:
        raise ValueError("was written by a newer ann-bench; update with `pip install --upgrade ann-bench`")
    manifest = json.loads(file["manifest"][()].tobytes())
    check_manifest(manifest)
    bundle = Bundle(
        identity=Identity(manifest["identity"]),
        outcome=Outcome(Status(manifest["status"]), manifest["detail"], manifest["log"]),
        provenance=manifest["provenance"],
        counts=tuple(manifest["counts"]),
        seconds=file["seconds"][()],
        answer_of=file["answer_of"][()],
        answers=_answers(file) if answers else (),
        scores=_scores(file),
        steps=_steps(file["steps"], manifest["step_kinds"]) if "steps" in file else _old_steps(manifest["steps"]),
        usage=Usage(**_known(Usage, manifest["usage"])),
        truths=tuple(manifest["truths"]),
        stats=manifest["stats"],
        control=_control(file["control"], answers=answers) if "control" in file else None,
        asks=_asks(file["asks"]) if "asks" in file else None,
    )
    _check(bundle)
    check_measured(bundle)
    return bundle


def _asks(group: h5py.Group) -> Asks:
    answer_of = group["answer_of"][()] if "answer_of" in group else None
    return Asks(**{name: group[name][()] for name in _ASKS}, answer_of=answer_of)


def _check(bundle: Bundle) -> None:
    """ValueError unless every measured batch has a place and a score."""
    shape = np.shape(bundle.seconds)
    if np.shape(bundle.answer_of) != shape or len(shape) != 3 or shape[2] != len(bundle.counts):
        raise ValueError(f"its times {shape}, answers {np.shape(bundle.answer_of)} and searches do not fit together")
    if np.max(bundle.answer_of, initial=-1) >= len(bundle.scores):
        raise ValueError("it names answers that it does not hold")
    if bundle.asks is not None:
        _check_asks(bundle.asks, shape, sum(bundle.counts))
        if np.max(answers_of(bundle), initial=-1) >= len(bundle.scores):
            raise ValueError("its rounds name answers that it does not hold")
    if bundle.control is not None:
        _check_control(bundle.control, (shape[0], shape[2]))


def _check_asks(asks: Asks, shape: tuple[int, ...], queries: int) -> None:
    """The same for the times of single queries."""
    rounds = 1 if asks.answer_of is None else np.shape(asks.answer_of)[2]
    single = {np.shape(array) for array in (asks.due, asks.sent, asks.answered)}
    passes = {np.shape(array) for array in (asks.busy, asks.rate)}
    if single != {(*shape[:2], rounds * queries)} or passes != {shape} or np.shape(asks.null)[:3] != shape:
        raise ValueError("its times of single queries do not fit its builds, runs and searches")
    if asks.answer_of is not None and np.shape(asks.answer_of) != (*shape[:2], rounds, shape[2]):
        raise ValueError("its rounds do not fit its builds, runs and searches")


def _check_control(control: Control, shape: tuple[int, int]) -> None:
    """The same for the control batches of so many builds and searches."""
    shapes = [np.shape(array) for array in (control.seconds, control.cpu_seconds, control.answer_of)]
    if shapes != [shape] * 3 or np.shape(control.published_cpu_seconds)[::2] != shape:
        raise ValueError("its control batches do not fit its builds and searches")
    if len(control.numbers) != shape[1]:
        raise ValueError("its control batches do not fit its searches")
    if np.max(control.answer_of, initial=-1) >= len(control.scores):
        raise ValueError("its control batches name answers that it does not hold")


def _manifest(bundle: Bundle) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "key": bundle.identity.key,
        "identity": dict(bundle.identity.fields),
        "status": bundle.outcome.status.value,
        "detail": bundle.outcome.detail,
        "log": bundle.outcome.log,
        "counts": list(bundle.counts),
        "truths": list(bundle.truths),
        "usage": asdict(bundle.usage),
        "provenance": dict(bundle.provenance),
        "stats": dict(bundle.stats),
        "invalid_kinds": list(INVALID_KINDS),
        "step_kinds": list(STEP_KINDS),
    }


def _plain(value: object) -> Any:
    """What json cannot write by itself: numpy's values, mappings, paths; an entry's counters hold anything."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, PurePath | bytes | complex | set | frozenset):
        return str(value)
    raise TypeError(f"a bundle cannot hold a value of type {type(value).__name__}")


def _put(group: h5py.Group, name: str, data: npt.NDArray[Any]) -> None:
    """One dataset, without time stamps: the same content gives the same bytes."""
    _create(group, name, data.shape, data.dtype, data)


def _put_parts(group: h5py.Group, name: str, parts: Sequence[npt.NDArray[Any]], dtype: str) -> None:
    """One flat dataset of all the parts, one after the other; each of its chunks is written once, when it is full."""
    dataset = _create(group, name, (sum(part.size for part in parts),), np.dtype(dtype), None)
    start = 0
    for piece in _pieces(parts, np.dtype(dtype)):
        dataset[start : start + len(piece)] = piece
        start += len(piece)


def _pieces(parts: Sequence[npt.NDArray[Any]], dtype: np.dtype[Any]) -> Iterator[npt.NDArray[Any]]:
    """The values of all parts in pieces of a chunk's size, the last one shorter; a piece is good until the next."""
    room = np.empty(_CHUNK_BYTES // dtype.itemsize, dtype=dtype)
    filled = 0
    for part in parts:
        values, done = part.reshape(-1), 0
        while done < len(values):
            count = min(len(room) - filled, len(values) - done)
            room[filled : filled + count] = values[done : done + count]
            filled, done = filled + count, done + count
            if filled == len(room):
                yield room
                filled = 0
    if filled:
        yield room[:filled]


def _create(
    group: h5py.Group, name: str, shape: tuple[int, ...], dtype: np.dtype[Any], data: npt.NDArray[Any] | None
) -> h5py.Dataset:
    size = math.prod(shape)
    if size == 0:
        return group.create_dataset(name, shape, dtype, data, track_times=False)
    rows = max(1, _CHUNK_BYTES // (size * dtype.itemsize // shape[0]))
    return group.create_dataset(
        name, shape, dtype, data, chunks=(min(shape[0], rows), *shape[1:]), shuffle=True,
        compression="gzip", compression_opts=1, track_times=False,
    )  # fmt: skip


def _parts(flat: npt.NDArray[Any], sizes: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """The arrays of these sizes that lie one after the other in `flat`."""
    ends = np.concatenate([[0], np.cumsum(sizes)])
    if ends[-1] != len(flat) or (sizes < 0).any():
        raise ValueError(f"its arrays hold {len(flat)} values where {int(ends[-1])} belong")
    return [flat[start:stop] for start, stop in pairwise(ends.tolist())]


def _answers(group: h5py.Group) -> tuple[Answers, ...]:
    shapes = group["answer_shapes"][()].tolist()
    ragged = [queries for queries, k in shapes if k == _RAGGED]
    lists = iter(_parts(group["answer_counts"][()], np.array(ragged)) if ragged else ())
    offsets = [offsets_of(next(lists)) if k == _RAGGED else None for _, k in shapes]
    sizes = [math.prod(shape) if own is None else int(own[-1]) for shape, own in zip(shapes, offsets, strict=True)]
    parts = _parts(group["answers"][()], np.array(sizes, dtype=np.int64))
    return tuple(
        part.reshape(shape) if own is None else Ragged(own, part)
        for part, shape, own in zip(parts, shapes, offsets, strict=True)
    )


def _scores(group: h5py.Group) -> tuple[Score, ...]:
    sizes = group["score_sizes"][()]
    columns = [_parts(group[name][()], sizes) for name in _SCORES]
    invalid = [dict(zip(INVALID_KINDS, row, strict=True)) for row in group["invalid"][()].tolist()]
    arrays = [dict(zip(_SCORES, values, strict=True)) for values in zip(*columns, strict=True)]
    scores = [Score(**values, invalid=counts) for values, counts in zip(arrays, invalid, strict=True)]
    if "curve" in group:
        more = zip(scores, _parts(group["returned"][()], sizes), group["curve"][()], strict=True)
        scores = [one if curve[0, 0] < 0 else replace(one, returned=own, curve=curve) for one, own, curve in more]
    return tuple(scores)


def _steps(group: h5py.Group, kinds: Sequence[str]) -> tuple[Step, ...]:
    names = [kinds[place] for place in group["kind"][()].tolist()]
    columns = [group[name][()].tolist() for name in _STEPS]
    values = zip(names, *columns, strict=True)
    return tuple(Step(kind=kind, **dict(zip(_STEPS, rest, strict=True))) for kind, *rest in values)


def _old_steps(steps: Sequence[Mapping[str, Any]]) -> tuple[Step, ...]:
    return tuple(Step(**_known(Step, step)) for step in steps)


def _control(group: h5py.Group, *, answers: bool) -> Control:
    seed, variants, variant = group["recipe"][()].tolist()
    return Control(
        seed=seed,
        variants=variants,
        variant=variant,
        numbers=tuple(_parts(group["numbers"][()], group["sizes"][()])),
        **{name: group[name][()] for name in _CONTROL_SECONDS},
        answer_of=group["answer_of"][()],
        answers=_answers(group) if answers else (),
        scores=_scores(group),
    )


def _known(kind: type[Step] | type[Usage], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that this version knows: files of other versions may hold more or fewer."""
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in values.items() if name in names}
