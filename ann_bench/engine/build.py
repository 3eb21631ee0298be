"""One build on the engine: its log as it comes, how far it is, why it failed in one line, nothing left behind."""

from __future__ import annotations

import re
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TextIO

from ann_bench.engine.client import DISK_FULL, disk_is_full, engine_errors
from ann_bench.errors import AnnBenchError, EngineError, StorageError

if TYPE_CHECKING:
    import docker

Step = Callable[[int, int], None]

_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_STEP = re.compile(r"STEP (\d+)/(\d+) ?: (.*)", re.IGNORECASE)
_MADE = re.compile(r" ?-{2,3}> ([0-9a-f]{11,64})")
_CACHED = re.compile(r" ?-{2,3}> Using cache.*")
#: Lines that a step did not write itself, or that never say why it failed.
_ENGINES_OWN = re.compile(
    r" ---> |Removing intermediate container|The command '|building at STEP|error running container|.*\[notice\]"
)
_CODE = re.compile(r"(?:returned a non-zero code:|while running runtime: exit status) (\d+)")
_LOOKS_LIKE_A_REASON = re.compile(r"\s*(ERROR|error|E|fatal|\w*Error|.*: error|.*: fatal error)\s*:")
#: Longer lines are cut in messages; the log has them whole.
_MOST = 240
#: The engine removes the container of a step that failed within this time.
_CONTAINER_SECONDS = 5.0


class BuildFailed(AnnBenchError):
    """A build came to an end without an image."""


class Builds:
    """The builds that run now in several threads, so that all of them can be ended at once."""

    def __init__(self, client: docker.DockerClient) -> None:
        self.client = client
        self.ended = threading.Event()
        self._responses: weakref.WeakSet[Any] = weakref.WeakSet()
        self._containers: set[str] = set()
        self._lock = threading.Lock()

    def end(self) -> None:
        """End every build: the engine stops one whose client hangs up."""
        self.ended.set()
        with self._lock:
            responses, containers = list(self._responses), list(self._containers)
        for container in containers:
            with suppress(Exception):
                self.client.api.kill(container)
        for response in responses:
            # The thread that reads it is woken up, and hangs up.
            with suppress(Exception):
                response.raw.shutdown()

    def check(self) -> None:
        """Raise BuildFailed once the builds have been ended."""
        if self.ended.is_set():
            raise BuildFailed("ended before it was done")

    @contextmanager
    def running(self, container: str) -> Iterator[None]:
        """While this is open, a container ends with the builds."""
        with self._lock:
            self._containers.add(container)
        try:
            yield
        finally:
            with self._lock:
                self._containers.discard(container)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """While this is open, the answers of the engine that take long can be ended from another thread."""
        hooks: list[Any] = self.client.api.hooks["response"]
        hooks.append(self._note)
        try:
            yield
        finally:
            hooks.remove(self._note)

    def _note(self, response: Any, *_: Any, **__: Any) -> None:
        if response.request.path_url.partition("?")[0].endswith(("/build", "/images/create")):
            with self._lock:
                self._responses.add(response)
            if self.ended.is_set():
                self.end()


@dataclass
class Log:
    """The log of what is done for one image, and what to quote from it where that fails."""

    file: TextIO
    path: Path
    step: str = ""
    made: list[str] = field(default_factory=list)
    _reason: str = ""
    _last: str = ""
    _cached: bool = False
    _rest: str = ""

    def write(self, text: str, on_step: Step | None = None) -> None:
        """Take what has arrived, be it half a line."""
        *lines, self._rest = (self._rest + text).split("\n")
        for raw in lines:
            line = _COLOURS.sub("", raw).rpartition("\r")[2].rstrip() if "\r" in raw else _COLOURS.sub("", raw).rstrip()
            self.file.write(line + "\n")
            self._read(line, on_step)
        self.file.flush()

    def begin(self, step: str) -> None:
        """A step that the engine's builder does not announce."""
        self.step, self._reason, self._last, self._cached = step, "", "", False
        self.file.write(f"$ {step}\n")

    def end(self) -> None:
        """Take the end of a build's output."""
        if self._rest:
            self.write("\n")

    def _read(self, line: str, on_step: Step | None) -> None:
        if step := _STEP.fullmatch(line):
            self.step, self._reason, self._last, self._cached = step[3], "", "", False
            if on_step:
                on_step(int(step[1]) - 1, int(step[2]))
        elif made := _MADE.fullmatch(line):
            if not self._cached:
                self.made.append(made[1])
            self._cached = False
        elif _CACHED.fullmatch(line):
            self._cached = True
        elif line.strip() and not _ENGINES_OWN.match(line):
            self._last = line.strip()
            if _LOOKS_LIKE_A_REASON.match(line) or disk_is_full(line):
                self._reason = line.strip()

    def failure(self, error: str) -> BuildFailed:
        """The one line for a build that ended with this message of the engine."""
        if disk_is_full(f"{error} {self._reason} {self._last}"):
            return BuildFailed(DISK_FULL)
        reason = error
        if code := _CODE.search(error):
            last = f", after the line: {self._last}" if self._last else ""
            reason = self._reason or f"exit code {code[1]}{last}"
        where = f"`{_cut(self.step, 80)}`: " if self.step else ""
        return BuildFailed(f"{where}{_cut(reason, _MOST)}")


@contextmanager
def open_log(path: Path) -> Iterator[Log]:
    """A new log in this file; StorageError where it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w", encoding="utf-8", errors="replace")
    except OSError as error:
        raise StorageError(f"{path}: no log can be written there ({error.strerror}); see --logs") from error
    with file:
        yield Log(file, path)


def build(
    builds: Builds,
    context: IO[bytes],
    log: Log,
    *,
    arguments: Mapping[str, str],
    network: str | None,
    tag: str | None = None,
    fresh: bool = False,
    on_step: Step | None = None,
) -> str:
    """Build what the context holds; the image's id. Raises BuildFailed, or EngineError where the engine is at fault.

    `log.made` grows by what the engine keeps of each step. `fresh` takes nothing from the engine's cache.
    """
    api = builds.client.api
    image_id, error = "", ""
    try:
        with engine_errors("building an image"):
            stream = api.build(
                fileobj=context,
                custom_context=True,
                tag=tag,
                rm=True,
                forcerm=True,
                nocache=fresh,
                network_mode=network,
                buildargs=dict(arguments),
                timeout=None,
                decode=True,
            )
            try:
                for chunk in stream:
                    log.write(_text(chunk), on_step)
                    image_id = chunk.get("aux", {}).get("ID", image_id)
                    error = str(chunk.get("error", error))
            finally:
                log.end()
                stream.close()
    except EngineError:
        builds.check()  # whatever the engine said when we hung up, that was why
        raise
    builds.check()
    if error:
        raise log.failure(error)
    if not image_id:
        raise log.failure("the engine ended the build without a word; is it running?")
    return image_id


def remove_made(client: docker.DockerClient, ids: list[str], before: set[str]) -> None:
    """Remove what a failed build has left in the engine, but nothing that was there before, nor what others use."""
    for image_id in reversed(ids):
        if not any(known.startswith(image_id.removeprefix("sha256:")) for known in before):
            with suppress(Exception):  # in use by another build, or gone: neither is ours to remove
                _remove(client, image_id)


def _remove(client: docker.DockerClient, image_id: str) -> None:
    """Remove an image, as soon as the container of the step that failed has gone."""
    import docker.errors

    patience = time.monotonic() + _CONTAINER_SECONDS
    while True:
        try:
            client.api.remove_image(image_id, noprune=True)
        except docker.errors.APIError as error:
            if "container" not in str(error.explanation) or time.monotonic() > patience:
                raise
            time.sleep(0.1)
        else:
            return


def _text(chunk: Mapping[str, Any]) -> str:
    if "stream" in chunk:
        return str(chunk["stream"])
    if "error" in chunk:
        return f"{chunk['error']}\n"
    if "status" in chunk and "progress" not in chunk:
        return " ".join(str(chunk[key]) for key in ("id", "status") if key in chunk) + "\n"
    return ""


def _cut(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"
