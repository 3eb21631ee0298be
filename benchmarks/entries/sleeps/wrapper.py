"""An entry that sleeps for a known time and says how long its calls took: what is beyond is the way to it and back."""

import time

import numpy as np

from ann_bench import Algorithm


class Sleeps(Algorithm):
    """Gives every query the same answers, after a while."""

    def fit(self, base, tags=None, learn=None):
        """Index nothing."""

    def set_query_arguments(self, seconds):
        """Sleep so long in each call; 0 is not at all."""
        self.seconds, self.took = seconds, []

    def query(self, queries, k, tags=None):
        """Answer without looking."""
        start = time.perf_counter()
        if self.seconds:
            time.sleep(self.seconds)
        answers = np.full((queries.shape[0], k), -1)
        self.took.append(time.perf_counter() - start)
        return answers

    def stats(self):
        """Seconds that a call took, at the median."""
        return {"median": float(np.median(self.took))}
