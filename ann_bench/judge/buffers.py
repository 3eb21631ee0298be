"""Arrays in the folder that judge and worker share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ann_bench.arrays import Array, ArrayRef, CsrRef, Ref
from ann_bench.errors import StorageError
from ann_bench.wire import UNANSWERED


@dataclass(frozen=True)
class Batch:
    """The files of one batch: inputs that stay empty until `fill`, and the place for the answers."""

    queries: Ref
    tags: CsrRef | None
    answers: ArrayRef
    fill: Callable[[], None]
    take: Callable[[], Array]
    remove: Callable[[], None]


def place_batch(folder: Path, queries: Any, tags: Any, k: int) -> Batch:
    """Make the files for these queries (array or CSR), their tags (CSR or None) and `k` answers each.

    Nothing of the queries is in the files until `fill` is called, just before the clock is read; every cell of
    the answers holds UNANSWERED until the worker writes it.
    """
    moves: list[tuple[Array, Array]] = []
    query_ref = _place(folder, "queries", queries, moves)
    tag_ref = None if tags is None else _place(folder, "tags", tags, moves)
    answers = ArrayRef(str(folder / "answers"), "int64", (queries.shape[0], k))
    cells = _create(answers)
    cells[...] = UNANSWERED

    def fill() -> None:
        for target, source in moves:
            target[...] = source

    def remove() -> None:
        for name in ("queries", "tags", "answers"):
            for path in folder.glob(f"{name}*"):
                path.unlink()

    assert tag_ref is None or isinstance(tag_ref, CsrRef)
    return Batch(query_ref, tag_ref, answers, fill, cells.copy, remove)


def _place(folder: Path, name: str, value: Any, moves: list[tuple[Array, Array]]) -> Ref:
    if isinstance(value, np.ndarray):
        ref = ArrayRef(str(folder / name), value.dtype.name, value.shape)
        moves.append((_create(ref), value))
        return ref
    parts = {part: getattr(value, part) for part in ("indptr", "indices", "data")}
    refs = {part: _place(folder, f"{name}.{part}", array, moves) for part, array in parts.items()}
    return CsrRef(refs["indptr"], refs["indices"], refs["data"], value.shape)  # type: ignore[arg-type]


def _create(ref: ArrayRef) -> Array:
    """A new file of the right size, its pages present, mapped for writing."""
    try:
        with Path(ref.path).open("wb") as file:
            zeros = bytes(min(ref.nbytes, 1 << 20))
            for start in range(0, ref.nbytes, 1 << 20):
                file.write(zeros[: ref.nbytes - start])
    except OSError as error:
        place = Path(ref.path).parent
        raise StorageError(f"{place}: no room for a batch of {ref.nbytes:,} bytes ({error.strerror})") from error
    return ref.open_writable()
