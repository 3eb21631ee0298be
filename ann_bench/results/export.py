"""Figures as csv, json, parquet, markdown or LaTeX."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ann_bench.errors import UsageError, unknown
from ann_bench.results.atomic import write_atomically
from ann_bench.results.figures import COLUMNS, Figures
from ann_bench.results.latex import latex
from ann_bench.results.text import markdown, spreadsheet

Row = Mapping[str, Any]

_INTEGERS = ("k", "peak_memory_bytes", "cpus", "memory_limit_bytes", "runs", "searches", "index_memory_bytes")
_TEXTS = (
    "track",
    "dataset",
    "queries",
    "algorithm",
    "build",
    "query",
    "status",
    "sandbox",
    "challenge",
    "key",
    "mode",
    "tuned",
)


def export(figures: Sequence[Figures], form: str, output: Path) -> None:
    """Write the figures to a file in one of FORMATS; it appears whole or not at all.

    Raises UsageError for an unknown format or a missing library, StorageError where the file cannot be written.
    """
    write_atomically(output, (render(figures, form),))


def render(figures: Sequence[Figures], form: str) -> bytes:
    """The figures in one of FORMATS, one row a bundle, with COLUMNS in order. Errors as `export`.

    Rows are sorted by track, data set, query set, k, algorithm, build and recall.
    """
    if form not in FORMATS:
        raise unknown("format", form, FORMATS)
    return FORMATS[form]([one.row() for one in sorted(figures, key=_order)])


def _order(one: Figures) -> tuple[Any, ...]:
    recall = math.inf if math.isnan(one.recall) else one.recall
    return one.track, one.dataset, one.queries, one.k, one.algorithm, one.build, recall, one.query


def _csv(rows: Sequence[Row]) -> bytes:
    """Empty where nothing was measured; floats with all their digits."""
    lines = [",".join(COLUMNS), *(",".join(_field(row[name]) for name in COLUMNS) for row in rows)]
    return "".join(f"{line}\n" for line in lines).encode()


def _field(value: Any) -> str:
    """One value as RFC 4180 has it; Python's csv module leaves a carriage return unquoted before 3.13."""
    if value is None:
        return ""
    text = spreadsheet(value) if isinstance(value, str) else repr(value)
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in ',"\r\n') else text


def _json(rows: Sequence[Row]) -> bytes:
    """A list of objects; null where nothing was measured."""
    return (json.dumps(list(rows), indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _parquet(rows: Sequence[Row]) -> bytes:
    """Texts, int64 and float64; null where nothing was measured."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise UsageError("parquet needs pyarrow; install it with `pip install 'ann-bench[parquet]'`") from error
    types = {name: pa.string() if name in _TEXTS else pa.float64() for name in COLUMNS}
    types.update(dict.fromkeys(_INTEGERS, pa.int64()))
    table = pa.Table.from_pylist([dict(row) for row in rows], schema=pa.schema(list(types.items())))
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


def _markdown(rows: Sequence[Row]) -> bytes:
    """For people: rounded figures, numbers to the right."""
    lines = [" | ".join(COLUMNS), " | ".join("---" if name in _TEXTS else "---:" for name in COLUMNS)]
    lines += [" | ".join(cell(name, row[name]) for name in COLUMNS) for row in rows]
    return "".join(f"| {line} |\n" for line in lines).encode()


def cell(name: str, value: Any) -> str:
    """One value as it stands in a markdown table, rounded."""
    if value is None:
        return ""
    if "recall" in name or name == "precision":
        return f"{value:.4f}"
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
    if isinstance(value, int):
        return str(value)
    return markdown(str(value))


#: Every format, and what writes it.
FORMATS: dict[str, Callable[[Sequence[Row]], bytes]] = {
    "csv": _csv,
    "json": _json,
    "parquet": _parquet,
    "markdown": _markdown,
    "latex": latex,
}
