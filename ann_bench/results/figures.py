"""The figures of a bundle, derived from its raw answers and times on every reading."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ann_bench.results import ranges
from ann_bench.results.control import control_recall
from ann_bench.results.latency import columns, found_rates, latency, mode_text
from ann_bench.results.model import INVALID_KINDS, Bundle, Identity, Score, Status
from ann_bench.results.notes import notes
from ann_bench.results.repeats import canary_drift, goal_note, level_of, stopped
from ann_bench.results.rounds import answers_of
from ann_bench.results.stages import Stage, build_seconds, changes, changes_index, index_memory, stages
from ann_bench.stats import Estimate, mean, median, median_estimate, recall_estimate

Floats = npt.NDArray[np.float64]

#: The columns of tables and exports, in order.
COLUMNS = (
    "track", "dataset", "queries", "algorithm", "build", "query", "k", "status",
    "recall", "recall_strict", "recall_bigann", "recall_low", "recall_high",
    "qps", "qps_best", "qps_low", "qps_high",
    "build_seconds", "peak_memory_bytes", "sandbox", "cpus", "memory_limit_bytes", "runs", "control_recall",
    "searches", "least_recall", "search_seconds", "update_seconds",
    "inserts_per_second", "deletes_per_second", "replaces_per_second", "radius", "precision", "challenge",
    "canary_drift",
    "key",
    "mode", "rate", "p50", "p50_low", "p50_high", "p90", "p90_low", "p90_high", "p95", "p95_low", "p95_high",
    "p99", "p99_low", "p99_high", "p999", "p999_low", "p999_high", "slowest", "wire",
    "build_seconds_low", "build_seconds_high", "update_seconds_low", "update_seconds_high", "tuned",
    "index_memory_bytes",
)  # fmt: skip


@dataclass(frozen=True)
class Figures:
    """What one bundle says. The first fields are COLUMNS; a figure that was not measured is NaN (memory: None).

    `build` and `query` are canonical JSON. Recall lies within 0 and 1, `qps` counts queries per second. `invalid`
    counts the ids of each of INVALID_KINDS in the worst run; `notes` say what looks odd. `stages` has the figures of
    each operation, where the workload changes the index; `rates` are queries per second by build and run
    (by build where the highest rate was looked for). Of range searches `recall` is average precision (`radius` is NaN
    of all others); `measured` names what it is. `challenge` says what was changed of the data that the entry saw
    ("": nothing). Where queries were put one by one (`mode`),
    `p50` to `p999` and `slowest` are seconds from when a query was due, `wire` those of a call without the entry, and
    `rate` is the one asked for or found, which then is `qps` too. A bundle that is not `ok` has the figures of what it
    did measure; they are no result.
    """

    track: str
    dataset: str
    queries: str
    algorithm: str
    build: str
    query: str
    k: int
    status: str
    recall: float
    recall_strict: float
    recall_bigann: float
    recall_low: float
    recall_high: float
    qps: float
    qps_best: float
    qps_low: float
    qps_high: float
    build_seconds: float
    peak_memory_bytes: int | None
    sandbox: str
    cpus: int
    memory_limit_bytes: int
    runs: int
    control_recall: float = math.nan
    searches: int = 0
    least_recall: float = math.nan
    search_seconds: float = math.nan
    update_seconds: float = math.nan
    inserts_per_second: float = math.nan
    deletes_per_second: float = math.nan
    replaces_per_second: float = math.nan
    radius: float = math.nan
    precision: float = math.nan
    challenge: str = ""
    canary_drift: float = math.nan
    key: str = ""
    mode: str = "batch"
    rate: float = math.nan
    p50: float = math.nan
    p50_low: float = math.nan
    p50_high: float = math.nan
    p90: float = math.nan
    p90_low: float = math.nan
    p90_high: float = math.nan
    p95: float = math.nan
    p95_low: float = math.nan
    p95_high: float = math.nan
    p99: float = math.nan
    p99_low: float = math.nan
    p99_high: float = math.nan
    p999: float = math.nan
    p999_low: float = math.nan
    p999_high: float = math.nan
    slowest: float = math.nan
    wire: float = math.nan
    build_seconds_low: float = math.nan
    build_seconds_high: float = math.nan
    update_seconds_low: float = math.nan
    update_seconds_high: float = math.nan
    tuned: str = ""
    index_memory_bytes: int | None = None
    detail: str = ""
    notes: tuple[str, ...] = ()
    invalid: Mapping[str, int] = field(default_factory=dict)
    stages: tuple[Stage, ...] = ()
    rates: tuple[tuple[float, ...], ...] = ()
    identity: Identity = field(default_factory=lambda: Identity({}))
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether the measurement went well, so that its figures count."""
        return self.status == Status.OK.value

    @property
    def normalised_recall(self) -> float:
        """Recall on a scale on which a guess (random live rows that pass the filter) has 0 and exact search 1.

        NaN where nobody noted what a guess would have.
        """
        chance = self.provenance.get("chance_recall")
        if not isinstance(chance, int | float) or chance >= 1:
            return math.nan
        return (self.recall - chance) / (1 - chance)

    @property
    def changes(self) -> bool:
        """Whether the workload changes the index after it was built: a stream."""
        return changes_index(self.identity.fields.get("workload", ()))

    @property
    def stopped(self) -> bool:
        """Whether it was measured until its intervals were narrow, so that a verdict on it takes more certainty."""
        return stopped(self.identity.fields)

    @property
    def single(self) -> bool:
        """Whether queries were put one by one."""
        return "mode" in self.identity.fields

    @property
    def measured(self) -> str:
        """What `recall` is, for the heads of tables and the axes of pictures."""
        return "AP" if self.ranged else f"recall@{self.k}"

    @property
    def ranged(self) -> bool:
        """Whether all rows within a radius were asked for."""
        return math.isfinite(self.radius)

    @property
    def total_seconds(self) -> float:
        """Seconds of all builds, changes and searches of a run; NaN where there was no search."""
        parts = (self.build_seconds, self.update_seconds, self.search_seconds)
        return math.fsum(0.0 if math.isnan(part) else part for part in parts) + 0 * self.search_seconds

    def row(self) -> dict[str, Any]:
        """The values of COLUMNS; None where nothing was measured."""
        values = {name: getattr(self, name) for name in COLUMNS}
        return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in values.items()}


def _name(identity: Identity) -> str:
    """The entry; one with arguments that were tuned is never called like one without."""
    name = str(identity["algorithm"])
    return f"{name} (tuned)" if "tuned" in identity.fields and "tuned" not in name else name


def figures(bundle: Bundle) -> Figures:
    """Derive all the figures of a bundle; docs/results.md says how each is defined."""
    identity = bundle.identity
    means = np.array([_mean_of(score, score.hits) for score in bundle.scores])
    recall = _recall(bundle, means)
    built, updates = build_seconds(bundle), changes(bundle)
    streams = changes_index(identity.fields.get("workload", ()))
    rates, level = _rates(bundle), level_of(bundle)
    single = latency(bundle, level)
    goal = goal_note(bundle, rates, _runs(_used(bundle), means)) if stopped(identity.fields) else ""
    found = found_rates(bundle)
    qps = median_estimate(rates, level) if found is None else single.rate
    return Figures(
        track=str(identity["track"]),
        dataset=str(identity["dataset"]),
        queries=str(identity["queries"]),
        algorithm=_name(identity),
        build=canonical(identity["build"]),
        query=canonical(identity["query"]),
        k=int(identity["k"]),
        status=bundle.outcome.status.value,
        recall=recall.value,
        recall_strict=_plain_recall(bundle, lambda score: _mean_of(score, score.hits_strict)),
        recall_bigann=_plain_recall(bundle, lambda score: _bigann(score, int(identity["k"]))),
        recall_low=recall.low,
        recall_high=recall.high,
        qps=qps.value,
        qps_best=float(np.nanmax(rates)) if np.isfinite(rates).any() and found is None else qps.value,
        qps_low=qps.low,
        qps_high=qps.high,
        build_seconds=built.value,
        peak_memory_bytes=bundle.usage.peak_memory_bytes or None,
        sandbox=str(identity["sandbox"]),
        cpus=int(identity["cpus"]),
        memory_limit_bytes=int(identity["memory_limit_bytes"]),
        runs=_runs_made(bundle),
        control_recall=control_recall(bundle),
        searches=len(bundle.counts),
        least_recall=_least_recall(bundle, means),
        search_seconds=_search_seconds(bundle),
        update_seconds=updates.seconds.value,
        inserts_per_second=updates.insert_rate,
        deletes_per_second=updates.delete_rate,
        replaces_per_second=updates.replace_rate,
        radius=ranges.radius_of(identity.fields.get("workload", ())),
        precision=_plain_recall(bundle, ranges.precision),
        canary_drift=canary_drift(bundle),
        challenge=str(identity.fields.get("challenge", {}).get("changes", "")),
        key=identity.key,
        mode=mode_text(identity.fields.get("mode")),
        rate=single.rate.value,
        **columns(single),
        slowest=single.slowest,
        wire=single.wire,
        build_seconds_low=built.low,
        build_seconds_high=built.high,
        update_seconds_low=updates.seconds.low,
        update_seconds_high=updates.seconds.high,
        tuned="yes" if "tuned" in identity.fields else "",
        index_memory_bytes=index_memory(bundle),
        detail=bundle.outcome.detail,
        notes=tuple(filter(None, (*notes(bundle), *single.notes, goal))),
        invalid=_invalid(bundle),
        stages=stages(bundle, means) if streams else (),
        rates=tuple(map(tuple, (rates if found is None else found[:, np.newaxis]).tolist())),
        identity=identity,
        provenance=bundle.provenance,
    )


@dataclass(frozen=True)
class Repeats:
    """Recall and QPS of every run, (builds, runs), NaN: not measured; recall of every query (queries,)."""

    recalls: Floats
    rates: Floats
    queries: Floats


def repeats(bundle: Bundle) -> Repeats:
    """What the figures of a bundle are medians and means of."""
    means = np.array([_mean_of(score, score.hits) for score in bundle.scores])
    used, rates = _used(bundle), _rates(bundle)
    rounds = _runs(used, means).reshape(*rates.shape, -1)
    recalls = np.array([[mean(run) for run in build] for build in rounds]).reshape(rates.shape)
    return Repeats(recalls, rates, _query_means(used, _queries(bundle, means), means))


def _runs_made(bundle: Bundle) -> int:
    """Runs of a build: as many as were wished for, or as it took to reach an interval."""
    reached = "until" in bundle.identity.fields and bundle.seconds.size
    return int(bundle.seconds.shape[1] if reached else bundle.identity["runs"])


def canonical(value: Any) -> str:
    """JSON in which equal values are equal texts: sorted keys, no blanks."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _mean_of(score: Score, hits: npt.NDArray[Any]) -> float:
    """What the recall of one batch is: average precision where searches have a radius."""
    return (ranges.share_found if score.returned is not None else _recall_of)(hits, score.possible)


def _recall_of(hits: npt.NDArray[Any], possible: npt.NDArray[Any]) -> float:
    """The mean of hits / possible over the queries that have answers, summed in whole numbers; NaN without any."""
    sums = np.bincount(possible, weights=hits)
    queries = np.bincount(possible)
    return math.fsum(sums[1:] / np.arange(1, len(sums))) / total if (total := int(queries[1:].sum())) else math.nan


def _counted(measured: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which (build, run, search) count: those of whole runs; of broken-off ones only where no run is whole."""
    whole = measured.all(axis=2, keepdims=True)
    return measured & whole if whole.any() else measured


def _rates(bundle: Bundle) -> Floats:
    """Queries per second of each run, (builds, runs): all its queries over the sum of its search times."""
    seconds = bundle.seconds
    used = _counted(np.isfinite(seconds)) if seconds.size else np.zeros(seconds.shape, dtype=np.bool_)
    counts = np.asarray(bundle.counts, dtype=np.float64).reshape(-1)
    asked = (used * counts).sum(axis=2)
    taken = np.where(used, seconds, 0.0).sum(axis=2)
    rates = np.full(asked.shape, np.nan)
    np.divide(asked, taken, out=rates, where=taken > 0)
    return rates


def _used(bundle: Bundle) -> npt.NDArray[np.int32]:
    """Answers of (builds, rounds of all runs, searches), -1 wherever one does not count: a round counts as a run."""
    rounds = answers_of(bundle)
    given = rounds.reshape(len(rounds), -1, rounds.shape[-1]) if rounds.size else bundle.answer_of
    return np.where(_counted(given >= 0), given, -1).astype(np.int32) if given.size else given


def _runs(used: npt.NDArray[np.int32], means: Floats) -> Floats:
    """The mean over the searches of each run, (builds, runs), from one mean for each answer."""
    values = np.append(means, np.nan)[used]
    return np.array([[mean(searches) for searches in runs] for runs in values]).reshape(used.shape[:2])


def run_recalls(answer_of: npt.NDArray[np.int32], scores: Sequence[Score]) -> Floats:
    """The recall of every run that was measured whole, (builds, runs)."""
    return _runs(answer_of, np.array([_mean_of(score, score.hits) for score in scores]))


def _plain_recall(bundle: Bundle, of: Callable[[Score], float]) -> float:
    """The mean over queries, then searches, then runs, then builds."""
    means = np.array([of(score) for score in bundle.scores])
    return mean([mean(runs) for runs in _runs(_used(bundle), means)])


def _bigann(score: Score, k: int) -> float:
    """Recall as big-ann-benchmarks has it: every query, also one with fewer than k true answers, counts k."""
    if score.returned is not None:
        return ranges.bigann_precision(score)
    count = len(score.hits_bigann)
    return int(score.hits_bigann.sum(dtype=np.int64)) / (k * count) if count else math.nan


def _least_recall(bundle: Bundle, means: Floats) -> float:
    """The least of the recalls of the searches; that of a search is its mean over runs, then builds."""
    values = np.append(means, np.nan)[_used(bundle)]
    searches = [mean([mean(runs) for runs in values[:, :, search]]) for search in range(values.shape[2])]
    return min((recall for recall in searches if not math.isnan(recall)), default=math.nan)


def _search_seconds(bundle: Bundle) -> float:
    """The time of all searches of a run: the median over runs, then builds."""
    used = _counted(np.isfinite(bundle.seconds)) if bundle.seconds.size else np.zeros(bundle.seconds.shape, bool)
    sums = np.where(used.any(axis=2), np.where(used, bundle.seconds, 0.0).sum(axis=2), np.nan)
    return median([median(runs) for runs in sums])


def _recall(bundle: Bundle, means: Floats) -> Estimate:
    """Tie-tolerant recall with its interval."""
    used = _used(bundle)
    queries = _query_means(used, _queries(bundle, means), means)
    return recall_estimate(_runs(used, means), queries, level_of(bundle))


def _queries(bundle: Bundle, means: Floats) -> list[Floats]:
    """For each answer the share of each query in its recall."""
    return [
        score.recalls if score.returned is None else ranges.query_shares(score, float(value))
        for score, value in zip(bundle.scores, means, strict=True)
    ]


def _query_means(used: npt.NDArray[np.int32], queries: list[Floats], means: Floats) -> Floats:
    """For each query its share in the recall, (queries,); the spread over them is what queries contribute.

    Search s asks the first of the queries; query q is the same one in all of them. With one search a share is
    the mean over the runs of the query's recall; with several it is the linear part of the mean over searches
    (each may leave out other queries) in that query.
    """
    total = max((len(values) for values in queries), default=0)
    shares, ever = np.zeros(total), np.zeros(total, dtype=np.bool_)
    answers, times = np.unique(used[used >= 0], return_counts=True)
    for answer, weight in zip(answers.tolist(), (times / max(times.sum(), 1)).tolist(), strict=True):
        known = np.flatnonzero(~np.isnan(queries[answer]))
        if len(known):
            shares[known] += (weight / len(known)) * (queries[answer][known] - means[answer])
            ever[known] = True
    return np.where(ever, shares * ever.sum(), np.nan)


def _invalid(bundle: Bundle) -> dict[str, int]:
    """Invalid ids of each kind in the run that has the most of them."""
    given = answers_of(bundle)
    runs = np.zeros((*given.shape[:3], len(INVALID_KINDS)), dtype=np.int64)
    for (*place, _), answer in np.ndenumerate(given):
        if answer >= 0:
            runs[tuple(place)] += [bundle.scores[answer].invalid.get(kind, 0) for kind in INVALID_KINDS]
    runs = runs.reshape(-1, len(INVALID_KINDS))
    worst = runs[int(runs.sum(axis=1).argmax())].tolist() if len(runs) else [0] * len(INVALID_KINDS)
    return dict(zip(INVALID_KINDS, worst, strict=True))
