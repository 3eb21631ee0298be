"""Where the project lives: the folder that holds `datasets/` and `algorithms/`."""

from __future__ import annotations

import os
from pathlib import Path

import ann_bench


def home() -> Path:
    """The home folder, absolute.

    The environment's ANN_BENCH_HOME, else the checkout that this package was installed from, else the
    current folder.
    """
    chosen = os.environ.get("ANN_BENCH_HOME")
    if chosen:
        return Path(chosen).expanduser().resolve()
    checkout = Path(ann_bench.__file__).resolve().parent.parent
    if (checkout / "algorithms").is_dir():
        return checkout
    return Path.cwd()
