"""β-divergences: how far a product W H is from X"""

import numpy as np
import scipy.sparse as sp

from mlreplica.core.compile.threads import n_threads, run, split
from mlreplica.core.rows.walk import steps

EPS = float(np.finfo(np.float32).eps)
NAMES = {"frobenius": 2.0, "kullback-leibler": 1.0, "itakura-saito": 0.0}
BLOCK = 1 << 16  # entries that are compared at a time


def product_where_stored(X, W, H):
    """The entries of W H where the sparse X stores one, in X's pattern."""
    X = X.tocsr()
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    values = np.empty(len(rows))
    for a in range(0, len(rows), 1 << 16):
        b = slice(a, a + (1 << 16))
        values[b] = np.einsum("ij,ij->i", W[rows[b]], H.T[X.indices[b]])
    return sp.csr_array((values, X.indices, X.indptr), shape=X.shape)


def squared_distance(X, W, H):
    """‖X − WH‖² for a dense X, a block of rows at a time, shared by threads."""

    def part(rows):
        total = 0.0
        for r in steps(rows, max(1, BLOCK // X.shape[1])):
            D = W[r] @ H
            D -= X[r]
            total += np.vdot(D, D)
        return total

    return float(sum(run(part, split(len(X), n_threads(), 1 + BLOCK // X.shape[1]))))


def beta_divergence(X, W, H, beta):
    """D_β(X | W H); half the squared Frobenius norm for β = 2."""
    if beta == 2:
        if sp.issparse(X):
            cross = ((X @ H.T) * W).sum()
            square = ((W.T @ W) * (H @ H.T)).sum()
            return float(max(X.multiply(X).sum() + square - 2.0 * cross, 0.0)) / 2.0
        return squared_distance(X, W, H) / 2.0
    if sp.issparse(X):
        V, x = product_where_stored(X, W, H).data, X.tocsr().data
    else:
        V, x = (W @ H).ravel(), np.ravel(X)
    some = x > EPS
    v, x = np.maximum(V[some], EPS), x[some]
    if beta == 1:
        return float(W.sum(axis=0) @ H.sum(axis=1) + x @ np.log(x / v) - x.sum())
    if beta == 0:
        return float((x / v).sum() - np.prod(W.shape[:1] + H.shape[1:]) - np.log(x / v).sum())
    whole = sum(((w @ H) ** beta).sum() for w in W) if sp.issparse(X) else (V**beta).sum()
    cross = (x * v ** (beta - 1)).sum()
    return float(((x**beta).sum() - beta * cross + (beta - 1) * whole) / (beta * (beta - 1)))
