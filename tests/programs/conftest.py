"""The fixtures of the judge's tests, here too."""

from __future__ import annotations

from tests.judge.conftest import nothing_left, sandbox

__all__ = ["nothing_left", "sandbox"]
