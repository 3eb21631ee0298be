"""Answer the judge's messages with the entry's calls."""

from __future__ import annotations

import importlib
import json
import platform
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from ann_bench.algorithm import Algorithm
from ann_bench.arrays import Array, ArrayRef, ref_from_json
from ann_bench.wire import MESSAGE_CAP, PROTOCOL, Channel, Message, WireClosed
from ann_bench.worker.answers import InvalidAnswer, RangeAnswers, checked
from ann_bench.worker.asks import Callers, Desk
from ann_bench.worker.inputs import Input, touch_for_writing

Work = Callable[[], None]


def serve(channel: Channel) -> None:
    """Serve until `quit`, or until the judge is gone."""
    worker = _Worker()
    versions = {"python": platform.python_version(), "numpy": np.__version__}
    channel.send({"type": "hello", "protocol": PROTOCOL, "asks": True, **versions})
    try:
        while True:
            message = channel.receive()
            if message["type"] == "quit":
                return
            if message["type"] == "serve":
                _serve_asks(channel, worker, message)
            else:
                _answer(channel, worker, message)
    except WireClosed:
        return


def _answer(channel: Channel, worker: _Worker, message: Message) -> None:
    seq = message["seq"]
    try:
        if message["type"] in _UNTIMED:
            extra = _UNTIMED[message["type"]](worker, message)
            channel.send({"type": "done", "seq": seq, **extra})
            return
        work = _TIMED[message["type"]](worker, message)
        channel.send({"type": "ready", "seq": seq})
        go = channel.receive()
        work()
        channel.send({"type": "done", "seq": seq, "token": go["token"]})
    except WireClosed:
        raise
    except Exception as error:  # noqa: BLE001  whatever an entry raises is a result with a name
        channel.send(_as_error(seq, error))


def _serve_asks(channel: Channel, worker: _Worker, message: Message) -> None:
    """Queries one by one, from `serve` to `rest`."""
    try:
        desk = worker.desk(message)
    except Exception as error:  # noqa: BLE001  as above
        channel.send(_as_error(message["seq"], error))
        return
    channel.send({"type": "ready", "seq": message["seq"]})
    rest = Callers(channel, desk, _as_error).serve(message["callers"])
    channel.send({"type": "done", "seq": rest["seq"]})


def _as_error(seq: int, error: Exception) -> Message:
    """What the judge is told of an exception."""
    if isinstance(error, InvalidAnswer):
        return {"type": "error", "seq": seq, "kind": "invalid-answer", "text": str(error)[:1000]}
    if isinstance(error, MemoryError):
        return {"type": "error", "seq": seq, "kind": "memory", "text": _last_line(error)}
    traceback.print_exception(error)
    return {"type": "error", "seq": seq, "kind": "exception", "text": _last_line(error)}


def _last_line(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno})" if frames else ""
    text = "".join(traceback.format_exception_only(type(error), error)).strip().replace("\n", " ")
    return text[:1000] + place


class _Worker:
    entry: Algorithm
    strided = False

    def create(self, message: Message) -> Message:
        """Import the entry's class and make the one instance that will be measured."""
        folder = message["entry"]
        sys.path.insert(0, folder)
        module, _, name = message["class"].rpartition(".")
        kind = getattr(importlib.import_module(module), name)
        self.strided = bool(message.get("strided"))
        if hasattr(kind, "told"):  # an adapter: what it runs may want to know more than an entry is told
            kind.told = {"folder": folder, **message.get("asked", {})}
        self.entry = kind(**message["common"], **message["build"])
        for method, what in message["needs"].items():  # what nobody wrote is better said before hours of building
            if getattr(kind, method, None) is getattr(Algorithm, method):
                raise NotImplementedError(f"{what} is not supported: {name} has no {method}()")
        return {}

    def set(self, message: Message) -> Message:
        """Hand over one query config."""
        self.entry.set_query_arguments(**message["arguments"])
        return {}

    def stats(self, message: Message) -> Message:
        """The entry's own counters, if they fit in a message."""
        stats = {str(k): _plain(v) for k, v in dict(self.entry.stats()).items()}
        return {"stats": stats if len(json.dumps(stats)) < MESSAGE_CAP // 2 else {"error": "too large"}}

    def save(self, message: Message) -> Message:
        """`save` into an empty folder, where the entry can."""
        try:
            self.entry.save(Path(message["folder"]))
        except NotImplementedError:
            return {"supported": False}
        return {"supported": True}

    def load(self, message: Message) -> Message:
        """`load` what another process has saved, in place of a build."""
        try:
            return {"supported": bool(self.entry.load(Path(message["folder"])))}
        except NotImplementedError:
            return {"supported": False}

    def build(self, message: Message) -> Work:
        """`fit` on all the rows."""
        base, tags = self._shown(_rows(message, "base")), _rows(message, "tags")
        learn = self._shown(_opened(message["learn"]))
        return lambda: self.entry.fit(base, tags, learn)

    def setup(self, message: Message) -> Work:
        """`setup` before a stream."""
        return lambda: self.entry.setup(message["max_points"])

    def insert(self, message: Message) -> Work:
        """`insert` one block of rows."""
        rows, ids, tags = self._shown(_rows(message, "base")), _ids(message), _rows(message, "tags")
        return lambda: self.entry.insert(rows, ids, tags)

    def delete(self, message: Message) -> Work:
        """`delete` a range of ids."""
        ids = _ids(message)
        return lambda: self.entry.delete(ids)

    def replace(self, message: Message) -> Work:
        """`replace` one block of rows."""
        rows, ids, tags = self._shown(_rows(message, "base")), _ids(message), _rows(message, "tags")
        return lambda: self.entry.replace(rows, ids, tags)

    def search(self, message: Message) -> Work:
        """One batch of queries; the judge fills the input files between `ready` and `go`."""
        queries, tags = Input(message["queries"]), Input(message["query_tags"])
        if "radius" in message:
            return self._within(message, queries, tags)
        answers = touch_for_writing(ArrayRef.from_json(message["answers"]))

        def work() -> None:
            result = self.entry.query(self._shown(queries.get()), message["k"], tags.get())
            answers[...] = checked(result, answers.shape)

        return work

    def desk(self, message: Message) -> Desk:
        """Where queries one by one are answered."""
        queries, tags = Input(message["queries"]), Input(message["query_tags"])
        return Desk(self.entry, queries, tags, touch_for_writing(ArrayRef.from_json(message["answers"])))

    def _within(self, message: Message, queries: Input, tags: Input) -> Work:
        """A batch of range searches, whose answers have as many ids as they have."""
        answers = RangeAnswers(ArrayRef.from_json(message["answers"]), message["most"])

        def work() -> None:
            filtered = () if (asked := tags.get()) is None else (asked,)
            answers.write(self.entry.range_query(self._shown(queries.get()), message["radius"], *filtered))

        return work

    def _shown(self, vectors: Any) -> Any:
        """The vectors as the entry gets them: as they lie in the file, or with gaps where it was created so."""
        if not self.strided or not isinstance(vectors, np.ndarray):
            return vectors
        shown = np.repeat(vectors, 2, axis=1)[:, ::2]
        shown.setflags(write=False)
        return shown


_UNTIMED: dict[str, Callable[[_Worker, Message], Message]] = {
    "create": _Worker.create,
    "set": _Worker.set,
    "stats": _Worker.stats,
    "save": _Worker.save,
    "load": _Worker.load,
}
_TIMED: dict[str, Callable[[_Worker, Message], Work]] = {
    name: getattr(_Worker, name) for name in ("build", "setup", "insert", "delete", "replace", "search")
}


def _opened(description: Message | None) -> Any:
    return None if description is None else ref_from_json(description).open()


def _rows(message: Message, name: str) -> Array | csr_matrix | None:
    whole = _opened(message[name])
    if whole is None:
        return None
    start, stop = message["rows"]
    return whole if (start, stop) == (0, whole.shape[0]) else whole[start:stop]


def _ids(message: Message) -> Array:
    start, stop = message["ids"]
    return np.arange(start, stop, dtype=np.int64)


def _plain(value: Any) -> Any:
    """A counter as JSON: numpy scalars become numbers, anything else its text."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, str | int | float | bool | type(None)) else str(value)
