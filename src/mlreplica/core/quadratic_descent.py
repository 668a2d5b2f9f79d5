r"""The minimum of a quadratic model with an L1 penalty, by coordinate descent over columns of X

A loss with slopes R_i and curvatures h_i changes, by a step d of the weights w and c of an
intercept, nearly as

    M(d) = Σ R_i d_i' + ½ Σ h_i d_i'² + l1 ‖w + d‖₁ + l2/2 ‖w + d‖²,     d' = X d + c          (1)

With u = R + h d', the best value of one weight, c moving along and all else held fixed, is

    w_j ← S(a_j w_j − x_jᵀu, l1) / (a_j + l2),     a_j = Σ h_i (x_ij − x̄_j)²                   (2)

where x̄_j = Σ h_i x_ij / Σ h_i and S(v, t) = sign(v) (|v| − t)₊; c follows by −x̄_j times the step.
Where w keeps its zeros and its signs σ, M is a parabola, and its minimum a linear system,

    (X_Aᵀ h X_A + l2) d_A = −(g_A + l1 σ + l2 w_A),    A = {j: w_j ≠ 0}                        (3)

Sparse logistic regression and the L1 support vector machine minimise such models step by step.

Friedman, Hastie, Tibshirani, Regularization paths for generalized linear models via coordinate
descent (2010); Anderson, Iterative procedures for nonlinear integral equations (1965).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mlreplica.core.compile.jit import kernel
from mlreplica.core.conjugate_gradients import conjugate_gradients
from mlreplica.core.formulas.penalties import soft_threshold
from mlreplica.core.formulas.vectors import dot
from mlreplica.core.rows.stored import StoredColumns

SWEEPS = 30  # the most sweeps over one model: it is only a model
MANY = 100  # nonzero weights from which conjugate gradients are worth their start
PAYS = 0.01  # continue while the best step of a sweep gains this share of the best of all
Array: TypeAlias = npt.NDArray[Any]
Columns: TypeAlias = Any  # dense: X transposed; sparse: StoredColumns


@kernel
def dense_sweep(
    X: Array, h: Array, u: Array, w: Array, a: Array, m: Array, active: Array, l1: float,
    l2: float, h_sum: float, c: float, new: bool,
) -> tuple[float, int, float]:  # fmt: skip
    """(2) for the columns X[j] (stored as rows) in `active`; if `new`, a and m = Σ h x are made.

    u becomes R + h d' but for c h, the intercept's part. Returns c, how many columns are nonzero
    (they come first in `active` then) and the largest gain.
    """
    largest, kept = 0.0, 0
    for place in range(len(active)):
        j = active[place]
        if new:
            m[j] = dot(X[j], h)
            a[j] = -m[j] * m[j] / h_sum
            for i in range(len(h)):
                a[j] += h[i] * X[j, i] * X[j, i]
        if a[j] > 0.0:
            g = dot(X[j], u) + c * m[j]
            step = soft_threshold(a[j] * w[j] - g, l1) / (a[j] + l2) - w[j]
            if step != 0.0:
                w[j] += step
                c -= step * m[j] / h_sum
                for i in range(len(u)):
                    u[i] += step * h[i] * X[j, i]
                largest = max(largest, a[j] * step * step)
            if w[j] != 0.0:
                active[kept] = j
                kept += 1
    return c, kept, largest


@kernel
def sparse_sweep(
    start: Array, rows: Array, data: Array, h: Array, u: Array, w: Array, a: Array, m: Array,
    active: Array, l1: float, l2: float, h_sum: float, c: float, new: bool,
) -> tuple[float, int, float]:  # fmt: skip
    """The same with the columns of a CSC matrix; unsigned indices are never negative: 1.8 times."""
    largest, kept = 0.0, 0
    for place in range(len(active)):
        j, g, m_j, a_j = active[place], 0.0, 0.0, 0.0
        if new:
            for k in range(start[j], start[j + 1]):
                x, i = data[k], rows[k]
                g += x * u[i]
                m_j += x * h[i]
                a_j += x * h[i] * x
            m[j], a[j] = m_j, a_j - m_j * m_j / h_sum
        else:
            for k in range(start[j], start[j + 1]):
                g += data[k] * u[rows[k]]
        if a[j] > 0.0:
            step = soft_threshold(a[j] * w[j] - g - c * m[j], l1) / (a[j] + l2) - w[j]
            if step != 0.0:
                w[j] += step
                c -= step * m[j] / h_sum
                for k in range(start[j], start[j + 1]):
                    u[rows[k]] += step * h[rows[k]] * data[k]
                largest = max(largest, a[j] * step * step)
            if w[j] != 0.0:
                active[kept] = j
                kept += 1
    return c, kept, largest


def sweeps(
    columns: Columns, h: Array, u: Array, w: Array, l1: float, l2: float, free: bool,
    most: int = SWEEPS, pays: float = PAYS,
) -> float:  # fmt: skip
    """Sweep all columns, then the nonzero ones while it pays; w changes in place, c is returned.

    A sweep finds zeros and signs, but is slow to move many weights together, as without an
    intercept it must; conjugate gradients on (3) between the first two do that at once.
    After every five sweeps the last five changes are combined, with weights that make the smallest
    change (Anderson); u is linear in w, so the same weights give u. It is kept if (1) falls.
    """
    sparse = isinstance(columns, StoredColumns)
    sweep, parts = (sparse_sweep, columns.triple) if sparse else (dense_sweep, (columns,))
    a, m, active = np.empty(len(w)), np.empty(len(w)), np.arange(len(w))
    h_sum = h.sum() if free else np.inf
    c, best, R, past = -float(u.sum()) / h_sum, 0.0, u.copy(), []
    for count in range(most):
        c, kept, largest = sweep(*parts, h, u, w, a, m, active, l1, l2, h_sum, c, count == 0)
        active, best = active[:kept], max(best, largest)
        if largest <= pays * best:
            break
        if count == 0 and kept >= MANY:
            A = np.sort(active)
            c += along_face(columns, A, h, u, w, a, m, l1, l2, h_sum, c)
            continue
        past.append((w.copy(), u.copy(), c))
        if len(past) == 6:
            c = combined(past, R, h, u, w, l1, l2)
            past = []
    return c


def products(columns: Columns, A: Array) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """v ↦ (x_jᵀv for j in A) and d ↦ Σ_j d_j x_j."""
    if isinstance(columns, StoredColumns):
        chosen = columns.only(A)
        return lambda v: chosen.dots(v[None])[0], lambda d: chosen.total(d[None])[0]
    Z = columns[A]
    return Z.dot, Z.T.dot


def along_face(
    columns: Columns, A: Array, h: Array, u: Array, w: Array, a: Array, m: Array, l1: float,
    l2: float, h_sum: float, c: float,
) -> float:  # fmt: skip
    """Go to about the minimum (3), weights that change sign to zero, if (1) falls; the change of c.

    Conjugate gradients, preconditioned by the diagonal, to a hundredth of the first residual.
    """
    dots, total = products(columns, A)
    old, m_A = w[A], m[A]
    smooth = dots(u) + c * m_A

    def times(p: Array) -> Any:
        return dots(h * total(p)) - m_A * (m_A @ p / h_sum) + l2 * p

    r = -(smooth + l1 * np.sign(old) + l2 * old)
    d = conjugate_gradients(times, r, 1.0 / (a[A] + l2), 0.01, SWEEPS)
    d = np.where((old + d) * old < 0.0, -old, d)
    change, move = total(d), -(m_A @ d) / h_sum
    model = smooth @ d + 0.5 * (change @ (h * change) + (m_A @ d) * move)
    new = old + d
    penalty = l1 * (np.abs(new) - np.abs(old)).sum() + 0.5 * l2 * (new @ new - old @ old)
    if not model + penalty < 0.0:
        return 0.0
    w[A] = new
    u += h * change
    return float(move)


def combined(
    past: list[tuple[Array, Array, float]], R: Array, h: Array, u: Array, w: Array, l1: float,
    l2: float,
) -> float:  # fmt: skip
    """Anderson's combination of past sweeps, written to u and w if it is better; its c."""
    W, U, c = (np.array(part) for part in zip(*past, strict=True))
    steps = np.diff(W, axis=0)
    G = steps @ steps.T
    G.reshape(-1)[:: len(G) + 1] += 1e-10 * G.trace() + 1e-300
    share = np.linalg.solve(G, np.ones(len(G)))
    share /= share.sum()

    def value(w: Array, u: Array, c: float) -> Any:
        e = u + c * h
        loss = 0.5 * float(((e - R) * (e + R) / np.maximum(h, 1e-300)).sum())
        return loss + l1 * np.abs(w).sum() + 0.5 * l2 * (w @ w)

    w_new, u_new, c_new = share @ W[1:], share @ U[1:], float(share @ c[1:])
    if value(w_new, u_new, c_new) < value(w, u, c[-1]):
        w[:], u[:] = w_new, u_new
        return c_new
    return float(c[-1])


def by_column(X: Any, n_jobs: int | None = None) -> Columns:
    """X as the sweeps take it: a dense transpose, or stored columns."""
    if not hasattr(X, "tocsc"):
        return np.ascontiguousarray(X.T)
    X = X.tocsc()
    rows = X.indices.astype(np.int32, copy=False).view(np.uint32)
    triple = X.indptr.astype(np.uint64), rows, X.data
    return StoredColumns(triple, np.arange(X.shape[1]), X.shape[0], n_jobs)
