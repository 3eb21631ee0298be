"""Sentences that differ in their numbers are said as one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ann_bench.report.alike import as_one, wording


def test_numbers_that_differ_become_a_span():
    said = as_one(
        [f"{count} of 5 runs were {share}% slower" for count, share in (("1,200", 8), ("900", 12.5), ("950", 10))]
    )
    assert said == "900 to 1,200 of 5 runs were 8 to 12.5% slower"


def test_other_words_are_not_mixed():
    assert wording("3 ids") == wording("17 ids") != wording("3 rows")
    with pytest.raises(ValueError, match="more than their numbers"):
        as_one(["3 ids", "3 rows"])


@given(st.text(), st.integers(1, 3))
def test_the_same_sentence_stays_as_it_is(sentence, times):
    assert as_one([sentence] * times) == sentence
