"""How a bundle lies in HDF5: a JSON manifest and flat arrays. docs/results.md describes it for readers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from itertools import pairwise
from pathlib import PurePath
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from ann_bench.results.model import INVALID_KINDS, Bundle, Control, Identity, Outcome, Score, Status, Step, Usage

FORMAT = "ann-bench bundle"
VERSION = 1

#: What every identity says; figures and tables rely on it.
REQUIRED = (
    "track", "dataset", "queries", "algorithm", "build", "query",
    "k", "runs", "builds", "sandbox", "cpus", "memory_limit_bytes",
)  # fmt: skip

_SCORES = ("hits", "hits_strict", "hits_bigann", "possible")
_CONTROL_SECONDS = ("seconds", "cpu_seconds", "published_cpu_seconds")
_CHUNK_BYTES = 1 << 20


def fill(file: h5py.File, bundle: Bundle) -> None:
    """Write the bundle into an empty HDF5 file; ValueError where its parts do not fit together."""
    _check(bundle)
    if len(bundle.answers) != len(bundle.scores):
        raise ValueError(f"{len(bundle.answers)} answers but {len(bundle.scores)} scores")
    manifest = json.dumps(_manifest(bundle), indent=1, default=_plain).encode("ascii")
    file.attrs["format"] = FORMAT
    file.attrs["version"] = VERSION
    _put(file, "manifest", np.frombuffer(manifest, dtype=np.uint8))
    _put(file, "seconds", np.asarray(bundle.seconds, dtype="<f8"))
    _put(file, "answer_of", np.asarray(bundle.answer_of, dtype="<i4"))
    _put_scored(file, bundle.answers, bundle.scores)
    if bundle.control is not None:
        _put_control(file.create_group("control"), bundle.control)


def _put_scored(group: h5py.Group, answers: Sequence[npt.NDArray[Any]], scores: Sequence[Score]) -> None:
    """Answers and the score of each."""
    shapes = np.array([ids.shape for ids in answers], dtype="<i8").reshape(-1, 2)
    _put(group, "answer_shapes", shapes)
    _put(group, "answers", _flat([np.asarray(ids, dtype="<i4") for ids in answers], "<i4"))
    _put(group, "score_sizes", np.array([len(score.hits) for score in scores], dtype="<i8"))
    for name in _SCORES:
        _put(group, name, _flat([getattr(score, name) for score in scores], "<u2"))
    invalid = [[score.invalid.get(kind, 0) for kind in INVALID_KINDS] for score in scores]
    _put(group, "invalid", np.array(invalid, dtype="<i8").reshape(-1, len(INVALID_KINDS)))


def _put_control(group: h5py.Group, control: Control) -> None:
    _put(group, "recipe", np.array([control.seed, control.variants, control.variant], dtype="<i8"))
    _put(group, "sizes", np.array([len(numbers) for numbers in control.numbers], dtype="<i8"))
    _put(group, "numbers", _flat(control.numbers, "<i8"))
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
    missing = [name for name in REQUIRED if name not in manifest["identity"]]
    if missing:
        raise ValueError(f"its identity lacks {', '.join(missing)}")
    bundle = Bundle(
        identity=Identity(manifest["identity"]),
        outcome=Outcome(Status(manifest["status"]), manifest["detail"], manifest["log"]),
        provenance=manifest["provenance"],
        counts=tuple(manifest["counts"]),
        seconds=file["seconds"][()],
        answer_of=file["answer_of"][()],
        answers=_answers(file) if answers else (),
        scores=_scores(file),
        steps=tuple(Step(**_known(Step, step)) for step in manifest["steps"]),
        usage=Usage(**_known(Usage, manifest["usage"])),
        truths=tuple(manifest["truths"]),
        stats=manifest["stats"],
        control=_control(file["control"], answers=answers) if "control" in file else None,
    )
    _check(bundle)
    return bundle


def _check(bundle: Bundle) -> None:
    """ValueError unless every measured batch has a place and a score."""
    shape = np.shape(bundle.seconds)
    if np.shape(bundle.answer_of) != shape or len(shape) != 3 or shape[2] != len(bundle.counts):
        raise ValueError(f"its times {shape}, answers {np.shape(bundle.answer_of)} and searches do not fit together")
    if np.max(bundle.answer_of, initial=-1) >= len(bundle.scores):
        raise ValueError("it names answers that it does not hold")
    if bundle.control is not None:
        _check_control(bundle.control, (shape[0], shape[2]))


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
        "steps": [asdict(step) for step in bundle.steps],
        "provenance": dict(bundle.provenance),
        "stats": dict(bundle.stats),
        "invalid_kinds": list(INVALID_KINDS),
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
    if data.size == 0:
        group.create_dataset(name, data=data, track_times=False)
        return
    rows = max(1, _CHUNK_BYTES // (data.nbytes // len(data)))
    chunks = (min(len(data), rows), *data.shape[1:])
    group.create_dataset(
        name, data=data, chunks=chunks, shuffle=True, compression="gzip", compression_opts=1, track_times=False
    )


def _flat(arrays: Sequence[npt.NDArray[Any]], dtype: str) -> npt.NDArray[Any]:
    if not arrays:
        return np.zeros(0, dtype=dtype)
    return np.concatenate([array.ravel() for array in arrays]).astype(dtype, copy=False)


def _parts(flat: npt.NDArray[Any], sizes: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """The arrays of these sizes that lie one after the other in `flat`."""
    ends = np.concatenate([[0], np.cumsum(sizes)])
    if ends[-1] != len(flat):
        raise ValueError(f"its arrays hold {len(flat)} values where {int(ends[-1])} belong")
    return [flat[start:stop] for start, stop in pairwise(ends.tolist())]


def _answers(group: h5py.Group) -> tuple[npt.NDArray[np.int32], ...]:
    shapes = group["answer_shapes"][()]
    parts = _parts(group["answers"][()], shapes.prod(axis=1))
    return tuple(part.reshape(shape) for part, shape in zip(parts, shapes.tolist(), strict=True))


def _scores(group: h5py.Group) -> tuple[Score, ...]:
    sizes = group["score_sizes"][()]
    columns = [_parts(group[name][()], sizes) for name in _SCORES]
    invalid = [dict(zip(INVALID_KINDS, row, strict=True)) for row in group["invalid"][()].tolist()]
    arrays = [dict(zip(_SCORES, values, strict=True)) for values in zip(*columns, strict=True)]
    return tuple(Score(**values, invalid=counts) for values, counts in zip(arrays, invalid, strict=True))


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
