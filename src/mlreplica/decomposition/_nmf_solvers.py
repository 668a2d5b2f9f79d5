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
from mlreplica.core.compile.threads import n_threads, run, share, split
from mlreplica.core.formulas.vectors import dot
from mlreplica.core.rows.products import Products
from mlreplica.core.rows.walk import is_sparse

from ._divergence import EPS, beta_divergence, product_where_stored

ZERO = float(np.finfo(float).eps)  # what is smaller becomes zero
ROUNDING = 8 * ZERO  # of Σ B: the projected gradient of a minimum is below one ε of it
LEAST = 1 << 14  # entries of W that are worth a thread
ALONE = 8  # rows that are settled one by one
CHUNK = 512  # columns of W that are swept at a time
SMALL = 1 << 15  # entries of an X whose sweeps take less than a call from Python
BLOCK = 1 << 15  # entries of a block of rows, which is still in the cache for its second product


class FactorState(NamedTuple):
    """W (n, k), H (k, p), the objective (1), what `tol` is compared with, and sweeps so far."""

    W: np.ndarray
    H: np.ndarray
    objective: float
    change: float
    sweeps: int


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
    """A sweep over W, then one over H, with what they need of X (n, p).

    Of a dense X this is one walk over its rows, shared by threads.
    """

    def __init__(self, A, W, H, penalties):
        self.A, self.W, self.H = A, W, H
        self.l1_W, l2_W, self.l1_H, l2_H = penalties
        self.ridge_W, self.ridge_H = l2_W * np.eye(len(W)), l2_H * np.eye(len(W))
        self.HH = H @ H.T
        if A.sparse:
            return
        n, p = A.shape
        self.X, size = np.ascontiguousarray(A.A), min(CHUNK, max(16, BLOCK // p), n)
        whole = len(W) + -len(W) % 4, p
        self.rooms = [
            (np.empty((len(W), size)), np.empty(size), part.start, part.stop, np.empty(whole))
            for part in shares(W)
        ]

    def __call__(self, most, least):
        """One sweep: what moved, Σ of all terms of H Xᵀ and W X, the latter, W Wᵀ, and H Hᵀ."""
        W, H = self.W, self.H
        moved, terms, C = self.over_rows(self.HH + self.ridge_W)
        WW = W @ W.T
        moved += sweep(H, WW + self.ridge_H, C, self.l1_H)
        self.HH = H @ H.T
        return 1, moved, terms + C.sum(), C, WW, self.HH

    def over_rows(self, G):
        """A sweep over W: what moved, Σ H Xᵀ, and W X (k, p) after it."""
        A, W, H = self.A, self.W, self.H
        if A.sparse:
            B = onto(A.times, H)
            return sweep(W, G, B, self.l1_W), B.sum(), onto(A.back, W)
        found = share(sweep_rows, [(self.X, W, H, G, self.l1_W, *room) for room in self.rooms])
        moved, terms = (sum(numbers) for numbers in zip(*found, strict=True))
        return moved, terms, sum(room[-1][: len(W)] for room in self.rooms)


@kernel
def gram(A, ridge, G):
    """G ← A Aᵀ + ridge·I"""
    for i in range(len(A)):
        for j in range(i + 1):
            G[i, j] = G[j, i] = dot(A[i], A[j])
        G[i, i] += ridge


@kernel
def sweep_both(XT, W, H, penalties, B, C, G, g, most, least):
    """Sweeps over W and H, for X given by its columns, until one moves `least` or less.

    At most `most`; B and C are left with H Xᵀ and W X, of which B is as C in `add_rows`. Returns
    how many sweeps there were, and of the last what moved and Σ B + Σ C.
    """
    k, done, moved, terms = len(W), 0, np.inf, 0.0
    while done < most and (moved > max(least, ROUNDING * terms) or least < 0.0):
        gram(H, penalties[1], G)
        B[:] = 0.0
        add_rows(XT, H, 0, B)
        moved = sweep_columns(W, G, B[:k], penalties[0], g, 0, W.shape[1])
        gram(W, penalties[3], G)
        project_rows(XT, W, C)
        moved += sweep_columns(H, G, C, penalties[2], g, 0, H.shape[1])
        terms, done = B[:k].sum() + C.sum(), done + 1
    return done, moved, terms


class SmallSweeps:
    """Many sweeps in one call, for an X that is so small that the calls would cost most."""

    def __init__(self, A, W, H, penalties):
        (n, p), k = A.shape, len(W)
        self.XT, self.W, self.H = np.ascontiguousarray(A.A.T), W, H
        B, C = np.empty((k + -k % 4, n)), np.empty((k, p))
        self.rooms = np.array(penalties, dtype=float), B, C, np.empty((k, k)), np.empty(max(n, p))

    def __call__(self, most, least):
        """As of `RowSweeps`, after up to `most` sweeps, or one that moves `least` or less."""
        W, H = self.W, self.H
        done, moved, terms = sweep_both(self.XT, W, H, *self.rooms, most, least)
        return done, moved, terms, self.rooms[2], W @ W.T, H @ H.T


def onto(product, H):
    """H Xᵀ (k, n) by a product with X, or W X (k, p) by one with Xᵀ."""
    return np.ascontiguousarray(product(H.T).T)


def coordinate_descent(A, W, H, penalties, tol, max_iter, at_once=1):
    """Yield a state after each sweep over W and H; both change in place.

    `A` has the products of X; `penalties` are λ₁, λ₂ of W, then of H. W is transposed: (k, n). Of a
    small X, up to `at_once` sweeps are done before a state is shown, fewer if one meets `tol`.
    """
    W, H = np.ascontiguousarray(W.T), np.ascontiguousarray(H)
    small = not A.sparse and A.A.size <= SMALL
    sweeps = (SmallSweeps if small else RowSweeps)(A, W, H, penalties)
    done, first, most, least = 0, None, 1, -1.0
    while done < max_iter:
        count, moved, terms, C, WW, HH = sweeps(min(most, max_iter - done), least)
        if first is None:
            first, most, least = moved, at_once, tol * moved if tol > 0 else -1.0
        done += count
        fit = A.norm_sq - 2.0 * np.vdot(C, H) + np.vdot(WW, HH)
        change = moved / first if moved > ROUNDING * terms else 0.0
        objective = 0.5 * max(fit, 0.0) + penalty(W, H, penalties)
        yield FactorState(W.T, H, objective, change, done)


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


@kernel
def settle_rows(W, G, B, l1, tol, max_iter):
    """`settle_columns` for a few rows w of W (n, k), one at a time; B is (n, k), too."""
    most = 0
    for i in range(len(W)):
        w, b = W[i], B[i]
        n_iter, before, moved, terms = 0, 0.0, np.inf, b.sum()
        while n_iter < max_iter and moved > max(tol * before, ROUNDING * terms):
            moved = 0.0
            for t in range(len(w)):
                g = dot(G[t], w) - b[t] + l1
                moved += abs(g) if w[t] != 0.0 or g < 0.0 else 0.0
                w[t] = max(w[t] - g / G[t, t], 0.0) if G[t, t] != 0.0 else w[t]
            before = moved if n_iter == 0 else before
            n_iter += 1
        most = max(most, n_iter)
    return most


def amounts(X, H, penalties, tol, max_iter):
    """W (n, k) for a fixed H, from zero, and the most sweeps that a block of rows needed."""
    l1, l2 = penalties[:2]
    G = H @ H.T
    G.flat[:: len(G) + 1] += l2
    if X.shape[0] <= ALONE and not is_sparse(X):
        W = np.zeros((len(X), len(H)))
        return W, settle_rows(W, G, np.ascontiguousarray(X @ H.T), l1, tol, max_iter)
    B = onto(Products(X).times, H)
    W, n = np.zeros(B.shape), B.shape[1]

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
        yield FactorState(W, H, now, change, step)
