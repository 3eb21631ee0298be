"""What a check is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ann_bench.check.case import Finding
from ann_bench.check.subject import Subject


@dataclass(frozen=True)
class Skip:
    """Why a check says nothing about this entry, in one line."""

    why: str


#: What a check found: a case that fails, why it does not apply, or that the entry passed (with a word on how, or "").
Verdict: TypeAlias = "Finding | Skip | str"


@dataclass(frozen=True)
class Check:
    """One rule. `needs` names a feature that the track must have."""

    name: str
    rule: str
    run: Callable[[Subject], Verdict]
    needs: str = ""


def check(name: str, *, needs: str = "") -> Callable[[Callable[[Subject], Verdict]], Check]:
    """Make a function a check; its docstring is the rule."""
    return lambda run: Check(name, " ".join((run.__doc__ or "").split()), run, needs)
