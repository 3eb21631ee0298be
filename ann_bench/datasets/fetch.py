"""From a source in a manifest to a local file: found, fetched or made."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from ann_bench.datasets.cache import cache_folder, name_with_hash, url_name
from ann_bench.datasets.download import Receipt, Wanted, download, size_of
from ann_bench.datasets.files import check_space, clear_stale, lock
from ann_bench.datasets.formats import RANGES, XBIN, Reading, format_of, locate, locate_ranges, locate_truth
from ann_bench.datasets.formats.gz import unpacked
from ann_bench.datasets.http import Patience
from ann_bench.datasets.makers import Order, Part, find_maker
from ann_bench.datasets.manifest import Make, Manifest, Source
from ann_bench.datasets.scan import file_sha256, remember
from ann_bench.datasets.trust import Seen, lock_file, seen, write_down
from ann_bench.errors import DataError, DownloadError, UsageError
from ann_bench.progress import Progress


@dataclass(frozen=True)
class Fetcher:
    """Brings the files of one data set into reach."""

    manifest: Manifest
    progress: Progress
    patience: Patience

    @property
    def folder(self) -> Path:
        """The data set's folder in the cache."""
        return cache_folder(self.manifest.name)

    def path(self, source: Source, part: Part) -> Path:
        """The local file of a source.

        Raises DataError where it is missing or is not what the manifest says, DownloadError where it cannot be
        fetched, StorageError where the cache cannot be written.
        """
        if source.file is not None:
            return self._found(source, self.manifest.folder / Path(source.file).expanduser())
        if source.url is not None:
            return self._fetched(source, source.url, part)
        if source.make is None:
            raise UsageError(f"{part}: give exactly one of url, file and make")
        return self._made(source.make, part)

    def missing(self, source: Source, part: Part) -> tuple[Path, int] | None:
        """The file that a source would be kept in and how many bytes it takes; None where it is there already.

        0 bytes where nobody says: hosts that do not answer now will be asked again when it matters.
        """
        if source.file is not None:
            return None
        if source.make is not None:
            target, maker = self._target_of(source.make, part), find_maker(source.make.generator)
            return None if target.exists() else (target, maker.size(part, maker.arguments(source.make)))
        url = str(source.url)
        rows = source.rows if self._has_prefix(source, url, part) else None
        target = self.folder / name_with_hash(url_name(url), url, rows)
        if target.exists():
            return None
        packed = url_name(url).endswith(".gz") or (source.format or "").endswith(".gz")
        size = size_of(self._wanted(source, url, rows), self.patience)
        return target, size * (2 if packed else 1)  # unpacked it is larger than packed, nobody says how much

    def _found(self, source: Source, path: Path) -> Path:
        if not path.is_file():
            where = f" (named in {self.manifest.origin})" if self.manifest.origin else ""
            raise DataError(f"{path}: there is no such file{where}: correct `file:`")
        size = path.stat().st_size
        if source.size not in (None, size):
            raise DataError(f"{path}: has {size:,} bytes, the manifest says {source.size:,}: get the right file")
        self._check_hash(path, source.sha256, "the manifest says")
        return path

    def _fetched(self, source: Source, url: str, part: Part) -> Path:
        rows = source.rows if self._has_prefix(source, url, part) else None
        target = self.folder / name_with_hash(url_name(url), url, rows)
        key = url if rows is None else f"{url} rows {rows}"
        known = seen(self.manifest.name, key)
        if not target.exists():
            sha256 = source.sha256 or (known.sha256 if known else None)
            check = _Check(source, part, target, rows is not None)
            wanted = replace(self._wanted(source, url, rows), sha256=sha256, check=check)
            self._keep(wanted, target, key, source.sha256 is None and known is not None)
        elif source.sha256 is None and known is None:
            write_down(self.manifest.name, key, Seen(file_sha256(target, self.progress), target.stat().st_size))
        if source.sha256 is not None:
            self._check_hash(target, source.sha256, "the manifest says", "remove it to fetch it again")
        elif known is not None:
            self._check_hash(
                target, known.sha256, f"{lock_file(self.manifest.name)} says", "remove it to fetch it again"
            )
        return target

    def _wanted(self, source: Source, url: str, rows: int | None) -> Wanted:
        dtype = XBIN[format_of(url_name(url), source.format).name] if rows is not None else None
        return Wanted(url, source.size, rows=rows, dtype=dtype)

    def _keep(self, wanted: Wanted, target: Path, key: str, trusted: bool) -> None:
        try:
            receipt: Receipt | None = download(wanted, target, self.patience, self.progress)
        except DownloadError as error:
            if trusted and "sha256" in str(error):
                book = lock_file(self.manifest.name)
                raise DownloadError(f"{error}; if you trust the new file, remove its entry from {book}") from error
            raise
        if receipt is not None:
            remember("sha256", None, [str(target)], {"sha256": receipt.sha256})
            write_down(self.manifest.name, key, Seen(receipt.sha256, receipt.size, receipt.rows_at_source))

    def _has_prefix(self, source: Source, url: str, part: Part) -> bool:
        """Whether only the first rows of the file need be fetched."""
        if source.rows is None or part.kind not in ("vectors", "tags"):
            return False
        format_ = format_of(url_name(url), source.format)
        return format_.name in XBIN and not format_.packed

    def _target_of(self, make: Make, part: Part) -> Path:
        maker = find_maker(make.generator)
        detail = json.dumps(maker.arguments(make).model_dump(), sort_keys=True)
        return self.folder / name_with_hash(f"{part}{maker.suffix(part)}", maker.name, maker.version, detail)

    def _made(self, make: Make, part: Part) -> Path:
        maker = find_maker(make.generator)
        arguments = maker.arguments(make)
        target = self._target_of(make, part)
        if not target.exists():
            order = Order(part, arguments, lambda other: self._made(make, other), self.progress, self.manifest.name)
            with lock(target):
                if not target.exists():
                    check_space(self.folder, maker.size(part, arguments), f"to make {part} of {self.manifest.name}")
                    clear_stale(target)
                    maker.write(order, target)
        return target

    def _check_hash(self, path: Path, sha256: str | None, who: str, advice: str = "get the right file") -> None:
        if sha256 is None:
            return
        found = file_sha256(path, self.progress)
        if found != sha256:
            raise DataError(f"{path}: sha256 is {found}, {who} {sha256}: {advice}")


@dataclass(frozen=True)
class _Check:
    """Looks into a downloaded file before it gets its name: is it as long as its header says?"""

    source: Source
    part: Part
    target: Path
    prefix: bool

    def __call__(self, path: Path) -> None:
        name = url_name(self.source.url or "")
        if self.part.kind == "truth":
            if name.endswith(f".{RANGES}") or self.source.format == RANGES:
                locate_ranges(path)
            elif not name.endswith((".hdf5", ".h5", ".gz")) and self.source.format is None:
                locate_truth(path)
        elif self.part.kind in ("vectors", "tags"):
            format_ = format_of(name, self.source.format)
            if format_.packed:
                path = unpacked(path, self.target.parent, self.target)
            if format_.name not in ("hdf5", "h5"):
                locate(path, Reading(format=format_.name, copies=self.target.parent))
