"""Answers under tags."""

from __future__ import annotations

from hypothesis import strategies as st

from ann_bench.check.case import Case
from ann_bench.check.checks.answers import asked_by, kinds, one_config, rows
from ann_bench.check.explore import seeds, smallest
from ann_bench.check.make import Asking, plain
from ann_bench.check.registry import Verdict, check
from ann_bench.check.rules import invalid
from ann_bench.check.subject import Kind, Subject
from ann_bench.check.vectors import NOWHERE, TAGS

_bag = st.sets(st.integers(0, NOWHERE - 1), max_size=3)


def _case(subject: Subject, kind: Kind, seed: int, tags: tuple[list[set[int]], list[set[int]]], asking: Asking) -> Case:
    held, wanted = tags
    base = rows(subject, kind, len(held), seed)
    queries = asked_by(subject, kind, base, seed)[: len(wanted)]
    return plain(subject, kind, (base, queries), Asking(asking.configs, asking.k, None, held, wanted))


@check("tags", needs="filtered")
def tags(subject: Subject) -> Verdict:
    """Rows without tags, queries without tags, queries for several: every answer holds ALL the tags of its query."""

    def case(kind: Kind, seed: int, held: list[set[int]], wanted: list[set[int]], asking: Asking) -> Case:
        return _case(subject, kind, seed, (held, wanted), asking)

    held, wanted = st.lists(_bag, min_size=1, max_size=40), st.lists(_bag, min_size=1, max_size=6)
    return smallest(subject, st.builds(case, kinds(subject), seeds, held, wanted, one_config(subject)), invalid)


@check("no-match", needs="filtered")
def no_match(subject: Subject) -> Verdict:
    """Queries for a tag that no row holds, alone or beside others, and bases without any tag: no row is an answer."""

    def case(kind: Kind, seed: int, held: list[set[int]], beside: list[set[int]], asking: Asking) -> Case:
        return _case(subject, kind, seed, (held, [{NOWHERE} | one for one in beside]), asking)

    held = st.one_of(st.lists(st.just(set[int]()), min_size=1, max_size=20), st.lists(_bag, min_size=1, max_size=20))
    beside = st.lists(_bag, min_size=1, max_size=6)
    return smallest(subject, st.builds(case, kinds(subject), seeds, held, beside, one_config(subject)), invalid)


assert NOWHERE == TAGS - 1
