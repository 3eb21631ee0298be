"""What a track says that its entries have to do is what its workload asks of them."""

from __future__ import annotations

import pytest

from ann_bench.datasets.prepare import prepare
from ann_bench.datasets.registry import find_manifest
from ann_bench.tracks import Track, list_tracks
from ann_bench.workload import Build


@pytest.mark.parametrize("track", list_tracks(), ids=lambda track: track.name)
def test_features_are_those_of_the_workload(track: Track) -> None:
    dataset = prepare(find_manifest(track.default_dataset, track.name))
    workload = track.workload(dataset, track.k)
    features = track.features
    assert features.sparse == dataset.sparse
    assert features.filtered == any(search.filtered for search in workload.searches)
    assert features.stream == (not isinstance(workload.operations[0], Build))
    assert features.learn == (dataset.learn is not None)
