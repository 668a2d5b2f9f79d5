r"""k-means: Lloyd's two steps, and Hamerly's bounds that save most of the first

    minimise over c_1 … c_k and labels a_1 … a_n:   J = Σ_i w_i ‖x_i − c_{a_i}‖²              (1)

With the centres fixed, each row is best off with its nearest one; with the labels fixed, each
centre is best off at the mean of its rows:

    a_i ← argmin_c ‖x_i − c_c‖                                                                (2)
    c_c ← Σ_{a_i = c} w_i x_i / Σ_{a_i = c} w_i                                               (3)

Neither step can raise J, and there are finitely many partitions, so the loop ends. After (3),
with T = Σ w_i ‖x_i‖², S_c the sums and N_c the weights of the clusters,

    J = T − Σ_c ‖S_c‖² / N_c.                                                                 (4)

If all centres but its own moved by at most m since row i was last compared with them, and its own
by m_a, then the triangle inequality moves a bound u_i on the distance to its own centre, and a
bound l_i on the distance to any other, by

    u_i ← u_i + m_a,     l_i ← l_i − m.                                                       (5)

With s_a half the distance from centre a to the centre nearest to it, row i keeps its label as
long as

    u_i < max(l_i, s_a),                                                                      (6)

and needs no distance at all; in a second look u_i is made exact before a row is compared with all
centres, unless these are so few that it costs as much. Sums are kept up to date by the rows that
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

MANY = 0.4  # share of doubtful rows above which bounds do not pay …
PAUSE = 3  # … so that passes do without them for a while
CHEAP = 256  # k p up to which a second look costs as much as all distances
SURE = 1.0 + 1e-9  # more than rounding adds to a bound in any number of passes


class KMeansState(NamedTuple):
    """What a `Trace` records once per pass."""

    centers: Any  # (k, p), about the origin of the points
    inertia: float  # (4)
    shift: float  # Σ ‖change of a centre‖²
    moved: int  # labels that changed
    labels: Any  # (n,)


@kernel
def doubtful(labels, upper, lower, half_gap, own_move, other_move, first, last, rows):
    """Move the bounds by (5); list the rows that (6) does not settle and return how many."""
    m = 0
    for i in range(first, last):
        a = labels[i]
        u, bound = upper[i] + own_move[a], lower[i] - other_move[a]
        upper[i], lower[i] = u, bound
        rows[m] = i
        m += u * SURE >= max(bound, half_gap[a])
    return m


@kernel
def still_doubtful(labels, squares, upper, lower, half_gap, m, rows):
    """Look again at the first m rows with exact u_i; keep those that (6) does not settle."""
    kept = 0
    for r in range(m):
        i = rows[r]
        upper[i] = np.sqrt(squares[i])
        rows[kept] = i
        kept += upper[i] * SURE >= max(lower[i], half_gap[labels[i]])
    return kept


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


class Bounds:
    """Labels of all rows with u_i and l_i."""

    def __init__(self, points: Points) -> None:
        n = points.n
        self.labels, self.near = np.full(n, -1, np.int32), np.empty(n, np.int32)
        self.upper, self.lower = np.zeros(n), np.zeros(n)
        self.rows = np.arange(n)

    def listed(self, points: Points, table: Table, part: slice, moves: Any) -> Any:
        """The rows of a part that must be compared with all centres."""
        rows = self.rows[part]
        half_gap, own, other = moves
        m = doubtful(
            self.labels, self.upper, self.lower, half_gap, own, other, part.start, part.stop, rows
        )
        if table.C.size <= CHEAP:
            return rows[:m]
        points.own_distances(table, rows[:m], self.labels, self.scratch)
        return rows[
            : still_doubtful(self.labels, self.scratch, self.upper, self.lower, half_gap, m, rows)
        ]

    def assign(
        self, points: Points, w: Any, table: Table, sums: Sums, moves: Any, fresh: bool
    ) -> Any:
        """Step (2), and the sums of (3); `moves` None compares every row with every centre.

        `fresh` adds up the sums anew. Returns how many labels changed and how many rows were
        compared.
        """
        k, p = table.C.shape
        if fresh:
            self.labels_old, self.labels = self.labels, np.full(points.n, -1, np.int32)
            for values in sums:
                values[:] = 0
        if moves is not None and table.C.size > CHEAP:
            self.scratch = np.empty(points.n)

        def of(part: slice) -> Any:
            found = Sums.zero(k, p)
            rows = points.all[part] if moves is None else self.listed(points, table, part, moves)
            points.nearest(table, rows, self.near, self.upper, self.lower)
            moved = points.transfer(rows, w, self.near, self.labels, found)
            return found, moved, len(rows)

        parts = run(of, points.parts())
        for found, _, _ in parts:
            sums.add(found)
        compared = sum(rows for *_, rows in parts)
        if fresh:
            return int(np.count_nonzero(self.labels != self.labels_old)), compared
        return sum(moved for _, moved, _ in parts), compared


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


def moves_of(C: Any, C_old: Any) -> Any:
    """s_a of (6), and for (5) how far each centre moved and the farthest of all others."""
    k = len(C)
    G = C @ C.T
    sq = G.diagonal()
    gap = sq[:, None] + sq - 2 * G - 1e-14 * (sq[:, None] + sq)
    np.fill_diagonal(gap, np.inf)
    half_gap = 0.5 * np.sqrt(np.maximum(gap.min(axis=1), 0.0))
    move = np.sqrt(((C - C_old) ** 2).sum(axis=1))
    other = np.full(k, move.max())
    if k > 1:
        largest = move.argmax()
        other[largest] = np.delete(move, largest).max()
    return half_gap, move, other


def lloyd(points: Points, w: Any, C: Any, bounded: bool = True) -> Iterator[KMeansState]:
    """Yield a state once per pass, until no label changes.

    With `bounded`, (5) and (6) leave rows alone wherever that pays; the labels are the same.
    """
    bounds, sums = Bounds(points), Sums.zero(*C.shape)
    T, table, moves, pause = float(w @ points.norms), points.table(C), None, 0
    fresh = True
    while True:
        moved, compared = bounds.assign(points, w, table, sums, moves, fresh)
        C = centres_of(points, w, table, bounds.labels, sums)
        shift = float(((C - table.C) ** 2).sum())
        J = T - float((sums.sums**2).sum(axis=1) @ (1 / np.where(sums.count, sums.total, np.inf)))
        yield KMeansState(C, max(J, 0.0), shift, moved, bounds.labels)
        if moved == 0:
            return
        pause = PAUSE if moves is not None and compared > MANY * points.n else pause - 1
        moves, fresh = moves_of(C, table.C) if bounded and pause <= 0 else None, not bounded
        table = points.table(C)
