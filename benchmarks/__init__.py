"""How fast the harness itself is, as ratios taken in one run: `python -m benchmarks NAME`."""
