"""A wrapper of ann-benchmarks runs as it is, whatever ways of answering it has."""

from __future__ import annotations

import numpy as np
import pytest

from ann_bench.datasets.formats import write_xbin
from ann_bench.results.figures import figures
from tests.adapters.support import ANN, ann_config, annbenchmarks, dense
from tests.support import bench

FAST = ("--runs", "1", "--cpus", "2")


def recalls(place):
    return [figures(one).recall for one in place.bundles()]


def details(place):
    return [one.outcome.detail for one in place.bundles()]


def test_single_queries_on_several_threads(tmp_path):
    place = dense(tmp_path)
    assert place.run(f"annbenchmarks:{annbenchmarks(tmp_path)}", *FAST) == 0, details(place)
    assert recalls(place) == [1.0, 1.0]
    one = next(one for one in place.bundles() if one.identity["query"] == {"arguments": [20]})
    assert one.stats == {"name": "exact((20,))", "dist_comps": 3}
    assert one.identity["build"]["arguments"] == ["@metric", {"M": 12}]
    assert one.identity["algorithm"] == "annbenchmarks-exact"


BATCH = """
def batch_query(self, X, n):
    self.found = nearest(self.X, self.metric, X, n + 5)
def get_batch_results(self):
    return self.found
def query(self, v, n):
    assert False
"""
PREPARED_BATCH = """
def prepare_batch_query(self, X, n):
    self.asked = X, n
def run_batch_query(self):
    self.res = nearest(self.X, self.metric, *self.asked).astype("uint32")
query = batch_query = None
"""
PREPARED = """
def supports_prepared_queries(self):
    self.can = True
def prepare_query(self, v, n):
    assert self.can
    self.asked = v, n
def run_prepared_query(self):
    self.one = nearest(self.X, self.metric, self.asked[0][None], self.asked[1])[0].astype(float)
def get_prepared_query_results(self):
    return self.one
query = BaseANN.query
"""
FREEZE = """
def freeze_index(self):
    self.frozen = True
def query(self, v, n):
    assert self.frozen
    return iter(nearest(self.X, self.metric, v[None], n)[0])
def batch_query(self, X, n):
    self.res = [list(self.query(v, n)) for v in X]
"""


@pytest.mark.parametrize("body", [BATCH, PREPARED_BATCH, PREPARED, FREEZE])
def test_every_way_of_answering(tmp_path, body):
    place = dense(tmp_path)
    assert place.run(f"annbenchmarks:{annbenchmarks(tmp_path, body=body)}", *FAST) == 0, details(place)
    assert recalls(place) == [1.0, 1.0]


def test_the_older_layout(tmp_path):
    place = dense(tmp_path)
    source = ANN.replace("from ..base.module import", "from ann_benchmarks.algorithms.base import")
    source = source.replace("from .search import", "from ann_benchmarks.algorithms.exact.search import")
    wrapper = annbenchmarks(tmp_path, ann_config(module="ann_benchmarks.algorithms.exact.old"), source=source)
    (wrapper / "module.py").rename(wrapper / "old.py")
    assert place.run(f"annbenchmarks:{wrapper}", *FAST) == 0, details(place)


def test_floats_are_handed_on_as_the_file_has_them_and_may_be_written_to(tmp_path):
    place = dense(
        tmp_path,
        metric="angular",
        base={"vectors": {"file": "base.fbin"}},
        queries={"public": {"vectors": {"file": "queries.fbin"}}},
    )
    rng = np.random.default_rng(3)
    for name, rows in (("base.fbin", 300), ("queries.fbin", 40)):
        write_xbin(place.manifest.parent / name, rng.normal(size=(rows, 8)).astype(np.float32))
    before = (place.manifest.parent / "base.fbin").read_bytes()
    body = """
    def batch_query(self, X, n):
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        self.X /= np.linalg.norm(self.X, axis=1, keepdims=True)
        self.res = nearest(self.X, self.metric, X, n)
    """
    assert place.run(f"annbenchmarks:{annbenchmarks(tmp_path, body=body)}", *FAST) == 0, details(place)
    assert recalls(place) == [1.0, 1.0]
    assert (place.manifest.parent / "base.fbin").read_bytes() == before


def test_a_definition_for_the_metric_replaces_that_for_any(tmp_path):
    place = dense(tmp_path)
    config = ann_config()
    config["float"]["euclidean"] = ann_config(run_groups={"E": {"args": [["special"]]}})["float"]["any"]
    config["float"]["angular"] = ann_config(run_groups={"A": {"args": [["wrong"]]}})["float"]["any"]
    assert place.run(f"annbenchmarks:{annbenchmarks(tmp_path, config)}", *FAST) == 0, details(place)
    assert place.bundle().identity["algorithm"] == "annbenchmarks-exact-euclidean"
    assert place.bundle().identity["build"]["arguments"] == ["@metric", "special"]


def test_filters_are_refused_before_anything_is_built(tmp_path):
    place = bench(tmp_path)
    wrapper = annbenchmarks(tmp_path)
    assert place.run(f"annbenchmarks:{wrapper}", *FAST) == 2
    assert not place.results.exists() or not list(place.results.glob("*.hdf5"))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("from ..faiss.module import Faiss", "module.py:1: the module ann_benchmarks.algorithms.faiss is not provided"),
        ("from ...datasets import get_dataset", "module.py:1: the module ann_benchmarks.datasets is not provided"),
        ("from ...distance import jaccard", "module.py:1: ann_benchmarks.distance.jaccard is not provided; ann_benchm"),
    ],
)
def test_imports_that_are_not_provided(tmp_path, line, said):
    place = dense(tmp_path)
    assert place.run(f"annbenchmarks:{annbenchmarks(tmp_path, source=line + ANN)}", *FAST) == 1
    assert said in details(place)[0]


def test_the_helpers_that_are_provided(tmp_path):
    place = dense(tmp_path)
    body = """
    def done(self):
        import os
        from ...constants import INDEX_DIR
        from ...distance import compute_distance, metrics as pd
        from ...util import get_bool_env_var
        assert os.path.isdir(INDEX_DIR) and not get_bool_env_var("NOT_SET_HERE", False)
        assert compute_distance("euclidean", np.array([0.0, 3]), np.array([4.0, 0])) == 5
        assert pd["angular"].distance(np.array([0.0, 3]), np.array([4.0, 0])) == 1
        print("helpers", "are there", round(self.get_memory_usage()) > 1000)
    """
    body += "\n    def get_additional(self):\n        self.done()\n        return {'kib': self.get_memory_usage()}\n"
    assert place.run(f"annbenchmarks:{annbenchmarks(tmp_path, body=body)}", *FAST) == 0, details(place)
    assert place.bundles()[0].stats["kib"] > 1000
