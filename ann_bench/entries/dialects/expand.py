"""The rules by which a run group of either grammar stands for many builds and many searches.

They are those of ann-benchmarks and big-ann-benchmarks: a list is a product over its members, where a member that is
no list counts as a list of one; a mapping is a product over those of its values that are lists, and gives mappings;
groups are expanded each by itself, then as a list. In big-ann-benchmarks a text is JSON instead: a list that is taken
as it is, one member for each build or search. The two rules give different things for the same list.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any

from ann_bench.entries.dialects.definitions import Build, Place, Spelling, shown
from ann_bench.errors import UsageError

#: More builds or searches than anybody measures: a product that grew over its author's head.
MOST = 10_000


def expand(place: Place, *, strings: bool) -> list[Any]:
    """What `args` or `query-args` stand for: one member for each build or search."""
    value = place.value
    if isinstance(value, str):
        if not strings:
            raise _refused(place, strings=strings)
        return _json(place, value)
    if isinstance(value, list):
        return _product(place, [member if isinstance(member, list) else [member] for member in value])
    if isinstance(value, dict):
        choices = [[(key, one) for one in (v if isinstance(v, list) else [v])] for key, v in value.items()]
        return [dict(combination) for combination in _product(place, choices)]
    raise _refused(place, strings=strings)


def expand_groups(place: Place, *, strings: bool) -> list[Any]:
    """What `arg-groups` or `query-arg-groups` stand for."""
    if not isinstance(place.value, list):
        raise place.error(f"expected a list of groups, found {shown(place.value)}")
    groups = [
        expand(place.below(number), strings=strings) if isinstance(group, dict) else group
        for number, group in enumerate(place.value)
    ]
    return _product(place, [group if isinstance(group, list) else [group] for group in groups])


def builds(group: str, place: Place, base: list[Any], spelling: Spelling) -> Iterator[Build]:
    """The builds of one run group."""
    args, arg_groups = "args", spelling.key("arg", "groups")
    query_args, query_groups = spelling.key("query", "args"), spelling.key("query", "arg", "groups")
    place.mapping(f"a run group, with {args} or {arg_groups}")
    place.only((args, arg_groups, query_args, query_groups))
    made = _either(place, arg_groups, args, spelling)
    if made is None:
        raise place.error(f"a run group needs {args} or {arg_groups}")
    searches = _either(place, query_groups, query_args, spelling) or []
    queries = tuple(tuple(one) if isinstance(one, list) else (one,) for one in searches)
    for number, one in enumerate(made, start=1):
        yield Build(group, number, len(made), (*base, *(one if isinstance(one, list) else [one])), queries)


def _either(place: Place, groups: str, args: str, spelling: Spelling) -> list[Any] | None:
    """The expansion of the groups, where there are any, else of the arguments; None where neither is there."""
    found = place.get(groups) or place.get(args)
    if found is None:
        return None
    rule = expand_groups if found.where[-1] == groups else expand
    expanded = rule(found, strings=spelling.strings)
    _check_values(found, expanded)
    return expanded


def _product(place: Place, choices: list[list[Any]]) -> list[list[Any]]:
    count = prod(map(len, choices))
    if count > MOST:
        raise place.error(f"stands for {count:,} combinations, more than {MOST:,}")
    return [list(combination) for combination in product(*choices)]


def _json(place: Place, text: str) -> list[Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise place.error(f"a text here is JSON, and this is none ({error}); allowed: {_ALLOWED_TOO}") from error
    if not isinstance(value, list):
        raise place.error(f"the JSON here is a list, one member for each build or search, not {shown(value)}")
    return value


_ALLOWED = "a list (a product over its members) or a mapping (a product over its lists)"
_ALLOWED_TOO = f"{_ALLOWED}, or JSON as text (a list, one member for each)"


def _refused(place: Place, *, strings: bool) -> UsageError:
    return place.error(f"found {shown(place.value)}; allowed: {_ALLOWED_TOO if strings else _ALLOWED}")


def _check_values(place: Place, value: Any) -> None:
    """UsageError for a value that JSON does not know, such as a date, or a number that is none."""
    try:
        _check(value)
    except ValueError as error:
        raise place.error(f"{error}; allowed are texts, numbers, true, false, null, lists and mappings") from error


def _check(value: Any) -> None:
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise ValueError(f"a key that is no text in {shown(value)}")
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            _check(inner)
    elif not isinstance(value, str | int | float | bool | type(None)):
        raise ValueError(f"{shown(value)} is no value that can be passed on")


def base_arguments(place: Place, key: str) -> list[Any]:
    """The arguments before those of every run group; none where the key is missing or empty."""
    found = place.get(key)
    if found is None or not found.value:
        return []
    if not isinstance(found.value, list):
        raise found.error(f"expected a list, found {shown(found.value)}")
    _check_values(found, found.value)
    return list(found.value)
