"""A finding as a script that anybody can run: it makes the arrays, makes the calls, and prints what came of them."""

from __future__ import annotations

import base64
import textwrap
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from ann_bench.arrays import Array
from ann_bench.check.case import Arguments, AtOnce, Case, Finding, Setup, Step, Vectors
from ann_bench.check.subject import Subject
from ann_bench.workload import Build, Delete, Insert, Replace, Search

#: Arrays of more values are packed.
FEW = 2000


def snippet(finding: Finding, subject: Subject, check: str) -> str:
    """A script; "" where the finding is about no calls."""
    case, entry = finding.case, subject.entry
    if case is None:
        return ""
    head = [
        f"# ann-bench check: {entry.name} on the track {subject.track.name}, {check}:",
        *textwrap.wrap(finding.text, 110, initial_indent="# ", subsequent_indent="# "),
    ]
    if entry.config.class_ is None:
        again = f"ann-bench check {entry.folder} --track {subject.track.name} --only {check}"
        return "\n".join([*head, "# The entry is a program; to see it again:", f"#   {again}", ""])
    module, _, name = entry.config.class_.rpartition(".")
    packed = any(_values(one) > FEW for one in (case.data.base, case.data.queries))
    imports = ["import base64", "import zlib"] * packed
    imports = ["import sys", *imports, *_SCRIPTS[finding.script][0], "from pathlib import Path"]
    lines = [
        *head,
        *sorted(imports, key=lambda line: (line.startswith("from"), line)),
        "",
        "import numpy as np",
        "from scipy.sparse import csr_matrix",
        "",
        f"sys.path.insert(0, {str(entry.folder)!r})",
        f"from {module} import {name}  # noqa: E402",
        "",
        *_arrays(case),
        "",
        "",
        "def made():",
        f"    return {name}{_call(case, subject.build, finding.threads)}",
        "",
        "",
        "def ask(index):",
        *_body(case, searches=True),
        "",
        "",
        "def fill(index):",
        *_body(case, searches=False),
        "",
        "",
        *_SCRIPTS[finding.script][1],
        "",
    ]
    return "\n".join(lines)


def _call(case: Case, build: Mapping[str, Any], threads: int) -> str:
    data = case.data
    dtype = (data.base if isinstance(data.base, np.ndarray) else data.base.data).dtype.name
    given = [repr(data.metric), str(data.base.shape[1]), repr(dtype), str(threads)]
    return f"({', '.join(given)}{f', **{dict(build)!r}' if build else ''})"


def _arrays(case: Case) -> list[str]:
    data = case.data
    named = {"base": data.base, "queries": data.queries, "tags": data.tags}
    named |= {"query_tags": data.query_tags, "learn": data.learn}
    lines = [line for name, value in named.items() if value is not None for line in _array(name, value)]
    if case.strided:
        lines += [f"{name} = np.repeat({name}, 2, axis=1)[:, ::2]" for name in ("base", "queries")]
    dense = [name for name, value in named.items() if isinstance(value, np.ndarray)]
    return [*lines, *(f"{name}.setflags(write=False)" for name in dense)]


def _array(name: str, value: Vectors) -> list[str]:
    if isinstance(value, csr_matrix):
        parts = [_literal(part) for part in (value.data, value.indices, value.indptr)]
        return [
            f"{name} = csr_matrix(",
            "    (",
            *(f"        {part}," for part in parts),
            "    ),",
            f"    {value.shape},",
            ")",
        ]
    return [f"{name} = {_literal(value)}"]


def _literal(array: Array) -> str:
    """The array as an expression; long lists go over several lines."""
    dtype = repr(array.dtype.name)
    if array.size > FEW:
        packed = base64.b64encode(zlib.compress(np.ascontiguousarray(array).tobytes(), 9)).decode()
        text = "\n".join(f'    "{part}"' for part in textwrap.wrap(packed, 100))
        return f"np.frombuffer(zlib.decompress(base64.b64decode(\n{text}\n)), {dtype}).reshape({array.shape})"
    if array.size == 0:
        return f"np.zeros({array.shape}, {dtype})"
    rows = [_numbers(row) for row in array] if array.ndim == 2 else None
    body = _numbers(array) if rows is None else "[\n    " + ",\n    ".join(rows) + ",\n]"
    return f"np.array({body}, {dtype})"


def _numbers(row: Array) -> str:
    shown = [
        repr(int(one)) if float(one).is_integer() and abs(one) < 2**53 else repr(float(one)) for one in row.tolist()
    ]
    return f"[{', '.join(shown)}]"


def _values(value: Vectors) -> int:
    return int(value.nnz if isinstance(value, csr_matrix) else value.size)


def _body(case: Case, *, searches: bool) -> list[str]:
    """The calls of one half of the case: those up to the first build or insert, or the rest."""
    first = next((n + 1 for n, step in enumerate(case.steps) if isinstance(step, Build | Insert)), len(case.steps))
    steps = case.steps[first:] if searches else case.steps[:first]
    lines = [f"    {_LINES[type(step)](case, step)}" for step in steps]
    return lines or ["    pass"]


def _rows(case: Case, step: Any) -> str:
    tags = f", tags[{step.rows.start}:{step.rows.stop}]" if case.data.tags is not None else ""
    ids = f"np.arange({step.ids.start}, {step.ids.stop})"
    return f"(base[{step.rows.start}:{step.rows.stop}], {ids}{tags})"


def _search(case: Case, step: Any) -> str:
    count = "" if step.queries == case.data.queries.shape[0] else f"[:{step.queries}]"
    tags = f", query_tags{count}" if step.filtered and case.data.query_tags is not None else ""
    if step.radius is not None:
        return f"print(index.range_query(queries{count}, {step.radius!r}{tags}))"
    return f"print(index.query(queries{count}, {step.k}{tags}))"


def _at_once(case: Case, step: Any) -> str:
    tags = ", query_tags[i:i + 1]" if step.filtered and case.data.query_tags is not None else ""
    one = f"lambda i: index.query(queries[i:i + 1], {step.k}{tags})"
    return f"print(np.concatenate(list(ThreadPoolExecutor({step.callers}).map({one}, range({step.queries})))))"


def _fit(case: Case, step: Any) -> str:
    learn = "learn" if case.data.learn is not None else "None"
    return f"index.fit(base, {'tags' if case.data.tags is not None else 'None'}, {learn})"


_LINES: dict[type[Step], Callable[[Case, Any], str]] = {
    Setup: lambda case, step: f"index.setup({step.max_points})",
    Arguments: lambda case, step: f"index.set_query_arguments(**{dict(step.given)!r})",
    Build: _fit,
    Insert: lambda case, step: f"index.insert{_rows(case, step)}",
    Replace: lambda case, step: f"index.replace{_rows(case, step)}",
    Delete: lambda case, step: f"index.delete(np.arange({step.ids.start}, {step.ids.stop}))",
    Search: _search,
    AtOnce: _at_once,
}

_CALLS = ["index = made()", "fill(index)", "ask(index)"]

#: For each kind of finding: what it imports beside, and what it does with an index.
_SCRIPTS: dict[str, tuple[list[str], list[str]]] = {
    "calls": ([], _CALLS),
    "twice": ([], ["for attempt in range(2):  # the answers differ", *(f"    {line}" for line in _CALLS)]),
    "at once": (["from concurrent.futures import ThreadPoolExecutor"], _CALLS),
    "save": (
        ["import tempfile"],
        [
            *_CALLS,
            "folder = Path(tempfile.mkdtemp())",
            "index.save(folder)",
            "other = made()  # in a process of its own, when it is checked",
            "print(other.load(folder))",
            "ask(other)  # not as above",
        ],
    ),
    "threads": (
        ["import time"],
        [
            "index = made()",
            "for call in (fill, ask):",
            "    wall, cpu = time.perf_counter(), time.process_time()",
            "    call(index)",
            "    used, took = time.process_time() - cpu, time.perf_counter() - wall",
            '    print(f"{call.__name__}: {used:.2f} CPU seconds in {took:.2f} s, with one thread")',
        ],
    ),
    "memory": (
        ["import resource"],
        [
            "index = made()",
            "fill(index)",
            "for batch in range(10):",
            "    ask(index)",
            "    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 'KiB at the peak, and growing')",
        ],
    ),
    "inputs": (
        [],
        [
            "before = base.copy(), queries.copy()",
            *_CALLS,
            "print((base != before[0]).any(), (queries != before[1]).any())",
        ],
    ),
}
