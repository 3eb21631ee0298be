"""A data set that is ready to be searched: every array is a place in a local file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ann_bench.arrays import CsrRef, Ref

Metric = Literal["euclidean", "ip", "angular"]


@dataclass(frozen=True)
class QuerySet:
    """A set of queries: vectors, the tags that each asks for (CSR, or None), a truth file from elsewhere (or None)."""

    name: str
    vectors: Ref
    tags: CsrRef | None = None
    truth: Path | None = None

    @property
    def count(self) -> int:
        """How many queries there are."""
        return self.vectors.shape[0]


@dataclass(frozen=True)
class Dataset:
    """Base rows, their tags, one chosen query set, and what else a track may need.

    `learn` holds public sample queries; `runbook` the file that says what a stream does; `radius` is there where
    searches ask for all that lies within it.
    """

    name: str
    metric: Metric
    base: Ref
    tags: CsrRef | None
    queries: QuerySet
    learn: Ref | None = None
    runbook: Path | None = None
    radius: float | None = None

    @property
    def rows(self) -> int:
        """Rows of the base."""
        return self.base.shape[0]

    @property
    def dim(self) -> int:
        """Dimensions of a vector."""
        return self.base.shape[1]

    @property
    def sparse(self) -> bool:
        """Whether the vectors are CSR rows."""
        return isinstance(self.base, CsrRef)

    @property
    def dtype(self) -> str:
        """Element type of the base, by numpy's name."""
        return self.base.data.dtype if isinstance(self.base, CsrRef) else self.base.dtype
