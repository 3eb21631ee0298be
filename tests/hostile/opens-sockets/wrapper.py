"""Calls out by every kind of socket: other machines, the host, its engine, names, raw packets, the machine below.

Outside there are a TCP, a UDP and an abstract Unix listener of the test, whose addresses are its build arguments. Other
addresses are those that are nobody's, kept for documentation: a container without a way out refuses them at once.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kit import Attempts, Exact, in_a_container, mounts

SECONDS = 0.5
NOBODY = ("192.0.2.1", "198.51.100.1", "203.0.113.1")
NOBODY_6 = ("2001:db8::1", "fe80::1%1")
AROUND = ("10.0.0.1", "172.17.0.1", "192.168.0.1", "169.254.0.1", "255.255.255.255", "224.0.0.1")
PORTS = (53, 80, 443, 2375)
ENGINES = ("/var/run/docker.sock", "/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock")
NAMES = ("localhost.localdomain.invalid", "host.docker.internal", "gateway.docker.internal", "example.com")
#: A host that does not answer is as bad as one that does: the call has left.
REFUSALS = (errno.ENETUNREACH, errno.EPERM, errno.EACCES, errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL, errno.ENODEV)


class Entry(Exact):
    def fit(self, base: Any, tags: Any = None, learn: Any = None) -> None:
        super().fit(base, tags, learn)
        self.attempts = Attempts()
        self.calls()

    def calls(self) -> None:
        self.listeners()
        if in_a_container():  # nobody is to be called from a machine that has a way out
            self.internet()
        self.unix()
        self.kinds()

    def listeners(self) -> None:
        """The test's own ears."""
        make = self.attempts.make
        for host in ("127.0.0.1", "::1", "0.0.0.0"):
            make(f"tcp to the test at {host}", tcp, host, self.build["tcp"])
        make("udp to the test", udp_answered, self.build["udp"])
        make("abstract socket of the test", unix, "\0" + self.build["abstract"])
        make("socket file of the test", unix, self.build["path"])

    def internet(self) -> None:
        for host in (*NOBODY, *NOBODY_6, *AROUND):
            for port in PORTS:
                self.attempts.make(f"tcp {host} {port}", left, tcp, host, port)
            self.attempts.make(f"udp {host}", left, udp, host)
        for name in NAMES:
            self.attempts.make(f"name {name}", socket.getaddrinfo, name, 80)

    def unix(self) -> None:
        for path in ENGINES:
            self.attempts.make(path, unix, path)
        wires = {str(path) for path in Path("/run").rglob("*.sock")} if in_a_container() else set()
        for line in Path("/proc/net/unix").read_text(encoding="utf-8").splitlines()[1:]:
            name = line.split(maxsplit=7)[7:]
            if name and in_a_container() and not name[0].endswith("/wire"):
                wires.add(name[0].replace("@", "\0", 1))
        wires |= {inside for _, inside in mounts() if inside.endswith(".sock") and in_a_container()}
        for path in sorted(wires):
            self.attempts.make(f"unix {path!r}", unix, path)

    def kinds(self) -> None:
        make = self.attempts.make
        make("raw packets", socket.socket, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        make("raw packets, IPv6", socket.socket, socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
        make("the wire itself", socket.socket, socket.AF_PACKET, socket.SOCK_RAW, 3)
        make("the crypto of the kernel", socket.socket, 38, socket.SOCK_SEQPACKET)
        make("the machine below (vsock)", vsock)
        make("a second network interface", second_interface)

    def stats(self) -> dict[str, Any]:
        return self.attempts.report(control=control())


def tcp(host: str, port: int) -> None:
    with socket.create_connection((host, port), SECONDS):
        pass


def udp(host: str, port: int = 53) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        sock.sendto(b"anybody there?", (host, port))


def udp_answered(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(SECONDS)
        sock.sendto(b"anybody there?", ("127.0.0.1", port))
        sock.recv(100)


def unix(path: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(SECONDS)
        sock.connect(path)


def vsock() -> None:
    """A socket past the network, to the machine that this one may be a guest of: it does not care for namespaces.

    None is called: nothing there is ours. To have one is to have a way out.
    """
    socket.socket(getattr(socket, "AF_VSOCK", 40), socket.SOCK_STREAM).close()


def left(call: Callable[..., None], *args: Any) -> None:
    """Whether it has left the container, answered or not."""
    try:
        call(*args)
    except OSError as error:
        if error.errno in REFUSALS or isinstance(error, socket.gaierror):
            raise


def second_interface() -> None:
    """Ask the kernel for an interface of any kind: RTM_NEWLINK, `dummy`."""
    kind = b"\x0a\x00\x01\x00dummy\x00\x00\x00"
    info = (len(kind) + 4).to_bytes(2, "little") + (18).to_bytes(2, "little") + kind
    body = bytes(16) + info
    head = (16 + len(body)).to_bytes(4, "little") + (16).to_bytes(2, "little") + (0x605).to_bytes(2, "little")
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as sock:
        if not in_a_container():
            raise PermissionError("not here")
        sock.send(head + bytes(8) + body)
        error = int.from_bytes(sock.recv(4096)[16:20], "little", signed=True)
    if error:
        raise OSError(-error, os.strerror(-error))


def control() -> bool:
    """Whether calling works at all: a listener of its own, in its own network."""
    mine = Attempts()
    with socket.create_server(("127.0.0.1", 0)) as server:
        mine.make("my own", left, tcp, *server.getsockname())
    return mine.reached == ["my own"]
