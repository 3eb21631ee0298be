"""What a maker of synthetic data is: a name, a pattern of data set names, and files written block by block."""

from __future__ import annotations

import difflib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from ann_bench.errors import UsageError
from ann_bench.progress import Progress, silent

if TYPE_CHECKING:
    from ann_bench.datasets.manifest import Make, Manifest

#: So many rows can a data set have that is made by its name.
LEAST_ROWS, MOST_ROWS = 100, 2**31 - 1

_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}


@dataclass(frozen=True)
class Part:
    """Which file of a data set: `group` is `base` or a query set's name, `kind` is `vectors`, `tags` or `truth`.

    The runbook has the group `runbook` and the kind `file`.
    """

    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.group}.{self.kind}"


class MakerArguments(BaseModel):
    """Arguments of a maker; makers add their own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: int


@dataclass(frozen=True)
class Order:
    """One file to be made: which part, with which arguments; `need` gives the path of another part, made first.

    `dataset` is the name of the data set that it is made for.
    """

    part: Part
    arguments: Any
    need: Callable[[Part], Path]
    progress: Progress = silent
    dataset: str = ""


class Maker(ABC):
    """A generator of data sets of any size.

    Same arguments and same `version`, same bytes, on every machine; raise `version` when the bytes change.
    A maker of parts only, which other manifests name, has no `tracks`.
    """

    name: str
    version: int
    description: str
    tracks: tuple[str, ...]
    model: type[MakerArguments]

    @property
    def pattern(self) -> str:
        """How its data sets are called, for people."""
        return f"{self.name}-<N>"

    def arguments(self, make: Make) -> Any:
        """The checked arguments of a `make:`; raises UsageError that names the first wrong key."""
        try:
            return self.model(seed=make.seed, **make.own)
        except ValidationError as error:
            raise UsageError(self._wrong(error)) from error

    def _wrong(self, error: ValidationError) -> str:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            valid = ["generator", *self.model.model_fields]
            near = difflib.get_close_matches(key, valid, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"valid: {', '.join(valid)}"
            return f"unknown key {key!r} for generator {self.name}; {hint}"
        message = first["msg"].removeprefix("Value error, ")
        return f"{key and f'{key} for '}generator {self.name}: {message[:1].lower()}{message[1:]}"

    def manifest(self, name: str) -> Manifest | None:
        """The manifest of the data set with this name; None where the name is not of the maker's pattern."""
        if not self.tracks:
            return None
        prefix = f"{self.name}-"
        rows = parse_count(name.removeprefix(prefix)) if name.startswith(prefix) else None
        return None if rows is None else self.manifest_of(f"{prefix}{show_count(rows)}", rows)

    @abstractmethod
    def manifest_of(self, name: str, rows: int) -> Manifest:
        """The manifest of the data set of this size; raises UsageError where the size cannot be made."""

    def made(self, name: str, rows: int, **fields: Any) -> Manifest:
        """A manifest all of whose arrays are made by this maker with seed 1: `fields` are the keys of their own.

        Of these `parts` are the kinds of arrays, by default vectors only, and `sets` the names of the query sets.
        Raises UsageError where the number of rows cannot be made.
        """
        from ann_bench.datasets.manifest import Manifest

        if not LEAST_ROWS <= rows <= MOST_ROWS:
            raise UsageError(f"data set {name!r}: between {LEAST_ROWS} and {MOST_ROWS:,} rows can be made")
        make = {"make": {"generator": self.name, "seed": 1, "rows": rows}}
        arrays = dict.fromkeys(fields.pop("parts", ("vectors",)), make)
        sets = fields.pop("sets", ("public", "private"))
        return Manifest.model_validate(
            {
                "name": name,
                "tracks": list(self.tracks),
                "base": arrays,
                "queries": dict.fromkeys(sets, arrays),
                "licence": "CC0-1.0",
                "source": f"made here by ann-bench, generator {self.name}",
                **fields,
            }
        )

    @abstractmethod
    def suffix(self, part: Part) -> str:
        """The suffix of the part's file, `.u8bin`; raises UsageError where the maker has no such part."""

    @abstractmethod
    def size(self, part: Part, arguments: Any) -> int:
        """About how many bytes the part's file will take."""

    @abstractmethod
    def write(self, order: Order, target: Path) -> None:
        """Make the file, atomically, in blocks."""


def parse_count(text: str) -> int | None:
    """A count as people write it: 2500, 100k, 1M, 8.8M; None where it is none.

    >>> parse_count("8.8M")
    8800000
    """
    found = re.fullmatch(r"([0-9]{1,12})(?:\.([0-9]{1,9}))?([kKmMgG]?)", text)
    if not found:
        return None
    whole, part, unit = found[1], found[2] or "", found[3]
    factor = _UNITS[{"K": "k", "m": "M", "g": "G"}.get(unit, unit)]
    count, rest = divmod(int(whole + part) * factor, 10 ** len(part))
    return count if rest == 0 and count > 0 else None


def show_count(count: int) -> str:
    """The one way that a count is written in a name: `2500`, `100k`, `8.8M`; with a unit from 10,000 on.

    >>> show_count(8_800_000)
    '8.8M'
    """
    for unit in ("G", "M", "k"):
        tenths, rest = divmod(count * 10, _UNITS[unit])
        if count >= 10_000 and rest == 0 and tenths >= 10:
            return f"{tenths // 10}{f'.{tenths % 10}' if tenths % 10 else ''}{unit}"
    return str(count)
