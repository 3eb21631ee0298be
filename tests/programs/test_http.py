"""Servers in the dialect of big-ann's HttpANN: a real server, over real HTTP, in both sandboxes."""

from __future__ import annotations

import textwrap
from pathlib import Path
from socket import create_server
from typing import Any

import numpy as np
import pytest
import yaml

from ann_bench.adapters import http
from ann_bench.adapters._server import free_port
from ann_bench.arrays import ArrayRef
from ann_bench.cli import main
from ann_bench.results.figures import figures
from ann_bench.results.model import Status
from tests.judge.ranges import range_bench
from tests.programs.data import data_for
from tests.support import Bench

pytestmark = pytest.mark.usefixtures("nothing_left")

SERVER = """
import http.server, json, os, sys
import numpy as np

class Model:
    def init(self, metric, dimension, shift=0):
        assert os.path.exists("server.py")
        self.metric, self.dimension, self.shift, self.asked = metric, dimension, shift, 0
        return {}

    def load_index(self, dataset):
        return {"load_index": False}

    def fit(self, dataset):
        path = os.environ["ANN_BENCH_BASE"]
        assert dataset in (path, "bigann-10M"), dataset
        rows, dim = np.fromfile(path, "<u4", 2)
        assert dim == self.dimension
        kind = {"u8bin": "u1", "i8bin": "i1", "fbin": "<f4", "hbin": "<f2"}[path.rpartition(".")[2]]
        self.base = np.fromfile(path, kind, offset=8).reshape(rows, dim).astype(float)
        self.linked = os.path.islink(path)
        return {}

    def set_query_arguments(self, query_args):
        assert query_args in ([{"probe": 4}], [4, "fast"]), query_args
        return {}

    def distances(self, X):
        self.asked += len(X)
        X = np.array(X, dtype=float)
        if self.metric == "euclidean":
            return [((self.base - query) ** 2).sum(axis=1) for query in X]
        if self.metric == "ip":
            return [-(self.base @ query) for query in X]
        lengths = [np.linalg.norm(self.base, axis=1) * np.linalg.norm(query) for query in X]
        return [1 - (self.base @ query) / np.where(l > 0, l, 1) for query, l in zip(X, lengths)]

    def query(self, X, k):
        self.results = [np.argsort(line, kind="stable")[:k].tolist() for line in self.distances(X)]
        return {}

    def get_results(self):
        return {"get_results": self.results}

    def range_query(self, X, radius):
        lines = self.distances(X)
        bound = -radius if self.metric == "ip" else radius
        ids = [np.flatnonzero(line < bound) for line in lines]
        limits = np.cumsum([0, *map(len, ids)])
        far = np.concatenate([line[i] for line, i in zip(lines, ids)])
        self.results = [limits.tolist(), np.concatenate(ids).tolist(), far.tolist()]
        return {}

    def get_range_results(self):
        return {"get_range_results": self.results}

    def get_additional(self):
        return {"get_additional": {"asked": self.asked, "linked": self.linked}}

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = json.dumps(getattr(model, self.path[1:])(**body)).encode()
        self.send_response(201 if self.path == "/init" else 200)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *words):
        pass

model = Model()
print("listening at", sys.argv[1], flush=True)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def server(folder: Path, text: str = SERVER, build: dict[str, Any] | None = None, **config: Any) -> Path:
    """An entry of a server written for a test."""
    folder.mkdir(parents=True)
    (folder / "server.py").write_text(textwrap.dedent(text))
    arguments = {"command": ["python", "server.py", "{port}"], "start_seconds": 20, **(build or {})}
    settings = {
        "class": "ann_bench.adapters.http.HttpIndex",
        "tracks": ["dense"],
        "open_source": True,
        "description": "an HTTP server",
        "build": {"default": arguments},
        "query": {"default": [{"probe": 4}]},
        **config,
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(settings))
    return folder


def dense(folder: Path) -> Bench:
    return Bench(folder, data_for(folder / "data", "dense"), "dense")


@pytest.mark.parametrize("asked", ["k", "radius"])
def test_a_server_over_http(tmp_path: Path, asked: str, sandbox: str) -> None:
    place = dense(tmp_path) if asked == "k" else range_bench(tmp_path)
    entry = server(tmp_path / "mine", build={"init": {"shift": 1}})
    assert place.run(entry, "--sandbox", sandbox, "--runs", "2", "--cpus", "1") == 0
    bundle = place.bundle()
    assert bundle.outcome.status is Status.OK, bundle.outcome
    assert figures(bundle).recall == 1.0
    assert bundle.stats["asked"] >= 80
    assert bundle.stats["linked"] is True, "a base that is a file of big-ann's format is not copied"


def test_a_name_for_the_data_and_arguments_as_a_list(tmp_path: Path) -> None:
    entry = server(tmp_path / "mine", build={"dataset": "bigann-10M"}, query={"default": [{"query_args": [4, "fast"]}]})
    place = dense(tmp_path)
    assert place.run(entry, "--runs", "1") == 0
    assert figures(place.bundle()).recall == 1.0


def test_the_conformance_kit_makes_one_index_after_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each has a server of its own, and none of them is left."""
    entry = server(tmp_path / "mine")
    words = ["check", str(entry), "--track", "dense", "--no-recall", "--examples", "2", "--sandbox", "process"]
    assert main(words) == 0, capsys.readouterr().out


def test_a_port_that_is_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One index after another has it; where somebody else listens, that is said."""
    port = free_port()
    entry = server(tmp_path / "mine", build={"port": port})
    words = ["check", str(entry), "--track", "dense", "--no-recall", "--examples", "2", "--sandbox", "process"]
    assert main([*words, "--only", "twins", "--only", "dtypes"]) == 0, capsys.readouterr().out
    place = dense(tmp_path)
    with create_server(("127.0.0.1", port)):
        assert place.run(entry) == 1
    assert f"somebody listens at port {port} already; leave `port` out" in place.bundle().outcome.detail


LISTENS = "import socket, sys, time\nlistener = socket.create_server(('127.0.0.1', int(sys.argv[1])))\n"

FAILURES = {
    "ends at once": (
        "print('no model here'); raise SystemExit(3)",
        {},
        Status.CRASHED,
        "the server ended with exit code 3; its log ends: no model here",
    ),
    "never listens": (
        "import time; print('loading'); time.sleep(600)",
        {"start_seconds": 1},
        Status.CRASHED,
        "the server took no connection at port",
    ),
    "never answers": (
        LISTENS + "print('here'); time.sleep(600)",
        {"start_seconds": 1},
        Status.CRASHED,
        "the server did not answer /init in 1 s; its log ends: here",
    ),
    "is not there": (
        "",
        {"command": ["./nobody"]},
        Status.CRASHED,
        "the server ./nobody cannot be started (No such file",
    ),
    "refuses": (
        SERVER.replace("self.send_response(201", "self.send_response(503"),
        {},
        Status.CRASHED,
        "the server answered /init with status 503: {}",
    ),
    "speaks something else": (
        LISTENS + "for _ in range(2): peer, _ = listener.accept()\npeer.sendall(b'who?'); peer.close(); time.sleep(9)",
        {},
        Status.CRASHED,
        "the server hung up on /init (",
    ),
    "falls over in a search": (
        SERVER.replace("def get_results(self):", "def get_results(self):\n        print('oh no'); os._exit(5)"),
        {},
        Status.CRASHED,
        "the server ended with exit code 5; its log ends: ",
    ),
    "answers no JSON": (
        SERVER.replace("answer = json", "answer = b'<html>' if self.path == '/fit' else json"),
        {},
        Status.CRASHED,
        "the server answered /fit with what is no JSON",
    ),
    "gives too many": (
        SERVER.replace("[:k].tolist()", "[:k + 1].tolist()"),
        {},
        Status.CRASHED,
        "the server answered /get_results without 10 ids or fewer for each query",
    ),
    "gives no results": (
        SERVER.replace('{"get_results": self', '{"results": self'),
        {},
        Status.CRASHED,
        "the server answered /get_results without the key 'get_results'",
    ),
    "gives ids that are none": (
        SERVER.replace("[:k].tolist()", "[:k].tolist()[:-1] + [999]"),
        {},
        Status.INVALID_ANSWER,
        "out of range",
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_a_result_with_a_name(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    text, build, status, detail = FAILURES[name]
    place = dense(tmp_path)
    assert place.run(server(tmp_path / "mine", text, build), "--runs", "1") == 1
    outcome = place.bundle().outcome
    assert outcome.status is status, outcome
    assert detail in outcome.detail
    assert "Traceback" not in capsys.readouterr().err
    assert "left" not in caplog.text


def test_tags_are_not_in_the_dialect(tmp_path: Path) -> None:
    place = Bench(tmp_path, data_for(tmp_path / "data", "filtered"))
    assert place.run(server(tmp_path / "mine", tracks=["filtered"])) == 1
    assert "the HTTP dialect has no tags" in place.bundle().outcome.detail


@pytest.mark.parametrize("rows", [0, 5, 12])
def test_a_base_that_is_part_of_a_file_is_copied(tmp_path: Path, rows: int) -> None:
    values = np.arange(12 * 3, dtype=np.float32).reshape(12, 3)
    source, target = tmp_path / "source", tmp_path / "base.fbin"
    source.write_bytes(np.array([12, 3], "<u4").tobytes() + values.tobytes())
    http._place(ArrayRef(str(source), "float32", (rows, 3), 8).open(), target)
    assert target.is_symlink() is (rows == 12)
    assert np.fromfile(target, "<u4", 2).tolist() == [rows, 3]
    assert np.array_equal(np.fromfile(target, "<f4", offset=8).reshape(rows, 3), values[:rows])


def test_a_base_in_memory_is_copied(tmp_path: Path) -> None:
    values = np.arange(12, dtype=np.int8).reshape(6, 2)[::2]
    http._place(values, tmp_path / "base.i8bin")
    assert (tmp_path / "base.i8bin").read_bytes() == np.array([3, 2], "<u4").tobytes() + values.tobytes()
