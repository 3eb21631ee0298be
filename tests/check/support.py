"""Entries for the tests of the kit: what `ann-bench new` writes, with something changed."""

from __future__ import annotations

import textwrap
from pathlib import Path

from ann_bench.check.kit import Options, Report, examine
from ann_bench.entries.discovery import entry_at
from ann_bench.entries.scaffold import Wanted, write_scaffold
from ann_bench.sandbox import find_sandbox
from ann_bench.tracks import find_track


def wanted(track: str, name: str = "tried") -> Wanted:
    return Wanted(name, track, **vars(find_track(track).features))


def entry_of(folder: Path, track: str, body: str = "", *, start: str = "", query: str = "[{queries: 256}]") -> Path:
    """An entry that answers exactly, but for the methods in `body`; `start` goes to the top of its module."""
    write_scaffold(wanted(track), folder)
    folder /= "tried"
    methods = textwrap.indent(textwrap.dedent(body), "    ") or "    pass"
    text = f"import numpy as np\nimport wrapper\n{textwrap.dedent(start)}\n\nclass Bad(wrapper.Tried):\n{methods}\n"
    (folder / "bad.py").write_text(text, encoding="utf-8")
    config = (folder / "config.yaml").read_text(encoding="utf-8")
    config = config.replace("wrapper.Tried", "bad.Bad").replace("[{queries: 256}]", query)
    (folder / "config.yaml").write_text(config, encoding="utf-8")
    return folder


def checked(folder: Path, track: str, *only: str, examples: int = 10) -> Report:
    """The kit on an entry, in processes, without an estimate of recall."""
    options = Options(examples, only, recall=False)
    return examine(entry_at(folder, track), find_track(track), find_sandbox("process"), options)


def failed(report: Report) -> dict[str, str]:
    """The checks that failed, and how."""
    return {result.check: result.detail for result in report.results if result.outcome == "failed"}
