"""Seismic: inverted lists of blocks of similar rows, each with a summary that tells whether it is worth a look."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import BinaryIO

import numpy as np
import seismic
from scipy.sparse import csr_matrix

from ann_bench import Algorithm

BLOCK = 1 << 16  # rows that are written at once
TERMS = 1 << 16  # as many as 16 bits can number; beyond that the index has wider numbers


class Seismic(Algorithm):
    """On average `n_postings` rows a list, in blocks whose summaries keep `summary_energy` of their weights.

    The `cut` heaviest terms of a query are looked up; a block is skipped where its summary promises less than
    the k-th best score so far / `heap`.
    """

    def fit(self, base: csr_matrix, tags: csr_matrix | None = None, learn: csr_matrix | None = None) -> None:
        """Through a file in seismic's own format: only so may rows and terms be numbers instead of strings."""
        if self.metric != "ip":
            raise ValueError(f"seismic finds the largest inner product; it cannot search by {self.metric}")
        kind = seismic.SeismicIndexRaw if base.shape[1] <= TERMS else seismic.SeismicIndexRawLV
        self.rows, self.index = base.shape[0], None
        if base.nnz:
            with tempfile.TemporaryDirectory() as folder:
                self.index = kind.build(_written(base, Path(folder)), **self.build)

    def set_query_arguments(self, cut: int, heap: float) -> None:
        """See the class."""
        self.cut, self.heap = cut, heap

    def query(self, queries: csr_matrix, k: int, tags: csr_matrix | None = None) -> np.ndarray:
        """The batch goes through a file too; rows that share no term with a query are no answers."""
        answers = np.full((queries.shape[0], k), -1, np.int64)
        if self.index is not None and queries.shape[0]:
            known = queries[:, : self.index.dim]  # seismic panics at a term that is beyond those of the base
            with tempfile.TemporaryDirectory() as folder:
                path = _written(known, Path(folder))
                found = self.index.batch_search(path, k, self.cut, self.heap, 0, True, self.threads)
            for line, best in enumerate(found):
                answers[line, : len(best)] = [row for _, row in best]
        return answers


def _written(matrix: csr_matrix, folder: Path) -> str:
    """A file of the number of rows, and for each row the number of its terms, the terms, and their weights."""
    path = folder / "rows.bin"
    with path.open("wb") as file:
        np.array([matrix.shape[0]], np.uint32).tofile(file)
        for start in range(0, matrix.shape[0], BLOCK):
            _write(file, matrix[start : start + BLOCK])
    return str(path)


def _write(file: BinaryIO, rows: csr_matrix) -> None:
    rows = rows if rows.has_sorted_indices else rows.sorted_indices()
    starts, lengths = rows.indptr[:-1].astype(np.int64), np.diff(rows.indptr)
    words = np.empty(len(lengths) + 2 * rows.nnz, np.uint32)
    heads = np.arange(len(lengths)) + 2 * starts
    words[heads] = lengths
    terms = np.arange(rows.nnz) + np.repeat(heads + 1 - starts, lengths)
    words[terms] = rows.indices
    words[terms + np.repeat(lengths, lengths)] = rows.data.astype(np.float32).view(np.uint32)
    words.tofile(file)
