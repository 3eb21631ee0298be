"""The figures that a table shows of a result, under which heads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from rich.text import Text

from ann_bench.report import format as show
from ann_bench.results.figures import Figures

#: A head, and what stands under it.
Columns = dict[str, Callable[[Figures], str | Text]]

_PRECISION: Columns = {"precision": lambda one: show.recall(one.precision)}
_TUNED: Columns = {"tuned": lambda one: "yes" if one.tuned else "no"}


def recall_head(figures: Iterable[Figures], k: int) -> str:
    """What stands at the head of the recalls."""
    names = {one.measured for one in figures}
    return names.pop() if len(names) == 1 else f"recall@{k}"


def columns(figures: Sequence[Figures], k: int, *, wide: bool) -> Columns:
    """Of streams also the worst search, the changes and the whole time; in short where the table is not `wide`.

    Where any entry was tuned, a column tells which.
    """
    return _own_columns(figures, k, wide=wide) | (_TUNED if any(one.tuned for one in figures) else {})


def _own_columns(figures: Sequence[Figures], k: int, *, wide: bool) -> Columns:
    head = recall_head(figures, k)
    if any(one.changes for one in figures):
        found: Columns = {
            head: lambda one: show.recall(one.recall),
            "least": lambda one: show.recall(one.least_recall),
            "QPS": lambda one: _plain(one.qps),
            "inserts/s": lambda one: _plain(one.inserts_per_second),
            "deletes/s": lambda one: _plain(one.deletes_per_second),
            "total s": lambda one: show.seconds(one.total_seconds),
            "memory": lambda one: show.size(one.peak_memory_bytes),
        }
        return {head: one for head, one in found.items() if wide or head != "deletes/s"}
    if any(one.single for one in figures):
        return {head: lambda one: show.recall(one.recall), **_single(wide=wide)}
    return {
        head: lambda one: show.recall(one.recall),
        **(_PRECISION if any(one.ranged for one in figures) else {}),
        "QPS, 95 %": lambda one: Text((show.rate if wide else show.short_rate)(one.qps, one.qps_low, one.qps_high)),
        "build s": partial(_built, wide=wide),
        "memory": lambda one: show.size(one.peak_memory_bytes),
    }


def _single(*, wide: bool) -> Columns:
    """Of queries that were put one by one: milliseconds, and queries a second."""
    found: Columns = {
        "p50 ms": lambda one: show.milliseconds(one.p50),
        "p90": lambda one: show.milliseconds(one.p90),
        "p95": lambda one: show.milliseconds(one.p95),
        "p99": lambda one: show.milliseconds(one.p99),
        "p99.9": lambda one: show.milliseconds(one.p999),
        "max": lambda one: show.milliseconds(one.slowest),
        "wire": lambda one: show.milliseconds(one.wire),
        "QPS": lambda one: _plain(one.qps),
    }
    return {head: one for head, one in found.items() if wide or head not in ("p90", "p95", "wire")}


def of_the_best(all_of_them: Columns) -> Columns:
    """Those that stand in the table of the best as well."""
    return {head: one for head, one in all_of_them.items() if head not in ("build s", "memory", "deletes/s")}


def _built(one: Figures, *, wide: bool) -> str:
    """The time of a build; where the table is wide, also how well it is known."""
    interval = (one.build_seconds_low, one.build_seconds_high) if wide else (math.nan, math.nan)
    return show.seconds_within(one.build_seconds, *interval)


def _plain(rate: float) -> str:
    """A rate in three digits, without an interval."""
    return show.number(rate, show.unit(rate, math.nan, math.nan))
