"""What one measurement is: identity, outcome, raw answers and times. Figures are derived from it, never stored."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ann_bench.ragged import Ragged

#: The ids of one batch as they are stored: int32 (queries, k), or those within a radius.
Answers: TypeAlias = "npt.NDArray[np.int32] | Ragged"


class Status(str, Enum):
    """How a measurement ended."""

    OK = "ok"
    OUT_OF_MEMORY = "out-of-memory"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    INVALID_ANSWER = "invalid-answer"
    RULE_BROKEN = "rule-broken"
    NOT_INSTALLED = "not-installed"
    UNFINISHED = "unfinished"


@dataclass(frozen=True)
class Outcome:
    """A status, one line that says why, and the last lines of the entry's own log."""

    status: Status
    detail: str = ""
    log: str = ""


@dataclass(frozen=True)
class Identity:
    """Everything that makes a measurement this one and no other; its hash names the file.

    `fields` is JSON: `track dataset queries algorithm build query k runs builds sandbox cpus
    memory_limit_bytes` (shown in tables) and what they stand for (`data_hash entry_hash packages workload
    limits machine`).
    """

    fields: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]

    @property
    def key(self) -> str:
        """32 hexadecimal digits over all the fields."""
        text = json.dumps(self.fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


#: The kinds of invalid ids that are counted, in the order in which an id is tested.
INVALID_KINDS = ("out_of_range", "duplicate", "not_live", "fails_filter")


#: Thresholds at which the answers of a range search are counted.
CURVE = 100

Counts: TypeAlias = "npt.NDArray[np.unsignedinteger[Any]]"


@dataclass(frozen=True)
class Score:
    """What one array of answers is worth, query by query; every array has shape (queries,).

    `hits` are the tie-tolerant ones, `hits_strict` those whose id is in the truth, `hits_bigann` big-ann's;
    `possible` is min(k, true answers). `invalid` counts the answers of each kind of INVALID_KINDS.

    Of a range search `possible` counts all true answers, `returned` all ids that were given, and `curve` (2, CURVE) the
    answers and the right ones below each of CURVE thresholds of the distance, over all queries.
    """

    hits: Counts
    hits_strict: Counts
    hits_bigann: Counts
    possible: Counts
    invalid: Mapping[str, int]
    returned: Counts | None = None
    curve: npt.NDArray[np.int64] | None = None

    @property
    def recalls(self) -> npt.NDArray[np.float64]:
        """Recall of each query; NaN where there is nothing to find."""
        found = np.full(len(self.hits), np.nan)
        np.divide(self.hits, self.possible, out=found, where=self.possible > 0)
        return found


#: The kinds of calls: those before any operation, those of operations, and the control batches.
STEP_KINDS = ("create", "set", "setup", "build", "insert", "delete", "replace", "search", "control", "warmup")


@dataclass(frozen=True)
class Step:
    """One call of the entry: which build and run it belongs to, its place in the workload, what it cost.

    A large insert or replace is several calls, each a block of its rows. `run` is -1 for what the runs of a build
    share. `operation` is the place among the workload's operations (a `control` batch has that of its search), -1 for
    `setup`, and for `create` (import and constructor), `set` (set_query_arguments) and `warmup` (a batch before the
    runs), which are part of no figure and are noted so that nothing is built unseen. `began` counts seconds from the
    moment when `create` was called (NaN in files from before it was noted); `memory_bytes` is what the sandbox held
    after the call, `points` how many points or queries it carried.
    """

    build: int
    operation: int
    kind: str
    seconds: float
    cpu_seconds: float
    run: int = -1
    began: float = math.nan
    memory_bytes: int = 0
    points: int = 0


@dataclass(frozen=True)
class Usage:
    """What the sandbox saw over the whole life of the entry (the worst of the builds).

    CPU seconds inside and outside the timed windows since the query config began, summed over the process tree
    (those of the build are in its step); `processes` is the most
    processes that lived in it at once.
    """

    peak_memory_bytes: int = 0
    peak_anonymous_bytes: int = 0
    peak_file_bytes: int = 0
    cpu_inside_seconds: float = 0.0
    cpu_outside_seconds: float = 0.0
    processes: int = 0


@dataclass(frozen=True)
class Control:
    """Batches of queries that nobody has seen before: those of the query set with a little noise. Raw, in no figure.

    The noise follows from `seed`, `variant` (one of the `variants` of a run) and the data. `numbers[s]` are the queries
    of search `s` whose answers are kept and scored, ascending. `seconds[b, s]` is how long the batch took (all queries;
    NaN: it never ended), `answer_of[b, s]` which of `answers` (sample, k) and `scores` it gave (-1: none).
    `cpu_seconds[b, s]` is what it used in that time, `published_cpu_seconds[b, r, s]` what the run's batch used.
    """

    seed: int
    variants: int
    variant: int
    numbers: tuple[npt.NDArray[np.int64], ...]
    seconds: npt.NDArray[np.float64]
    cpu_seconds: npt.NDArray[np.float64]
    published_cpu_seconds: npt.NDArray[np.float64]
    answer_of: npt.NDArray[np.int32]
    answers: tuple[Answers, ...]
    scores: tuple[Score, ...]


@dataclass(frozen=True)
class Asks:
    """Times of single queries, of results whose queries were put one by one. Raw; seconds from the beginning of a pass.

    `due`, `sent` and `answered` have shape (builds, runs, asks), the queries of all searches one after the other, in
    the order of the query set, and once more for every further round of the pass: when a query was scheduled (where
    clients wait: when it was sent), when the client sent it, when its answer had been copied. NaN: never. `null`
    (builds, runs, searches, calls) are seconds of calls in which the entry had no part. `busy` (builds, runs,
    searches) is the share of the time in which the client itself was at work, `rate` the queries a second that were
    asked for (NaN: clients that wait). `answer_of` (builds, runs, rounds, searches) says which of the answers a round
    gave (-1: there was none); None where every query was asked once, as in files from before there were rounds.
    """

    due: npt.NDArray[np.float64]
    sent: npt.NDArray[np.float64]
    answered: npt.NDArray[np.float64]
    null: npt.NDArray[np.float64]
    busy: npt.NDArray[np.float64]
    rate: npt.NDArray[np.float64]
    answer_of: npt.NDArray[np.int32] | None = None


@dataclass(frozen=True)
class Bundle:
    """One measurement, raw.

    `answers` holds the distinct arrays of ids (queries, k), in the order of the query set, -1 where there is
    no answer (or the lists of ids of range searches); `scores` one score for each. `answer_of[b, r, s]` says which
    of them build `b`, run `r`, search `s` gave (-1: it never came), `seconds[b, r, s]` how long that batch took (NaN:
    never). Of queries that were put one by one it is the first round, and the mean time of a round.
    `counts[s]` is the number of queries in search `s`. `truths` are the keys of the ground truths, one per search.
    `steps` are all the calls, build by build in the order of time.
    `control` is None where no control batch came back, as in files from before there were any; `asks` where whole
    batches were put.
    """

    identity: Identity
    outcome: Outcome
    provenance: Mapping[str, Any] = field(default_factory=dict)
    counts: tuple[int, ...] = ()
    seconds: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0, 0)))
    answer_of: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 0, 0), np.int32))
    answers: tuple[Answers, ...] = ()
    scores: tuple[Score, ...] = ()
    steps: tuple[Step, ...] = ()
    usage: Usage = field(default_factory=Usage)
    truths: tuple[str, ...] = ()
    stats: Mapping[str, Any] = field(default_factory=dict)
    control: Control | None = None
    asks: Asks | None = None
