"""The files in which Linux says how it is; on other systems there are none, and every check says unknown."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class System:
    """Reads `/sys` and `/proc` below `root`."""

    root: Path = Path("/")

    def text(self, path: str) -> str | None:
        """The content of a file; None where it is not there or may not be read."""
        with contextlib.suppress(OSError, UnicodeDecodeError):
            return (self.root / path).read_text(encoding="utf-8").strip()
        return None

    def number(self, path: str) -> int | None:
        """The whole number in a file."""
        text = self.text(path)
        return int(text) if text is not None and text.lstrip("-").isdecimal() else None

    def texts(self, pattern: str) -> list[str]:
        """The contents of all files that match, those that may be read."""
        found = (self.text(str(path.relative_to(self.root))) for path in sorted(self.root.glob(pattern)))
        return [text for text in found if text is not None]

    def fields(self, path: str) -> dict[str, int]:
        """Lines such as `SwapTotal: 123 kB` or `nr_throttled 5`: names and whole numbers."""
        found = {}
        for line in (self.text(path) or "").splitlines():
            words = line.replace(":", " ").split()
            if len(words) > 1 and words[1].lstrip("-").isdecimal():
                found[words[0]] = int(words[1])
        return found


def chosen(text: str) -> str:
    """The word in brackets of `always [madvise] never`; the text itself where there is none."""
    start, end = text.find("["), text.find("]")
    return text[start + 1 : end] if 0 <= start < end else text


def listed(values: Iterable[str]) -> str:
    """Different values, each once, in order."""
    return ", ".join(sorted(set(values)))
