"""Wrappers of other benchmarks in a container: their files in the image, the data set where the judge mounts it."""

from __future__ import annotations

import pytest

from ann_bench.results.figures import figures
from tests.adapters.support import annbenchmarks, bigann, dense
from tests.support import bench

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("engine")]

IN_DOCKER = ("--sandbox", "docker", "--runs", "1", "--cpus", "1", "--memory", "256m")


def test_bigann(tmp_path):
    place = bench(tmp_path)
    fit = """
        file = ds.get_dataset_fn()
        assert os.path.islink(file) and os.path.realpath(file).startswith("/data/")
        assert (xbin_mmap(file, ds.dtype) == self.base).all()
        assert os.path.islink(os.path.join(ds.basedir, ds.ds_metadata_fn))
        open("data/%s.index" % dataset, "wb").write(bytes(1000))
    """
    wrapper = bigann(tmp_path, fit=fit)
    (wrapper / "Dockerfile").write_text("FROM neurips23\nRUN false\n", encoding="utf-8")
    code = place.run(f"bigann:{wrapper}", *IN_DOCKER)
    assert code == 0, [one.outcome.detail for one in place.bundles()]
    assert [figures(one).recall for one in place.bundles()] == [1.0, 1.0]
    assert place.bundles()[0].identity["sandbox"] == "docker"


def test_annbenchmarks(tmp_path):
    place = dense(tmp_path)
    code = place.run(f"annbenchmarks:{annbenchmarks(tmp_path)}", *IN_DOCKER)
    assert code == 0, [one.outcome.detail for one in place.bundles()]
    assert [figures(one).recall for one in place.bundles()] == [1.0, 1.0]
