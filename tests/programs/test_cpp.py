"""The example in C++ answers exactly: compiled here where there is a compiler, and by its Dockerfile."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from ann_bench.cli import main
from ann_bench.datasets.formats import write_spmat, write_xbin
from ann_bench.results.figures import figures
from ann_bench.results.model import Status
from ann_bench.wire import Channel
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


@pytest.mark.parametrize("track", ["dense", "filtered", "ood"])
def test_it_passes_the_conformance_kit(compiled: Path, track: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["check", str(compiled), "--track", track, "--no-recall", "--examples", "5"]
    assert main(words) == 0, capsys.readouterr().out


class Talk:
    """A judge of a few lines, for one program."""

    def __init__(self, folder: Path, program: Path) -> None:
        self.base = folder / "base.fbin"
        self.base.write_bytes(np.array([1, 1], "<u4").tobytes() + np.ones(1, "<f4").tobytes())
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(folder / "s"))
        listener.listen(1)
        self.process = subprocess.Popen([program], env={"ANN_BENCH_SOCKET": str(folder / "s")})
        self.channel = Channel(listener.accept()[0])
        listener.close()
        assert self.channel.receive(10) == {"type": "hello", "protocol": 1}

    def ask(self, **message: Any) -> dict[str, Any]:
        self.channel.send({"seq": 7, **message})
        return self.channel.receive(10)

    def end(self) -> None:
        self.channel.send({"type": "quit", "seq": 8})
        assert self.process.wait(10) == 0
        self.channel.close()


@pytest.fixture(scope="session")
def talk(compiled: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    talk = Talk(tmp_path_factory.mktemp("talk"), compiled / "server")
    yield talk
    talk.end()


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@settings(max_examples=60)
@given(build=values, token=st.text())
def test_it_reads_whatever_json_may_hold(talk: Talk, build: Any, token: str) -> None:
    """The keys that it knows are found among others, and texts come back as they went."""
    common = {"metric": "ip", "dim": 1, "dtype": "float32", "threads": 1}
    assert talk.ask(type="create", build=build, common=common, later=build) == {"type": "done", "seq": 7}
    base = {"path": str(talk.base), "dtype": "float32", "shape": [1, 1], "offset": 8}
    assert talk.ask(type="build", extra=build, base=base, tags=None, rows=[0, 1])["type"] == "ready"
    done = talk.ask(type="go", token=token)
    assert done == {"type": "done", "seq": 7, "token": "".join(c if c >= " " else " " for c in token)}


def test_a_message_that_it_does_not_know(talk: Talk) -> None:
    talk.ask(type="create", build={}, common={"metric": "ip", "dim": 1, "dtype": "float32", "threads": 1})
    error = {"type": "error", "seq": 7, "kind": "exception"}
    assert talk.ask(type="dance") == {**error, "text": "dance is not supported"}
    assert talk.ask(type="build") == {**error, "text": "the message has no key base"}
    lost = {"path": "/no/such/file", "dtype": "float32", "shape": [1, 1], "offset": 8}
    assert talk.ask(type="build", base=lost, tags=None, rows=[0, 1]) == {**error, "text": "cannot open /no/such/file"}
    assert talk.ask(type="stats")["type"] == "done"


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
