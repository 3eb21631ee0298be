"""What a check has found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Verdict(str, Enum):
    """What a finding means for measurements here."""

    GOOD = "good"
    MIND = "mind"  # disturbs, or may: worth a look
    BAD = "bad"  # figures from this machine, as it is now, say little
    UNKNOWN = "unknown"  # this machine does not say


@dataclass(frozen=True)
class Finding:
    """One line for a person: what was found, why it matters, and the command that mends it ("" where there is none)."""

    check: str
    verdict: Verdict
    found: str
    why: str = ""
    remedy: str = ""


def unknown(check: str, why: str, found: str = "this machine does not say") -> Finding:
    """What cannot be read here: in containers, on other architectures, without rights."""
    return Finding(check, Verdict.UNKNOWN, found, why)
