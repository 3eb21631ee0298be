"""A new entry: the files of a small exact baseline that runs as it stands, for what its track asks of entries."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from string import Template

from ann_bench.errors import StorageError, UsageError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Wanted:
    """The name of the entry, its track, and what the track has: tags, sparse rows, a stream, sample queries."""

    name: str
    track: str
    filtered: bool = False
    sparse: bool = False
    stream: bool = False
    learn: bool = False

    @property
    def class_name(self) -> str:
        """`my-index` as `MyIndex`."""
        name = "".join(part[:1].upper() + part[1:] for part in re.split(r"[._-]+", self.name))
        return name if name[:1].isalpha() else f"Index{name}"


def write_scaffold(wanted: Wanted, out: Path) -> list[Path]:
    """Write the entry's folder into `out`; returns the files.

    Raises UsageError for a name that is none, or where something of this name is there, StorageError where the folder
    cannot be written.
    """
    if not NAME.fullmatch(wanted.name):
        raise UsageError(
            f"an entry's name is letters, digits, `.`, `_` and `-`, such as my-index (not {wanted.name!r})"
        )
    folder = out / wanted.name
    if folder.exists():
        raise UsageError(f"{folder}: is there already; take another name, or another place with --out")
    files = {folder / name: text for name, text in scaffold(wanted).items()}
    try:
        folder.mkdir(parents=True)
        for path, text in files.items():
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written ({error.strerror})") from error
    return list(files)


def scaffold(wanted: Wanted) -> dict[str, str]:
    """The files of the entry, by name."""
    learn = "learn: true                      # fit() gets sample queries\n" if wanted.learn else ""
    words = {"name": wanted.name, "made": wanted.class_name, "track": wanted.track, "learn": learn}
    return {
        "wrapper.py": _wrapper(wanted),
        "config.yaml": Template(_CONFIG).substitute(words),
        "README.md": Template(_README).substitute(words),
        f"test_{re.sub(r'[^A-Za-z0-9]', '_', wanted.name)}.py": Template(_TEST).substitute(words),
    }


def _wrapper(wanted: Wanted) -> str:
    """The parts of the class, with what they need for tags where searches ask for them."""
    parts = (_HEAD, _STREAM if wanted.stream else _FIT, _QUERY, _SPARSE if wanted.sparse else _DENSE)
    words = {"name": wanted.name, "made": wanted.class_name, "vectors": "csr_matrix" if wanted.sparse else "np.ndarray"}
    words["scipy"] = "from scipy.sparse import csr_matrix\n" if wanted.sparse or wanted.filtered else ""
    words |= _FILTERED if wanted.filtered else dict.fromkeys(_FILTERED, "") | {"tags": "None"}
    return "".join(Template(part).substitute(words) for part in (*parts, *([_HOLDS] if wanted.filtered else [])))


#: What tags add to the parts below.
_FILTERED = {
    "tags": "csr_matrix | None",
    "part": ", tags[part]",
    "held": ", held",
    "live": ", held[live]",
    "wanted": ", tags: csr_matrix",
    "asked": ", tags[part]",
    "mask": "            far[~_holds(held, tags)] = np.inf\n",
}

_HEAD = '''"""$name: compares every query with every row; say in one line what your index does instead."""

from __future__ import annotations

import numpy as np
$scipy
from ann_bench import Algorithm


class $made(Algorithm):
    """Exact search, block by block: put your index in its place."""
'''

_FIT = '''
    def fit(self, base: $vectors, tags: $tags = None, learn: $vectors | None = None) -> None:
        """Build your index here, for self.metric, with self.threads threads and the arguments in self.build."""
        self.blocks = []
        for start in range(0, base.shape[0], self.build["rows"]):
            part = slice(start, start + self.build["rows"])
            self.blocks.append((base[part], np.arange(base.shape[0])[part]$part))
'''

_STREAM = '''
    def setup(self, max_points: int) -> None:
        """Make your empty index here, for self.metric, with self.threads threads and the arguments in self.build."""
        self.blocks = []

    def insert(self, vectors: $vectors, ids: np.ndarray, tags: $tags = None) -> None:
        """Add these vectors to your index, each under its id."""
        for start in range(0, len(ids), self.build["rows"]):
            part = slice(start, start + self.build["rows"])
            self.blocks.append((vectors[part].copy(), ids[part]$part))

    def delete(self, ids: np.ndarray) -> None:
        """Remove these ids from your index; replace() is this and then insert(), unless you write it."""
        blocks, self.blocks = self.blocks, []
        for vectors, names$held in blocks:
            live = ~np.isin(names, ids)
            if live.any():
                self.blocks.append((vectors[live], names[live]$live))
'''

_QUERY = '''
    def set_query_arguments(self, queries: int) -> None:
        """Take what stands under `query` in config.yaml: name the arguments of your index."""
        self.queries = queries

    def query(self, queries: $vectors, k: int, tags: $tags = None) -> np.ndarray:
        """Ask your index: ids (queries, k), nearest first, -1 where there is no answer."""
        answers = np.full((queries.shape[0], k), -1, np.int64)
        for start in range(0, len(answers), self.queries):
            part = slice(start, start + self.queries)
            answers[part] = self._nearest(queries[part], k$asked)
        return answers

    def _nearest(self, queries: $vectors, k: int$wanted) -> np.ndarray:
        best, ids = np.full((queries.shape[0], k), np.inf), np.full((queries.shape[0], k), -1)
        for vectors, names$held in self.blocks:
            far = self._distances(queries, vectors)
$mask            ids = np.hstack([ids, np.broadcast_to(names, far.shape)])
            best = np.hstack([best, far])
            near = np.argpartition(best, k - 1, axis=1)[:, :k]
            best, ids = np.take_along_axis(best, near, axis=1), np.take_along_axis(ids, near, axis=1)
        order = np.argsort(best, axis=1)
        best, ids = np.take_along_axis(best, order, axis=1), np.take_along_axis(ids, order, axis=1)
        return np.where(best < np.inf, ids, -1)
'''

_DENSE = """
    def _distances(self, queries: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        queries, vectors = queries.astype(np.float64), vectors.astype(np.float64)
        products, squares = queries @ vectors.T, (vectors**2).sum(axis=1)
        if self.metric == "euclidean":
            return squares - 2 * products
        if self.metric == "angular":
            return -products / np.sqrt(np.maximum(squares, np.finfo(np.float64).tiny))
        return -products
"""

_SPARSE = """
    def _distances(self, queries: csr_matrix, vectors: csr_matrix) -> np.ndarray:
        return -(queries.astype(np.float64) @ vectors.astype(np.float64).T).toarray()
"""

_HOLDS = '''

def _holds(held: csr_matrix, asked: csr_matrix) -> np.ndarray:
    """Which rows hold ALL the tags that a query asks for; the values in the matrices mean nothing."""
    ones = [csr_matrix((np.ones(m.nnz, np.float32), m.indices, m.indptr), m.shape) for m in (asked, held)]
    return (ones[0] @ ones[1].T).toarray() == np.diff(asked.indptr)[:, None]
'''

_CONFIG = """class: wrapper.$made
tracks: [$track]
requires: []                     # the packages that your index needs, such as [my-library>=1.2]
open_source: true                # false where the code of your index cannot be read
description: exact search, block by block
${learn}build:                           # arguments of the constructor, one set for each data set
  default: {rows: 4096}
query:                           # arguments of set_query_arguments, one config each
  default: [{queries: 256}]
"""

_README = """# $name

Compares every query with every row. (Say here what your index does, where its code and its paper are, and which
version you wrap.)

| argument | means | why this value |
|---|---|---|
| `rows` | rows that are compared at once | bounds the memory |
| `queries` | queries that are compared at once | bounds the memory |

    ann-bench check . --track $track        does it keep the contract?
    ann-bench run --track $track --entry .  measure it
"""

_TEST = '''"""$name keeps the contract."""

from pathlib import Path

from ann_bench.cli import main


def test_keeps_the_contract() -> None:
    assert main(["check", str(Path(__file__).parent), "--no-recall"]) == 0
'''
