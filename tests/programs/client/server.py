"""An exact index, written from docs/wire.md alone: nothing of the project is imported, nor is numpy."""

import json
import math
import mmap
import os
import socket
import struct
from pathlib import Path

CODES = {
    "float16": "e", "float32": "f", "float64": "d", "uint8": "B", "int8": "b", "int32": "i", "int64": "q",
}  # fmt: skip
TOP = 1 << 63


class Array:
    """A file is mapped at once and read when its values are wanted."""

    def __init__(self, place, writable=False):
        self.shape, self.offset, self.path = place["shape"], place["offset"], place["path"]
        code = CODES[place["dtype"]]
        self.item = struct.Struct(f"<{code}")
        self.line = struct.Struct(f"<{self.shape[1] if len(self.shape) > 1 else 1}{code}")
        file = os.open(self.path, os.O_RDWR if writable else os.O_RDONLY)
        empty = os.fstat(file).st_size == 0
        self.map = b"" if empty else mmap.mmap(file, 0, prot=mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0))
        os.close(file)

    def __getitem__(self, i):
        values = self.line.unpack_from(self.map, self.offset + i * self.line.size)
        return list(values) if len(self.shape) > 1 else values[0]

    def write(self, i, values):
        struct.pack_into(f"<{len(values)}q", self.map, self.offset + i * self.line.size, *values)


class Sparse:
    def __init__(self, place):
        self.parts = [Array(place["csr"][name]) for name in ("indptr", "indices", "data")]
        self.shape = place["shape"]

    def __getitem__(self, i):
        indptr, indices, data = self.parts
        return {indices[j]: data[j] for j in range(indptr[i], indptr[i + 1])}


def opened(place):
    return None if place is None else Sparse(place) if "csr" in place else Array(place)


def inner(a, b):
    if isinstance(a, dict):
        return sum(value * b[column] for column, value in a.items() if column in b)
    return sum(x * y for x, y in zip(a, b, strict=True))


class Index:
    def __init__(self):
        self.points, self.compared = {}, 0

    def create(self, message):
        self.metric, self.points = message["common"]["metric"], {}
        assert message["class"] is None
        assert Path(message["entry"]).samefile(".")
        assert message["build"] == {"lists": 3}
        return {}

    def set(self, message):
        assert message["arguments"] == {"probe": 1}
        return {}

    def stats(self, message):
        return {"stats": {"compared": self.compared, "exact": True, "note": None}}

    def save(self, message):
        with Path(message["folder"], "points").open("w") as file:
            json.dump([[i, vector, tags] for i, (vector, tags) in self.points.items()], file)
        return {"supported": not any(isinstance(vector, dict) for vector, _ in self.points.values())}

    def load(self, message):
        with Path(message["folder"], "points").open() as file:
            self.points = {i: (vector, tags) for i, vector, tags in json.load(file)}
        return {"supported": True}

    def build(self, message):
        learn = opened(message["learn"])
        insert = self.insert({**message, "ids": [0, message["rows"][1] - message["rows"][0]]})
        return lambda: (learn and learn[0], insert())

    def setup(self, message):
        assert message["max_points"] > 0
        return self.points.clear

    def insert(self, message, live=False):
        base, tags = opened(message["base"]), opened(message["tags"])
        (first, last), (row, _) = message["ids"], message["rows"]

        def work():
            for j in range(last - first):
                assert (first + j in self.points) is live
                self.points[first + j] = (base[row + j], [] if tags is None else list(tags[row + j]))

        return work

    def replace(self, message):
        return self.insert(message, live=True)

    def delete(self, message):
        return lambda: [self.points.pop(i) for i in range(*message["ids"])]

    def search(self, message):
        queries, tags = opened(message["queries"]), opened(message["query_tags"])
        answers = Array(message["answers"], writable=True)

        def work():
            count = queries.shape[0]
            found = [self.ranked(queries[q], set() if tags is None else set(tags[q])) for q in range(count)]
            if "radius" in message:
                within(found, message["radius"] * (-1 if self.metric == "ip" else 1), answers)
                return
            for q, ranked in enumerate(found):
                ids = [i for _, i in ranked[: message["k"]]]
                answers.write(q, ids + [-1] * (message["k"] - len(ids)))

        return work

    def ranked(self, query, wanted):
        ids = [i for i, (_, tags) in self.points.items() if wanted.issubset(tags)]
        self.compared += len(ids)
        return sorted((self.distance(query, self.points[i][0]), i) for i in ids)

    def distance(self, a, b):
        if self.metric == "euclidean":
            return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))
        if self.metric == "ip":
            return -inner(a, b)
        return 1 - inner(a, b) / (math.sqrt(inner(a, a) * inner(b, b)) or 1)


def within(found, bound, answers):
    lists = [[i for away, i in ranked if away < bound] for ranked in found]
    with Path(answers.path).open("r+b") as file:
        file.seek(answers.offset + 8 * answers.shape[0])
        for ids in lists:
            file.write(struct.pack(f"<{len(ids)}Q", *(i ^ TOP for i in ids)))
    total = 0
    answers.write(0, [0])
    for q, ids in enumerate(lists, 1):
        total += len(ids)
        answers.write(q, [total])


def main():
    judge = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    judge.connect(os.environ["ANN_BENCH_SOCKET"])
    lines = judge.makefile("r", encoding="utf-8", newline="\n")

    def say(**message):
        judge.sendall(json.dumps(message).encode() + b"\n")

    index = Index()
    say(type="hello", protocol=1, language="Python")
    for line in lines:
        message = json.loads(line)
        kind, seq = message["type"], message["seq"]
        if kind == "quit":
            return
        try:
            if kind in ("create", "set", "stats", "save", "load"):
                say(type="done", seq=seq, **getattr(index, kind)(message))
            elif kind in ("build", "setup", "insert", "replace", "delete", "search"):
                work = getattr(index, kind)(message)
                say(type="ready", seq=seq)
                go = json.loads(next(lines))
                assert (go["type"], go["seq"]) == ("go", seq)
                work()
                say(type="done", seq=seq, token=go["token"])
            else:
                raise NotImplementedError(f"{kind} is not supported")
        except Exception as error:
            say(type="error", seq=seq, kind="exception", text=repr(error)[:1000])


if __name__ == "__main__":
    main()
