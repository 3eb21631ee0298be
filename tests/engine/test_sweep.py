"""Clearing up on a real engine: what is ours goes, what is somebody's stays."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ann_bench.cli import main
from ann_bench.engine import sweep as sweeping
from ann_bench.engine.context import context
from ann_bench.engine.labels import Namespace, worker_labels
from ann_bench.engine.sweep import clean, sweep
from tests.engine.conftest import Corner, entry

pytestmark = pytest.mark.docker


@pytest.fixture
def alone(engine: Any, tmp_path: Path) -> Iterator[Corner]:
    """A namespace for one test, on a small image."""
    corner = Corner(engine, Namespace(f"ann-bench-test-{secrets.token_hex(4)}"), tmp_path / "logs")
    yield corner
    for one in engine.api.containers(all=True, filters={"label": corner.space.kind}):
        engine.api.remove_container(one["Id"], force=True)
    clean(engine, space=corner.space)


def image(corner: Corner, tag: str | None, *lines: str, base: str = "scratch") -> str:
    """A tiny image; its id."""
    with context("\n".join([f"FROM {base}", *lines, "COPY entry/ /"]) + "\n", [("x", os.urandom(8))]) as tar:
        chunks = list(corner.client.api.build(fileobj=tar, custom_context=True, rm=True, tag=tag, decode=True))
    return str(next(chunk["aux"]["ID"] for chunk in chunks if "aux" in chunk))


def container(corner: Corner, image_id: str, labels: dict[str, str]) -> str:
    """A container that is not started; its id."""
    return str(corner.client.api.create_container(image_id, command=["/x"], labels=labels)["Id"])


def labels_of_another(corner: Corner, program: str = "") -> dict[str, str]:
    """The labels that a judge which has ended gave to its container."""
    code = (
        "import json, sys; from ann_bench.engine.labels import *\n"
        f"print(json.dumps(worker_labels('an-entry', Namespace({corner.space.name!r}))))"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    return dict(json.loads(output))


def ids(corner: Corner) -> set[str]:
    return {one["Id"] for one in corner.client.api.containers(all=True)}


def test_sweep_tells_the_dead_from_the_living(alone: Corner) -> None:
    base = image(alone, None, f"LABEL {alone.space.kind}=entry")
    space = alone.space
    mine = worker_labels("an-entry", space)
    dead = {
        container(alone, base, labels_of_another(alone)),
        container(alone, base, {**mine, space.label("boot"): "another-boot"}),
        container(alone, base, {**mine, space.label("judge-start"): "1"}),
    }
    alive = {
        container(alone, base, mine),
        container(alone, base, {**mine, space.label("pids"): "pid:[1]", space.label("judge"): "999999999"}),
        container(alone, base, {}),  # somebody looks into our image
    }
    assert sweep(alone.client, space) == 3
    assert not dead & ids(alone)
    assert alive <= ids(alone)
    assert sweep(alone.client, space) == 0
    cleaned = clean(alone.client, space=space)
    assert alive <= ids(alone)
    assert sum(f"process {os.getpid()}" in reason for reason in cleaned.left.values()) == 1
    assert alone.client.api.inspect_image(base)["Id"] == base


def test_clean_removes_what_is_ours_and_nothing_else(alone: Corner, tmp_path: Path) -> None:
    """The real pipeline, and beside it images and containers of other people that look as alike as may be."""
    one = entry(tmp_path / "cleaned", requires=["idna<3.8"])
    assert alone.build(one) == {}
    common = next(
        tag
        for i in alone.client.api.images(all=True)
        for tag in i["RepoTags"] or ()
        if f"{alone.space.name}/common" in tag
    )
    foreign_tag = f"someone-{alone.space.name}/common:1"
    foreign = image(alone, foreign_tag)
    other_label = image(alone, None, "LABEL somebody.kind=entry")
    beside = container(alone, foreign, {"somebody.kind": "worker"})
    dead = container(alone, one_id(alone, one), labels_of_another(alone))
    before = {i["Id"] for i in alone.client.api.images(all=True)}
    try:
        would = clean(alone.client, dry_run=True, space=alone.space)
        assert {i["Id"] for i in alone.client.api.images(all=True)} >= before
        assert dead in ids(alone)
        assert common in would.images
        cleaned = clean(alone.client, space=alone.space)
        assert not cleaned.left
        assert common in cleaned.images
        assert len(cleaned.containers) == 1
        now = {i["Id"] for i in alone.client.api.images(all=True)}
        assert {foreign, other_label} <= now
        assert beside in ids(alone)
        assert dead not in ids(alone)
        assert alone.listed() == (set(), set())
        assert alone.images.find(one) is None
    finally:
        alone.client.api.remove_container(beside)
        for name in (foreign, other_label):
            alone.client.api.remove_image(name)


def one_id(corner: Corner, one: Any) -> str:
    found = corner.images.find(one)
    assert found is not None
    return found.id


def test_an_image_that_somebody_has_built_on_stays_whole(alone: Corner) -> None:
    ours = image(alone, f"{alone.space.name}/common:1", f"LABEL {alone.space.kind}=common")
    theirs = image(alone, f"someone-{alone.space.name}:1", base=ours.removeprefix("sha256:"))
    try:
        cleaned = clean(alone.client, space=alone.space)
        assert f"{alone.space.name}/common:1" in cleaned.left
        assert alone.client.api.inspect_image(f"{alone.space.name}/common:1")["Id"] == ours
        assert alone.client.api.inspect_image(theirs)["Id"] == theirs
    finally:
        alone.client.api.remove_image(f"someone-{alone.space.name}:1", noprune=True)
    assert not clean(alone.client, space=alone.space).left


def test_an_image_that_somebody_has_tagged_stays_under_that_tag(alone: Corner) -> None:
    ours = image(alone, f"{alone.space.name}/common:1", f"LABEL {alone.space.kind}=common")
    theirs = f"someone-{alone.space.name}"
    alone.client.api.tag(ours, theirs, "1")
    try:
        assert f"{alone.space.name}/common:1" in clean(alone.client, space=alone.space).images
        assert alone.client.api.inspect_image(f"{theirs}:1")["RepoTags"] == [f"{theirs}:1"]
    finally:
        alone.client.api.remove_image(f"{theirs}:1")


def test_the_command(alone: Corner, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sweeping.clean, "__kwdefaults__", {"dry_run": False, "space": alone.space})
    monkeypatch.setattr("ann_bench.sandbox.folders.abandoned", list)
    image(alone, f"{alone.space.name}/common:1", f"LABEL {alone.space.kind}=common")
    assert main(["clean", "--dry-run"]) == 0
    assert f"would remove image {alone.space.name}/common:1" in capsys.readouterr().out
    assert main(["clean", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert f"{alone.space.name}/common:1" in said["images"]
    assert said["engine"] is True
    assert alone.listed() == (set(), set())
