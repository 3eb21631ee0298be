"""The HTML of every page: one head for all, and the scripts of each."""

from __future__ import annotations

from pathlib import Path

ASSETS = Path(__file__).parent / "assets"

_EVERY = ("data", "dom", "format", "settings", "download", "tables", "frame")

#: Pages and their scripts, in the order in which they run; `theme.js` is in the head, before anything is drawn.
PAGES = {
    "index": (*_EVERY, "overview-page"),
    "board": (*_EVERY, "ranking", "tiers", "sliders", "legend", "picture", "steps", "board-page"),
    "entry": (*_EVERY, "entry-page"),
    "result": (*_EVERY, "legend", "picture", "steps", "queries", "result-page"),
}


def html(page: str) -> bytes:
    """The file of a page; what stands in it is drawn by its scripts."""
    frame = (ASSETS / "page.html").read_text(encoding="utf-8")
    scripts = "\n".join(f'<script src="{name}.js"></script>' for name in PAGES[page])
    return frame.replace("<!-- scripts -->", scripts).encode()


def assets() -> list[Path]:
    """Scripts and style sheet, as they are copied."""
    return sorted(path for path in ASSETS.iterdir() if path.suffix in (".js", ".css"))
