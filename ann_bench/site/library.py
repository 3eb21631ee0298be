"""The plotting library that goes into a site."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from ann_bench.errors import UsageError

#: Under which name a site holds it.
NAME = "plotly.min.js"


def plotly() -> Path:
    """The minified library from the package `plotly`; UsageError where that is not installed."""
    found = find_spec("plotly")  # to import it takes a second and is of no use
    for folder in (found.submodule_search_locations or ()) if found else ():
        path = Path(folder) / "package_data" / NAME
        if path.is_file():
            return path
    raise UsageError("the site needs plotly for its pictures; install it with `python -m pip install plotly`")
