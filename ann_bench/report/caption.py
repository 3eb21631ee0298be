"""What a picture says below it: under which conditions it was measured, and what it does not show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from ann_bench.report import format as show
from ann_bench.report.pareto import Picture
from ann_bench.results.figures import Figures

_METRICS = {"ip": "inner product"}


def title(picture: Picture) -> str:
    """Data set and track, and how queries were put where they were put one by one."""
    first = picture.points[0]
    mode = f", {first.mode}" if first.single else ""
    return f"{first.dataset}, {first.track} track{mode}"


def caption(picture: Picture, reading: str = "") -> str:
    """Data, machine, limits, how it was measured and when, how to read it, what looks odd, what is left out.

    `reading` is how to read a picture of another kind than recall against speed.
    """
    first = max(picture.points, key=lambda one: str(one.provenance.get("date", "")))
    method = f"{reading}{_when(picture.points)}" if reading else _method(picture.points)
    sentences = [_data(first), _conditions(first), method, _noted(picture.points), _left_out(picture)]
    return " ".join(sentence for sentence in sentences if sentence)


def _data(one: Figures) -> str:
    data = _part(one.provenance, "data")
    parts = [one.dataset]
    if "rows" in data and "dim" in data:
        shape = f"{int(data['rows']):,} x {int(data['dim']):,}"
        parts.append(f"{shape} {data.get('dtype', '')}".strip())
    metric = str(data.get("metric") or one.identity.fields.get("metric") or "")
    parts += [_METRICS.get(metric, metric)] if metric else []
    asked = f"radius {one.radius:g}" if one.ranged else f"k = {one.k}"
    disguised = f", in disguise ({one.challenge})" if one.challenge else ""
    return f"{', '.join(parts)}, {one.queries} queries, {asked}{disguised}."


def _conditions(one: Figures) -> str:
    machine = _part(one.provenance, "machine")
    name = machine.get("cpu_model") or one.identity.fields.get("machine")
    memory = f"{show.size(one.memory_limit_bytes)} of memory"
    parts = [*([str(name)] if name else []), show.cpus(one.cpus), memory, f"{one.sandbox} sandbox"]
    return ", ".join(parts) + "."


def _method(points: Iterable[Figures]) -> str:
    points = list(points)
    runs = _range({one.runs for one in points}, "run")
    builds = {int(one.identity.fields.get("builds", 1)) for one in points}
    built = "" if builds == {1} else f" of each of {_range(builds, 'build')}"
    how = "median" if max(one.runs for one in points) > 1 else "value"
    return (
        f"Queries per second: {how} of {runs}{built}; whiskers: 95 % intervals; up and right is better.{_when(points)}"
    )


def _when(points: Iterable[Figures]) -> str:
    dates = sorted({str(one.provenance["date"])[:10] for one in points if one.provenance.get("date")})
    return f" Measured {' to '.join(sorted({dates[0], dates[-1]}))}." if dates else ""


def _noted(points: Iterable[Figures]) -> str:
    count = sum(bool(one.notes) for one in points)
    return f"{count} result{'s carry' if count > 1 else ' carries'} a note." if count else ""


def _left_out(picture: Picture) -> str:
    counts = Counter(one.status for one in picture.failures)
    parts = [f"{count} {status}" for status, count in sorted(counts.items())]
    parts += [f"{picture.older} older"] if picture.older else []
    return f"Not drawn: {', '.join(parts)}." if parts else ""


def _range(values: set[int], unit: str) -> str:
    low, high = min(values), max(values)
    return f"{low} {unit}{'s' * (low != 1)}" if low == high else f"{low} to {high} {unit}s"


def _part(provenance: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = provenance.get(name)
    return part if isinstance(part, Mapping) else {}
