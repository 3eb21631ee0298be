"""The entry that is checked, and what is known of it so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ann_bench.check.bench import Bench
from ann_bench.datasets.dataset import Metric
from ann_bench.entries.entry import Entry
from ann_bench.tracks import Features, Track


@dataclass(frozen=True)
class Kind:
    """What vectors are like: a metric, an element type, dimensions."""

    metric: Metric
    dtype: str
    dim: int

    def __str__(self) -> str:
        return f"{self.metric} {self.dtype}"


@dataclass
class Subject:
    """An entry on one track. `kinds` are those that it takes, the track's own first; `examples` bounds each search."""

    entry: Entry
    track: Track
    build: Mapping[str, Any]
    configs: Sequence[Mapping[str, Any]]
    bench: Bench
    single: Bench
    examples: int
    kinds: list[Kind] = field(default_factory=list)

    @property
    def features(self) -> Features:
        """What entries of the track have to do."""
        return self.track.features

    @property
    def kind(self) -> Kind:
        """The kind of vectors that most checks use."""
        return self.kinds[0]
