"""Makers of synthetic data sets. A module dropped into this folder that calls `register` is found by itself."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from ann_bench.datasets.makers.maker import Maker, MakerArguments, Order, Part
from ann_bench.errors import unknown

__all__ = ["Maker", "MakerArguments", "Order", "Part", "find_maker", "makers", "register"]

_registered: dict[str, Maker] = {}


def register(maker: Maker) -> Maker:
    """Add a maker; its name must be new."""
    if maker.name in _registered:
        raise ValueError(f"two makers are called {maker.name!r}")
    _registered[maker.name] = maker
    return maker


@cache
def _discover() -> None:
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")


def makers() -> tuple[Maker, ...]:
    """All makers, by name."""
    _discover()
    return tuple(_registered[name] for name in sorted(_registered))


def find_maker(name: str) -> Maker:
    """The maker with this name; raises UsageError with the near matches."""
    found = {maker.name: maker for maker in makers()}
    if name not in found:
        raise unknown("generator", name, found)
    return found[name]
