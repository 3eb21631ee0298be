"""What a probe is, and what it can say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from ann_bench.audit.subject import Subject


class Verdict(str, Enum):
    """What came of a probe. `not applicable` and `not run` say nothing about the entry; the text says why."""

    PASS = "pass"  # noqa: S105  no password
    SUSPICIOUS = "suspicious"
    FAIL = "fail"
    NOT_APPLICABLE = "not applicable"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Finding:
    """A verdict, with the figures that it rests on in one line."""

    verdict: Verdict
    text: str = ""

    @staticmethod
    def gravest(*findings: Finding) -> Finding:
        """The first of the gravest of these."""
        return min(findings, key=lambda one: _GRAVEST_FIRST.index(one.verdict))

    @staticmethod
    def worst(*findings: Finding) -> Finding:
        """The gravest of these, with the texts of all that are as grave."""
        verdict = Finding.gravest(*findings).verdict
        return Finding(verdict, "; ".join(one.text for one in findings if one.verdict is verdict and one.text))


_GRAVEST_FIRST = (Verdict.FAIL, Verdict.SUSPICIOUS, Verdict.PASS, Verdict.NOT_APPLICABLE, Verdict.NOT_RUN)


@dataclass(frozen=True)
class Probe:
    """One question to an entry; `rule` is what an honest one does."""

    name: str
    rule: str
    run: Callable[[Subject], Finding]


def probe(name: str) -> Callable[[Callable[[Subject], Finding]], Probe]:
    """Make a function a probe; its docstring is the rule."""
    return lambda run: Probe(name, " ".join((run.__doc__ or "").split()), run)
