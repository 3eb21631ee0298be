"""Inverted lists without rows."""

from __future__ import annotations

import faiss

from ann_bench import Algorithm

BYTES = {"uint8": faiss.ScalarQuantizer.QT_8bit_direct, "int8": faiss.ScalarQuantizer.QT_8bit_direct_signed}


def empty_index(entry: Algorithm, nlist: int) -> faiss.IndexIVF:
    """`nlist` lists for the entry's vectors: bytes stay bytes, but for angles; everything else becomes float32."""
    euclidean = entry.metric == "euclidean"
    metric = faiss.METRIC_L2 if euclidean else faiss.METRIC_INNER_PRODUCT
    quantizer = faiss.IndexFlat(entry.dim, metric)
    if entry.dtype in BYTES and entry.metric != "angular":
        index = faiss.IndexIVFScalarQuantizer(quantizer, entry.dim, nlist, BYTES[entry.dtype], metric, False)
    else:
        index = faiss.IndexIVFFlat(quantizer, entry.dim, nlist, metric)
    index.cp.seed = entry.build.get("seed", 1)
    index.cp.spherical = not euclidean  # or long centroids would draw everything to themselves
    return index
