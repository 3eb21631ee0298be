"""What every test shares: a cache of its own, and the promise that nothing is left behind."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from ann_bench.errors import EngineError

ALGORITHMS = Path(__file__).resolve().parents[1] / "algorithms"

# A shell's background job ignores Ctrl-C, and what it starts would too.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says what else the machine does.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads or writes the user's cache."""
    cache = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("ANN_BENCH_CACHE", str(cache))
    return cache


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A canary costs more than most tests; a warm-up is a call that most entries of tests do not count on."""
    monkeypatch.setenv("ANN_BENCH_CANARY", "0")
    monkeypatch.setenv("ANN_BENCH_WARMUPS", "0")
    monkeypatch.setenv("ANN_BENCH_SECONDS", "0")


@pytest.fixture(autouse=True)
def in_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What images this machine has is nothing that a test without the engine depends on."""
    monkeypatch.setenv("ANN_BENCH_SANDBOX", "process")


@pytest.fixture(scope="session")
def engine():
    """A client of the real container engine; tests that need one skip without it, but not where it was promised."""
    from ann_bench.engine.client import connect

    try:
        client = connect()
    except EngineError as error:
        if os.environ.get("ANN_BENCH_REQUIRE_DOCKER"):
            pytest.fail(f"ANN_BENCH_REQUIRE_DOCKER is set, but: {error}")
        pytest.skip(str(error))
    before = {image["Id"] for image in client.api.images()}
    yield client
    remove_images_of_tests(client, before)
    client.close()


def remove_images_of_tests(client, before: set[str]) -> None:
    """The images that this session has built for entries written for a test."""
    shipped = {f"{path.parent.parent.name}-{path.parent.name}" for path in ALGORITHMS.glob("*/*/config.yaml")}
    for image in client.api.images():
        for tag in image["RepoTags"] or ():
            name = tag.rpartition(":")[0]
            if (
                image["Id"] not in before
                and name.startswith("ann-bench/")
                and name[10:] not in {*shipped, "common", "base"}
            ):
                client.api.remove_image(tag, force=True)
