"""Runbooks: what a stream does to an index, step by step, in the grammar of big-ann-benchmarks.

    <data set>:
      max_pts: 10000                                                   # the most points that are live at once
      1: {operation: insert, start: 0, end: 7500}                      # base rows [0, 7500), under their own numbers
      2: {operation: search}                                           # all the queries
      3: {operation: replace, tags_start: 0, tags_end: 10, ids_start: 7500, ids_end: 7510}
      4: {operation: delete, start: 2500, end: 5000}                   # by number
      gt_url: https://...                                              # accepted and ignored

docs/tracks/streaming.md has the rules. A file may hold the runbooks of several data sets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml

from ann_bench import yamlfile
from ann_bench.datasets.live import LiveSet
from ann_bench.errors import UsageError, unknown
from ann_bench.workload import Delete, Insert, Operation, Replace, Search, Workload

_KEYS: dict[str, tuple[str, ...]] = {
    "insert": ("start", "end"),
    "delete": ("start", "end"),
    "replace": ("tags_start", "tags_end", "ids_start", "ids_end"),
    "search": (),
}
_BOUND, _IGNORED = "max_pts", "gt_url"


def read_runbook(path: Path, dataset: str, rows: int, search: Search) -> Workload:
    """The operations of the runbook for a data set with so many base rows: operation `i` is step `i + 1`.

    `search` is what each search step asks. The whole of it is checked before anything runs. Raises UsageError, one
    line with file, line, data set, step and the rule that is broken.
    """
    tree = yamlfile.compose(path)
    if not isinstance(tree, yaml.MappingNode):
        raise UsageError(f"{path}:1: a runbook begins with the name of its data set: `{dataset}:`")
    books = {name.value: book for name, book in tree.value if isinstance(name, yaml.ScalarNode)}
    if dataset not in books:
        known = ", ".join(books) or "no data set"
        raise UsageError(f"{path}: a runbook for {known}, not for {dataset}: name the one that belongs to it")
    return _Reading(path, dataset, rows, search).workload(books[dataset])


@dataclass(frozen=True)
class _Reading:
    """One data set's runbook, while it is read."""

    path: Path
    dataset: str
    rows: int
    search: Search

    def workload(self, book: yaml.Node) -> Workload:
        if not isinstance(book, yaml.MappingNode):
            raise self.wrong(book, "", f"expected {_BOUND} and numbered steps")
        steps: dict[int, yaml.Node] = {}
        bound = None
        for key, value in book.value:
            number = _integer(key)
            if number is not None:
                steps[self._number(key, number, steps)] = value
            elif key.value == _BOUND:
                bound = self._bound(value)
            elif key.value != _IGNORED:
                raise self._unknown("key", key, (_BOUND, _IGNORED), ", and steps numbered from 1")
        if bound is None:
            raise self.wrong(book, "", f"the key {_BOUND!r} is missing: the most points that are live at once")
        for expected, number in enumerate(sorted(steps), 1):
            if number != expected:
                raise self.wrong(
                    steps[number], f"step {number}", f"there is no step {expected} before it: leave no gap"
                )
        operations = tuple(self._operation(number, steps[number]) for number in sorted(steps))
        if not any(isinstance(operation, Search) for operation in operations):
            raise self.wrong(book, "", "no search: a runbook asks at least once")
        self._replay(operations, [steps[number] for number in sorted(steps)], bound)
        return Workload(operations, max_points=bound)

    def wrong(self, node: yaml.Node, where: str, rule: str) -> UsageError:
        """The error for a broken rule at this place."""
        line = node.start_mark.line + 1
        return UsageError(f"{self.path}:{line}: {self.dataset}{where and f', {where}'}: {rule}")

    def _unknown(self, kind: str, node: yaml.Node, valid: Iterable[str], more: str = "", where: str = "") -> UsageError:
        return self.wrong(node, where, f"{unknown(kind, _shown(node), valid)}{more}")

    def _number(self, key: yaml.Node, number: int, steps: dict[int, yaml.Node]) -> int:
        if number < 1:
            raise self.wrong(key, f"step {number}", "steps are numbered from 1")
        if number in steps:
            raise self.wrong(key, f"step {number}", "stands here a second time")
        return number

    def _bound(self, value: yaml.Node) -> int:
        bound = _integer(value)
        if bound is None or bound < 1:
            raise self.wrong(value, "", f"{_BOUND} is a whole number from 1 on, found {_shown(value)!r}")
        return bound

    def _operation(self, number: int, step: yaml.Node) -> Operation:
        where = f"step {number}"
        if not isinstance(step, yaml.MappingNode):
            raise self.wrong(step, where, "expected `operation: ...` and its keys")
        given = {_shown(key): (key, value) for key, value in step.value}
        if "operation" not in given:
            raise self.wrong(step, where, "the key 'operation' is missing")
        kind = given.pop("operation")[1]
        if not isinstance(kind, yaml.ScalarNode) or kind.value not in _KEYS:
            raise self._unknown("operation", kind, _KEYS, where=where)
        needed = _KEYS[kind.value]
        for name, (key, _) in given.items():
            if name not in needed:
                raise self._unknown(f"key of {kind.value}", key, needed, where=where)
        for name in needed:
            if name not in given:
                raise self.wrong(step, where, f"the key {name!r} of {kind.value} is missing")
        values = {name: self._value(where, name, value) for name, (_, value) in given.items()}
        return self._typed(where, step, kind.value, values)

    def _value(self, where: str, name: str, node: yaml.Node) -> int:
        value = _integer(node)
        if value is None:
            raise self.wrong(node, where, f"{name} is a whole number, found {_shown(node)!r}")
        return value

    def _typed(self, where: str, step: yaml.Node, kind: str, values: dict[str, int]) -> Operation:
        names = _KEYS[kind]
        ranges = []
        for first, last in zip(names[::2], names[1::2], strict=True):
            low, high = values[first], values[last]
            if low < 0:
                raise self.wrong(step, where, f"{first} {low} is below 0")
            if low >= high:
                how = "empty" if low == high else "reversed"
                raise self.wrong(step, where, f"the range {first} {low} to {last} {high} is {how}")
            if high > self.rows:
                raise self.wrong(step, where, f"{last} {high} is beyond the data set's {self.rows} rows")
            ranges.append(range(low, high))
        if kind == "search":
            return self.search
        if kind == "insert":
            return Insert(ids=ranges[0], rows=ranges[0])
        if kind == "delete":
            return Delete(ids=ranges[0])
        tags, rows = ranges
        if len(tags) != len(rows):
            raise self.wrong(step, where, f"{len(tags)} tags are replaced by {len(rows)} rows: give as many")
        return Replace(ids=tags, rows=rows)

    def _replay(self, operations: tuple[Operation, ...], steps: list[yaml.Node], bound: int) -> None:
        """Check every step against what is live when its turn comes."""
        live = LiveSet()
        for number, (operation, step) in enumerate(zip(operations, steps, strict=True), 1):
            where = f"step {number}"
            if isinstance(operation, Insert):
                twice = live.first_present(operation.ids)
                if twice is not None:
                    raise self.wrong(step, where, f"insert of id {twice}, which is live already")
                live.add(operation.ids)
                if len(live) > bound:
                    raise self.wrong(step, where, f"{len(live)} points are live, {_BOUND} is {bound}")
            elif isinstance(operation, Delete | Replace):
                absent = live.first_absent(operation.ids)
                if absent is not None:
                    what = "delete of id" if isinstance(operation, Delete) else "replace of tag"
                    raise self.wrong(step, where, f"{what} {absent}, which is not live")
                if isinstance(operation, Delete):
                    live.remove(operation.ids)


def _integer(node: yaml.Node) -> int | None:
    """The whole number that a plain scalar is, in decimal digits; None where it is none."""
    if not isinstance(node, yaml.ScalarNode) or node.tag != "tag:yaml.org,2002:int":
        return None
    return int(node.value) if re.fullmatch(r"[+-]?(0|[1-9][0-9]{0,17})", node.value) else None


def _shown(node: yaml.Node) -> str:
    """What stands there, in a word."""
    return str(node.value) if isinstance(node, yaml.ScalarNode) else "a list or mapping"
