"""What an image depends on: all of it changes the tag, and nothing else does. No engine takes part."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from ann_bench.engine.build import Log
from ann_bench.engine.context import context
from ann_bench.engine.dockerfile import labelled, refusal
from ann_bench.engine.labels import Namespace
from ann_bench.engine.probe import Contents
from ann_bench.engine.recipe import build_arguments, certificates, common_recipe, entry_recipe, finish_dockerfile
from ann_bench.entries.discovery import entry_at
from ann_bench.entries.entry import files
from ann_bench.entries.pins import applying, to_install, without_marker
from ann_bench.errors import EngineError
from tests.engine.conftest import entry

GOOD = "ARG ANN_BENCH_COMMON\nFROM ${ANN_BENCH_COMMON}\n"


def tag(folder: Path, common: str = "0") -> str:
    return entry_recipe(entry_at(folder, "filtered"), common).tag


def test_what_changes_the_tag_of_an_entry(tmp_path: Path) -> None:
    folder = entry(tmp_path / "one").folder
    seen = [tag(folder), tag(folder, "another common image")]
    (folder / "wrapper.py").write_text("class Index: pass\n")
    seen.append(tag(folder))
    (folder / "more.txt").write_text("")
    seen.append(tag(folder))
    (folder / "more.txt").chmod(0o755)
    seen.append(tag(folder))
    config = folder / "config.yaml"
    config.write_text(config.read_text() + "requires: [idna]\n")
    seen.append(tag(folder))
    config.write_text(config.read_text() + "pins: [idna==3.7]\n")
    seen.append(tag(folder))
    (folder / "Dockerfile").write_text(GOOD)
    seen.append(tag(folder))
    config.write_text(config.read_text().replace("idna==3.7", "idna==3.8"))
    seen.append(tag(folder))
    (folder / "Dockerfile").write_text(f"{GOOD}RUN true\n")
    seen.append(tag(folder))
    folder.rename(tmp_path / "two")
    seen.append(tag(tmp_path / "two"))
    assert len(set(seen)) == len(seen)


def test_what_does_not(tmp_path: Path) -> None:
    folder = entry(tmp_path / "one").folder
    first = tag(folder)
    (folder / "README.md").write_text("words")
    (folder / ".note").write_text("words")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "x.pyc").write_bytes(b"")
    (folder / "wrapper.py").chmod(0o600)
    config = folder / "config.yaml"
    config.write_text(config.read_text().replace("probe: 2", "probe: 3").replace("an index", "the index"))
    assert tag(folder) == first
    (folder / "wrapper.py").chmod(0o644)
    assert tag(folder) == first


def test_what_the_common_image_depends_on() -> None:
    recipes = [common_recipe("sha256:1", None), common_recipe("sha256:2", None), common_recipe("sha256:1", b"ca")]
    assert len({recipe.tag for recipe in recipes}) == 3
    assert common_recipe("sha256:1", b"ca") == recipes[2]
    assert recipes[0].dockerfile.startswith("FROM 1\n")
    assert "numpy scipy" in recipes[0].dockerfile
    assert "COPY" not in recipes[0].dockerfile
    assert "ONBUILD ARG PIP_INDEX_URL" in recipes[0].finish


def test_files_are_those_of_the_hash(tmp_path: Path) -> None:
    one = entry(tmp_path / "one")
    (one.folder / "sub").mkdir()
    (one.folder / "sub" / "b.py").write_text("")
    (one.folder / "README.md").write_text("")
    assert [name for name, _ in files(one)] == ["sub/b.py", "wrapper.py"]


def test_what_pip_is_asked_for(tmp_path: Path) -> None:
    one = entry(tmp_path / "one", requires=["idna<4 ; python_version > '3'", "a[b]>=1"])
    assert entry_recipe(one, "0").needs == ("a[b]>=1", "idna<4 ; python_version > '3'", "numpy", "scipy")
    assert entry_recipe(entry(tmp_path / "two"), "0").needs == ()
    assert entry_recipe(entry(tmp_path / "own", requires=["idna"], dockerfile=GOOD), "0").needs == ()


def test_pins_are_installed_with_what_is_required(tmp_path: Path) -> None:
    one = entry(tmp_path / "one", requires=["idna>=3"], pins=["idna==3.7", "numpy==1.26.4"])
    assert entry_recipe(one, "0").needs == ("idna==3.7", "numpy==1.26.4", "scipy")
    assert "ONBUILD ARG ANN_BENCH_PINS" in common_recipe("sha256:1", None).finish


def test_a_pin_stands_for_its_range() -> None:
    requires = ["A_b>=1", "c[x]>=1", "d<3; python_version < '3.12'", "e"]
    pins = ["a-b==1.5", "c==1.5", "d==2; python_version < '3.12'", "f==1"]
    assert to_install(requires, pins) == sorted(["c[x]>=1", "e", *pins])


def test_pins_as_words_for_a_dockerfile() -> None:
    pins = ["idna==3.7", "a[y,x]==1; python_version < '3.12'", "b==2; python_version >= '3.12'"]
    words = [without_marker(pin) for pin in applying(pins, {"python_version": "3.11"})]
    assert words == ["idna==3.7", "a[x,y]==1"]


def test_labels_are_quoted() -> None:
    recipe = common_recipe("sha256:1", None)
    text = finish_dockerfile(recipe, "sha256:ab", {"x": 'a "b" $c \\d'})
    assert text.startswith("FROM ab\n")
    assert text.endswith('LABEL x="a \\"b\\" \\$c \\\\d"\n')


def test_a_context_is_for_everybody(tmp_path: Path) -> None:
    one = entry(tmp_path / "one", dockerfile=GOOD)
    before = os.umask(0o077)
    try:
        (one.folder / "sub").mkdir()
        (one.folder / "sub" / "ünï code.txt").write_text("text")
        (one.folder / "tool").touch(mode=0o700)
    finally:
        os.umask(before)
    with context("FROM x\n", files(one)) as tar, tarfile.open(fileobj=io.BytesIO(tar.read())) as archive:
        members = {member.name: member for member in archive}
    modes = {name: oct(member.mode) for name, member in members.items()}
    assert modes == {
        "Dockerfile": "0o644",
        "entry": "0o755",
        "entry/Dockerfile": "0o644",
        "entry/sub": "0o755",
        "entry/sub/ünï code.txt": "0o644",
        "entry/tool": "0o755",
        "entry/wrapper.py": "0o644",
    }
    assert {member.mtime for member in members.values()} == {0}
    with context("FROM ours\n", files(one), folder="") as tar, tarfile.open(fileobj=tar) as archive:
        assert archive.getnames().count("Dockerfile") == 1
        assert archive.extractfile("Dockerfile").read() == b"FROM ours\n"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        "# words\n\narg ANN_BENCH_COMMON=x\nfrom $ANN_BENCH_COMMON\n",
        "ARG ANN_BENCH_COMMON\nFROM debian AS a\nFROM --platform=linux/amd64 ${ANN_BENCH_COMMON} AS b\nFROM B\n",
        "ARG \\\n  ANN_BENCH_COMMON\nFROM \\\n# a comment between\n  ${ANN_BENCH_COMMON:-none} \\\n AS last\n",
        "# escape=`\nARG ANN_BENCH_COMMON\nFROM debian\nRUN dir C:\\\nFROM `\n ${ANN_BENCH_COMMON}\n",
    ],
)
def test_dockerfiles_that_will_do(text: str) -> None:
    assert refusal(text) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no FROM"),
        ("RUN true\n", "no FROM"),
        ("FROM ${ANN_BENCH_COMMON}\n", "ARG ANN_BENCH_COMMON"),
        ("FROM debian\nARG ANN_BENCH_COMMON\nFROM ${ANN_BENCH_COMMON}\n", "ARG ANN_BENCH_COMMON"),
        (f"{GOOD}FROM debian\n", "begins from debian"),
        ("ARG ANN_BENCH_COMMON\n# FROM ${ANN_BENCH_COMMON}\nFROM python:3\n", "begins from python:3"),
        (f"{GOOD}FROM ${{ANN_BENCH_COMMON_TOO}}\n", "begins from"),
        ("ARG ANN_BENCH_COMMON\nFROM ${ANN_BENCH_COMMON} AS x\nFROM debian AS X\nFROM x\n", "begins from x"),
    ],
)
def test_dockerfiles_that_will_not(text: str, says: str) -> None:
    assert says in str(refusal(text))


def test_stages_from_elsewhere_are_labelled() -> None:
    text = "ARG ANN_BENCH_COMMON\nFROM debian \\\n AS a\nRUN x\nFROM ${ANN_BENCH_COMMON}\nFROM a\nRUN y"
    assert labelled(text, "k=v").splitlines() == [
        "ARG ANN_BENCH_COMMON",
        "FROM debian \\",
        " AS a",
        "LABEL k=v",
        "RUN x",
        "FROM ${ANN_BENCH_COMMON}",
        "FROM a",
        "LABEL k=v",
        "RUN y",
    ]


def test_certificates_of_the_machine(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_bytes(b"ca")
    assert certificates({}) is None
    assert certificates({"SSL_CERT_FILE": str(tmp_path / "none")}) is None
    assert certificates({"PIP_CERT": "", "SSL_CERT_FILE": str(tmp_path / "ca.pem")}) == b"ca"


def test_arguments_of_builds() -> None:
    given = {"HTTPS_PROXY": "http://me:secret@proxy", "PIP_INDEX_URL": "https://index.example/simple", "HOME": "/root"}
    assert build_arguments(given) == {k: v for k, v in given.items() if k != "HOME"}
    assert build_arguments({"PIP_EXTRA_INDEX_URL": "file:///here/simple /there"}) == {}


@pytest.mark.parametrize("name", ["PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"])
def test_a_password_is_not_put_into_an_image(name: str) -> None:
    with pytest.raises(EngineError, match=f"{name} holds a password") as caught:
        build_arguments({name: "https://one.example/simple https://me:secret@two.example/simple"})
    assert "secret" not in str(caught.value)


def test_requires_are_held_against_the_image() -> None:
    inside = Contents({"some-package": "2.0", "early": "1.0rc1"}, {"python_version": "3.11", "sys_platform": "linux"})
    assert inside.unmet(["Some_Package>=1", "early", "other; python_version < '3.11'"]) == []
    assert inside.unmet(["some-package<2", "missing[extra]>1"]) == ["some-package<2", "missing[extra]>1"]


def log(*lines: str) -> Log:
    made = Log(io.StringIO(), Path("x.log"))
    for line in lines:
        made.write(line)
    made.end()
    return made


def test_the_line_for_a_step_that_failed() -> None:
    made = log(
        "Step 1/2 : FROM x\n ---> 0123456789ab\n",
        "Step 2/2 : RUN pip install no",
        "thing\n ---> Running in 0123456789ac\n\x1b[91mERROR: No matching distribution found\n\x1b[0m",
        "\x1b[91m[notice] A new release of pip\n\x1b[0mRemoving intermediate container 0123456789ac\n",
        "The command '/bin/sh -c pip install nothing' returned a non-zero code: 1\n",
    )
    line = str(made.failure("The command '/bin/sh -c pip install nothing' returned a non-zero code: 1"))
    assert line == "`RUN pip install nothing`: ERROR: No matching distribution found"
    assert "\x1b" not in made.file.getvalue()  # type: ignore[attr-defined]
    assert str(made.failure("COPY failed: no such file")) == "`RUN pip install nothing`: COPY failed: no such file"
    assert "disk is full" in str(made.failure("write /x: no space left on device"))


def test_podman_says_it_in_other_words() -> None:
    code = 'building at STEP "RUN b": while running runtime: exit status 1'
    made = log(
        "STEP 1/3: FROM x\nSTEP 2/3: RUN a\n--> Using cache 11111111111122\n--> 11111111111\n",
        f"STEP 3/3: RUN b\n--> 22222222222\nERROR: no such thing\n{code}\n",
    )
    assert str(made.failure(code)) == "`RUN b`: ERROR: no such thing"
    assert made.made == ["22222222222"]


def test_the_last_line_of_a_step_without_a_reason() -> None:
    ends = ("Removing intermediate container 0123456789ac\n", "The command 'x' returned a non-zero code: 1\n")
    code = "The command 'x' returned a non-zero code: 1"
    assert (
        str(log("Step 1/1 : RUN x\n", "so it ended\n", *ends).failure(code))
        == "`RUN x`: exit code 1, after the line: so it ended"
    )
    full = log("Step 1/1 : RUN x\n", "head: x: No space left on device\n", "bye\n", *ends).failure(code)
    assert "disk is full" in str(full)
    assert str(log("Step 1/1 : RUN x\n", *ends).failure(code)) == "`RUN x`: exit code 1"


def test_what_a_build_has_made() -> None:
    made = log(
        "Step 1/3 : FROM x\n ---> 000000000000\nStep 2/3 : RUN a\n ---> Using cache\n ---> 111111111111\n",
        "Step 3/3 : RUN b\n ---> Running in 999999999999\n ---> 222222222222\n",
    )
    assert made.made == ["000000000000", "222222222222"]


def test_names_of_other_namespaces_differ(tmp_path: Path) -> None:
    one = entry(tmp_path / "one")
    assert entry_recipe(one, "0", Namespace("t")).tag.startswith("t/filtered-one:")
