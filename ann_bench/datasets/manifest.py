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
    model_config = ConfigDict(extra="forbid", frozen=True)


class Make(BaseModel):
    """`make: {generator: NAME, seed: N, ...}`: the rest are the generator's own arguments."""

    model_config = ConfigDict(extra="allow", frozen=True)

    generator: str
    seed: int = Field(ge=0, lt=2**63)

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
    """One array or file, by exactly one of `url`, `file` (relative to the manifest) and `make`.

    `sha256` is that of the file as it is kept (where `rows` takes a prefix of a download: of the prefix);
    `size` in bytes is that of the whole file; `rows` takes the first rows; `format` says what the name does not;
    `key` is the array within an HDF5 file.
    """

    url: str | None = None
    file: str | None = None
    make: Make | None = None
    sha256: Annotated[str, AfterValidator(_hash)] | None = None
    rows: int | None = Field(default=None, gt=0)
    size: int | None = Field(default=None, ge=0)
    format: str | None = None
    key: str | None = None

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
    """The rows to be indexed and their bags of tags."""

    vectors: Source
    tags: Source | None = None


class Queries(_Strict):
    """A set of queries, the tags that each asks for, and exact answers from elsewhere."""

    vectors: Source
    tags: Source | None = None
    truth: Source | None = None


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class Manifest(_Strict):
    """A data set; `load_manifest` reads it from a file.

    `radius` makes its searches range searches (see `workload.Search`). `refused` says why the set is known to be
    wrong: it stands in the lists, and whoever asks for it is told.
    """

    name: Name
    description: str = ""
    tracks: Annotated[tuple[Name, ...], BeforeValidator(_listed), Field(min_length=1)]
    metric: Metric
    radius: float | None = Field(default=None, allow_inf_nan=False)
    refused: str | None = Field(default=None, min_length=1)
    base: Base
    queries: Annotated[dict[Name, Queries], Field(min_length=1)]
    runbook: Source | None = None
    licence: str = ""
    source: str = ""

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
