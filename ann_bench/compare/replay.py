"""A result measured once more from what it says of itself, and held against what it was."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ann_bench.compare.figure import PERCENTILES, QPS, RECALL, Figure
from ann_bench.compare.verdict import Side, listed
from ann_bench.compare.wanted import Wanted
from ann_bench.datasets.dataset import Dataset
from ann_bench.entries.entry import Entry
from ann_bench.errors import ResultError, UsageError
from ann_bench.judge.disguise import COLUMNS, ROWS, Challenge
from ann_bench.judge.mode import HIGHEST, Wish
from ann_bench.judge.plan import Options, Plan, data_hashes, plan, setting
from ann_bench.judge.repeat import Repeat
from ann_bench.ragged import Ragged
from ann_bench.results.conditions import Difference, first_difference
from ann_bench.results.figures import Figures, figures
from ann_bench.results.model import Answers, Bundle
from ann_bench.sandbox import Sandbox
from ann_bench.stats import NOTHING, Estimate, ratio_estimate
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
    "challenge": "name the seed that it was measured with: --challenge SEED",
}


@dataclass(frozen=True)
class Replayed:
    """The result as it was and as it is now. `ratios` are the figures now / then, NaN without two measurements: what
    its mode or track is compared by, recall aside.
    """

    then: Bundle
    now: Bundle
    ratios: Mapping[Figure, Estimate]
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
        for figure, ratio in self.ratios.items():
            far = ratio.low > 1 + within or ratio.high < 1 / (1 + within)
            if self.same_machine and far:
                found.append(f"the {figure.words} {'are' if figure is QPS else 'is'} {ratio.value:.3f} x what it was")
        return found


def plan_again(bundle: Bundle, dataset: Dataset, entry: Entry, sandbox: Sandbox, challenge: str | None = None) -> Plan:
    """The plan that measures a bundle once more, with its own arguments, limits, mode and seed.

    `challenge` is the seed of the disguise that the data were in: a result keeps no more than a digest of it. Raises
    UsageError, which names the field, where anything but machine and harness is not as it was.
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
            then.fields.get("warmups", 0),
            then.fields.get("until"),
            "canary" in bundle.provenance,
            seconds=then.fields.get("until_seconds"),
        ),
        wish=_wish(then.fields.get("mode")),
        challenge=_challenge(then.fields.get("challenge"), challenge),
    )
    common = setting(find_track(then["track"]), dataset, sandbox, options, str(bundle.provenance.get("manifest", "")))
    here = sandbox.fit(limits)
    if found := first_difference(vars(limits), vars(here), "limits."):
        raise _refusal(found)
    again = plan(replace(common, limits=limits, seed=bundle.provenance.get("seed") or None), [entry])
    if found := first_difference(_known(then.fields), _known(again.jobs[0].configs[0].identity.fields)):
        raise _refusal(found)
    return again


def _wish(mode: object) -> Wish:
    """How queries were put, as it was asked for."""
    if not isinstance(mode, Mapping):
        return Wish()
    rate = HIGHEST if mode.get("rate") == "max" else mode.get("rate")
    seconds = mode.get("seconds", 0.0)
    return Wish(str(mode.get("kind")), mode.get("clients"), rate, mode.get("p99"), seconds=seconds)


def _challenge(changes: object, seed: str | None) -> Challenge | None:
    """The disguise that the data were in; UsageError where its seed is not said, or there was none."""
    if not isinstance(changes, Mapping):
        if seed is not None:
            raise UsageError("not replayed: the result was measured on the data as they are; leave --challenge out")
        return None
    if seed is None:
        raise UsageError(f"not replayed: the data were in disguise; {_REMEDIES['challenge']}")
    names = str(changes.get("changes", "")).split("+")
    return Challenge(seed, rows=ROWS in names, columns=COLUMNS in names)


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
    ratios = {figure: _ratio(figure, then, now) for figure in _figures(then)}
    machines = [one.identity.fields.get("machine") for one in (then, now)]
    return Replayed(then, now, ratios, _same_answers(then, now), machines[0] == machines[1])


def _figures(bundle: Bundle) -> list[Figure]:
    """What speeds are compared by: as `compare` does, but by the median latency, which takes fewer queries."""
    usual = Wanted(recall=0.0).questions(*[Side("", "", [bundle])] * 2)
    latencies = set(PERCENTILES.values())
    return [PERCENTILES["p50"] if one in latencies else one for _, one in usual if one is not RECALL]


def _ratio(figure: Figure, then: Bundle, now: Bundle) -> Estimate:
    values = [figure.values(one) if one.seconds.size else np.full((1, 1), math.nan) for one in (now, then)]
    return ratio_estimate(*values) if all(np.isfinite(one).any() for one in values) else NOTHING


def as_json(done: Replayed) -> dict[str, Any]:
    """Both beside each other, for machines; null where there is no figure."""
    old, new = (figures(one) for one in (done.then, done.now))
    names = ["status", "recall", *(dict.fromkeys(["qps", *(figure.name for figure in done.ratios)]))]

    def told(one: Figures) -> dict[str, Any]:
        values = {name: getattr(one, name) for name in names}
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in values.items()
        }

    ratios = {figure.name: listed(ratio) for figure, ratio in done.ratios.items()}
    return {
        "then": told(old),
        "now": {"key": new.key, **told(new)},
        "same_answers": done.same_answers,
        "same_machine": done.same_machine,
        "ratio": next(iter(ratios.values())),
        "ratios": ratios,
    }


def _same_answers(one: Bundle, other: Bundle) -> bool:
    """Whether every batch gave the same ids; of a search for a rate, which ends when it likes, those that both have."""
    if one.answer_of.shape != other.answer_of.shape or not one.answers:
        return False
    mode = one.identity.fields.get("mode")
    searches = isinstance(mode, Mapping) and mode.get("rate") == "max"
    there = (one.answer_of >= 0) & (other.answer_of >= 0)
    if not there.any() or not (searches or there.all()):
        return False
    pairs = zip(one.answer_of[there].tolist(), other.answer_of[there].tolist(), strict=True)
    return all(_equal(one.answers[mine], other.answers[its]) for mine, its in pairs)


def _equal(one: Answers, other: Answers) -> bool:
    if isinstance(one, Ragged) or isinstance(other, Ragged):
        return isinstance(one, Ragged) and isinstance(other, Ragged) and one.equals(other)
    return np.array_equal(one, other)


def _apart(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] > other[1] or other[0] > one[1]
