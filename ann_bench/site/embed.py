"""Data as scripts: what a page from a disk may load, where it may not fetch."""

from __future__ import annotations

import hashlib
import json
import math
import re
from typing import Any


def script(name: str, value: Any) -> bytes:
    """A script that gives `value` (JSON) to the page under a name; only ASCII, and no `<` that could end a script."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return f"annBench.give({json.dumps(name)},{text});\n".encode("ascii")


def plain(value: Any) -> Any:
    """A value as JSON takes it: what is no number is null, floats have six digits."""
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value


def file_name(text: str) -> str:
    """A name for a file and an address: readable, safe everywhere, and another one for every text."""
    readable = re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.")[:60]
    return f"{readable}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
