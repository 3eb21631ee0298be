"""What pip installs on top of an image: in a container that has a store of wheels, since a build can have none.

The classic builder, the only one that the engine's API offers to all, has no place outside the image that lasts from
one build to the next. A container has: a volume, which every installation on this engine shares.
"""

from __future__ import annotations

import codecs
import json
import shlex
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from ann_bench.engine.build import Builds, Log
from ann_bench.engine.client import engine_errors
from ann_bench.engine.labels import Namespace, worker_labels
from ann_bench.environments import wheels

#: Where a container has the volume; below it, a store for each base, since what is compiled may not run on another.
_VOLUME = "/var/cache/ann-bench-wheels"
#: Where it has the wheels of one installation, which are not in the image.
_PLACE = "/var/tmp/ann-bench-wheels"  # noqa: S108
#: Waits to be told what to run; ends by itself where nobody is left to tell.
_WAIT = ["-c", "import time; time.sleep(86400)"]


@dataclass(frozen=True)
class Shelf:
    """What all installations of one command share: the engine's builds, settings of this machine, the store's name.

    One pip at a time downloads and compiles (`bringing`), so that no two do the same.
    """

    builds: Builds
    space: Namespace
    arguments: Mapping[str, str]
    network: str | None
    store: str
    bringing: threading.Lock = field(default_factory=threading.Lock)

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
                    network_mode=self.network, binds={self._volume: {"bind": _VOLUME, "mode": "rw"}}
                ),
            )
        try:
            with self.builds.running(container["Id"]), engine_errors("running pip in a container"):
                api.start(container)
                self._pip(container, needs, log)
                return self._commit(container, labels, log)
        finally:
            with suppress(Exception):
                api.remove_container(container, force=True, v=False)

    @property
    def _volume(self) -> str:
        return f"{self.space.name}-wheels"

    def _pip(self, container: dict[str, Any], needs: Sequence[str], log: Log) -> None:
        store = f"{_VOLUME}/{self.store}"
        bring, put = wheels.commands(["python", "-m", "pip"], store, _PLACE, needs)
        with self.bringing:
            self._run(container, bring, log, shlex.join(["pip", "wheel", *needs]))
            self._run(container, ["python", "-c", _text(wheels), store, _PLACE], log, "keep the wheels")
        self._run(container, put, log, shlex.join(["pip", "install", *needs]))
        self._run(container, ["rm", "-rf", _PLACE], log, "remove what was brought")

    def _run(self, container: dict[str, Any], words: Sequence[str], log: Log, step: str) -> None:
        """Run a program in the container, its output into the log; BuildFailed where it fails."""
        api = self.builds.client.api
        self.builds.check()  # the turn may have been long in coming
        log.begin(step)
        given = {**self.arguments, "PYTHONUNBUFFERED": "1"}
        one = api.exec_create(container, list(words), user="0", environment=given)
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        stream = api.exec_start(one["Id"], stream=True)
        try:
            for piece in stream:
                log.write(decoder.decode(piece))
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


def _text(module: ModuleType) -> str:
    return Path(str(module.__file__)).read_text(encoding="utf-8")
