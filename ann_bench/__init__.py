"""ann-bench: a benchmark for approximate nearest neighbour search whose numbers can be trusted.

An entry needs one name of this package: `from ann_bench import Algorithm`. Importing it loads
numpy and scipy and nothing else, so that an entry runs in the leanest of environments.
"""

from ann_bench.algorithm import Algorithm

__all__ = ["Algorithm"]
__version__ = "0.1.0"
