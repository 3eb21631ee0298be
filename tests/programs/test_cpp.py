"""The example in C++ answers exactly: compiled here where there is a compiler, and by its Dockerfile."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ann_bench.datasets.formats import write_spmat, write_xbin
from ann_bench.results.figures import figures
from ann_bench.results.model import Status
from tests.algorithms.test_filtered import nasty
from tests.programs.data import ASKED, data_for
from tests.support import Bench, tiny_dataset

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "cpp-exact"

pytestmark = pytest.mark.usefixtures("nothing_left")


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, compiled with the line that stands at its top."""
    if shutil.which("g++") is None:
        pytest.skip("no g++ here; the example is compiled in its container all the same")
    folder = tmp_path_factory.mktemp("compiled") / "cpp-exact"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("server"))
    (line,) = re.findall(r"^//\s+(g\+\+ .*)", (folder / "server.cpp").read_text(), re.MULTILINE)
    subprocess.run([*line.split(), "-Wall", "-Wextra", "-Werror"], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize("asked", ["dense", "angular floats", "range", "filtered", "learn"])
def test_it_answers_exactly(tmp_path: Path, asked: str, compiled: Path) -> None:
    place = Bench(tmp_path, data_for(tmp_path / "data", asked), ASKED[asked])
    assert place.run(compiled, "--runs", "2") == 0
    bundle = place.bundle()
    assert bundle.outcome.status is Status.OK, bundle.outcome
    assert figures(bundle).recall == 1.0
    assert bundle.stats["compared"] > 0


def tripping(folder: Path, dtype: str, metric: str) -> Path:
    """Duplicates, ties, rows and queries without tags, repeated tags, tags that nobody has, fewer matches than k."""
    base, tags, queries, wanted = nasty(dtype)
    if metric == "angular":
        base, queries = (
            np.where(rows.any(axis=1, keepdims=True), rows, rows.dtype.type(1)) for rows in (base, queries)
        )
    suffix = {"float32": "fbin", "uint8": "u8bin", "int8": "i8bin"}[dtype]
    folder.mkdir()
    write_xbin(folder / f"base.{suffix}", base)
    write_xbin(folder / f"queries.{suffix}", queries)
    for name, bags in (("base", tags), ("queries", wanted)):
        write_spmat(folder / f"{name}.tags.spmat", csr_matrix(bags))
    return tiny_dataset(
        folder / "unused",
        metric=metric,
        base={"vectors": {"file": f"../base.{suffix}"}, "tags": {"file": "../base.tags.spmat"}},
        queries={"public": {"vectors": {"file": f"../queries.{suffix}"}, "tags": {"file": "../queries.tags.spmat"}}},
    )


@pytest.mark.parametrize("dtype", ["float32", "uint8", "int8"])
@pytest.mark.parametrize("metric", ["euclidean", "ip", "angular"])
def test_data_made_to_trip_it(tmp_path: Path, dtype: str, metric: str, compiled: Path) -> None:
    place = Bench(tmp_path, tripping(tmp_path / "data", dtype, metric))
    assert place.run(compiled, "--runs", "1") == 0, place.bundle().outcome
    row = figures(place.bundle())
    assert (row.recall, row.recall_strict) == (1.0, pytest.approx(1.0, abs=0.05))


def test_what_it_cannot_do_is_said(tmp_path: Path, compiled: Path) -> None:
    manifest = data_for(tmp_path / "data", "streaming")
    config = (compiled / "config.yaml").read_text()
    folder = tmp_path / "streams"
    shutil.copytree(compiled, folder)
    (folder / "config.yaml").write_text(config.replace("tracks: [", "tracks: [streaming, "))
    place = Bench(tmp_path, manifest, "streaming")
    assert place.run(folder) == 1
    assert place.bundle().outcome.detail == "setup(): setup is not supported"


def test_where_it_is_not_compiled_the_way_out_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "cpp-exact"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("server"))
    place = Bench(tmp_path, data_for(tmp_path / "data", "filtered"))
    assert place.run(folder) == 1
    outcome = place.bundle().outcome
    assert outcome.status is Status.NOT_INSTALLED
    assert "compile it there, or use its container (--sandbox docker)" in outcome.detail


@pytest.mark.docker
def test_its_dockerfile_compiles_it(tmp_path: Path, engine: Any) -> None:
    """The files of the entry come on top of what the Dockerfile has made, and take nothing from it."""
    folder = tmp_path / "cpp-exact-of-a-test"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("server"))
    place = Bench(tmp_path, data_for(tmp_path / "data", "filtered"))
    assert place.run(folder, "--sandbox", "docker", "--runs", "2") == 0
    bundle = place.bundle()
    assert figures(bundle).recall == 1.0
    assert np.isfinite(bundle.seconds).all()
