"""Downloads that resume, are checked, and appear under their name only when they are whole.

What has arrived lies in `<target>.part`, what is known about it in `<target>.part.json`. Bytes of two versions of
a file are never mixed: a part goes on only where the server confirms that the file is the one that it began with.
"""

from __future__ import annotations

import logging
import os
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ann_bench.datasets.files import check_space, lock, sync_folder, writing
from ann_bench.datasets.formats.xbin import HEADER, xbin_size
from ann_bench.datasets.http import Again, Patience, Reply, get
from ann_bench.datasets.part import PartFile, Version
from ann_bench.datasets.scan import file_sha256
from ann_bench.errors import DataError, DownloadError
from ann_bench.progress import Progress, silent

log = logging.getLogger(__name__)

_BLOCK = 1 << 20
_LONGEST_PAUSE = 60.0


def _no_check(path: Path) -> None:
    """Accept any file."""


@dataclass(frozen=True)
class Wanted:
    """What is to be fetched, and what is known about it before.

    `size` is that of the whole file in bytes; `sha256` that of the file as it will be kept. `rows` of a file whose
    elements are `dtype` (numpy's name) takes only that many from its start: of `.fbin`-like files alone.
    `check` looks at the whole file before it gets its name, and raises DataError where it is damaged.
    """

    url: str
    size: int | None = None
    sha256: str | None = None
    rows: int | None = None
    dtype: str | None = None
    check: Callable[[Path], None] = _no_check


@dataclass(frozen=True)
class Receipt:
    """What was fetched: sha256 and bytes of the file as it is kept, rows of the whole file where a prefix was taken."""

    sha256: str
    size: int
    rows_at_source: int | None = None


def download(
    wanted: Wanted, target: Path, patience: Patience | None = None, progress: Progress = silent
) -> Receipt | None:
    """Fetch a file to `target`; None where another process did so in the meantime.

    Raises DownloadError where the file cannot be had whole, naming the address and what to do; StorageError where
    the disk is too small or cannot be written. After any failure or Ctrl-C the next call goes on from what arrived.
    """
    with lock(target):
        if target.exists():
            return None
        return _Download(wanted, target, patience or Patience(), progress).run()


def size_of(wanted: Wanted, patience: Patience) -> int:
    """How many bytes a file will take, by one short request; 0 where the host does not say or does not answer."""
    if wanted.size is not None and wanted.rows is None:
        return wanted.size
    try:
        with get(wanted.url, {"Range": f"bytes=0-{HEADER - 1}"}, patience) as reply:
            if wanted.rows is None:
                return reply.total or 0
            there, _, size = xbin_size(_header(reply), str(wanted.dtype))
    except (Again, DownloadError):
        return 0
    return HEADER + min(wanted.rows, there) * ((size - HEADER) // max(1, there))


class _Download:
    def __init__(self, wanted: Wanted, target: Path, patience: Patience, progress: Progress) -> None:
        self._wanted = wanted
        self._target = target
        self._patience = patience
        self._progress = progress
        self._part = PartFile(target, wanted.url)
        self._pieced = self._part.have > 0  # whether the part was put together from several replies

    def run(self) -> Receipt:
        failures, best = 0, self._part.have
        while True:
            try:
                self._fetch()
                return self._finish()
            except Again as error:
                failures = 1 if self._part.have > best else failures + 1
                best = max(best, self._part.have)
                if failures >= self._patience.tries:
                    raise self._error(
                        f"{error}, {failures} times in a row; what arrived is kept: "
                        "check the network and the address, then run the same command again to go on"
                    ) from error
                log.info("%s: %s; trying again", self._wanted.url, error)
                time.sleep(min(_LONGEST_PAUSE, self._patience.backoff * 2.0 ** (failures - 1)))

    def _error(self, reason: str) -> DownloadError:
        return DownloadError(f"{self._wanted.url}: {reason}")

    def _again(self, reason: str) -> Again:
        """Forget what has arrived, and try again from the start."""
        self._part.discard()
        self._pieced = False
        return Again(reason)

    def _fetch(self) -> None:
        """One try to bring the part to its full length."""
        if self._wanted.rows is not None and self._part.header is None:
            with get(self._wanted.url, {"Range": f"bytes=0-{HEADER - 1}"}, self._patience) as reply:
                self._part.begin(Version.of(reply), _header(reply))
        have, goal = self._part.have, self._goal()
        if goal is not None and have > goal:
            raise self._again(f"{have:,} bytes arrived, {goal:,} were expected")
        if have and have == goal:
            return
        with get(self._wanted.url, self._headers(have, goal), self._patience) as reply:
            if reply.status == 416:  # the file is not as long as what has arrived
                raise self._again(f"the server has no bytes after the first {have:,}")
            self._take(reply)

    def _headers(self, have: int, goal: int | None) -> dict[str, str]:
        validator = self._part.version.validator if self._part.version else None
        if have and validator:
            return {"Range": f"bytes={have}-{'' if goal is None else goal - 1}", "If-Range": validator}
        if have and self._wanted.sha256:
            return {"Range": f"bytes={have}-{'' if goal is None else goal - 1}"}
        if self._wanted.rows is not None and goal is not None:
            return {"Range": f"bytes=0-{goal - 1}"}
        return {}

    def _goal(self) -> int | None:
        """Bytes of the file as it will be kept; None where nobody has said."""
        total = self._part.version.total if self._part.version else None
        if None not in (self._wanted.size, total) and self._wanted.size != total:
            self._part.discard()
            raise self._error(
                f"the server has {total:,} bytes, the manifest says {self._wanted.size:,}: correct `size:`"
            )
        if self._wanted.rows is None or self._part.header is None:
            return self._wanted.size if total is None else total
        there, dim, size = xbin_size(self._part.header, str(self._wanted.dtype))
        if total is not None and total != size:
            self._part.discard()
            raise self._error(
                f"its header says {there:,} rows of {dim:,} {self._wanted.dtype}, which are {size:,} bytes, "
                f"but the server has {total:,}: check the address"
            )
        if self._wanted.rows > there:
            self._part.discard()
            raise self._error(f"has {there:,} rows, {self._wanted.rows:,} are asked for: lower `rows:`")
        return HEADER + self._wanted.rows * ((size - HEADER) // there)

    def _take(self, reply: Reply) -> None:
        """Put the body of a reply where it belongs."""
        version, known = Version.of(reply), self._part.version
        same = known is not None and known.same(version)
        if self._part.header is not None and not same:
            raise self._again("the file changed on the server")
        if reply.status == 206 and reply.start and not (same and reply.start == self._part.have):
            raise self._again("the file changed on the server, or it sent another part than asked for")
        if reply.status == 206 and reply.start:
            self._pieced = True
        else:
            self._part.begin(version, self._part.header)
            self._pieced = False
        goal, have = self._goal(), self._part.have
        if goal is not None:
            check_space(self._target.parent, goal - have, f"the rest of {self._wanted.url}")
        have += self._copy(reply, None if goal is None else goal - have)
        if goal is not None and have < goal:
            raise Again(f"the server sent {have:,} of {goal:,} bytes")
        if goal is not None and reply.length is None and self._wanted.rows is None and reply.read(1):
            raise self._again(f"the server sends more than the expected {goal:,} bytes")

    def _copy(self, reply: Reply, limit: int | None) -> int:
        """Append the body to the part, up to `limit` bytes; how many there were."""
        copied, before = 0, self._part.have
        end = None if limit is None else before + limit
        with self._part.path.open("ab") as stream:
            while limit is None or copied < limit:
                block = reply.read(_BLOCK if limit is None else min(_BLOCK, limit - copied))
                if not block:
                    break
                with writing(self._part.path):
                    stream.write(block)
                    stream.flush()
                copied += len(block)
                self._progress(f"download {self._target.name}", before + copied, end)
        return copied

    def _finish(self) -> Receipt:
        """Check the whole file and give it its name."""
        path, rows_at_source = self._part.path, self._set_header()
        try:
            self._wanted.check(path)
        except DataError as error:
            raise self._spoilt(f"what the server sent is damaged ({error})") from error
        sha256 = file_sha256(path, self._progress)
        if self._wanted.sha256 not in (None, sha256):
            raise self._spoilt(
                f"sha256 is {sha256} instead of {self._wanted.sha256}: the file has changed, or the hash is wrong"
            )
        with writing(self._target):
            with path.open("rb+") as stream:
                os.fsync(stream.fileno())
            path.replace(self._target)
            sync_folder(self._target.parent)
        self._part.forget_note()
        return Receipt(sha256, self._target.stat().st_size, rows_at_source)

    def _spoilt(self, reason: str) -> Exception:
        """A whole file that is wrong: put together from pieces it may be our doing, so it is fetched once more."""
        pieced = self._pieced
        again = self._again(reason)
        return again if pieced else self._error(reason)

    def _set_header(self) -> int | None:
        """Let the header of a prefix say how many rows it has; the rows of the whole file."""
        header, rows = self._part.header, self._wanted.rows
        if header is None or rows is None:
            return None
        ours = struct.pack("<I", rows) + header[4:]
        with writing(self._part.path), self._part.path.open("rb+") as stream:
            if stream.read(HEADER) not in (header, ours):
                raise self._again("the file changed on the server")
            stream.seek(0)
            stream.write(ours)
        return xbin_size(header, "uint8")[0]


def _header(reply: Reply) -> bytes:
    if reply.status == 416:
        raise Again(f"the server has no header of {HEADER} bytes")
    if reply.start:
        raise Again("the server sent another part than asked for")
    header = b""
    while len(header) < HEADER:
        block = reply.read(HEADER - len(header))
        if not block:
            raise Again(f"the server sent {len(header)} bytes of a header of {HEADER}")
        header += block
    return header
