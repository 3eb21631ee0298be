"""The data sets in the box, and the addresses of those that are not."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from ann_bench.datasets.fingerprint import fingerprint
from ann_bench.datasets.formats import locate, read_truth
from ann_bench.datasets.home import home
from ann_bench.datasets.prepare import prepare
from ann_bench.datasets.registry import find_manifest, list_manifests
from ann_bench.datasets.scan import file_sha256

FOLDER = home() / "datasets" / "debian-20k"
SHARED = home().parent / "shared" / "data" / "debian-20k"


def test_debian() -> None:
    dataset = prepare(find_manifest("debian-20k", "filtered"))
    assert (dataset.rows, dataset.dim, dataset.dtype, dataset.queries.count) == (20_000, 384, "int8", 1_000)
    assert dataset.tags is not None
    assert dataset.queries.tags is not None
    assert dataset.queries.truth is not None
    ids, _ = read_truth(dataset.queries.truth)
    tags, asked = dataset.tags.open(), dataset.queries.tags.open()
    base, queries = dataset.base.open(), dataset.queries.vectors.open()
    for query in range(0, 1000, 97):
        wanted = set(asked[query].indices.tolist())
        rows = [r for r in range(dataset.rows) if wanted <= set(tags.indices[tags.indptr[r] : tags.indptr[r + 1]])]
        distances = ((base[rows].astype(np.int64) - queries[query]) ** 2).sum(axis=1)
        best = np.array(rows)[np.lexsort((rows, distances))[: ids.shape[1]]]
        np.testing.assert_array_equal(ids[query], best)


def test_every_hash_in_the_readme_holds() -> None:
    lines = re.findall(r"^([0-9a-f]{64}) +(\d+)  (\S+)$", (FOLDER / "README.md").read_text(), re.MULTILINE)
    assert {name for _, _, name in lines} == {p.name for p in FOLDER.iterdir()} - {"README.md"}
    for sha256, size, name in lines:
        assert (FOLDER / name).stat().st_size == int(size)
        assert file_sha256(FOLDER / name) == sha256
    assert len((FOLDER / "tags.txt").read_text().splitlines()) == locate(FOLDER / "base.tags.spmat").shape[1]


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the shared folder beside the checkout")
def test_the_files_are_those_that_were_given() -> None:
    for given in SHARED.iterdir():
        if given.suffix != ".md":
            assert (FOLDER / given.name).read_bytes() == given.read_bytes()


def test_other_arrays_in_the_box_are_read(tmp_path: Path) -> None:
    assert locate(FOLDER / "queries.sparse.spmat").shape == (999, 28_459)
    assert read_truth(FOLDER / "queries.sparse.ip.gt")[0].shape == (999, 10)
    assert len(fingerprint(locate(FOLDER / "queries.names.i8bin"))) == 64


def test_yfcc() -> None:
    manifest = find_manifest("yfcc-10M", "filtered")
    assert manifest.query_sets == ("public", "private")
    assert manifest.base.vectors.rows == 10_000_000
    urls = re.findall(r"https://\S+yfcc100M/(\S+)", (home() / "datasets" / "yfcc-10M.yaml").read_text())
    assert len(urls) == len(set(urls)) == 8
    assert sum("private.2727415019" in url for url in urls) == 3


def test_all_that_is_in_the_box_can_be_listed() -> None:
    names = [known.name for known in list_manifests()]
    assert {"debian-20k", "yfcc-10M", "yfcc-like-<N>"} <= set(names)
