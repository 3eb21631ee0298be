"""What must be equal for results to stand side by side, and the refusal that names what is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ann_bench.errors import UsageError
from ann_bench.results.model import Bundle, Identity
from ann_bench.results.store import Damaged, Store

#: What must be equal for figures to be compared: everything else that an identity says is the entry's own.
CONDITIONS = (
    "track", "dataset", "queries", "k", "metric", "workload", "data_hash",
    "sandbox", "cpus", "memory_limit_bytes", "limits", "machine", "challenge", "mode",
)  # fmt: skip

#: What else tells one machine from another, as the provenance has it. A new kernel or Python makes no other machine.
MACHINE = ("cores", "architecture", "governor")

#: Results of different data are no rivals: they stand side by side in any table.
PLACE = ("track", "dataset", "queries", "k", "challenge", "mode")

_REMEDIES = {
    "data_hash": "the data are not the same; measure both on one version of the data set",
    "workload": "the operations are not the same; measure both with one version of the track",
    "machine": "measure both on one machine",
    "sandbox": "measure both in one kind of sandbox: --sandbox docker",
}
_USUAL = "measure both under the same limits and options"


@dataclass(frozen=True)
class Difference:
    """A field that is not the same in two results; parts of a field are named with a dot: `limits.memory_bytes`."""

    field: str
    one: Any
    other: Any

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return _REMEDIES.get(self.field.partition(".")[0], _USUAL)

    def __str__(self) -> str:
        return f"`{self.field}` differs: {_shown(self.one)} and {_shown(self.other)}"


class Measured(Protocol):
    """A bundle, or its figures."""

    @property
    def identity(self) -> Identity:
        """What was measured."""
        ...

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Where and when."""
        ...


def conditions(identity: Identity, provenance: Mapping[str, Any]) -> dict[str, Any]:
    """The conditions of one result; of its machine all that is known."""
    found = {name: identity.fields.get(name) for name in CONDITIONS if name != "machine"}
    known = provenance.get("machine")
    rest = {name: known.get(name) for name in MACHINE} if isinstance(known, Mapping) else {}
    return {**found, "machine": {"cpu_model": identity.fields.get("machine"), **rest}}


def place_of(identity: Identity) -> tuple[str, ...]:
    """What a result has in common with its rivals: the values of PLACE, as texts; "" where there is none."""
    return tuple(str(identity.fields.get(name) or "") for name in PLACE)


def first_difference(one: Mapping[str, Any], other: Mapping[str, Any], path: str = "") -> Difference | None:
    """The first field in which they differ, by name, looking into mappings; None where there is none.

    A field that one of them does not have (None) counts, but not within `machine`: older files say less of it.
    """
    for name in dict.fromkeys((*one, *other)):
        mine, yours = one.get(name), other.get(name)
        where = f"{path}{name}"
        if isinstance(mine, Mapping) and isinstance(yours, Mapping):
            if deeper := first_difference(mine, yours, f"{where}."):
                return deeper
        elif mine != yours and not (path == "machine." and None in (mine, yours)):
            return Difference(where, mine, yours)
    return None


def must_agree(one: Measured, other: Measured, names: tuple[str, str]) -> None:
    """Raise UsageError, naming the field, unless both were measured under the same conditions.

    `names` say in the message which results they are.
    """
    found = first_difference(conditions(one.identity, one.provenance), conditions(other.identity, other.provenance))
    if found is not None:
        raise UsageError(f"{names[0]} and {names[1]} cannot be put together: {found}; {found.remedy}")


def scan_folders(
    folders: Sequence[Path], wanted: Callable[[Bundle], bool] = lambda bundle: True, *, alike: bool | None = None
) -> Iterator[Bundle | Damaged]:
    """The wanted bundles of several results folders (without their ids), and all that is damaged in them, as one.

    Where they are to be `alike`, by default where there is more than one folder, results of one track, data set, query
    set and k must agree in all conditions: otherwise UsageError, which names the field and two of the files. (One
    folder may hold what it likes; who puts folders together thinks that they belong together.) Other errors as
    `Store.scan`.
    """
    agreement = Agreement(len(folders) > 1 if alike is None else alike)
    for folder in folders:
        store = Store(folder)
        for item in store.scan():
            if isinstance(item, Damaged):
                yield item
            elif wanted(item):
                agreement.check(store.path(item.identity), item)
                yield item


class Agreement:
    """Looks whether results may stand together, one after the other, where that is asked for."""

    def __init__(self, asked: bool) -> None:
        self.asked = asked
        self._first: dict[tuple[str, ...], tuple[Path, Measured]] = {}

    def check(self, path: Path, item: Measured) -> None:
        """Raise UsageError where a result does not agree with the first of its place, as `must_agree`."""
        if self.asked:
            known, rival = self._first.setdefault(place_of(item.identity), (path, item))
            must_agree(rival, item, (str(known), str(path)))


class Unlike:
    """Looks for results that stand together, as the same words tell of their conditions, and come from two machines.

    Rankings keep results apart by what their identities say; of a machine that is the model of the CPU.
    """

    def __init__(self) -> None:
        self._first: dict[str, tuple[Path, Measured]] = {}
        self._told: set[tuple[str, str]] = set()

    def look(self, path: Path, item: Measured) -> str:
        """One line, at the first result of each group in which a field differs; else empty."""
        group = repr([item.identity.fields.get(name) for name in CONDITIONS])
        known, rival = self._first.setdefault(group, (path, item))
        found = first_difference(
            conditions(rival.identity, rival.provenance), conditions(item.identity, item.provenance)
        )
        if found is None or (group, found.field) in self._told:
            return ""
        self._told.add((group, found.field))
        return f"{known} and {path} stand together, but {found}"


def _shown(value: Any) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
