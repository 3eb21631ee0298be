"""What of a data set matters for search: how long, how full, how crowded, how far the queries lie from the base.

All figures but the selectivities come from samples, which are the same every time.

Sources: intrinsic dimension by maximum likelihood, E. Levina and P. J. Bickel, NIPS 2004; relative contrast, J. He,
S. Kumar and S.-F. Chang, ICML 2012; Mahalanobis distances of queries to the base as a measure of another distribution,
S. Jaiswal et al., OOD-DiskANN, arXiv:2211.12850.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from ann_bench.datasets.dataset import Dataset
from ann_bench.progress import Progress, silent
from ann_bench.truth.crowd import Crowd, crowd
from ann_bench.truth.groups import groups_of, matches
from ann_bench.truth.points import Points
from ann_bench.truth.postings import build

Floats = npt.NDArray[np.float64]
Matrix: TypeAlias = Any  # (n, d) array or csr_matrix

#: Rows and queries of the samples.
ROWS, QUERIES = 20_000, 1_000

_SEED = 20_231
_MEMORY_BYTES = 448 << 20


@dataclass(frozen=True)
class Profile:
    """The figures of one data set and query set.

    `values` holds the raw values behind the figures, by name, for pictures: `norms`, `query_norms`, `nonzeros`,
    `query_nonzeros` (sparse rows), `tags_a_row`, `tags_a_query`, `tag_counts` (descending), `selectivity`; and of the
    Crowd (see there) `nearest`, `query_nearest`, `dimension`, `query_dimension`, `mahalanobis`, `query_mahalanobis`.
    """

    name: str
    queries: str
    facts: Mapping[str, Any]
    values: Mapping[str, Floats] = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        """Facts, and quantiles of every value, as JSON."""
        spread = {name: quantiles(values) for name, values in self.values.items() if len(values)}
        return {"name": self.name, "queries": self.queries, **self.facts, "quantiles": spread}


#: The quantiles that are told.
LEVELS = {"least": 0.0, "1 %": 0.01, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "99 %": 0.99, "most": 1.0}


def quantiles(values: Floats) -> dict[str, float]:
    """The values at LEVELS, and the mean."""
    found = np.quantile(values, list(LEVELS.values()))
    return {**dict(zip(LEVELS, found.tolist(), strict=True)), "mean": float(values.mean())}


def profile(dataset: Dataset, progress: Progress = silent, scratch: Path | None = None) -> Profile:
    """Look at a data set and its chosen queries; posting lists too large for memory are mapped from `scratch`."""
    base: Matrix = dataset.base.open()
    queries: Matrix = dataset.queries.vectors.open()
    rows, asked = sample(base, ROWS), sample(queries, QUERIES)
    values: dict[str, Floats] = {"norms": _norms(rows), "query_norms": _norms(asked)}
    if isinstance(base, csr_matrix):
        values["nonzeros"] = np.diff(base.indptr).astype(np.float64)
        values["query_nonzeros"] = np.diff(queries.indptr).astype(np.float64)
    if dataset.tags is not None and dataset.queries.tags is not None:
        values |= _tags(dataset, progress, scratch)
    found = crowd(rows, asked, progress)
    values |= found.values
    facts = {
        "rows": dataset.rows,
        "dim": dataset.dim,
        "dtype": dataset.dtype,
        "metric": dataset.metric,
        "bytes": dataset.base.nbytes,
        "query_count": dataset.queries.count,
        "learn_count": dataset.learn.shape[0] if dataset.learn else 0,
        "sample": {"rows": rows.shape[0], "queries": asked.shape[0]},
        **_of_crowd(found),
    }
    if dataset.tags is not None:
        facts["vocabulary"] = dataset.tags.shape[1]
    return Profile(dataset.name, dataset.queries.name, facts, values)


def sample(matrix: Matrix, most: int) -> Matrix:
    """At most so many rows, drawn at random but the same every time, in their order."""
    count = matrix.shape[0]
    if count <= most:
        return matrix[:]
    return matrix[np.sort(np.random.default_rng(_SEED).choice(count, most, replace=False))]


def _norms(rows: Matrix) -> Floats:
    if isinstance(rows, csr_matrix):
        return np.asarray(np.sqrt(np.asarray(rows.astype(np.float64).power(2).sum(axis=1)).ravel()))
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64)))


def _tags(dataset: Dataset, progress: Progress, scratch: Path | None) -> dict[str, Floats]:
    """Tags of rows and queries, how often each tag occurs, and which share of the rows each query leaves."""
    assert dataset.tags is not None
    assert dataset.queries.tags is not None
    tags, asked = dataset.tags.open(), dataset.queries.tags.open()
    counts = np.zeros(tags.shape[1], dtype=np.int64)
    for start in range(0, len(tags.indices), 1 << 24):
        counts += np.bincount(tags.indices[start : start + (1 << 24)], minlength=tags.shape[1])
    points = Points(dataset.rows, None)
    lists = build(tags, points, np.unique(np.asarray(asked.indices)), _MEMORY_BYTES, scratch)
    selectivity = np.ones(asked.shape[0])
    done = 0
    for group, found in matches(groups_of(asked), lists, points.count):
        if found is not None:
            selectivity[group.queries] = len(found) / max(1, dataset.rows)
        done += len(group.queries)
        progress("selectivity", done, asked.shape[0])
    return {
        "tags_a_row": np.diff(tags.indptr).astype(np.float64),
        "tags_a_query": np.diff(asked.indptr).astype(np.float64),
        "tag_counts": np.sort(counts[counts > 0])[::-1].astype(np.float64),
        "selectivity": selectivity,
    }


def _of_crowd(found: Crowd) -> dict[str, Any]:
    def middle(name: str) -> float | None:
        values = found.values.get(name, np.zeros(0))
        return float(np.median(values)) if len(values) else None

    return {
        "intrinsic_dimension": middle("dimension"),
        "query_intrinsic_dimension": middle("query_dimension"),
        "contrast": found.contrast,
        "query_contrast": found.query_contrast,
        "nearest_ratio": _ratio(middle("query_nearest"), middle("nearest")),
        "mahalanobis_ratio": _ratio(middle("query_mahalanobis"), middle("mahalanobis")),
    }


def _ratio(one: float | None, other: float | None) -> float | None:
    return one / other if one is not None and other else None
