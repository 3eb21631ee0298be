"""What a run will do: every configuration with its identity, before anything is measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import ann_bench
from ann_bench.arrays import Ref
from ann_bench.datasets.dataset import Dataset
from ann_bench.datasets.fingerprint import fingerprint
from ann_bench.entries.entry import Entry, entry_hash, plan_configs
from ann_bench.errors import UsageError
from ann_bench.judge.disguise import Challenge, Disguise, disguised
from ann_bench.judge.mode import TRIALS, Mode, Wish, mode_of
from ann_bench.judge.provenance import machine
from ann_bench.judge.repeat import Repeat
from ann_bench.results.model import Identity, Outcome, Status
from ann_bench.sandbox import LEAST_MEMORY, Environment, Sandbox
from ann_bench.tracks import Track
from ann_bench.workload import Limits, Workload


@dataclass(frozen=True)
class Options:
    """How to measure, where the track's own choice is not wanted: None stands for the track's or the machine's."""

    k: int | None = None
    runs: int | None = None
    builds: int = 1
    cpus: int | None = None
    cpuset: tuple[int, ...] = ()
    memory_bytes: int | None = None
    build_seconds: float | None = None
    timeout_seconds: float | None = None
    repeat: Repeat = field(default_factory=Repeat)
    challenge: Challenge | None = None
    wish: Wish = field(default_factory=Wish)


@dataclass(frozen=True)
class Setting:
    """What all the measurements of one run have in common.

    `seed` is that of an earlier result, where it is measured once more; None: one of its own for each job.
    `disguise` is how entries see the data; None: as they are. It is there while a run with a `challenge` measures.
    """

    track: Track
    dataset: Dataset
    workload: Workload
    sandbox: Sandbox
    limits: Limits
    k: int
    runs: int
    builds: int
    cpus: tuple[int, ...]
    manifest: str = ""
    seed: int | None = None
    repeat: Repeat = field(default_factory=Repeat)
    challenge: Challenge | None = None
    disguise: Disguise | None = None

    @property
    def shown(self) -> Disguise:
        """The data as entries see them, and the way back."""
        assert self.disguise or not self.challenge, "a challenge is measured within Plan.shown()"
        return self.disguise or Disguise(self.dataset)

    mode: Mode | None = None
    least_recall: float | None = None


@dataclass(frozen=True)
class Config:
    """One measurement to make: its identity, and the query arguments that it stands for."""

    identity: Identity
    query: dict[str, Any]


@dataclass(frozen=True)
class Job:
    """One entry with all its query configs, and what it runs on; `refusal` says why it is not even started."""

    entry: Entry
    build: dict[str, Any]
    configs: tuple[Config, ...]
    environment: dict[str, Any]
    refusal: Outcome | None = None

    def dataset(self, dataset: Dataset) -> Dataset:
        """The data set as the entry may see it: with sample queries to learn from only where it wants them."""
        return dataset if self.entry.config.learn else replace(dataset, learn=None)


@dataclass(frozen=True)
class Plan:
    """All that a run will do; `left_out` are entries that nobody named and that are not installed here."""

    setting: Setting
    jobs: tuple[Job, ...] = field(default=())
    left_out: tuple[Entry, ...] = field(default=())

    def configs(self) -> Iterator[tuple[Job, Config]]:
        """Every measurement, with the job that it belongs to."""
        for job in self.jobs:
            for config in job.configs:
                yield job, config

    @contextmanager
    def shown(self) -> Iterator[Plan]:
        """The same plan with the data in disguise, where it is a challenge; its files last as long as the block."""
        challenge = self.setting.challenge
        if challenge is None:
            yield self
            return
        what = {"rows": challenge.rows, "columns": challenge.columns}
        with disguised(self.setting.dataset, challenge.seed, **what, stream=self.setting.workload) as disguise:
            yield replace(self, setting=replace(self.setting, disguise=disguise))


def setting(track: Track, dataset: Dataset, sandbox: Sandbox, options: Options, manifest: str = "") -> Setting:
    """Bring track, data set, machine and the user's wishes together."""
    k = options.k or track.k
    workload = track.workload(dataset, k)
    limits = track.limits.but(
        cpus=options.cpus,
        memory_bytes=options.memory_bytes,
        build_seconds=options.build_seconds or options.timeout_seconds,
        operation_seconds=options.timeout_seconds,
        run_seconds=options.timeout_seconds if track.limits.run_seconds else None,
    )
    free = sandbox.cpus()
    absent = [cpu for cpu in options.cpuset if cpu not in free]
    if absent:
        raise UsageError(f"the CPUs {_shown(absent)} are not there or not free; those that can be used: {_shown(free)}")
    if options.cpuset:
        limits = limits.but(cpus=min(limits.cpus, len(options.cpuset)))
    limits = sandbox.fit(limits)
    if limits.memory_bytes < LEAST_MEMORY:
        given, least = limits.memory_bytes / 2**20, LEAST_MEMORY / 2**20
        raise UsageError(
            f"a memory limit of {given:.3g} MiB is below what the worker itself needs; give {least:.0f}m or more"
        )
    mode = mode_of(options.wish, workload, track.name, limits.cpus)
    searching = mode is not None and mode.searches
    if searching and options.runs == 1:
        raise UsageError("--rate max needs more runs than --runs 1: the first one only shows which rates to try")
    usual = TRIALS if searching else track.runs
    return Setting(
        track=track,
        dataset=dataset,
        workload=workload,
        sandbox=sandbox,
        limits=limits,
        k=k,
        runs=1 if workload.mutates else options.repeat.runs(options.runs, usual, options.builds),
        builds=options.builds,
        cpus=(options.cpuset or tuple(free))[: limits.cpus],
        manifest=manifest or dataset.name,
        repeat=options.repeat.fitting(
            options.builds, mutates=workload.mutates, searches=mode is not None and mode.searches
        ),
        challenge=options.challenge,
        mode=mode,
        least_recall=options.wish.recall,
    )


def _shown(cpus: Sequence[int]) -> str:
    return ",".join(map(str, cpus))


def plan(common: Setting, entries: Sequence[Entry], *, wanted: bool = True) -> Plan:
    """One job for each entry; UsageError where two configurations could not be told apart.

    Where the entries are not `wanted` by name but are whatever there is, those that are not installed are left out,
    unless that would leave nothing.
    """
    if not entries:
        raise UsageError(f"there are no entries for the track {common.track.name!r} here; name one with --entry PATH")
    hashes = data_hashes(common.dataset)
    jobs = tuple(_job(common, entry, hashes) for entry in entries)
    seen: set[str] = set()
    for job in jobs:
        for config in job.configs:
            if config.identity.key in seen:
                raise UsageError(f"{job.entry.config_file}: the query config {config.query} stands there twice")
            seen.add(config.identity.key)
    absent = [] if wanted else [job for job in jobs if _is_absent(job)]
    if len(absent) == len(jobs):
        absent = []
    return Plan(common, tuple(job for job in jobs if job not in absent), tuple(job.entry for job in absent))


def _is_absent(job: Job) -> bool:
    return job.refusal is not None and job.refusal.status is Status.NOT_INSTALLED


def data_hashes(dataset: Dataset) -> dict[str, str | None]:
    """The content hashes of all that a measurement reads."""

    def of(ref: Ref | None) -> str | None:
        return None if ref is None else fingerprint(ref)

    queries = dataset.queries
    return {
        "base": of(dataset.base),
        "tags": of(dataset.tags),
        "queries": of(queries.vectors),
        "query_tags": of(queries.tags),
        "learn": of(dataset.learn),
    }


def _job(common: Setting, entry: Entry, hashes: dict[str, str | None]) -> Job:
    build, queries = plan_configs(entry, common.dataset.name)
    here = common.sandbox.environment(entry)
    shared = _identity_fields(common, entry, hashes, here)
    configs = tuple(Config(Identity({**shared, "build": build, "query": query}), query) for query in queries)
    about = {"open_source": entry.config.open_source, "description": entry.config.description}
    return Job(entry, build, configs, {**here.details, **about}, _refusal(common, here, len(queries)))


def _identity_fields(common: Setting, entry: Entry, hashes: dict[str, str | None], here: Environment) -> dict[str, Any]:
    image = {"image": here.image} if here.image else {}
    tuned = {"tuned": entry.config.tuned.model_dump()} if entry.config.tuned else {}
    mode = common.mode
    asks = {"mode": mode.to_json(), "callers": mode.callers(entry, common.limits.cpus)} if mode else {}
    return {
        "track": common.track.name,
        "dataset": common.dataset.name,
        "queries": common.dataset.queries.name,
        "algorithm": entry.name,
        "k": common.k,
        "runs": common.runs,
        "builds": common.builds,
        **common.repeat.to_json(),
        **({"seed_argument": entry.config.seed} if entry.config.seed else {}),
        **({"any_order": True} if entry.config.any_order and common.builds > 1 else {}),
        "sandbox": common.sandbox.name,
        "cpus": common.limits.cpus,
        "memory_limit_bytes": common.limits.memory_bytes,
        "limits": asdict(common.limits),
        "data_hash": hashes,
        "metric": common.dataset.metric,
        "workload": common.workload.to_json(),
        "entry_hash": entry_hash(entry),
        "packages": {**here.packages, "ann-bench": ann_bench.__version__},
        "machine": machine()["cpu_model"],
        **image,
        **({"challenge": common.challenge.to_json()} if common.challenge else {}),
        **tuned,
        **asks,
    }


def _refusal(common: Setting, here: Environment, configs: int) -> Outcome | None:
    allowed = common.track.query_configs
    if configs > allowed:
        return Outcome(Status.RULE_BROKEN, f"{configs} query configs; the track allows {allowed}")
    return Outcome(Status.NOT_INSTALLED, here.missing) if here.missing else None
