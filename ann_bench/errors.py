"""The errors of the house: each is one line that says what is wrong, where, and what to do.

    AnnBenchError            exit code 1
     +- UsageError           exit code 2: a flag, a name, a manifest or a config that cannot be used as written
     +- DataError            a data file that is not what it should be
     |   +- DownloadError    a file that could not be fetched whole
     +- StorageError         a folder that cannot be written, a full disk
     +- EngineError          a container engine that does not answer, or refuses what it is asked
     +- ResultError          a result file that is damaged or does not hold what it claims

An entry that fails is none of these: its failure is a result (see `ann_bench.results.model.Outcome`).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class AnnBenchError(Exception):
    """Something went wrong that the user can understand; the message is one line."""

    exit_code = 1


class UsageError(AnnBenchError):
    """What the user asked for cannot be done as it is written."""

    exit_code = 2


class DataError(AnnBenchError):
    """A data file is damaged, too short, or holds values that no index can search."""


class DownloadError(DataError):
    """A file could not be fetched whole; what arrived is kept so that the next try goes on from there."""


class StorageError(AnnBenchError):
    """A file or folder cannot be written."""


class EngineError(AnnBenchError):
    """The container engine cannot be reached, or cannot do what it was asked."""


class ResultError(AnnBenchError):
    """A result file is damaged or its figures do not follow from its raw answers."""


def unknown(kind: str, name: str, valid: Iterable[str]) -> UsageError:
    """The error for a name that is not one of `valid`: names the near matches, or all where few.

    >>> str(unknown("track", "filterd", ["filtered", "ood"]))
    "unknown track 'filterd': did you mean 'filtered'?"
    """
    choices = sorted(set(valid))
    near = difflib.get_close_matches(name, choices, n=3, cutoff=0.6)
    if near:
        hint = f"did you mean {' or '.join(repr(n) for n in near)}?"
    elif choices:
        hint = f"valid: {', '.join(choices)}"
    else:
        hint = "there are none here"
    return UsageError(f"unknown {kind} {name!r}: {hint}")
