"""The table of results on the data as published and in disguise."""

from __future__ import annotations

from rich.console import Console

from ann_bench.report.challenge import beside
from ann_bench.results.figures import figures
from tests.results import made


def lines(rows, others) -> list[str]:
    console = Console(width=160, color_system=None)
    with console.capture() as shown:
        console.print(beside(rows, others))
    return [line.rstrip() for line in shown.get().splitlines()]


def one(recall: float, qps: float, changes: str = "", **more):
    hidden = {"challenge": {"changes": changes, "seed_digest": f"{changes}-1"}} if changes else {}
    return figures(made.bundle(recall, qps, **hidden, **more))


def test_each_kind_of_challenge_has_columns_of_its_own() -> None:
    plain, rows, columns = one(0.95, 1000), one(0.94, 500, "rows"), one(0.9, 250, "columns")
    title, head, _, row = lines([columns], [plain, rows, columns])
    assert title == "As published, and in disguise"
    assert head.split()[2:] == ["recall", "columns", "rows", "QPS", "columns", "ratio", "rows", "ratio"]
    recalls = [f"{result.recall:.4f}" for result in (plain, columns, rows)]
    ratios = [f"{result.qps / plain.qps:.2f}" for result in (columns, rows)]
    cells = row.split()[-8:]
    assert cells[:3] == recalls
    assert [cells[5], cells[7]] == ratios


def test_what_has_no_partner_is_left_out() -> None:
    plain, hidden, other = one(0.95, 1000), one(0.94, 500, "rows"), one(0.9, 250, "columns", algorithm="other")
    assert len(lines([hidden, other], [plain, hidden, other])) == 4
    (line,) = lines([other], [plain])
    assert line.startswith("no result without the challenge")
