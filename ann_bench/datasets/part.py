"""What has arrived of a download, and of which version of the file."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from ann_bench.datasets.files import read_json, write_json, writing
from ann_bench.datasets.http import Reply


@dataclass(frozen=True)
class Version:
    """How a server names a version of a file; None where it does not say."""

    etag: str | None = None
    modified: str | None = None
    total: int | None = None

    @staticmethod
    def of(reply: Reply) -> Version:
        """The version that a reply is about."""
        return Version(reply.etag, reply.modified, reply.total)

    @property
    def validator(self) -> str | None:
        """What goes into If-Range; a weak ETag may not."""
        if self.etag and not self.etag.startswith("W/"):
            return self.etag
        return self.modified

    def same(self, other: Version) -> bool:
        """Whether a later reply is about this version.

        A reply with a part must repeat the ETag, but may leave out the date (RFC 9110, 15.3.7).
        """
        if None not in (self.total, other.total) and self.total != other.total:
            return False
        if self.etag:
            return self.etag == other.etag
        return not self.modified or other.modified in (None, self.modified)


class PartFile:
    """`<target>.part` and its note `<target>.part.json`."""

    def __init__(self, target: Path, url: str) -> None:
        self.path = target.with_name(target.name + ".part")
        self._note = target.with_name(target.name + ".part.json")
        self._url = url
        self.version: Version | None = None
        self.header: bytes | None = None
        note = read_json(self._note)
        if note is not None and note.get("url") == url and self.path.is_file():
            self.version = Version(**note["version"])
            self.header = bytes.fromhex(note["header"]) if note["header"] else None
        else:
            self.discard()

    @property
    def have(self) -> int:
        """Bytes that have arrived."""
        return self.path.stat().st_size if self.version else 0

    def begin(self, version: Version, header: bytes | None = None) -> None:
        """Start over with an empty file, of this version; `header` is what the whole file begins with."""
        with writing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._note.unlink(missing_ok=True)
            self.path.write_bytes(b"")
        write_json(
            self._note,
            {"url": self._url, "version": asdict(version), "header": header.hex() if header else None},
        )
        self.version, self.header = version, header

    def discard(self) -> None:
        """Forget all that has arrived."""
        with writing(self.path):
            self._note.unlink(missing_ok=True)
            self.path.unlink(missing_ok=True)
        self.version, self.header = None, None

    def forget_note(self) -> None:
        """Remove the note, when the file has got its final name."""
        self._note.unlink(missing_ok=True)
