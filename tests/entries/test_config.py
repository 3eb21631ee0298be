"""The schema of config.yaml."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ann_bench import yamlfile
from ann_bench.entries.config import EntryConfig
from ann_bench.errors import UsageError
from tests.entries.support import GOOD, config

SHIPPED = sorted((Path(__file__).resolve().parents[2] / "algorithms").glob("*/*/config.yaml"))


def load(tmp_path, text):
    path = tmp_path / "config.yaml"
    path.write_text(text, encoding="utf-8")
    return yamlfile.load(path, EntryConfig)


def complaint(tmp_path, text):
    with pytest.raises(UsageError) as caught:
        load(tmp_path, text)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(str(tmp_path / "config.yaml"))


def test_a_good_config(tmp_path):
    good = load(tmp_path, config(requires=["hnswlib>=0.8", "numpy<3; python_version >= '3.10'"]))
    assert good.class_ == "wrapper.Index"
    assert good.module == "wrapper"
    assert good.build_for("any") == {"lists": 8}
    assert good.queries_for("any") == [{"probe": 1}, {"probe": 2}]
    assert len(good.requires) == 2


@pytest.mark.parametrize(
    ("requires", "pins"),
    [
        ([], ["hnswlib==0.8.0"]),
        (["some_lib[fast]>=1"], ["some-lib[fast]==2.0rc1"]),
        (["numpy<2"], ["numpy==1.25; python_version < '3.12'", "numpy==1.26; python_version >= '3.12'"]),
        (["numpy<2; python_version < '3.12'"], ["numpy==2.1; python_version >= '3.12'"]),
        (["hnswlib>=0.8"], ["hnswlib==0.8.0+cpu"]),
    ],
)
def test_pins(tmp_path, requires, pins):
    good = load(tmp_path, config(requires=requires, pins=pins))
    assert (good.requires, good.pins) == (requires, pins)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: "/".join(path.parts[-3:-1]))
def test_the_entries_here_pin_all_that_they_require(path):
    """What a range takes depends on the day; a pin does not."""
    shipped = yamlfile.load(path, EntryConfig)
    pinned = {canonicalize_name(Requirement(pin).name) for pin in shipped.pins}
    assert {canonicalize_name(Requirement(need).name) for need in shipped.requires} <= pinned


def test_build_may_be_left_out(tmp_path):
    assert load(tmp_path, config(build=None)).build_for("any") == {}


def test_arguments_keep_their_types(tmp_path):
    arguments = {"a": 1, "b": 1.5, "c": True, "d": None, "e": "x", "f": [1, {"g": [2.5]}]}
    good = load(tmp_path, config(build={"default": arguments}, query={"default": [arguments]}))
    assert repr(good.build_for("any")) == repr(arguments)
    assert repr(good.queries_for("any")) == repr([arguments])


@pytest.mark.parametrize(
    ("dataset", "lists"),
    [("yfcc-10M", 1), ("yfcc-like-10M", 2), ("yfcc-like-1M", 3), ("yfcc-other", 4), ("yfcc", 5), ("debian-20k", 5)],
)
def test_the_most_particular_key_counts(tmp_path, dataset, lists):
    keys = {"yfcc-10M": 1, "yfcc-like-10M": 2, "yfcc-like-*": 3, "yfcc-*": 4, "default": 5}
    good = load(tmp_path, config(build={key: {"lists": n} for key, n in keys.items()}))
    assert good.build_for(dataset) == {"lists": lists}


def test_unknown_key_with_line_and_near_match(tmp_path):
    text = config() + "opensource: true\n"
    assert complaint(tmp_path, text) == f":{text.count(chr(10))}: unknown key 'opensource'; did you mean 'open_source'?"


@pytest.mark.parametrize("key", ["tracks", "open_source", "description", "query"])
def test_missing_keys(tmp_path, key):
    text = yaml.safe_dump({k: v for k, v in GOOD.items() if k != key})
    assert complaint(tmp_path, text) == f":1: the key {key!r} is missing"


@pytest.mark.parametrize(
    "text", ["Index", "wrapper.", ".Index", "wrapper/Index", "wrapper.py:Index", "a.class", "", "../x.Y"]
)
def test_bad_class(tmp_path, text):
    assert complaint(tmp_path, config(**{"class": text})).startswith(":1: class: write `module.Class`")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tracks": []}, "tracks: list should have at least 1 item"),
        ({"tracks": ["../filtered"]}, "tracks.0: a track's name is lower-case"),
        ({"requires": ["hnswlib >= "]}, "requires.0: no requirement that pip would take"),
        ({"requires": "hnswlib"}, "requires: input should be a valid list"),
        ({"pins": ["hnswlib"]}, "pins.0: a pin is one exact version, such as `hnswlib==0.8.0`; a range belongs in"),
        ({"pins": ["hnswlib>=0.8"]}, "pins.0: a pin is one exact version"),
        ({"pins": ["hnswlib==0.8.*"]}, "pins.0: a pin is one exact version"),
        ({"pins": ["hnswlib==0.8,!=0.9"]}, "pins.0: a pin is one exact version"),
        ({"pins": ["hnswlib===0.8"]}, "pins.0: a pin is one exact version"),
        ({"pins": ["hnswlib @ https://x.example/hnswlib.whl"]}, "pins.0: a pin is one exact version"),
        ({"pins": ["hnswlib = 0.8"]}, "pins.0: no pin, such as `hnswlib==0.8.0`"),
        ({"pins": ["a-b==1", "A_B==2"]}, "pins: a-b==1 and A_B==2 pin the same package"),
        ({"requires": ["Some_Lib>=2"], "pins": ["some-lib==1.9"]}, "pins: some-lib==1.9 is not what `requires` allows"),
        ({"open_source": "perhaps"}, "open_source: input should be a valid boolean"),
        ({"description": "two\nlines"}, "description: one line"),
        ({"description": " "}, "description: "),
        ({"build": {}}, "build: give `default`, or the name of a data set"),
        ({"query": {}}, "query: give `default`, or the name of a data set"),
        ({"query": {"default": []}}, "query.default: an empty list measures nothing"),
        ({"query": {"default": {"probe": 1}}}, "query.default: input should be a valid list"),
        ({"query": {"default": [3]}}, "query.default.0: input should be a valid dictionary"),
        ({"query": {"default": [{"a": 1}, {"b": 2}, {"a": 1}]}}, "query.default: configs 1 and 3 are the same"),
        ({"build": {"a*b": {}}}, "build.a*b: write a data set's name"),
        ({"build": {"*": {}}}, "build.*: write a data set's name"),
        ({"build": {"default": {"dim": 3}}}, "build.default.dim: the judge itself passes metric, dim, dtype, threads"),
        ({"build": {"default": {"n-list": 3}}}, "build.default.n-list: an argument's name must be one that Python"),
        ({"query": {"default": [{"lambda": 3}]}}, "query.default.0.lambda: an argument's name"),
        ({"build": {"default": {"x": float("nan")}}}, "build.default.x: nan and inf are no values of JSON"),
        ({"build": {"default": {"x": [{"y": float("inf")}]}}}, "build.default.x: nan and inf are no values of JSON"),
    ],
)
def test_bad_values(tmp_path, changes, message):
    found = complaint(tmp_path, config(**changes))
    line, _, rest = found[1:].partition(": ")
    assert line.isdigit()
    assert rest.startswith(message)


def test_the_line_is_that_of_the_value(tmp_path):
    text = config() + "requires:\n- numpy\n- '>>'\n"
    assert complaint(tmp_path, text).startswith(f":{text.count(chr(10))}: requires.1: ")


def test_a_date_is_no_value_of_json(tmp_path):
    text = config(build=None) + "build:\n  default:\n    day: 2020-01-01\n"
    assert complaint(tmp_path, text).startswith(f":{text.count(chr(10))}: build.default.day: ")
