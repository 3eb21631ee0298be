"""What a wrapper folder of another benchmark defines, whatever its grammar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ann_bench import yamlfile
from ann_bench.errors import UsageError

#: The key of what holds for every data set, or for every metric.
ANY = "any"


@dataclass(frozen=True)
class Build:
    """One index to build and what to search it with; each search is a list of positional arguments.

    `group` is the label of its run group, `number` counts the builds of that group from 1, `of` says how many it has.
    """

    group: str
    number: int
    of: int
    arguments: tuple[Any, ...]
    queries: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Definition:
    """An algorithm for a data set, or for all (`any`), of a metric, or of all (`any`)."""

    name: str
    module: str
    constructor: str
    builds: tuple[Build, ...]
    dataset: str = ANY
    metric: str = ANY


@dataclass(frozen=True)
class Dialect:
    """How another benchmark writes its wrapper folders.

    `config` is the name of its config file; `read` gives the definitions in one; `adapter` is the class that runs them
    in the worker; `tracks` tells which tracks a folder serves; `named` says whether it wants a data set's name.
    """

    name: str
    config: str
    adapter: str
    read: Callable[[Path], list[Definition]]
    tracks: Callable[[Path, str], list[str]]
    named: bool


@dataclass(frozen=True)
class Spelling:
    """How a grammar writes keys of several words, and whether a text among the arguments is JSON."""

    separator: str
    strings: bool

    def key(self, *words: str) -> str:
        """A key of several words."""
        return self.separator.join(words)


@dataclass(frozen=True)
class Place:
    """A value in a config file that knows its line."""

    path: Path
    tree: yaml.Node | None
    value: Any
    where: tuple[Any, ...] = field(default=())

    def error(self, message: str, *, at: Sequence[Any] = ()) -> UsageError:
        """The error for this place, or for one below it."""
        where = [*self.where, *at]
        name = ".".join(map(str, where))
        line = yamlfile.line_of(self.tree, where)
        return UsageError(f"{self.path}:{line}: {name + ': ' if name else ''}{message}")

    def mapping(self, what: str) -> dict[str, Place]:
        """What lies below the keys; UsageError where it is no mapping."""
        if not isinstance(self.value, dict) or not self.value:
            raise self.error(f"expected {what}, found {shown(self.value)}")
        return {str(key): self.below(key) for key in self.value}

    def below(self, key: Any) -> Place:
        """What lies below one key or place of a list."""
        return Place(self.path, self.tree, self.value[key], (*self.where, key))

    def get(self, key: str) -> Place | None:
        """What lies below the key; None where it is not there."""
        return self.below(key) if key in self.value else None

    def text(self, key: str) -> str:
        """The text below a key that has to be there."""
        if not isinstance(self.value.get(key), str) or not self.value[key].strip():
            raise self.error(f"the key {key!r} is missing, or no text", at=[key] if key in self.value else [])
        return str(self.value[key]).strip()

    def only(self, valid: Sequence[str]) -> None:
        """UsageError for a key that is none of the valid ones."""
        for key in self.value:
            if key not in valid:
                raise self.error(f"unknown key; allowed here: {', '.join(valid)}", at=[key])


def algorithm(place: Place, name: str, spelling: Spelling, where: tuple[str, str]) -> Definition | None:
    """One algorithm of a config, for `where`, a data set and a metric; None where it is disabled."""
    from ann_bench.entries.dialects.expand import base_arguments, builds

    if place.value.get("disabled", False) not in (True, False):
        raise place.error("true or false", at=["disabled"])
    groups = place.get(spelling.key("run", "groups"))
    if groups is None:
        raise place.error(f"the key {spelling.key('run', 'groups')!r} is missing")
    base = base_arguments(place, spelling.key("base", "args"))
    run_groups = groups.mapping("run groups by their labels")
    made = [one for label, group in run_groups.items() for one in builds(label, group, base, spelling)]
    module, constructor = place.text("module"), place.text("constructor")
    if place.value.get("disabled", False):
        return None
    return Definition(name, module, constructor, tuple(made), *where)


def shown(value: Any) -> str:
    """A value in a message: short."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def read_config(path: Path) -> Place:
    """The whole config; UsageError where it is no YAML, or repeats a key."""
    tree, value = yamlfile.parse(path)
    return Place(path, tree, value)
