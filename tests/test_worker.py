"""The worker needs numpy and scipy, and nothing else that is installed beside them."""

from __future__ import annotations

import subprocess
import sys

OTHERS = ("h5py", "faiss", "psutil", "matplotlib", "pydantic", "yaml", "rich", "click", "docker", "packaging")


def test_the_worker_imports_nothing_but_numpy_and_scipy() -> None:
    script = (
        "import sys, ann_bench.worker, ann_bench;"
        "roots = {name.partition('.')[0] for name in sys.modules};"
        f"sys.exit(', '.join(sorted(roots & set({OTHERS})))  or 0)"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
