"""How an entry fails: an exception inside the judge, a named outcome in the results."""

from __future__ import annotations

import signal

from ann_bench.results.model import Outcome, Status
from ann_bench.sandbox import Exit

#: Lines of the entry's log that an outcome keeps.
LOG_LINES = 20

#: Characters of a detail that are kept: it is to be one line.
DETAIL_CHARACTERS = 300

#: Characters of the log's last line that the detail of a crash ends with.
LAST_WORDS = 160


class EntryFailure(Exception):
    """The entry failed; `over` says whether its worker is of no more use."""

    def __init__(self, status: Status, detail: str, *, over: bool = True) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = "".join(c if c.isprintable() else " " for c in detail)[:DETAIL_CHARACTERS]
        self.over = over

    def within(self, where: str) -> EntryFailure:
        """The same failure, its detail saying where it happened."""
        return EntryFailure(self.status, f"in {where}: {self.detail}", over=self.over)


def outcome_of(failure: EntryFailure, log: str) -> Outcome:
    """The failure as it is stored, with the last lines of the log."""
    return Outcome(failure.status, failure.detail, "\n".join(log.splitlines()[-LOG_LINES:]))


def from_exit(end: Exit, doing: str) -> EntryFailure:
    """What it means that the worker ended, or hung up, while the judge waited for it."""
    if end.out_of_memory:
        peak = f"{end.reading.peak_anonymous_bytes / 2**20:,.0f} MiB"
        return EntryFailure(Status.OUT_OF_MEMORY, f"outgrew its memory limit during {doing} (seen: {peak})")
    if end.killed:
        return EntryFailure(Status.RULE_BROKEN, f"hung up on the judge during {doing}")
    if end.signal is not None:
        known = {number.value: number.name for number in signal.Signals}
        how = f"ended by {known.get(end.signal, f'signal {end.signal}')}"
    else:
        how = f"the process ended with exit code {end.code}"
    return EntryFailure(Status.CRASHED, f"{how} during {doing}{_last_words(end.log)}")


def _last_words(log: str) -> str:
    lines = (line.strip() for line in reversed(log.splitlines()))
    return next((f": {line[:LAST_WORDS]}" for line in lines if line), "")
