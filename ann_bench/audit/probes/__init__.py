"""The probes, in the order in which they are run: those first that need queries which nobody has asked yet."""

from __future__ import annotations

from ann_bench.audit.probes.answers import answers, same_answers
from ann_bench.audit.probes.builds import disguise, seeds
from ann_bench.audit.probes.conduct import idle, threads
from ann_bench.audit.probes.neighbours import neighbours
from ann_bench.audit.probes.queries import fresh, perturbed
from ann_bench.audit.probes.runs import runs
from ann_bench.audit.probes.streams import deleted, on_the_way, other_runbook
from ann_bench.audit.registry import Probe

PROBES: tuple[Probe, ...] = (
    runs,
    fresh,
    perturbed,
    same_answers,
    answers,
    on_the_way,
    deleted,
    neighbours,
    idle,
    threads,
    seeds,
    disguise,
    other_runbook,
)
