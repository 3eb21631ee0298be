"""The search for a case that fails, and then for the smallest such case: Hypothesis, under a budget of time."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace

from hypothesis import HealthCheck, Phase, Verbosity, configuration, given, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisException, HypothesisWarning

from ann_bench.check.bench import Bench, TooManyHangs, Trace
from ann_bench.check.case import Case, Finding
from ann_bench.check.subject import Subject
from ann_bench.datasets.cache import cache_root

#: Seconds for the search, and from the first case that fails for the search for a smaller one.
SEARCH_SECONDS, SHRINK_SECONDS = 8.0, 8.0

#: Where each case takes a process of its own, the search is cut to this part.
ALONE = 4

Fault = Callable[[Case, Trace], str]

seeds = st.integers(0, 999)


class _Enough(BaseException):
    """The time is up; no exception that Hypothesis would take for a failure."""


class _Hanging(BaseException):
    """The entry hangs too often to go on."""


class _Failing(Exception):
    """This case fails."""


def smallest(subject: Subject, cases: st.SearchStrategy[Case], fault: Fault) -> Finding | str:
    """The smallest case found that `fault` has a word for; "" where there was none."""
    best: list[Finding] = []
    until = time.monotonic() + SEARCH_SECONDS / (ALONE if subject.bench.alone else 1)

    def attempt(case: Case) -> None:
        nonlocal until
        if time.monotonic() > until:
            raise _Enough
        try:
            text = fault(case, subject.bench.run(case))
        except TooManyHangs as error:
            raise (_Enough if best else _Hanging) from error
        if not text:
            return
        if not best:
            until = time.monotonic() + SHRINK_SECONDS
        if not best or best[0].case is None or case.weight < best[0].case.weight:
            best[:] = [Finding(text, case, threads=subject.bench.place.limits.cpus)]
        raise _Failing

    try:
        _search(cases, attempt, subject.examples)
    except _Hanging as error:
        raise TooManyHangs from error
    return confirmed(subject.bench, best[0], fault) if best else ""


def _search(cases: st.SearchStrategy[Case], attempt: Callable[[Case], None], examples: int) -> None:
    with _quiet(), contextlib.suppress(_Enough, _Failing, HypothesisException):
        settings(
            max_examples=examples,
            database=None,
            derandomize=True,
            deadline=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
            verbosity=Verbosity.quiet,
        )(given(cases)(attempt))()


def confirmed(bench: Bench, finding: Finding, fault: Fault) -> Finding:
    """The finding, as it shows in a process in which nothing has run before; not sure where it does not show there."""
    if finding.case is None:
        return finding
    try:
        text = fault(finding.case, bench.run(finding.case, fresh=True))
    except TooManyHangs:
        return replace(finding, sure=True)
    return replace(finding, text=text or finding.text, sure=bool(text))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without Hypothesis's warnings, and without its folder in the current one."""
    configuration.set_hypothesis_home_dir(cache_root() / "hypothesis")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HypothesisWarning)
        yield
