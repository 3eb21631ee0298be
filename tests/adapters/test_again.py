"""One worker may make one index after another: nothing of the first is left in the second."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

from tests.adapters.support import annbenchmarks, bigann

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
import os, sys
import numpy as np
from ann_bench.adapters.{module} import {kind}

folder, name = sys.argv[1:]
{kind}.told = {{"folder": folder, "queries": 2, "k": 3}}
built = dict(module=name, constructor="Exact", arguments=["@metric", {{"M": 1}}])
places = []
for rows in (5, 9):
    index = {kind}("euclidean", 4, "float32", 1, **built)
    base = np.arange(rows * 4, dtype=np.float32).reshape(rows, 4)[::-1].copy()
    index.fit(base)
    index.set_query_arguments(arguments=[1])
    ids = index.query(base[-2:], 3)
    assert ids.tolist() == [[rows - 2, rows - 3, rows - 1], [rows - 1, rows - 2, rows - 3]], ids
    places.append(os.getcwd())
assert places[0] != places[1] and not os.path.exists(places[0]) and os.path.exists(places[1])
print("answered")
"""


def run(tmp_path, module, kind, folder, name):
    script = textwrap.dedent(SCRIPT).format(module=module, kind=kind)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder), name], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_bigann(tmp_path):
    methods = "def done(self):\n    print('done with', self.ds.nb)\n"
    folder = bigann(tmp_path, track="ood", methods=methods, fit="assert ds.nb == len(self.base)")
    lines = run(tmp_path, "bigann", "BigAnn", folder, "neurips23.ood.exact.exact")
    assert lines == ["done with 5", "answered", "done with 9"]


def test_annbenchmarks(tmp_path):
    folder = annbenchmarks(tmp_path, body="def done(self):\n    print('done with', len(self.X))\n")
    lines = run(tmp_path, "annbenchmarks", "AnnBenchmarks", folder, "ann_benchmarks.algorithms.exact")
    assert lines == ["done with 5", "answered", "done with 9"]
