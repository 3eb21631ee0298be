"""What every test shares: a cache of its own, and the promise that nothing is left behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ann_bench.errors import EngineError


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads or writes the user's cache."""
    cache = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("ANN_BENCH_CACHE", str(cache))
    return cache


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
    yield client
    client.close()
