"""What an entry says of itself: the schema of config.yaml, and which arguments it gives for a data set."""

from __future__ import annotations

import json
import keyword
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    ValidationInfo,
    field_validator,
    model_validator,
)

from ann_bench.entries.pins import check_pin, check_requirement, check_together
from ann_bench.entries.space import Space, Tuned

#: What the judge itself passes to the constructor; no build argument may have such a name.
RESERVED = ("metric", "dim", "dtype", "threads")
#: The most seconds that an entry may ask for until its object is there.
LONGEST_START = 600
#: The key that holds for every data set without a key of its own.
DEFAULT = "default"

_CLASS = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")
_TRACK = re.compile(r"[a-z0-9]+([_-][a-z0-9]+)*")
_DATASET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\*?")

Value = TypeVar("Value")


def _class_path(text: str) -> str:
    if not _CLASS.fullmatch(text) or any(keyword.iskeyword(part) for part in text.split(".")):
        raise ValueError("write `module.Class`, such as `wrapper.MyIndex` for the class MyIndex of wrapper.py")
    return text


def _command(words: list[str]) -> list[str]:
    if not words or not all(words) or any("\0" in word for word in words):
        raise ValueError('write the words of a command, such as ["./server"] for a program in the entry\'s folder')
    if ".." in PurePosixPath(words[0]).parts:
        raise ValueError("the program lies in the entry's folder, or is found on PATH by its bare name")
    return words


def _track(text: str) -> str:
    if not _TRACK.fullmatch(text):
        raise ValueError("a track's name is lower-case letters and digits, such as `filtered`")
    return text


def _one_line(text: str) -> str:
    if "\n" in text.strip():
        raise ValueError("one line, for the tables; the rest belongs in README.md")
    return text.strip()


def _dataset_key(text: str) -> str:
    if not _DATASET.fullmatch(text):
        raise ValueError("write a data set's name, the beginning of one and `*` (such as `yfcc-*`), or `default`")
    return text


def _argument_name(text: str) -> str:
    if not text.isidentifier() or keyword.iskeyword(text):
        raise ValueError("an argument's name must be one that Python can pass as a keyword")
    return text


def _build_argument_name(text: str) -> str:
    if text in RESERVED:
        raise ValueError(f"the judge itself passes {', '.join(RESERVED)}; choose another name")
    return _argument_name(text)


def _finite(value: JsonValue) -> JsonValue:
    if any(isinstance(leaf, float) and not math.isfinite(leaf) for leaf in _leaves(value)):
        raise ValueError("nan and inf are no values of JSON; use null or a number")
    return value


def _leaves(value: JsonValue) -> Iterator[JsonValue]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    else:
        yield value


def _given(configs: Mapping[str, Value]) -> Mapping[str, Value]:
    if not configs:
        raise ValueError("give `default`, or the name of a data set")
    return configs


def _distinct(configs: list[dict[str, JsonValue]]) -> list[dict[str, JsonValue]]:
    if not configs:
        raise ValueError("an empty list measures nothing; write [{}] for an entry without query arguments")
    seen: dict[str, int] = {}
    for place, config in enumerate(configs, start=1):
        first = seen.setdefault(json.dumps(config, sort_keys=True), place)
        if first != place:
            raise ValueError(f"configs {first} and {place} are the same; leave one of them out")
    return configs


Argument = Annotated[JsonValue, AfterValidator(_finite)]
DatasetKey = Annotated[str, AfterValidator(_dataset_key)]
BuildArguments = dict[Annotated[str, AfterValidator(_build_argument_name)], Argument]
QueryArguments = dict[Annotated[str, AfterValidator(_argument_name)], Argument]
QueryList = Annotated[list[QueryArguments], AfterValidator(_distinct)]


class EntryConfig(BaseModel):
    """The content of config.yaml.

    An entry is a class (`class`) or a program that speaks the wire protocol (`command`, its words).
    `build` and `query` are keyed by data set: its name, or the beginning of its name and `*`, or `default`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    class_: Annotated[str, AfterValidator(_class_path)] | None = Field(default=None, alias="class")
    """`module.Class`: the module lies in the entry's folder. An entry has this or `command`."""
    command: Annotated[list[str], AfterValidator(_command)] | None = None
    """The words that start a program which speaks [the wire](../wire.md): one in the entry's folder, or on PATH."""
    tracks: Annotated[list[Annotated[str, AfterValidator(_track)]], Field(min_length=1)]
    """The tracks that the entry is for."""
    requires: list[Annotated[str, AfterValidator(check_requirement)]] = []
    """What pip would take, with the versions that the wrapper works with; environment markers too."""
    pins: list[Annotated[str, AfterValidator(check_pin)]] = []
    """The exact versions that `ann-bench install` takes, each within what `requires` allows."""
    open_source: bool
    """Whether all that runs can be read."""
    learn: bool = False
    """Whether `fit` wants the public sample queries of a data set that has them."""
    start_seconds: Annotated[int, Field(gt=0, le=LONGEST_START)] | None = None
    """Longest time for the import and the constructor, where 120 s are too few: for what a library compiles at its
    first call, which the constructor then makes. No data is there yet, and none of it is build time."""
    seed: Annotated[str, AfterValidator(_build_argument_name)] | None = None
    """The build argument that takes a seed, a whole number: every build gets another one ([repeats](../repeats.md))."""
    any_order: bool = False
    """Whether the rows may come in any order: of repeated builds each gets another one. No row number means anything
    to an index, so say yes unless the order of the rows is part of what it is good at."""
    concurrent: bool | None = None
    """Whether `query` may be called from several threads at once. Default: yes, but for adapters."""
    description: Annotated[str, AfterValidator(_one_line), Field(min_length=1)]
    """One line for the tables."""
    build: Annotated[dict[DatasetKey, BuildArguments], AfterValidator(_given)] = {DEFAULT: {}}
    """Arguments of the constructor."""
    query: Annotated[dict[DatasetKey, QueryList], AfterValidator(_given)]
    """Arguments of set_query_arguments: a list of query configs."""
    space: Space | None = None
    """What `ann-bench tune` may change ([tuning](../tune.md))."""
    tuned: Tuned | None = None
    """There where `ann-bench tune` has found the arguments; results and tables say so."""

    @field_validator("pins")
    @classmethod
    def _pins_fit(cls, pins: list[str], info: ValidationInfo) -> list[str]:
        check_together(pins, info.data.get("requires", ()))
        return pins

    @model_validator(mode="after")
    def _one_of_the_two(self) -> EntryConfig:
        if (self.class_ is None) is (self.command is None):
            raise ValueError("an entry has either `class` (module.Class) or `command` (a program that speaks the wire)")
        return self

    @model_validator(mode="after")
    def _space_fits(self) -> EntryConfig:
        """Every argument in the space is one that the entry has, for each data set."""
        given = {
            "build": list(self.build.values()),
            "query": [config for configs in self.query.values() for config in configs],
        }
        for kind, space in (("build", self.space.build), ("query", self.space.query)) if self.space else ():
            known = set.intersection(*(set(arguments) for arguments in given[kind]))
            for name in space:
                if name not in known:
                    raise ValueError(
                        f"space.{kind}.{name}: no such argument in each of `{kind}` (in all: {sorted(known)})"
                    )
        return self

    @property
    def module(self) -> str:
        """The first part of `class`: a file or a package in the entry's folder; "" where the entry is a program."""
        return (self.class_ or "").split(".", 1)[0]

    @property
    def answers_at_once(self) -> bool:
        """Whether several threads may call `query` at once; what was written for others asks one question at a time."""
        if self.concurrent is None:
            return not (self.class_ or "").startswith("ann_bench.adapters.")
        return self.concurrent

    def build_for(self, dataset: str) -> dict[str, Any] | None:
        """The build arguments for this data set; None where config.yaml has none."""
        return _lookup(self.build, dataset)

    def queries_for(self, dataset: str) -> list[dict[str, Any]] | None:
        """The query configs for this data set; None where config.yaml has none."""
        return _lookup(self.query, dataset)


def _lookup(configs: Mapping[str, Value], dataset: str) -> Value | None:
    """What stands under the name itself, else under the longest `prefix*` of it, else under `default`."""
    if dataset in configs:
        return configs[dataset]
    prefixes = [key for key in configs if key.endswith("*") and dataset.startswith(key[:-1])]
    return configs.get(max(prefixes, key=len, default=DEFAULT))
