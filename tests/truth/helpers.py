"""Arrays in files, and the answers of a brute force that anyone can read."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ann_bench.arrays import ArrayRef, CsrRef, Ref
from ann_bench.truth import way
from ann_bench.truth.model import Live, Problem

_numbers = itertools.count()


def use_always(patch: pytest.MonkeyPatch) -> None:
    """Inside, no stream is too small to be answered by one scan."""
    for name, value in (("_FEWEST_GROUPS", 1), ("_FEWEST_PAIRS", 1), ("_FEWEST", 1)):
        patch.setattr(way, name, value)


def save(folder: Path, array: np.ndarray) -> ArrayRef:
    path = folder / f"array{next(_numbers)}"
    np.ascontiguousarray(array).tofile(path)
    return ArrayRef(str(path), array.dtype.name, array.shape)


def save_csr(folder: Path, matrix: csr_matrix) -> CsrRef:
    return CsrRef(
        save(folder, matrix.indptr.astype(np.int64)),
        save(folder, matrix.indices.astype(np.int32)),
        save(folder, matrix.data),
        matrix.shape,
    )


def save_any(folder: Path, matrix: np.ndarray | csr_matrix) -> Ref:
    return save_csr(folder, matrix) if isinstance(matrix, csr_matrix) else save(folder, matrix)


def save_bags(folder: Path, bags: list[list[int]], vocabulary: int) -> CsrRef:
    """Rows of tags as they stand: not sorted, with twins; the values must not matter, so they are 0."""
    indptr = np.cumsum([0, *(len(bag) for bag in bags)])
    indices = np.array([tag for bag in bags for tag in bag], dtype=np.int32)
    return CsrRef(
        save(folder, indptr.astype(np.int64)),
        save(folder, indices),
        save(folder, np.zeros(len(indices), dtype=np.float32)),
        (len(bags), vocabulary),
    )


def naive(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """One query after the other, one row after the other, in float64."""
    both = problem.base.open(), problem.queries.open()
    base, queries = (m.toarray() if isinstance(m, csr_matrix) else m for m in both)
    base, queries = base.astype(np.float64), queries.astype(np.float64)
    live = problem.live or Live(np.arange(len(base)), np.arange(len(base)))
    ids = np.full((len(queries), problem.k), -1)
    distances = np.full((len(queries), problem.k), np.inf)
    for number, query in enumerate(queries):
        wanted = bag(problem.query_tags, number)
        found = []
        for point, row in zip(live.ids.tolist(), live.rows.tolist(), strict=True):
            if wanted <= bag(problem.tags, row):
                found.append((distance(problem.metric, query, base[row]), point))
        for rank, (value, point) in enumerate(sorted(found)[: problem.k]):
            ids[number, rank], distances[number, rank] = point, value
    return ids, distances


def bag(tags: CsrRef | None, row: int) -> set[int]:
    if tags is None:
        return set()
    ends = tags.indptr.open()
    return set(tags.indices.open()[ends[row] : ends[row + 1]].tolist())


def distance(metric: str, query: np.ndarray, row: np.ndarray) -> float:
    if metric == "euclidean":
        return float(((query - row) ** 2).sum())
    if metric == "ip":
        return float(0.0 - (query * row).sum())
    lengths = np.sqrt((query * query).sum() * (row * row).sum())
    return 1.0 - float((query * row).sum() / lengths) if lengths > 0 else 1.0


def debian(name: str) -> Path:
    """A file of debian-20k: from the repository, else from beside it."""
    root = Path(__file__).resolve().parents[2]
    for folder in (root / "datasets" / "debian-20k", root.parent / "shared" / "data" / "debian-20k"):
        if (folder / name).exists():
            return folder / name
    pytest.skip(f"debian-20k's {name} is neither in datasets/ nor in ../shared/data")
