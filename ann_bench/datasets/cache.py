"""Where downloaded, generated and unpacked files are kept, and under what names.

    <cache>/<data set>/<name>.<hash>.<suffix>    the hash covers all that the content depends on
    <cache>/.locks/<data set>.json               hashes trusted on first use; outlives the files
    <cache>/.facts/<hash>.json                   what is known about a file that has not changed

A name never depends on a data set's name alone, so no two sets share a file by accident.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from ann_bench.datasets.home import home

_SUFFIX = re.compile(r"(\.[A-Za-z0-9]+)(\.gz)?$")


def cache_root() -> Path:
    """The cache folder: the environment's ANN_BENCH_CACHE, else `datasets/cache` in the home folder."""
    chosen = os.environ.get("ANN_BENCH_CACHE")
    return Path(chosen).expanduser().resolve() if chosen else home() / "datasets" / "cache"


def cache_folder(name: str) -> Path:
    """The folder for the files of the data set with this name."""
    return cache_root() / name


def short_hash(*parts: object) -> str:
    """Ten hexadecimal digits over the parts, for file names."""
    return hashlib.sha256("\n".join(str(part) for part in parts).encode()).hexdigest()[:10]


def name_with_hash(name: str, *parts: object) -> str:
    """`name`, made safe for a file name, with a hash over the parts before its suffix.

    >>> name_with_hash("base.10M.u8bin", "a url") == f"base.10M.{short_hash('a url')}.u8bin"
    True
    """
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", name).lstrip(".")[-120:] or "file"
    found = _SUFFIX.search(safe)
    cut = found.start() if found else len(safe)
    return f"{safe[:cut]}.{short_hash(*parts)}{safe[cut:]}"


def url_name(url: str) -> str:
    """The last part of the path of a URL: `base.10M.u8bin`."""
    return PurePosixPath(unquote(urlsplit(url).path)).name
