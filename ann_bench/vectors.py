"""Vectors as most libraries want them, for entries. Needs numpy, no more; everything here is optional."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

#: What a length is divided by at least: a vector of zeros stays one of zeros.
TINY = np.finfo(np.float32).tiny


def prepared(vectors: npt.NDArray[Any], metric: str, dtype: npt.DTypeLike = np.float32) -> npt.NDArray[Any]:
    """The vectors (n, dim) in one piece, as `dtype`; of length 1 where the metric is `angular`.

    The angle is then the inner product, or the euclidean distance. What has the right type, lies in one piece and
    needs no other length is not copied.
    """
    vectors = np.ascontiguousarray(vectors, dtype)
    if metric == "angular":
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), TINY)
    return vectors
