"""Large changes of a stream arrive in blocks, each a call of its own."""

from __future__ import annotations

from collections.abc import Iterator

from ann_bench.arrays import Ref
from ann_bench.datasets.dataset import Dataset
from ann_bench.workload import Insert, Operation, Replace

#: No call inserts or replaces more rows than this, nor more bytes of vectors and tags (one row at the least). An index
#: copies or converts what it is given: at 64 MiB that takes a hundredth of a stream's usual 8 GiB, whatever
#: the size of an insert. Both are far above what an index needs to keep its threads busy, and the time of
#: messages (20 microseconds a call) is lost in them.
BLOCK_ROWS, BLOCK_BYTES = 100_000, 64 * 2**20


def blocks(operation: Operation, dataset: Dataset) -> Iterator[Operation]:
    """The operation in calls, in order: itself, but for an insert or a replace that is too large for one."""
    if not isinstance(operation, Insert | Replace):
        yield operation
        return
    most = block_rows(dataset)
    for start in range(0, max(1, len(operation.ids)), most):
        span = slice(start, start + most)
        yield type(operation)(operation.ids[span], operation.rows[span])


def block_rows(dataset: Dataset) -> int:
    """The most rows in one call: for sparse rows and tags, bytes are the mean over the data set."""
    size = sum(_row_bytes(ref) for ref in (dataset.base, dataset.tags) if ref is not None)
    return max(1, min(BLOCK_ROWS, int(BLOCK_BYTES / max(size, 1.0))))


def _row_bytes(ref: Ref) -> float:
    return ref.nbytes / max(1, ref.shape[0])
