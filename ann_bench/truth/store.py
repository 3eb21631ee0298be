"""Exact answers kept in the cache, under the hash of all that they depend on.

All the searches of a workload share a file, `<cache>/truth/<key>.truth` (see `kept.py`). The key is computed from
content: never from a name, a path or a number of rows. A file that is not whole or not for its key is computed anew;
one that a run did not finish is taken up where it stopped.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from ann_bench.arrays import Ref
from ann_bench.datasets.cache import cache_root
from ann_bench.datasets.files import lock
from ann_bench.datasets.fingerprint import fingerprint
from ann_bench.errors import StorageError
from ann_bench.progress import Progress, silent
from ann_bench.truth.compute import DEFAULT_MEMORY, Means, Pass, passes
from ann_bench.truth.exact import check
from ann_bench.truth.given import check_given
from ann_bench.truth.kept import Answer, Block, Outline, Part, read
from ann_bench.truth.lives import Runs, hash_of, runs_of
from ann_bench.truth.model import AnyTruth, Problem, Truth
from ann_bench.truth.problems import Searches
from ann_bench.truth.ranges import range_truth
from ann_bench.truth.streams import Tops

__all__ = ["DEFAULT_MEMORY", "check_given", "key_of", "truth_for", "truths_for"]

_TASK = "exact answers"
_VERSION = 2  # to be raised whenever the same problem may get another answer, or the file another layout


def truth_for(
    problem: Problem, cache: Path | None = None, progress: Progress = silent, memory_bytes: int = DEFAULT_MEMORY
) -> AnyTruth:
    """The exact answers to one problem; see `truths_for`."""
    return truths_for(Searches.of([problem]), cache, progress, memory_bytes)[0]


def truths_for(
    searches: Searches, cache: Path | None = None, progress: Progress = silent, memory_bytes: int = DEFAULT_MEMORY
) -> tuple[AnyTruth, ...]:
    """The exact answers to all the searches of a workload: from the cache, else computed and kept there.

    The arrays are mapped from the file, read-only. `cache` is the cache folder (None: the one of `datasets.cache`).
    Processes that ask for the same answers at once wait for the first; what an interrupted run has finished is not
    computed again. `memory_bytes` bounds what the computation takes. Raises UsageError or DataError where a problem
    makes no sense or the memory is too small, StorageError where the cache cannot be written.
    """
    for kind in searches.kinds:
        check(kind)
    folder = (cache_root() if cache is None else cache) / "truth"
    if any(kind.radius is not None for kind in searches.kinds):
        return _one_by_one(searches, Means(memory_bytes, folder), progress)
    return _together(searches, Means(memory_bytes, folder), progress)


def _one_by_one(searches: Searches, means: Means, progress: Progress) -> tuple[AnyTruth, ...]:
    """Each range search by itself, what else there is together."""
    ranged = [searches.kinds[kind].radius is not None for kind in searches.kind_of]
    rest = [place for place, of in enumerate(ranged) if not of]
    others = Searches(searches.kinds, [searches.kind_of[i] for i in rest], [searches.lives[i] for i in rest])
    nearest = iter(_together(others, means, progress))
    found: list[AnyTruth] = []
    for place, of in enumerate(ranged):
        if of:
            problem = searches[place]
            key = key_of(problem, progress)
            found.append(range_truth(problem, key, means.scratch, means.memory_bytes, progress))
        else:
            found.append(next(nearest))
    return tuple(found)


def _together(searches: Searches, means: Means, progress: Progress) -> tuple[Truth, ...]:
    """All the searches for the nearest, in one file."""
    if not len(searches):
        return ()
    folder, memory_bytes = means.scratch, means.memory_bytes
    outline = _outline(searches, progress)
    path = folder / f"{outline.key}.truth"
    with lock(path):
        kept = read(path, outline)
        if kept is None:
            work = passes(searches)
            blocks = [one.block_queries(memory_bytes) for one in work]
            part = Part(path, outline, tuple(one.searches for one in work))
            _compute(part, list(zip(work, blocks, strict=True)), means, progress)
            part.finish()
            kept = read(path, outline)
        if kept is None:
            raise StorageError(f"{path}: what was just written cannot be read again: check the disk")
    return kept


def _compute(part: Part, work: Sequence[tuple[Pass, int]], means: Means, progress: Progress) -> None:
    """All the blocks that a part lacks, each written when it is done."""
    told = _Told(sum(one.work for one, _ in work), sum(one.queries for one, _ in work), progress)
    for kind, (one, size) in enumerate(work):
        done = [block for block in part.done if block.kind == kind]
        told.add(sum(block.last - block.first for block in done) * max(1, one.points))
        todo = [Block(kind, *span) for span in _gaps(one.queries, done, size)]
        for number, block in enumerate(todo):
            told.blocks(len(done) + number, len(done) + len(todo))
            tops = one.block(block.first, block.last, means, told.within(block.last - block.first))
            part.write(block, _numbered(one, tops, progress))
            told.add((block.last - block.first) * max(1, one.points))
        told.blocks(len(done) + len(todo), len(done) + len(todo))


def _numbered(one: Pass, tops: Iterator[Tops], progress: Progress) -> Iterator[Answer]:
    """The answers with the numbers of their searches."""
    for place, (search, top) in enumerate(zip(one.searches, tops, strict=True)):
        if len(one.searches) > 1:
            progress("searches", place + 1, len(one.searches))
        yield search, top.ids, top.distances


def _gaps(queries: int, done: Sequence[Block], size: int) -> Iterator[tuple[int, int]]:
    """What the finished blocks leave of so many queries, in spans of nearly equal length, at most `size`."""
    starts = [0, *(block.last for block in done)]
    ends = [*(block.first for block in done), queries]
    for start, end in zip(starts, ends, strict=True):
        parts = -(-(end - start) // size)
        for number in range(parts):
            yield start + (end - start) * number // parts, start + (end - start) * (number + 1) // parts


class _Told:
    """Progress over all blocks: pairs of query and point, told as queries."""

    def __init__(self, work: int, queries: int, progress: Progress) -> None:
        self._work, self._queries, self._progress = max(1, work), queries, progress
        self._done = 0

    def add(self, pairs: int) -> None:
        """So many pairs more are done."""
        self._done += pairs
        self._progress(_TASK, self._done * self._queries // self._work, self._queries)

    def blocks(self, done: int, total: int) -> None:
        """So many blocks are done."""
        if total > 1:
            self._progress("blocks", done, total)

    def within(self, queries: int) -> Progress:
        """Progress of one block of so many queries, told in points; other tasks are passed on."""

        def told(task: str, done: int, total: int | None) -> None:
            if task != _TASK:
                self._progress(task, done, total)
                return
            self._progress(task, (self._done + done * queries) * self._queries // self._work, self._queries)

        return told


def _outline(searches: Searches, progress: Progress) -> Outline:
    """What the file of these searches holds. The file of a single search has the key of that search."""
    kinds = [_content(kind, progress) for kind in searches.kinds]
    keys = [_key(kinds[kind], live) for kind, live in zip(searches.kind_of, searches.lives, strict=True)]
    key = keys[0] if len(keys) == 1 else hashlib.sha256("\n".join(keys).encode()).hexdigest()
    shapes = [(searches.kinds[kind].queries.shape[0], searches.kinds[kind].k) for kind in searches.kind_of]
    return Outline(key, tuple((one, *shape) for one, shape in zip(keys, shapes, strict=True)))


def key_of(problem: Problem, progress: Progress = silent) -> str:
    """sha256 in hexadecimal over all that the answers to a problem depend on."""
    return _key(_content(problem, progress), runs_of(problem.live, problem.base.shape[0]))


def _key(content: dict[str, object], live: Runs) -> str:
    return hashlib.sha256(json.dumps({**content, "live": hash_of(live)}, sort_keys=True).encode()).hexdigest()


def _content(problem: Problem, progress: Progress) -> dict[str, object]:
    """All that the answers depend on but the live set."""

    def hashed(ref: Ref | None) -> str | None:
        return fingerprint(ref, progress) if ref is not None else None

    filtered = problem.query_tags is not None
    return {
        "truth": _VERSION,
        "metric": problem.metric,
        "k": problem.k if problem.radius is None else None,  # of no account within a radius
        "base": hashed(problem.base),
        "queries": hashed(problem.queries),
        "tags": hashed(problem.tags) if filtered else None,
        "query_tags": hashed(problem.query_tags),
        "radius": problem.radius,
    }
