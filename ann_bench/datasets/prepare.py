"""From a manifest to a data set that is ready to be searched, with every file there and every value checked."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path

from ann_bench.arrays import ArrayRef, CsrRef, Ref
from ann_bench.datasets.cache import short_hash
from ann_bench.datasets.dataset import Dataset, QuerySet
from ann_bench.datasets.fetch import Fetcher
from ann_bench.datasets.files import check_space, derived
from ann_bench.datasets.formats import (
    RANGES,
    VECTOR_TYPES,
    Reading,
    locate,
    locate_ranges,
    locate_truth,
    write_canonical,
)
from ann_bench.datasets.formats.gz import unpacked
from ann_bench.datasets.formats.hdf5 import truth_from_hdf5
from ann_bench.datasets.formats.spmat import locate_spmat
from ann_bench.datasets.http import Patience
from ann_bench.datasets.makers import Part
from ann_bench.datasets.manifest import LEARN, Manifest, Source
from ann_bench.datasets.scan import facts
from ann_bench.datasets.zeros import first_zero_row
from ann_bench.errors import DataError, unknown
from ann_bench.progress import Progress, silent

log = logging.getLogger(__name__)


def prepare(
    manifest: Manifest, queries: str = "public", progress: Progress = silent, patience: Patience | None = None
) -> Dataset:
    """Fetch, make and unpack what is missing, check all of it, and hand out where the arrays lie.

    The expensive checks are done once and remembered while a file stays as it is. Raises UsageError for an unknown
    query set, DataError for files that do not fit each other or hold what no index can search, DownloadError and
    StorageError where a file cannot be had or kept. A query whose tags no row holds is no error: it has no answers.
    """
    if manifest.refused is not None:
        raise DataError(f"{manifest.name}: not to be used: {manifest.refused}")
    if queries not in manifest.query_sets:
        raise unknown(f"query set of {manifest.name}", queries, manifest.query_sets)
    work = _Preparation(Fetcher(manifest, progress, patience or Patience()))
    work.check_room(queries)
    base = work.vectors(manifest.base.vectors, "base", None)
    tags = work.tags(manifest.base.tags, "base", base)
    if tags is not None and tags.ref == base.ref:
        raise DataError(f"{base.label}: is both the vectors and the tags of {manifest.name}: no metric is for tags")
    chosen = manifest.queries[queries]
    vectors = work.vectors(chosen.vectors, queries, base)
    asked = work.tags(chosen.tags, queries, vectors)
    if asked is not None:
        asked = _same_vocabulary(tags, asked, manifest.name, queries)
    learn = manifest.queries.get(LEARN)
    return Dataset(
        name=manifest.name,
        metric=manifest.metric,
        base=base.ref,
        tags=tags.csr if tags else None,
        queries=QuerySet(
            queries, vectors.ref, asked.csr if asked else None, work.truth(chosen.truth, vectors, queries)
        ),
        learn=work.vectors(learn.vectors, LEARN, base).ref if learn else None,
        runbook=work.fetcher.path(manifest.runbook, Part("runbook", "file")) if manifest.runbook else None,
        radius=manifest.radius,
    )


@dataclass(frozen=True)
class _Array:
    """An array and the name by which people know its file."""

    ref: Ref
    label: str

    @property
    def csr(self) -> CsrRef:
        if not isinstance(self.ref, CsrRef):
            raise DataError(f"{self.label}: tags are kept as .spmat, not as a dense array")
        return self.ref


@dataclass(frozen=True)
class _Preparation:
    fetcher: Fetcher

    def check_room(self, queries: str) -> None:
        """Raise StorageError, before anything is fetched or made, where the disk is too small for all of it."""
        manifest = self.fetcher.manifest
        chosen, learn = manifest.queries[queries], manifest.queries.get(LEARN)
        parts = [
            (manifest.base.vectors, Part("base", "vectors")),
            (manifest.base.tags, Part("base", "tags")),
            (chosen.vectors, Part(queries, "vectors")),
            (chosen.tags, Part(queries, "tags")),
            (learn.vectors if learn else None, Part(LEARN, "vectors")),
        ]
        missing = dict(found for source, part in parts if source and (found := self.fetcher.missing(source, part)))
        check_space(self.fetcher.folder, sum(missing.values()), f"the data set {manifest.name}")

    def vectors(self, source: Source, group: str, base: _Array | None) -> _Array:
        """The vectors of the base or of queries (checked against the base)."""
        array = self._checked(source, Part(group, "vectors"))
        ref, label = array.ref, array.label
        if len(ref.shape) != 2:
            raise DataError(f"{label}: vectors have two axes (rows, dimensions), found shape {ref.shape}")
        if 0 in ref.shape:
            what = "the base" if base is None else f"the query set {group!r}"
            raise DataError(
                f"{label}: {what} is empty ({ref.shape[0]} rows of {ref.shape[1]}): give it at least one row"
            )
        if _dtype(ref) not in VECTOR_TYPES:
            raise DataError(f"{label}: vectors of {_dtype(ref)}; valid: {', '.join(VECTOR_TYPES)}")
        if base is not None:
            _check_fit(base, array)
        self._check_metric(array)
        return array

    def _check_metric(self, array: _Array) -> None:
        """The metric must be one that these vectors can have."""
        if self.fetcher.manifest.metric != "angular":
            return
        row = first_zero_row(array.ref)
        if row is not None:
            raise DataError(
                f"{array.label}: row {row} is zero and has no angle to any other: remove such rows, or say metric ip"
            )

    def tags(self, source: Source | None, group: str, vectors: _Array) -> _Array | None:
        """The bags of tags of these vectors."""
        if source is None:
            return None
        array = self._checked(source, Part(group, "tags"))
        rows, expected = array.csr.shape[0], vectors.ref.shape[0]
        if rows != expected:
            hint = f"give the tags `rows: {expected}`" if rows > expected else "get files that belong together"
            raise DataError(f"{array.label}: {rows:,} rows of tags for {expected:,} vectors of {vectors.label}: {hint}")
        return array

    def truth(self, source: Source | None, queries: _Array, group: str) -> Path | None:
        """The truth file from elsewhere; only its shape is checked here."""
        if source is None:
            return None
        path = self.fetcher.path(source, Part(group, "truth"))
        name = f"{path.name}.{source.format}" if source.format else path.name
        if name.endswith(".gz"):
            path = unpacked(path, self.fetcher.folder)
        if name.removesuffix(".gz").endswith((".hdf5", ".h5")):
            path = truth_from_hdf5(path, source.key, self.fetcher.folder)
        ranges = source.format == RANGES or name.removesuffix(".gz").endswith(f".{RANGES}")
        rows = locate_ranges(path).counts.shape[0] if ranges else locate_truth(path)[0].shape[0]
        if rows != queries.ref.shape[0]:
            raise DataError(f"{path}: truth of {rows:,} queries for {queries.ref.shape[0]:,} of {queries.label}")
        return path

    def _checked(self, source: Source, part: Part) -> _Array:
        path = self.fetcher.path(source, part)
        ref = locate(path, Reading(source.format, source.key, source.rows, self.fetcher.folder))
        label = str(path) if source.key is None else f"{path} [{source.key}]"
        found = facts(ref, self.fetcher.progress)
        if found.problem is not None:
            raise DataError(f"{label}: {found.problem}: repair the file")
        if isinstance(ref, CsrRef) and not found.canonical:
            ref = self._canonical(ref, label)
        return _Array(ref, label)

    def _canonical(self, ref: CsrRef, label: str) -> CsrRef:
        """The same matrix with ascending columns, from a copy in the cache."""
        path = Path(ref.indices.path)

        def build(target: Path) -> None:
            log.warning("%s: columns out of order or repeated within a row; using a sorted copy, %s", label, target)
            write_canonical(ref, target)

        target = self.fetcher.folder / f"{path.stem}.sorted.{short_hash(path, ref.shape)}.spmat"
        return locate_spmat(derived(path, target, build))


def _dtype(ref: Ref) -> str:
    return ref.dtype if isinstance(ref, ArrayRef) else ref.data.dtype


def _check_fit(base: _Array, other: _Array) -> None:
    if isinstance(base.ref, CsrRef) != isinstance(other.ref, CsrRef):
        raise DataError(f"{other.label} and {base.label}: one is sparse, the other dense: give both in one form")
    if base.ref.shape[1] != other.ref.shape[1]:
        raise DataError(
            f"{other.label}: {other.ref.shape[1]} dimensions, {base.label} has {base.ref.shape[1]}: "
            "get files that belong together"
        )
    if _dtype(base.ref) != _dtype(other.ref):
        raise DataError(
            f"{other.label}: {_dtype(other.ref)}, {base.label} is {_dtype(base.ref)}: give both in one element type"
        )


def _same_vocabulary(tags: _Array | None, asked: _Array, name: str, group: str) -> _Array:
    """The queries' tags with as many columns as the base's."""
    if tags is None:
        raise DataError(f"{name}: the query set {group!r} asks for tags, but the base has none: add base.tags")
    columns, ours = tags.csr.shape[1], asked.csr.shape[1]
    if ours > columns:
        raise DataError(
            f"{asked.label}: tags beyond the vocabulary: {ours:,} columns, {tags.label} has {columns:,}: "
            "get files that belong together"
        )
    return replace(asked, ref=replace(asked.csr, shape=(asked.csr.shape[0], columns)))
