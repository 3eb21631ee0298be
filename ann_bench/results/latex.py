"""Results as a LaTeX table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ann_bench.results.model import Status

#: What a LaTeX table shows: a page holds no more. The head of each column.
_PAPER = {
    "dataset": "data set",
    "algorithm": "algorithm",
    "query": "operating point",
    "recall": "recall",
    "qps": "QPS",
    "build_seconds": "build (s)",
    "peak_memory_bytes": "memory (GiB)",
}

_NUMBERS = ("recall", "qps", "build_seconds", "peak_memory_bytes")

_TEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_TEX |= {sign: "\\" + sign for sign in "&%$#_{}"}


def latex(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """A table for a paper, in the style of the package booktabs: what is ok, one data set after the other.

    `rows` as in csv and json, sorted. Text is shown as it is: no sign of it is a command.
    """
    shown = [name for name in _PAPER if name != "dataset" or len({row["dataset"] for row in rows}) > 1]
    lines = [
        "% \\usepackage{booktabs}",
        f"\\begin{{tabular}}{{{''.join('r' if n in _NUMBERS else 'l' for n in shown)}}}",
    ]
    lines += ["\\toprule", " & ".join(_PAPER[name] for name in shown) + r" \\", "\\midrule"]
    previous = None
    for row in rows:
        if row["status"] != Status.OK.value:
            continue
        if previous not in (None, row["dataset"]):
            lines.append("\\midrule")
        previous = row["dataset"]
        lines.append(" & ".join(_tex(name, row[name]) for name in shown) + r" \\")
    return "".join(f"{line}\n" for line in [*lines, "\\bottomrule", "\\end{tabular}"]).encode()


def _tex(name: str, value: Any) -> str:
    if value is None:
        return "--"
    if name == "recall":
        return f"{value:.4f}"
    if name == "peak_memory_bytes":
        return f"{value / 2**30:.2f}"
    if isinstance(value, float):
        return f"{value:,.0f}".replace(",", r"\,") if value >= 1000 else f"{value:.3g}"
    text = _point(value) if name == "query" else str(value)
    return "".join(_TEX.get(sign, sign) for sign in " ".join(text.split()))


def _point(text: str) -> str:
    """A query config in short."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return ", ".join(f"{name} = {part}" for name, part in value.items()) if isinstance(value, dict) else text
