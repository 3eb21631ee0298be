"""The data sets that are known by name: those of big-ann-benchmarks, ann-benchmarks and VIBE."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ann_bench.datasets.home import home
from ann_bench.datasets.manifest import Manifest, Source, load_manifest
from ann_bench.datasets.registry import find_manifest, list_manifests
from ann_bench.tracks import list_tracks

REFERENCE = home().parent / "shared" / "reference"

BIG_ANN = set(
    """
    bigann-1B bigann-100M bigann-10M deep-1B deep-100M deep-10M ssnpp-1B ssnpp-100M ssnpp-10M ssnpp-1M text2image-1B
    text2image-100M text2image-10M text2image-1M msturing-1B msturing-100M msturing-10M msturing-1M
    msturing-10M-clustered msturing-30M-clustered msspacev-1B msspacev-100M msspacev-10M msspacev-1M yfcc-10M
    yfcc-10M-unfiltered yfcc-10M-dummy yfcc-10M-dummy-unfiltered yfcc-images-100M yfcc-images-10M yfcc-images-1M
    sparse-small sparse-1M sparse-full wikipedia-35M wikipedia-10M wikipedia-1M wikipedia-100K msmarco-100M
    msmarco-10M msmarco-1M openai-2M openai-100K random-xs random-s random-xs-clustered random-range-xs
    random-range-s random-filter-s openai-embedding-1M
    """.split()  # noqa: SIM905 (fifty names read better so)
)

MANIFESTS = [load_manifest(path) for path in sorted((home() / "datasets").glob("*.yaml"))]


def sources(manifest: Manifest) -> list[Source]:
    sets = manifest.queries.values()
    found = [manifest.base.vectors, manifest.base.tags, manifest.runbook]
    found += [part for one in sets for part in (one.vectors, one.tags, one.truth)]
    return [source for source in found if source is not None]


def test_all_of_big_ann() -> None:
    assert len(BIG_ANN) == 50
    assert {known.name for known in list_manifests()} >= BIG_ANN


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="needs the shared folder beside the checkout")
def test_the_addresses_are_those_of_big_ann() -> None:
    """Every base and every public query file stands in its manifest as the registry of big-ann has it."""
    text = (REFERENCE / "big-ann-benchmarks.md").read_text(encoding="utf-8").split("## Appendix A")[1]
    blocks = re.split(r"^- \*\*", text, flags=re.MULTILINE)[1:]
    assert len(blocks) == 50
    for block in blocks:
        name = block.partition("**")[0]
        wanted = re.findall(r"^  - (?:base|queries|metadata|query metadata): (https://\S+)", block, re.MULTILINE)
        ours = [m for m in MANIFESTS if m.name == name]
        assert ours
        for manifest in ours:
            urls = {source.url for source in sources(manifest)}
            tags = manifest.base.tags is not None
            assert {url for url in wanted if tags or "metadata" not in url} <= urls or manifest.refused, name


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda m: Path(str(m.origin)).stem)
def test_a_manifest(manifest: Manifest) -> None:
    known = {track.name for track in list_tracks()}
    assert set(manifest.tracks) <= known
    assert manifest.description
    assert manifest.licence
    assert manifest.source
    assert str(manifest.origin).endswith((f"/{manifest.name}.yaml", f"/{manifest.name}.{manifest.tracks[0]}.yaml"))
    assert find_manifest(manifest.name, manifest.tracks[0]).origin == manifest.origin
    public, private = manifest.queries["public"], manifest.queries.get("private")
    assert private is None or private.vectors != public.vectors  # never the same file under two names
    assert manifest.radius is None or "dense" in manifest.tracks


def test_the_wrong_ones_are_refused_with_the_reason() -> None:
    refused = {known.name: known.refused for known in list_manifests() if known.refused}
    assert refused.keys() == {"yfcc-images-10M", "yfcc-images-1M", "openai-embedding-1M"}
    assert all(len(str(reason)) > 50 for reason in refused.values())


def test_prefixes_have_no_truth_of_the_whole() -> None:
    """The held-out queries' truth that big-ann publishes is that of a billion rows."""
    for name in ("text2image-10M", "deep-10M", "msturing-10M", "msspacev-10M"):
        manifest = next(m for m in MANIFESTS if m.name == name and "streaming" not in m.tracks)
        assert manifest.base.vectors.rows == 10_000_000
        assert manifest.queries["public"].truth is not None
        assert manifest.queries["private"].truth is None
        whole = find_manifest(name.replace("10M", "1B"))
        assert whole.queries["private"].truth is not None or whole.name == "msspacev-1B"


def test_learn_queries() -> None:
    learning = {m.name for m in MANIFESTS if "learn" in m.queries}
    assert {
        "text2image-10M",
        "yandex-200-cosine",
        "llama-128-ip",
        "laion-clip-512-normalized",
        "debian-20k",
    } <= learning
    assert not any("ood" not in m.tracks for m in MANIFESTS if "learn" in m.queries)
