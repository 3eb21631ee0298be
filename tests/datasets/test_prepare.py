"""From manifests to data sets, and everything that can be wrong with the files."""

from __future__ import annotations

import gzip
import json
import logging
import shutil
from collections import namedtuple
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import yaml
from scipy.sparse import csr_matrix

from ann_bench.arrays import CsrRef
from ann_bench.datasets import fetch
from ann_bench.datasets.dataset import Dataset
from ann_bench.datasets.download import Patience
from ann_bench.datasets.formats import read_truth, spmat_writer, write_ranges, write_spmat, write_truth, write_xbin
from ann_bench.datasets.manifest import load_manifest
from ann_bench.datasets.prepare import prepare
from ann_bench.datasets.trust import lock_file
from ann_bench.errors import DataError, DownloadError, StorageError, UsageError
from tests.datasets.host import Host, serving

QUICK = Patience(connect=1.0, stall=0.2, tries=2, backoff=0.001)


class Box:
    """A small data set in a folder; tests spoil it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        rng = np.random.default_rng(3)
        self.base = rng.standard_normal((50, 8)).astype(np.float32)
        self.queries = rng.standard_normal((5, 8)).astype(np.float32)
        self.tags = csr_matrix((rng.random((50, 6)) < 0.4).astype(np.float32))
        self.asked = csr_matrix(np.eye(5, 6, dtype=np.float32))
        self.manifest: dict[str, Any] = {
            "name": "box",
            "tracks": ["filtered"],
            "metric": "euclidean",
            "base": {"vectors": {"file": "base.fbin"}, "tags": {"file": "base.spmat"}},
            "queries": {"public": {"vectors": {"file": "q.fbin"}, "tags": {"file": "q.spmat"}}},
        }

    def write(self) -> None:
        write_xbin(self.folder / "base.fbin", self.base)
        write_xbin(self.folder / "q.fbin", self.queries)
        write_spmat(self.folder / "base.spmat", self.tags)
        write_spmat(self.folder / "q.spmat", self.asked)

    def prepare(self, queries: str = "public") -> Dataset:
        path = self.folder / "box.yaml"
        path.write_text(yaml.safe_dump(self.manifest))
        return prepare(load_manifest(path), queries, patience=QUICK)


@pytest.fixture
def box(tmp_path: Path) -> Box:
    box = Box(tmp_path)
    box.write()
    return box


def test_a_good_one(box: Box, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text("x")
    box.manifest["runbook"] = {"file": "run.yaml"}
    box.manifest["queries"]["learn"] = {"vectors": {"file": "base.fbin", "rows": 20}}
    write_truth(tmp_path / "q.gt", np.zeros((5, 3), np.int32), np.zeros((5, 3)))
    box.manifest["queries"]["public"]["truth"] = {"file": "q.gt"}
    dataset = box.prepare()
    assert (dataset.rows, dataset.dim, dataset.dtype, dataset.sparse) == (50, 8, "float32", False)
    np.testing.assert_array_equal(dataset.base.open(), box.base)
    assert dataset.tags is not None
    np.testing.assert_array_equal(dataset.tags.open().toarray(), box.tags.toarray())
    assert dataset.queries.count == 5
    assert dataset.queries.truth == tmp_path / "q.gt"
    assert dataset.runbook == tmp_path / "run.yaml"
    assert dataset.learn is not None
    assert dataset.learn.shape == (20, 8)
    assert box.prepare() == dataset


def test_without_tags(box: Box) -> None:
    del box.manifest["queries"]["public"]["tags"]
    assert box.prepare().queries.tags is None
    del box.manifest["base"]["tags"]
    assert box.prepare().tags is None


def test_a_prefix_of_everything(box: Box) -> None:
    box.manifest["base"]["vectors"]["rows"] = 10
    with pytest.raises(DataError, match=r"50 rows of tags for 10 vectors of .*: give the tags `rows: 10`"):
        box.prepare()
    box.manifest["base"]["tags"]["rows"] = 10
    dataset = box.prepare()
    assert dataset.tags is not None
    np.testing.assert_array_equal(dataset.tags.open().toarray(), box.tags.toarray()[:10])


def test_fewer_columns_in_the_queries_are_filled_up(box: Box) -> None:
    box.asked = csr_matrix(np.eye(5, 5, dtype=np.float32))
    box.write()
    tags = box.prepare().queries.tags
    assert tags is not None
    assert tags.open().shape == (5, 6)


def test_an_unknown_query_set(box: Box) -> None:
    with pytest.raises(UsageError, match="unknown query set of box 'pubic': did you mean 'public'"):
        box.prepare("pubic")
    box.manifest["queries"]["learn"] = {"vectors": {"file": "q.fbin"}}
    with pytest.raises(UsageError, match="unknown query set of box 'learn'"):
        box.prepare("learn")


def spoil_nan(box: Box) -> None:
    box.base[17, 2] = np.nan


def spoil_query_inf(box: Box) -> None:
    box.queries[3, 0] = np.inf


def spoil_dim(box: Box) -> None:
    box.queries = box.queries[:, :7].copy()


def spoil_empty_queries(box: Box) -> None:
    box.queries = box.queries[:0]


def spoil_empty_base(box: Box) -> None:
    box.base = box.base[:0]


def spoil_tag_rows(box: Box) -> None:
    box.tags = box.tags[:49]


def spoil_vocabulary(box: Box) -> None:
    box.asked = csr_matrix(np.eye(5, 7, dtype=np.float32))


def spoil_column(box: Box) -> None:
    box.asked.indices[2] = 6


def spoil_negative(box: Box) -> None:
    box.tags.indices[0] = -1


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (spoil_nan, r"base\.fbin: row 17 holds NaN or infinity: repair"),
        (spoil_query_inf, r"q\.fbin: row 3 holds NaN or infinity"),
        (spoil_dim, r"q\.fbin: 7 dimensions, .*base\.fbin has 8"),
        (spoil_empty_queries, r"q\.fbin: the query set 'public' is empty"),
        (spoil_empty_base, r"base\.fbin: the base is empty"),
        (spoil_tag_rows, r"base\.spmat: 49 rows of tags for 50 vectors"),
        (spoil_vocabulary, r"q\.spmat: tags beyond the vocabulary: 7 columns, .*base\.spmat has 6"),
        (spoil_column, r"q\.spmat: row 2 names column 6, valid are 0 to 5"),
        (spoil_negative, r"base\.spmat: row 0 names column -1"),
    ],
)
def test_files_that_cannot_be_searched(box: Box, spoil: Any, message: str) -> None:
    spoil(box)
    box.write()
    for _ in range(2):  # what is remembered is no less wrong
        with pytest.raises(DataError, match=message):
            box.prepare()


def test_other_element_types(box: Box, tmp_path: Path) -> None:
    write_xbin(tmp_path / "q.u8bin", np.ones((5, 8), np.uint8))
    box.manifest["queries"]["public"]["vectors"]["file"] = "q.u8bin"
    with pytest.raises(DataError, match=r"uint8, .* is float32: give both in one element type"):
        box.prepare()
    np.save(tmp_path / "q.npy", np.ones((5, 8), np.complex64))
    box.manifest["queries"]["public"]["vectors"]["file"] = "q.npy"
    with pytest.raises(DataError, match="vectors of complex64; valid: float32"):
        box.prepare()
    np.save(tmp_path / "q.npy", np.ones((5, 8, 2), np.float32))
    with pytest.raises(DataError, match=r"two axes .* \(5, 8, 2\)"):
        box.prepare()
    box.manifest["queries"]["public"]["vectors"]["file"] = "base.spmat"
    with pytest.raises(DataError, match="one is sparse, the other dense"):
        box.prepare()


def test_tags_of_the_wrong_kind(box: Box) -> None:
    del box.manifest["base"]["tags"]
    with pytest.raises(DataError, match="'public' asks for tags, but the base has none"):
        box.prepare()
    box.manifest["base"]["tags"] = {"file": "base.fbin"}
    with pytest.raises(DataError, match=r"tags are kept as .spmat"):
        box.prepare()


def test_files_that_are_not_what_the_manifest_says(box: Box, tmp_path: Path) -> None:
    vectors = box.manifest["base"]["vectors"]
    vectors["rows"] = 51
    with pytest.raises(DataError, match="has 50 rows, 51 are asked for: lower `rows:`"):
        box.prepare()
    del vectors["rows"]
    vectors["size"] = 7
    with pytest.raises(DataError, match=r"has 1,608 bytes, the manifest says 7"):
        box.prepare()
    del vectors["size"]
    vectors["sha256"] = "0" * 64
    with pytest.raises(DataError, match=r"base\.fbin: sha256 is [0-9a-f]{64}, the manifest says 0{64}"):
        box.prepare()
    del vectors["sha256"]
    vectors["file"] = "bose.fbin"
    with pytest.raises(DataError, match=r"bose\.fbin: there is no such file \(named in .*box\.yaml\)"):
        box.prepare()
    write_truth(tmp_path / "q.gt", np.zeros((4, 3), np.int32), np.zeros((4, 3)))
    vectors["file"] = "base.fbin"
    box.manifest["queries"]["public"]["truth"] = {"file": "q.gt"}
    with pytest.raises(DataError, match=r"q\.gt: truth of 4 queries for 5"):
        box.prepare()


def test_tags_out_of_order_are_put_in_order_once(box: Box, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with spmat_writer(tmp_path / "q.spmat", (5, 6)) as writer:
        writer.append(np.array([2, 2, 0, 1, 1]), np.array([3, 1, 2, 2, 4, 0]))
    with caplog.at_level(logging.WARNING):
        tags = box.prepare().queries.tags
        assert box.prepare().queries.tags == tags
    assert tags is not None
    np.testing.assert_array_equal(tags.open().indices, [1, 3, 2, 4, 0])
    assert len(caplog.records) == 1
    assert "columns out of order or repeated" in caplog.text


def test_sparse_vectors_and_packed_files(box: Box, tmp_path: Path) -> None:
    packed = gzip.compress((tmp_path / "base.spmat").read_bytes())
    (tmp_path / "base.csr.gz").write_bytes(packed)
    box.manifest["base"] = {"vectors": {"file": "base.csr.gz"}}
    box.manifest["queries"]["public"] = {"vectors": {"file": "q.spmat"}}
    dataset = box.prepare()
    assert dataset.sparse
    assert isinstance(dataset.base, CsrRef)
    np.testing.assert_array_equal(dataset.base.open().toarray(), box.tags.toarray())


def test_one_hdf5_file(box: Box, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.hdf5", "w") as file:
        file.create_dataset("train", data=box.base, chunks=(10, 8), compression="gzip")
        file["test"] = box.queries
        file["neighbors"] = np.zeros((5, 3), np.int32)
        file["distances"] = np.zeros((5, 3), np.float32)
    box.manifest["base"] = {"vectors": {"file": "a.hdf5", "key": "train"}}
    box.manifest["queries"]["public"] = {
        "vectors": {"file": "a.hdf5", "key": "test"},
        "truth": {"file": "a.hdf5", "key": "neighbors"},
    }
    dataset = box.prepare()
    np.testing.assert_array_equal(dataset.base.open(), box.base)
    np.testing.assert_array_equal(dataset.queries.vectors.open(), box.queries)
    assert dataset.queries.truth is not None
    assert read_truth(dataset.queries.truth)[0].shape == (5, 3)


def test_by_url(box: Box, tmp_path: Path) -> None:
    content = (tmp_path / "base.fbin").read_bytes()
    with serving(Host(content, name="base.fbin")) as host:
        box.manifest["base"]["vectors"] = {"url": host.url}
        dataset = box.prepare()
        assert box.prepare() == dataset
        assert host.asked == ["bytes=0-7", "all"]  # how large is it? then all of it
        np.testing.assert_array_equal(dataset.base.open(), box.base)
        book = json.loads(lock_file("box").read_text())
        assert book[host.url]["size"] == len(content)
        # The file is trusted as it was at first, even where the cache is emptied.
        Path(dataset.base.path).unlink()
        host.content = content[:-4] + b"\0\0\0\0"
        with pytest.raises(DownloadError, match=r"sha256 is .* if you trust the new file, remove its entry from"):
            box.prepare()
        host.content = content
        assert box.prepare() == dataset
        # A damaged cache is found out as well.
        Path(dataset.base.path).write_bytes(host.content[:-4] + b"\0\0\0\0")
        with pytest.raises(DataError, match=r"sha256 is .*box\.json says .* remove it to fetch it again"):
            box.prepare()


def test_a_prefix_by_url(box: Box, tmp_path: Path) -> None:
    with serving(Host((tmp_path / "base.fbin").read_bytes(), name="base.fbin")) as host:
        box.manifest["base"]["vectors"] = {"url": host.url, "rows": 10}
        box.manifest["base"]["tags"]["rows"] = 10
        dataset = box.prepare()
        assert host.served == 8 + 16 + 320
        box.manifest["base"]["vectors"]["rows"] = 12
        box.manifest["base"]["tags"]["rows"] = 12
        assert box.prepare().rows == 12
        assert dataset.base.open().shape == (10, 8)  # another file
    assert json.loads(lock_file("box").read_text())[f"{host.url} rows 10"]["rows_at_source"] == 50


def test_what_a_host_cut_short_is_not_kept(box: Box, tmp_path: Path, own_cache: Path) -> None:
    content = (tmp_path / "base.fbin").read_bytes()
    with serving(Host(content, name="base.fbin", lie=-4)) as host:
        box.manifest["base"]["vectors"] = {"url": host.url}
        with pytest.raises(DownloadError, match=r"what the server sent is damaged .*1,604 bytes instead of 1,608"):
            box.prepare()
    assert not list((own_cache / "box").glob("*.fbin"))
    packed = gzip.compress(content)
    with serving(Host(packed, name="base.fbin.gz", lie=-4)) as host:
        box.manifest["base"]["vectors"] = {"url": host.url}
        with pytest.raises(DownloadError, match=r"what the server sent is damaged .*damaged or cut short"):
            box.prepare()
        host.lie = 0
        np.testing.assert_array_equal(box.prepare().base.open(), box.base)


def test_too_small_a_disk_for_the_data_set(box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told before anything arrives, with both sizes: two files that fit the disk one by one, but not together."""
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(2000, 0, 2000))
    content = (tmp_path / "base.fbin").read_bytes()
    with serving(Host(content, name="base.fbin")) as host, serving(Host(content, name="queries.fbin")) as other:
        box.manifest["base"]["vectors"] = {"url": host.url}
        box.manifest["queries"]["public"]["vectors"] = {"url": other.url}
        with pytest.raises(StorageError, match="the data set box needs 3,216 bytes and the disk has 2,000 left"):
            box.prepare()
        assert host.asked == other.asked == ["bytes=0-7"]


def test_angles_of_zeros(box: Box, tmp_path: Path) -> None:
    box.manifest["metric"] = "angular"
    assert box.prepare().metric == "angular"
    box.base[7] = 0
    write_xbin(tmp_path / "base.fbin", box.base)
    with pytest.raises(DataError, match=r"base\.fbin: row 7 is zero and has no angle to any other: .* say metric ip"):
        box.prepare()


def test_angles_of_empty_rows(box: Box, tmp_path: Path) -> None:
    rows = csr_matrix(np.array([[1.0, 0], [0, 2], [0, 0], [0, 0]], dtype=np.float32))
    box.manifest |= {"metric": "angular", "base": {"vectors": {"file": "a.csr"}}}
    box.manifest["queries"] = {"public": {"vectors": {"file": "a.csr"}}}
    for matrix, row in ((rows, 2), (csr_matrix((np.zeros(1, np.float32), [0], [0, 1]), shape=(1, 2)), 0)):
        write_spmat(tmp_path / "a.csr", matrix)
        with pytest.raises(DataError, match=f"row {row} is zero"):
            box.prepare()
    write_spmat(tmp_path / "a.csr", rows[:2])
    assert box.prepare().sparse


def test_tags_are_no_vectors(box: Box) -> None:
    box.manifest["metric"] = "ip"
    box.manifest["base"]["vectors"] = box.manifest["base"]["tags"]
    with pytest.raises(DataError, match=r"is both the vectors and the tags of box: no metric is for tags"):
        box.prepare()


def test_refused(box: Box) -> None:
    box.manifest["refused"] = "its rows were shuffled"
    with pytest.raises(DataError, match="box: not to be used: its rows were shuffled"):
        box.prepare()


def test_one_hdf5_file_from_a_host(box: Box, tmp_path: Path) -> None:
    """As VIBE has them: fetched once for all its arrays, with queries to learn from."""
    with h5py.File(tmp_path / "a.hdf5", "w") as file:
        for name, array in (("train", box.base), ("test", box.queries), ("learn", box.queries[:3] + 1)):
            file[name] = array
        file["neighbors"], file["distances"] = np.zeros((5, 3), np.int32), np.zeros((5, 3), np.float32)
    with serving(Host((tmp_path / "a.hdf5").read_bytes(), name="a.hdf5")) as host:
        box.manifest["base"] = {"vectors": {"url": host.url, "key": "train"}}
        box.manifest["queries"] = {
            "public": {"vectors": {"url": host.url, "key": "test"}, "truth": {"url": host.url}},
            "learn": {"vectors": {"url": host.url, "key": "learn"}},
        }
        dataset = box.prepare()
        assert host.asked.count("all") == 1
    assert dataset.learn is not None
    np.testing.assert_array_equal(dataset.learn.open(), box.queries[:3] + 1)
    assert dataset.queries.truth is not None


def test_truth_of_ranges(box: Box, tmp_path: Path) -> None:
    source = {"file": "public.rangeres"}
    box.manifest["queries"]["public"]["truth"] = source
    path = tmp_path / "public.rangeres"
    write_ranges(path, np.array([2, 0, 1, 0, 0]), np.array([4, 1, 3]), np.array([0.5, 1.5, 2.5]))
    assert box.prepare().queries.truth == path
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(DataError, match="48 bytes instead of 52"):
        box.prepare()
    write_ranges(path, np.array([2, 1]), np.array([4, 1, 3]), np.array([0.5, 1.5, 2.5]))
    with pytest.raises(DataError, match="truth of 2 queries for 5"):
        box.prepare()


def test_too_small_a_disk_for_a_maker(monkeypatch: pytest.MonkeyPatch) -> None:
    from ann_bench.datasets.registry import find_manifest

    def full(folder: Path, needed: int, what: str) -> None:
        raise StorageError(f"{what} needs {needed}")

    monkeypatch.setattr(fetch, "check_space", full)
    with pytest.raises(StorageError, match=r"to make base\.vectors of yfcc-like-10M needs 1920000008"):
        prepare(find_manifest("yfcc-like-10M"))
