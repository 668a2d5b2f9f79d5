r"""A few rows that stand for all: models that see sums of squares and products alone

Least squares, ridge, lasso, elastic net, principal components, covariances and discriminants learn
from rows z_i with weights s_i only

    n = Σ s_i,      m = Σ s_i z_i / n,      S = Σ s_i (z_i − m)(z_i − m)ᵀ.                     (1)

A walk finds n, m and a triangle R with S = RᵀR (`core/rows/moments.py`: triangles of blocks add
up, and never square the condition number as S does). Its k rows r_j, scaled, then make a small
set of rows with the same (1): with a weight ω, a power of two at most n/2k,

    m ± r_j / √(2ω), weight ω each,   and   m itself, weight n − 2kω.                          (2)

Their weights sum to n exactly, their mean is m, and their products sum to 2k terms ω r_j r_jᵀ/2ω,
which is S. So the estimator's own `fit` on (2) gives the model of all rows: every solver, every
attribute, the certificate too. It is fitted about m, so that no digit is lost to columns far from
zero, and moved back.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mlreplica.core.linalg import EPS, cholesky
from mlreplica.core.rows.moments import Moments, Triangle, as_walk
from mlreplica.core.rows.walk import Sums

from ._blocks import Block, dense
from ._rows import Rows

WELL = 1e-4  # 1/κ² down to which Cholesky's triangle of S keeps eleven digits


def statistic_of(block: Block, of: Any, target: bool, centre: bool) -> Sums:
    """How many rows, how many of them with one number as target, and `of` the walk over [X y]."""
    X, y, s = dense(block, target=target)
    Z = np.column_stack([X, y]) if target else X
    flat = len(X) if target and y.ndim == 1 else 0
    return Sums((len(X), flat, of(as_walk(np.asarray(Z, dtype=np.float64), s, centre))))


def triangle_of(rows: Rows, *, target: bool, centre: bool) -> tuple[int, int, Triangle]:
    """The counts of `statistic_of`, and the triangle of all rows.

    Products are several times as fast as triangles. So they come first, and triangles by a second
    walk only where products would lose digits.
    """
    count, flat, m = rows.sum(statistic_of, Moments.of, target, centre)
    factor = cholesky(m.S) if m.n > 0.0 and m.finite() else None
    if factor is not None and factor.rcond > WELL * m.cost:
        return count, flat, Triangle(m.n, m.mean, factor.R / factor.d, centre)
    return rows.sum(statistic_of, Triangle.of, target, centre)


def representatives(t: Triangle) -> tuple[Any, Any]:
    """The rows (2) about m, and their weights."""
    R = t.R
    if t.centre:  # what centring leaves of a constant column is rounding
        length = np.abs(R).max(axis=0, initial=0.0)
        R = np.where(length <= 4 * EPS * np.abs(t.mean) * math.sqrt(t.n), 0.0, R)
    k = len(R)
    if not k:
        return np.zeros((1, R.shape[1])), np.array([t.n])
    share = 2.0 ** math.floor(math.log2(t.n / (2 * k)))
    half = R / math.sqrt(2.0 * share)
    rest = t.n - 2 * k * share
    Z = np.vstack([half, -half, np.zeros((int(rest > 0.0), R.shape[1]))])
    return Z, np.append(np.full(2 * k, share), [rest] * (rest > 0.0))


def fit_linear(model: Any, rows: Rows) -> None:
    """LinearRegression, Ridge, Lasso, ElasticNet and the like: (1) of [X y]."""
    centre = model.fit_intercept and not getattr(model, "penalize_intercept", False)
    if model.fit_intercept and not centre:
        raise ValueError("penalize_intercept=True needs all rows in memory.")
    count, flat, t = triangle_of(rows, target=True, centre=centre)
    if fitted_if_few(model, rows, count, t):
        return
    p, (Z, s) = rows.width, representatives(t)
    model.fit(Z[:, :p], Z[:, p] if flat else Z[:, p:], sample_weight=s)
    if centre:
        b = t.mean[p:] - np.atleast_2d(model.coef_) @ t.mean[:p]
        model.intercept_ = b[0] if np.ndim(model.intercept_) == 0 else b


def fit_axes(model: Any, rows: Rows) -> None:
    """PCA: (1) of X."""
    count, _, t = triangle_of(rows, target=False, centre=True)
    if not fitted_if_few(model, rows, count, t):
        Z, s = representatives(t)
        model.fit(Z, sample_weight=s)
        model.mean_ = t.mean


def fit_covariance(model: Any, rows: Rows) -> None:
    """EmpiricalCovariance and ShrunkCovariance: (1) of X, about zero if `assume_centered`."""
    centre = not model.assume_centered
    count, _, t = triangle_of(rows, target=False, centre=centre)
    if not fitted_if_few(model, rows, count, t):
        Z, s = representatives(t)
        model.fit(Z, sample_weight=s)
        model.location_ = t.mean if t.centre else model.location_


class ByClass(dict[Any, Any]):
    """A statistic for each class; `a + b` joins them class by class."""

    def __add__(self, other: Any) -> ByClass:
        return ByClass(
            {
                k: self[k] + other[k] if k in self and k in other else self.get(k, other.get(k))
                for k in self | other
            }
        )


def triangles_of_classes(block: Block) -> ByClass:
    """The triangle of the rows of each class."""
    X, y, s = dense(block, target=True)
    X = np.asarray(X, dtype=np.float64)
    which = ((k, y == k) for k in np.unique(y))
    return ByClass({k: Triangle.of(X[i], None if s is None else s[i]) for k, i in which})


def fit_discriminant(model: Any, rows: Rows) -> None:
    """LinearDiscriminantAnalysis and QuadraticDiscriminantAnalysis: (1) of each class."""
    if model.covariance_estimator is not None or model.shrinkage == "auto":
        raise ValueError(
            "covariance_estimator and shrinkage='auto' need all rows in memory; give shrinkage as "
            "a number."
        )
    found = rows.sum(triangles_of_classes)
    classes = [k for k in sorted(found) if found[k].n > 0.0]
    n = sum(found[k].n for k in classes)
    origin = sum(found[k].n / n * found[k].mean for k in classes)
    if model.solver != "svd":  # its scores have the term Σ⁻¹m_k, with m_k as given
        origin = 0.0 * origin
    few = [representatives(found[k]) for k in classes]
    X = np.vstack([Z + (found[k].mean - origin) for k, (Z, _) in zip(classes, few, strict=True)])
    y = np.repeat(np.array(classes), [len(Z) for Z, _ in few])
    model.fit(X, y, sample_weight=np.concatenate([s for _, s in few]))
    for name in ("means_", "xbar_"):
        if hasattr(model, name):
            setattr(model, name, getattr(model, name) + origin)
    if hasattr(model, "intercept_"):
        model.intercept_ = model.intercept_ - model.coef_ @ origin


def fitted_if_few(model: Any, rows: Rows, count: int, t: Triangle) -> bool:
    """Fit on the rows themselves if they are no more than (2) would be; whether it was so."""
    if not t.n > 0.0:
        raise ValueError("all sample_weight are zero; give some row a positive weight.")
    if count > 2 * t.R.shape[1] + 1:
        return False
    X, y, s, *_ = rows.gathered()
    X = X.toarray() if hasattr(X, "toarray") else X
    model.fit(np.asarray(X, dtype=np.float64), *([] if y is None else [y]), sample_weight=s)
    return True
