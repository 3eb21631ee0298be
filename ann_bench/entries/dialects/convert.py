"""From a wrapper folder of another benchmark to native entries, in memory or written out.

A native entry has one build for a data set. So every build of a folder is an entry of its own, called like dialect and
algorithm where that has no more than one, else with the label of its run group, and its number there. Definitions for
one metric carry the metric in their name.
"""

from __future__ import annotations

import json
import keyword
import logging
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ann_bench.entries.config import DEFAULT, EntryConfig
from ann_bench.entries.dialects import annbenchmarks, bigann
from ann_bench.entries.dialects.definitions import ANY, Build, Definition, Dialect
from ann_bench.entries.dialects.requires import Needs, needs
from ann_bench.entries.entry import Entry
from ann_bench.errors import UsageError

log = logging.getLogger(__name__)

DIALECTS = {dialect.name: dialect for dialect in (bigann.DIALECT, annbenchmarks.DIALECT)}

#: First names of modules that adapters bring, whatever the dialect.
_PROVIDED = ("benchmark", "neurips23", "ann_benchmarks")

#: Parameters of the adapters' own `set_query_arguments`.
_TAKEN = ("self", "arguments")

_PLACE = re.compile(r"(?P<path>.+?)(?:@(?P<section>[^@#/]+))?(?:#(?P<name>[^#/]+))?")


@dataclass(frozen=True)
class Foreign:
    """A wrapper folder as it was asked for: `section` stands for every data set, `name` chooses entries (`*`, `?`)."""

    dialect: Dialect
    config: Path
    section: str | None = None
    name: str = "*"

    @property
    def folder(self) -> Path:
        """The wrapper's folder."""
        return self.config.parent


def foreign(text: str) -> Foreign | None:
    """What `bigann:PATH[@SECTION][#NAME]` asks for, or the like of another dialect; None for any other text.

    Raises UsageError where there is no config at that place.
    """
    prefix, colon, rest = text.partition(":")
    if not colon or prefix not in DIALECTS:
        return None
    dialect = DIALECTS[prefix]
    if Path(rest).exists():
        return Foreign(dialect, _config(dialect, Path(rest)))
    match = _PLACE.fullmatch(rest)
    if match is None:
        raise UsageError(f"{text}: write {prefix}:PATH, the folder of a wrapper")
    return Foreign(dialect, _config(dialect, Path(match["path"])), match["section"], match["name"] or "*")


def _config(dialect: Dialect, path: Path) -> Path:
    if path.is_file():
        return path.resolve()
    file = path / dialect.config
    others = sorted(path.glob("*.y*ml"))
    if not file.is_file() and len(others) == 1:
        file = others[0]
    if not file.is_file():
        raise UsageError(f"{path}: no wrapper of {dialect.name}, there is no {dialect.config} in it")
    return file.resolve()


def entries(wanted: Foreign, track: str | None = None) -> list[Entry]:
    """The entries of a wrapper folder, each for `track`, or once for every track that it serves.

    What its files need and no package is known for is logged in one line. Raises UsageError where the config is none
    of its grammar, where all of it is disabled, or where nothing has the name that is asked for.
    """
    definitions = wanted.dialect.read(wanted.config)
    if not definitions:
        raise UsageError(f"{wanted.config}: every algorithm in it is disabled, or for points that are no floats")
    if wanted.section is not None:
        definitions = _only(definitions, wanted)
    need = needs(wanted.folder, _PROVIDED)
    if need.unknown:
        log.warning("%s", what_is_not_known(wanted.folder, need))
    found = [entry for one in _variants(definitions) for entry in _entries(wanted, one, need, track)]
    short = len(wanted.dialect.name) + 1
    chosen = [entry for entry in found if fnmatchcase(entry.name[short:], wanted.name)]
    if not chosen:
        names = ", ".join(dict.fromkeys(entry.name[short:] for entry in found))
        raise UsageError(f"{wanted.config}: nothing in it is called {wanted.name!r}; there is {names}")
    return chosen


def what_is_not_known(folder: Path, need: Needs) -> str:
    """One line about the imports for which no package is known."""
    return (
        f"{folder.name}: imports {', '.join(need.unknown)}, and neither its Dockerfile nor a requirements.txt names a "
        "package for that: install it here, or `ann-bench convert` it and complete `requires` or write a Dockerfile"
    )


def for_data(found: Sequence[Entry], dataset: str, metric: str) -> list[Entry]:
    """Those that have a build for this data set and are for its metric; a definition for the metric replaces `any`.

    Raises UsageError where there is none, with the names that there are.
    """
    of_metric = [entry for entry in found if entry.metric in ("", metric)]
    if not of_metric:
        metrics = ", ".join(sorted({entry.metric for entry in found}))
        raise UsageError(f"{found[0].config_file}: nothing in it is for the metric {metric!r}, only for {metrics}")
    replaced = {entry.name.removesuffix(f"-{metric}") for entry in of_metric if entry.metric}
    left = [entry for entry in of_metric if entry.metric or entry.name not in replaced]
    having = [entry for entry in left if entry.config.build_for(dataset) is not None]
    if not having:
        one = found[0]
        names = list(dict.fromkeys(key for entry in left for key in entry.config.build))
        raise UsageError(
            f"{one.config_file}: has nothing for the data set {dataset!r}, only for {', '.join(names)}; "
            f"to take one of these for it, write {one.dialect}:{one.folder}@{names[0]}"
        )
    return having


def _only(definitions: Iterable[Definition], wanted: Foreign) -> list[Definition]:
    """The definitions of one section alone."""
    chosen = [one for one in definitions if wanted.section in (one.dataset, one.metric)]
    if not chosen:
        sections = dict.fromkeys(name for one in definitions for name in (one.dataset, one.metric) if name != ANY)
        there = ", ".join(sections) or ANY
        raise UsageError(f"{wanted.config}: there is no section {wanted.section!r} in it, only {there}")
    return chosen


@dataclass(frozen=True)
class _Variant:
    """One entry to be: its name, and the definition and the build for each data set."""

    name: str
    parts: tuple[tuple[Definition, Build], ...]


def _variants(definitions: Sequence[Definition]) -> Iterator[_Variant]:
    """One for every build, the same build of several data sets together."""
    taken: set[str] = set()
    for name, metric in dict.fromkeys((one.name, one.metric) for one in definitions):
        mine = [one for one in definitions if (one.name, one.metric) == (name, metric)]
        single = all(len(one.builds) == 1 for one in mine)
        groups: dict[str, list[tuple[Definition, Build]]] = {}
        for one in mine:
            for build in one.builds:
                groups.setdefault("" if single else _label(build, mine), []).append((one, build))
        for label, parts in groups.items():
            words = [_plain(word) for word in (name, label, "" if metric == ANY else metric)]
            full = "-".join(word for word in words if word)
            number = next(n for n in range(1, len(taken) + 2) if (f"{full}-{n}" if n > 1 else full) not in taken)
            full = f"{full}-{number}" if number > 1 else full
            taken.add(full)
            yield _Variant(full, tuple(parts))


def _label(build: Build, definitions: Sequence[Definition]) -> str:
    """What tells a build from the others of its algorithm."""
    most = max(one.of for definition in definitions for one in definition.builds if one.group == build.group)
    labels = {one.group for definition in definitions for one in definition.builds}
    words = [build.group] if len(labels) > 1 or most == 1 else []
    return "-".join([*words, *([str(build.number)] if most > 1 else [])])


def _plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._")


def _entries(wanted: Foreign, variant: _Variant, need: Needs, track: str | None) -> list[Entry]:
    dialect, (first, _) = wanted.dialect, variant.parts[0]
    tracks = dialect.tracks(wanted.folder, first.module)
    if track is not None and track not in tracks:
        raise UsageError(f"{wanted.config}: the wrapper is for {', '.join(tracks)}, not for the track {track!r}")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", variant.name):
        raise UsageError(f"{wanted.config}: {first.name!r} holds no letters for the name of an entry")
    config = _native(wanted, variant, tracks, need)
    metric = "" if first.metric == ANY else first.metric
    name = f"{dialect.name}-{variant.name}"  # an entry of that name may be here already, of another hand
    return [
        Entry(name, one, wanted.folder, config, "path", dialect.name, wanted.config.name, metric, wanted.section or "")
        for one in ([track] if track else tracks)
    ]


def _native(wanted: Foreign, variant: _Variant, tracks: list[str], need: Needs) -> EntryConfig:
    build: dict[str, Any] = {}
    query: dict[str, Any] = {}
    for definition, one in variant.parts:
        key = DEFAULT if definition.dataset == ANY or wanted.section is not None else definition.dataset
        named = {"dataset": definition.dataset} if wanted.dialect.named and definition.dataset != ANY else {}
        build[key] = {
            "module": definition.module,
            "constructor": definition.constructor,
            "arguments": _values(list(one.arguments)),
            **named,
        }
        query[key] = _distinct([_search(arguments) for arguments in one.queries] or [{}])
    try:
        return EntryConfig.model_validate(
            {
                "class": wanted.dialect.adapter,
                "tracks": tracks,
                "requires": list(need.requires),
                "open_source": True,
                "learn": wants_samples(wanted.folder),
                "description": f"{variant.name}, a wrapper of {wanted.dialect.name}",
                "build": build,
                "query": query,
            }
        )
    except ValidationError as error:
        first = error.errors()[0]
        message = first["msg"].removeprefix("Value error, ")
        raise UsageError(f"{wanted.config}: {'.'.join(map(str, first['loc']))}: {message}") from error


def wants_samples(folder: Path) -> bool:
    """Whether a file of the wrapper asks its data set for queries, which here can only be samples to learn from."""
    pattern = re.compile(r"\bget_queries\b|\bget_query_train\b|\.qs_fn\b")
    return any(pattern.search(path.read_text("utf-8", "replace")) for path in folder.rglob("*.py") if path.is_file())


def _search(arguments: Sequence[Any]) -> dict[str, Any]:
    """A query config: of a single mapping its own keys, where Python can pass them by name, else a list."""
    values = _values(list(arguments))
    one = values[0] if len(values) == 1 and isinstance(values[0], dict) else {}
    if one and all(key.isidentifier() and not keyword.iskeyword(key) and key not in _TAKEN for key in one):
        return dict(one)
    return {"arguments": values} if values else {}


def _distinct(configs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({json.dumps(config, sort_keys=True): config for config in configs}.values())


def _values(value: Any) -> Any:
    """The value as JSON: numbers that JSON has not become words that the adapter knows."""
    if isinstance(value, dict):
        return {key: _values(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_values(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "@nan" if math.isnan(value) else "@inf" if value > 0 else "@-inf"
    return value
