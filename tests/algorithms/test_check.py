"""Every entry keeps the contract on every track that it serves, or its README says why not.

Entries that this Python cannot run are tried where ANN_BENCH_TEST_ENVIRONMENTS names the cache that holds their virtual
environments (`ann-bench install --sandbox process`); .ci/entries does that, group by group.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from ann_bench.check.kit import FAILED, NOT_APPLICABLE, NOT_RUN, PASSED, Options, Result, examine
from ann_bench.entries.entry import Entry
from ann_bench.sandbox import find_sandbox
from ann_bench.tracks import find_track, list_tracks
from tests.algorithms.support import entries

EVERY = [
    pytest.param(entry, id=f"{track.name}-{name}")
    for track in list_tracks()
    for name, entry in entries(track.name).items()
]

#: Cases for each rule; `ann-bench check` tries more.
EXAMPLES = 8

_PACKED = re.compile(r"\s+\"[A-Za-z0-9+/=]{40,}\"")
_EXCUSE = re.compile(r"^Not passed: ([a-z-]+): (\S.*)$", re.MULTILINE)


def excused(entry: Entry) -> set[str]:
    """The checks that the README says are not passed."""
    readme = entry.folder / "README.md"
    return {check for check, _ in _EXCUSE.findall(readme.read_text(encoding="utf-8") if readme.is_file() else "")}


@pytest.fixture
def environments(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where entries find the virtual environments that were made for them."""
    if made := os.environ.get("ANN_BENCH_TEST_ENVIRONMENTS"):
        monkeypatch.setenv("ANN_BENCH_CACHE", made)


@pytest.mark.slow
@pytest.mark.usefixtures("environments")
@pytest.mark.parametrize("entry", EVERY)
def test_an_entry_keeps_the_contract(entry: Entry) -> None:
    sandbox = find_sandbox("process")
    if lacking := sandbox.environment(entry).missing:
        pytest.skip(f"{entry.name}: {lacking}")
    report = examine(entry, find_track(entry.track), sandbox, Options(EXAMPLES, recall=False))
    wrong = unexcused(report.results, excused(entry))
    assert not wrong, "\n".join(f"{check}: {how}" for check, how in wrong.items())


def unexcused(results: list[Result], excuses: set[str]) -> dict[str, str]:
    """What is wrong with an entry: what failed without an excuse, and what was not run for another reason than one."""
    hindered = any(result.outcome == FAILED and result.check in excuses for result in results)
    return {
        result.check: f"{result.detail}\n{_short(result.snippet)}"
        for result in results
        if result.outcome not in (PASSED, NOT_APPLICABLE)
        and result.check not in excuses
        and not (result.outcome == NOT_RUN and hindered)
    }


def test_an_excuse_holds_for_what_is_not_run_because_of_it() -> None:
    first, later = Result("ordinary", "", FAILED), Result("twins", "", NOT_RUN)
    assert unexcused([first, later], {"ordinary"}) == {}
    assert set(unexcused([first, later], set())) == {"ordinary", "twins"}
    assert set(unexcused([first, later], {"zeros"})) == {"ordinary", "twins"}
    assert set(unexcused([first, Result("twins", "", FAILED)], {"ordinary"})) == {"twins"}
    assert set(unexcused([Result("ordinary", "", PASSED), later], {"ordinary"})) == {"twins"}


def _short(snippet: str) -> str:
    """A finding as a script holds its data, line after line."""
    return "\n".join(line for line in snippet.splitlines() if not _PACKED.match(line))


def test_excuses_name_checks() -> None:
    from ann_bench.check.checks import CHECKS

    known = {check.name for check in CHECKS}
    for parameter in EVERY:
        (entry,) = parameter.values
        assert excused(entry) <= known, f"{entry.name} excuses itself from a check that there is not"
