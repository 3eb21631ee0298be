"""The environment that every worker gets: small and known, so that nothing of the judge's leaks into a measurement."""

from __future__ import annotations

_COUNTS = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "NUMBA", "RAYON")


#: Where a worker finds the judge's socket, and the folder of its entry.
SOCKET, ENTRY = "ANN_BENCH_SOCKET", "ANN_BENCH_ENTRY"


def worker_environment(scratch: str, threads: int, socket: str, entry: str) -> dict[str, str]:
    """Home and temporary files in `scratch`; as many threads as the worker has CPUs for every common library."""
    return {
        SOCKET: socket,
        ENTRY: entry,
        **{f"{name}_NUM_THREADS": str(threads) for name in _COUNTS},
        "VECLIB_MAXIMUM_THREADS": str(threads),
        "HOME": scratch,
        "TMPDIR": scratch,
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
