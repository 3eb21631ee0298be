"""Many sentences that differ in nothing but their numbers, said as one."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?", re.ASCII)


def wording(sentence: str) -> str:
    """What sentences that are said together have in common: all but their numbers."""
    return _NUMBER.sub("0", sentence)


def as_one(sentences: Sequence[str]) -> str:
    """One sentence for several of the same `wording`: where their numbers differ, "least to most".

    Raises ValueError where their wordings differ or there is none.
    """
    if len({wording(one) for one in sentences}) != 1:
        raise ValueError("the sentences differ in more than their numbers")
    columns = zip(*(_NUMBER.findall(one) for one in sentences), strict=True)
    spans = [sorted(set(column), key=_value) for column in columns]
    said = (span[0] if len(span) == 1 else f"{span[0]} to {span[-1]}" for span in spans)
    return _NUMBER.sub(lambda _: next(said), sentences[0])


def _value(number: str) -> float:
    return float(number.replace(",", ""))
