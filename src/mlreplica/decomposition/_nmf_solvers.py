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
objective and touches it at W, so the objective does not rise. Zeros stay zero for ever.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run, split
from mlreplica.core.rows.walk import steps

from ._divergence import EPS, beta_divergence, product_where_stored

ZERO = float(np.finfo(float).eps)  # what is smaller becomes zero
ROUNDING = 8 * ZERO  # of Σ|b|: the projected gradient of a minimum is below one ε of it
LEAST = 1 << 14  # entries of W that are worth a thread
CHUNK = 512  # columns of W that are swept at a time
BLOCK = 1 << 17  # entries of a block of rows, which is still in the cache for its second product


class FactorState(NamedTuple):
    """W (n, k), H (k, p), the objective (1), and what `tol` is compared with."""

    W: np.ndarray
    H: np.ndarray
    objective: float
    change: float


@kernel
def sweep_columns(W, G, B, g, start, stop):
    """(3) for every coordinate of the columns start … stop − 1 of W (k, n); Σ |projected gradient|.

    The columns are independent, so that a coordinate of many of them is one vector operation. B has
    b for these columns alone, g is room for a gradient.
    """
    total = 0.0
    for first in range(start, stop, len(g)):
        last = min(first + len(g), stop)
        for t in range(len(W)):
            w, b, row = W[t, first:last], B[t, first - start : last - start], G[t]
            for i in range(len(w)):
                g[i] = -b[i]
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


def shares(W):
    """Columns of W (k, n), a part for each thread."""
    return split(W.shape[1], n_threads(), 1 + LEAST // len(W))


def sweep(W, G, B):
    """(3) for W (k, n) with all of B (k, n), columns shared by threads."""

    def part(c):
        return sweep_columns(W, G, np.ascontiguousarray(B[:, c]), np.empty(CHUNK), c.start, c.stop)

    return sum(run(part, shares(W)))


def sweep_and_project(A, W, H, G, l1):
    """Sweep over W; what moved, Σ|b|, and W X (k, p), in one walk over the rows if X is dense."""
    if A.sparse:
        B = onto(A.times, H) - l1
        return sweep(W, G, B), np.abs(B).sum(), onto(A.back, W)
    size = max(16, BLOCK // A.shape[1])

    def part(rows):
        moved, terms, C, g = 0.0, 0.0, np.zeros(H.shape), np.empty(CHUNK)
        for r in steps(rows, size):
            X = A.A[r]
            B = H @ X.T - l1
            moved += sweep_columns(W, G, B, g, r.start, r.stop)
            terms += np.abs(B, out=B).sum()
            C += W[:, r] @ X
        return moved, terms, C

    return tuple(sum(found) for found in zip(*run(part, shares(W)), strict=True))


def onto(product, H):
    """H Xᵀ (k, n) by a product with X, or W X (k, p) by one with Xᵀ."""
    return np.ascontiguousarray(product(H.T).T)


def coordinate_descent(A, W, H, prices, fix_H=False):
    """Yield a state after each sweep over W and H, indefinitely; both change in place.

    `A` has the products of X; `prices` are λ₁ and λ₂ of W, then of H. W is kept transposed (k, n).
    """
    l1_W, l2_W, l1_H, l2_H = prices
    W, H, first = np.ascontiguousarray(W.T), np.ascontiguousarray(H), None
    eye, gram = np.eye(len(W)), H @ H.T
    square = A.norm_sq
    B = onto(A.times, H) - l1_W if fix_H else None
    while True:
        if fix_H:
            moved, terms = sweep(W, gram + l2_W * eye, B), np.abs(B).sum()
            fit = square - 2.0 * (np.vdot(B, W) + l1_W * W.sum()) + np.vdot(W @ W.T, gram)
        else:
            moved, terms, C = sweep_and_project(A, W, H, gram + l2_W * eye, l1_W)
            WW = W @ W.T
            moved += sweep(H, WW + l2_H * eye, C - l1_H)
            terms, gram = terms + np.abs(C).sum(), H @ H.T
            fit = square - 2.0 * np.vdot(C, H) + np.vdot(WW, gram)
        first = moved if first is None else first
        change = moved / first if moved > ROUNDING * terms else 0.0
        yield FactorState(W.T, H, 0.5 * max(fit, 0.0) + penalty(W, H, prices), change)


def penalty(W, H, prices):
    """The terms of (1) with α."""
    l1_W, l2_W, l1_H, l2_H = prices
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


def multiplicative(X, W, H, beta, prices, fix_H=False):
    """Yield a state after each pair of updates (4), indefinitely.

    The objective, which costs a product, is known after every tenth.
    """
    l1_W, l2_W, l1_H, l2_H = prices
    gamma = 1.0 / (2.0 - beta) if beta < 1 else 1.0 / (beta - 1.0) if beta > 2 else 1.0

    def objective(W, H):
        return beta_divergence(X, W, H, beta) + penalty(W, H, prices)

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
