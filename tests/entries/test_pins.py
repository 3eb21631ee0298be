"""Pins and ranges together: what pip is asked for, whatever they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ann_bench.entries.pins import applying, check_pin, check_together, pinned_version, to_install, without_marker

NAMES = st.sampled_from(["numpy", "Some_Lib", "some-lib", "a.b", "A-B"])
VERSIONS = st.sampled_from(["0.9", "1.0", "1.0rc1", "1.0+cpu", "2"])
EXTRAS = st.sampled_from(["", "[x]", "[x,y]"])
MARKERS = st.sampled_from(["", "; python_version < '3.11'", "; python_version >= '3.11'"])
PINS = st.builds("{}{}=={}{}".format, NAMES, EXTRAS, VERSIONS, MARKERS)
RANGES = st.builds("{}{}{}{}".format, NAMES, EXTRAS, st.sampled_from(["", ">=1", "<2"]), MARKERS)


def name(text: str) -> str:
    return canonicalize_name(Requirement(text).name)


@given(st.lists(RANGES, max_size=4), st.lists(PINS, max_size=4), st.sampled_from(["3.10", "3.12"]))
def test_what_pip_is_asked_for(requires: list[str], pins: list[str], python: str) -> None:
    """Every pin, every package; and nothing that a pin of the same environment already says."""
    asked = to_install(requires, pins)
    assert set(pins) <= set(asked) <= {*pins, *requires}
    assert asked == sorted(set(asked))
    assert {name(text) for text in asked} == {name(text) for text in [*pins, *requires]}
    assert to_install(asked, pins) == asked
    markers = {"python_version": python}
    here = {canonicalize_name(need.name) for need in applying(asked, markers)}
    assert here == {canonicalize_name(need.name) for need in applying([*requires, *pins], markers)}


@given(st.lists(RANGES, max_size=4), PINS)
def test_a_pin_that_is_taken_lies_in_the_ranges_beside_it(requires: list[str], text: str) -> None:
    pin = Requirement(check_pin(text))
    beside = [need for need in map(Requirement, requires) if name(str(need)) == name(text) and need.marker is None]
    fits = all(need.specifier.contains(pinned_version(pin), prereleases=True) for need in beside)
    try:
        check_together([text], requires)
    except ValueError as error:
        assert "is not what `requires` allows" in str(error)
    else:
        assert fits
    assert Requirement(without_marker(pin)).specifier == pin.specifier
    marker = f"; {pin.marker}" if pin.marker else ""
    with pytest.raises(ValueError, match="pin the same package"):
        check_together([text, f"{pin.name}==3{marker}"], [])
