"""Tables are held against results cell by cell."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ann_bench.errors import ResultError, UsageError
from ann_bench.results.export import render
from ann_bench.results.figures import COLUMNS, Figures, figures
from ann_bench.results.tables import check_table
from tests.report import scenes
from tests.results import made

RESULTS = {one.key: one for one in map(figures, scenes.four())}
FORMS = {"csv": "csv", "json": "json", "md": "markdown", "parquet": "parquet", "tex": "latex"}
#: Which of them have a row for results that are not ok too.
WHOLE = ("csv", "json", "md", "parquet")


def written(folder: Path, suffix: str, rows: dict[str, Figures] = RESULTS) -> Path:
    path = folder / f"t.{suffix}"
    path.write_bytes(render(list(rows.values()), FORMS[suffix]))
    return path


def rewritten(path: Path, rows: list[dict[str, Any]]) -> Path:
    """The rows as CSV or JSON."""
    if path.suffix == ".json":
        path.write_text(json.dumps(rows), encoding="utf-8")
        return path
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(text.getvalue(), encoding="utf-8")
    return path


def rows_of(path: Path) -> list[dict[str, Any]]:
    text = path.read_text(encoding="utf-8")
    return json.loads(text) if path.suffix == ".json" else list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("suffix", FORMS)
def test_what_was_exported_follows(tmp_path: Path, suffix: str) -> None:
    shown = [one for one in RESULTS.values() if one.ok or suffix in WHOLE]
    assert check_table(written(tmp_path, suffix), RESULTS) == len(shown)


@pytest.mark.parametrize("suffix", ["csv", "json"])
@pytest.mark.parametrize("column", [name for name in COLUMNS if name != "key"])
def test_a_changed_cell_is_named(tmp_path: Path, suffix: str, column: str) -> None:
    path = written(tmp_path, suffix)
    rows = rows_of(path)
    number = next(n for n, row in enumerate(rows, start=1) if row["status"] == "ok")
    expected = rows[number - 1][column]
    if isinstance(expected, float) or (suffix == "csv" and "." in expected):
        changed: Any = float(expected) * (1 + 1e-12) + 1e-15
    else:
        changed = 7 if expected in (None, "") else expected + 1 if isinstance(expected, int) else f"{expected}0"
    rows[number - 1][column] = changed
    with pytest.raises(ResultError) as error:
        check_table(rewritten(path, rows), RESULTS)
    assert str(error.value).startswith(f"row {number} ({rows[number - 1]['algorithm']}")
    assert f"column {column}: found {changed}, expected {expected or 'nothing'}" in str(error.value)


@given(number=st.integers(0, 10_000), digit=st.sampled_from("0123456789"))
def test_any_changed_digit_is_found(tmp_path_factory: pytest.TempPathFactory, number: int, digit: str) -> None:
    path = written(tmp_path_factory.mktemp("t"), "csv")
    text = path.read_text(encoding="utf-8")
    digits = [place for place, sign in enumerate(text) if sign.isdigit() and place > text.index("\n")]
    place = digits[number % len(digits)]
    changed = text[:place] + digit + text[place + 1 :]
    path.write_text(changed, encoding="utf-8")
    if _number_at(changed, place) == _number_at(text, place):  # the 17th digit of a float need not change it
        check_table(path, RESULTS)
    else:
        with pytest.raises(ResultError, match=r"^row \d+ "):
            check_table(path, RESULTS)


def _number_at(text: str, place: int) -> float | str:
    """The cell around a place, as a number where it is one."""
    start, end = (re.split(r"[,\n]", part)[which] for part, which in ((text[:place], -1), (text[place:], 0)))
    try:
        return float(start + end)
    except ValueError:
        return start + end


def test_a_rounded_table_is_checked_as_rounded(tmp_path: Path) -> None:
    path = written(tmp_path, "md")
    lines = path.read_text(encoding="utf-8").splitlines()
    cells = lines[4].split(" | ")
    place = COLUMNS.index("recall")
    cells[place] = f"{float(cells[place]) + 0.0001:.4f}"
    lines[4] = " | ".join(cells)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(ResultError, match=r"row 3 .*, column recall: found [01]\.\d{4}, expected [01]\.\d"):
        check_table(path, RESULTS)


def test_columns_may_be_left_out_and_the_key_too(tmp_path: Path) -> None:
    path = written(tmp_path, "csv")
    rows = [{name: value for name, value in row.items() if name != "key"} for row in rows_of(path)]
    check_table(rewritten(path, rows), RESULTS)
    rows[2]["qps"] = "1.5"
    with pytest.raises(ResultError, match=r"row 3 .* column qps: found 1.5, expected \d"):
        check_table(rewritten(path, rows), RESULTS)
    rows[2]["algorithm"] = "somebody"
    with pytest.raises(ResultError, match="no verified result here has this track, dataset"):
        check_table(rewritten(path, rows), RESULTS)


def test_what_no_result_says(tmp_path: Path) -> None:
    path = written(tmp_path, "csv")
    rows = rows_of(path)
    with pytest.raises(ResultError, match="row 2 is the result of row 1 once more"):
        check_table(rewritten(path, [rows[0], rows[0]]), RESULTS)
    with pytest.raises(ResultError, match="column price: found 3"):
        check_table(rewritten(path, [{**rows[0], "price": "3"}]), RESULTS)
    with pytest.raises(ResultError, match="column key: found 0123, which is no verified result here"):
        check_table(rewritten(path, [{**rows[0], "key": "0123"}]), RESULTS)


def test_what_run_prints_is_a_table_too(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    rows = [{**one.row(), "detail": one.detail, "notes": list(one.notes)} for one in RESULTS.values()]
    path.write_text(json.dumps({"track": "filtered", "results": rows}), encoding="utf-8")
    assert check_table(path, RESULTS) == len(rows)
    rows[-1]["detail"] = "all is well"
    path.write_text(json.dumps({"results": rows}), encoding="utf-8")
    with pytest.raises(ResultError, match="column detail: found all is well"):
        check_table(path, RESULTS)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", b"a,b\n1,2\n"),
        ("t.csv", b"algorithm,recall\nx\n"),
        ("t.csv", b"\xff\xfe"),
        ("t.json", b"{}"),
        ("t.json", b"[1]"),
        ("t.json", b"{"),
        ("t.md", b"nothing"),
        ("t.parquet", b"PAR1"),
        ("t.xlsx", b""),
    ],
)
def test_what_is_no_table(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError) as error:
        check_table(tmp_path / name, RESULTS)
    assert "\n" not in str(error.value)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        check_table(tmp_path / "t.csv", RESULTS)


@pytest.mark.parametrize(("old", "new", "said"), [("0.9810", "0.9910", "column recall: found 0.9910, expected 0.981")])
def test_a_cell_of_a_latex_table(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = written(tmp_path, "tex")
    text = path.read_text(encoding="utf-8")
    assert text.count(f"& {old} &") == 1
    path.write_text(text.replace(f"& {old} &", f"& {new} &"), encoding="utf-8")
    with pytest.raises(ResultError, match=said):
        check_table(path, RESULTS)
    path.write_text(text.replace(" & ", " ", 1), encoding="utf-8")
    with pytest.raises(UsageError, match="is no table"):
        check_table(path, RESULTS)


def test_names_with_signs_of_latex(tmp_path: Path) -> None:
    odd = [made.bundle(0.9, 10.0 + n, algorithm=name, seed=n) for n, name in enumerate(("a & b", "a\\_%", "x \\\\"))]
    rows = {one.key: one for one in map(figures, odd)}
    assert check_table(written(tmp_path, "tex", rows), rows) == 3


def test_results_that_a_rounded_table_does_not_tell_apart(tmp_path: Path) -> None:
    rows = {one.key: one for one in (figures(made.bundle(seed=1, k=k)) for k in (10, 11))}
    assert check_table(written(tmp_path, "tex", rows), rows) == 2
