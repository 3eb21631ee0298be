"""What answers are worth, whichever kind of search they answer."""

from __future__ import annotations

from ann_bench.judge import scoring, scoring_ranges
from ann_bench.ragged import Ragged
from ann_bench.results.model import Answers, Score
from ann_bench.truth.model import AnyTruth, Problem, RangeTruth


def score(problem: Problem, truth: AnyTruth, answers: Answers) -> Score:
    """Compare answers with the truth, by distances that are computed here from the ids.

    Raises TypeError where one of them is of a range search and the other is not.
    """
    if isinstance(truth, RangeTruth) and isinstance(answers, Ragged):
        return scoring_ranges.score_ranges(problem, truth, answers)
    if isinstance(truth, RangeTruth) or isinstance(answers, Ragged):
        raise TypeError("answers and truth belong to different kinds of searches")
    return scoring.score(problem, truth, answers)
