"""Results that a newer one stands for."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ann_bench.results.figures import Figures, canonical
from ann_bench.results.model import Status

#: What an identity says of the version that was measured; all else in it says what was measured, and how.
VERSION = frozenset({"entry_hash", "packages"})

#: What says less than any measurement.
_LESS = {Status.NOT_INSTALLED.value: 0, Status.UNFINISHED.value: 1}


def newest(figures: Iterable[Figures], apart_from: Collection[str] = VERSION) -> list[Figures]:
    """Of results whose identities are equal apart from some fields only the newest, in the order given.

    Newest is by the date in the provenance; of equal dates the last given, and one without a date is the oldest. A
    result that says no more than `not-installed` never stands for one that was measured, nor an unfinished one for one
    that is whole.
    """
    figures = list(figures)
    kept: dict[str, Figures] = {}
    for one in sorted(figures, key=lambda one: (_LESS.get(one.status, 2), date(one))):
        kept[_rest(one, apart_from)] = one
    wanted = {id(one) for one in kept.values()}
    return [one for one in figures if id(one) in wanted]


def date(one: Figures) -> str:
    """When it was measured, as ISO 8601; "" where nobody knows."""
    return str(one.provenance.get("date", ""))


def _rest(one: Figures, apart_from: Collection[str]) -> str:
    return canonical({name: value for name, value in one.identity.fields.items() if name not in apart_from})
