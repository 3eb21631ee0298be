"""Indexes behind an HTTP server that speaks the dialect of big-ann-benchmarks' HttpANN.

The dialect is a class whose methods are POSTs of JSON objects, answered with JSON objects:

    /init                   the arguments of the constructor
    /fit, /load_index       {"dataset"}
    /set_query_arguments    {"query_args"}, a list
    /query, /range_query    {"X", "k"}, {"X", "radius"}; vectors are lists of numbers
    /get_results, /get_range_results, /get_additional, /load_index answer under a key of their own name

Source: benchmark/algorithms/httpann.py of big-ann-benchmarks.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix

from ann_bench.adapters._server import Server, free_port
from ann_bench.adapters.mapped import whole_file
from ann_bench.adapters.told import Adapter
from ann_bench.algorithm import Ids, Vectors

_SUFFIXES = {"float32": "fbin", "uint8": "u8bin", "int8": "i8bin", "float16": "hbin", "int32": "ibin"}
_HEADER = 8  # rows and dimensions, four bytes each
_BLOCK = 1 << 16  # rows that are written at once


class HttpIndex(Adapter):
    """An entry whose index lives in an HTTP server, started here and reached over loopback.

    Build arguments: `command`, the words that start the server in the entry's folder, where `{port}` and `{threads}`
    stand for the numbers; `port`, else a free one is chosen (also in the environment variable PORT); `start_seconds`
    until it answers; `init`, more arguments for `/init` beside `metric` and `dimension`; `dataset`, what `/fit` calls
    the data.

    Without a `dataset`, `/fit` gets the path of a file of the base in the format of big-ann-benchmarks (`.u8bin` and so
    on). With one, the server knows what it means; the file's path is in the environment variable ANN_BENCH_BASE in
    either case. A base that lies in such a file is linked to, any other is copied into scratch.
    """

    _running: ClassVar[Server | None] = None

    def __init__(
        self,
        metric: str,
        dim: int,
        dtype: str,
        threads: int,
        *,
        command: Sequence[str],
        port: int = 0,
        start_seconds: float = 60.0,
        init: dict[str, Any] | None = None,
        dataset: str = "",
    ) -> None:
        super().__init__(metric, dim, dtype, threads)
        told = self.enter()
        if told.filtered or told.stream:
            raise _unsaid("tags" if told.filtered else "streams")
        self._base = Path.cwd() / f"base.{_SUFFIXES.get(dtype, dtype)}"
        self._dataset = dataset
        if HttpIndex._running is not None:  # a check makes one index after another, and a port may be a fixed one
            HttpIndex._running.end()
        words = [word.replace("{threads}", str(threads)) for word in command]
        self._server = Server(words, port or free_port(), told.folder, {"ANN_BENCH_BASE": str(self._base)})
        HttpIndex._running = self._server
        until = time.monotonic() + start_seconds
        self._server.wait(until)
        body = {"metric": metric, "dimension": dim, **(init or {})}
        self._server.post("init", body, max(1.0, until - time.monotonic()))

    def fit(self, base: Vectors, tags: csr_matrix | None = None, learn: Vectors | None = None) -> None:
        """`/fit` with the name of the data set, or the path of its file. Tags play no part: no query has any."""
        if isinstance(base, csr_matrix):
            raise _unsaid("sparse vectors")
        _place(base, self._base)
        self._server.post("fit", {"dataset": self._dataset or str(self._base)})

    def load(self, folder: Path) -> bool:
        """`/load_index`: where the server keeps its indexes is its own affair."""
        return bool(self._server.ask("load_index", {"dataset": self._dataset or str(self._base)}))

    def set_query_arguments(self, **query: Any) -> None:
        """`/set_query_arguments`: a config is one argument, unless all that it holds is a list called `query_args`."""
        if not query:
            return
        arguments = query["query_args"] if query.keys() == {"query_args"} else [query]
        self._server.post("set_query_arguments", {"query_args": arguments})

    def query(self, queries: Vectors, k: int, tags: csr_matrix | None = None) -> Ids:
        """`/query`, then `/get_results`; what is short of k gets -1."""
        self._server.post("query", {"X": queries.tolist(), "k": k})
        lists = self._server.ask("get_results", {})
        answers = np.full((len(queries), k), -1, np.int64)
        try:
            for line, ids in zip(answers, lists, strict=True):
                line[: len(ids)] = ids
        except (TypeError, ValueError, OverflowError) as error:
            raise self._server.failed(
                f"answered /get_results without {k} ids or fewer for each query ({error})"
            ) from error
        return answers

    def range_query(self, queries: Vectors, radius: float, tags: csr_matrix | None = None) -> tuple[Ids, Ids]:
        """`/range_query`, then `/get_range_results`: limits, ids and distances, of which the last are not needed."""
        self._server.post("range_query", {"X": queries.tolist(), "radius": radius})
        found = self._server.ask("get_range_results", {})
        try:
            limits, ids = (np.array(part, dtype=np.int64) for part in found[:2])
        except (TypeError, ValueError, OverflowError) as error:
            raise self._server.failed(f"answered /get_range_results without limits and ids ({error})") from error
        return limits, ids

    def stats(self) -> dict[str, Any]:
        """`/get_additional`."""
        return dict(self._server.ask("get_additional", {}))


def _unsaid(what: str) -> NotImplementedError:
    return NotImplementedError(f"the HTTP dialect has no {what}; a program that speaks the wire can have them")


def _place(base: Vectors, path: Path) -> None:
    """A file of the base in big-ann's format: rows and dimensions as two little-endian uint32, then the rows."""
    header = np.array(base.shape, "<u4")
    path.unlink(missing_ok=True)
    if (source := _is_such_a_file(base, header)) is not None:
        path.symlink_to(source)
        return
    with path.open("wb") as file:
        file.write(header.tobytes())
        for start in range(0, len(base), _BLOCK):
            file.write(np.ascontiguousarray(base[start : start + _BLOCK]).data)


def _is_such_a_file(base: Vectors, header: Any) -> Path | None:
    """The file that holds nothing but such a header and the whole array."""
    where = whole_file(base)
    if where is None or where[1] != _HEADER:
        return None
    with where[0].open("rb") as file:
        fits = where[0].stat().st_size == _HEADER + base.nbytes and file.read(_HEADER) == header.tobytes()
    return where[0] if fits else None
