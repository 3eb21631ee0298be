"""`python -m benchmarks NAME [ARGUMENTS]`: run one benchmark of this folder; without a name, list them.

A benchmark is a module with `main(argv: list[str]) -> int`; `truth-filtered` is `truth_filtered.py`.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

from ann_bench.errors import AnnBenchError, unknown


def names() -> dict[str, str]:
    """The module of each benchmark, by the benchmark's name."""
    modules = (module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]))
    return {module.replace("_", "-"): module for module in modules if not module.startswith("_")}


def main(argv: list[str]) -> int:
    """Run the benchmark that `argv` names with the arguments after it; returns the exit code."""
    found = names()
    if not argv or argv[0] in ("-h", "--help"):
        print("usage: python -m benchmarks NAME [ARGUMENTS]\n")
        for name, module in found.items():
            summary = (importlib.import_module(f"benchmarks.{module}").__doc__ or "").strip().splitlines()
            print(f"  {name:<20} {summary[0] if summary else ''}")
        return 0 if argv else 2
    try:
        if argv[0] not in found:
            raise unknown("benchmark", argv[0], found)
        return int(importlib.import_module(f"benchmarks.{found[argv[0]]}").main(argv[1:]))
    except AnnBenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
