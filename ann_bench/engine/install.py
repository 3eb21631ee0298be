"""What pip installs on top of an image: in a container that has pip's cache, since a build can have none.

The classic builder, the only one that the engine's API offers to all, has no place outside the image that lasts from
one build to the next. A container has: a volume, which every installation of this engine shares.
"""

from __future__ import annotations

import codecs
import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ann_bench.engine.build import Builds, Log
from ann_bench.engine.client import engine_errors
from ann_bench.engine.labels import Namespace, worker_labels
from ann_bench.environments.downloads import Downloads

#: Where a container has pip's cache.
_CACHE = "/var/cache/ann-bench-pip"
#: Waits to be told what to run; ends by itself where nobody is left to tell.
_WAIT = ["-c", "import time; time.sleep(86400)"]


@dataclass(frozen=True)
class Shelf:
    """What all installations of one command share: the engine's builds, the turns of pip, settings of this machine."""

    builds: Builds
    space: Namespace
    arguments: Mapping[str, str]
    network: str | None
    downloads: Downloads

    def install(self, image_id: str, needs: Sequence[str], labels: Mapping[str, str], log: Log) -> str:
        """An image of that image and these packages, with these labels; its id.

        Raises BuildFailed with pip's reason, EngineError where the engine is at fault. No container stays.
        """
        api = self.builds.client.api
        with engine_errors("making a container for pip"):
            api.create_volume(self._volume, labels={self.space.kind: "downloads"})
            container: dict[str, Any] = api.create_container(
                image_id,
                command=_WAIT,
                entrypoint=["python"],
                user="0",
                labels=worker_labels("pip", self.space),
                use_config_proxy=False,
                host_config=api.create_host_config(
                    network_mode=self.network, binds={self._volume: {"bind": _CACHE, "mode": "rw"}}
                ),
            )
        try:
            with self.builds.running(container["Id"]), engine_errors("running pip in a container"):
                api.start(container)
                with self.downloads.turn() as said:
                    self._pip(container, needs, log, said)
                return self._commit(container, labels, log)
        finally:
            with suppress(Exception):
                api.remove_container(container, force=True, v=False)

    @property
    def _volume(self) -> str:
        return f"{self.space.name}-pip"

    def _pip(self, container: dict[str, Any], needs: Sequence[str], log: Log, said: Callable[[str], None]) -> None:
        api = self.builds.client.api
        self.builds.check()  # the turn may have been long in coming
        words = ["python", "-m", "pip", "install", *needs]
        log.begin(shlex.join(words[2:]))
        options = ["--no-input", "--progress-bar", "off", "--cache-dir", _CACHE]
        # The common image forbids pip a cache, for builds that would keep it in the image.
        command = ["env", "-u", "PIP_NO_CACHE_DIR", "PYTHONUNBUFFERED=1", *words[:4], *options, *needs]
        one = api.exec_create(container, command, user="0", environment=dict(self.arguments))
        decoder, rest = codecs.getincrementaldecoder("utf-8")(errors="replace"), ""
        stream = api.exec_start(one["Id"], stream=True)
        try:
            for piece in stream:
                text = decoder.decode(piece)
                log.write(text)
                *lines, rest = (rest + text).split("\n")
                for line in lines:
                    said(line)
        finally:
            log.end()
            # The SDK's own `close` leaves the socket open where the engine has hung up first.
            stream._response.close()
        self.builds.check()
        code = api.exec_inspect(one["Id"])["ExitCode"]
        if code != 0:
            raise log.failure(f"returned a non-zero code: {1 if code is None else code}")

    def _commit(self, container: dict[str, Any], labels: Mapping[str, str], log: Log) -> str:
        """The image of what is in the container now, without the labels of a container that works for a judge."""
        api = self.builds.client.api
        plain = {**dict.fromkeys(worker_labels("", self.space), ""), **labels}
        changes = [f"LABEL {name}={json.dumps(value)}" for name, value in plain.items()]
        image_id: str = api.commit(container, changes=["ENTRYPOINT []", 'CMD ["python"]', *changes])["Id"]
        log.made.append(image_id.removeprefix("sha256:"))
        return image_id
