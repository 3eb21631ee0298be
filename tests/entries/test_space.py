"""`space:` in config.yaml: what may be tuned, and what is said where it cannot be used."""

from __future__ import annotations

import pytest

from ann_bench.entries.discovery import entry_at
from ann_bench.entries.entry import entry_hash
from ann_bench.errors import UsageError
from tests.support import write_entry

QUERY = {"default": [{"ef": 1, "on": True}, {"ef": 2, "on": False}]}
BUILD = {"default": {"links": 8}, "tiny": {"links": 4, "more": 1}}


def made(folder, space):
    return entry_at(write_entry(folder / "entry", build=BUILD, query=QUERY, space=space), "filtered")


def test_ranges_and_choices(tmp_path) -> None:
    space = {
        "build": {"links": {"from": 4, "to": 64, "log": True}},
        "query": {"ef": {"from": 1, "to": 2.5}, "on": [True, False]},
    }
    found = made(tmp_path, space).config.space
    assert found.build["links"].whole
    assert not found.query["ef"].whole
    assert found.query["on"] == [True, False]


def test_a_space_changes_no_measurement(tmp_path) -> None:
    with_space = made(tmp_path / "one", {"query": {"ef": [1, 2]}})
    without = entry_at(write_entry(tmp_path / "other", build=BUILD, query=QUERY), "filtered")
    assert entry_hash(with_space) == entry_hash(without)


@pytest.mark.parametrize(
    ("space", "said"),
    [
        ({}, "nothing may be tuned"),
        ({"query": {"ef": 5}}, "give a list of choices or a range, such as {from: 8, to: 512, log: true}"),
        ({"query": {"ef": [1]}}, "one choice is none"),
        ({"query": {"ef": [1, 2, 1]}}, "a choice stands there twice"),
        ({"query": {"ef": {"from": 3, "to": 3}}}, "`from` has to be less than `to`"),
        ({"query": {"ef": {"from": 0, "to": 3, "log": True}}}, "`from` has to be above 0"),
        ({"query": {"ef": {"from": 1}}}, "the key 'space.query.ef.to' is missing"),
        ({"query": {"ef": {"from": 1, "to": 3, "lgo": True}}}, "unknown key 'space.query.ef.lgo'; did you mean 'log'"),
        ({"query": {"width": [1, 2]}}, "space.query.width: no such argument in each of `query`"),
        ({"build": {"more": [1, 2]}}, "space.build.more: no such argument in each of `build`"),
        ({"quer": {"ef": [1, 2]}}, "unknown key 'space.quer'; did you mean 'query'"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_one_line_with_the_place(space, said, tmp_path) -> None:
    with pytest.raises(UsageError, match=r"config\.yaml:\d+: ") as caught:
        made(tmp_path, space)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
