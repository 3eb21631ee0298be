"""Entries written into a temporary home."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

GOOD: dict[str, Any] = {
    "class": "wrapper.Index",
    "tracks": ["filtered"],
    "open_source": True,
    "description": "an index",
    "build": {"default": {"lists": 8}},
    "query": {"default": [{"probe": 1}, {"probe": 2}]},
}


def config(**changes: Any) -> str:
    """A good config.yaml with some keys replaced (None: left out)."""
    return yaml.safe_dump({k: v for k, v in {**GOOD, **changes}.items() if v is not None}, sort_keys=False)


def write_entry(folder: Path, text: str | None = None, **changes: Any) -> Path:
    """An entry's folder with this config.yaml and an empty wrapper.py."""
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(config(**changes) if text is None else text, encoding="utf-8")
    (folder / "wrapper.py").write_text("class Index: ...\n", encoding="utf-8")
    return folder


def shipped(home: Path, name: str, text: str | None = None, **changes: Any) -> Path:
    """An entry under `algorithms/filtered/` of this home."""
    return write_entry(home / "algorithms" / "filtered" / name, text, **changes)
