"""The base image: which one is taken, and the script that makes one where there is no registry."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from ann_bench.engine import base
from ann_bench.engine.base import OWN, SCRIPT, USUAL, local_base, make_base
from ann_bench.engine.labels import OURS
from ann_bench.errors import EngineError

ROOT_ONLY = pytest.mark.skipif(os.getuid() != 0, reason="only root can make a base image")


class NoEngine:
    """An engine that knows an image by its id."""

    @property
    def api(self) -> NoEngine:
        return self

    def inspect_image(self, name: str) -> dict[str, str]:
        import docker.errors

        if name != "sha256:feed":
            raise docker.errors.ImageNotFound("none")
        return {"Id": name}


def taken(*tags: str) -> str | None:
    images = [{"Id": f"sha256:{number}", "RepoTags": [tag]} for number, tag in enumerate(tags)]
    found = local_base(NoEngine(), [*images, {"Id": "sha256:x", "RepoTags": None}])  # type: ignore[arg-type]
    return found.name if found else None


def test_which_base_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(base.VARIABLE, raising=False)
    assert taken("debian:12") is None
    assert taken("debian:12", OWN) == OWN
    assert taken(OWN, f"docker.io/library/{USUAL}") == USUAL
    monkeypatch.setenv(base.VARIABLE, "mine")
    assert taken("mine:1", USUAL, OWN) is None, "what somebody has chosen is never replaced by another"
    assert taken("mine:latest") == "mine"
    monkeypatch.setenv(base.VARIABLE, "host:5000/mine")
    assert taken("host:5000/mine:latest") == "host:5000/mine"
    monkeypatch.setenv(base.VARIABLE, "sha256:feed")
    assert taken(OWN) == "sha256:feed"


def script(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    folder.mkdir(exist_ok=True)
    given = {**os.environ, "TMPDIR": str(folder), **environment}
    return subprocess.run([str(SCRIPT), *words], capture_output=True, text=True, check=False, env=given, timeout=900)


def one_error(ended: subprocess.CompletedProcess[str]) -> str:
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert line.startswith("error: ")
    return line


@ROOT_ONLY
def test_the_script_needs_root(tmp_path: Path) -> None:
    copy = tmp_path / "script.sh"
    shutil.copy(SCRIPT, copy)
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    text = SCRIPT.read_text()
    ended = subprocess.run(["bash"], input=text, capture_output=True, text=True, check=False, cwd="/", **nobody)  # type: ignore[call-overload]
    assert "sudo" in one_error(ended)


@ROOT_ONLY
def test_the_script_needs_its_tools(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "id", "env"):
        (tools / name).symlink_to(str(shutil.which(name)))
    assert "apt-get install debootstrap" in one_error(script(tmp_path / "t", PATH=str(tools)))
    (tools / "debootstrap").symlink_to("/bin/true")
    assert "neither docker nor podman" in one_error(script(tmp_path / "t", PATH=str(tools)))


@ROOT_ONLY
def test_the_script_without_an_engine(tmp_path: Path) -> None:
    if not (shutil.which("debootstrap") and shutil.which("docker")):
        pytest.skip("debootstrap and docker are not installed here")
    ended = script(tmp_path / "t", DOCKER_HOST=f"unix://{tmp_path}/none.sock")
    assert "no container engine answers" in one_error(ended)
    assert not list((tmp_path / "t").iterdir())


@pytest.fixture
def tools(engine: Any) -> None:
    if os.getuid() != 0 or not (shutil.which("debootstrap") and shutil.which("docker")):
        pytest.skip("needs root, debootstrap and the docker command")


@pytest.mark.docker
@pytest.mark.usefixtures("tools")
def test_a_mirror_that_is_not_there(tmp_path: Path) -> None:
    ended = script(tmp_path / "t", "http://127.0.0.1:9/debian")
    assert "debootstrap: " in one_error(ended)
    assert not list((tmp_path / "t").iterdir())


@pytest.mark.docker
@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_it_leaves_nothing(tmp_path: Path, number: int, code: int) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    environment = {**os.environ, "TMPDIR": str(folder), "ANN_BENCH_BASE_TAG": "ann-bench-test/never:1"}
    process = subprocess.Popen([str(SCRIPT)], env=environment, stdout=subprocess.DEVNULL)
    for _ in range(200):
        if list(folder.glob("*/root/var/cache")):
            break
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait(timeout=30) == code
    assert not list(folder.iterdir())
    assert str(folder) not in Path("/proc/self/mounts").read_text()
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.is_file()]
    assert not [words for words in commands if str(folder).encode() in words]


def test_the_reason_of_the_script_is_the_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    failing = tmp_path / "failing.sh"
    failing.write_text("#!/bin/sh\necho unpacking\necho 'error: it cannot be' >&2\nexit 1\n")
    failing.chmod(0o755)
    monkeypatch.setattr(base, "SCRIPT", failing)
    with pytest.raises(EngineError, match="no base image was made: it cannot be"):
        make_base()


CHECK = """
python --version
python -m pip --version
test -f "$(python -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h"
test -s /etc/ssl/certs/ca-certificates.crt
apt-get --version | head -1
! command -v gcc
mkdir /tmp/p
printf 'from setuptools import setup\\nsetup(name="p", version="1")\\n' > /tmp/p/setup.py
python -m pip install --no-index --no-build-isolation /tmp/p
python -c 'import ssl, ctypes, sqlite3'
"""


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.usefixtures("tools")
def test_the_base_that_the_script_makes(engine: Any, tmp_path: Path) -> None:
    """What entries expect of python:3.11-slim-bookworm: python, pip that installs, headers, certificates, apt.

    ANN_BENCH_TEST_BASE names an image that the script has made already: making one takes minutes.
    """
    if made := os.environ.get("ANN_BENCH_TEST_BASE"):
        examine(engine, made, OURS.kind)
        return
    tag = "ann-bench-test/base:1"
    try:
        ended = script(tmp_path / "t", ANN_BENCH_BASE_TAG=tag, ANN_BENCH_BASE_LABEL="ann-bench-test.kind")
        assert ended.returncode == 0, ended.stderr
        assert not list((tmp_path / "t").iterdir())
        examine(engine, tag, "ann-bench-test.kind")
    finally:
        engine.api.remove_image(tag)


def examine(engine: Any, tag: str, label: str) -> None:
    output = engine.containers.run(tag, ["sh", "-ec", CHECK], network_mode="none", remove=True).decode()
    assert "Python 3.11" in output
    assert engine.api.inspect_image(tag)["Config"]["Labels"] == {label: "base"}
    assert engine.api.inspect_image(tag)["Size"] < 200e6
