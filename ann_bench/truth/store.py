"""Exact answers kept in the cache, under the hash of all that they depend on.

    <cache>/truth/<key>.truth
        8 bytes    "ANNTRUTH"
        32 bytes   the key
        2 x u64    queries, k
        i32        ids (queries, k)
        f64        distances (queries, k)
        32 bytes   sha256 of all that stands before

Little endian. The key is computed from content: never from a name, a path or a number of rows. A file that is not
whole or not for its key is computed anew.
"""

from __future__ import annotations

import hashlib
import json
import logging
import struct
from pathlib import Path

import numpy as np

from ann_bench.datasets.cache import cache_root
from ann_bench.datasets.files import atomic, lock, writing
from ann_bench.datasets.fingerprint import fingerprint
from ann_bench.progress import Progress, silent
from ann_bench.truth.exact import check, exact
from ann_bench.truth.given import check_given
from ann_bench.truth.model import Live, Problem, Truth

__all__ = ["check_given", "key_of", "truth_for"]

log = logging.getLogger(__name__)

_VERSION = 1  # to be raised whenever the same problem may get another answer
_MAGIC = b"ANNTRUTH"
_HEADER = struct.Struct("<8s32sQQ")
_DIGEST = 32


def truth_for(problem: Problem, cache: Path | None = None, progress: Progress = silent) -> Truth:
    """The exact answers to a problem: from the cache, else computed and kept there.

    `cache` is the cache folder (None: the one of `datasets.cache`). Processes that ask for the same answers at once
    wait for the first. Raises UsageError or DataError where the problem makes no sense, StorageError where the
    cache cannot be written (found out before the work, but for a disk that fills meanwhile).
    """
    check(problem)
    key = key_of(problem, progress)
    folder = (cache_root() if cache is None else cache) / "truth"
    path = folder / f"{key}.truth"
    with lock(path):
        kept = _read(path, problem, key)
        if kept is not None:
            return kept
        with writing(path):
            path.with_suffix(".probe").touch()
            path.with_suffix(".probe").unlink()
        ids, distances = exact(problem, progress, scratch=folder)
        truth = Truth(ids, distances, key)
        _write(path, truth)
    return truth


def key_of(problem: Problem, progress: Progress = silent) -> str:
    """sha256 in hexadecimal over all that the answers to a problem depend on."""
    filtered = problem.query_tags is not None
    parts = {
        "truth": _VERSION,
        "metric": problem.metric,
        "k": problem.k,
        "base": fingerprint(problem.base, progress),
        "queries": fingerprint(problem.queries, progress),
        "tags": fingerprint(problem.tags, progress) if filtered and problem.tags else None,
        "query_tags": fingerprint(problem.query_tags, progress) if problem.query_tags else None,
        "live": _live_hash(problem.live),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _live_hash(live: Live | None) -> str | None:
    if live is None:
        return None
    both = hashlib.sha256(len(live.ids).to_bytes(8, "little"))
    for numbers in (live.ids, live.rows):
        both.update(np.ascontiguousarray(numbers, dtype="<i8").data)
    return both.hexdigest()


def _write(path: Path, truth: Truth) -> None:
    whole = hashlib.sha256()
    parts = (
        _HEADER.pack(_MAGIC, bytes.fromhex(truth.key), *truth.ids.shape),
        np.ascontiguousarray(truth.ids, dtype="<i4").tobytes(),
        np.ascontiguousarray(truth.distances, dtype="<f8").tobytes(),
    )
    with atomic(path) as stream:
        for part in parts:
            whole.update(part)
            stream.write(part)
        stream.write(whole.digest())


def _read(path: Path, problem: Problem, key: str) -> Truth | None:
    """The answers that a file holds; None where there is no file or it is not what it should be."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        log.warning("%s: cannot be read (%s): computing these answers again", path, error.strerror)
        return None
    queries, k = problem.queries.shape[0], problem.k
    header = _HEADER.pack(_MAGIC, bytes.fromhex(key), queries, k)
    body, digest = content[:-_DIGEST], content[-_DIGEST:]
    length = len(header) + 12 * queries * k
    if len(body) != length or body[: len(header)] != header or hashlib.sha256(body).digest() != digest:
        log.warning("%s: the file is damaged: computing these answers again", path)
        return None
    ids = np.frombuffer(body, dtype="<i4", count=queries * k, offset=len(header))
    distances = np.frombuffer(body, dtype="<f8", offset=len(header) + ids.nbytes)
    return Truth(ids.reshape(queries, k), distances.reshape(queries, k), key)
