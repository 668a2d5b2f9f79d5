r"""Non-negative matrix factorisation: two ways to lower the objective

**Coordinate descent** (Cichocki, Phan 2009; Hsieh, Dhillon 2011). With H fixed, every row w of W
has a problem of its own, quadratic in w ≥ 0. Its coordinate t has the best value

    w_t ← max(0, w_t − (G w − b)_t / G_tt),    G = HHᵀ + λ₂I,    b = H x − λ₁             (3)

One sweep over W, then one over H with the roles exchanged. No step raises the objective. It stops
when the projected gradient, what (3) would still move, is a small share of that of the first sweep,
or no more than rounding: the start (2) is the solution itself for k = 1.

**Multiplicative updates** (Lee, Seung 2001; Févotte, Idier 2011) multiply by the ratio of the
negative to the positive terms of the gradient, which keeps signs and needs no step length. With V =
WH,

    W ← W ⊙ ([V^{β−2} ⊙ X] Hᵀ / (V^{β−1} Hᵀ + λ₁ + λ₂W))^γ                                (4)

γ = 1 for 1 ≤ β ≤ 2, 1/(2 − β) below, 1/(β − 1) above. It minimises a function that lies above the
objective and touches it at W, so the objective does not rise. A zero stays zero.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run, split

from ._divergence import EPS, beta_divergence, product_where_stored

ZERO = float(np.finfo(float).eps)  # what is smaller becomes zero
ROUNDING = 8 * ZERO  # of Σ B: the projected gradient of a minimum is below one ε of it
LEAST = 1 << 14  # entries of W that are worth a thread
CHUNK = 512  # columns of W that are swept at a time
BLOCK = 1 << 15  # entries of a block of rows, which is still in the cache for its second product


class FactorState(NamedTuple):
    """W (n, k), H (k, p), the objective (1), and what `tol` is compared with."""

    W: np.ndarray
    H: np.ndarray
    objective: float
    change: float


@kernel
def project_rows(X, H, B):
    """B (k, n) ← H Xᵀ, four rows and two parts at a time in registers; an odd last one twice."""
    n, k = len(X), len(H)
    for i in range(0, n, 4):
        i1, i2, i3 = min(i + 1, n - 1), min(i + 2, n - 1), min(i + 3, n - 1)
        x0, x1, x2, x3 = X[i], X[i1], X[i2], X[i3]
        for q in range(0, k, 2):
            r = min(q + 1, k - 1)
            g, h = H[q], H[r]
            a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = 0.0
            for j in range(len(g)):
                a0 += g[j] * x0[j]
                a1 += g[j] * x1[j]
                a2 += g[j] * x2[j]
                a3 += g[j] * x3[j]
                b0 += h[j] * x0[j]
                b1 += h[j] * x1[j]
                b2 += h[j] * x2[j]
                b3 += h[j] * x3[j]
            B[q, i], B[q, i1], B[q, i2], B[q, i3] = a0, a1, a2, a3
            B[r, i], B[r, i1], B[r, i2], B[r, i3] = b0, b1, b2, b3


@kernel
def add_rows(X, W, first, C):
    """C += W X for the columns of W (k, n) from `first` on, four rows and four parts at a time.

    C has k rows, rounded up to a multiple of four: beyond k is room for the last part again.
    """
    n, k = len(X), len(W)
    for i in range(0, n - 3, 4):
        x0, x1, x2, x3 = X[i], X[i + 1], X[i + 2], X[i + 3]
        a, z = first + i, first + i + 4
        for q in range(0, k, 4):
            c, d, e, f = C[q], C[q + 1], C[q + 2], C[q + 3]
            s, t = W[q, a:z], W[min(q + 1, k - 1), a:z]
            u, v = W[min(q + 2, k - 1), a:z], W[min(q + 3, k - 1), a:z]
            s0, s1, s2, s3, t0, t1, t2, t3 = s[0], s[1], s[2], s[3], t[0], t[1], t[2], t[3]
            u0, u1, u2, u3, v0, v1, v2, v3 = u[0], u[1], u[2], u[3], v[0], v[1], v[2], v[3]
            for j in range(len(c)):
                y0, y1, y2, y3 = x0[j], x1[j], x2[j], x3[j]
                c[j] += s0 * y0 + s1 * y1 + s2 * y2 + s3 * y3
                d[j] += t0 * y0 + t1 * y1 + t2 * y2 + t3 * y3
                e[j] += u0 * y0 + u1 * y1 + u2 * y2 + u3 * y3
                f[j] += v0 * y0 + v1 * y1 + v2 * y2 + v3 * y3
    for i in range(n - n % 4, n):
        x = X[i]
        for q in range(k):
            c, w = C[q], W[q, first + i]
            for j in range(len(c)):
                c[j] += w * x[j]


@kernel
def sweep_columns(W, G, B, l1, g, start, stop):
    """(3) for every coordinate of the columns start … stop − 1 of W (k, n); Σ |projected gradient|.

    The columns are independent, so that a coordinate of many of them is one vector operation. B has
    H X for these columns alone, b = B − λ₁, and g is room for a gradient.
    """
    total = 0.0
    for first in range(start, stop, len(g)):
        last = min(first + len(g), stop)
        for t in range(len(W)):
            w, b, row = W[t, first:last], B[t, first - start : last - start], G[t]
            for i in range(len(w)):
                g[i] = l1 - b[i]
            for q in range(len(W)):
                v, c = W[q, first:last], row[q]
                for i in range(len(w)):
                    g[i] += c * v[i]
            step = 1.0 / row[t] if row[t] != 0.0 else 0.0
            for i in range(len(w)):
                total += abs(g[i]) if w[i] != 0.0 or g[i] < 0.0 else 0.0
                w_new = w[i] - step * g[i]
                w[i] = w_new if w_new > 0.0 else 0.0  # noqa: FURB136  a select, for vectors
    return total


@kernel
def sweep_rows(X, W, H, G, l1, B, g, start, stop, C):
    """Sweep over the columns start … stop − 1 of W; C ← W X of the same rows, in one walk.

    Returns what moved and Σ B, which has no negative term. B and g are room for a block of rows, C
    is as in `add_rows`.
    """
    moved = terms = 0.0
    C[:] = 0.0
    for first in range(start, stop, len(g)):
        last = min(first + len(g), stop)
        x = X[first:last]
        project_rows(x, H, B)
        moved += sweep_columns(W, G, B, l1, g, first, last)
        for q in range(len(H)):
            b = B[q, : last - first]
            for i in range(len(b)):
                terms += b[i]
        add_rows(x, W, first, C)
    return moved, terms


def shares(W):
    """Columns of W (k, n), a part for each thread."""
    return split(W.shape[1], n_threads(), 1 + LEAST // len(W))


def sweep(W, G, B, l1):
    """(3) for W (k, n) with all of B (k, n), columns shared by threads."""
    if W.size <= LEAST:
        return sweep_columns(W, G, B, l1, np.empty(min(CHUNK, W.shape[1])), 0, W.shape[1])

    def part(c):
        part_of_B = np.ascontiguousarray(B[:, c])
        return sweep_columns(W, G, part_of_B, l1, np.empty(CHUNK), c.start, c.stop)

    return sum(run(part, shares(W)))


class RowSweeps:
    """Sweeps over W with what they need of X (n, p): one walk over its rows, if it is dense."""

    def __init__(self, A, W, H):
        self.A, self.norm_sq = A, A.norm_sq
        if A.sparse:
            return
        n, p = A.shape
        self.X, size = np.ascontiguousarray(A.A), min(CHUNK, max(16, BLOCK // p), n)
        whole = len(W) + -len(W) % 4, p
        self.rooms = [
            (np.empty((len(W), size)), np.empty(size), part.start, part.stop, np.empty(whole))
            for part in shares(W)
        ]

    def __call__(self, W, H, G, l1):
        """What moved, Σ of all terms of H Xᵀ, and W X (k, p) after the sweep."""
        if self.A.sparse:
            B = onto(self.A.times, H)
            return sweep(W, G, B, l1), B.sum(), onto(self.A.back, W)
        if len(self.rooms) == 1:
            room = self.rooms[0]
            return *sweep_rows(self.X, W, H, G, l1, *room), room[-1][: len(W)]
        found = run(lambda room: sweep_rows(self.X, W, H, G, l1, *room), self.rooms)
        moved, terms = (sum(numbers) for numbers in zip(*found, strict=True))
        return moved, terms, sum(room[-1][: len(W)] for room in self.rooms)


def onto(product, H):
    """H Xᵀ (k, n) by a product with X, or W X (k, p) by one with Xᵀ."""
    return np.ascontiguousarray(product(H.T).T)


def coordinate_descent(A, W, H, penalties):
    """Yield a state after each sweep over W and H, indefinitely; both change in place.

    `A` has the products of X; `penalties` are λ₁, λ₂ of W, then of H. W is transposed: (k, n).
    """
    l1_W, l2_W, l1_H, l2_H = penalties
    W, H, first = np.ascontiguousarray(W.T), np.ascontiguousarray(H), None
    ridge_W, ridge_H = l2_W * np.eye(len(W)), l2_H * np.eye(len(W))
    gram, square, sweep_W = H @ H.T, A.norm_sq, RowSweeps(A, W, H)
    while True:
        moved, terms, C = sweep_W(W, H, gram + ridge_W, l1_W)
        WW = W @ W.T
        moved += sweep(H, WW + ridge_H, C, l1_H)
        gram, terms = H @ H.T, terms + C.sum()
        fit = square - 2.0 * np.vdot(C, H) + np.vdot(WW, gram)
        first = moved if first is None else first
        change = moved / first if moved > ROUNDING * terms else 0.0
        yield FactorState(W.T, H, 0.5 * max(fit, 0.0) + penalty(W, H, penalties), change)


@kernel
def settle_columns(W, G, B, l1, g, start, stop, tol, max_iter):
    """Sweep over blocks of columns of W (k, n), each until it is settled; the most sweeps of one.

    A block is settled when its projected gradient is `tol` times what it was first, or rounding.
    """
    most = 0
    for first in range(start, stop, len(g)):
        last = min(first + len(g), stop)
        b = B[:, first:last]
        terms = 0.0
        for q in range(len(b)):
            for i in range(last - first):
                terms += b[q, i]
        n_iter, before, moved = 0, 0.0, np.inf
        while n_iter < max_iter and moved > max(tol * before, ROUNDING * terms):
            moved = sweep_columns(W, G, b, l1, g, first, last)
            before = moved if n_iter == 0 else before
            n_iter += 1
        most = max(most, n_iter)
    return most


def amounts(A, H, penalties, tol, max_iter):
    """W (n, k) for a fixed H, from zero, and the most sweeps that a block of rows needed."""
    l1, l2 = penalties[:2]
    G, B = H @ H.T + l2 * np.eye(len(H)), onto(A.times, H)
    W = np.zeros(B.shape)
    n = W.shape[1]

    def part(blocks):
        edges = blocks.start * CHUNK, min(blocks.stop * CHUNK, n)
        return settle_columns(W, G, B, l1, np.empty(min(CHUNK, n)), *edges, tol, max_iter)

    blocks = split(-(-n // CHUNK), n_threads(), 1 + LEAST // (CHUNK * len(W)))
    return W.T, max(run(part, blocks))


def penalty(W, H, penalties):
    """The terms of (1) with α."""
    if not any(penalties):
        return 0.0
    l1_W, l2_W, l1_H, l2_H = penalties
    return float(
        l1_W * W.sum() + 0.5 * l2_W * np.vdot(W, W) + l1_H * H.sum() + 0.5 * l2_H * np.vdot(H, H)
    )


def multiplied(X, W, H, beta, gamma, l1, l2):
    """W after (4)"""
    if beta == 2:
        above, below = X @ H.T, W @ (H @ H.T)
    else:
        V = None if sp.issparse(X) and beta == 1 else np.maximum(W @ H, EPS)
        if sp.issparse(X):
            R = product_where_stored(X, W, H)
            np.maximum(R.data, EPS, out=R.data)
            R.data = X.data * R.data ** (beta - 2)
        else:
            R = X * V ** (beta - 2)
        above = R @ H.T
        below = H.sum(axis=1)[None, :] if beta == 1 else V ** (beta - 1) @ H.T
    below = below + l1 + l2 * W
    ratio = np.asarray(above) / np.where(below == 0, EPS, below)
    return W * (ratio if gamma == 1 else ratio**gamma)


def multiplicative(X, W, H, beta, penalties, fix_H=False):
    """Yield a state after each pair of updates (4), indefinitely.

    The objective, which costs a product, is known after every tenth.
    """
    l1_W, l2_W, l1_H, l2_H = penalties
    gamma = 1.0 / (2.0 - beta) if beta < 1 else 1.0 / (beta - 1.0) if beta > 2 else 1.0

    def objective(W, H):
        return beta_divergence(X, W, H, beta) + penalty(W, H, penalties)

    root = lambda value: np.sqrt(max(value, 0.0))
    XT = X.T.tocsr() if sp.issparse(X) else X.T
    before = now = first = objective(W, H)
    step, change = 0, np.inf
    while True:
        W = multiplied(X, W, H, beta, gamma, l1_W, l2_W)
        if beta < 1:
            W[W < ZERO] = 0.0
        if not fix_H:
            H = multiplied(XT, H.T, W.T, beta, gamma, l1_H, l2_H).T
            if beta <= 1:
                H[H < ZERO] = 0.0
        step += 1
        if step % 10 == 0:
            now = objective(W, H)
            change = (root(before) - root(now)) / root(first) if first > 0 else 0.0
            before = now
        yield FactorState(W, H, now, change)
