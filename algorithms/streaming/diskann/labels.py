"""From labels to ids, where labels may mean nothing, or stand twice in a line."""

from __future__ import annotations

import numpy as np


def ids_once(id_of: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The ids of each line of labels, each id once; what is left is -1 and stands at the end.

    `id_of` has an id for each label, -1 for those that are gone; label 0 is none. A label beyond is none, too.
    """
    ids = id_of[np.where(labels < len(id_of), labels, 0).astype(np.int64)]
    order = ids.argsort(axis=1, kind="stable")
    ranked = np.take_along_axis(ids, order, axis=1)
    again = np.zeros(ids.shape, bool)
    np.put_along_axis(again, order[:, 1:], ranked[:, 1:] == ranked[:, :-1], axis=1)
    gone = again | (ids < 0)
    return np.take_along_axis(np.where(gone, -1, ids), gone.argsort(axis=1, kind="stable"), axis=1)
