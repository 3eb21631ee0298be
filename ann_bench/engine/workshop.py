"""Making the images one by one: build, look inside, finish. Only what is whole and works gets a tag."""

from __future__ import annotations

import hashlib
import json
import shlex
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ann_bench.engine import dockerfile
from ann_bench.engine.base import Base
from ann_bench.engine.build import BuildFailed, Builds, Log, build, open_log, remove_made
from ann_bench.engine.client import engine_errors
from ann_bench.engine.context import context
from ann_bench.engine.install import Shelf
from ann_bench.engine.labels import Namespace
from ann_bench.engine.probe import Contents, ProbeFailed, probe
from ann_bench.engine.recipe import Recipe, finish_dockerfile, own_dockerfile, plain_id
from ann_bench.entries.entry import Entry, files
from ann_bench.entries.pins import applying, without_marker
from ann_bench.errors import EngineError
from ann_bench.progress import Progress


@dataclass
class Workshop:
    """What all builds of one command share. Entries may be made in several threads."""

    builds: Builds
    space: Namespace
    base: Base
    common: Recipe
    arguments: Mapping[str, str]
    network: str | None
    logs: Path
    progress: Progress
    _before: set[str] = field(default_factory=set)
    _common_id: str = ""
    _common_layers: list[str] = field(default_factory=list)
    _markers: Mapping[str, str] = field(default_factory=dict)
    _contents: dict[str, Contents] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _installing: dict[str, threading.Lock] = field(default_factory=dict)
    _fresh: set[str] = field(default_factory=set)
    _bringing: threading.Lock = field(default_factory=threading.Lock)

    @property
    def common_hash(self) -> str:
        """The hash of the common image."""
        return self.common.hash

    def log_of(self, entry: Entry) -> Path:
        """Where the log of an entry's build is written."""
        return self.logs / f"{entry.track}-{entry.name}.log"

    def open(self) -> None:
        """Note what is there, once the common image is."""
        api = self.builds.client.api
        with engine_errors("asking for its images"):
            image = api.inspect_image(self.common.tag)
            listed = api.images(all=True)
        self._before = {one["Id"].removeprefix("sha256:") for one in listed}
        # By its id: another process may give the tag to an image of its own.
        self._common_id, self._common_layers = plain_id(image["Id"]), image["RootFS"]["Layers"]
        labels = image["Config"]["Labels"]
        packages, self._markers = (json.loads(labels[self.space.label(key)]) for key in ("packages", "markers"))
        self._contents[self._common_id] = Contents(packages, self._markers)
        for one in listed:
            self._note_contents(one.get("Labels") or {})

    def make_common(self, certificates: bytes | None) -> None:
        """Make the common image; EngineError where that fails, since nothing else can be made then."""
        given = [] if certificates is None else [("ca.pem", certificates)]
        with engine_errors("asking for its images"):
            listed = self.builds.client.api.images(all=True, quiet=True)
        self._before = {one.removeprefix("sha256:") for one in listed}
        task = "common image"
        try:
            with open_log(self.logs / "common.log") as log, self._nothing_left(log):
                with context(self.common.dockerfile, given) as tar:
                    image_id = self._build(tar, log, self._report(task))
                contents = self._look_inside(image_id, task, log)
                self._finish(image_id, self.common, contents, log, {"kind": "common"}, None)
                self.progress(task, 1, 1)
        except BuildFailed as error:
            raise EngineError(f"the common image cannot be built: {error}") from error

    def make(self, entry: Entry, recipe: Recipe, *, fresh: bool) -> None:
        """Make the image of one entry; BuildFailed (or another AnnBenchError) where that fails."""
        name = f"{entry.track}/{entry.name}"
        with open_log(self.log_of(entry)) as log, self._nothing_left(log):
            image_id = self._environment(entry, recipe, log, fresh)
            contents = self._look_inside(image_id, name, log)
            for key, needs in (("requires", entry.config.requires), ("pins", entry.config.pins)):
                if unmet := contents.unmet(needs):
                    raise BuildFailed(f"{', '.join(unmet)} of `{key}` not in the image that its Dockerfile makes")
            kind = {"kind": "entry", "entry": name, "environment": image_id}
            self._finish(image_id, recipe, contents, log, kind, entry)
            self.progress(name, 1, 1)

    def _environment(self, entry: Entry, recipe: Recipe, log: Log, fresh: bool) -> str:
        """The image that the entry's files are put on: the common one and what the entry requires."""
        arguments = {**self.arguments, dockerfile.ARGUMENT: self._common_id}
        report = self._report(f"{entry.track}/{entry.name}")
        if own_dockerfile(entry) is None:
            return self._installed(recipe.needs, log, report, fresh)
        if reason := dockerfile.refusal(recipe.dockerfile):
            raise BuildFailed(f"{entry.folder / 'Dockerfile'}: {reason}")
        arguments[dockerfile.PINS] = " ".join(map(without_marker, applying(entry.config.pins, self._markers)))
        text = dockerfile.labelled(recipe.dockerfile, f"{self.space.kind}=stage")
        # What one build has done the next finds in the engine's cache, unless both do it at the same time.
        with self._alone(f"{recipe.dockerfile}\n{arguments[dockerfile.PINS]}"), context(text, files(entry), "") as tar:
            image_id = self._build(tar, log, report, arguments, fresh)
        self._check_own(image_id)
        return image_id

    def _installed(self, needs: Sequence[str], log: Log, report: Callable[[int, int], None], fresh: bool) -> str:
        """The image of the common one and these packages, installed once for all entries that need the same."""
        if not needs:
            return self._common_id
        key = hashlib.sha256(json.dumps([self._common_id, *needs]).encode()).hexdigest()
        label = self.space.label("needs")
        with self._alone(key):
            fresh = fresh and key not in self._fresh
            if not fresh:
                with engine_errors("asking for its images"):
                    found = self.builds.client.api.images(all=True, filters={"label": f"{label}={key}"})
                if found:
                    log.write(f"pip install {shlex.join(needs)}: done before\n")
                    return str(max(found, key=lambda one: int(one["Created"]))["Id"])
            report(0, 1)
            store = plain_id(self.base.id)[:12]
            shelf = Shelf(self.builds, self.space, self.arguments, self.network, store, self._bringing)
            image_id = shelf.install(self._common_id, needs, {self.space.kind: "stage", label: key}, log)
            self._fresh.add(key)
            return image_id

    @contextmanager
    def _alone(self, what: str) -> Iterator[None]:
        """Wait until nobody else does the same."""
        with self._lock:
            installing = self._installing.setdefault(what, threading.Lock())
        with installing:
            yield

    def _build(
        self,
        tar: Any,
        log: Log,
        report: Callable[[int, int], None],
        arguments: Mapping[str, str] | None = None,
        fresh: bool = False,
    ) -> str:
        given = self.arguments if arguments is None else arguments
        return build(self.builds, tar, log, arguments=given, network=self.network, fresh=fresh, on_step=report)

    def _finish(
        self, image_id: str, recipe: Recipe, contents: Contents, log: Log, kind: dict[str, str], entry: Entry | None
    ) -> None:
        """The entry's files, what is inside as labels, and the tag."""
        said = {
            **kind,
            "hash": recipe.hash,
            "base": str(self.base),
            "packages": json.dumps(dict(contents.packages)),
            "markers": json.dumps(dict(contents.environment)),
        }
        labels = {self.space.label(key): value for key, value in said.items()}
        text = finish_dockerfile(recipe, image_id, labels)
        with context(text, files(entry) if entry else ()) as tar:
            build(self.builds, tar, log, arguments={}, network="none", tag=recipe.tag)

    def _look_inside(self, image_id: str, name: str, log: Log) -> Contents:
        if image_id in self._contents:
            return self._contents[image_id]
        self.builds.check()
        try:
            contents = probe(self.builds.client, image_id, name, self.space)
        except ProbeFailed as error:
            raise BuildFailed(f"Python with numpy and scipy does not run in the image: {error}") from error
        self._contents[image_id] = contents
        return contents

    def _note_contents(self, labels: Mapping[str, str]) -> None:
        """What was found inside an image before needs no second look: ids are hashes of what images hold."""
        environment = labels.get(self.space.label("environment"))
        keys = [self.space.label("packages"), self.space.label("markers")]
        if environment and all(key in labels for key in keys):
            packages, markers = (json.loads(labels[key]) for key in keys)
            self._contents[environment] = Contents(packages, markers)

    def _check_own(self, image_id: str) -> None:
        """What an entry's own Dockerfile may not do, read off its image."""
        with engine_errors("looking at an image"):
            image = self.builds.client.api.inspect_image(image_id)
        if image["RootFS"]["Layers"][: len(self._common_layers)] != self._common_layers:
            raise BuildFailed(f"its Dockerfile makes an image that does not begin with ${{{dockerfile.ARGUMENT}}}")
        if volumes := image["Config"].get("Volumes"):
            raise BuildFailed(f"its Dockerfile declares VOLUME {' '.join(volumes)}, which would be room without limit")

    def _report(self, task: str) -> Callable[[int, int], None]:
        return lambda done, total: self.progress(task, done, total + 1)

    @contextmanager
    def _nothing_left(self, log: Log) -> Iterator[None]:
        """A build that fails keeps nothing in the engine; its log ends with the reason."""
        try:
            yield
        except BaseException as error:
            remove_made(self.builds.client, log.made, self._before)
            log.write(f"{error}\n")
            if isinstance(error, BuildFailed):
                raise BuildFailed(f"{error}; log: {log.path}") from error
            raise
