"""Exported tables held against results: every cell must be what a result says."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ann_bench.errors import ResultError, UsageError, unknown
from ann_bench.results import latex
from ann_bench.results.export import cell
from ann_bench.results.figures import COLUMNS, Figures
from ann_bench.results.text import spreadsheet

Row = Mapping[str, Any]

#: What tells results apart in a table without the column `key`.
_TELLING = (
    "track", "dataset", "queries", "algorithm", "build", "query", "k",
    "sandbox", "cpus", "memory_limit_bytes", "runs",
)  # fmt: skip


@dataclass(frozen=True)
class _Form:
    """How a table is read, and whether a cell as it stands there says what a result has."""

    rows: Callable[[bytes], list[Row]]
    says: Callable[[str, Any, Any], bool]


def check_table(path: Path, results: Mapping[str, Figures]) -> int:
    """Hold a table (.csv, .json, .parquet, .md, .tex) against results by their keys; returns how many rows it has.

    Raises ResultError, which names row (counted from 1, without the head), column, what was found and what was
    expected, at the first difference; UsageError where the file is no such table.
    """
    suffix = path.suffix.lower().removeprefix(".")
    form = _FORMS.get({"markdown": "md", "latex": "tex"}.get(suffix, suffix))
    if form is None:
        raise unknown("kind of table", suffix or path.name, _FORMS)
    try:
        rows = form.rows(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path}: is no table that `ann-bench export` writes ({error})") from error
    seen: dict[str, int] = {}
    for number, row in enumerate(rows, start=1):
        try:
            keys = _check_row(row, results, form.says)
        except ResultError as error:
            raise ResultError(f"row {number} {error}") from error
        key = next((one for one in keys if one not in seen), None)
        if key is None:
            raise ResultError(f"row {number} is the result of row {seen[keys[0]]} once more ({keys[0]})")
        seen[key] = number
    return len(rows)


def _check_row(row: Row, results: Mapping[str, Figures], says: Callable[[str, Any, Any], bool]) -> list[str]:
    """The keys of the results that a row may have been made of, after all its cells were compared."""
    name = f"({row.get('algorithm', '?')} {row.get('query', '')})"
    if "key" in row:
        found = results.get(str(row["key"]))
        if found is None:
            raise ResultError(f"{name}, column key: found {row['key']}, which is no verified result here")
        candidates = [found]
    else:
        told = [column for column in _TELLING if column in row]
        candidates = [
            one for one in results.values() if all(says(column, row[column], one.row()[column]) for column in told)
        ]
        if not candidates:
            raise ResultError(f"{name}: no verified result here has this {', '.join(told)}")
    wrong = min((_wrong(row, one, says) for one in candidates), key=len)
    if wrong:
        column, expected = wrong[0]
        raise ResultError(f"{name}, column {column}: found {_shown(row[column])}, expected {_shown(expected)}")
    return [one.key for one in candidates if not _wrong(row, one, says)]


def _wrong(row: Row, one: Figures, says: Callable[[str, Any, Any], bool]) -> list[tuple[str, Any]]:
    """The columns that differ, with what should stand there."""
    expected = {**one.row(), "detail": one.detail, "notes": list(one.notes)}
    strange = [(column, "no such column") for column in row if column not in expected]
    return strange + [
        (column, expected[column])
        for column in row
        if column in expected and not says(column, row[column], expected[column])
    ]


def _shown(value: Any) -> str:
    return "nothing" if value is None or value == "" else str(value)


def _csv(content: bytes) -> list[Row]:
    reader = csv.DictReader(io.StringIO(content.decode(), newline=""), strict=True)
    return _whole(list(reader), reader.fieldnames)


def _whole(rows: Sequence[Row], head: Sequence[str] | None) -> list[Row]:
    if not head or not set(head) & set(COLUMNS):
        raise ValueError("it has none of the columns")
    for number, row in enumerate(rows, start=1):
        if None in row or None in row.values():
            raise ValueError(f"row {number} has not as many cells as the head")
    return list(rows)


def _says_text(column: str, found: str, expected: Any) -> bool:
    """Numbers by their value, all digits; texts as they are."""
    if isinstance(expected, int | float):
        try:
            return type(expected)(found) == expected
        except ValueError:
            return False
    return found == ("" if expected is None else spreadsheet(expected))


def _json(content: bytes) -> list[Row]:
    """A list of rows, or what `ann-bench run --json` prints."""
    found = json.loads(content)
    rows = found["results"] if isinstance(found, dict) else found
    if not all(isinstance(row, dict) for row in rows):
        raise ValueError("its rows are no objects")
    return list(rows)


def _says_value(column: str, found: Any, expected: Any) -> bool:
    return bool(found == expected) and isinstance(found, bool) == isinstance(expected, bool)


def _parquet(content: bytes) -> list[Row]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise UsageError("parquet needs pyarrow; install it with `pip install 'ann-bench[parquet]'`") from error
    try:
        rows: list[Row] = pq.read_table(io.BytesIO(content)).to_pylist()
    except pa.ArrowException as error:
        raise ValueError(str(error)) from error
    return rows


def _markdown(content: bytes) -> list[Row]:
    lines = [_cells(line) for line in content.decode().splitlines() if line.strip()]
    if len(lines) < 2:
        raise ValueError("it has no head")
    head, _, *rest = lines
    short = [number for number, cells in enumerate(rest, start=1) if len(cells) != len(head)]
    if short:
        raise ValueError(f"row {short[0]} has not as many cells as the head")
    return _whole([dict(zip(head, cells, strict=True)) for cells in rest], head)


def _cells(line: str) -> list[str]:
    """As they stand there: a bar that belongs to a cell has a backslash before it, and so has a backslash."""
    parts = re.findall(r"((?:[^|\\]|\\.)*)\|", line.strip().removeprefix("|"))
    return [part.strip() for part in parts]


def _says_rounded(column: str, found: str, expected: Any) -> bool:
    """As `export` rounds it."""
    return found == cell(column, expected).strip()


def _latex(content: bytes) -> list[Row]:
    """The rows between the rules; a row ends with two backslashes, and an ampersand within a cell has one before it."""
    lines = [line.strip() for line in content.decode().splitlines()]
    cells = [line.removesuffix(r" \\").split(" & ") for line in lines if line.endswith(r" \\")]
    if not cells:
        raise ValueError("it has no head")
    names = {title: name for name, title in latex.PAPER.items()}
    return _whole([dict(zip(_heads(cells[0], names), row, strict=True)) for row in cells[1:]], _heads(cells[0], names))


def _heads(titles: Sequence[str], names: Mapping[str, str]) -> list[str]:
    return [names.get(title, title) for title in titles]


def _says_latex(column: str, found: str, expected: Any) -> bool:
    """As `export --format latex` rounds it."""
    return found == latex.cell(column, expected)


_FORMS = {
    "csv": _Form(_csv, _says_text),
    "json": _Form(_json, _says_value),
    "parquet": _Form(_parquet, _says_value),
    "md": _Form(_markdown, _says_rounded),
    "tex": _Form(_latex, _says_latex),
}
