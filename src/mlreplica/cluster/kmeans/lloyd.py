r"""k-means: Lloyd's two steps, and Hamerly's bounds that save most of the first

    minimise over c_1 … c_k and labels a_1 … a_n:   J = Σ_i w_i ‖x_i − c_{a_i}‖²              (1)

With the centres fixed, each row is best off with its nearest one; with the labels fixed, each
centre is best off at the mean of its rows:

    a_i ← argmin_c ‖x_i − c_c‖                                                                (2)
    c_c ← Σ_{a_i = c} w_i x_i / Σ_{a_i = c} w_i                                               (3)

Neither step can raise J, and there are finitely many partitions, so the loop ends. After (3),
with T = Σ w_i ‖x_i‖², S_c the sums and N_c the weights of the clusters,

    J = T − Σ_c ‖S_c‖² / N_c.                                                                 (4)

Let g_i be the gap of row i: how much farther than its own centre a every other centre is, at least.
If its own centre moves by m_a and the others by at most m, then by the triangle inequality

    g_i ← g_i − (m_a + m),                                                                    (5)

and the row keeps its label, and needs no distance at all, as long as

    g_i > 0.                                                                                  (6)

The running sum D_a of m_a + m is kept per centre. What is stored is g_i + D_a, compared with the
D_a of now: so a row that stays is read but not written. Sums are kept up to date by the rows that
change sides. A centre that loses its last row is put on the row that is farthest from its own
centre.

Lloyd, Least squares quantization in PCM (1982); Hamerly, Making k-means even faster (2010).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import run

from .points import Points, Table

ROUNDED = 2.0**-22  # more than rounding changes a gap, relative to it


class KMeansState(NamedTuple):
    """What a `Trace` records once per pass."""

    centers: Any  # (k, p), about the origin of the points
    inertia: float  # (4)
    shift: float  # Σ ‖change of a centre‖²
    moved: int  # labels that changed
    labels: Any  # (n,)


@kernel
def doubtful(labels, gap, drift, first, last, rows):
    """List the rows that (6) does not settle, after (5), and return how many."""
    m = 0
    for i in range(first, last):
        g = np.float64(gap[i])
        rows[m] = i
        m += g - ROUNDED * abs(g) <= drift[labels[i]]
    return m


class Sums(NamedTuple):
    """S_c, N_c and the number of rows of positive weight in each cluster."""

    sums: Any
    total: Any
    count: Any

    @classmethod
    def zero(cls, k: int, p: int) -> Sums:
        """Of no rows."""
        return cls(np.zeros((k, p)), np.zeros(k), np.zeros(k, dtype=np.int64))

    def add(self, other: Sums) -> None:
        """In place."""
        for k, values in enumerate(other):
            self[k].__iadd__(values)


class Gaps:
    """Labels of all rows with g_i + D_a."""

    def __init__(self, points: Points) -> None:
        n = points.n
        self.labels, self.near = np.full(n, -1, np.int32), np.empty(n, np.int32)
        self.gap, self.rows = np.full(n, -np.inf, np.float32), np.empty(n, np.int64)

    def assign(
        self, points: Points, w: Any, table: Table, sums: Sums, drift: Any, fresh: bool
    ) -> int:
        """Step (2), and the sums of (3), of the rows that (6) does not settle.

        `fresh` compares every row and adds up the sums anew. Returns how many labels changed.
        """
        k, p = table.C.shape
        if fresh:
            labels, self.labels = self.labels, np.full(points.n, -1, np.int32)
            for values in sums:
                values[:] = 0

        def of(part: slice) -> Any:
            found, rows = Sums.zero(k, p), self.rows[part]
            if fresh:
                rows[:] = points.all[part]
            else:
                rows = rows[: doubtful(self.labels, self.gap, drift, part.start, part.stop, rows)]
            points.nearest(table, rows, self.near, self.gap, drift)
            return found, points.transfer(rows, w, self.near, self.labels, found)

        parts = run(of, points.parts())
        for found, _ in parts:
            sums.add(found)
        if fresh:
            return int(np.count_nonzero(self.labels != labels))
        return sum(moved for _, moved in parts)


def centres_of(points: Points, w: Any, table: Table, labels: Any, sums: Sums) -> Any:
    """Step (3); a cluster without rows gets the row that is farthest from its centre."""
    S, N, count = sums.sums, sums.total, sums.count
    empty = np.flatnonzero(count == 0)
    if len(empty):
        far = np.empty(points.n)
        points.own_distances(table, points.all, labels, far)
        far[w == 0.0] = -1.0
        rows = np.argpartition(far, -len(empty))[: -len(empty) - 1 : -1]
        S, N, count = S.copy(), N.copy(), count.copy()
        if far.max() > 0.0:
            for c, i in zip(empty, rows, strict=True):
                x = w[i] * points.row([i])[0]
                S[labels[i]] -= x
                N[labels[i]] -= w[i]
                count[labels[i]] -= 1
                S[c], N[c], count[c] = x, w[i], 1
    kept = (count > 0) & (N > 0)
    return np.where(kept[:, None], S / np.where(kept, N, 1.0)[:, None], table.C)


@kernel
def add_moves(C, C_old, drift):
    """Add to D_a how far centre a moved, and the farthest of all others."""
    k, p = C.shape
    move, most, next_most = np.empty(k), 0.0, 0.0
    for a in range(k):
        s = 0.0
        for j in range(p):
            s += (C[a, j] - C_old[a, j]) ** 2
        move[a] = np.sqrt(s)
        next_most = max(next_most, min(move[a], most))
        most = max(most, move[a])
    for a in range(k):
        drift[a] += move[a] + (next_most if move[a] == most else most)


def lloyd(points: Points, w: Any, C: Any, bounded: bool = True) -> Iterator[KMeansState]:
    """Yield a state once per pass, until no label changes.

    With `bounded`, (5) and (6) leave rows alone; the labels are the same.
    """
    gaps, sums, drift = Gaps(points), Sums.zero(*C.shape), np.zeros(len(C))
    T, table, fresh = float(w @ points.norms), points.table(C), True
    while True:
        moved = gaps.assign(points, w, table, sums, drift, fresh)
        C = centres_of(points, w, table, gaps.labels, sums)
        shift = float(((C - table.C) ** 2).sum())
        J = T - float((sums.sums**2).sum(axis=1) @ (1 / np.where(sums.count, sums.total, np.inf)))
        yield KMeansState(C, max(J, 0.0), shift, moved, gaps.labels)
        if moved == 0:
            return
        if bounded:
            add_moves(C, table.C, drift)
            fresh = False
        table = points.table(C)
