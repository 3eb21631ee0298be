"""YAML files checked against a model: every error is one line with the place and the way out."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, Field

from ann_bench import yamlfile
from ann_bench.errors import UsageError


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid")
    url: str
    rows: int | None = None


class File(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    part: Part | None = None
    parts: dict[str, Part] = {}
    several: list[Part] = []
    metric: str = Field(default="ip", pattern="^(ip|angular)$")


def load(tmp_path: Path, text: str | bytes) -> File:
    path = tmp_path / "file.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return yamlfile.load(path, File)


def complaint(tmp_path: Path, text: str | bytes) -> str:
    with pytest.raises(UsageError) as caught:
        load(tmp_path, text)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(tmp_path / "file.yaml"))
    return message.removeprefix(str(tmp_path / "file.yaml"))


def test_a_good_file(tmp_path):
    file = load(tmp_path, "name: a\npart: {url: u, rows: 3}\nseveral:\n  - url: v\n")
    assert (file.name, file.part.rows, file.several[0].url) == ("a", 3, "v")


def test_a_byte_order_mark_is_no_error(tmp_path):
    assert load(tmp_path, "\ufeffname: a\n").name == "a"


def test_anchors_and_merge_keys_work(tmp_path):
    file = load(tmp_path, "name: a\npart: &p {url: u, rows: 1}\nparts:\n  b: {<<: *p, rows: 2}\n  c: *p\n")
    assert (file.parts["b"].url, file.parts["b"].rows, file.parts["c"].rows) == ("u", 2, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: a\nmetrik: ip\n", ":2: unknown key 'metrik'; did you mean 'metric'?"),
        ("name: a\nzzzz: 1\n", ":2: unknown key 'zzzz'; valid: name, part, parts, several, metric"),
        ("name: a\npart:\n  url: u\n  row: 3\n", ":4: unknown key 'part.row'; did you mean 'rows'?"),
        ("name: a\nparts:\n  b:\n    url: u\n    row: 3\n", ":5: unknown key 'parts.b.row'; did you mean 'rows'?"),
        (
            "name: a\nseveral:\n  - url: u\n  - url: u\n    uri: 3\n",
            ":5: unknown key 'several.1.uri'; did you mean 'url'?",
        ),
        # The typing error, not the key that is missing because of it.
        ("nam: a\n", ":1: unknown key 'nam'; did you mean 'name'?"),
        ("metric: ip\n", ":1: the key 'name' is missing"),
        ("name: a\npart:\n  rows: 3\n", ":2: the key 'part.url' is missing"),
        ("name: a\nname: b\n", ":2: the key 'name' stands here a second time"),
        ("name: a\npart:\n  url: u\n  url: v\n", ":4: the key 'url' stands here a second time"),
    ],
)
def test_wrong_keys(tmp_path, text, message):
    assert complaint(tmp_path, text) == message


@pytest.mark.parametrize(
    ("text", "beginning", "part"),
    [
        ("name: a\npart:\n  url: u\n  rows: many\n", ":4: part.rows:", "(found 'many')"),
        ("name: a\n\nmetric: cosine\n", ":3: metric:", "(found 'cosine')"),
        ("name: [a\n", ":2: no valid YAML", ""),
        ("name: a\n\tpart: b\n", ":2: no valid YAML", ""),
        ("a: 1\n---\nb: 1\n", ":2: no valid YAML", "another document"),
        ("", ":1: expected `key: value` lines", "valid keys: name, part"),
        ("- name\n", ":1: expected `key: value` lines", ""),
        ("just text", ":1: expected `key: value` lines", ""),
        ("name: !!python/object/apply:os.getcwd []\n", ":1: no valid YAML", ""),
        ("name: !!int many\n", ": no valid YAML", ""),
        ("name: 2020-13-45\n", ": no valid YAML", ""),
        ("name: !!bool maybe\n", ": no valid YAML", ""),
        ("name: !!timestamp never\n", ": no valid YAML", ""),
        ("name: \x07\n", ": no valid YAML", ""),
        ("name: *nobody\n", ":1: no valid YAML", "nobody"),
        ("? [a, b]\n: c\n", ":1: no valid YAML", ""),
        ("name: " + "[" * 5000, ": no valid YAML", "too deep"),
        ("name: &a [*a]\n", ": too large, or an alias that holds itself", ""),
        (b"name: \xff\xfe\n", ": cannot be read (not UTF-8 text)", ""),
    ],
)
def test_wrong_values_and_broken_files(tmp_path, text, beginning, part):
    message = complaint(tmp_path, text)
    assert message.startswith(beginning)
    assert part in message


def test_aliases_cannot_make_a_short_file_endless(tmp_path):
    lines = ["name: a", "z0: &z0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"z{n}: &z{n} [{', '.join([f'*z{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert complaint(tmp_path, "\n".join(lines)).startswith(": too large")


def test_the_rest_is_counted(tmp_path):
    assert complaint(tmp_path, "name: a\npart: {url: 1, rows: many}\n").endswith("; 1 more after it")


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(UsageError, match=r"none\.yaml: cannot be read \(No such file"):
        yamlfile.load(tmp_path / "none.yaml", File)
    with pytest.raises(UsageError, match=r"cannot be read \(Is a directory"):
        yamlfile.load(tmp_path, File)
