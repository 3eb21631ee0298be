"""The files that a build is given, as the engine takes them: one tar, the same on every machine."""

from __future__ import annotations

import io
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, cast

from ann_bench.engine.recipe import DOCKERFILE, PAYLOAD, is_executable
from ann_bench.errors import UsageError

#: A context up to this size stays in memory.
_IN_MEMORY = 8 << 20

Files = Iterable[tuple[str, Path | bytes]]


@contextmanager
def context(dockerfile: str, files: Files = (), folder: str = PAYLOAD) -> Iterator[IO[bytes]]:
    """A tar of this Dockerfile, and the files below `folder`.

    Everybody may read all of it, whatever the umask here: the image's user is not the one who wrote the files.
    """
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as target:
        with tarfile.open(fileobj=target, mode="w", format=tarfile.GNU_FORMAT, errors="surrogateescape") as archive:
            _add(archive, DOCKERFILE, dockerfile.encode())
            made: set[PurePosixPath] = set()
            for name, content in files:
                inside = PurePosixPath(folder, name)
                if str(inside) == DOCKERFILE:
                    continue  # the one that is built stands there, which may say more than the entry's
                for parent in reversed(inside.parents[:-1]):
                    if parent not in made:
                        made.add(parent)
                        archive.addfile(_info(str(parent), 0, 0o755, tarfile.DIRTYPE))
                if isinstance(content, bytes):
                    _add(archive, str(inside), content)
                else:
                    _add_file(archive, str(inside), content)
        target.seek(0)
        yield cast(IO[bytes], target)


def _add_file(archive: tarfile.TarFile, name: str, path: Path) -> None:
    try:
        file = path.open("rb")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    with file:
        mode = 0o755 if is_executable(path) else 0o644
        archive.addfile(_info(name, path.stat().st_size, mode, tarfile.REGTYPE), file)


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    archive.addfile(_info(name, len(content), 0o644, tarfile.REGTYPE), io.BytesIO(content))


def _info(name: str, size: int, mode: int, kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.type = size, mode, kind
    return info
