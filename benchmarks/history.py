"""Steps in synthetic histories: how often one is seen that is none, and how often one that is there is found.

`ann_bench.compare.steps` on series that were made for it, with a relative noise of 2 %: normal noise, Student's t with
3 degrees of freedom, and 3 % of the values 16 % too low. A step is found where its place is exactly right and nothing
else is seen.
"""

from __future__ import annotations

import argparse

import numpy as np
import numpy.typing as npt

from ann_bench.compare.steps import steps

NOISE = 0.02
Floats = npt.NDArray[np.float64]

#: What is to be found: values at each level, and the places of the steps.
SCENES = {
    "one step of 10 % in the middle of 30": [(15, 1.0), (15, 0.9)],
    "one step of 5 % in the middle of 30": [(15, 1.0), (15, 0.95)],
    "15 % before the last three of 23": [(20, 1.0), (3, 0.85)],
    "down 20 % for 15 of 45, and up again": [(15, 1.0), (15, 0.8), (15, 1.0)],
    "down 20 % for 3 of 53, and up again": [(25, 1.0), (3, 0.8), (25, 1.0)],
    "down 10 %, then 22 %": [(15, 1.0), (15, 0.9), (15, 0.7)],
}


def _noise(kind: str, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
    if kind == "t(3)":
        return rng.standard_t(3, shape)
    noise = rng.standard_normal(shape)
    return np.where(rng.random(shape) < 0.03, noise - 8, noise) if kind == "slow nights" else noise


def main(argv: list[str]) -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks history", description=__doc__)
    parser.add_argument("--series", type=int, default=500, help="series of each kind (default 500)")
    count = parser.parse_args(argv).series
    rng = np.random.default_rng(1)
    print(f"{'no step, false alarms':<40}" + "".join(f"{length:>8}" for length in (6, 10, 30, 100)))
    for kind in ("normal", "t(3)", "slow nights"):
        shares = [
            np.mean([bool(steps(np.exp(NOISE * row))) for row in _noise(kind, (count, length), rng)])
            for length in (6, 10, 30, 100)
        ]
        print(f"{kind:<40}" + "".join(f"{share:>8.1%}" for share in shares))
    print("\nfound, in their places")
    for name, levels in SCENES.items():
        flat = np.concatenate([np.full(size, level) for size, level in levels])
        places = np.cumsum([size for size, _ in levels])[:-1].tolist()
        series = flat * np.exp(NOISE * rng.standard_normal((count, len(flat))))
        print(f"{name:<40}{np.mean([[one.place for one in steps(row)] == places for row in series]):>8.1%}")
    return 0
