"""What comes first: the config, ordinary data of the track's own kind, then which other kinds the entry takes."""

from __future__ import annotations

from dataclasses import replace

from ann_bench.check.bench import Trace
from ann_bench.check.case import Case, Finding
from ann_bench.check.checks.answers import asked_by, rows
from ann_bench.check.explore import confirmed
from ann_bench.check.make import Asking, plain
from ann_bench.check.registry import Skip, Verdict, check
from ann_bench.check.rules import invalid
from ann_bench.check.subject import Kind, Subject
from ann_bench.datasets.dataset import Metric
from ann_bench.results.model import Status

ROWS = 40

#: Dimensions that are tried before the track's own: the fewer, the easier a failing case is to read.
DENSE_DIMS, SPARSE_DIMS = (16, 64), (40,)

METRICS: tuple[Metric, ...] = ("euclidean", "ip", "angular")
DTYPES = ("float32", "uint8", "int8", "float16")


@check("config")
def config(subject: Subject) -> Verdict:
    """No more query configs for any data set than the track allows."""

    allowed, track = subject.track.query_configs, subject.track.name
    for name, given in subject.entry.config.query.items():
        if len(given) > allowed:
            return Finding(f"{len(given)} query configs for {name!r}; the track {track} allows {allowed}")
    return ""


def _ordinary(subject: Subject, kind: Kind) -> Case:
    base = rows(subject, kind, ROWS, 0)
    return plain(subject, kind, (base, asked_by(subject, kind, base, 0)), Asking(subject.configs))


def refusal(trace: Trace) -> str:
    """What the entry said when it would not take these vectors: an exception of its own before the first search."""
    failure = trace.failure
    if failure is None or failure.over or trace.built or failure.status is not Status.CRASHED:
        return ""
    return failure.detail


@check("ordinary")
def ordinary(subject: Subject) -> Verdict:
    """40 ordinary rows of the track's own kind, 6 queries, every query config: valid answers."""

    own = subject.kind
    dims = [dim for dim in (SPARSE_DIMS if subject.features.sparse else DENSE_DIMS) if dim < own.dim] + [own.dim]
    for dim in dims:
        kind = Kind(own.metric, own.dtype, dim)
        case = _ordinary(subject, kind)
        trace = subject.bench.run(case)
        if refusal(trace) and dim != own.dim:
            continue
        if text := invalid(case, trace):
            return confirmed(subject.bench, Finding(text, case, threads=subject.bench.place.limits.cpus), invalid)
        subject.kinds[:] = [kind]
        fewer = ", ".join(map(str, dims[: dims.index(dim)]))
        return f"{kind}, {dim} dimensions" + (f" (it refuses {fewer})" if fewer else "")
    raise AssertionError("the last of the dimensions is never passed over")


def _others(subject: Subject, others: list[Kind]) -> Verdict:
    """Which of these kinds the entry takes; one that it takes must be answered validly."""
    taken: list[Kind] = []
    refused: list[Kind] = []
    said = ""
    for kind in others:
        case = _ordinary(subject, kind)
        trace = subject.bench.run(case)
        if words := refusal(trace):
            refused.append(kind)
            said = said or words
        elif text := invalid(case, trace):
            finding = Finding(text, case, threads=subject.bench.place.limits.cpus)
            found = confirmed(subject.bench, finding, invalid)
            return replace(found, text=f"{kind}: {found.text}")
        else:
            taken.append(kind)
    subject.kinds += taken
    no = f"refuses {_listed(refused)}: {said.partition(': ')[2][:80]}" if refused else ""
    text = "; ".join(one for one in (_listed(taken), no) if one)
    return text if taken else Skip(text)


def _listed(kinds: list[Kind]) -> str:
    """The kinds in words, by element type."""
    by_dtype: dict[str, list[str]] = {}
    for kind in kinds:
        by_dtype.setdefault(kind.dtype, []).append(kind.metric)
    return ", ".join(f"{dtype} ({', '.join(metrics)})" for dtype, metrics in by_dtype.items())


@check("metrics")
def metrics(subject: Subject) -> Verdict:
    """Each metric is either refused with an exception before the first search, or answered validly."""

    own = subject.kind
    if subject.features.sparse:
        return Skip("sparse data sets are searched by inner product only")
    return _others(subject, [Kind(metric, own.dtype, own.dim) for metric in METRICS if metric != own.metric])


@check("dtypes")
def dtypes(subject: Subject) -> Verdict:
    """float32, uint8, int8 and float16, by each metric, are either refused with an exception, or answered validly."""

    own = subject.kind
    if subject.features.sparse:
        return Skip("sparse data sets are float32 only")
    known = [kind.metric for kind in subject.kinds]
    return _others(subject, [Kind(m, dtype, own.dim) for dtype in DTYPES if dtype != own.dtype for m in known])
