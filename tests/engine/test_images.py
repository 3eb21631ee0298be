"""Images on a real engine: built where they are missing, named by what is in them, whole or not there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from packaging.version import Version

from ann_bench.cli import main
from ann_bench.engine.images import Images
from ann_bench.engine.probe import ProbeFailed, probe
from ann_bench.errors import EngineError
from tests.engine.conftest import Corner, entry
from tests.environments.index import served, stand_ins, wheel

pytestmark = pytest.mark.docker

OWN = "ARG ANN_BENCH_COMMON\nFROM ${ANN_BENCH_COMMON}\n"


def test_an_entry_without_needs(corner: Corner, tmp_path: Path) -> None:
    """Its files are there for the user that runs it, whatever the umask of the host was, and nothing else is."""
    one = entry(tmp_path / "plain")
    (one.folder / "part").mkdir(mode=0o700)
    (one.folder / "part" / "data.bin").write_bytes(b"12")
    (one.folder / "part" / "data.bin").chmod(0o600)
    (one.folder / "tool").write_text("#!/bin/sh\necho works\n")
    (one.folder / "tool").chmod(0o700)
    for name in ("README.md", ".hidden"):
        (one.folder / name).write_text("not for the image")
    assert corner.images.find(one) is None
    assert corner.build(one) == {}
    image = corner.images.find(one)
    assert image is not None
    assert {"numpy", "scipy"} <= image.packages.keys()
    assert image.version("NumPy") == image.packages["numpy"]
    assert image.base
    files = corner.run(image.tag, "find", "/entry", "-type", "f").split()
    assert sorted(files) == ["/entry/part/data.bin", "/entry/tool", "/entry/wrapper.py"]
    assert corner.run(image.tag, "cat", "/entry/part/data.bin") == "12"
    assert corner.run(image.tag, "/entry/tool") == "works\n"
    assert corner.run(image.tag, "python", "-c", "import numpy, scipy; print('fine')") == "fine\n"
    assert (corner.logs / "filtered-plain.log").is_file()


def test_the_tag_changes_if_and_only_if_the_content_does(corner: Corner, tmp_path: Path) -> None:
    one = entry(tmp_path / "changing")
    corner.build(one)
    first = corner.images.find(one)
    assert first is not None
    (one.folder / "README.md").write_text("more words")
    (one.folder / "wrapper.py").touch()
    assert corner.images.find(one) == first
    images, _ = corner.listed()
    outcomes = corner.images.install([one], jobs=1, logs=tmp_path / "none")
    assert [(o.built, o.image) for o in outcomes] == [(False, first)]
    assert corner.listed()[0] == images
    assert not (tmp_path / "none").exists(), "nothing was built, so there is no log"

    (one.folder / "wrapper.py").write_text("class Index: pass\n")
    assert corner.images.find(one) is None
    began = time.monotonic()
    assert corner.build(one) == {}
    assert time.monotonic() - began < 20
    second = corner.images.find(one)
    assert second is not None
    assert second.tag != first.tag
    assert corner.run(second.tag, "cat", "/entry/wrapper.py") == "class Index: pass\n"


def test_entries_of_equal_needs_share_what_is_installed(corner: Corner, tmp_path: Path) -> None:
    """`idna` is small and pure Python; two entries at a time, one installation."""
    several = [entry(tmp_path / name, requires=["idna<3.8"]) for name in ("twin-a", "twin-b", "twin-c")]
    assert corner.build(*several, jobs=3) == {}
    images = [corner.images.find(one) for one in several]
    versions = {image.version("idna") for image in images if image}
    assert len(versions) == 1
    layers = [corner.client.api.inspect_image(image.id)["RootFS"]["Layers"][:-1] for image in images if image]
    assert layers[0] == layers[1] == layers[2]
    text = "".join((corner.logs / f"filtered-twin-{x}.log").read_text() for x in "abc")
    assert text.count("Successfully installed idna") == 1


def test_a_requirement_that_is_nowhere(corner: Corner, tmp_path: Path) -> None:
    """It fails alone, says what failed and where the log is, and leaves nothing on the engine."""
    corner.build(entry(tmp_path / "warm-up"))
    before = corner.listed()
    # No hash can look like its name.
    bad = entry(tmp_path / "bad-luck", requires=["ann-bench-no-such-package-anywhere==7"])
    good = entry(tmp_path / "warm-up-2")
    failures = corner.build(bad, good)
    assert failures.keys() == {"bad-luck"}
    line = failures["bad-luck"]
    log = corner.logs / "filtered-bad-luck.log"
    assert len(line.splitlines()) == 1
    assert "ann-bench-no-such-package-anywhere" in line
    assert "pip wheel" in line
    assert line.endswith(f"log: {log}")
    assert "No matching distribution" in log.read_text()
    assert corner.images.find(bad) is None
    assert corner.images.find(good) is not None
    images, containers = corner.listed()
    mine = {one["Id"] for one in corner.client.api.images(all=True) if "warm-up-2" in str(one)}
    assert containers == before[1]
    made = {i: corner.client.api.inspect_image(i)["Config"] for i in images - before[0]}
    extra = {i for i, config in made.items() if bad.name in json.dumps(config)}
    assert mine
    assert not extra


def test_a_step_that_fails_keeps_nothing_of_the_steps_before(corner: Corner, tmp_path: Path) -> None:
    corner.build(entry(tmp_path / "warm-up"))
    before = corner.listed()
    text = f"{OWN}RUN touch /one\nRUN touch /two\nRUN echo 'error: it cannot be' >&2; echo and more; exit 3\n"
    bad = entry(tmp_path / "half-way", dockerfile=text)
    failures = corner.build(bad)
    assert failures["half-way"].startswith("`RUN echo 'error: it cannot be'")
    assert ": error: it cannot be; log: " in failures["half-way"]
    assert corner.listed() == before


def test_a_dockerfile_of_its_own(corner: Corner, tmp_path: Path) -> None:
    """Built from the entry's files; a stage from elsewhere is allowed, and known as ours."""
    common = _foreign_image(corner, "FROM scratch\nCOPY entry/ /\n")
    text = (
        f"ARG ANN_BENCH_COMMON\nFROM {common} AS other\nCOPY note.txt /from-other\n"
        "FROM ${ANN_BENCH_COMMON} AS made\nRUN echo compiled > /made\n"
        'FROM made\nCOPY --from=other /from-other /\nRUN test -f /made\nENTRYPOINT ["/nowhere"]\nUSER nobody\n'
    )
    one = entry(tmp_path / "own", dockerfile=text)
    (one.folder / "note.txt").write_text("hello\n")
    try:
        assert corner.build(one) == {}
        image = corner.images.find(one)
        assert image is not None
        assert corner.run(image.tag, "cat", "/from-other", "/made") == "hello\ncompiled\n"
        assert "wrapper.py" in corner.run(image.tag, "ls", "/entry")
        config = corner.client.api.inspect_image(image.id)["Config"]
        assert not config["Entrypoint"]
        listed = corner.client.api.images(all=True)
        nobodys = [
            one for one in listed if one["ParentId"] == common and corner.space.kind not in (one["Labels"] or {})
        ]
        assert not nobodys, "layers of a build that clean would not find"
    finally:
        corner.client.api.remove_image(image.tag)
        _remove_children(corner, common)
        corner.client.api.remove_image(common, force=True)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("FROM scratch\n", "ARG ANN_BENCH_COMMON"),
        ("ARG ANN_BENCH_COMMON\nFROM ${ANN_BENCH_COMMON} AS a\nFROM scratch\nCOPY --from=a / /\n", "scratch"),
        (f"{OWN}VOLUME /data\n", "VOLUME /data"),
        (f"{OWN}RUN rm -r $(python -c 'import scipy; print(scipy.__path__[0])')\n", "scipy"),
    ],
)
def test_a_dockerfile_that_is_refused(corner: Corner, tmp_path: Path, text: str, says: str) -> None:
    corner.build(entry(tmp_path / "warm-up"))
    before = corner.listed()
    failures = corner.build(entry(tmp_path / "refused", dockerfile=text))
    assert says in failures["refused"]
    assert len(failures["refused"].splitlines()) == 1
    assert corner.listed() == before


def test_requires_must_be_met_by_the_dockerfile(corner: Corner, tmp_path: Path) -> None:
    needs = ["idna<3.8", "numpy", "some-backport; python_version < '3'"]
    failures = corner.build(entry(tmp_path / "forgets", requires=needs, dockerfile=OWN))
    assert "idna<3.8" in failures["forgets"]
    assert "backport" not in failures["forgets"]
    pins = ["idna==3.6", "some-backport==1; python_version < '3'"]
    other = f"{OWN}RUN pip install idna==3.7\n"
    failures = corner.build(entry(tmp_path / "repeats", requires=needs, pins=pins, dockerfile=other))
    assert "idna==3.6 of `pins` not in the image" in failures["repeats"]
    one = entry(
        tmp_path / "brings", requires=needs, pins=pins, dockerfile=f"{OWN}RUN pip install ${{ANN_BENCH_PINS}}\n"
    )
    assert corner.build(one) == {}
    image = corner.images.find(one)
    assert image is not None
    assert image.version("idna") == "3.6"


def test_nothing_of_the_host_is_in_the_image(corner: Corner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proxies and the settings of pip reach a build, and neither the container nor, for proxies, the history."""
    monkeypatch.setenv("NO_PROXY", "secret-proxy.example,*")
    monkeypatch.setenv("PIP_TRUSTED_HOST", "some-host.example")
    text = f'{OWN}RUN test "${{#NO_PROXY}}" = 22 && test "${{#PIP_TRUSTED_HOST}}" = 17\n'
    one = entry(tmp_path / "nosy", dockerfile=text)
    assert corner.build(one) == {}
    image = corner.images.find(one)
    assert image is not None
    inside = corner.run(image.tag, "env")
    assert "example" not in inside
    assert "secret-proxy" not in json.dumps(corner.client.api.history(image.id))
    shown = json.dumps(corner.client.api.inspect_image(image.id)["Config"])
    for name, value in os.environ.items():
        if len(value) > 12 and name not in ("PATH", "SSL_CERT_DIR"):
            assert f"{name}={value}" not in shown


def test_force_builds_again_and_leaves_one(corner: Corner, tmp_path: Path) -> None:
    one = entry(tmp_path / "forced", requires=["idna<3.8"])
    corner.build(one)
    first = corner.images.find(one)
    assert corner.build(one, force=True) == {}
    second = corner.images.find(one)
    assert first is not None
    assert second is not None
    assert (second.tag, second.id != first.id) == (first.tag, True)
    assert first.id not in corner.listed()[0]


def test_progress_moves(corner: Corner, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []
    one = entry(tmp_path / "watched", dockerfile=f"{OWN}RUN true\nRUN true\n")
    corner.build(one, progress=lambda *step: seen.append(step))
    assert [step for step in seen if step[0] == "filtered/watched"][-1][1:] == (1, 1)
    assert len(seen) > 3


def test_one_question_finds_many(corner: Corner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    several = [entry(tmp_path / f"many-{number}") for number in range(20)]
    images = corner.images
    asked: list[str] = []
    send = corner.client.api.send
    monkeypatch.setattr(corner.client.api, "send", lambda r, **k: asked.append(r.url) or send(r, **k))
    for one in several:
        images.find(one)
    assert len(asked) <= 2


def test_a_base_that_cannot_be_had(corner: Corner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANN_BENCH_BASE_IMAGE", "localhost:9/no-such-image:1")
    one = entry(tmp_path / "baseless")
    assert corner.images.find(one) is None
    with pytest.raises(EngineError, match="--make-base"):
        corner.build(one)


def test_a_base_that_is_no_python(corner: Corner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The common image fails, and with it everything: one line, a log, nothing left."""
    empty = _foreign_image(corner, "FROM scratch\nCOPY entry/ /\n")
    monkeypatch.setenv("ANN_BENCH_BASE_IMAGE", empty)
    before = corner.listed()
    try:
        with pytest.raises(EngineError, match=r"the common image cannot be built: .*common\.log"):
            corner.build(entry(tmp_path / "groundless"))
        assert corner.listed() == before
    finally:
        corner.client.api.remove_image(empty)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ended_half_way(corner: Corner, tmp_path: Path, number: int, code: int) -> None:
    """Two builds at a time end at once, and what they had made is gone."""
    corner.build(entry(tmp_path / "warm-up"))
    before = corner.listed()
    places = []
    for name in ("endless-a", "endless-b"):
        one = entry(tmp_path / name, dockerfile=f"{OWN}RUN echo {tmp_path.name}-{name} > /a\nRUN echo now; sleep 600\n")
        places += [str(one.folder)]
    program = (
        "import sys; from pathlib import Path; from ann_bench.cli import script; import ann_bench.engine.images as i\n"
        "from ann_bench.engine.labels import Namespace\n"
        f"i.Images.__init__.__defaults__ = (Namespace({corner.space.name!r}),)\n"
        f"sys.argv = ['ann-bench', 'install', '-j', '2', '--logs', {str(corner.logs)!r}, "
        + ", ".join(f"'--entry', {place!r}" for place in places)
        + "]\nscript()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
    try:
        for name in ("endless-a", "endless-b"):
            _wait_for("now", corner.logs / f"filtered-{name}.log")
        process.send_signal(number)
        _, said = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == code
    assert "Traceback" not in said
    assert corner.listed() == before


def test_ended_while_pip_downloads(corner: Corner, tmp_path: Path) -> None:
    """The container in which pip waits for an index that does not answer is gone at once."""
    corner.build(entry(tmp_path / "warm-up"))
    before = corner.listed()
    one = entry(tmp_path / "waiting", requires=["tiny-lib"])
    program = (
        "import sys; from ann_bench.cli import script; import ann_bench.engine.images as i\n"
        "from ann_bench.engine.labels import Namespace\n"
        f"i.Images.__init__.__defaults__ = (Namespace({corner.space.name!r}),)\n"
        f"sys.argv = ['ann-bench', 'install', '--logs', {str(corner.logs)!r}, '--entry', {str(one.folder)!r}]\n"
        "script()\n"
    )
    with served(tmp_path) as (index, address):
        index.hangs = True
        settings = {**os.environ, "PIP_INDEX_URL": address}
        process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True, env=settings)
        try:
            assert index.asked.wait(60), "pip never asked"
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=20)
        finally:
            process.kill()
    assert process.returncode == 130
    assert "Traceback" not in said
    assert corner.listed() == before


def test_one_download_for_each_file(corner: Corner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries of different needs that share a library, two at a time and later; the store is not in the image."""
    corner.build(entry(tmp_path / "warm-up"))
    folder = stand_ins(tmp_path / "wheels")
    for name in ("tiny-lib", "other-lib"):
        wheel(folder, name, "1.0")
    needs = {"tiny-one": ["tiny-lib"], "tiny-both": ["tiny-lib", "other-lib"]}
    entries = [entry(tmp_path / name, requires=requires) for name, requires in needs.items()]
    late = entry(tmp_path / "tiny-pin", requires=["tiny-lib"], pins=["tiny-lib==1.0"])
    with served(folder) as (index, address):
        monkeypatch.setenv("PIP_INDEX_URL", address)
        assert corner.build(*entries, jobs=2) == {}
        assert corner.build(late) == {}
    assert index.fetched["tiny_lib-1.0-py3-none-any.whl"] == 1
    assert set(index.fetched.values()) == {1}
    image = corner.images.find(late)
    assert image is not None
    assert (image.version("tiny-lib"), image.version("numpy") != "99.0") == ("1.0", True)
    assert corner.run(image.tag, "find", "/var/cache/ann-bench-wheels", "/var/tmp").split() == [
        "/var/cache/ann-bench-wheels",
        "/var/tmp",
    ]
    environment = json.dumps(corner.client.api.inspect_image(image.id)) + json.dumps(
        corner.client.api.history(image.id)
    )
    assert address not in environment


def test_the_command(
    corner: Corner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Images.__init__, "__defaults__", (corner.space,))
    good, bad = entry(tmp_path / "fine"), entry(tmp_path / "failing", dockerfile="FROM scratch\n")
    words = ["install", "--logs", str(corner.logs), "--entry", str(good.folder)]
    assert main([*words, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["track"], row["algorithm"], row["built"], row["failure"]) == ("filtered", "fine", True, None)
    assert main([*words, "--entry", str(bad.folder)]) == 1
    shown = capsys.readouterr()
    assert "there already" in shown.out
    assert "0 built, 1 there already, 1 failed" in shown.out
    assert "failed: filtered/failing: " in shown.err


def _foreign_image(corner: Corner, text: str) -> str:
    """An image that is none of ours."""
    from ann_bench.engine.context import context

    with context(text, [("x", os.urandom(8))]) as tar:
        chunks = list(corner.client.api.build(fileobj=tar, custom_context=True, rm=True, decode=True))
    return str(next(chunk["aux"]["ID"] for chunk in chunks if "aux" in chunk))


def _remove_children(corner: Corner, image_id: str) -> None:
    for one in corner.client.api.images(all=True):
        if one["ParentId"] == image_id:
            _remove_children(corner, one["Id"])
            corner.client.api.remove_image(one["Id"], noprune=True)


def _wait_for(text: str, path: Path) -> None:
    for _ in range(300):
        if path.is_file() and f"\n{text}\n" in path.read_text():
            return
        time.sleep(0.1)
    raise AssertionError(f"{text!r} never came in {path}")


def test_an_image_whose_python_is_too_old_is_refused(
    corner: Corner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = entry(tmp_path / "old")
    corner.build(one)
    image = corner.images.find(one)
    assert image is not None
    assert "numpy" in probe(corner.client, image.id, "old", corner.space).packages
    monkeypatch.setattr("ann_bench.engine.probe.OLDEST_PYTHON", Version("99"))
    with pytest.raises(ProbeFailed, match="the worker needs 99 or later"):
        probe(corner.client, image.id, "old", corner.space)
