"""Numbers and configurations as people read them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

_MIB, _GIB = 2**20, 2**30
MISSING = "-"


def config(text: str) -> str:
    """A build or query config, given as JSON, as `query_text` writes it."""
    value: Any = json.loads(text)
    return query_text(value) if isinstance(value, dict) else str(value)


def query_text(config: Mapping[str, Any]) -> str:
    """A build or query config in short: `nprobe=16 exact=True`; `-` where it is empty."""
    return " ".join(f"{name}={_short(value)}" for name, value in config.items()) or MISSING


def _short(value: Any) -> str:
    if isinstance(value, dict | list):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return str(value)


def recall(value: float) -> str:
    """Four digits; never 1.0000 for what is less."""
    if not math.isfinite(value):
        return MISSING
    return f"{min(value, 0.9999):.4f}" if value < 1 else f"{value:.4f}"


def recall_within(value: float, low: float, high: float) -> str:
    """Recall with the wider half of its interval, where that is known."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return recall(value)
    return f"{recall(value)} ±{max(value - low, high - value):.4f}"


def unit(value: float, low: float, high: float) -> float:
    """The power of ten to which a value is rounded: a digit less than half the width of its interval.

    Two digits of the value at least, four at most; three where there is no interval.
    """
    if not (math.isfinite(value) and value > 0):
        return 1.0
    least = 10.0 ** (math.floor(math.log10(value)) - 3)
    width = (high - low) / 2
    if not math.isfinite(width):
        return least * 10
    return min(max(least, 10.0 ** math.floor(math.log10(width))), least * 100) if width > 0 else least


def number(value: float, step: float) -> str:
    """A number rounded to a power of ten, with thousands set apart."""
    if not math.isfinite(value):
        return MISSING
    digits = max(0, -math.floor(math.log10(step)))
    return f"{round(value / step) * step:,.{digits}f}"


def rate(value: float, low: float, high: float) -> str:
    """Queries per second with their interval: `12,300 [11,900-12,800]`."""
    step = unit(value, low, high)
    shown = number(value, step)
    if not (math.isfinite(low) and math.isfinite(high)):
        return shown
    return f"{shown} [{number(low, step)}-{number(high, step)}]"


def short_rate(value: float, low: float, high: float) -> str:
    """Queries per second with the wider half of their interval: `12,300 ±500`."""
    step = unit(value, low, high)
    shown = number(value, step)
    if not (math.isfinite(low) and math.isfinite(high)):
        return shown
    return f"{shown} ±{number(max(value - low, high - value), step)}"


def seconds(value: float) -> str:
    """Seconds, three digits."""
    if not math.isfinite(value):
        return MISSING
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def seconds_within(value: float, low: float, high: float) -> str:
    """Seconds with the wider half of their interval: `12.3 ±0.4`."""
    half = max(value - low, high - value)
    if not math.isfinite(half):
        return seconds(value)
    step = min(unit(value, low, high), 1.0)
    return f"{number(value, step)} ±{number(half, step)}"


def milliseconds(value: float) -> str:
    """Seconds in milliseconds, three digits, never finer than a microsecond."""
    if not math.isfinite(value):
        return MISSING
    step = unit(1e3 * value, math.nan, math.nan)
    return number(1e3 * value, max(step, 1e-3))


def cpus(count: int) -> str:
    """So many CPUs."""
    return f"{count} CPU{'s' * (count != 1)}"


def size(value: float | None) -> str:
    """Bytes in MiB or GiB."""
    if value is None or not math.isfinite(value):
        return MISSING
    if value < _GIB:
        return f"{value / _MIB:,.0f} MiB"
    return f"{value / _GIB:,.1f} GiB".replace(".0 GiB", " GiB")
