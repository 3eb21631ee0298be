"""The images that entries run in: found by the hash of what they are made of, built where they are missing."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from packaging.utils import canonicalize_name

from ann_bench.engine.base import Base, local_base, pull_base
from ann_bench.engine.build import Builds
from ann_bench.engine.client import HERE, engine_errors
from ann_bench.engine.labels import OURS, Namespace, short_tag
from ann_bench.engine.recipe import Recipe, build_arguments, certificates, common_recipe, entry_recipe
from ann_bench.engine.workshop import Workshop
from ann_bench.entries.entry import Entry
from ann_bench.errors import AnnBenchError, EngineError
from ann_bench.progress import Progress, silent

if TYPE_CHECKING:
    import docker

logger = logging.getLogger(__name__)

_ADDRESSES = ("HTTP_PROXY", "HTTPS_PROXY", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL")


@dataclass(frozen=True)
class Image:
    """A whole image that an entry can run in.

    `hash` is that of all that went into it, `packages` has the version of every distribution in it by its normalised
    name, `base` says which image all began with.
    """

    tag: str
    id: str
    hash: str
    packages: Mapping[str, str]
    base: str

    def version(self, package: str) -> str | None:
        """The version of a package in the image, however its name is written."""
        return self.packages.get(canonicalize_name(package))


@dataclass(frozen=True)
class Outcome:
    """What became of one entry's image: there is one, or a line says why not."""

    entry: Entry
    image: Image | None
    failure: str | None = None
    built: bool = False
    log: Path | None = None


class Images:
    """The images of one engine. What it knows of them it asks for once, and again after a build."""

    def __init__(self, client: docker.DockerClient, space: Namespace = OURS) -> None:
        self.client = client
        self.space = space
        self._listed: list[dict[str, Any]] | None = None
        self._base: Base | None = None

    def find(self, entry: Entry) -> Image | None:
        """The image of the entry as it is now; None where it has to be built. Changes nothing, and is cheap."""
        common = self._common_recipe()
        return self._image(entry_recipe(entry, common.hash, self.space)) if common else None

    def build(
        self,
        entries: Sequence[Entry],
        *,
        jobs: int,
        logs: Path,
        progress: Progress = silent,
        force: bool = False,
    ) -> dict[str, str]:
        """Build what is missing (all, with `force`); the names of entries that failed, each with a line that says why.

        Raises EngineError where nothing at all can be built.
        """
        outcomes = self.install(entries, jobs=jobs, logs=logs, progress=progress, force=force)
        return {outcome.entry.name: outcome.failure for outcome in outcomes if outcome.failure is not None}

    def install(
        self,
        entries: Sequence[Entry],
        *,
        jobs: int,
        logs: Path,
        progress: Progress = silent,
        force: bool = False,
    ) -> list[Outcome]:
        """Like `build`, with an outcome for every entry, in their order."""
        self.refresh()
        found = {} if force else {id(entry): self.find(entry) for entry in entries}
        missing = [entry for entry in entries if found.get(id(entry)) is None]
        if missing:
            builds = Builds(self.client)
            with builds.watched():
                workshop = self._workshop(builds, logs, progress)
                made = self._build_all(missing, workshop, jobs, force)
        else:
            made = {}
        return [made.get(id(entry)) or Outcome(entry, found[id(entry)]) for entry in entries]

    def refresh(self) -> None:
        """Ask the engine again what it has."""
        self._listed, self._base = None, None

    def _build_all(self, entries: list[Entry], workshop: Workshop, jobs: int, force: bool) -> dict[int, Outcome]:
        futures: dict[Future[Outcome], Entry] = {}
        with ThreadPoolExecutor(max(1, min(jobs, len(entries))), thread_name_prefix="build") as threads:
            try:
                futures = {threads.submit(self._build_one, entry, workshop, force): entry for entry in entries}
                wait(futures)
            except BaseException:
                threads.shutdown(wait=False, cancel_futures=True)
                workshop.builds.end()
                raise
        self.refresh()
        return {id(entry): future.result() for future, entry in futures.items()}

    def _build_one(self, entry: Entry, workshop: Workshop, force: bool) -> Outcome:
        began = time.monotonic()
        name = f"{entry.track}/{entry.name}"
        try:
            recipe = entry_recipe(entry, workshop.common_hash, self.space)
            before = self._image(recipe)
            workshop.make(entry, recipe, fresh=force)
            if before is not None:
                self._remove_replaced(before)
            image = self._inspect(recipe)
        except AnnBenchError as error:
            return Outcome(entry, None, str(error), log=workshop.log_of(entry))
        logger.info("%s: image built in %.0f s", name, time.monotonic() - began)
        return Outcome(entry, image, built=True, log=workshop.log_of(entry))

    def _workshop(self, builds: Builds, logs: Path, progress: Progress) -> Workshop:
        """All that building entries takes, the common image first."""
        arguments = build_arguments()
        base = self._find_base()
        if base is None:
            base = self._base = pull_base(self.client, progress)
        if self._listed is not None and base.id not in {image["Id"] for image in self._listed}:
            self._listed = None
        recipe = common_recipe(base.id, certificates(), self.space)
        workshop = Workshop(builds, self.space, base, recipe, arguments, self._network(arguments), logs, progress)
        if self._image(recipe) is None:
            logger.info("building the common image on %s", base)
            workshop.make_common(certificates())
            logger.info("common image built")
        workshop.open()
        return workshop

    def _network(self, arguments: Mapping[str, str]) -> str | None:
        """None for the engine's own default; the host's where the engine has no bridge, or a proxy or index is here."""
        with engine_errors("asking for its networks"):
            names = {network["Name"] for network in self.client.api.networks()}
        given = [value for name, value in arguments.items() if name.upper() in _ADDRESSES]
        hosts = {urlsplit(word).hostname for value in given for word in value.split()}
        return None if names & {"bridge", "podman"} and not hosts & set(HERE) else "host"

    def _find_base(self) -> Base | None:
        if self._base is None:
            self._base = local_base(self.client, self._images())
        return self._base

    def _common_recipe(self) -> Recipe | None:
        base = self._find_base()
        return common_recipe(base.id, certificates(), self.space) if base else None

    def _images(self) -> list[dict[str, Any]]:
        if self._listed is None:
            with engine_errors("asking for its images"):
                self._listed = self.client.api.images()
        return self._listed

    def _image(self, recipe: Recipe) -> Image | None:
        for one in self._images():
            if recipe.tag in map(short_tag, one.get("RepoTags") or ()):
                return self._read(recipe, one["Id"], one.get("Labels") or {})
        return None

    def _inspect(self, recipe: Recipe) -> Image:
        with engine_errors(f"looking at {recipe.tag}"):
            one = self.client.api.inspect_image(recipe.tag)
        image = self._read(recipe, one["Id"], one["Config"].get("Labels") or {})
        if image is None:
            raise EngineError(f"{recipe.tag} is not the image that was built; is somebody else building it?")
        return image

    def _read(self, recipe: Recipe, image_id: str, labels: Mapping[str, str]) -> Image | None:
        """The image of this recipe, by its labels; None where it only bears the tag."""
        if labels.get(self.space.label("hash")) != recipe.hash:
            return None
        packages = json.loads(labels[self.space.label("packages")])
        return Image(recipe.tag, image_id, recipe.hash, packages, labels[self.space.label("base")])

    def _remove_replaced(self, image: Image) -> None:
        """An image whose tag another one has got."""
        with suppress(Exception):  # a container may still run in it
            self.client.api.remove_image(image.id, noprune=True)
