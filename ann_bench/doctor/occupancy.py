"""Checks of what else goes on: other work, other guests of the host, swap, limits."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ann_bench.doctor.finding import Finding, Verdict, unknown
from ann_bench.doctor.groups import Quota, quota
from ann_bench.doctor.system import System

_GIB = 2**30
_NAMES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


@dataclass(frozen=True)
class Moment:
    """What the kernel has counted since the machine started: CPU time in ticks by kind, pages swapped."""

    ticks: dict[str, int]
    swapped: int
    quota: Quota = field(default_factory=Quota)

    @property
    def total(self) -> int:
        """Ticks of all CPUs together, idle ones too."""
        return sum(self.ticks.values())


def moment(system: System) -> Moment:
    """Read the counters now; empty where there are none."""
    first = next(iter((system.text("proc/stat") or "").splitlines()), "")
    words = first.split()
    counted = words[:1] == ["cpu"] and all(word.isdecimal() for word in words[1:9])
    ticks = dict(zip(_NAMES, map(int, words[1:9]), strict=False)) if counted else {}
    pages = system.fields("proc/vmstat")
    return Moment(ticks, pages.get("pswpin", 0) + pages.get("pswpout", 0), quota(system))


@dataclass(frozen=True)
class Watched:
    """Two moments, between which this process did nothing."""

    before: Moment
    after: Moment

    def share(self, *kinds: str) -> float | None:
        """These kinds of CPU time as a share of all CPUs; None where the kernel does not count it."""
        total = self.after.total - self.before.total
        if total <= 0 or not set(kinds) <= self.after.ticks.keys():
            return None
        return sum(self.after.ticks[kind] - self.before.ticks[kind] for kind in kinds) / total


def other_work(watched: Watched) -> Finding:
    """CPU time that others used while this process waited."""
    why = "other work takes CPUs, caches and memory away while an entry is measured"
    share = watched.share("user", "nice", "system", "irq", "softirq")
    if share is None:
        return unknown("other work", why)
    verdict = Verdict.GOOD if share < 0.02 else Verdict.MIND if share < 0.1 else Verdict.BAD
    remedy = "" if verdict is Verdict.GOOD else "end it (top shows it), or measure on other CPUs with --cpuset"
    return Finding("other work", verdict, f"{share:.1%} of all CPUs while nothing was measured", why, remedy)


def steal(watched: Watched) -> Finding:
    """CPU time that the host gave to its other guests, since the machine started and now."""
    why = "time that the host of a virtual machine gives to its other guests counts as time of the entry"
    now = watched.share("steal")
    total = watched.after.total
    if now is None or not total:
        return unknown("steal", why)
    ever = watched.after.ticks["steal"] / total
    verdict = Verdict.BAD if now > 0.02 else Verdict.MIND if max(now, ever) > 0.002 else Verdict.GOOD
    remedy = "" if verdict is Verdict.GOOD else "a machine of its own, or a guest with reserved CPUs"
    return Finding("steal", verdict, f"{now:.1%} now, {ever:.2%} since the machine started", why, remedy)


def swap(system: System, watched: Watched) -> Finding:
    """Whether memory is being moved to a disk."""
    why = "an index that is partly on a swap disk is measured as a disk"
    fields = system.fields("proc/meminfo")
    if "SwapTotal" not in fields:
        return unknown("swap", why)
    if not fields["SwapTotal"]:
        return Finding("swap", Verdict.GOOD, "none", why)
    moved = watched.after.swapped - watched.before.swapped
    used = (fields["SwapTotal"] - fields.get("SwapFree", 0)) / 2**20
    verdict = Verdict.BAD if moved else Verdict.MIND if used > 0.1 else Verdict.GOOD
    found = f"{used:.1f} GiB used" + (f", {moved:,} pages moved while nothing was measured" if moved else "")
    return Finding(
        "swap", verdict, found, why, "" if verdict is Verdict.GOOD else "sudo swapoff -a (needs room in memory)"
    )


def free_memory(system: System) -> Finding:
    """Memory that can be had without taking it from anybody."""
    why = "the page cache holds the base vectors: where it has no room, reading them again is measured too"
    fields = system.fields("proc/meminfo")
    if "MemAvailable" not in fields or not fields.get("MemTotal"):
        return unknown("memory", why)
    free, total = fields["MemAvailable"] / 2**20, fields["MemTotal"] / 2**20
    found = f"{free:.1f} of {total:.1f} GiB can be had, {fields.get('Cached', 0) / 2**20:.1f} GiB of it page cache"
    if free > total / 2:
        return Finding("memory", Verdict.GOOD, found, why)
    return Finding("memory", Verdict.MIND, found, why, "end what holds it (top, M)")


def limits(watched: Watched) -> Finding:
    """Limits of the container or session that this process is in."""
    why = "a quota stops all threads at once for milliseconds, which no entry can help"
    found = watched.after.quota
    if not found.known:
        return unknown("limits", why, "no control group that this process may read")
    by_quota = math.isfinite(found.cpus)
    parts = [f"{found.cpus:g} CPUs by quota"] if by_quota else []
    parts += ["which has stopped it before"] if by_quota and found.throttled else []
    parts += [f"{found.memory / _GIB:.1f} GiB of memory"] if math.isfinite(found.memory) else []
    if not by_quota:
        return Finding("limits", Verdict.GOOD, ", ".join(parts) or "none", why)
    remedy = "give whole CPUs instead: docker run --cpuset-cpus 0-7, AllowedCPUs= of systemd"
    return Finding("limits", Verdict.MIND, ", ".join(parts), why, remedy)
