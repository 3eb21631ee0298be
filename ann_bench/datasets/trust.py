"""Trust on first use: the hash of a download that no manifest vouches for is written down and checked from then on."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path

from ann_bench.datasets.cache import cache_root
from ann_bench.datasets.files import lock, read_json, write_json
from ann_bench.errors import DataError


@dataclass(frozen=True)
class Seen:
    """A file as it was first fetched: sha256, bytes, rows of the whole file where a prefix was taken, the day."""

    sha256: str
    size: int
    rows_at_source: int | None = None
    first_seen: str = ""


def lock_file(dataset: str) -> Path:
    """Where the hashes of a data set's downloads are written down."""
    return cache_root() / ".locks" / f"{dataset}.json"


def seen(dataset: str, key: str) -> Seen | None:
    """What is known of the download under this key (url and rows)."""
    path = lock_file(dataset)
    book = read_json(path)
    if book is None and path.exists():
        raise DataError(f"{path}: damaged: remove it to trust the files as they are fetched next")
    entry = (book or {}).get(key)
    return Seen(**entry) if entry else None


def write_down(dataset: str, key: str, what: Seen) -> None:
    """Keep the hash of a first download; an entry that is there already stays. Safe for several processes."""
    path = lock_file(dataset)
    with lock(path):
        book = read_json(path) or {}
        if key not in book:
            book[key] = asdict(what) | {"first_seen": what.first_seen or time.strftime("%Y-%m-%d")}
            write_json(path, book)
