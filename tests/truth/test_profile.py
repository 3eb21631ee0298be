"""Figures of data sets whose answers are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ann_bench.arrays import held, held_csr
from ann_bench.datasets.dataset import Dataset, QuerySet
from ann_bench.truth.crowd import crowd
from ann_bench.truth.profile import profile, quantiles, sample


def flat(rows: int, dims: int, seed: int, scale: float = 1.0) -> np.ndarray:
    """Points of a flat square of few dimensions, turned into a space of 24."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((24, 24)))[0][:dims]
    return (scale * rng.random((rows, dims)) @ turn).astype(np.float32)


@pytest.mark.parametrize("dims", [2, 8])
def test_intrinsic_dimension(dims: int) -> None:
    found = crowd(flat(8_000, dims, 1), flat(200, dims, 2))
    for name in ("dimension", "query_dimension"):
        assert np.median(found.values[name]) == pytest.approx(dims, rel=0.25)


def test_queries_of_the_same_and_of_another_distribution() -> None:
    base = flat(4_000, 8, 1)
    same, other = crowd(base, flat(300, 8, 2)), crowd(base, flat(300, 8, 3, scale=3.0) - 1)
    for name in ("nearest", "mahalanobis"):
        near, far = (np.median(one.values[f"query_{name}"]) / np.median(one.values[name]) for one in (same, other))
        assert near == pytest.approx(1, abs=0.2)
        assert far > 2
    assert same.contrast is not None
    assert same.contrast > 1.5


def test_a_crowd_of_copies_has_no_dimension() -> None:
    found = crowd(np.ones((100, 4), dtype=np.int8), np.ones((5, 4), dtype=np.int8))
    assert found.contrast is None
    assert "dimension" not in found.values
    assert not crowd(np.ones((1, 4), dtype=np.float32), np.ones((2, 4), dtype=np.float32)).values


def test_tags() -> None:
    tags = csr_matrix(np.array([[1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 1, 0], [1, 0, 0, 0]], dtype=np.float32))
    asked = csr_matrix(np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]], dtype=np.float32))
    vectors = np.eye(4, dtype=np.float32)
    queries = QuerySet("public", held(vectors), held_csr(asked))
    found = profile(Dataset("own", "euclidean", held(vectors), held_csr(tags), queries))
    assert found.values["selectivity"].tolist() == [1.0, 0.5, 0.0, 1.0]
    assert found.values["tag_counts"].tolist() == [4, 2, 1]
    assert found.values["tags_a_row"].tolist() == [2, 1, 3, 1]
    assert found.to_json()["quantiles"]["tags_a_query"]["mean"] == 1.0
    assert found.facts["vocabulary"] == 4


def test_sparse_rows() -> None:
    rows = csr_matrix(np.array([[3, 4, 0], [0, 0, 0], [0, 0, 2]] * 30, dtype=np.float32))
    found = profile(Dataset("own", "ip", held_csr(rows), None, QuerySet("public", held_csr(rows[:5]))))
    assert found.values["norms"][:3].tolist() == [5, 0, 2]
    assert found.values["nonzeros"][:3].tolist() == [2, 0, 1]
    assert "mahalanobis" not in found.values
    assert found.facts["mahalanobis_ratio"] is None


def test_samples_are_the_same_every_time() -> None:
    rows = np.arange(1000)[:, None]
    one = sample(rows, 10)
    assert np.array_equal(one, sample(rows, 10))
    assert len(np.unique(one)) == 10
    assert sample(rows, 1000) is not None
    assert len(sample(rows, 5000)) == 1000


def test_quantiles() -> None:
    assert quantiles(np.arange(101.0)) == {
        "least": 0, "1 %": 1, "25 %": 25, "median": 50, "75 %": 75, "99 %": 99, "most": 100, "mean": 50
    }  # fmt: skip


@pytest.mark.parametrize("track", ["filtered", "ood", "sparse"])
def test_the_command(track: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from ann_bench.cli import main

    picture = tmp_path / f"{track}.png"
    assert main(["data", "describe", "debian-20k", "--track", track, "--picture", str(picture)]) == 0
    shown = capsys.readouterr().out
    assert "20,000 x" in shown
    assert "intrinsic dimension:" in shown
    assert all(len(line) <= 100 for line in shown.splitlines() if "picture" not in line)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_picture_that_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from ann_bench.cli import main

    assert main(["data", "describe", "debian-20k", "--track", "ood", "--picture", "x.jpg"]) == 2
    assert "must end in .png" in capsys.readouterr().err
