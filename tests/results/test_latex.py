"""Tables for papers."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ann_bench.results.export import render
from ann_bench.results.figures import figures
from ann_bench.results.model import Status
from tests.results import made


def table(*bundles: object) -> list[str]:
    return render([figures(bundle) for bundle in bundles], "latex").decode().splitlines()  # type: ignore[arg-type]


def test_a_table() -> None:
    lines = table(made.bundle(0.95, 12345.6), made.bundle(status=Status.TIMEOUT, algorithm="late"))
    assert lines[1:5] == [
        r"\begin{tabular}{llrrrr}",
        r"\toprule",
        r"algorithm & operating point & recall & QPS & build (s) & memory (GiB) \\",
        r"\midrule",
    ]
    assert re.fullmatch(r"faiss-ivf & nprobe = 4 & 0\.95\d\d & 1\d\\,\d{3} & 3 & 0\.40 \\\\", lines[5])
    assert lines[6:] == [r"\bottomrule", r"\end{tabular}"]


def test_data_sets_are_set_apart() -> None:
    lines = table(made.bundle(), made.bundle(dataset="other"))
    assert lines.count(r"\midrule") == 2
    assert lines[5].startswith("debian-20k & faiss-ivf")


@given(st.text(min_size=1))
def test_no_sign_of_a_name_is_a_command(name: str) -> None:
    line = table(made.bundle(queries=3, algorithm=name))[5].removesuffix(r" \\")
    bare = re.sub(r"\\text(backslash|asciitilde|asciicircum|less|greater|bar)\{\}|\\[&%$#_{},]|\{\}", "", line)
    assert not set(bare) & set("\\{}%$#_^~<>|")
    assert max(bare) <= "\u017e"
    assert bare.count("&") == 5


#: Signs of TeX, HTML, pairs that become another sign, letters of several alphabets, what is no letter at all.
EVIL = 'a_b & 100% #1 ~^\\\\x{} $x_1$ \\\\input{x} <b>|"q" --- ``?`!` é ğ Ə 名 🙂 \u00ad\u0301\u202e\x07 \\\\'


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_takes_it(tmp_path: Path) -> None:
    letters = "".join(map(chr, range(0xA1, 0x180)))
    bundles = [made.bundle(algorithm=name, query={name: name}) for name in (EVIL, letters)]
    text = "\n".join(table(*bundles, made.bundle(dataset=EVIL)))
    whole = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}" + text + "\\end{document}"
    (tmp_path / "t.tex").write_text(whole, encoding="utf-8")
    ended = subprocess.run(["pdflatex", "-halt-on-error", "t.tex"], cwd=tmp_path, capture_output=True, check=False)
    assert ended.returncode == 0, ended.stdout[-800:]


def test_signs_stay_apart() -> None:
    line = table(made.bundle(algorithm="a--b ?`c 名"))[5]
    assert line.startswith("a-{}-b ?{}`c [U+540D] &")
