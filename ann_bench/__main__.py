"""`python -m ann_bench` is `ann-bench`."""

from ann_bench.cli import script

script()
