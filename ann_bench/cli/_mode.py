"""The options of `run` that say how queries are put."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from ann_bench.cli._options import Number

if TYPE_CHECKING:
    from ann_bench.judge.mode import Wish
    from ann_bench.judge.plan import Setting

log = logging.getLogger(__name__)

Command = TypeVar("Command", bound=Callable[..., Any])

_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


class Latency(click.ParamType):  # type: ignore[type-arg]
    """A latency such as `10ms`, `500us`, `0.5s`; in seconds."""

    name = "latency"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse, or say how to write it."""
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(us|ms|s)", str(value).strip().lower())
        seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
        if seconds <= 0:
            self.fail(f"{value!r} is no latency; write 10ms, 500us or 0.5s", param, ctx)
        return seconds


class Rate(click.ParamType):  # type: ignore[type-arg]
    """Queries a second, or `max`, which is infinity."""

    name = "rate"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse, or say how to write it."""
        if str(value).strip().lower() == "max":
            return math.inf
        try:
            rate = float(value)
        except ValueError:
            rate = 0.0
        if not 0 < rate < math.inf:
            self.fail(f"{value!r} is no rate; write queries a second, such as 1000, or max", param, ctx)
        return rate


_OPTIONS = (
    click.option(
        "--mode",
        default="batch",
        show_default=True,
        metavar="KIND",
        help="How queries are put: batch, latency (one at a time), concurrent (clients that wait), load (at a rate).",
    ),
    click.option("--clients", type=click.IntRange(1, 10_000), help="Queries in flight of --mode concurrent."),
    click.option("--rate", type=Rate(), metavar="QPS|max", help="Queries a second of --mode load; max: the highest."),
    click.option("--p99", type=Latency(), help="The latency that --rate max keeps for 99 of 100 queries: 10ms."),
    click.option(
        "--seconds",
        type=Number(0, 3600),
        envvar="ANN_BENCH_SECONDS",
        metavar="S",
        help="How long each run of these modes lasts: the query set is asked again. 0: once. Default: 2.",
    ),
)

_RECALL = click.option("--recall", type=Number(0, 1), help="The least recall that is ranked. Default: the track's.")


def mode_options(command: Command) -> Command:
    """Add the options to a command that ranks what it measures."""
    return put_options(_RECALL(command))


def put_options(command: Command) -> Command:
    """Add those that say how queries are put, and no more."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def wish(options: dict[str, Any], *, ranked: bool = True) -> Wish:
    """Take the options out of those of the command; `ranked`: the recall too."""
    from ann_bench.judge.mode import Wish

    names = [field.name for field in fields(Wish) if ranked or field.name != "recall"]
    source = click.get_current_context().get_parameter_source("seconds")
    if source is ParameterSource.ENVIRONMENT and options["mode"] == "batch":
        options["seconds"] = None  # said for whatever is run, not for this
    return Wish(**{name: options.pop(name) for name in names})


def say_shared(setting: Setting) -> None:
    """One line where queries are put one by one and the client has no CPU of its own."""
    free = set(setting.sandbox.cpus()) - set(setting.cpus)
    if setting.mode is not None and not free:
        hint = f"--cpus {len(setting.cpus) - 1}" if len(setting.cpus) > 1 else "a machine with more CPUs"
        log.info("the entry has all the CPUs, so that it and the client wait for each other: %s would leave one", hint)
