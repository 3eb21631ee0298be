"""The image that all others begin with: the user's choice, the usual one, or the one made from Debian packages."""

from __future__ import annotations

import logging
import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ann_bench.engine.client import engine_errors
from ann_bench.engine.labels import OURS, short_tag
from ann_bench.errors import EngineError
from ann_bench.progress import Progress, silent

if TYPE_CHECKING:
    import docker

VARIABLE = "ANN_BENCH_BASE_IMAGE"
USUAL = "python:3.11-slim-bookworm"
OWN = f"{OURS.repository('base')}:bookworm"
SCRIPT = Path(__file__).with_name("base-from-debian.sh")

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Base:
    """An image on the engine, by the name it was asked for and by its id."""

    name: str
    id: str

    def __str__(self) -> str:
        return f"{self.name} ({self.id.removeprefix('sha256:')[:12]})"


def local_base(client: docker.DockerClient, images: Iterable[Mapping[str, Any]]) -> Base | None:
    """The base image as it is on the engine now; None where it has to be pulled or made first.

    The one that was made here counts wherever nobody has chosen another and the usual one has not been pulled.
    """
    images = list(images)
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return _by_tag(chosen, images) or _by_id(client, chosen)
    return _by_tag(USUAL, images) or _by_tag(OWN, images)


def pull_base(client: docker.DockerClient, progress: Progress = silent) -> Base:
    """Pull the base image; EngineError where that is not possible, with the ways out."""
    name = os.environ.get(VARIABLE) or USUAL
    repository, tag = _split(name)
    logger.info("pulling the base image %s", name)
    try:
        with engine_errors("pulling it"):
            done: dict[str, int] = {}
            for chunk in client.api.pull(repository, tag=tag, stream=True, decode=True):
                if "error" in chunk:
                    raise EngineError(str(chunk["error"]))
                if chunk.get("progressDetail", {}).get("current"):
                    done[chunk["id"]] = chunk["progressDetail"]["current"]
                    progress(f"pull {name}", sum(done.values()), None)
            return Base(name, client.api.inspect_image(name)["Id"])
    except EngineError as error:
        raise EngineError(
            f"the base image {name} is not here and cannot be pulled ({error}): make one from Debian packages with "
            f"`ann-bench install --make-base`, or set {VARIABLE} to an image that is here"
        ) from error


def make_base() -> None:
    """Make the base image from Debian packages: `base-from-debian.sh`; EngineError with the script's reason."""
    last = ""
    with subprocess.Popen(
        ["bash", str(SCRIPT)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            for line in process.stdout or ():
                last = line.strip()
                if not last.startswith("error: "):
                    logger.info("base image: %s", last)
            code = process.wait()
        except BaseException:
            process.terminate()  # it clears up after itself, whoever ends it
            raise
    if code:
        raise EngineError(f"no base image was made: {last.removeprefix('error: ') or f'exit code {code}'}")


def _by_tag(name: str, images: Iterable[Mapping[str, Any]]) -> Base | None:
    wanted = ":".join(_split(short_tag(name)))
    for image in images:
        if wanted in map(short_tag, image.get("RepoTags") or ()):
            return Base(name, image["Id"])
    return None


def _by_id(client: docker.DockerClient, name: str) -> Base | None:
    import docker.errors

    with engine_errors(f"looking for the base image {name}"):
        try:
            return Base(name, client.api.inspect_image(name)["Id"])
        except docker.errors.ImageNotFound:
            return None


def _split(name: str) -> tuple[str, str]:
    """The repository and the tag (or digest) of an image's name."""
    if "@" in name:
        repository, _, digest = name.partition("@")
        return repository, digest
    head, colon, tag = name.rpartition(":")
    return (head, tag) if colon and "/" not in tag else (name, "latest")
