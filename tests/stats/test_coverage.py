"""The coverage study in small: a few lines of `python -m benchmarks coverage`, seeded."""

from __future__ import annotations

import pytest

from benchmarks.coverage import DRIFTS, NOISES, Design, experiment, unlike_builds

COUNT = 300
NAMED = {noise.name: noise for noise in (*NOISES, *DRIFTS)}


@pytest.mark.parametrize(
    ("noise", "design"),
    [
        ("runs 2 %", Design(1, 5)),
        ("builds 18 %", Design(3, 5)),
        ("builds 18 %, runs 10 %, outliers", Design(5, 5)),
        ("drift 5 %", Design(1, 5)),
    ],
)
def test_intervals_hold_the_truth_and_an_entry_is_equal_to_itself(noise: str, design: Design) -> None:
    row = experiment(NAMED[noise], design, COUNT, 1)
    for held in (row.held, row.ratio_held):
        assert held >= 0.92
        assert held <= 0.99
    assert max(row.called, row.called_paired) <= 5 / COUNT  # by chance; the long study asks for less than 1 in 100


def test_a_drift_favours_whoever_it_meets_in_a_good_hour() -> None:
    row = experiment(NAMED["drift 5 %"], Design(5, 5), COUNT, 2, interleaved=False)
    assert row.ratio_held < 0.5
    assert row.called > 0.1
    in_turn = experiment(NAMED["drift 5 %"], Design(5, 5), COUNT, 2)
    assert in_turn.ratio_held > 0.95
    assert max(in_turn.called, in_turn.called_paired) <= 5 / COUNT


def test_one_build_says_nothing_of_an_entry() -> None:
    assert unlike_builds(COUNT) > 0.6
