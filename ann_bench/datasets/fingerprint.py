"""The hash of an array's content, for identities: of truth, of results, of runs."""

from __future__ import annotations

from ann_bench.arrays import Ref
from ann_bench.datasets.scan import facts
from ann_bench.progress import Progress, silent


def fingerprint(ref: Ref, progress: Progress = silent) -> str:
    """sha256 in hexadecimal over dtype, shape and values: the same wherever the array lies, other where a bit is.

    Computed once and remembered while the file does not change. Raises DataError where the file is missing or
    shorter than `ref` says.
    """
    return facts(ref, progress).fingerprint
