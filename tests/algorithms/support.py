"""What the tests of the entries share: how an entry's class is loaded, and read-only arrays as a worker gives them."""

from __future__ import annotations

import gzip
import importlib.util
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ann_bench.entries.discovery import discover
from ann_bench.entries.entry import Entry, missing, plan_configs

HOME = Path(__file__).resolve().parents[2]
SHIPPED = HOME / "datasets" / "debian-20k"


def entries(track: str) -> dict[str, Entry]:
    return {entry.name: entry for entry in discover(track, HOME)}


def load(entry: Entry):
    """The entry's class; its folder is on the path meanwhile, as it is in a worker."""
    if missing(entry):
        pytest.skip(f"{entry.name} needs {', '.join(missing(entry))}, which is not installed")
    return _loaded(entry.folder, *entry.config.class_.split("."))


@cache  # once: what an entry compiles when it is loaded takes its time
def _loaded(folder: Path, module: str, name: str):
    spec = importlib.util.spec_from_file_location(f"entry_{folder.parent.name}_{folder.name}", folder / f"{module}.py")
    loaded = importlib.util.module_from_spec(spec)
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        spec.loader.exec_module(loaded)
    finally:
        sys.path.remove(str(folder))
        for other in set(sys.modules) - before:
            if Path(getattr(sys.modules[other], "__file__", None) or "/").is_relative_to(folder):
                del sys.modules[other]  # another entry may have a module of this name
    return getattr(loaded, name)


def made(entry: Entry, metric: str, dim: int, dtype: str, threads: int = 2, dataset: str = "some-set"):
    build, _ = plan_configs(entry, dataset)
    return load(entry)(metric, dim, dtype, threads, **build)


def readonly(matrix):
    for part in (matrix.indptr, matrix.indices, matrix.data) if isinstance(matrix, csr_matrix) else (matrix,):
        part.setflags(write=False)
    return matrix


def shipped(name: str) -> Path:
    path = SHIPPED / name
    if not path.exists():
        pytest.skip("the files of debian-20k are not here")
    return path


def vectors(name: str):
    path = shipped(name)
    rows, dim = np.fromfile(path, "<u4", 2)
    return np.memmap(path, np.int8, "r", 8, (int(rows), int(dim)))


def spmat(name: str) -> csr_matrix:
    path = shipped(name)
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    rows, columns, count = (int(number) for number in np.frombuffer(raw, "<i8", 3))
    indptr = np.frombuffer(raw, "<i8", rows + 1, 24)
    indices = np.frombuffer(raw, "<i4", count, 24 + 8 * (rows + 1))
    data = np.frombuffer(raw, "<f4", count, 24 + 8 * (rows + 1) + 4 * count)
    return csr_matrix((data, indices, indptr), (rows, columns))


def truth(name: str, queries: int):
    return np.fromfile(shipped(name), "<i4", queries * 10, offset=8).reshape(-1, 10)


def recall(answers, truth) -> float:
    return float(np.mean([len({*a} & {*t}) / len(t) for a, t in zip(answers.tolist(), truth.tolist(), strict=True)]))
