"""A result measured once more from what it says of itself, and held against what it was."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ann_bench.datasets.dataset import Dataset
from ann_bench.entries.entry import Entry
from ann_bench.errors import ResultError, UsageError
from ann_bench.judge.plan import Options, Plan, data_hashes, plan, setting
from ann_bench.judge.repeat import Repeat
from ann_bench.ragged import Ragged
from ann_bench.results.conditions import Difference, first_difference
from ann_bench.results.figures import figures, repeats
from ann_bench.results.model import Answers, Bundle
from ann_bench.sandbox import Sandbox
from ann_bench.stats import Estimate, ratio_estimate
from ann_bench.tracks import find_track
from ann_bench.workload import Limits

#: What may differ: the machine is told apart (speeds are then not compared), and so is a newer harness.
_MAY_DIFFER = ("machine",)
_HARNESS = "ann-bench"

_REMEDIES = {
    "data_hash": "the data here are not those that were measured; prepare them again from their source",
    "entry_hash": "the entry's files are not those that were measured; name them as they were with --entry PLACE",
    "packages": "install the version that was measured",
    "image": "the image of the entry is not the one that was measured; build that one with `ann-bench install`",
    "limits": "this machine, or this ann-bench, has no such limits",
    "workload": "the track's operations are others now; use the commit of ann-bench that the result names",
}


@dataclass(frozen=True)
class Replayed:
    """The result as it was and as it is now. `ratio` is QPS now / then; NaN without two measurements."""

    then: Bundle
    now: Bundle
    ratio: Estimate
    same_answers: bool
    same_machine: bool

    def problems(self, within: float) -> list[str]:
        """What does not agree: the status, the recall (by its intervals), the speed by more than a share."""
        old, new = figures(self.then), figures(self.now)
        found = []
        if old.status != new.status:
            found.append(f"the status was {old.status} and is {new.status}")
        if not self.same_answers and _apart((old.recall_low, old.recall_high), (new.recall_low, new.recall_high)):
            found.append(f"the recall was {old.recall:.4f} and is {new.recall:.4f}")
        far = self.ratio.low > 1 + within or self.ratio.high < 1 / (1 + within)
        if self.same_machine and far:
            found.append(f"the speed is {self.ratio.value:.3f} x what it was")
        return found


def plan_again(bundle: Bundle, dataset: Dataset, entry: Entry, sandbox: Sandbox) -> Plan:
    """The plan that measures a bundle once more, with its own arguments, limits and seed.

    Raises UsageError, which names the field, where anything but machine and harness is not as it was.
    """
    then = bundle.identity
    if found := first_difference(dict(then["data_hash"]), data_hashes(dataset), "data_hash."):
        raise _refusal(found)
    entry = replace(entry, config=_only(entry, bundle))
    limits = Limits(
        **{field.name: then["limits"][field.name] for field in fields(Limits) if field.name in then["limits"]}
    )
    options = Options(
        k=then["k"],
        runs=then["runs"],
        builds=then["builds"],
        cpus=then["cpus"],
        memory_bytes=limits.memory_bytes,
        repeat=Repeat(
            then.fields.get("warmups", 0), then.fields.get("until"), seconds=then.fields.get("until_seconds")
        ),
    )
    common = setting(find_track(then["track"]), dataset, sandbox, options, str(bundle.provenance.get("manifest", "")))
    here = sandbox.fit(limits)
    if found := first_difference(vars(limits), vars(here), "limits."):
        raise _refusal(found)
    again = plan(replace(common, limits=limits, seed=bundle.provenance.get("seed") or None), [entry])
    if found := first_difference(_known(then.fields), _known(again.jobs[0].configs[0].identity.fields)):
        raise _refusal(found)
    return again


def _only(entry: Entry, bundle: Bundle) -> Any:
    """The entry's config with the arguments of the bundle and no others: config.yaml may have changed since."""
    build, query = dict(bundle.identity["build"]), [dict(bundle.identity["query"])]
    return entry.config.model_copy(update={"build": {"default": build}, "query": {"default": query}})


def _known(identity: Mapping[str, Any]) -> dict[str, Any]:
    """What must be as it was."""
    kept = {name: value for name, value in identity.items() if name not in _MAY_DIFFER}
    packages = identity.get("packages")
    if isinstance(packages, Mapping):
        kept["packages"] = {name: value for name, value in packages.items() if name != _HARNESS}
    return kept


def _refusal(found: Difference) -> UsageError:
    remedy = _REMEDIES.get(found.field.partition(".")[0], "`replay` cannot measure that again")
    return UsageError(f"not replayed: {found} (then and now); {remedy}")


def replayed(then: Bundle, now: Bundle) -> Replayed:
    """The two beside each other; both with their answers. ResultError where neither measured anything."""
    if not then.answers and not now.answers and then.outcome.status == now.outcome.status:
        raise ResultError(f"the result was {then.outcome.status.value} and is so again; there is nothing to compare")
    rates = [repeats(one).rates for one in (now, then)]
    known = all(np.isfinite(rate).any() for rate in rates)
    ratio = ratio_estimate(*rates) if known else Estimate(math.nan, math.nan, math.nan)
    machines = [one.identity.fields.get("machine") for one in (then, now)]
    return Replayed(then, now, ratio, _same_answers(then, now), machines[0] == machines[1])


def _same_answers(one: Bundle, other: Bundle) -> bool:
    """Whether every batch gave the same ids."""
    if one.answer_of.shape != other.answer_of.shape or not one.answers:
        return False
    for place in np.ndindex(one.answer_of.shape):
        mine, its = int(one.answer_of[place]), int(other.answer_of[place])
        if mine < 0 or its < 0 or not _equal(one.answers[mine], other.answers[its]):
            return False
    return True


def _equal(one: Answers, other: Answers) -> bool:
    if isinstance(one, Ragged) or isinstance(other, Ragged):
        return isinstance(one, Ragged) and isinstance(other, Ragged) and one.equals(other)
    return np.array_equal(one, other)


def _apart(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] > other[1] or other[0] > one[1]
