"""What pip is asked for: requirements as ranges, and pins, the exact versions that are installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name


def check_requirement(text: str) -> str:
    """The text, where pip would take it as a requirement; ValueError elsewhere."""
    _parse(text, "no requirement that pip would take, such as `hnswlib>=0.8`")
    return text


def check_pin(text: str) -> str:
    """The text, where it is a requirement of one exact version; ValueError elsewhere."""
    pin = _parse(text, "no pin, such as `hnswlib==0.8.0`")
    exact = [one for one in pin.specifier if one.operator == "==" and not one.version.endswith("*")]
    if pin.url or len(pin.specifier) != 1 or not exact:
        raise ValueError("a pin is one exact version, such as `hnswlib==0.8.0`; a range belongs in `requires`")
    return text


def check_together(pins: Sequence[str], requires: Sequence[str]) -> None:
    """ValueError where a package is pinned twice, or a pin lies outside of what `requires` says of its package.

    Two lines with different environment markers are taken to be for different environments.
    """
    taken: dict[tuple[str, str], str] = {}
    for text in pins:
        pin = Requirement(text)
        key = (canonicalize_name(pin.name), str(pin.marker or ""))
        if (first := taken.setdefault(key, text)) is not text:
            raise ValueError(f"{first} and {text} pin the same package; leave one of them out")
        for need in map(Requirement, requires):
            if canonicalize_name(need.name) == key[0] and str(need.marker or "") in ("", key[1]):
                version = pinned_version(pin)
                if not need.specifier.contains(version, prereleases=True):
                    raise ValueError(f"{text} is not what `requires` allows ({need}); change one of the two")


def pinned_version(pin: Requirement) -> str:
    """The version that a pin names."""
    return next(iter(pin.specifier)).version


def to_install(requires: Sequence[str], pins: Sequence[str]) -> list[str]:
    """What pip is to be asked for, sorted: the pins, and what no pin speaks of.

    A range beside its pin would add nothing but confusion to what pip says where the pin cannot be had.
    """
    return sorted({*pins, *unpinned(requires, pins)})


def unpinned(needs: Sequence[str], pins: Sequence[str]) -> list[str]:
    """The needs that no pin speaks of."""
    exact = [Requirement(pin) for pin in pins]
    return [need for need in needs if not any(_covers(pin, Requirement(need)) for pin in exact)]


def _covers(pin: Requirement, need: Requirement) -> bool:
    same = canonicalize_name(pin.name) == canonicalize_name(need.name) and need.extras <= pin.extras
    return same and str(pin.marker or "") in ("", str(need.marker or ""))


def applying(needs: Sequence[str], environment: Mapping[str, str] | None = None) -> list[Requirement]:
    """The requirements whose environment markers hold: for this Python, or for the given values of the markers."""
    parsed = map(Requirement, needs)
    given = None if environment is None else dict(environment)
    return [need for need in parsed if need.marker is None or need.marker.evaluate(given)]


def without_marker(need: Requirement) -> str:
    """The requirement as one word for a command line."""
    extras = f"[{','.join(sorted(need.extras))}]" if need.extras else ""
    return f"{need.name}{extras}{need.specifier}"


def _parse(text: str, otherwise: str) -> Requirement:
    try:
        return Requirement(text)
    except InvalidRequirement as error:
        raise ValueError(f"{otherwise} ({str(error).splitlines()[0]})") from error
