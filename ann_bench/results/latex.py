"""Results as a LaTeX table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ann_bench.results.model import Status

#: What a LaTeX table shows: a page holds no more. The head of each column.
PAPER = {
    "dataset": "data set",
    "algorithm": "algorithm",
    "query": "operating point",
    "recall": "recall",
    "qps": "QPS",
    "build_seconds": "build (s)",
    "peak_memory_bytes": "memory (GiB)",
}

_NUMBERS = ("recall", "qps", "build_seconds", "peak_memory_bytes")

_TEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
}  # fmt: skip
_TEX |= {sign: "\\" + sign for sign in "&%$#_{}"}
#: Signs that make another one together with the next: two of them are a dash, a quotation mark, a question upside down.
_JOINED = "-'`,?!"

#: Letters that pdfLaTeX has without a package, from here on to there.
_LETTERS = ("\u00c0", "\u017e")
#: Those among them that need another font encoding than the usual one.
_NOT_THERE = frozenset(
    "\u00d0\u00de\u00f0\u00fe\u0104\u0105\u0110\u0111\u0118\u0119\u012e\u012f\u014a\u014b\u0172\u0173\u0126\u0127\u0138\u013f\u0140\u0149\u0166\u0167"
)


def latex(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """A table for a paper, in the style of the package booktabs: what is ok, one data set after the other.

    `rows` as in csv and json, sorted. Text is shown as it is: no sign of it is a command, and letters that pdfLaTeX has
    not by itself stand as `[U+540D]`.
    """
    shown = [name for name in PAPER if name != "dataset" or len({row["dataset"] for row in rows}) > 1]
    lines = [
        "% \\usepackage{booktabs}",
        f"\\begin{{tabular}}{{{''.join('r' if n in _NUMBERS else 'l' for n in shown)}}}",
    ]
    lines += ["\\toprule", " & ".join(PAPER[name] for name in shown) + r" \\", "\\midrule"]
    previous = None
    for row in rows:
        if row["status"] != Status.OK.value:
            continue
        if previous not in (None, row["dataset"]):
            lines.append("\\midrule")
        previous = row["dataset"]
        lines.append(" & ".join(cell(name, row[name]) for name in shown) + r" \\")
    return "".join(f"{line}\n" for line in [*lines, "\\bottomrule", "\\end{tabular}"]).encode()


def cell(name: str, value: Any) -> str:
    """One value as it stands in the table."""
    if value is None:
        return "--"
    if name == "recall":
        return f"{value:.4f}"
    if name == "peak_memory_bytes":
        return f"{value / 2**30:.2f}"
    if isinstance(value, float):
        return f"{value:,.0f}".replace(",", r"\,") if value >= 1000 else f"{value:.3g}"
    return _text(_point(value) if name == "query" else str(value))


def _text(text: str) -> str:
    """Text as TeX shows it."""
    line = " ".join(text.split())
    return "".join(map(_sign, line, f" {line}"))


def _sign(sign: str, before: str) -> str:
    apart = "{}" if sign in _JOINED and before in _JOINED else ""
    if sign in _TEX:
        return _TEX[sign]
    known = " " <= sign <= "~" or (_LETTERS[0] <= sign <= _LETTERS[1] and sign not in _NOT_THERE)
    return apart + sign if known else f"[U+{ord(sign):04X}]"


def _point(text: str) -> str:
    """A query config in short."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return ", ".join(f"{name} = {part}" for name, part in value.items()) if isinstance(value, dict) else text
