"""Becomes root, or gets the rights of root one by one: user namespaces, mounts, devices, modules, clocks, other ids."""

from __future__ import annotations

import ctypes
import os
import socket
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kit import Attempts, Exact, inside_only, libc, places, scratch

NAMESPACES = {
    "user": 0x10000000, "mount": 0x20000, "pid": 0x20000000, "network": 0x40000000,
    "ipc": 0x08000000, "uts": 0x04000000, "cgroup": 0x02000000, "time": 0x80,
}  # fmt: skip
NO_CTRL_ALT_DELETE = 0  # reboot(2) with the one order that does no harm
MAGIC = (0xFEE1DEAD, 672274793)
SYSTEM_CALLS = {  # x86-64; elsewhere they are other calls and refused for other reasons
    "bpf": (321, 5, 0, 0), "perf_event_open": (298, 0, 0, -1, -1, 0), "init_module": (175, 0, 0, 0),
    "finit_module": (313, -1, 0, 0), "kexec_load": (246, 0, 0, 0, 0), "userfaultfd": (323, 0),
    "pivot_root": (155, b"/scratch", b"/scratch"), "fsopen": (430, b"tmpfs", 0), "open_tree": (428, -100, b"/", 1),
    "io_uring_setup": (425, 1, 0), "keyctl": (250, 0, -3, 0), "add_key": (248, b"user", b"x", b"x", 1, -3),
    "lookup_dcookie": (212, 0, 0, 0), "iopl": (172, 3), "quotactl": (179, 0, 0, 0, 0),
}  # fmt: skip


class Entry(Exact):
    def fit(self, base: Any, tags: Any = None, learn: Any = None) -> None:
        inside_only()
        super().fit(base, tags, learn)
        self.attempts = Attempts()
        for name, attack in ATTACKS.items():
            self.attempts.make(name, attack)
        for name, flag in NAMESPACES.items():
            self.attempts.make(f"a {name} namespace", in_a_child, lambda flag=flag: libc("unshare", flag))
            self.attempts.make(f"a user and a {name} namespace", unshare_both, flag)
        for name, (number, *args) in SYSTEM_CALLS.items():
            self.attempts.make(name, in_a_child, lambda number=number, args=args: libc("syscall", number, *args))
        self.join()
        self.run_setuid_programs()
        self.status = status()

    def join(self) -> None:
        """The namespaces of process 1, of this one's parent, and of whoever else can be seen."""
        for pid in (1, os.getppid()):
            for name in NAMESPACES:
                short = {"mount": "mnt", "network": "net"}.get(name, name)
                self.attempts.make(f"join {short} of {pid}", in_a_child, lambda pid=pid, short=short: enter(pid, short))

    def run_setuid_programs(self) -> None:
        self.setuid = 0
        for folder, names in places():
            for path in (folder / name for name in names):
                if path.is_file() and path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID) and not path.is_symlink():
                    self.setuid += 1
        for argv in (["su", "-c", "id -u"], ["mount", "-t", "tmpfs", "none", "/mnt"], ["newgrp", "root"]):
            self.attempts.make(" ".join(argv), run, argv)

    def stats(self) -> dict[str, Any]:
        return self.attempts.report(setuid=self.setuid, ids=str(os.getresuid() + os.getresgid()), **self.status)


def run(argv: list[str]) -> None:
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=5)


def in_a_child(attack: Callable[[], Any]) -> None:
    """Try in a child, since it would change this process for good."""
    pid = os.fork()
    if pid == 0:
        try:
            attack()
            os._exit(0)
        except OSError as error:
            os._exit(min(error.errno or 255, 255))
        except BaseException:
            os._exit(255)
    _, ended = os.waitpid(pid, 0)
    if ended:
        code = os.waitstatus_to_exitcode(ended)
        raise OSError(code, os.strerror(code) if code > 0 else f"signal {-code}")


def unshare_both(flag: int) -> None:
    def attack() -> None:
        libc("unshare", NAMESPACES["user"] | flag)

    in_a_child(attack)


def enter(pid: int, name: str) -> None:
    """Joining what one is in already is no feat."""
    theirs, own = Path(f"/proc/{pid}/ns/{name}"), Path(f"/proc/self/ns/{name}")
    if theirs.readlink() == own.readlink():
        raise OSError(0, "the same")
    file = os.open(theirs, os.O_RDONLY)
    libc("setns", file, 0)


def status() -> dict[str, str]:
    """What the kernel says of this process."""
    wanted = ("NoNewPrivs", "CapEff", "CapPrm", "CapBnd", "CapAmb", "Seccomp", "Groups")
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return {line.partition(":")[0]: line.partition(":")[2].strip() for line in lines if line.startswith(wanted)}


def set_capabilities() -> None:
    """Ask for all of them."""
    head = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6)
    libc("capset", ctypes.byref(head), ctypes.byref(data))


def make_setuid() -> None:
    """A program of root's own kind: what a file of this user cannot be."""
    path = scratch() / "sh"
    path.write_bytes(Path("/bin/sh").read_bytes())
    path.chmod(0o4755)
    os.chown(path, 0, 0)


ATTACKS: dict[str, Callable[[], Any]] = {
    "setuid": lambda: in_a_child(lambda: os.setuid(0)),
    "setgid": lambda: in_a_child(lambda: os.setgid(0)),
    "setgroups": lambda: in_a_child(lambda: os.setgroups([0])),
    "capset": lambda: in_a_child(set_capabilities),
    "a setuid file": make_setuid,
    "chroot": lambda: in_a_child(lambda: os.chroot("/scratch")),
    "a block device": lambda: os.mknod("/scratch/block", stat.S_IFBLK | 0o666, os.makedev(254, 0)),
    "the memory of the machine": lambda: os.mknod("/scratch/memory", stat.S_IFCHR | 0o666, os.makedev(1, 1)),
    "mount a tmpfs": lambda: libc("mount", b"none", b"/scratch", b"tmpfs", 0, None),
    "mount proc": lambda: libc("mount", b"none", b"/scratch", b"proc", 0, None),
    "mount the control groups": lambda: libc("mount", b"none", b"/scratch", b"cgroup", 0, b"memory"),
    "mount the disk": lambda: libc("mount", b"/dev/vda", b"/scratch", b"ext4", 1, None),
    "remount the root": lambda: libc("mount", None, b"/", None, 32 | 4096, None),
    "unmount /proc": lambda: libc("umount2", b"/proc", 2),
    "set the clock": lambda: time.clock_settime(time.CLOCK_REALTIME, time.time()),
    "the host's name": lambda: socket.sethostname("hostile"),
    "reboot": lambda: libc("reboot", NO_CTRL_ALT_DELETE),
    "swap": lambda: libc("swapon", b"/scratch/own", 0),
    "accounting": lambda: libc("acct", None),
    "the kernel's log": lambda: libc("klogctl", 5, None, 0),
    "fanotify": lambda: libc("fanotify_init", 4, 0),
}
