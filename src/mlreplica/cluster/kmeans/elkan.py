r"""Elkan's k-means: a lower bound for every row and centre

Row i keeps a bound u_i on the distance to its own centre a and bounds l_ic on the distances to all
others. By the triangle inequality centre c cannot be the nearest one if

    u_i < l_ic     or     u_i < ½ ‖c_a − c_c‖,                                               (8)

and after a step in which centre c moved by m_c

    u_i ← u_i + m_a,     l_ic ← l_ic − m_c.                                                  (9)

Fewer distances than with the single bound of `lloyd.py`, for n k numbers of memory.

Elkan, Using the triangle inequality to accelerate k-means (2003).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import run

from .lloyd import KMeansState, Sums, centres_of
from .points import Points

SURE = 1.0 + 1e-9  # more than rounding adds to a bound in any number of passes


@kernel
def exclude(labels, upper, lower, half, half_gap, move, first, last, rows):
    """Move the bounds by (9); list the rows for which (8) leaves a centre, and return how many."""
    m, k = 0, lower.shape[1]
    for i in range(first, last):
        a, left = labels[i], False
        upper[i] += move[a]
        u = upper[i] * SURE
        for c in range(k):
            lower[i, c] -= move[c]
        if u >= half_gap[a]:
            for c in range(k):
                left |= c != a and u >= lower[i, c] and u >= half[a, c]
        rows[m] = i
        m += left
    return m


@kernel
def compare(X, shift, C, half, rows, labels, near, upper, lower):
    """The nearest centre of each row listed: (8) first with the exact u_i."""
    k, p = C.shape
    for r in range(len(rows)):
        i = rows[r]
        a, x_i, u = np.int64(labels[i]), X[i], -1.0
        for c in range(k):
            if u >= 0.0 and c != labels[i] and (u * SURE < lower[i, c] or u * SURE < half[a, c]):
                continue
            if u < 0.0:
                s = 0.0
                for j in range(p):
                    v = (x_i[j] - shift[j]) - C[a, j]
                    s += v * v
                u = np.sqrt(s)
                lower[i, a] = u
                if c == a or u * SURE < lower[i, c] or u * SURE < half[a, c]:
                    continue
            if c == a:
                continue
            s = 0.0
            for j in range(p):
                v = (x_i[j] - shift[j]) - C[c, j]
                s += v * v
            d = np.sqrt(s)
            lower[i, c] = d
            if d < u or (d == u and c < a):
                a, u = np.int64(c), d
        near[i], upper[i] = a, u


def elkan(points: Points, w: Any, C: Any) -> Iterator[KMeansState]:
    """Yield a state once per pass, until no label changes; for dense rows."""
    n, k = points.n, len(C)
    labels, near, rows = np.full(n, -1, np.int32), np.zeros(n, np.int32), np.arange(n)
    upper, lower, move = np.full(n, np.inf), np.zeros((n, k)), np.zeros(k)
    squares = points.squares(np.zeros((1, points.p)), near)
    T, sums, table = float(w @ squares), Sums.zero(*C.shape), points.table(C)
    while True:
        half = 0.5 * np.sqrt(((table.C[:, None] - table.C) ** 2).sum(axis=2))
        half_gap = np.min(half + np.diag(np.full(k, np.inf)), axis=1)

        def of(
            part: slice, table: Any = table, half: Any = half, moved: Any = (half_gap, move)
        ) -> Any:
            known, found = near if labels[part.start] < 0 else labels, Sums.zero(k, points.p)
            some = rows[part]
            m = exclude(known, upper, lower, half, *moved, part.start, part.stop, some)
            compare(points.X, points.shift, table.C, half, some[:m], known, near, upper, lower)
            return found, points.transfer(some[:m], w, near, labels, found)

        parts = run(of, points.parts())
        for found, _ in parts:
            sums.add(found)
        moved = sum(count for _, count in parts)
        C = centres_of(points, w, table, labels, sums)
        shift = float(((C - table.C) ** 2).sum())
        J = T - float((sums.sums**2).sum(axis=1) @ (1 / np.where(sums.count, sums.total, np.inf)))
        yield KMeansState(C, max(J, 0.0), shift, moved, labels)
        if moved == 0:
            return
        move, table = np.sqrt(((C - table.C) ** 2).sum(axis=1)), points.table(C)
