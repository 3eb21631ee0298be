"""A corner of the real engine for each test: a namespace of its own, and the promise that nothing of it stays."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ann_bench.engine.images import Images
from ann_bench.engine.labels import Namespace
from ann_bench.engine.sweep import clean
from ann_bench.entries.discovery import entry_at
from ann_bench.entries.entry import Entry
from tests.entries.support import write_entry


def entry(folder: Path, *, dockerfile: str | None = None, **changes: Any) -> Entry:
    """An entry in this folder."""
    write_entry(folder, **changes)
    if dockerfile is not None:
        (folder / "Dockerfile").write_text(dockerfile, encoding="utf-8")
    return entry_at(folder, "filtered")


@dataclass(frozen=True)
class Corner:
    """What a test has of the engine."""

    client: Any
    space: Namespace
    logs: Path

    @property
    def images(self) -> Images:
        """As a new command sees them."""
        return Images(self.client, self.space)

    def build(self, *entries: Entry, **options: Any) -> dict[str, str]:
        """Build; failures by name."""
        return self.images.build(entries, **{"jobs": 2, "logs": self.logs, **options})

    def listed(self) -> tuple[set[str], set[str]]:
        """The ids of this namespace's images, layers of builds too, and of its containers."""
        mine = {"label": self.space.kind}
        images = {one["Id"] for one in self.client.api.images(all=True, filters=mine)}
        return images, {one["Id"] for one in self.client.api.containers(all=True, filters=mine)}

    def run(self, image: str, *words: str, user: str = "65532:65532") -> str:
        """What a command in this image prints, run as entries are."""
        output: bytes = self.client.containers.run(
            image, list(words), entrypoint="", user=user, network_mode="none", read_only=True, remove=True
        )
        return output.decode()


@pytest.fixture(scope="session")
def session_space(engine: Any) -> Iterator[Namespace]:
    space = Namespace(f"ann-bench-test-{secrets.token_hex(4)}")
    yield space
    left = clean(engine, space=space).left
    assert not left, "the tests have left these on the engine"
    assert not engine.api.images(all=True, filters={"label": space.kind})
    assert not engine.api.volumes(filters={"label": space.kind})["Volumes"]


@pytest.fixture
def corner(engine: Any, session_space: Namespace, tmp_path: Path) -> Corner:
    """The namespace that all tests of a session share, so that the common image is built once."""
    return Corner(engine, session_space, tmp_path / "logs")
