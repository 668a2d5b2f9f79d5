r"""MacQueen's k-means: centres move with every row that changes sides

Rows are visited in order. A row i that is nearer to centre b than to its own centre a moves there,
and both means follow at once:

    c_a ← c_a − w_i (x_i − c_a) / (N_a − w_i),     c_b ← c_b + w_i (x_i − c_b) / (N_b + w_i)   (12)

Each such move lowers J. The end is a fixed point of Lloyd's steps too, though perhaps another one.

MacQueen, Some methods for classification and analysis of multivariate observations (1967).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mlreplica.core.compile.jit import kernel

from .lloyd import KMeansState, lloyd
from .points import Points


@kernel
def visit(X, shift, w, C, N, labels):
    """Visit every row once, (12); return how many changed sides."""
    moved, (k, p) = 0, C.shape
    for i in range(len(labels)):
        x_i, a, best, b = X[i], labels[i], np.inf, 0
        for c in range(k):
            d = 0.0
            for j in range(p):
                v = (x_i[j] - shift[j]) - C[c, j]
                d += v * v
            if d < best:
                best, b = d, c
        if b == a or N[a] <= w[i]:  # a centre keeps its last row
            continue
        moved += 1
        labels[i] = b
        for j in range(p):
            x = x_i[j] - shift[j]
            C[a, j] -= w[i] * (x - C[a, j]) / (N[a] - w[i])
            C[b, j] += w[i] * (x - C[b, j]) / (N[b] + w[i])
        N[a] -= w[i]
        N[b] += w[i]
    return moved


def macqueen(points: Points, w: Any, C: Any) -> Iterator[KMeansState]:
    """Yield a state once per visit to all rows, until none changes sides; for dense rows."""
    state = next(lloyd(points, w, C))  # every row needs a centre first
    labels, C_old = state.labels.astype(np.int64), C
    C, N = state.centers.copy(), np.bincount(labels, w, minlength=len(C))
    while True:
        shift = float(((C - C_old) ** 2).sum())
        yield state._replace(centers=C, shift=shift, labels=labels.astype(np.int32))
        if state.moved == 0:
            return
        C_old = C.copy()
        moved = visit(points.X, points.shift, w, C, N, labels)
        state = state._replace(inertia=float(w @ points.squares(C, labels)), moved=int(moved))
