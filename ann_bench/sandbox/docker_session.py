"""One worker in one container, from its start to its end.

The engine starts and ends the container. A small keeper (`ann_bench.keeper.watch`) reads the control group beside it,
and ends the container where the judge is no more. Process 1 is a shell that outlives the worker until the judge lets
it go: the control group, and what it has counted, lives as long as it does.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import socket
import time
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ann_bench.engine.client import engine_errors
from ann_bench.engine.labels import worker_labels
from ann_bench.engine.probe import USER
from ann_bench.engine.recipe import ENTRY_FOLDER
from ann_bench.errors import EngineError
from ann_bench.keeper.cgroup import Bounds, cgroup_of
from ann_bench.sandbox import container
from ann_bench.sandbox.base import Exit, InForce, Reading, SandboxLost, WorkerSpec
from ann_bench.sandbox.folders import ram_folder
from ann_bench.sandbox.watch import Keeper
from ann_bench.wire import Channel, WireClosed, WireTimeout

if TYPE_CHECKING:
    from docker import DockerClient

START_SECONDS = 120.0

#: The exit code of a shell for a process that was ended by signal n is this and n.
BY_SIGNAL = 128
LOG_LINES = 400
LEAVE_SECONDS = 5.0

_FIELDS = {field.name for field in fields(Reading)}


class DockerSession:
    """One worker in one container, and its keeper."""

    def __init__(self, client: DockerClient, engine: container.Engine, image: str, spec: WorkerSpec) -> None:
        container.check_readable(spec.inputs)
        self._api: Any = client.api
        root = ram_folder()
        self._shared = container.Shared(root)
        self._name = root.name
        self._channel: Channel | None = None
        self._connection: socket.socket | None = None
        self._ended = self._leave = -1
        self._killing = False
        self._last: dict[str, Any] = {}
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._keeper: Keeper | None = None
        try:
            self._shared.make()
            self._inside = container.places(self._shared, spec.entry.folder, [path.absolute() for path in spec.inputs])
            self._open_wire()
            self._keeper = Keeper(
                self._name, spec.limits.memory_bytes, self._shared.questions / container.ENDED, [root]
            )
            self._pid = self._start(engine, image, spec)
            self._keeper.ask(f"watch {self._pid}")
            self._group = self._find_group()
        except BaseException:
            self._abandon()
            raise

    def _open_wire(self) -> None:
        """The socket that the worker calls, and the two pipes of process 1."""
        folder = self._shared.questions
        here = os.open(folder, os.O_PATH | os.O_CLOEXEC)
        try:  # the worker can ask what the socket was bound to: nothing of this machine is in the answer
            self._listener.bind(f"/proc/self/fd/{here}/{container.WIRE}")
        finally:
            os.close(here)
        (folder / container.WIRE).chmod(0o666)
        self._listener.listen(1)
        self._ended = os.open(folder / container.ENDED, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._leave = os.open(folder / container.LEAVE, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def _start(self, engine: container.Engine, image: str, spec: WorkerSpec) -> int:
        """Create and start the container; returns its process 1, as this machine numbers it."""
        inputs = [path.absolute() for path in spec.inputs]
        program = spec.entry.config.command
        host = container.settings(self._shared, inputs, spec.limits, spec.cpus, engine)
        with engine_errors(f"starting a container for {spec.entry.name}"):
            self._api.create_container(
                image,
                container.command(program),
                name=self._name,
                user=USER,
                working_dir=ENTRY_FOLDER if program else container.SCRATCH,
                environment=container.environment(spec.limits.cpus),
                labels=worker_labels(spec.entry.name),
                entrypoint=[],
                network_disabled=True,
                use_config_proxy=False,
                host_config=self._api.create_host_config(**host),
            )
            self._api.start(self._name)
            return int(self._api.inspect_container(self._name)["State"]["Pid"])

    def _find_group(self) -> Any:
        try:
            return cgroup_of(self._pid)
        except (OSError, ValueError, KeyError):
            if self._has_ended():
                return None
            raise EngineError(
                "the container engine does not run on this machine's own kernel (a virtual machine, or elsewhere): "
                "limits could not be checked; use an engine on Linux itself, or --sandbox process"
            ) from None

    @property
    def questions(self) -> Path:
        """Mounted read-only."""
        return self._shared.questions

    @property
    def answers(self) -> Path:
        """The worker may write into the files in it, and make none."""
        return self._shared.answers

    @property
    def channel(self) -> Channel:
        """The wire; the first use waits for the worker to call."""
        if self._channel is None:
            self._channel = self._accept()
        return self._channel

    def _accept(self) -> Channel:
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            ready, _, _ = select.select([self._listener.fileno(), self._ended], [], [], 1.0)
            if self._listener.fileno() in ready:
                self._connection, _ = self._listener.accept()
                self._listener.close()
                return Channel(self._connection, self._ended)
            if ready or self._has_ended():
                raise WireClosed("the container ended before its worker called")
        raise WireTimeout

    def inside(self, path: str) -> str:
        """The path in the container of a file or folder that is mounted there."""
        path = str(Path(path).absolute())
        if path in self._inside:
            return self._inside[path]
        parent, _, name = path.rpartition("/")
        return f"{self._inside[parent]}/{name}"

    def in_force(self) -> InForce:
        """The limits of the control group, those above it included."""
        try:
            bounds: Bounds = self._group.bounds()
        except (OSError, ValueError, KeyError, AttributeError):
            raise WireClosed("the container is gone") from None
        cpus = min(len(bounds.cpus), bounds.cpu_quota)
        details = {"by": f"cgroup v{self._group.version}", "cpuset": bounds.cpus, "processes": bounds.processes}
        if bounds.swap_bytes is None:
            details["swap"] = "not counted by this kernel"
        return InForce(int(cpus), bounds.memory_bytes, bounds.swap_bytes or 0, details)

    def reading(self) -> Reading:
        """What the control group has counted."""
        return _reading(self._ask())

    def _ask(self) -> dict[str, Any]:
        if self._keeper is None:
            raise SandboxLost
        return self._keeper.ask("reading")

    def processes(self) -> list[int]:
        """The members of its control group."""
        return [] if self._group is None else list(self._group.members())

    def log(self) -> str:
        """The end of what the container has printed so far."""
        with engine_errors("reading the log of a container"):
            text: bytes = self._api.logs(self._name, tail=LOG_LINES)
        return text.decode(errors="replace")

    def pause(self) -> None:
        """Freeze the container."""
        self._freeze(self._api.pause)

    def resume(self) -> None:
        """Let the container go on."""
        self._freeze(self._api.unpause)

    def _freeze(self, act: Any) -> None:
        from docker.errors import APIError

        with engine_errors("freezing a container"), contextlib.suppress(APIError):  # it may have ended
            act(self._name)

    def kill(self) -> None:
        """End the container at once; its counters are read for the last time before."""
        if not self._killing:
            self._killing = True
            with contextlib.suppress(SandboxLost):
                self._last = self._ask()
            self._remove_container(only_end=True)

    def close(self, grace: float = 2.0) -> Exit:
        """Wait for the worker's end, read the counters for the last time, and remove container and folders."""
        if self._channel is not None:
            self._channel.close()
        try:
            code = None if self._killing else self._wait(grace)
            by_itself = code is not None or (not self._killing and self._has_ended())
            if not self._killing:
                with contextlib.suppress(SandboxLost):
                    self._last = self._ask()
            self._end_container(kindly=code is not None)
            text = self.log()
            out_of_memory = self._last.get("oom_kills", 0) > 0 or (
                code is None and by_itself and self._engine_saw_oom()
            )
        finally:
            self._abandon()
        by_signal = int(signal.SIGKILL) if code is None else max(0, code - BY_SIGNAL)
        return Exit(
            code=None if by_signal else code,
            signal=by_signal or None,
            out_of_memory=out_of_memory,
            killed=not by_itself,
            left_behind=max(0, self._last.get("members", 0) - 1) if code is not None and not out_of_memory else 0,
            log=text,
            reading=_reading(self._last),
        )

    def _end_container(self, *, kindly: bool) -> None:
        """Let process 1 end, and all else in the container with it; only then has the engine the whole log."""
        if kindly:
            os.write(self._leave, b"\n")
        else:
            self._remove_container(only_end=True)
        until = time.monotonic() + LEAVE_SECONDS
        while not self._has_ended() and time.monotonic() < until:
            time.sleep(0.01)

    def _wait(self, grace: float) -> int | None:
        """The worker's exit code, as process 1 reports it; None where it does not come, or process 1 is gone too."""
        until = time.monotonic() + grace
        while True:
            left = until - time.monotonic()
            ready, _, _ = select.select([self._ended], [], [], min(1.0, max(0.0, left)))
            if ready:
                words = os.read(self._ended, 64).split()
                return int(words[0]) if words and words[0].isdigit() else 1
            if left <= 0 or self._has_ended():
                return None

    def _has_ended(self) -> bool:
        return not self._state()["Running"]

    def _engine_saw_oom(self) -> bool:
        return bool(self._state().get("OOMKilled"))

    def _state(self) -> dict[str, Any]:
        with engine_errors("looking after a container"):
            state: dict[str, Any] = self._api.inspect_container(self._name)["State"]
        return state

    def _remove_container(self, *, only_end: bool = False) -> None:
        from docker.errors import APIError

        with engine_errors("ending a container"), contextlib.suppress(APIError):  # it may have ended, or never been
            if only_end:
                self._api.kill(self._name)
            else:
                self._api.remove_container(self._name, force=True, v=True)

    def _abandon(self) -> None:
        """Leave nothing: container, keeper, pipes, folders. Where the engine fails, the keeper tries once more."""
        ended = False
        try:
            self._remove_container()
            ended = True
        finally:
            keeper, self._keeper = self._keeper, None
            if keeper is not None:
                keeper.end(container_is_gone=ended)
            if self._connection is not None:
                self._connection.close()
            self._listener.close()
            for file in (self._ended, self._leave):
                if file >= 0:
                    os.close(file)
            self._ended = self._leave = -1
            shutil.rmtree(self._shared.root, ignore_errors=True)


def _reading(message: dict[str, Any]) -> Reading:
    return Reading(**{name: message.get(name, 0) for name in _FIELDS})
