"""What an engine is told to make a container of."""

from __future__ import annotations

from pathlib import Path

import pytest

from ann_bench.sandbox.container import Engine, Shared, settings
from ann_bench.workload import Limits


@pytest.mark.parametrize(("engine", "owner"), [(Engine(), "uid=65532,gid=65532"), (Engine(podman=True), "U")])
def test_the_scratch_folders_are_the_entrys_own_on_every_engine(tmp_path: Path, engine: Engine, owner: str) -> None:
    """Podman knows no uid among the options, and Docker no U."""
    tmpfs = settings(Shared(tmp_path), [], Limits(cpus=1, memory_bytes=2**28), [0], engine)["tmpfs"]
    assert {place for place, options in tmpfs.items() if options != "ro"} == {"/scratch", "/tmp"}
    for options in (tmpfs["/scratch"], tmpfs["/tmp"]):
        assert set(owner.split(",")) == {word for word in options.split(",") if word[:3] in ("U", "uid", "gid")}


def test_podman_has_another_name_for_a_path_with_a_comma(tmp_path: Path) -> None:
    (tmp_path / "a, b").write_text("data")
    inputs, limits = [tmp_path / "a, b", tmp_path / "c"], Limits(cpus=1, memory_bytes=2**28)
    for engine in (Engine(), Engine(podman=True)):
        mounts = settings(Shared(tmp_path), inputs, limits, [0], engine)["mounts"]
        sources = {mount["Target"]: mount["Source"] for mount in mounts}
        assert Path(sources["/data/0"]).read_text() == "data"
        assert ("," in sources["/data/0"]) is not engine.podman
        assert sources["/data/1"] == str(tmp_path / "c")


def test_labels_of_selinux_are_off_where_the_engine_has_them(tmp_path: Path) -> None:
    limits = Limits(cpus=1, memory_bytes=2**28)
    for selinux in (False, True):
        options = settings(Shared(tmp_path), [], limits, [0], Engine(selinux=selinux))["security_opt"]
        assert ("label=disable" in options) is selinux
