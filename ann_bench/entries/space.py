"""What may be tuned in an entry: the ranges and choices of its arguments, and the mark of an entry that was tuned."""

from __future__ import annotations

import json
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, JsonValue, Tag, model_validator


class Range(BaseModel):
    """Numbers between two, both included; whole numbers where both are."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    from_: Annotated[int | float, Field(allow_inf_nan=False, alias="from")]
    """The least."""
    to: Annotated[int | float, Field(allow_inf_nan=False)]
    """The largest."""
    log: bool = False
    """Whether twice as much is as far everywhere: for widths, numbers of lists and the like."""

    @model_validator(mode="after")
    def _ordered(self) -> Range:
        if not self.from_ < self.to:
            raise ValueError("`from` has to be less than `to`")
        if self.log and self.from_ <= 0:
            raise ValueError("with `log: true`, `from` has to be above 0")
        return self

    @property
    def whole(self) -> bool:
        """Whether the numbers are whole."""
        return isinstance(self.from_, int) and isinstance(self.to, int)


def _several(choices: list[JsonValue]) -> list[JsonValue]:
    if len({json.dumps(choice, sort_keys=True) for choice in choices}) != len(choices):
        raise ValueError("a choice stands there twice")
    if len(choices) < 2:
        raise ValueError("one choice is none: give two or more, or leave the argument out")
    return choices


Choices: TypeAlias = Annotated[list[JsonValue], AfterValidator(_several)]


def _kind(value: object) -> str | None:
    """Which of the two is meant, so that an error speaks of that one."""
    if isinstance(value, list):
        return "[choices]"
    return "[range]" if isinstance(value, dict | Range) else None


#: What an argument may be.
Values: TypeAlias = Annotated[
    Annotated[Choices, Tag("[choices]")] | Annotated[Range, Tag("[range]")],
    Discriminator(
        _kind,
        custom_error_type="space",
        custom_error_message="give a list of choices or a range, such as {from: 8, to: 512, log: true}",
    ),
]


class Space(BaseModel):
    """What `ann-bench tune` may change. An argument that is not here keeps the value that it has.

    A list holds choices; `{from: 8, to: 512, log: true}` is a range.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    build: dict[str, Values] = {}
    """Arguments of the constructor."""
    query: dict[str, Values] = {}
    """Arguments of set_query_arguments."""

    @model_validator(mode="after")
    def _something(self) -> Space:
        if not self.build and not self.query:
            raise ValueError("nothing may be tuned: name an argument under `build` or `query`")
        return self


class Tuned(BaseModel):
    """How the arguments of an entry were found; `ann-bench tune` writes it."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    dataset: str
    """The data set that they were found on."""
    queries: str
    """The queries that they were found with."""
    budget_seconds: float
    """The time that the search had, builds included."""
    seed: int
    """What its random choices, and the parts of the queries, follow from."""
    version: str
    """The version of ann-bench."""
