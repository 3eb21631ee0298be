"""The manifest of a data set: one YAML file is all that a data set takes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    field_validator,
    model_validator,
)

from ann_bench import yamlfile
from ann_bench.datasets.cache import url_name
from ann_bench.datasets.dataset import Metric
from ann_bench.datasets.formats import RANGES, format_of
from ann_bench.errors import UsageError

LEARN = "learn"
"""The query set that an index may learn from: vectors only."""


def _safe(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name) or name.endswith(".lock"):
        raise ValueError("a name begins with a letter or digit and holds letters, digits, '.', '_' and '-' only")
    return name


def _hash(text: str) -> str:
    if not re.fullmatch(r"[0-9a-fA-F]{64}", text):
        raise ValueError("a sha256 has 64 hexadecimal digits")
    return text.lower()


Name = Annotated[str, AfterValidator(_safe)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Make(BaseModel):
    """`make: {generator: NAME, seed: N, ...}`: the rest are the generator's own arguments."""

    model_config = ConfigDict(extra="allow", frozen=True, use_attribute_docstrings=True)

    generator: str
    """Its name; docs/datasets.md lists them."""
    seed: int = Field(ge=0, lt=2**63)
    """The same seed and arguments make the same bytes everywhere."""

    @model_validator(mode="after")
    def _known(self) -> Make:
        from ann_bench.datasets.makers import find_maker

        try:
            find_maker(self.generator).arguments(self)
        except UsageError as error:
            raise ValueError(str(error)) from error
        return self

    @property
    def own(self) -> dict[str, Any]:
        """The generator's own arguments."""
        return dict(self.model_extra or {})


class Source(_Strict):
    """One array or file, by exactly one of `url`, `file` and `make`."""

    url: str | None = None
    """http or https; fetched once into the cache."""
    file: str | None = None
    """A local file, relative to the manifest; it is mapped where it lies."""
    make: Make | None = None
    """A generator and its arguments."""
    sha256: Annotated[str, AfterValidator(_hash)] | None = None
    """Of the file as it is kept: of the packed file for `.gz`, of the prefix where `rows` cuts a download."""
    rows: int | None = Field(default=None, gt=0)
    """Take this many rows from the start. Of an `.fbin`-like file no more is downloaded. Tags need the same `rows`."""
    size: int | None = Field(default=None, ge=0)
    """Of the whole file, in bytes."""
    format: str | None = None
    """What the name does not say: `fbin`, `csr.gz`, ..."""
    key: str | None = None
    """The array within an HDF5 file."""

    @field_validator("url")
    @classmethod
    def _web(cls, url: str | None) -> str | None:
        if url is not None:
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.netloc or not url_name(url):
                raise ValueError("a url is http:// or https://, with a host and a file")
        return url

    @field_validator("format")
    @classmethod
    def _format(cls, name: str | None) -> str | None:
        if name is not None:
            try:
                name == RANGES or format_of("", name)
            except UsageError as error:
                raise ValueError(str(error)) from error
        return name

    @model_validator(mode="after")
    def _one(self) -> Source:
        given = [name for name in ("url", "file", "make") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"give exactly one of url, file and make (found {' and '.join(given) or 'none'})")
        if self.make is not None:
            useless = [n for n in ("sha256", "rows", "size", "format", "key") if getattr(self, n) is not None]
            if useless:
                raise ValueError(f"{useless[0]} does not go with make: the generator's arguments say it all")
        return self


class Base(_Strict):
    """The rows to be indexed."""

    vectors: Source
    """One row of the index each."""
    tags: Source | None = None
    """Their bags of tags, for filtered search."""


class Queries(_Strict):
    """A set of queries."""

    vectors: Source
    """One query each, of the base's element type and dimension."""
    tags: Source | None = None
    """The tags that each query asks for: rows hold all of them."""
    truth: Source | None = None
    """Exact answers from elsewhere; they are computed where none are given."""


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class Manifest(_Strict):
    """A data set; `load_manifest` reads it from a file."""

    name: Name
    """Letters, digits, `.`, `_`, `-`; two manifests may share it where their tracks differ."""
    description: str = ""
    """One line for the lists."""
    tracks: Annotated[tuple[Name, ...], BeforeValidator(_listed), Field(min_length=1)]
    """The tracks that the set is for."""
    metric: Metric
    """What is near: a small distance, or a large inner product."""
    radius: float | None = Field(default=None, allow_inf_nan=False)
    """Makes searches ask for all rows within it: squared euclidean distance or 1 - cosine below it, inner product above
    it."""
    refused: str | None = Field(default=None, min_length=1)
    """Why the set is known to be wrong: it stands in the lists, and whoever asks for it is told."""
    base: Base
    """The rows to be indexed."""
    queries: Annotated[dict[Name, Queries], Field(min_length=1)]
    """Sets by name: `public`, `private`, or any other. `learn` has vectors only: sample queries that an index may learn
    from."""
    runbook: Source | None = None
    """What a stream does, step by step."""
    licence: str = ""
    """Under which terms the data may be used."""
    source: str = ""
    """Where it is from."""

    _origin: Path | None = PrivateAttr(default=None)

    @field_validator("queries")
    @classmethod
    def _sets(cls, queries: dict[str, Queries]) -> dict[str, Queries]:
        if LEARN in queries and (queries[LEARN].tags or queries[LEARN].truth):
            raise ValueError("learn has vectors only, no tags and no truth")
        if set(queries) == {LEARN}:
            raise ValueError("there is no query set to search with: add one, for example public")
        return queries

    @property
    def origin(self) -> Path | None:
        """The file that this was read from; None where a maker made it up."""
        return self._origin

    @property
    def folder(self) -> Path:
        """Where relative `file:` paths begin."""
        return self._origin.parent if self._origin else Path.cwd()

    @property
    def query_sets(self) -> tuple[str, ...]:
        """The names of the query sets that can be searched with."""
        return tuple(name for name in self.queries if name != LEARN)


def load_manifest(path: Path) -> Manifest:
    """Read and check a manifest; raises UsageError that names file, line, key and what is valid."""
    manifest = yamlfile.load(path, Manifest)
    manifest._origin = path.absolute()
    return manifest
