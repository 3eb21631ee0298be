"""Texts that come from others (names, arguments, reasons), made such that what shows them shows them as text."""

from __future__ import annotations

import unicodedata

#: What markdown, and the HTML in it, would take for a sign of its own.
_MARKDOWN = frozenset("\\`*_[]<>|~&#$")

#: How a cell begins that a spreadsheet would compute.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

#: Characters that say in which direction those after them run.
_DIRECTIONS = frozenset(map(chr, (0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))))


def visible(text: str) -> str:
    """For a terminal, in one line: characters that would move the cursor or turn the text around as their escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_shown, text))


def _shown(sign: str) -> str:
    category = unicodedata.category(sign)
    hidden = category in ("Cc", "Cs", "Zl", "Zp") or sign in _DIRECTIONS
    return sign.encode("unicode_escape").decode("ascii") if hidden else sign


def markdown(text: str) -> str:
    """For markdown, within a line: neither HTML, nor an end of a cell, nor anything else but text."""
    return "".join("\\" + sign if sign in _MARKDOWN else sign for sign in visible(" ".join(text.split())))


def spreadsheet(text: str) -> str:
    """For csv: what a spreadsheet would compute has an apostrophe before it, as OWASP advises against CSV injection."""
    return f"'{text}" if text.startswith(_FORMULA) else text
