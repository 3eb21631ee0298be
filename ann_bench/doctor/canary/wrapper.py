"""The same work every time: products of all queries with all rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ann_bench import Algorithm


class Canary(Algorithm):
    """Multiplies, and answers the rows with the largest products."""

    def fit(self, base: Any, tags: Any = None, learn: Any = None) -> None:
        """Keep the rows."""
        self.base = np.array(base, dtype=np.float32)

    def query(self, queries: Any, k: int, tags: Any = None) -> Any:
        """The row of the largest product, k times another one behind it."""
        best = (queries.astype(np.float32) @ self.base.T).argmax(axis=1)
        return (best[:, None] + np.arange(k)) % len(self.base)
