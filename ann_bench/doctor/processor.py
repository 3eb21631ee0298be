"""Checks of the processor: what changes its speed while it is measured."""

from __future__ import annotations

from ann_bench.doctor.finding import Finding, Verdict, unknown
from ann_bench.doctor.system import System, chosen, listed


def governor(system: System) -> Finding:
    """Whether CPUs run at one frequency."""
    why = "CPUs that change their frequency with the load make first batches slow, and short ones slower than long ones"
    found = listed(system.texts("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"))
    if not found:
        return unknown("governor", why, "the kernel here does not set frequencies (usual in virtual machines)")
    if found == "performance":
        return Finding("governor", Verdict.GOOD, found, why)
    return Finding("governor", Verdict.MIND, found, why, "sudo cpupower frequency-set --governor performance")


def turbo(system: System) -> Finding:
    """Whether frequencies depend on temperature and on how many cores work."""
    why = "turbo frequencies depend on heat and on how many cores work, so that the same code runs at several speeds"
    intel, boost = (
        system.number("sys/devices/system/cpu/intel_pstate/no_turbo"),
        system.number("sys/devices/system/cpu/cpufreq/boost"),
    )
    if intel is None and boost is None:
        return unknown("turbo", why)
    if intel == 1 or (intel is None and boost == 0):
        return Finding("turbo", Verdict.GOOD, "off", why)
    if intel is None:
        remedy = "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"
    else:
        remedy = "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
    return Finding("turbo", Verdict.MIND, "on", why, remedy)


def smt(system: System) -> Finding:
    """Whether two CPUs share a core."""
    why = "two CPUs of one core share its units: a limit of 8 CPUs may be 4 cores or 8"
    active = system.number("sys/devices/system/cpu/smt/active")
    siblings = system.texts("sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list")
    if active is None and not siblings:
        return unknown("smt", why)
    shared = active == 1 or any("," in one or "-" in one for one in siblings)
    if not shared:
        return Finding("smt", Verdict.GOOD, "each CPU is a core", why)
    groups = len(set(siblings)) or "?"
    found = f"{len(siblings)} CPUs on {groups} cores"
    return Finding(
        "smt", Verdict.MIND, found, why, "choose one CPU of each core with --cpuset (lscpu --extended lists them)"
    )


def numa(system: System) -> Finding:
    """Whether memory is near to some CPUs only."""
    why = "memory of another node takes about twice as long, and where it lies is chance"
    nodes = system.texts("sys/devices/system/node/node[0-9]*/cpulist")
    if not nodes:
        return unknown("numa", why)
    if len([node for node in nodes if node]) == 1:
        return Finding("numa", Verdict.GOOD, "one node", why)
    remedy = (
        f"measure on the CPUs of one node: numactl --cpunodebind=0 --membind=0 ann-bench run ... --cpuset {nodes[0]}"
    )
    return Finding("numa", Verdict.MIND, f"{len(nodes)} nodes: {'; '.join(nodes)}", why, remedy)


def throttling(system: System) -> Finding:
    """Whether the processor was slowed down because it was hot."""
    why = "a hot processor slows down, and what is measured last looks slowest"
    counts = [
        int(text)
        for text in system.texts("sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count")
        if text.isdecimal()
    ]
    if not counts:
        return unknown("throttling", why)
    if not any(counts):
        return Finding("throttling", Verdict.GOOD, "never since the machine started", why)
    return Finding(
        "throttling",
        Verdict.MIND,
        f"{max(counts):,} times since the machine started",
        why,
        "better cooling; sudo cpupower frequency-set --max to a frequency that it holds",
    )


def clock(system: System) -> Finding:
    """Whether reading the clock is quick."""
    why = "the judge reads the clock before and after every call; some clocks take a microsecond, and jump between CPUs"
    source = system.text("sys/devices/system/clocksource/clocksource0/current_clocksource")
    if source is None:
        return unknown("clock", why)
    good = {"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"}
    if source in good:
        return Finding("clock", Verdict.GOOD, source, why)
    available = system.text("sys/devices/system/clocksource/clocksource0/available_clocksource") or ""
    better = next((one for one in available.split() if one in good), "")
    remedy = (
        f"echo {better} | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource" if better else ""
    )
    return Finding("clock", Verdict.MIND, source, why, remedy)


def huge_pages(system: System) -> Finding:
    """Whether memory comes in large pages."""
    why = "indexes jump through gigabytes: with small pages each jump may cost a walk through tables"
    text = system.text("sys/kernel/mm/transparent_hugepage/enabled")
    if text is None:
        return unknown("huge pages", why)
    state = chosen(text)
    if state == "never":
        remedy = "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"
        return Finding("huge pages", Verdict.MIND, state, why, remedy)
    return Finding("huge pages", Verdict.GOOD, state, why)


CHECKS = (governor, turbo, smt, numa, throttling, clock, huge_pages)
