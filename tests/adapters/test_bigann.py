"""A wrapper of big-ann-benchmarks runs as it is: every kind of it, on a tiny data set, through the whole pipeline."""

from __future__ import annotations

import pytest

from ann_bench.results.figures import figures
from ann_bench.results.model import Status
from tests.adapters.support import bigann, bigann_config, dense, on, sparse, streaming
from tests.support import bench

FAST = ("--runs", "1", "--cpus", "1")


def recalls(place):
    return [figures(one).recall for one in place.bundles()]


def details(place):
    return [one.outcome.detail for one in place.bundles()]


def test_filtered(tmp_path):
    place = bench(tmp_path)
    wrapper = bigann(tmp_path, fit="assert ds.search_type() == 'knn_filtered' and ds.nq == 40 and ds.nb == 300")
    assert place.run(f"bigann:{wrapper}", *FAST) == 0, details(place)
    assert recalls(place) == [1.0, 1.0]
    found = {str(one.identity["query"]): one for one in place.bundles()}
    assert sorted(found) == ["{'nprobe': 1}", "{'nprobe': 2}"]
    one = found["{'nprobe': 2}"]
    assert one.identity["build"]["arguments"] == ["@metric", {"lists": 4}]
    assert one.stats["args"] == "{'nprobe': 2}"
    assert one.stats["name"] == "exact {'lists': 4}"
    assert (one.stats["qps"], figures(one).qps < 10**6) == (10**9, True)


def test_the_file_of_the_judge_is_handed_on_and_not_copied(tmp_path):
    place = dense(tmp_path)
    fit = f"""
        import scipy.sparse
        assert ds.search_type() == "knn" and ds.data_type() == "dense" and ds.distance() == "euclidean"
        assert (ds.d, ds.dtype, ds.default_count()) == (8, "uint8", 10)
        file = ds.get_dataset_fn()
        assert os.path.realpath(file) == {str(place.manifest.parent / "base.u8bin")!r}, os.path.realpath(file)
        assert file == os.path.join(ds.basedir, ds.ds_fn) and file.endswith("base.u8bin")
        assert (xbin_mmap(file, ds.dtype) == self.base).all() and not self.base.flags.writeable
        blocks = list(ds.get_dataset_iterator(bs=64, split=(2, 1)))
        assert [len(one) for one in blocks] == [64, 64, 22] and (blocks[0][0] == self.base[150]).all()
        assert (ds.get_data_in_range(10, 20) == self.base[10:20]).all()
        assert ds.short_name() == "dataset-300" and "300" in str(ds)
        assert not os.path.exists(os.path.join(ds.basedir, ds.qs_fn))
        assert os.path.exists("neurips23/ood/exact/exact.py")
        open("data/%s.index" % dataset, "w").close()
    """
    assert place.run(f"bigann:{bigann(tmp_path, track='ood', fit=fit)}", *FAST) == 0, details(place)
    assert recalls(place) == [1.0, 1.0]


def test_files_that_have_another_layout_are_written(tmp_path):
    place = dense(tmp_path, base={"vectors": {"file": "base.u8bin", "rows": 200}})
    fit = """
        file = ds.get_dataset_fn()
        assert ds.nb == 200 and not os.path.islink(file)
        assert (xbin_mmap(file, "uint8") == self.base).all()
    """
    assert place.run(f"bigann:{bigann(tmp_path, track='ood', fit=fit)}", *FAST) == 0, details(place)
    assert recalls(place) == [1.0, 1.0]


def test_tags_as_a_file(tmp_path):
    place = bench(tmp_path)
    fit = """
        from benchmark.dataset_io import read_sparse_matrix
        file = os.path.join(ds.basedir, ds.ds_metadata_fn)
        tags = read_sparse_matrix(file, do_mmap=True)
        assert (tags != ds.get_dataset_metadata()).nnz == 0 and tags.shape == (300, 6)
    """
    assert place.run(f"bigann:{bigann(tmp_path, fit=fit)}", *FAST) == 0, details(place)


def test_sparse(tmp_path):
    place = sparse(tmp_path)
    fit = """
        from benchmark.dataset_io import read_sparse_matrix
        assert ds.data_type() == "sparse" and ds.distance() == "ip"
        assert sum(block.shape[0] for block in ds.get_dataset_iterator(100)) == 300
        self.base.sort_indices()
        assert (read_sparse_matrix(ds.get_dataset_fn()) != self.base).nnz == 0
        self.base = self.base.toarray()
    """
    methods = """
        def query(self, X, k):
            self.I = nearest(self.base, self.metric, X.toarray(), k)
    """
    wrapper = bigann(tmp_path, track="sparse", fit=fit, methods=methods)
    assert place.run(f"bigann:{wrapper}", *FAST) == 0, details(place)
    assert recalls(place) == [1.0, 1.0]


STREAM = """
def setup(self, dtype, max_pts, ndims):
    assert (dtype, max_pts, ndims) == ("uint8", 200, 8)
    self.points = {}

def insert(self, X, ids):
    assert ids.dtype == np.uint32
    self.points.update(zip(ids.tolist(), X.tolist()))

def delete(self, ids):
    for one in ids:
        del self.points[int(one)]

def query(self, X, k):
    ids = np.array(list(self.points))
    self.I = ids[nearest(list(self.points.values()), self.metric, X, k)]
"""


@pytest.mark.parametrize("replace", ["", "def replace(self, X, tags):\n    self.insert(X, tags)\n"])
def test_a_stream(tmp_path, replace):
    place = streaming(tmp_path)
    wrapper = bigann(tmp_path, track="streaming", base="BaseStreamingANN", methods=STREAM + replace)
    assert place.run(f"bigann:{wrapper}", *FAST) == 0, details(place)
    assert recalls(place) == [1.0, 1.0]


def test_a_radius(tmp_path):
    place = dense(tmp_path, radius=20000.0)
    methods = """
        def range_query(self, X, radius):
            assert self.ds.search_type() == "range" and self.ds.default_count() == radius == 20000
            d = ((self.base[None].astype(int) - X[:, None].astype(int)) ** 2).sum(axis=2)
            rows, ids = np.nonzero(d < radius)
            self.res = np.searchsorted(rows, np.arange(len(X) + 1)), d[rows, ids], ids
    """
    wrapper = bigann(tmp_path, track="ood", methods=methods)
    assert place.run(f"bigann:{wrapper}", *FAST) == 0, details(place)
    assert recalls(place) == [1.0, 1.0]


def test_samples_to_learn_from_and_no_other_queries(tmp_path):
    queries = {
        "public": {"vectors": {"file": "queries.u8bin"}},
        "learn": {"vectors": {"file": "base.u8bin", "rows": 9}},
    }
    place = on("ood", tmp_path, queries=queries)
    fit = """
        assert len(ds.get_queries()) == len(ds.get_query_train()) == 9 and len(ds.get_query_train(maxn=4)) == 4
        assert len(xbin_mmap(os.path.join(ds.basedir, ds.qs_fn), ds.dtype)) == 9
    """
    assert place.run(f"bigann:{bigann(tmp_path, track='ood', fit=fit)}", *FAST) == 0, details(place)


@pytest.mark.parametrize(
    ("fit", "said"),
    [
        ("ds.get_queries()", "sample queries: this data set has none"),
        ("ds.get_groundtruth()", "no ground truth enters the sandbox"),
        ("ds.get_private_queries()", "queries come with the call that asks them"),
        ("ds.get_dataset_metadata()", "the tags of the rows: they are handed over with fit()"),
        ("DATASETS['yfcc-10M']()", "DATASETS['yfcc-10M']: here is only 'dataset'"),
        ("download_accelerated('http://host/index', 'data/index')", "the sandbox has no network, download of http://"),
    ],
)
def test_what_is_not_given_away(tmp_path, fit, said):
    place = dense(tmp_path)
    assert place.run(f"bigann:{bigann(tmp_path, track='ood', fit=fit)}", *FAST) == 1
    assert {one.outcome.status for one in place.bundles()} == {Status.CRASHED}
    assert said in details(place)[0]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "from benchmark.results import store",
            "exact.py:1: the module benchmark.results is not provided; this adapter",
        ),
        ("import neurips23.filter.faiss.faiss", "exact.py:1: the module neurips23.filter.faiss is not provided"),
        (
            "from benchmark.datasets import RandomDS",
            "exact.py:1: benchmark.datasets.RandomDS is not provided; benchmark.",
        ),
        ("import a_library_that_nobody_has", "No module named 'a_library_that_nobody_has' (exact.py:1)"),
    ],
)
def test_imports_that_are_not_provided(tmp_path, line, said):
    place = dense(tmp_path)
    wrapper = bigann(tmp_path, track="ood")
    (wrapper / "exact.py").write_text(line + (wrapper / "exact.py").read_text("utf-8"), encoding="utf-8")
    assert place.run(f"bigann:{wrapper}", *FAST) == 1
    assert said in details(place)[0]


def test_a_method_that_is_missing_is_said_before_building(tmp_path):
    place = bench(tmp_path)
    wrapper = bigann(tmp_path, track="ood", fit="assert False")
    config = wrapper / "config.yaml"
    config.write_text(config.read_text("utf-8"), encoding="utf-8")
    moved = wrapper.rename(tmp_path / "exact")
    text = (moved / "exact.py").read_text("utf-8").replace("def filtered_query", "def other")
    (moved / "exact.py").write_text(text.replace("neurips23.ood", "neurips23.filter"), encoding="utf-8")
    text = (moved / "exact.py").read_text("utf-8").replace("BaseOODANN", "BaseFilterANN")
    (moved / "exact.py").write_text(text, encoding="utf-8")
    (moved / "config.yaml").write_text(config_text("filter"), encoding="utf-8")
    assert place.run(f"bigann:{moved}", *FAST) == 1
    assert "Exact has no filtered_query(), which this track asks for" in details(place)[0]


def config_text(track):
    import yaml

    return yaml.safe_dump(bigann_config(track))


def test_a_file_called_like_the_library_that_it_wraps(tmp_path):
    place = dense(tmp_path)
    wrapper = bigann(tmp_path, track="ood", fit="import scipy.special; assert scipy.special.expit(0) == 0.5")
    (wrapper / "scipy.py").write_text("raise RuntimeError('not this one')", encoding="utf-8")
    assert place.run(f"bigann:{wrapper}", *FAST) == 0, details(place)
