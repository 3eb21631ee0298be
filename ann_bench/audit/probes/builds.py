"""Does another index of the same data, or of the same data in disguise, do as well?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ann_bench.audit.registry import Finding, Verdict, probe
from ann_bench.audit.subject import Line, Subject
from ann_bench.audit.weigh import Bounds, in_turn, slower, worse
from ann_bench.judge.driver import Window

#: Builds of one index differ in speed by a fifth; more where the order of rows or columns decides what lies together.
SPEED = Bounds(suspicious=2.0, fail=4.0)
RECALL = Bounds(suspicious=0.1, fail=0.3)
#: The seed of an entry that takes one and usually gets none.
OTHER_SEED = 20_260
#: A build that takes so many times the time and CPU time, and so many seconds more, was not made before.
BUILD, BUILD_SECONDS = Bounds(suspicious=5.0, fail=20.0), 2.0


@probe("seeds")
def seeds(subject: Subject) -> Finding:
    """Another build, with another seed where the entry takes one, gives the same recall and speed."""
    build, named = reseeded(subject.job.build, subject.job.entry.config.seed)
    other = subject.again(build)
    asked, search = subject.published, subject.search
    one, two = (subject.score(line.ask(asked, search)[0]).recalls for line in (subject.plain(), other))
    first, second = in_turn(*_askers(subject, subject.plain(), other))
    name = f"another build{named}"
    speed = slower(name, second, first, SPEED), slower(f"not {name}", first, second, SPEED)
    recall = worse(name, one, two, RECALL), worse(f"not {name}", two, one, RECALL)
    return Finding.worst(Finding.gravest(*speed), Finding.gravest(*recall))


@probe("disguise")
def disguise(subject: Subject) -> Finding:
    """An index of the data in disguise (rows and columns under other names) has the same recall and speed."""
    usual, line = subject.plain(), subject.disguised()
    asked, search = subject.published, subject.search
    before, after = (subject.score(one.ask(asked, search)[0]).recalls for one in (usual, line))
    known, hidden = in_turn(*_askers(subject, usual, line))
    return Finding.worst(
        slower("in disguise", hidden, known, SPEED),
        worse("in disguise", before, after, RECALL),
        built("in disguise", usual, line),
    )


def reseeded(build: Mapping[str, Any], seed: str | None = None) -> tuple[dict[str, Any], str]:
    """Build arguments with other seeds, and a word for that.

    `seed` is the argument that takes one, as the entry says; so are whole numbers that are called a seed.
    """
    named = {seed: OTHER_SEED} if seed is not None and seed not in build else {}
    seeds = [name for name, value in build.items() if (name == seed or _is_seed(name)) and isinstance(value, int)]
    changed = {**{name: value + 1 if name in seeds else value for name, value in build.items()}, **named}
    seeds += named
    return changed, f" ({', '.join(f'{name}={changed[name]}' for name in seeds)})" if seeds else ""


def _is_seed(name: str) -> bool:
    return "seed" in name.lower() or name.lower() == "random_state"


def _askers(subject: Subject, *lines: Line) -> list[Callable[[], Window]]:
    """For each index a call that asks it the published queries."""
    asked, search = subject.published, subject.search
    return [lambda line=line: line.ask(asked, search)[1] for line in lines]  # type: ignore[misc]


def built(name: str, usual: Line, other: Line) -> Finding:
    """Whether the one index took as long to come to where it is asked as the other."""
    ratio = min(
        other.built.seconds / max(usual.built.seconds, 1e-9),
        other.built.cpu_seconds / max(usual.built.cpu_seconds, 1e-9),
    )
    text = f"built in {other.built.seconds:.2f} s {name}, in {usual.built.seconds:.2f} s else"
    if ratio <= BUILD.suspicious or other.built.seconds - usual.built.seconds <= BUILD_SECONDS:
        return Finding(Verdict.PASS, text)
    return Finding(Verdict.FAIL if ratio > BUILD.fail else Verdict.SUSPICIOUS, text)
