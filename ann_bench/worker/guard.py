"""The first thing that runs in a container: closes what engines leave open, for good, and becomes the next program.

A container without a network can still open sockets to the hypervisor (AF_VSOCK), unless the engine's own filter is new
enough to refuse them. A filter of system calls (seccomp, see the kernel's userspace-api/seccomp_filter) refuses them
here, and all calls of foreign kinds with which it could be passed by. No process below can take it off.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys

#: What the kernel calls each machine, and its number of `socket`.
_MACHINES = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
_VSOCK = 40
_X32 = 0x40000000
_REFUSE, _ALLOW = 0x00050001, 0x7FFF0000
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _MACHINE, _FIRST_ARGUMENT = 0, 4, 16
_PR_SET_SECCOMP, _FILTER = 22, 2


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]


def refuse_hypervisor_sockets() -> None:
    """Set the filter for this process and all below it; OSError where the kernel takes none."""
    if platform.machine() not in _MACHINES:
        return
    machine, socket = _MACHINES[platform.machine()]
    steps = (
        (_LOAD, 0, 0, _MACHINE),
        (_IF_EQUAL, 0, 5, machine),
        (_LOAD, 0, 0, _NUMBER),
        (_IF_AT_LEAST, 3, 0, _X32),
        (_IF_EQUAL, 0, 3, socket),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_IF_EQUAL, 0, 1, _VSOCK),
        (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _ALLOW),
    )
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *step) for step in steps))
    program = _Program(len(steps), ctypes.addressof(code))
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_SECCOMP, _FILTER, ctypes.byref(program)):
        raise OSError(ctypes.get_errno(), "no filter of system calls can be set")


if __name__ == "__main__":
    refuse_hypervisor_sockets()
    os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606  that is what it is for
