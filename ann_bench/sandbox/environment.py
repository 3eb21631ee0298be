"""The environment that every worker gets: small and known, so that nothing of the judge's leaks into a measurement."""

from __future__ import annotations

_COUNTS = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "NUMBA", "RAYON")


def worker_environment(scratch: str, threads: int, socket: str) -> dict[str, str]:
    """The judge's socket, home and temporary files in `scratch`, and how many threads every common library may use."""
    return {
        "ANN_BENCH_SOCKET": socket,
        **{f"{name}_NUM_THREADS": str(threads) for name in _COUNTS},
        "VECLIB_MAXIMUM_THREADS": str(threads),
        "HOME": scratch,
        "TMPDIR": scratch,
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
