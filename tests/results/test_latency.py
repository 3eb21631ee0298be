"""Figures of queries that were put one by one."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest

from ann_bench.results.bundle import read, write
from ann_bench.results.figures import Figures, figures, repeats
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


def test_every_round_counts(tmp_path: Path) -> None:
    """In percentiles and in recall; a file keeps them all."""
    bundle = made.bundle(shape=(2, 3, 1), mode={"kind": "latency", "seconds": 2.0}, callers=2, distinct=True)
    asks = made.asks(bundle, rounds=4)
    assert asks.answer_of is not None
    asks.answer_of[0, 0, 1:] = asks.answer_of[1, 1, 0]
    bundle = dataclasses.replace(bundle, asks=asks)
    shown = figures(bundle)
    means = np.array([float(np.nanmean(score.recalls)) for score in bundle.scores])
    given = asks.answer_of
    expected = [np.mean([means[one] for one in build.ravel() if one >= 0]) for build in given]
    assert shown.recall == pytest.approx(np.mean(expected))
    single_round = dataclasses.replace(bundle, asks=made.asks(bundle))
    assert figures(single_round).recall != shown.recall
    assert shown.p90 == pytest.approx(figures(single_round).p90, rel=0.02)
    assert shown.mode == "latency for 2 s"
    again = read(write(bundle, tmp_path))
    assert again.asks is not None
    assert all(np.array_equal(getattr(again.asks, name), one, equal_nan=True) for name, one in vars(asks).items())
    assert figures(again).row() == shown.row()
    with pytest.raises(ValueError, match="rounds"):
        write(dataclasses.replace(bundle, asks=dataclasses.replace(asks, answer_of=asks.answer_of[:, :2])), tmp_path)
    assert repeats(bundle).recalls.shape == repeats(bundle).rates.shape == (2, 3)


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
    assert "sent 1 % of the queries late, by 20 ms or more" in noted(bundle, delayed)
    stretched = bundle.asks.due + 2 * (bundle.asks.answered - bundle.asks.due[..., :1])
    queueing = dataclasses.replace(bundle.asks, answered=stretched)
    assert "500 queries a second were more than it could answer (1" in noted(bundle, queueing)
    assert not math.isnan(of(bundle, queueing).p50)
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
    assert mode_text({"kind": "load", "rate": "max", "p99": 0.01, "seconds": 2.0}) == "load, p99 <= 10 ms, for 2 s"
    assert mode_text({"kind": "load", "rate": 1234567.0, "seconds": 0.5}) == "load 1,234,567/s for 0.5 s"
