"""Values that several commands take, and the terminal that they share."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable
from typing import Any, TypeVar

import click
from rich.console import Console

Command = TypeVar("Command", bound=Callable[..., Any])

_BYTES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Bytes(click.ParamType):  # type: ignore[type-arg]
    """A size such as `8g`, `512m`, `16GiB`; in bytes."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse, or say how to write it."""
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", str(value).strip().lower())
        number = float(match[1]) * _BYTES[match[2]] if match else 0.0
        size = int(number) if math.isfinite(number) else 0
        if size <= 0:
            self.fail(f"{value!r} is no size; write 8g or 512m", param, ctx)
        return size


class Seconds(click.ParamType):  # type: ignore[type-arg]
    """A duration such as `90`, `90s`, `10m`, `12h`, `1h30m`, `2d`; in seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse, or say how to write it."""
        text = re.sub(r"\s", "", str(value)).lower()
        whole = re.fullmatch(r"\d+(\.\d+)?|(\d+(\.\d+)?[smhd])+", text)
        parts = re.findall(r"(\d+(?:\.\d+)?)([smhd]?)", text) if whole else []
        seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
        if not 0 < seconds < math.inf:
            self.fail(f"{value!r} is no duration; write 90s, 10m or 12h", param, ctx)
        return seconds


class Share(click.ParamType):  # type: ignore[type-arg]
    """A share such as `2%` or `0.02`."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse, or say how to write it."""
        match = re.fullmatch(r"(\d+(?:\.\d+)?|\.\d+)\s*(%?)", str(value).strip())
        share = float(match[1]) / (100 if match[2] else 1) if match else 0.0
        if not 0 < share < 1:
            self.fail(f"{value!r} is no share; write 2% or 0.02", param, ctx)
        return share


class Number(click.FloatRange):
    """A number within bounds; `nan`, which no comparison refuses, is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse, or say how to write it."""
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is no number", param, ctx)
        return number


class CpuSet(click.ParamType):  # type: ignore[type-arg]
    """CPUs by their numbers, such as `0-3,6`."""

    name = "list"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Parse, or say how to write it."""
        from ann_bench.sandbox.machine import cpu_list

        try:
            return value if isinstance(value, tuple) else cpu_list(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def quiet_option(function: Command) -> Command:
    """`--quiet`, for `messages`."""
    return click.option("-q", "--quiet", is_flag=True, help="Say nothing but results, warnings and errors.")(function)


def messages(*, quiet: bool = False) -> Console:
    """The console for what goes on: the library's log on standard error, of level INFO, or only warnings if `quiet`."""
    console = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)
    logger = logging.getLogger("ann_bench")
    logger.handlers = [_Lines(console)]
    logger.setLevel(logging.WARNING if quiet else logging.INFO)
    logger.propagate = False
    return console


class _Lines(logging.Handler):
    """Each record as one plain line; warnings stand out."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self.console = console

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        style = "yellow" if record.levelno >= logging.WARNING else "dim"
        self.console.print(record.getMessage(), style=style, markup=False)
