"""A tiny data set, entries written for a test, and the command line in this process."""

from __future__ import annotations

import json
import os
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from scipy.sparse import csr_matrix

from ann_bench.cli import main
from ann_bench.datasets.formats import write_spmat, write_xbin
from ann_bench.results.model import Bundle
from ann_bench.results.store import Store
from ann_bench.sandbox.folders import PREFIX

ROWS, DIM, TAGS, QUERIES = 300, 8, 6, 40


def tiny_dataset(folder: Path, *, seed: int = 1, rows: int = ROWS, **changes: Any) -> Path:
    """Write a small filtered data set; returns its manifest. `changes` replace keys of the manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    write_xbin(folder / "base.u8bin", rng.integers(0, 255, (rows, DIM), dtype=np.uint8))
    write_xbin(folder / "queries.u8bin", rng.integers(0, 255, (QUERIES, DIM), dtype=np.uint8))
    write_spmat(folder / "base.tags.spmat", csr_matrix(rng.random((rows, TAGS)) < 0.5, dtype=np.float32))
    wanted = np.zeros((QUERIES, TAGS), dtype=np.float32)
    wanted[np.arange(QUERIES), rng.integers(0, TAGS, QUERIES)] = 1
    wanted[: QUERIES // 2, 0] = 1
    write_spmat(folder / "queries.tags.spmat", csr_matrix(wanted))
    manifest = {
        "name": "tiny",
        "tracks": ["filtered"],
        "metric": "euclidean",
        "base": {"vectors": {"file": "base.u8bin"}, "tags": {"file": "base.tags.spmat"}},
        "queries": {"public": {"vectors": {"file": "queries.u8bin"}, "tags": {"file": "queries.tags.spmat"}}},
        "licence": "MIT",
        "source": "made for a test",
        **changes,
    }
    path = folder / "tiny.yaml"
    path.write_text(yaml.safe_dump(manifest), encoding="utf-8")
    return path


#: An entry that answers exactly; the entries of the fault tests change one thing in it.
EXACT = """
import numpy as np
from ann_bench import Algorithm

class Entry(Algorithm):
    def fit(self, base, tags=None, learn=None):
        self.base, self.tags = np.asarray(base, dtype=np.int64), tags.tocsc()

    def set_query_arguments(self, **query):
        pass

    def query(self, queries, k, tags=None):
        return self.exact(queries, k, tags)

    def exact(self, queries, k, tags):
        answers = np.full((len(queries), k), -1, dtype=np.int64)
        for i, query in enumerate(np.asarray(queries, dtype=np.int64)):
            match = np.ones(len(self.base), dtype=bool)
            for tag in tags.indices[tags.indptr[i]:tags.indptr[i + 1]]:
                holds = np.zeros(len(self.base), dtype=bool)
                holds[self.tags.indices[self.tags.indptr[tag]:self.tags.indptr[tag + 1]]] = True
                match &= holds
            rows = np.flatnonzero(match)
            distances = ((self.base[rows] - query) ** 2).sum(axis=1)
            best = rows[np.lexsort((rows, distances))[:k]]
            answers[i, : len(best)] = best
        return answers
"""


def write_entry(folder: Path, body: str = "", *, start: str = "", **config: Any) -> Path:
    """An entry that answers exactly, but for the methods in `body`; `start` goes to the top of the module."""
    folder.mkdir(parents=True, exist_ok=True)
    methods = textwrap.indent(textwrap.dedent(body), "    ")
    (folder / "wrapper.py").write_text(textwrap.dedent(start) + EXACT + methods, encoding="utf-8")
    settings = {
        "class": "wrapper.Entry",
        "tracks": ["filtered"],
        "requires": [],
        "open_source": True,
        "description": "an entry for a test",
        "build": {"default": {}},
        "query": {"default": [{"effort": 1}]},
        **config,
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    return folder


@dataclass(frozen=True)
class Bench:
    """A folder with a tiny data set, where entries are run by the real command."""

    folder: Path
    manifest: Path
    track: str = "filtered"

    @property
    def results(self) -> Path:
        """Where results go."""
        return self.folder / "results"

    def arguments(self, entry: Path, *options: str) -> list[str]:
        """The command line that runs an entry."""
        fixed = ["run", "--track", self.track, "--dataset", str(self.manifest), "--entry", str(entry)]
        places = ["--results", str(self.results), "--plots", str(self.folder / "plots")]
        return [*fixed, *places, *options]

    def run(self, entry: Path, *options: str) -> int:
        """Run an entry; returns the exit code."""
        return main(self.arguments(entry, *options))

    def bundles(self) -> list[Bundle]:
        """What is stored."""
        bundles, damaged = Store(self.results).load()
        assert not damaged
        return bundles

    def bundle(self) -> Bundle:
        """The only result that is stored."""
        bundles = self.bundles()
        assert len(bundles) == 1
        return bundles[0]


def bench(folder: Path, **dataset: Any) -> Bench:
    """A new bench in this folder."""
    return Bench(folder, tiny_dataset(folder / "data", **dataset))


def json_of(text: str) -> Any:
    """The JSON that a command printed."""
    return json.loads(text)


def temporary_folders(pid: int | None = None) -> set[str]:
    """The temporary folders that a judge (this process, or the one given) has now, wherever they may be."""
    places = {Path("/dev/shm"), Path(tempfile.gettempdir())}
    name = f"{PREFIX}{pid or os.getpid()}-*"
    return {str(path) for place in places if place.is_dir() for path in place.glob(name)}


def processes_with(mark: str) -> list[int]:
    """The processes whose command line or environment holds `mark`."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
        except OSError:
            continue
        if mark.encode() in text and int(folder.name) != os.getpid():
            found.append(int(folder.name))
    return found
