"""Manifests: what is read, and how a mistake is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ann_bench.datasets.manifest import Manifest, load_manifest
from ann_bench.errors import UsageError

GOOD = """\
name: my-set
tracks: [filtered, dense]
metric: euclidean
base:
  vectors: {url: "https://example.org/base.10M.u8bin?x=1", rows: 100, size: 1000}
  tags: {file: tags.spmat}
queries:
  public:
    vectors: {file: q.bin, format: u8bin}
    tags: {file: q.spmat}
    truth: {file: q.gt}
  hard:
    vectors: {file: all.hdf5, key: test}
  learn:
    vectors: {file: learn.u8bin}
runbook: {file: run.yaml}
licence: CC0-1.0
source: somewhere
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "my.yaml"
    path.write_text(text)
    return path


def test_all_of_it(tmp_path: Path) -> None:
    manifest = load_manifest(write(tmp_path, GOOD))
    assert manifest.tracks == ("filtered", "dense")
    assert manifest.query_sets == ("public", "hard")
    assert manifest.folder == tmp_path
    assert manifest.origin == tmp_path / "my.yaml"
    assert manifest.base.vectors.rows == 100


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("metric:", "metrik:", ":3: unknown key 'metrik'; did you mean 'metric'?"),
        ("metric: euclidean", "metric: l2", ":3: metric: input should be 'euclidean', 'ip' or 'angular' (found 'l2')"),
        ("metric: euclidean\n", "", ":1: the key 'metric' is missing"),
        ("rows: 100,", "rowz: 100,", ":5: unknown key 'base.vectors.rowz'; did you mean 'rows'?"),
        ("rows: 100,", "rows: 0,", ":5: base.vectors.rows: input should be greater than 0 (found 0)"),
        ("{file: q.gt}", "{fiel: q.gt}", ":11: unknown key 'queries.public.truth.fiel'; did you mean 'file'?"),
        ("    truth:", "    trut:", ":11: unknown key 'queries.public.trut'; did you mean 'truth'?"),
        ("{file: tags.spmat}", "{file: a, url: http://a/b}", ":6: base.tags: give exactly one of url, file and make"),
        ("{file: tags.spmat}", "{rows: 1}", ":6: base.tags: give exactly one of url, file and make (found none)"),
        ("https://", "ftp://", ":5: base.vectors.url: a url is http:// or https://"),
        ("name: my-set", "name: my/set", ":1: name: a name begins with a letter or digit"),
        ("name: my-set", "name: .set", ":1: name: a name begins with a letter or digit"),
        ("{file: tags.spmat}", "{file: a, sha256: abc}", ":6: base.tags.sha256: a sha256 has 64 hexadecimal digits"),
        ("format: u8bin", "format: u8bim", ":9: queries.public.vectors.format: unknown format 'u8bim': did you mean"),
        ("{file: learn.u8bin}", "{file: a}\n    tags: {file: b}", ":7: queries: learn has vectors only"),
        ("tracks: [filtered, dense]", "tracks: []", ":2: tracks:"),
        ("{file: tags.spmat}", "{make: {seed: 1}}", ":6: the key 'base.tags.make.generator' is missing"),
        (
            "{file: tags.spmat}",
            "{make: {generator: yfcc-lik, seed: 1}}",
            ":6: base.tags.make: unknown generator 'yfcc-lik': did you mean 'yfcc-like'?",
        ),
        (
            "{file: tags.spmat}",
            "{make: {generator: yfcc-like, seed: 1, row: 1000}}",
            ":6: base.tags.make: ",
        ),
        (
            "{file: tags.spmat}",
            "{make: {generator: yfcc-like, seed: 1, rows: 1000, querys: 3}}",
            "unknown key 'querys' for generator yfcc-like; did you mean 'queries'?",
        ),
        (
            "{file: tags.spmat}",
            "{make: {generator: yfcc-like, seed: 1, rows: 5}}",
            "rows for generator yfcc-like: input should be greater than or equal to 100",
        ),
        ("{file: tags.spmat}", "{make: {generator: yfcc-like, seed: 1, rows: 1000}, rows: 5}", "does not go with make"),
    ],
)
def test_mistakes(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(UsageError) as caught:
        load_manifest(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}:")
    assert "\n" not in str(caught.value)


def test_only_learn(tmp_path: Path) -> None:
    text = GOOD[: GOOD.index("  public:")] + GOOD[GOOD.index("  learn:") :]
    with pytest.raises(UsageError, match="no query set to search with"):
        load_manifest(write(tmp_path, text))


@given(st.text(max_size=12))
def test_names_are_safe_for_files(name: str) -> None:
    body = {
        "tracks": "filtered",
        "metric": "ip",
        "base": {"vectors": {"file": "a.npy"}},
        "queries": {"public": {"vectors": {"file": "a.npy"}}},
    }
    try:
        manifest = Manifest.model_validate({"name": name, **body})
    except ValueError:
        return
    assert manifest.name == name
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
    assert name[0] not in "._-"
