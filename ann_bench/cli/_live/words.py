"""Work, times and memory in the few words that a line of the display has room for."""

from __future__ import annotations

from ann_bench.judge.events import Work
from ann_bench.judge.plan import Setting
from ann_bench.report.format import query_text

_MIB, _GIB = 2**20, 2**30

_KINDS = {
    "start": "starts",
    "setup": "sets up its index",
    "control": "control batch",
    "score": "its answers are scored",
    "stream": "a stream begins",
}


def doing(work: Work, setting: Setting | None) -> str:
    """What a worker does: `builds 1 of 3`, `run 2 of 5, nprobe=16`, `step 12 of 640: insert`."""
    count = _count(work, setting)
    if work.kind == "build" and not work.step:
        return f"builds{' ' + count if work.total > 1 else ''}"
    if work.step:
        text = f"step {work.number:,} of {work.total:,}: {work.kind}"
    elif work.kind == "search":
        text = f"{'trial' if setting is not None and setting.mode and setting.mode.searches else 'run'} {count}"
    elif work.kind == "warmup":
        text = f"warm-up {count}"
    else:
        text = _KINDS.get(work.kind, work.kind)
    return text if not work.query else f"{text}, {query_text(work.query)}"


def _count(work: Work, setting: Setting | None) -> str:
    """`2 of 5`; `2, at most 50` where an interval or a search decides."""
    open_end = setting is not None and (
        setting.repeat.until is not None or (setting.mode is not None and setting.mode.searches)
    )
    return f"{work.number}, at most {work.total}" if open_end else f"{work.number} of {work.total}"


def time(seconds: float) -> str:
    """`0.4 s`, `42 s`, `3 min 05 s`, `2 h 10 min`."""
    if seconds < 9.95:
        return f"{max(0.0, seconds):.1f} s"
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min"


def size(held: int) -> str:
    """`16 GiB`, or `256 MiB` where it is less than one GiB."""
    return f"{held / _GIB:.3g} GiB" if held >= _GIB else f"{held / _MIB:,.0f} MiB"


def memory(held: int, limit: int) -> str:
    """`1.2 of 16 GiB`, or in MiB where the limit is less than one GiB."""
    return f"{held / _GIB:.2f} of {size(limit)}" if limit >= _GIB else f"{held / _MIB:,.0f} of {size(limit)}"
