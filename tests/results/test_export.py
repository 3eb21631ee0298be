"""Exports hold what the figures say."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ann_bench.errors import StorageError, UsageError
from ann_bench.results.export import FORMATS, export, render
from ann_bench.results.figures import COLUMNS, Figures, figures
from ann_bench.results.text import spreadsheet
from tests.results import made

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20)
floats = st.floats(allow_nan=True, allow_infinity=False)
integers = st.integers(0, 2**62)
KINDS = {"str": texts, "float": floats, "int": integers, "int | None": st.none() | integers}
rows = st.builds(
    Figures, **{field.name: KINDS[field.type] for field in dataclasses.fields(Figures) if field.name in COLUMNS}
)


def from_csv(content: bytes) -> list[dict[str, object]]:
    kinds = {field.name: field.type for field in dataclasses.fields(Figures)}

    def value(name: str, text: str) -> object:
        if text == "":
            return None
        return text if kinds[name] == "str" else float(text) if kinds[name] == "float" else int(text)

    return [
        {name: value(name, text) for name, text in row.items()}
        for row in csv.DictReader(io.StringIO(content.decode(), newline=""))
    ]


@settings(max_examples=50, deadline=None)
@given(st.lists(rows, max_size=5))
def test_round_trips(figures: list[Figures]) -> None:
    expected = [json.loads(json.dumps(one.row())) for one in figures]
    found = json.loads(render(figures, "json"))
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
    safe = [{name: spreadsheet(one) if isinstance(one, str) else one for name, one in row.items()} for row in found]
    assert from_csv(render(figures, "csv")) == safe
    assert pq.read_table(io.BytesIO(render(figures, "parquet"))).to_pylist() == found
    lines = render(figures, "markdown").decode().split("\n")
    assert len(lines) == len(figures) + 3  # a head, a rule, and nothing after the last newline
    assert all(line.replace("\\\\", "").replace("\\|", "").count("|") == len(COLUMNS) + 1 for line in lines[:-1])


def test_columns_and_types(tmp_path: Path) -> None:
    measured = [figures(made.failed()), figures(made.bundle())]
    assert render(measured, "csv").decode().splitlines()[0] == ",".join(COLUMNS)
    assert list(json.loads(render(measured, "json"))[0]) == list(COLUMNS)
    export(measured, "parquet", tmp_path / "deep" / "r.parquet")
    schema = pq.read_table(tmp_path / "deep" / "r.parquet").schema
    assert [str(schema.field(name).type) for name in ("track", "k", "recall")] == ["string", "int64", "double"]
    assert pq.read_table(io.BytesIO(render([], "parquet"))).schema == schema


def test_markdown_is_for_people() -> None:
    one = dataclasses.replace(figures(made.bundle()), query='{"a":"x|y"}', qps=12345.678, build_seconds=1.23456)
    line = render([one], "markdown").decode().splitlines()[2]
    assert r"x\|y" in line
    assert "| 12,346 |" in line
    assert "| 1.235 |" in line
    assert "nan" not in render([figures(made.failed())], "markdown").decode()


def test_rows_are_in_order() -> None:
    mixed = [figures(made.bundle(r, algorithm=a)) for a, r in [("b", 0.5), ("a", 0.9), ("a", 0.1)]]
    mixed.append(figures(made.failed(algorithm="a")))
    found = json.loads(render(mixed[::-1], "json"))
    assert [row["algorithm"] for row in found] == ["a", "a", "a", "b"]
    assert found[0]["recall"] < found[1]["recall"]
    assert found[2]["recall"] is None


def test_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="did you mean 'parquet'"):
        render([], "parket")
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError):
        export([], "csv", tmp_path / "file" / "r.csv")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"pip install 'ann-bench\[parquet\]'"):
        export([], "parquet", tmp_path / "r.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert set(FORMATS) == {"csv", "json", "parquet", "markdown", "latex"}
    assert not math.isnan(figures(made.bundle()).qps)
