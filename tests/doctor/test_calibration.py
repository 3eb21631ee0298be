"""What two identical results differ by."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ann_bench.cli import main
from ann_bench.doctor.calibrate import resolution, show_share


def test_a_machine_without_noise() -> None:
    assert resolution(np.full((2, 20), 0.3), 5) == 0.0


@given(st.integers(0, 1000), st.floats(0.001, 100.0))
def test_only_ratios_count(seed: int, scale: float) -> None:
    seconds = np.random.default_rng(seed).lognormal(0, 0.1, (2, 30))
    assert resolution(scale * seconds, 5) == pytest.approx(resolution(seconds, 5))
    assert resolution(seconds[::-1], 5) == pytest.approx(resolution(seconds, 5))


def test_noise_of_known_size() -> None:
    """Medians of 5 normal values deviate by 0.536 of one value; two of them by 0.758: 1.96 x that is seldom passed."""
    seconds = np.exp(np.random.default_rng(1).normal(0, 0.02, (2, 3000)))
    assert resolution(seconds, 5) == pytest.approx(np.expm1(1.96 * 0.758 * 0.02), rel=0.1)


def test_a_drift_is_seen() -> None:
    """Half as fast in the end as in the beginning: some pairs of times differ by nearly that much."""
    seconds = np.linspace(1, 2, 40) * np.ones((2, 1))
    assert 0.5 < resolution(seconds, 5) < 1.0


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "0 %"), (0.0123, "1.3 %"), (0.2, "20 %"), (1.019, "102 %"), (0.0004, "0.04 %")]
)
def test_shares_are_rounded_up(share: float, text: str) -> None:
    assert show_share(share) == text


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["doctor", "--rounds", "10", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert code == int(any(one["verdict"] == "bad" for one in found["findings"]))
    assert np.shape(found["seconds"]) == (2, 10)
    assert np.min(found["seconds"]) > 0
    assert found["sentence"].startswith("this machine cannot resolve differences below ")
