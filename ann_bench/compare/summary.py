"""Comparisons in words: for a terminal, and as GitHub-flavoured markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ann_bench.compare.verdict import Compared, Side
from ann_bench.stats import LEVEL, VERDICT_LEVEL, Estimate, Verdict

_SIGNS = {Verdict.FASTER: "🟢", Verdict.SLOWER: "🔴", Verdict.CANNOT_TELL: "⚪"}


def sentence(one: Compared) -> str:
    """The verdict on B in one line."""
    names = f"B ({one.b.name})", f"A ({one.a.name})"
    ratio = f"{one.ratio.value:.3f} x its queries per second at recall {one.recall:g}"
    level = f"{100 * VERDICT_LEVEL:g} %"
    interval = f"{level} interval {_interval(one.sure, '.4g')}"
    if one.verdict is Verdict.CANNOT_TELL:
        return f"cannot tell {names[0]} from {names[1]}: {ratio}, {interval}"
    return f"{names[0]} is {one.verdict.value} than {names[1]}: {ratio}, {interval}"


def text(one: Compared) -> str:
    """All that a terminal shows of a comparison."""
    lines = [
        f"{letter}  {side.name}  {qps.value:,.0f} QPS ({100 * LEVEL:g} %: {_interval(qps, ',.0f')})  {how}"
        for letter, side, qps, how in _rows(one)
    ]
    return "\n".join([*lines, _method(one), *one.notes, sentence(one)])


def markdown(compared: Sequence[Compared], problems: Sequence[str]) -> str:
    """A summary for a pull request or a job of GitHub."""
    lines = ["### ann-bench compare", ""]
    if compared:
        lines += [
            f"| | A | B | recall | QPS of A | QPS of B | B / A | {100 * VERDICT_LEVEL:g} % interval | verdict on B |",
            "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- |",
        ]
    for one in compared:
        verdict = f"**{one.verdict.value}**"
        speeds = " | ".join(f"{qps.value:,.0f} ({_interval(qps, ',.0f')})" for qps in one.qps)
        lines.append(
            f"| {_SIGNS[one.verdict]} | {_cell(one.a)} | {_cell(one.b)} | {one.recall:g} | {speeds} | "
            f"{one.ratio.value:.3f} | {_interval(one.sure, '.4g')} | {verdict} |"
        )
    lines += [f"- ❌ {_escaped(problem)}" for problem in problems]
    if compared:
        lines += ["", "<details><summary>How it was measured</summary>", ""]
        lines += [f"- {_escaped(line)}" for one in compared for line in (_conditions(one), _method(one), *_read(one))]
        lines += [f"- note: {_escaped(note)}" for one in compared for note in one.notes]
        lines += ["", "</details>"]
    return "\n".join(lines) + "\n"


def _rows(one: Compared) -> list[tuple[str, Side, Estimate, str]]:
    return list(zip("AB", (one.a, one.b), one.qps, one.how, strict=True))


def _read(one: Compared) -> list[str]:
    return [f"{letter}, {side.name}: {how}" for letter, side, _, how in _rows(one)]


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
        f"{said['cpus']} CPUs, {memory}, {said['sandbox']} sandbox"
    )


def _cell(side: Side) -> str:
    return _escaped(side.name if side.label == side.name else f"{side.name} ({side.label})")


def _interval(one: Estimate, form: str) -> str:
    return f"{one.low:{form}} to {one.high:{form}}" if math.isfinite(one.low) else "no interval"


def _escaped(text: str) -> str:
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
