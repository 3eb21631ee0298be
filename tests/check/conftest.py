"""What the tests of the kit share: nothing is left behind, and the search for smaller cases is short."""

from __future__ import annotations

import pytest

from ann_bench.check import explore
from tests.judge.conftest import nothing_left

__all__ = ["nothing_left"]


@pytest.fixture(autouse=True)
def short_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explore, "SHRINK_SECONDS", 2.0)
