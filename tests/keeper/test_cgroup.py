"""Control groups of both versions: as folders with the kernel's own formats, and the one that this test runs in."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from ann_bench.keeper import cgroup
from ann_bench.keeper.cgroup import UNLIMITED, Cgroup, cgroup_of
from ann_bench.keeper.container import Watch

VERSION_1 = {
    "cpuacct.usage": "2500000000",
    "cpu.cfs_quota_us": "-1",
    "cpu.cfs_period_us": "100000",
    "cpuset.cpus": "0-7",
    "cpuset.effective_cpus": "0-1,5",
    "memory.usage_in_bytes": "5000",
    "memory.max_usage_in_bytes": "9000",
    "memory.limit_in_bytes": "9223372036854771712",
    "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2",
    "memory.stat": (
        "cache 1\nrss 1\nhierarchical_memory_limit 16384\nhierarchical_memsw_limit 20480\n"
        "total_cache 700\ntotal_rss 4000\ntotal_shmem 300"
    ),
    "pids.max": "1024",
    "cgroup.procs": "11\n12\n",
}
VERSION_2 = {
    "cgroup.controllers": "cpuset cpu memory pids",
    "cpu.stat": "usage_usec 2500000\nuser_usec 1\nsystem_usec 1",
    "cpu.max": "max 100000",
    "cpuset.cpus.effective": "0-1,5",
    "memory.current": "5000",
    "memory.peak": "9000",
    "memory.max": "16384",
    "memory.swap.max": "4096",
    "memory.events": "low 0\noom 3\noom_kill 2",
    "memory.stat": "anon 4000\nfile 700\nshmem 300",
    "pids.max": "1024",
    "cgroup.procs": "11\n12\n",
}


def folder(place: Path, files: dict[str, str], **changes: str | None) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    for name, text in {**files, **changes}.items():
        if text is not None:
            (place / name).write_text(text + "\n")
    return place


def group(version: int, place: Path) -> Cgroup:
    return Cgroup(version, place, place, place, place)


@pytest.mark.parametrize(("version", "files"), [(1, VERSION_1), (2, VERSION_2)])
def test_use_and_bounds_are_the_same_in_both_versions(tmp_path: Path, version: int, files: dict[str, str]) -> None:
    one = group(version, folder(tmp_path / "box", files))
    use = one.use()
    assert use.cpu_seconds == 2.5
    assert (use.memory_bytes, use.peak_memory_bytes) == (5000, 9000)
    assert (use.anonymous_bytes, use.file_bytes) == (4300, 400), "shared memory is nobody's file"
    assert one.memory_now() == (4300, 400)
    assert use.oom_kills == one.oom_kills() == 2
    bounds = one.bounds()
    assert bounds.cpus == [0, 1, 5]
    assert bounds.cpu_quota == float("inf")
    assert (bounds.memory_bytes, bounds.swap_bytes, bounds.processes) == (16384, 4096, 1024)
    assert one.members() == [11, 12]


@pytest.mark.parametrize(
    ("version", "files", "changes"),
    [
        (1, VERSION_1, {"cpu.cfs_quota_us": "150000"}),
        (2, VERSION_2, {"cpu.max": "150000 100000"}),
    ],
)
def test_a_quota_is_less_than_the_cpus(
    tmp_path: Path, version: int, files: dict[str, str], changes: dict[str, str]
) -> None:
    assert group(version, folder(tmp_path, files, **changes)).bounds().cpu_quota == 1.5


def test_version_2_is_bound_by_the_groups_above(tmp_path: Path) -> None:
    folder(tmp_path / "slice", VERSION_2, **{"memory.max": "8192", "cpu.max": "50000 100000", "pids.max": "max"})
    below = folder(tmp_path / "slice" / "box", VERSION_2, **{"pids.max": "max"})
    bounds = group(2, below).bounds()
    assert (bounds.memory_bytes, bounds.cpu_quota, bounds.processes) == (8192, 0.5, UNLIMITED)


def test_kernels_that_say_less(tmp_path: Path) -> None:
    old = folder(
        tmp_path / "1",
        VERSION_1,
        **{"cpuset.effective_cpus": None, "memory.stat": "total_cache 7\ntotal_rss 4\nhierarchical_memory_limit 16384"},
    )
    bounds = group(1, old).bounds()
    assert (bounds.swap_bytes, len(bounds.cpus)) == (None, 8)
    assert group(1, old).memory_now() == (4, 7)
    new = folder(tmp_path / "2", VERSION_2, **{"memory.peak": None, "memory.swap.max": None, "memory.max": "max"})
    assert group(2, new).use().peak_memory_bytes == 5000
    bounds = group(2, new).bounds()
    assert (bounds.swap_bytes, bounds.memory_bytes) == (None, UNLIMITED)


def test_a_group_that_is_gone_is_told(tmp_path: Path) -> None:
    for version in (1, 2):
        with pytest.raises(OSError, match="memory"):
            group(version, tmp_path / "gone").use()
        assert group(version, tmp_path / "gone").members() == []


def test_the_groups_above_speak_for_one_that_is_gone(tmp_path: Path) -> None:
    above = folder(tmp_path / "slice", VERSION_2)
    below = folder(above / "scope" / "box", VERSION_2, **{"memory.events": "oom_kill 0"})
    watching = Watch({"memory_bytes": 2**20})
    watching.group = group(2, below)
    watching.above = watching.group.oom_kills_above()
    assert watching.reading()["oom_kills"] == 0
    (above / "memory.events").write_text("oom_kill 3\n")
    assert watching.reading()["oom_kills"] == 0, "that was another group's"
    shutil.rmtree(below.parent)
    last = watching.reading()
    assert (last["oom_kills"], last["peak_memory_bytes"], last["members"]) == (1, 9000, 0)
    assert group(1, below).oom_kills_above() == {}


MOUNTS_1 = """
30 23 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
31 23 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
32 23 0:28 /docker/judge /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
33 23 0:29 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
34 23 0:30 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
"""
PROCESS_1 = """\
5:memory:/docker/abc
4:cpu,cpuacct:/docker/abc
3:cpuset:/docker/judge/abc
2:pids:/docker/abc
0::/docker/abc
"""


def test_where_the_folders_are(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"/proc/self/mountinfo": MOUNTS_1.strip(), "/proc/7/cgroup": PROCESS_1}
    monkeypatch.setattr(cgroup, "_read", lambda path: texts[str(path)])
    one = cgroup_of(7)
    assert one.version == 1
    assert str(one.memory) == "/sys/fs/cgroup/memory/docker/abc"
    assert str(one.cpu) == "/sys/fs/cgroup/cpu,cpuacct/docker/abc"
    assert str(one.cpuset) == "/sys/fs/cgroup/cpuset/abc", "only a part of the hierarchy may be mounted"
    texts["/proc/self/mountinfo"] = "25 30 0:23 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate"
    texts["/proc/7/cgroup"] = "0::/system.slice/docker-abc.scope\n"
    two = cgroup_of(7)
    assert (two.version, str(two.memory)) == (2, "/sys/fs/cgroup/system.slice/docker-abc.scope")
    texts["/proc/self/mountinfo"] = "25 30 0:23 / /elsewhere rw - tmpfs tmpfs rw"
    with pytest.raises(ValueError, match="no control group"):
        cgroup_of(7)


@pytest.mark.skipif(not Path("/sys/fs/cgroup").is_dir(), reason="this system has no control groups")
def test_the_group_of_this_very_process() -> None:
    try:
        mine = cgroup_of(os.getpid())
        members = mine.members()
    except (OSError, ValueError, KeyError) as error:
        pytest.skip(f"no control groups to be seen here: {error}")
    assert os.getpid() in members
