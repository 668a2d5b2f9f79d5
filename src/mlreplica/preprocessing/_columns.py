r"""Columns: what every scaler does with them, at the speed of a copy

A scaler learns two numbers per column, a_j and b_j, and maps

    z = (x − a_j) / b_j        or back        x = z·b_j + a_j                                  (1)

Rows are short, and a loop over four columns is mostly overhead. So k rows that follow each other in
memory are read as one row of k·p columns, with a and b repeated k times. The sum of what is
written is kept: it is finite unless a value is not, so that no second pass has to look for them.

Moments come from blocks that fit in the cache. Block b of n_b rows has its own mean m_b and squares
S_b = Σ (x − m_b)², and together, with m = Σ n_b m_b / n (Chan, Golub, LeVeque 1983),

    S = Σ S_b + Σ n_b (m_b − m)²                                                               (2)
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.compat import _align_api_if_sparse
from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run, split
from mlreplica.core.linear import checked_weights, forget_names
from mlreplica.core.rows.walk import is_sparse
from mlreplica.core.validation import FLOATS, is_finite, validate_data

SMALL = 4096  # entries up to which NumPy's own loops are as fast, and need no compiled code
WIDE = 512  # columns of a row that a loop over them is fast for
BLOCK = 1 << 15  # entries of a block: it stays in the cache between two passes
THREAD = 1 << 18  # entries that are worth a thread
HALF = (*FLOATS, np.dtype(np.float16))


@kernel
def subtract_divide(X, a, b, out):
    """out ← (X − a) / b, and return its sum: equation (1)."""
    total = 0.0
    p = len(a)
    for i in range(len(X)):
        x, z = X[i], out[i]
        for j in range(p):
            t = (x[j] - a[j]) / b[j]
            z[j] = t
            total += t
    return total


@kernel
def multiply_add(X, b, a, out):
    """out ← X·b + a, and return its sum: (1) backwards."""
    total = 0.0
    p = len(a)
    for i in range(len(X)):
        x, z = X[i], out[i]
        for j in range(p):
            t = x[j] * b[j] + a[j]
            z[j] = t
            total += t
    return total


@kernel
def block_moments(X, size, mean, off, squares):
    """Fill a row of each for every block of `size` rows; mean + off has twice the digits."""
    n, p = X.shape
    for k in range(len(mean)):
        rows = min(n, (k + 1) * size) - k * size
        m, e, S = mean[k], off[k], squares[k]
        for j in range(p):
            m[j] = 0.0
            e[j] = 0.0
            S[j] = 0.0
        for i in range(k * size, k * size + rows):
            x = X[i]
            for j in range(p):
                m[j] += x[j]
        for j in range(p):
            m[j] /= rows
        for i in range(k * size, k * size + rows):
            x = X[i]
            for j in range(p):
                d = x[j] - m[j]
                e[j] += d
                S[j] += d * d
        for j in range(p):  # what the rounding of a long sum left
            e[j] /= rows
            S[j] -= e[j] * e[j] * rows


class ColumnMoments(NamedTuple):
    """Weight n, mean and squares about it of every column; `a + b` is that of all rows."""

    n: Any  # a number, or one per column if values are missing
    mean: Any
    squares: Any

    def __add__(self, other: ColumnMoments) -> ColumnMoments:
        """Equation (2) for two blocks."""
        n = self.n + other.n
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(n > 0, other.n / n, 0.0)
        mine, theirs = (np.where(m.n > 0, m.mean, 0.0) for m in (self, other))
        d = np.where((self.n > 0) & (other.n > 0), theirs - mine, 0.0)
        mean = np.where(self.n > 0, mine + d * share, theirs)
        squares = self.squares + other.squares + d * d * (self.n * share)
        return ColumnMoments(n, np.where(n > 0, mean, np.nan), squares)

    @classmethod
    def of(cls, X: Any, weight: Any = None) -> ColumnMoments:
        """Of dense or sparse rows; missing values are left out, column by column."""
        if is_sparse(X):
            return sparse_moments(X, weight)
        if X.dtype not in FLOATS:
            X = X.astype(np.float64)
        if weight is None:
            found = plain_moments(X)
            if np.isfinite(found.mean).all():
                return found
        total = None
        size = max(1, BLOCK // X.shape[1])
        for start in range(0, len(X), size):
            rows = slice(start, start + size)
            part = weighted_moments(X[rows], None if weight is None else weight[rows])
            total = part if total is None else total + part
        n = total.n
        return total._replace(n=n[0] if (n == n[0]).all() else n)

    def variance(self) -> Any:
        """squares / n, NaN for a column without values."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.n > 0, self.squares / self.n, np.nan)


def finite_variance(model: Any, moments: ColumnMoments) -> Any:
    """The variance of every column; ValueError if one overflows."""
    var = moments.variance()
    bad = np.count_nonzero(~np.isfinite(var) & np.broadcast_to(moments.n > 0, var.shape))
    if bad:
        raise ValueError(
            f"{type(model).__name__} overflowed: the variance of {bad} of {len(var)} columns is "
            "not finite; divide X by a constant first."
        )
    return var


@np.errstate(over="ignore", invalid="ignore")
def plain_moments(X: Any) -> ColumnMoments:
    """Of rows without weights, on threads; not finite if a value is not."""
    n, p = X.shape
    if X.size <= SMALL:
        mean = np.add.reduce(X, axis=0, dtype=np.float64) / n
        D = X - mean
        off = np.add.reduce(D, axis=0) / n  # the mean again, without the rounding of its sum
        squares = np.einsum("ij,ij->j", D, D) - n * off * off
        return ColumnMoments(n, mean + off, np.maximum(squares, 0.0))
    if not X.flags.c_contiguous:
        X = np.ascontiguousarray(X)
    k = max(1, WIDE // p)
    head = X[: n // k * k].reshape(-1, k * p)
    size = max(1, BLOCK // (k * p))

    def part(rows: slice) -> Any:
        count = -(-(rows.stop - rows.start) // size)
        mean, off, squares = np.empty((3, count, k * p))
        block_moments(head[rows], size, mean, off, squares)
        lengths = np.full(count, float(size))
        lengths[-1] = rows.stop - rows.start - size * (count - 1)
        return np.repeat(lengths, k), *(A.reshape(-1, p) for A in (mean, off, squares))

    parts = run(part, split(len(head), n_threads(), least=1 + THREAD // (k * p)))
    rest = X[n // k * k :]
    if len(rest):
        m = rest.mean(axis=0, dtype=np.float64)
        e = (rest - m).mean(axis=0)
        last = ((rest - m - e) ** 2).sum(axis=0)
        parts.append(([float(len(rest))], m[None], e[None], last[None]))
    lengths, means, off, squares = (np.concatenate(these) for these in zip(*parts, strict=True))
    mean = lengths @ means / n
    d = (means - mean) + off
    e = lengths @ d / n
    squares = squares.sum(axis=0) + lengths @ (d - e) ** 2  # (2)
    mean += e
    return ColumnMoments(n, mean, np.maximum(squares, 0.0))


def weighted_moments(X: Any, weight: Any) -> ColumnMoments:
    """Of rows with weights or missing values; n is a number per column."""
    there = ~np.isnan(X)
    w = np.ones(len(X)) if weight is None else weight
    n = w @ there
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = w @ np.where(there, X, 0.0).astype(np.float64) / n
    D = np.where(there & (n > 0), X - np.where(n > 0, mean, 0.0), 0.0)
    off = np.where(n > 0, (w @ D) / np.where(n > 0, n, 1.0), 0.0)
    return ColumnMoments(n, mean + off, np.maximum(w @ (D * D) - n * off * off, 0.0))


def sparse_moments(X: Any, weight: Any) -> ColumnMoments:
    """Of CSR or CSC rows, whose zeros count."""
    n_rows, p = X.shape
    if X.format == "csr":
        j = X.indices
        w = None if weight is None else np.repeat(weight, np.diff(X.indptr))
    else:
        j = np.repeat(np.arange(p), np.diff(X.indptr))
        w = None if weight is None else weight[X.indices]
    x = X.data.astype(np.float64, copy=False)
    total = float(n_rows) if weight is None else weight.sum()
    missing = np.isnan(x)
    add = lambda values: np.bincount(j, values if w is None else w * values, p).astype(float)
    n, gaps = np.full(p, total), j[missing]
    if len(gaps):
        n -= np.bincount(gaps, None if w is None else w[missing], p)
        x, j, w = x[~missing], j[~missing], None if w is None else w[~missing]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = add(x) / n
        rows = n_rows - np.bincount(gaps, minlength=p)
        absent = np.where(np.bincount(j, minlength=p) < rows, n - add(np.ones(len(x))), 0.0)
        d = x - mean[j]
        off = (add(d) - absent * mean) / n  # the mean again, without the rounding of its sum
        squares = add(d * d) + absent * mean**2 - n * off**2
    squares = np.where(n > 0, np.maximum(squares, 0.0), 0.0)
    return ColumnMoments(n[0] if (n == n[0]).all() else n, mean + off, squares)


def rows_to_fit(model: Any, X: Any, **options: Any) -> Any:
    """X validated for `fit`; values may be missing unless `options` say otherwise."""
    if is_plain_matrix(X) and is_finite(X):
        if options.get("reset", True):
            forget_names(model, X)
            return X
        if X.shape[1] == getattr(model, "n_features_in_", 0) and not has_names(model):
            return X
    given = {"dtype": HALF, "ensure_all_finite": "allow-nan", **options}
    return validate_data(model, X, **given)


def is_plain_matrix(X: Any) -> bool:
    """Whether X is an array of floats with rows and columns."""
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype in FLOATS and X.size > 0


def is_plain_row(model: Any, X: Any) -> bool:
    """Whether X is an array of floats with the columns seen in `fit`, which had no names."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in FLOATS
        and X.shape[1] == getattr(model, "n_features_in_", None)
        and len(X) > 0
        and not has_names(model)
    )


def has_names(model: Any) -> bool:
    """Whether the columns had names in `fit`."""
    return "feature_names_in_" in vars(model)


def rows_to_map(model: Any, X: Any, **options: Any) -> Any:
    """X validated for `transform`; values may be missing."""
    if is_plain_row(model, X) and is_finite(X):
        return X
    check_is_fitted(model)
    given = {"dtype": HALF, "ensure_all_finite": "allow-nan", "reset": False, **options}
    return validate_data(model, X, **given)


def mapped(model: Any, X: Any, loop: Any, first: Any, second: Any, copy: bool, **options: Any):
    """The rows of X through `loop`, which is one of (1); in place if `copy` is false."""
    if copy and is_plain_row(model, X):
        out = np.empty_like(X)
        if math.isfinite(through(loop, X, first, second, out)):
            return out
    X = rows_to_map(model, X, **options)
    if is_sparse(X):
        return X
    out = X if not copy and X.flags.writeable else np.empty_like(X)
    through(loop, X, first, second, out)
    return out


@np.errstate(over="ignore", invalid="ignore")
def through(loop: Any, X: Any, first: Any, second: Any, out: Any) -> float:
    """out ← loop(X, first, second), and its sum; None stands for 0 and 1."""
    n, p = X.shape
    if X.size <= SMALL or X.dtype not in FLOATS:
        return by_numpy(loop, X, first, second, out)
    neutral = (np.zeros, np.ones) if loop is subtract_divide else (np.ones, np.zeros)
    u, v = (make(p) if c is None else c for make, c in zip(neutral, (first, second), strict=True))
    if X.flags.c_contiguous and out.flags.c_contiguous:
        k = max(1, WIDE // p)
    elif X.flags.f_contiguous and out.flags.f_contiguous:
        return sum(
            run(lambda j: by_numpy(loop, X[:, j], u[j], v[j], out[:, j]), range(p), n_jobs=None)
        )
    else:
        return by_numpy(loop, X, first, second, out)
    U, V = np.tile(u, k), np.tile(v, k)
    head, to = (Z[: n // k * k].reshape(-1, k * p) for Z in (X, out))
    parts = split(len(head), n_threads(), least=1 + THREAD // (k * p))
    total = sum(run(lambda rows: loop(head[rows], U, V, to[rows]), parts))
    if n % k:
        total += by_numpy(loop, X[n // k * k :], u, v, out[n // k * k :])
    return float(total)


@np.errstate(over="ignore", invalid="ignore")
def by_numpy(loop: Any, X: Any, first: Any, second: Any, out: Any) -> float:
    """The same by NumPy, for few rows and other layouts."""
    one, two = (np.subtract, np.divide) if loop is subtract_divide else (np.multiply, np.add)
    if X.dtype == np.float64:
        if first is not None:
            X = one(X, first, out=out)
        if second is not None:
            X = two(X, second, out=out)
    else:  # rounded once, at the end
        X = X if first is None else one(X, first, dtype=np.float64)
        X = X if second is None else two(X, second, dtype=np.float64)
    if X is not out:
        out[...] = X
    return out.sum()


def scaled_sparse(X: Any, factor: Any, copy: bool) -> Any:
    """A CSR or CSC matrix with column j times factor_j, with indices shared if not copied."""
    X = X.copy() if copy else X
    j = X.indices if X.format == "csr" else np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
    X.data *= factor.astype(X.dtype)[j]
    return _align_api_if_sparse(X) if copy else X


def weights_of(sample_weight: Any, X: Any) -> Any:
    """One weight per row, or None."""
    if sample_weight is None:
        return None
    weight = checked_weights(sample_weight, X)
    if not weight.any():
        raise ValueError("all sample_weight are zero; give some row a positive weight.")
    return weight


def nonzero(scale: Any, constant: Any = None) -> Any:
    """A copy of `scale` with 1 for columns that are constant but for rounding."""
    if constant is None:
        constant = scale < 10 * np.finfo(scale.dtype).eps
    return np.where(constant, 1.0, scale).astype(scale.dtype, copy=False)


def scaled_function(model: Any, X: Any, axis: int, **options: Any) -> Any:
    """What `model` makes of X, which may be a vector, by columns (0) or by rows (1)."""
    given = {"accept_sparse": False, "dtype": HALF, "ensure_all_finite": "allow-nan", **options}
    X = check_array(X, copy=False, ensure_2d=False, **given)
    vector = X.ndim == 1
    if vector:
        X = X.reshape(-1, 1)
    X = model.fit_transform(X) if axis == 0 else model.fit_transform(X.T).T
    return X.ravel() if vector else X
