"""Comparisons in words: for a terminal, and as GitHub-flavoured markdown."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ann_bench.compare.figure import QPS
from ann_bench.compare.verdict import Compared, Side
from ann_bench.report import format as show
from ann_bench.stats import Estimate, Verdict

_SIGNS = {Verdict.FASTER: "🟢", Verdict.SLOWER: "🔴", Verdict.CANNOT_TELL: "⚪"}


def sentence(one: Compared) -> str:
    """The verdict on B in one line."""
    names = f"B ({one.b.name})", f"A ({one.a.name})"
    place = "" if one.recall is None else f" at recall {one.recall:g}"
    ratio = f"{one.ratio.value:.3f} x its {one.figure.words}{place}"
    level = f"{100 * one.certainty[1]:g} %"
    interval = f"{level} interval {_interval(one.sure, '{:.4g}'.format)}"
    if one.verdict is Verdict.CANNOT_TELL:
        return f"cannot tell {names[0]} from {names[1]}: {ratio}, {interval}"
    return f"{names[0]} is {one.figure.verdict(one.verdict)} than {names[1]}: {ratio}, {interval}"


def text(one: Compared) -> str:
    """All that a terminal shows of a comparison."""
    lines = [
        f"{letter}  {side.name}  {_level(one, level)}  {how}"
        for letter, side, level, how in zip("AB", (one.a, one.b), one.levels, one.how, strict=True)
    ]
    return "\n".join([*lines, _method(one), *one.notes, sentence(one)])


def markdown(compared: Sequence[Compared], problems: Sequence[str]) -> str:
    """A summary for a pull request or a job of GitHub."""
    lines = ["### ann-bench compare", ""]
    if compared:
        lines += [
            "| | A | B | figure | at recall | A has | B has | B / A | "
            f"{_level_of_all(compared)} interval | verdict on B |",
            "| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- |",
        ]
    for one in compared:
        place = "" if one.recall is None else f"{one.recall:.4g}"
        levels = " | ".join(_level(one, level) for level in one.levels)
        lines.append(
            f"| {_SIGNS[one.verdict]} | {_cell(one.a)} | {_cell(one.b)} | {one.figure.title} | {place} | {levels} | "
            f"{one.ratio.value:.3f} | {_interval(one.sure, '{:.4g}'.format)} | "
            f"**{one.figure.verdict(one.verdict)}** |"
        )
    if compared and problems:
        lines.append("")
    lines += [f"- ❌ {_escaped(problem)}" for problem in problems]
    if compared:
        lines += ["", "<details><summary>How it was measured</summary>", ""]
        told = [line for one in compared for line in (_conditions(one), _method(one), *_read(one))]
        told += [f"note: {note}" for one in compared for note in one.notes]
        lines += [f"- {_escaped(line)}" for line in dict.fromkeys(told)]
        lines += ["", "</details>"]
    return "\n".join(lines) + "\n"


def _level_of_all(compared: Sequence[Compared]) -> str:
    return " or ".join(f"{100 * level:g} %" for level in sorted({one.certainty[1] for one in compared}))


def _read(one: Compared) -> list[str]:
    sides = zip("AB", (one.a, one.b), one.how, strict=True)
    return [f"{letter}, {side.name}, {one.figure.title}: {how}" for letter, side, how in sides]


def _level(one: Compared, level: Estimate) -> str:
    """The figure of one side with its interval; the unit stands once."""
    unit = "" if one.figure.name != QPS.name else " QPS"
    return f"{one.figure.show(level.value)}{unit} ({100 * one.certainty[0]:g} %: {_interval(level, one.figure.show)})"


def _method(one: Compared) -> str:
    builds, runs = (
        "/".join(dict.fromkeys(str(side.bundles[0].identity[name]) for side in (one.a, one.b)))
        for name in ("builds", "runs")
    )
    how = "measured in turn" if one.paired else "measured apart: a drift of the machine counts as a difference"
    return f"builds: {builds}, runs of each: {runs}, {how}"


def _conditions(one: Compared) -> str:
    said = one.a.bundles[0].identity
    memory = f"{said['memory_limit_bytes'] / 2**30:.3g} GiB"
    machine = said.fields.get("machine") or "unknown machine"
    return (
        f"{said['track']}, {said['dataset']} ({said['queries']} queries, k = {said['k']}), {machine}, "
        f"{show.cpus(said['cpus'])}, {memory}, {said['sandbox']} sandbox"
    )


def _cell(side: Side) -> str:
    return _escaped(side.name if side.label == side.name else f"{side.name} ({side.label})")


def _interval(one: Estimate, shown: Callable[[float], str]) -> str:
    return f"{shown(one.low)} to {shown(one.high)}" if math.isfinite(one.low) else "no interval"


def _escaped(text: str) -> str:
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
