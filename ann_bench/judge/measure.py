"""Measure one job: builds, query configs, repeats; whatever the entry does, every configuration gets a result."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ann_bench.judge.events import TakesTurns, Teller, Watch, unwatched
from ann_bench.judge.one_build import Keep, OneBuild
from ann_bench.judge.party import Journal, Seat, Team, parties, play
from ann_bench.judge.plan import Config, Job, Setting
from ann_bench.judge.record import Questions, Record
from ann_bench.judge.repeat import Spent
from ann_bench.judge.unfinished import rescue
from ann_bench.judge.variety import orders
from ann_bench.results.model import Bundle

#: The seed of a result that was never started.
REFUSED = 0

KeepOf = Callable[[Job, Bundle], None]
Wanted = Sequence[tuple[Job, Sequence[Config]]]


@dataclass(frozen=True)
class Observer:
    """Who else hears of a measurement: `watch` of what goes on; `unfinished` gets what an interrupt leaves.

    That is each configuration with whole runs, as a result that says that it is unfinished; None: it is dropped.
    """

    watch: Watch = unwatched
    unfinished: KeepOf | None = None


#: Nobody else.
NOBODY = Observer()


def measure(setting: Setting, job: Job, configs: Sequence[Config], questions: Questions, keep: Keep) -> None:
    """Measure these configs of one job; `keep` gets each bundle as soon as it is complete."""
    measure_together(setting, [(job, configs)], questions, lambda _, bundle: keep(bundle))


def measure_together(
    setting: Setting,
    wanted: Wanted,
    questions: Questions,
    keep: KeepOf,
    observer: Observer = NOBODY,
    *,
    in_turn: bool = False,
) -> None:
    """Measure these configs of several jobs; `keep` gets each bundle, and its job, as soon as it is complete.

    An index that searches do not change serves all the query configs of a build. Jobs whose workers fit into memory at
    once take turns. What changes in the course of a run serves one query config: all its builds, then those of the
    next; or, `in_turn`, one build of each after the other (results are then complete with the last builds, and the
    answers of all of them are held until then). Whatever ends it, what is complete by then is kept.
    """
    # the order of the queries is nothing that an entry could know, but where a result is measured once more
    seed = setting.seed or 1 + secrets.randbits(62)
    teams = [_team(setting, job, configs, seed) for job, configs in wanted]
    parts = _Parts(setting, questions, keep, observer.watch)
    try:
        if setting.workload.mutates:
            streams = [(team, record) for team in teams for record in team.records]
            for group in [streams] if in_turn else [[one] for one in streams]:
                _streams(parts, group)
        else:
            for party in parties(setting, teams):
                _party(parts, party, seed)
    except BaseException:
        if observer.unfinished is not None:
            rescue(teams, questions, keep, observer.unfinished)
        raise


@dataclass(frozen=True)
class _Parts:
    """What all the builds of a measurement have in common."""

    setting: Setting
    questions: Questions
    keep: KeepOf
    watch: Watch

    def build(self, setting: Setting, job: Job, number: int, seed: int) -> OneBuild:
        """One of the builds of a job, with the data as this setting shows them."""
        return OneBuild(setting, job, number, self.questions, partial(self.keep, job), seed, Teller(self.watch))


def _party(parts: _Parts, party: Sequence[Team], seed: int) -> None:
    """All the builds of some jobs whose workers live at once and take turns."""
    setting = parts.setting
    parts.watch(TakesTurns([team.job.entry.name for team in party]))
    journal = Journal.of(setting, party)
    for team in party:
        for record in team.records:
            record.journal = journal
    for build in range(setting.builds):
        pending = [team for team in party if team.pending(build)]
        with orders(setting, [team.job for team in pending], seed, build) as seen:
            ones = [parts.build(shown, team.job, build, seed) for shown, team in zip(seen, pending, strict=True)]
            while left := [(one, team) for one, team in zip(ones, pending, strict=True) if team.pending(build)]:
                _turns(left, np.random.default_rng([seed, build]))


def _team(setting: Setting, job: Job, configs: Sequence[Config], seed: int) -> Team:
    records = [Record(setting, config, seed, job.environment, place) for place, config in enumerate(configs)]
    spent = Spent()
    for record in () if setting.workload.mutates else records:  # each config of a stream has builds of its own
        record.spent = spent
    return Team(job, records)


def _streams(parts: _Parts, group: Sequence[tuple[Team, Record]]) -> None:
    """All the builds of some query configs of streams, one build of each in a random order after the other."""
    setting = parts.setting
    parts.watch(TakesTurns(sorted({team.job.entry.name for team, _ in group})))
    journal = Journal.of(setting, list({id(team): team for team, _ in group}.values()))
    for _, record in group:
        record.journal = journal
    for build in range(setting.builds):
        for place in np.random.default_rng([group[0][1].seed, build]).permutation(len(group)):
            team, record = group[place]
            if not record.done:
                one = parts.build(setting, team.job, build, record.seed)
                _turns([(one, Team(team.job, [record]))], np.random.default_rng(0))


def _turns(parts: Sequence[tuple[OneBuild, Team]], rng: np.random.Generator) -> None:
    """One build of each of these jobs; what is left of a job whose worker was lost stays pending."""
    seats: list[Seat] = []
    try:
        for one, team in parts:
            seat = Seat(one, team.pending(one.build), together=len(parts) > 1)
            seats.append(seat)
            seat.open()
        play(seats, rng)
    except BaseException:
        for seat in seats:
            seat.abandon()
        raise
    else:
        for seat in seats:
            seat.forget()
    finally:
        for seat in seats:
            seat.leave()


def refuse(setting: Setting, job: Job, configs: Sequence[Config], questions: Questions, keep: Keep) -> None:
    """Store why the job was not even started."""
    for config in configs:
        record = Record(setting, config, REFUSED, job.environment)
        if job.refusal is not None:
            record.outcome = job.refusal
        keep(record.bundle(questions))
