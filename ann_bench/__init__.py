"""ann-bench: a benchmark for approximate nearest neighbour search whose numbers can be trusted.

An entry needs one name of this package: `from ann_bench import Algorithm`. That loads numpy and scipy and nothing
else, so that an entry runs in the leanest of environments; importing the package alone loads not even those.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ann_bench.algorithm import Algorithm

__all__ = ["Algorithm"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name == "Algorithm":
        from ann_bench.algorithm import Algorithm

        return Algorithm
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
