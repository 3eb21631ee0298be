"""Whether what a file says can be a measurement at all: types and values that every reader relies on.

A seal shows that no byte has changed since a file was written, not that whoever wrote it knew what a bundle is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ann_bench.results.model import Bundle, Score, Status

_LARGEST = 2**63 - 1


class _Kind(NamedTuple):
    """What a value must be, in words and as a test."""

    words: str
    holds: Callable[[Any], bool]


def _whole(least: int) -> _Kind:
    return _Kind(
        f"a whole number of {least} or more",
        lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= _LARGEST,
    )


def _list_of(kind: _Kind, words: str) -> _Kind:
    return _Kind(words, lambda value: isinstance(value, list) and all(map(kind.holds, value)))


_TEXT = _Kind("text", lambda value: isinstance(value, str))
_MAPPING = _Kind("a mapping", lambda value: isinstance(value, Mapping))
_NUMBER = _Kind("a number", lambda value: isinstance(value, int | float) and not isinstance(value, bool))

_IDENTITY = {
    **dict.fromkeys(("track", "dataset", "queries", "algorithm", "sandbox"), _TEXT),
    **dict.fromkeys(("build", "query"), _MAPPING),
    **dict.fromkeys(("k", "runs", "builds", "cpus"), _whole(1)),
    "memory_limit_bytes": _whole(0),
}
_MANIFEST = {
    "detail": _TEXT,
    "log": _TEXT,
    "provenance": _MAPPING,
    "stats": _MAPPING,
    "usage": _MAPPING,
    "counts": _list_of(_whole(0), "a list of whole numbers"),
    "truths": _list_of(_TEXT, "a list of texts"),
}
_OPERATION = _Kind("an operation", lambda value: isinstance(value, Mapping) and isinstance(value.get("op"), str))

#: What may be missing, or null but for _NEVER_NULL, and is of this kind where it is there.
_IDENTITY_TOO = {
    "workload": _list_of(_OPERATION, "a list of operations"),
    "machine": _TEXT,
    "until": _NUMBER,
    **dict.fromkeys(("limits", "packages", "challenge", "mode"), _MAPPING),
}
_PROVENANCE = {
    "date": _TEXT,
    "chance_recall": _NUMBER,
    **dict.fromkeys(("environment", "machine", "data"), _MAPPING),
}
_NEVER_NULL = frozenset({"workload", "challenge", "environment"})


def check_manifest(manifest: Any) -> None:
    """ValueError, which names the key, where the JSON of a bundle is not what readers take it for."""
    if not isinstance(manifest, Mapping) or not isinstance(manifest.get("identity"), Mapping):
        raise ValueError("its manifest says nothing of what was measured")
    identity = manifest["identity"]
    if missing := [name for name in _IDENTITY if name not in identity]:
        raise ValueError(f"its identity lacks {', '.join(missing)}")
    _check(identity, _IDENTITY, "identity")
    _check(manifest, _MANIFEST, "manifest")
    _check(manifest["usage"], dict.fromkeys(manifest["usage"], _NUMBER), "manifest.usage")
    for values, kinds, where in (
        (identity, _IDENTITY_TOO, "identity"),
        (manifest["provenance"], _PROVENANCE, "provenance"),
    ):
        there = [name for name in kinds if name in values and (values[name] is not None or name in _NEVER_NULL)]
        _check(values, {name: kinds[name] for name in there}, where)


def _check(values: Mapping[str, Any], kinds: Mapping[str, _Kind], where: str) -> None:
    for name, kind in kinds.items():
        if not kind.holds(values[name]):
            raise ValueError(f"`{where}.{name}` is {_short(values[name])}, not {kind.words}")


def _short(value: Any) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def check_measured(bundle: Bundle) -> None:
    """ValueError where times or counts are none: negative, infinite, or more hits than there are answers."""
    _check_times(bundle.seconds, "times")
    if bundle.answer_of.dtype.kind != "i" or np.min(bundle.answer_of, initial=-1) < -1:
        raise ValueError("its answers have numbers that are none")
    if bundle.outcome.status is Status.OK and bundle.counts and not np.isfinite(bundle.seconds).any():
        raise ValueError("it says ok, but no search of it ended")
    _check_times([step.seconds for step in bundle.steps], "times of its calls")
    _check_scores(bundle.scores)


def _check_times(values: Sequence[float] | npt.NDArray[np.float64], what: str) -> None:
    seconds = np.asarray(values)
    if seconds.dtype.kind not in "fiu" or np.isinf(seconds).any() or (seconds < 0).any():
        raise ValueError(f"its {what} are not all seconds, of 0 or more")


def _check_scores(scores: Sequence[Score]) -> None:
    for score in scores:
        counts = (score.hits, score.hits_strict, score.hits_bigann, score.possible)
        if any(array.dtype.kind not in "iu" for array in counts):
            raise ValueError("its hits are no whole numbers")
        if score.returned is None and (score.hits > score.possible).any():
            raise ValueError("it counts more hits than there are answers")
