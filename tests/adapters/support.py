"""Wrapper folders in the two dialects, laid out as their benchmarks have them, and tiny data sets for each track."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from scipy.sparse import csr_matrix, random

from ann_bench.datasets.formats import write_spmat
from tests.support import QUERIES, Bench, bench

#: The exact search that all the wrappers below share.
SEARCH = """
import numpy as np

def nearest(base, metric, X, k, allowed=None):
    base, X = np.asarray(base, dtype=np.float64), np.asarray(X, dtype=np.float64)
    found = -np.ones((len(X), k), dtype="int32")
    for row, query in enumerate(X):
        distances = -(base @ query) if metric == "ip" else ((base - query) ** 2).sum(axis=1)
        if metric == "angular":
            distances = 1 - base @ query / np.linalg.norm(base, axis=1) / np.linalg.norm(query)
        ids = np.arange(len(base)) if allowed is None else allowed(row)
        best = ids[np.argsort(distances[ids], kind="stable")][:k]
        found[row, : len(best)] = best
    return found
"""

BIGANN = """
import os
import numpy as np
from {package}.search import nearest
from {base_module} import {base}
from benchmark.datasets import DATASETS
from benchmark.dataset_io import xbin_mmap, download_accelerated

class Exact({base}):
    def __init__(self, metric, params):
        self.metric, self.params = metric, params
        self.name = "exact %s" % params

    def fit(self, dataset):
        ds = DATASETS[dataset]()
        self.ds, self.dataset = ds, dataset
        self.base = ds.get_dataset()
        {fit}

    def set_query_arguments(self, query_args):
        self.query_args = query_args

    def query(self, X, k):
        self.I = nearest(self.base, self.metric, X, k)

    def filtered_query(self, X, filter, k):
        filter.sort_indices()
        tags = self.ds.get_dataset_metadata().tocsc()
        rows_with = lambda tag: tags.indices[tags.indptr[tag]:tags.indptr[tag + 1]]
        def allowed(row):
            ids = np.arange(self.ds.nb)
            for tag in filter.indices[filter.indptr[row]:filter.indptr[row + 1]]:
                ids = np.intersect1d(ids, rows_with(tag))
            return ids
        self.I = nearest(self.base, self.metric, X, k, allowed)

    def get_results(self):
        return self.I

    def get_additional(self):
        return {{"dist_comps": 7, "args": str(self.query_args), "qps": 10**9}}

    {methods}
"""

ANN = """
import numpy as np
from ..base.module import BaseANN
from .search import nearest

class Exact(BaseANN):
    def __init__(self, *arguments):
        self.metric, self.arguments = arguments[0], arguments[1:]
        self.name = "exact(%s)" % (self.arguments,)

    def fit(self, X):
        assert X.dtype == np.float32
        X += 0  # what a wrapper may do with its own array
        self.X = X

    def set_query_arguments(self, *arguments):
        self.asked = arguments
        self.name = "exact(%s)" % (arguments,)

    def query(self, v, n):
        return nearest(self.X, self.metric, v[None], n)[0].tolist()

    def get_additional(self):
        return {"dist_comps": 3}
"""


def bigann(
    folder: Path, config: Any = None, *, track: str = "filter", base: str = "", fit: str = "pass", methods: str = "pass"
) -> Path:
    """A wrapper of big-ann-benchmarks at its place below `folder`; `config` is YAML text or its value."""
    place = folder / "neurips23" / track / "exact"
    place.mkdir(parents=True)
    base = base or {"filter": "BaseFilterANN", "ood": "BaseOODANN", "sparse": "BaseSparseANN"}.get(track, "BaseANN")
    module = "benchmark.algorithms.base" if base == "BaseANN" else f"neurips23.{track}.base"
    text = BIGANN.format(
        package=f"neurips23.{track}.exact",
        base_module=module,
        base=base,
        fit=_indented(fit, 8),
        methods=_indented(methods, 4),
    )
    (place / "exact.py").write_text(text, encoding="utf-8")
    (place / "search.py").write_text(SEARCH, encoding="utf-8")
    value = bigann_config(track) if config is None else config
    (place / "config.yaml").write_text(value if isinstance(value, str) else yaml.safe_dump(value), encoding="utf-8")
    return place


def bigann_config(track: str = "filter", **changes: Any) -> dict[str, Any]:
    """A config for any data set, with one build and two searches."""
    algorithm = {
        "docker-tag": f"neurips23-{track}-exact",
        "module": f"neurips23.{track}.exact.exact",
        "constructor": "Exact",
        "base-args": ["@metric"],
        "run-groups": {"base": {"args": '[{"lists": 4}]', "query-args": '[{"nprobe": 1}, {"nprobe": 2}]'}},
        **changes,
    }
    return {"any": {"exact": algorithm}}


def annbenchmarks(folder: Path, config: Any = None, *, body: str = "", source: str | None = None) -> Path:
    """A wrapper of ann-benchmarks at its place below `folder`; `body` are more methods of its class."""
    place = folder / "ann_benchmarks" / "algorithms" / "exact"
    place.mkdir(parents=True)
    text = (ANN if source is None else source) + textwrap.indent(textwrap.dedent(body), "    ")
    (place / "module.py").write_text(text, encoding="utf-8")
    (place / "search.py").write_text(SEARCH, encoding="utf-8")
    (place / "__init__.py").touch()
    value = ann_config() if config is None else config
    (place / "config.yml").write_text(value if isinstance(value, str) else yaml.safe_dump(value), encoding="utf-8")
    return place


def ann_config(metric: str = "any", **changes: Any) -> dict[str, Any]:
    """A config for floats of a metric, with one build and two searches."""
    algorithm = {
        "name": "exact",
        "docker_tag": "ann-benchmarks-exact",
        "module": "ann_benchmarks.algorithms.exact",
        "constructor": "Exact",
        "base_args": ["@metric"],
        "disabled": False,
        "run_groups": {"M": {"arg_groups": [{"M": 12}], "args": {}, "query_args": [[10, 20]]}},
        **changes,
    }
    return {"float": {metric: [algorithm]}}


def _indented(text: str, by: int) -> str:
    return textwrap.indent(textwrap.dedent(text).strip(), " " * by).strip()


def dense(folder: Path, **changes: Any) -> Bench:
    """A bench of the dense track."""
    return on("dense", folder, **changes)


def on(track: str, folder: Path, **changes: Any) -> Bench:
    """A bench of a track whose data set has no tags that matter."""
    plain = {
        "base": {"vectors": {"file": "base.u8bin"}},
        "queries": {"public": {"vectors": {"file": "queries.u8bin"}}},
    }
    made = bench(folder, tracks=[track], **{**plain, **changes})
    return Bench(made.folder, made.manifest, track)


def streaming(folder: Path) -> Bench:
    """A bench of the streaming track: inserts, deletes, a replace, three searches."""
    runbook = {
        "tiny": {
            "max_pts": 200,
            1: {"operation": "insert", "start": 0, "end": 150},
            2: {"operation": "search"},
            3: {"operation": "delete", "start": 30, "end": 60},
            4: {"operation": "search"},
            5: {"operation": "replace", "tags_start": 60, "tags_end": 80, "ids_start": 200, "ids_end": 220},
            6: {"operation": "search"},
        }
    }
    made = on("streaming", folder, runbook={"file": "book.yaml"})
    (made.manifest.parent / "book.yaml").write_text(yaml.safe_dump(runbook), encoding="utf-8")
    return made


def sparse(folder: Path) -> Bench:
    """A bench of the sparse track."""
    made = on(
        "sparse",
        folder,
        metric="ip",
        base={"vectors": {"file": "base.csr"}},
        queries={"public": {"vectors": {"file": "queries.csr"}}},
    )
    for name, rows, seed in (("base.csr", 300, 1), ("queries.csr", QUERIES, 2)):
        values = random(rows, 50, density=0.2, dtype=np.float32, random_state=seed).toarray()
        values[:, 0] = 1
        write_spmat(made.manifest.parent / name, csr_matrix(values))
    return made
