r"""Scores of single columns: does a column differ between classes, or move with a number?

Analysis of variance: K classes with n_k rows and means m_k of a column, of n rows with mean m,

    F = [Σ_k n_k (m_k − m)² / (K − 1)]  /  [Σ_k Σ_{i in k} (x_i − m_k)² / (n − K)]            (1)

follows F(K − 1, n − K) if all classes have the same normal distribution. For a number y,

    r = Σ_i (x_i − x̄)(y_i − ȳ) / √(Σ_i (x_i − x̄)² Σ_i (y_i − ȳ)²)                             (2)
    F = (n − 2) r² / (1 − r²)   follows   F(1, n − 2)                                         (3)

if y is normal and unrelated to x. For counts O_k of a column in class k, E_k = (n_k/n) Σ_k O_k
expected,

    χ² = Σ_k (O_k − E_k)² / E_k   follows, for large counts,   χ²(K − 1)                      (4)

One pass over the rows serves all columns. Sums run about a row of the data, not about zero, so that
columns far from the origin keep their digits.

References
----------
Fisher: Statistical Methods for Research Workers. Oliver and Boyd, 1925.
"""

import warnings

import numpy as np
import scipy.sparse as sp
from scipy.special import chdtrc, fdtrc
from sklearn.utils import check_array, check_X_y

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run, split
from mlreplica.core.rows.classes import ClassMoments
from mlreplica.core.rows.walk import steps
from mlreplica.core.validation import distinct, is_plain

CHUNK = 1 << 16  # entries that are converted at a time


@kernel
def add_products(X, y, origin, sums):
    """Add Σ d, Σ d² and Σ dy to the rows of sums, with d = x − origin."""
    p = X.shape[1]
    s, q, c = sums[0], sums[1], sums[2]
    for i in range(len(X)):
        x, y_i = X[i], y[i]
        for j in range(p):
            d = x[j] - origin[j]
            s[j] += d
            q[j] += d * d
            c[j] += d * y_i


def class_codes(y):
    """The number of classes, and the class of each row."""
    classes, code = distinct(y)
    return len(classes), np.asarray(code, dtype=np.int64)


def f_oneway(*args):
    """Analysis of variance of groups of rows: the F statistic (1) of each column.

    Parameters
    ----------
    *args : {array-like, sparse matrix}
        The rows of each group, all with the same columns.

    Returns
    -------
    f_statistic : ndarray of shape (n_features,)
        F of each column.
    p_value : ndarray of shape (n_features,)
        The probability of so large an F if the groups do not differ.

    Examples
    --------
    >>> from mlreplica.feature_selection import f_oneway
    >>> F, p = f_oneway([[1.0], [2.0], [3.0]], [[4.0], [5.0], [6.0]])
    >>> F, p.round(4)
    (array([13.5]), array([0.0213]))
    """
    groups = [a if sp.issparse(a) else np.asarray(a, dtype=np.float64) for a in args]
    code = np.repeat(np.arange(len(groups)), [a.shape[0] for a in groups])
    flat = all(a.ndim == 1 for a in groups)
    if sp.issparse(groups[0]):
        together = sp.vstack(groups, "csr")
    else:  # a group of numbers stands for all columns
        p = max(a.shape[1] if a.ndim == 2 else 1 for a in groups)
        columns = [a if a.ndim == 2 else np.repeat(a[:, None], p, axis=1) for a in groups]
        together = np.concatenate(columns)
    F, p_value = f_of_classes(together, code, len(groups))
    return (F[0], p_value[0]) if flat else (F, p_value)


def f_of_classes(X, code, K):
    """F (1) and its p-value, for each column of valid rows."""
    n = X.shape[0]
    if sp.issparse(X):
        sums = indicator(code, K) @ X
        sums = sums.toarray() if sp.issparse(sums) else np.asarray(sums)
        squares = np.asarray(X.multiply(X).sum(axis=0)).ravel()
        n_k = np.bincount(code, minlength=K)[:, None]
        m_k, m = sums / n_k, sums.sum(axis=0) / n
        within = squares - (sums * m_k).sum(axis=0)
    else:
        moments = ClassMoments.of(X, code, K)
        n_k, m_k = moments.n[:, None], moments.mean
        m = m_k[0] + (n_k * (m_k - m_k[0])).sum(axis=0) / n
        within = moments.squares.sum(axis=0)
    d = m_k - m
    ms_between, ms_within = (n_k * d * d).sum(axis=0) / (K - 1), within / (n - K)
    constant = np.flatnonzero(ms_within == 0)
    if len(constant) and not ms_between.all():
        warnings.warn(f"Features {constant} are constant.", UserWarning, stacklevel=3)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        F = ms_between / ms_within
    return F, fdtrc(K - 1, n - K, F)


def indicator(code, K):
    """The sparse matrix (K, n) that adds up the rows of each class."""
    n = len(code)
    return sp.csc_array((np.ones(n), code, np.arange(n + 1)), shape=(K, n))


def f_classif(X, y):
    """F statistic (1) of each column, for rows in classes.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Classes.

    Returns
    -------
    f_statistic : ndarray of shape (n_features,)
        F of each column.
    p_values : ndarray of shape (n_features,)
        The probability of so large an F for a column that does not depend on the class.

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.feature_selection import f_classif
    >>> F, p = f_classif(*load_iris(return_X_y=True))
    >>> F.round(1)
    array([ 119.3,   49.2, 1180.2,  960. ])
    """
    if not is_plain(X, y, "iu"):
        X, y = check_X_y(X, y, accept_sparse=["csr", "csc", "coo"])
    K, code = class_codes(y)
    return f_of_classes(X, code, K)


def chi2(X, y):
    """χ² statistic (4) of each column of counts, for rows in classes.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Counts or frequencies, not negative.
    y : array-like of shape (n_samples,)
        Classes.

    Returns
    -------
    chi2 : ndarray of shape (n_features,)
        χ² of each column.
    p_values : ndarray of shape (n_features,)
        The probability of so large a χ² for a column that does not depend on the class.

    Examples
    --------
    >>> from mlreplica.feature_selection import chi2
    >>> chi2([[1, 1, 3], [0, 1, 5], [5, 4, 1], [6, 6, 2]], [1, 1, 0, 0])[0].round(3)
    array([8.333, 5.333, 2.273])
    """
    if not is_plain(X, y, "iu"):
        X = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32))
        X, y = check_X_y(X, y, accept_sparse="csr", dtype=None, multi_output=True)
    if (X.data.min(initial=0) if sp.issparse(X) else X.min(initial=0)) < 0:
        raise ValueError("Input X must be non-negative.")
    if y.ndim == 2 and y.shape[1] > 1:  # several labels for a row
        K, members = y.shape[1], np.asarray(y.T, dtype=np.float64)
    else:
        K, code = class_codes(y.ravel())
        members = indicator(code, K)
    observed = members @ X
    observed = observed.toarray() if sp.issparse(observed) else np.asarray(observed)
    share = np.asarray(members.sum(axis=1)).ravel() / X.shape[0]
    expected = share[:, None] * np.asarray(X.sum(axis=0)).ravel()
    observed -= expected
    with np.errstate(invalid="ignore", divide="ignore"):
        found = (observed * observed / expected).sum(axis=0)
    return found, chdtrc(K - 1, found)


def r_regression(X, y, *, center=True, force_finite=True):
    """Correlation (2) of each column with a number.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        A number for each row.
    center : bool, default=True
        Whether means are subtracted.
    force_finite : bool, default=True
        Return 0 instead of NaN where a column or y is constant.

    Returns
    -------
    correlation : ndarray of shape (n_features,)

    Examples
    --------
    >>> from mlreplica.feature_selection import r_regression
    >>> r_regression([[1.0, 3.0], [2.0, 2.0], [3.0, 0.0]], [1.0, 2.0, 3.0]).round(3)
    array([ 1.   , -0.982])
    """
    if not is_plain(X, y, "f"):
        X, y = check_X_y(X, y, accept_sparse=["csr", "csc", "coo"], dtype=np.float64)
    y = np.asarray(y, dtype=np.float64)
    n, p = X.shape
    if center:
        y = y - y.mean()
    if sp.issparse(X):
        sums = np.asarray(X.sum(axis=0)).ravel()
        squares, products = np.asarray(X.multiply(X).sum(axis=0)).ravel(), y @ X
    else:
        origin = np.asarray(X[0], dtype=np.float64) if center else np.zeros(p)
        sums, squares, products = sum_products(X, y, origin)
    if center:
        squares = np.maximum(squares - sums * sums / n, 0.0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        r = products / np.sqrt(squares) / np.sqrt(y @ y)
    return np.nan_to_num(r, nan=0.0, posinf=0.0, neginf=0.0, copy=False) if force_finite else r


@np.errstate(over="ignore", invalid="ignore")
def sum_products(X, y, origin):
    """Σ d, Σ d² and Σ dy of each column, with d = x − origin, in blocks on threads."""
    p = X.shape[1]
    size = max(16, CHUNK // max(1, p))

    def part(rows):
        sums = np.zeros((3, p))
        for b in steps(rows, size):
            add_products(np.ascontiguousarray(X[b], dtype=np.float64), y[b], origin, sums)
        return sums

    return sum(run(part, split(len(X), n_threads(), 4 * size)))


def f_regression(X, y, *, center=True, force_finite=True):
    """F statistic (3) of each column, from its correlation with a number.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        A number for each row.
    center : bool, default=True
        Whether means are subtracted.
    force_finite : bool, default=True
        Where a column or y is constant, return F = 0 and p = 1; where they agree perfectly, the
        largest float and p = 0. Otherwise NaN and infinity.

    Returns
    -------
    f_statistic : ndarray of shape (n_features,)
        F of each column.
    p_values : ndarray of shape (n_features,)
        The probability of so large an F for a column that has nothing to do with y.

    Examples
    --------
    >>> from mlreplica.datasets import load_diabetes
    >>> from mlreplica.feature_selection import f_regression
    >>> F, p = f_regression(*load_diabetes(return_X_y=True))
    >>> F[:3].round(2)
    array([ 16.1 ,   0.82, 230.65])
    """
    r = r_regression(X, y, center=center, force_finite=force_finite)
    freedom = len(y) - (2 if center else 1)
    r2 = r * r
    with np.errstate(invalid="ignore", divide="ignore"):
        F = r2 / (1.0 - r2) * freedom
    p_values = fdtrc(1, freedom, F)
    if force_finite:
        F[np.isinf(F)] = np.finfo(F.dtype).max
        bad = np.isnan(F)
        F[bad], p_values[bad] = 0.0, 1.0
    return F, p_values
