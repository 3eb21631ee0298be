"""What the cache knows of the answers with a key, without the data set: to look at, not to score by."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ann_bench.datasets.cache import cache_root
from ann_bench.truth import kept
from ann_bench.truth.matching import known_matching

Floats = npt.NDArray[np.float64]


def nearest_distances(key: str, queries: int, k: int) -> Floats | None:
    """The distance of the nearest true answer of each query (`Truth`), (queries,); infinite where there is none.

    None where the cache holds no sound file of a single search with this key.
    """
    found = true_distances(key, queries, k)
    return None if found is None else found[:, 0]


def true_distances(key: str, queries: int, k: int) -> Floats | None:
    """The distances of all true answers (`Truth`), (queries, k); None as of `nearest_distances`."""
    path = _path(key)
    if path is None or not path.exists():
        return None
    found = kept.read(path, kept.Outline(key, ((key, queries, k),)))
    return np.array(found[0].distances) if found and k else None


def matching_rows(key: str, queries: int) -> npt.NDArray[np.int64] | None:
    """How many live rows pass the filter of each query, (queries,); None where the cache does not know."""
    found = known_matching(key) if _path(key) else None
    return found if found is not None and found.shape == (queries,) else None


def known(key: str) -> bool:
    """Whether the cache holds answers with this key."""
    path = _path(key)
    return path is not None and path.exists()


def _path(key: str) -> Path | None:
    """Where answers with a key would lie; None where that is no key."""
    return cache_root() / "truth" / f"{key}.truth" if re.fullmatch("[0-9a-f]{64}", key) else None
