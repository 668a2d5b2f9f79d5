r"""Leave one row out, for every row and every α, without fitting again

With A, c and α as in `direct.py`, the fitted values of c are H c with the hat matrix

    H = A (AᵀA + αI)⁻¹ Aᵀ + √s√sᵀ/S,      the last term for the offset alone.                (8)

The residual of row i in the fit without row i follows from the fit with it:

    e_i = r_i / (1 − h_i),    r = c − H c,    h_i = H_ii.                                    (9)

Let AᵀA = V Λ Vᵀ, B = A V and D = 1/(Λ + α). All α share V, so one product of B, and one of the
squares of B, with a matrix of p numbers an α gives all residuals of a block of rows:

    h_i = Σ_j B_ij² D_j + s_i/S,     r_i = c_i − Σ_j B_ij D_j (Bᵀc)_j.                      (10)

With n ≤ p rows, I − A(AᵀA + αI)⁻¹Aᵀ = α (AAᵀ + αI)⁻¹, and α cancels: with AAᵀ = Q Λ Qᵀ

    e_i = Σ_j Q_ij D_j (Qᵀc)_j / Σ_j Q_ij² D_j                                              (11)

over all directions but that of √s, if there is an offset: it is an eigenvector, as Aᵀ√s = 0.

Allen, The relationship between variable selection and data augmentation and a method for
prediction (1974); Golub, Heath, Wahba, Generalized cross-validation as a method for choosing a
good ridge parameter (1979).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from mlreplica.linear_model.least_squares.direct import DesignTriangle
from mlreplica.linear_model.least_squares.sparse import means

from .direct import RidgeSolution, as_arrays, by_cholesky, svd_rounding

SAFE = 1e-10  # α / λ₁ from which eigenvalues of AᵀA are good enough


class Errors(NamedTuple):
    """What leaving out tells, and what a fit can use again."""

    total: np.ndarray  # (q, m): Σ_i e_i² for each target and α
    each: np.ndarray | None  # (n, q, m): e of (9), which has the factor √s_i
    fit: Callable  # fit(α, k), the k-th α for each target: the RidgeSolution, or None


def tall(rows, alphas, keep, by_svd):
    """By (10), one block of rows after another."""
    normal, p = rows.normal(), rows.X.shape[1]
    centred, dx, dy = normal.centred() if rows.intercept else (normal, 0.0, 0.0)
    values, V = np.linalg.eigh(centred.G)
    if (by_svd or alphas.min() < SAFE * values[-1]) and not sp.issparse(rows.X):
        _, sigma, Vt = np.linalg.svd(DesignTriangle.of(rows).Rc)
        values, V = np.zeros(p), Vt.T
        values[: len(sigma)] = sigma**2
    D = 1.0 / (np.maximum(values, 0.0)[:, None] + alphas)  # (p, m)
    n, q, m = rows.X.shape[0], rows.y.shape[1], len(alphas)
    W = (D[:, None] * (V.T @ centred.b)[:, :, None]).reshape(p, q * m)
    S = float(n if rows.s is None else rows.s.sum())
    each = np.empty((n, q, m)) if keep else None

    def work(blocks):
        total = np.zeros((q, m))
        for b, Z, *_ in blocks:
            B = Z[:, :p] @ V
            e = Z[:, p:, None] - (B @ W).reshape(len(B), q, m)
            B *= B
            left = 1.0 - B @ D  # 1 − h
            if rows.intercept:
                left -= (1.0 if rows.s is None else rows.s[b, None]) / S
            e /= left[:, None]
            total += np.einsum("iqm,iqm->qm", e, e)
            if keep:
                each[b] = e
        return total

    about = rows.but(intercept=False, x0=rows.x0 + dx, y0=rows.y0 + dy)
    return Errors(sum(about.map(work)), each, lambda alpha, _: by_cholesky(rows, alpha, normal))


def wide(rows, alphas, keep, by_svd):
    """By (11)."""
    n = rows.X.shape[0]
    root = np.ones(n) if rows.s is None else np.sqrt(rows.s)
    one = root / np.linalg.norm(root)
    if sp.issparse(rows.X):
        A, (K, c), by_svd = None, sparse_products(rows, root), False
    else:
        A, c, frame = as_arrays(rows)
        K = None if by_svd else A @ A.T
    if by_svd:
        if rows.intercept:  # one more column makes √s the first singular vector, for certain
            more = np.column_stack([A, 2.0 * np.linalg.norm(A) * one + 1e-300])
        Q, sigma, _ = np.linalg.svd(more if rows.intercept else A, full_matrices=False)
        values, Q = sigma[::-1] ** 2, Q[:, ::-1]
    else:
        if rows.intercept:
            K = K + np.outer(one, 4.0 * K.trace() * one)
        values, Q = np.linalg.eigh(K)
    if rows.intercept:
        values, Q = values[:-1], Q[:, :-1]
    D = 1.0 / (np.maximum(values, 0.0)[:, None] + alphas)  # (n, m)
    q, m = c.shape[1], len(alphas)
    beta = Q @ (D[:, None] * (Q.T @ c)[:, :, None]).reshape(len(D), q * m)
    with np.errstate(divide="ignore", invalid="ignore"):
        e = beta.reshape(n, q, m) / ((Q * Q) @ D)[:, None]
    e[root == 0.0] = 0.0

    def fit(alpha, k):
        if A is None or alphas.min() < SAFE * values[-1]:
            return None
        w = A.T @ beta.reshape(n, q, m)[:, np.arange(q), k]
        top = np.array([np.sqrt(values[-1])])
        gap = svd_rounding(rows, top, np.linalg.norm(c, axis=0), w, alpha)
        return RidgeSolution(*frame(w), gap, "cholesky")

    return Errors(np.einsum("iqm,iqm->qm", e, e), e if keep else None, fit)


def sparse_products(rows, root):
    """AAᵀ and c of a sparse X about its means, without filling X."""
    X, y, one = rows.X, rows.y, np.ones(rows.X.shape[0])
    K = (X @ X.T).toarray()
    if rows.intercept:
        x_mean, y_mean = means(X, y, rows.s)
        t, y = X @ x_mean, y - y_mean
        K += (x_mean @ x_mean) * np.outer(one, one) - np.outer(t, one) - np.outer(one, t)
    return K * np.outer(root, root), root[:, None] * y
