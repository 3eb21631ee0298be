"""Turns on other processes: process 1, its parent, all that it can see; and on the judge, by a second call on the wire.

The one process that is not its own is the shell that started it, which has the same rights. The signals go to it all
the same: whatever they do, the judge must see it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
from pathlib import Path
from typing import Any

from kit import Attempts, Exact, inside_only, libc, told

WORD = b"ann-bench-" + b"canary"
PTRACE_ATTACH, PTRACE_DETACH = 16, 17


class Entry(Exact):
    def fit(self, base: Any, tags: Any = None, learn: Any = None) -> None:
        inside_only()
        super().fit(base, tags, learn)
        self.attempts = Attempts()
        self.look_around()
        self.signal_process_1()
        self.beyond()
        self.call_again(told("address"))

    def look_around(self) -> None:
        """Who is there: all of them are this container's."""
        pids = sorted(int(folder.name) for folder in Path("/proc").glob("[0-9]*"))
        commands = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids}
        self.seen = len(pids)
        self.strangers = sum(Path(f"/proc/{pid}").stat().st_uid != os.getuid() for pid in pids)
        self.marked = sum(WORD in command for command in commands.values())
        self.highest = max(pids)

    def signal_process_1(self) -> None:
        """It is deaf to all that it has no handler for: the container lives on, or this entry would not end well."""
        self.sent = 0
        for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            os.kill(1, number)
            self.sent += 1

    def beyond(self) -> None:
        """Numbers that are no process in here, but are outside."""
        for pid in (*range(self.highest + 1, self.highest + 2000, 97), os.getppid() + 5000, 2**22 - 1):
            self.attempts.make(f"signal {pid}", os.kill, pid, 0)
            self.attempts.make(f"trace {pid}", libc, "ptrace", PTRACE_ATTACH, pid, None, None)
            self.attempts.make(f"read {pid}", read_memory, pid)
        self.attempts.make("be more important", os.setpriority, os.PRIO_PROCESS, 0, -20)
        self.attempts.make("a process of the host by its descriptor", pid_of_peer)

    def call_again(self, address: str) -> None:
        """A second worker on the same wire: the judge takes one call and no more."""
        self.held = []
        for _ in range(4):
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            sock.settimeout(0.1)
            self.attempts.make("call the judge again", call, sock, address)
            self.held.append(sock)

    def stats(self) -> dict[str, Any]:
        return self.attempts.report(seen=self.seen, strangers=self.strangers, marked=self.marked, sent=self.sent)


def call(sock: socket.socket, address: str) -> None:
    sock.connect(address)
    sock.sendall(b'{"type":"hello","protocol":1}\n')
    if not sock.recv(100):
        raise ConnectionResetError


def read_memory(pid: int) -> None:
    class Vector(ctypes.Structure):
        _fields_ = (("base", ctypes.c_void_p), ("size", ctypes.c_size_t))

    text = ctypes.create_string_buffer(8)
    here, there = Vector(ctypes.addressof(text), 8), Vector(0x400000, 8)
    libc("process_vm_readv", pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)


def pid_of_peer() -> None:
    """The judge's number, from the socket: 0 where it is in another namespace."""
    sock = told("channel")._socket
    pid = int.from_bytes(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[:4], "little")
    if pid == 0:
        raise ProcessLookupError
    os.kill(pid, 0)
