"""Every check on machines made for it, and all of them on this one."""

from __future__ import annotations

from pathlib import Path

import pytest

from ann_bench.doctor import occupancy, processor
from ann_bench.doctor.examine import examine
from ann_bench.doctor.finding import Verdict
from ann_bench.doctor.system import System

CPU = "sys/devices/system/cpu"


def made(root: Path, files: dict[str, str]) -> System:
    """A machine whose kernel says this."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    return System(root)


GOVERNOR, SIBLINGS = "cpufreq/scaling_governor", "topology/thread_siblings_list"
NODE, CLOCK = "sys/devices/system/node/node", "sys/devices/system/clocksource/clocksource0/"
HEAT, PAGES = "cpu0/thermal_throttle/core_throttle_count", "sys/kernel/mm/transparent_hugepage/enabled"
MEMORY = "MemTotal: 16777216 kB\nMemAvailable: {} kB\nCached: 1048576 kB"

MACHINES = [
    (processor.governor, {f"{CPU}/cpu{n}/{GOVERNOR}": "performance" for n in range(2)}, "good", "performance"),
    (processor.governor, {f"{CPU}/cpu0/{GOVERNOR}": "powersave"}, "mind", "powersave"),
    (processor.turbo, {f"{CPU}/intel_pstate/no_turbo": "1"}, "good", "off"),
    (processor.turbo, {f"{CPU}/intel_pstate/no_turbo": "0"}, "mind", "on"),
    (processor.turbo, {f"{CPU}/cpufreq/boost": "0"}, "good", "off"),
    (processor.turbo, {f"{CPU}/cpufreq/boost": "1"}, "mind", "on"),
    (processor.smt, {f"{CPU}/smt/active": "0"}, "good", "each CPU"),
    (processor.smt, {f"{CPU}/cpu{n}/{SIBLINGS}": "0-1" for n in range(2)}, "mind", "2 CPUs on 1 cores"),
    (processor.numa, {f"{NODE}0/cpulist": "0-7"}, "good", "one"),
    (processor.numa, {f"{NODE}{n}/cpulist": f"{8 * n}-{8 * n + 7}" for n in range(2)}, "mind", "2 nodes"),
    (processor.throttling, {f"{CPU}/{HEAT}": "0"}, "good", "never"),
    (processor.throttling, {f"{CPU}/{HEAT}": "1200"}, "mind", "1,200 times"),
    (processor.clock, {f"{CLOCK}current_clocksource": "tsc"}, "good", "tsc"),
    (processor.clock, {f"{CLOCK}current_clocksource": "hpet", f"{CLOCK}available_clocksource": "hpet tsc"},
     "mind", "hpet"),
    (processor.huge_pages, {PAGES: "always [madvise] never"}, "good", "madvise"),
    (processor.huge_pages, {PAGES: "always madvise [never]"}, "mind", "never"),
    (occupancy.free_memory, {"proc/meminfo": MEMORY.format(15728640)}, "good", "15.0 of 16.0 GiB"),
    (occupancy.free_memory, {"proc/meminfo": MEMORY.format(1048576)}, "mind", "1.0 of 16.0 GiB"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "files", "verdict", "found"), MACHINES)
def test_what_is_found(tmp_path: Path, check, files, verdict, found) -> None:
    finding = check(made(tmp_path, files))
    assert (finding.verdict.value, found in finding.found) == (verdict, True), finding
    assert finding.why
    assert finding.verdict is Verdict.GOOD or finding.remedy


@pytest.mark.parametrize("check", [*processor.CHECKS, occupancy.free_memory])
def test_a_machine_that_does_not_say(tmp_path: Path, check) -> None:
    assert check(System(tmp_path)).verdict is Verdict.UNKNOWN


def watched(root: Path, before: str, after: str, **more: str) -> tuple[System, occupancy.Watched]:
    """A machine between two readings of /proc/stat."""
    files = {"proc/" + name: text for name, text in more.items()}
    first = occupancy.moment(made(root, {"proc/stat": before, **files}))
    system = made(root, {"proc/stat": after})
    return system, occupancy.Watched(first, occupancy.moment(system))


IDLE = "cpu 100 0 50 10000 0 0 0 0 0 0"


@pytest.mark.parametrize(
    ("after", "work", "steal"),
    [
        ("cpu 101 0 50 10199 0 0 0 0 0 0", "good", "good"),
        ("cpu 110 0 50 10190 0 0 0 0 0 0", "mind", "good"),
        ("cpu 200 0 50 10100 0 0 0 0 0 0", "bad", "good"),
        ("cpu 100 0 50 10150 0 0 0 50 0 0", "good", "bad"),
        ("cpu 100 0 50 10199 0 0 0 1 0 0", "good", "mind"),
    ],
)
def test_what_others_do_meanwhile(tmp_path: Path, after: str, work: str, steal: str) -> None:
    _, seen = watched(tmp_path, IDLE, after)
    assert occupancy.other_work(seen).verdict.value == work
    assert occupancy.steal(seen).verdict.value == steal


def test_nothing_is_counted(tmp_path: Path) -> None:
    _, seen = watched(tmp_path, "intr 5", "intr 9")
    assert occupancy.other_work(seen).verdict is Verdict.UNKNOWN
    assert occupancy.steal(seen).verdict is Verdict.UNKNOWN


def test_swap(tmp_path: Path) -> None:
    system, seen = watched(tmp_path, IDLE, IDLE, meminfo="SwapTotal: 0 kB", vmstat="pswpin 5\npswpout 5")
    assert occupancy.swap(system, seen).verdict is Verdict.GOOD
    made(tmp_path, {"proc/meminfo": "SwapTotal: 4194304 kB\nSwapFree: 1048576 kB"})
    assert occupancy.swap(system, seen).verdict is Verdict.MIND
    made(tmp_path, {"proc/vmstat": "pswpin 5\npswpout 9"})
    moved = occupancy.Watched(seen.before, occupancy.moment(system))
    assert occupancy.swap(system, moved).verdict is Verdict.BAD


def again(seen: occupancy.Watched, system: System) -> occupancy.Watched:
    """The same, but that the second moment is now."""
    return occupancy.Watched(seen.before, occupancy.moment(system))


V1 = "sys/fs/cgroup/cpu,cpuacct/docker/abc"

GROUPS = [
    ({"proc/self/cgroup": "0::/user.slice/mine", "sys/fs/cgroup/user.slice/cpu.max": "400000 100000",
      "sys/fs/cgroup/user.slice/mine/cpu.max": "max 100000", "sys/fs/cgroup/user.slice/mine/memory.max": "max"},
     "4 CPUs by quota"),
    ({"proc/self/cgroup": "0::/mine", "sys/fs/cgroup/mine/memory.max": "2147483648"}, "2.0 GiB of memory"),
    ({"proc/self/cgroup": "4:cpu,cpuacct:/docker/abc\n3:memory:/docker/abc\n0::/", f"{V1}/cpu.cfs_quota_us": "250000",
      f"{V1}/cpu.cfs_period_us": "100000", f"{V1}/cpu.stat": "nr_periods 9\nnr_throttled 3",
      "sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "9223372036854771712"},
     "2.5 CPUs by quota, which has stopped it before"),
    ({"proc/self/cgroup": "4:cpu:/\n3:memory:/host/path", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1",
      "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000", "sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824"},
     "1.0 GiB of memory"),
    ({"proc/self/cgroup": "4:cpu:/\n0::/", "sys/fs/cgroup/unified/cpu.max": "max 100000"}, "none"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "found"), GROUPS)
def test_limits_of_either_version(tmp_path: Path, files: dict[str, str], found: str) -> None:
    """Of the group itself and of those above it, and where a container shows another path than it has."""
    seen = occupancy.moment(made(tmp_path, files))
    assert occupancy.limits(occupancy.Watched(seen, seen)).found == found


def test_limits(tmp_path: Path) -> None:
    system, seen = watched(tmp_path, IDLE, IDLE)
    assert occupancy.limits(seen).verdict is Verdict.UNKNOWN
    made(tmp_path, {"sys/fs/cgroup/cpu.max": "max 100000", "sys/fs/cgroup/memory.max": "max"})
    assert occupancy.limits(again(seen, system)).found == "none"
    made(tmp_path, {"sys/fs/cgroup/cpu.max": "150000 100000", "sys/fs/cgroup/cpu.stat": "nr_throttled 7"})
    finding = occupancy.limits(again(seen, system))
    assert finding.verdict is Verdict.MIND
    assert "1.5 CPUs by quota, which has stopped it before" in finding.found


def test_what_cannot_be_understood_hinders_nothing(tmp_path: Path) -> None:
    system = made(tmp_path, {"sys/fs/cgroup/cpu.max": "no numbers here", "proc/stat": "cpu what"})
    findings = {one.check: one for one in examine(system, 1, listen=0.0)}
    assert all(findings[name].verdict is Verdict.UNKNOWN for name in ("limits", "other work", "steal"))
    assert findings["dot products"].verdict is not Verdict.UNKNOWN


def test_this_machine() -> None:
    findings = list(examine(System(), 2, listen=0.1))
    assert len({one.check for one in findings}) == len(findings) == 14
