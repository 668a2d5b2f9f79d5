r"""Products: neighbours of many queries by matrix products, with no digit lost

In many dimensions every box is near, and looking at all points is fastest if a matrix product does
it: the order of ‖x − y‖² over y is that of

    z(y) = ‖y‖² − 2 xᵀy = (−2x, 1)ᵀ (y, ‖y‖²)                                               (3)

which is computed in single precision, twice as fast, on rows moved to their mean and scaled. What
rounding does to it, of the p + 1 products and sums and of the rows themselves, is at most

    |error| ≤ γ (‖x‖² + 2‖y‖²),      γ = (p + 8) 2⁻²⁴                                       (4)

since 2|x|ᵀ|y| ≤ ‖x‖² + ‖y‖². So a point is one of the k nearest only if its lower bound is at most
the k-th smallest upper bound,

    z(y) − γ (‖x‖² + 2‖y‖²)  ≤  U,   U ≥ k-th smallest of  z(y) + γ (‖x‖² + 2‖y‖²)          (5)

The few points that pass are measured again, in double precision and by differences, as a tree would
measure them. U falls as blocks of points come by; candidates wait in a reservoir which is sifted by
(5) whenever it is full. Where too many pass, as in tight groups far apart, the query is left to a
tree. Memory: a block of products and a reservoir for each thread, never all distances.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mlreplica.core.compile.intrinsics import bit_and, bits, larger, smaller
from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, one_blas_thread, run, split
from mlreplica.core.formulas.distances import Array

from .tree import PAD, lean
from .walk import before, insert, last_place, sink, sort_heap

QUERIES, POINTS = 128, 512  # a block of products: a quarter of a megabyte
CHUNK = 16  # products that are looked at together
FULL = -1  # instead of a count: too many candidates
EVERY, HALF = np.int32(-1), np.float32(0.5)  # all bits; ½
NEVER, HUGE = np.float32(np.inf), np.float32(3e38)  # of a column that is no point; no bound yet


@lean
def above_kth(v: Array, size: int, k: int) -> Any:
    """A number that at least k of v[:size] do not exceed, and few more than k, by bisection."""
    low, high = v[0], v[0]
    for c in range(1, size):
        low, high = smaller(low, v[c]), larger(high, v[c])
    for _ in range(24):
        middle, count = HALF * (low + high), 0
        for c in range(size):
            count += v[c] <= middle
        if count < k:
            low = middle
        else:
            high = middle
            if count <= k + k // 8:
                break
    return high


@lean
def sift(z: Array, who: Array, size: int, k: int, slack: Array, own_slack: Any, work: Array) -> Any:
    """Drop the candidates that (5) excludes; how many remain, and U."""
    for c in range(size):
        work[c] = z[c] + slack[who[c]]
    U = above_kth(work, size, k) + own_slack
    kept = 0
    for c in range(size):
        if z[c] <= U:
            z[kept], who[kept] = z[c], who[c]
            kept += 1
    return kept, U


@kernel(borrow=True)
def collect(
    Z: Array, start: int, k: int, slack: Array, own_slack: Array, U: Array, z: Array, who: Array,
    size: Array, work: Array,
) -> None:  # fmt: skip
    """Add to the reservoirs the points start, start + 1, … whose lower bounds are columns of Z."""
    capacity = z.shape[1]
    for i in range(len(Z)):
        if size[i] == FULL:
            continue
        row, u, s = Z[i], U[i], size[i]
        for lo in range(0, Z.shape[1], CHUNK):
            above = EVERY
            for t in range(CHUNK):
                above = bit_and(above, bits(u - row[lo + t]))  # negative: all are above u
            if above < 0:
                continue
            if s + CHUNK > capacity:
                s, u = sift(z[i], who[i], s, k, slack, own_slack[i], work)
                if s + CHUNK > capacity:
                    s = FULL
                    break
            for t in range(CHUNK):
                z[i, s], who[i, s] = row[lo + t], start + lo + t
                s += row[lo + t] <= u
        size[i], U[i] = s, u


@kernel(fastmath=frozenset({"contract"}), part=True, borrow=True)
def four_norms(x: Array, a: Array, b: Array, c: Array, d: Array, r: Array) -> None:
    """`norm_between` of x and four rows, whose sums do not wait for each other."""
    r0, r1, r2, r3 = 0.0, 0.0, 0.0, 0.0
    for j in range(len(x)):
        t0, t1, t2, t3 = a[j] - x[j], b[j] - x[j], c[j] - x[j], d[j] - x[j]
        r0 += t0 * t0
        r1 += t1 * t1
        r2 += t2 * t2
        r3 += t3 * t3
    r[0], r[1], r[2], r[3] = r0, r1, r2, r3


@kernel
def measure(
    X: Array, Q: Array, own: Array, k: int, slack: Array, own_slack: Array, z: Array, who: Array,
    size: Array, work: Array, D: Array, N: Array,
) -> None:  # fmt: skip
    """Fill D and N with the nearest of the candidates, by their exact distances."""
    r = np.empty(4)
    for i in range(len(Q)):
        x, d, n, s = Q[i], D[i], N[i], size[i]
        d[:] = np.inf
        n[:] = PAD
        if s == FULL:
            continue
        if s > k:
            s, _ = sift(z[i], who[i], s, k, slack, own_slack[i], work)
        end = last_place(d)
        w = who[i]
        for lo in range(0, s, 4):
            l1, l2, l3 = min(lo + 1, s - 1), min(lo + 2, s - 1), min(lo + 3, s - 1)
            four_norms(x, X[w[lo]], X[w[l1]], X[w[l2]], X[w[l3]], r)
            for c in range(lo, min(lo + 4, s)):
                j = np.int64(w[c])
                if j != own[i] and before(r[c - lo], j, d[end], n[end]):
                    if end == 0 and len(d) > 1:
                        sink(d, n, len(d), r[c - lo], j)
                    else:
                        insert(d, n, r[c - lo], j)
        sort_heap(d, n)


class ProductSearch:
    """Rows, ready to be searched by (3)–(5)."""

    def __init__(self, X: Array) -> None:
        self.X, (n, p) = X, X.shape
        self.centre = X.mean(axis=0)
        Y = X - self.centre
        self.scale = 1.0 / max(np.abs(Y).max(initial=0.0), np.finfo(float).tiny)
        Y *= self.scale
        y_sq = np.einsum("ij,ij->i", Y, Y)
        self.gamma = (p + 8) * 2.0**-24
        self.B = np.zeros((p + 1, -(-n // CHUNK) * CHUNK), np.float32)  # whole chunks
        self.B[:p, :n] = Y.T
        self.B[p, :n] = y_sq * (1.0 - 2.0 * self.gamma)  # the lower bound, but for γ‖x‖²
        self.B[p, n:] = NEVER
        self.slack = (4.0 * self.gamma * y_sq + 1e-30).astype(np.float32)

    def nearest(self, Q: Array, own: Array, D: Array, N: Array, n_jobs: int | None) -> Array:
        """Fill D and N with squared distances and indices; the queries left undone."""
        (m, p), (n, k) = Q.shape, (len(self.X), D.shape[1] + int((own >= 0).any()))
        k = min(k, n)
        capacity, width = 2 * k + 8 * CHUNK, self.B.shape[1]

        def part(rows: slice) -> Array:
            q, b = Q[rows], rows.stop - rows.start
            A = np.ones((b, p + 1), np.float32)
            x = (q - self.centre) * self.scale
            own_slack = 2.0 * self.gamma * np.einsum("ij,ij->i", x, x) + 1e-30
            far = ~(own_slack < 1e30)  # so far away that products overflow
            x[far], own_slack[far] = 0.0, 0.0
            A[:, :p] = -2.0 * x
            U, size = np.full(b, HUGE), np.zeros(b, np.int64)
            size[far] = FULL
            z, who = np.empty((b, capacity), np.float32), np.empty((b, capacity), np.int32)
            Z, work = np.empty((b, POINTS), np.float32), np.empty(capacity, np.float32)
            state = (k, self.slack, own_slack.astype(np.float32))
            for j in range(0, width, POINTS):
                block = Z if width - j >= POINTS else np.empty((b, width - j), np.float32)
                np.matmul(A, self.B[:, j : j + POINTS], out=block)
                collect(block, j, *state, U, z, who, size, work)
            measure(self.X, q, own[rows], *state, z, who, size, work, D[rows], N[rows])
            return np.asarray(rows.start + np.flatnonzero(size == FULL))

        parts = max(-(-m // QUERIES), min(n_threads(n_jobs), m // 32))
        with one_blas_thread():  # also where `run` has one thread: blocks are too small for more
            return np.asarray(np.concatenate(run(part, split(m, parts), n_jobs=n_jobs)))
