"""Figures of queries that were put one by one."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from ann_bench.results.figures import Figures, figures
from ann_bench.results.latency import mode_text
from ann_bench.results.model import Bundle
from tests.results import made


def single(mode: dict[str, object], rate: float = math.nan, **fields: object) -> Bundle:
    bundle = made.bundle(shape=(2, 3, 1), mode=mode, callers=2, **fields)
    return dataclasses.replace(bundle, asks=made.asks(bundle, rate=rate))


def test_percentiles_lie_among_the_times() -> None:
    bundle = single({"kind": "latency"})
    shown = figures(bundle)
    assert shown.mode == "latency"
    assert bundle.asks is not None
    late = bundle.asks.answered[0, 0] - bundle.asks.due[0, 0]
    assert shown.slowest == late.max()
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)):
        value = getattr(shown, name)
        assert abs(value - np.quantile(late, share)) < 1e-5
        low, high = getattr(shown, f"{name}_low"), getattr(shown, f"{name}_high")
        assert math.isnan(low) or low <= value <= high
    assert shown.wire == pytest.approx(3e-5)
    assert not any("late" in note or "client" in note for note in shown.notes)


def test_whole_batches_have_none_of_it() -> None:
    shown = figures(made.bundle())
    assert shown.mode == "batch"
    assert all(math.isnan(getattr(shown, name)) for name in ("rate", "p50", "p99_low", "slowest", "wire"))


def test_what_the_client_did_is_said() -> None:
    bundle = single({"kind": "load", "rate": 500.0}, 500.0)
    assert bundle.asks is not None
    busy = dataclasses.replace(bundle.asks, busy=np.full((2, 3, 1), 0.97))
    assert "the client was at work for 97% of the time" in noted(bundle, busy)
    late = bundle.asks.due + 0.02
    delayed = dataclasses.replace(bundle.asks, sent=late, answered=late + 0.001)
    assert "sent 20 ms late" in noted(bundle, delayed)
    slow = dataclasses.replace(bundle.asks, sent=3 * bundle.asks.due, answered=3 * bundle.asks.due + 0.001)
    assert "no more than 167 of the 500 queries a second" in noted(bundle, slow)
    assert math.isnan(of(bundle, slow).p50)


def of(bundle: Bundle, asks: object) -> Figures:
    return figures(dataclasses.replace(bundle, asks=asks))


def noted(bundle: Bundle, asks: object) -> str:
    return " ".join(of(bundle, asks).notes)


def test_names_of_modes() -> None:
    assert mode_text(None) == "batch"
    assert mode_text({"kind": "latency"}) == "latency"
    assert mode_text({"kind": "concurrent", "clients": 8}) == "concurrent 8"
    assert mode_text({"kind": "load", "rate": 1500.0}) == "load 1,500/s"
    assert mode_text({"kind": "load", "rate": "max", "p99": 0.01}) == "load, p99 <= 10 ms"
