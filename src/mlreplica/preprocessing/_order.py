r"""Order: quantiles of columns, each row counted as often as its weight says

Of n sorted values x_0 ≤ … ≤ x_(n−1), the q-quantile interpolates between two neighbours,

    x_i + g (x_(i+1) − x_i),      i = ⌊h⌋,      g = h − i,      h = q (n − 1)                 (1)

or inverts the distribution function F and takes the mean of both values where F is flat,

    h = q n − 1,      g = ½ if h is whole, else 1                                             (2)

With weights, x_i is the value at place i of the sample in which every row is repeated w times.
A few quantiles are selected without sorting, each in the part that the one before left for it.
"""

import numpy as np

from mlreplica.core.compile.threads import n_threads, run, split
from mlreplica.core.rows.walk import is_sparse, steps

FEW = 8  # quantiles up to which selection beats sorting
ROWS = 4096  # rows that are transposed together
LEAST = 1 << 16  # rows times columns that are worth a thread


def columns_of(X):
    """The columns of X, each contiguous, as a writable copy in float64."""
    n, p = X.shape
    out = np.empty((p, n))

    def part(rows):
        for block in steps(rows, ROWS):
            out[:, block] = X[block].T

    run(part, split(n, n_threads(), least=1 + LEAST // p))
    return out


def column_quantiles(X, q, weight=None, *, method="linear", sparse_zeros=True):
    """The quantiles `q` of every column, (len(q), p); missing values are left out."""
    q = np.asarray(q, dtype=np.float64)
    if is_sparse(X):
        X = X.tocsc()
        rows = X.shape[0]

        def values(j):
            x = X.data[X.indptr[j] : X.indptr[j + 1]].astype(np.float64)
            zeros = rows - len(x) if sparse_zeros else 0
            if weight is None:
                return np.concatenate([x, np.zeros(zeros)]), None
            w, full = weight.copy(), np.zeros(rows)
            full[X.indices[X.indptr[j] : X.indptr[j + 1]]] = x
            return full, w
    else:
        columns = columns_of(X)

        def values(j):
            return columns[j], weight

    def quantiles(j):
        x, w = values(j)
        if len(x) and np.isnan(x.min()):
            there = ~np.isnan(x)
            x, w = x[there], None if w is None else w[there]
        if w is not None:
            return weighted_quantiles(x, q, w, method)
        return plain_quantiles(x, q, method)

    p = X.shape[1]
    if X.shape[0] * p < LEAST:
        return np.array([quantiles(j) for j in range(p)]).T
    return np.array(run(quantiles, range(p))).T


def places(n, q, method):
    """i and g of (1) or (2)."""
    h = q * (n - 1) if method == "linear" else q * n - 1
    i = np.floor(h)
    g = h - i
    if method == "averaged_inverted_cdf":
        g = np.where(g == 0.0, 0.5, 1.0)
    elif method == "inverted_cdf":
        g = np.where(g == 0.0, 0.0, 1.0)
    return i.astype(np.int64), g


def between(low, high, g):
    """low + g (high − low), exact at both ends."""
    d = high - low
    return np.where(g >= 0.5, high - d * (1 - g), low + d * g)


def plain_quantiles(x, q, method):
    """Of values that may be reordered."""
    n = len(x)
    if n == 0:
        return np.full(len(q), np.nan)
    if method not in ("linear", "averaged_inverted_cdf", "inverted_cdf"):
        return np.quantile(x, q, method=method)
    i, g = places(n, q, method)
    low, high = np.clip(i, 0, n - 1), np.clip(i + 1, 0, n - 1)
    if len(q) <= FEW and n > 1000:
        wanted = np.unique(np.concatenate([low, high]))
        select(x, wanted, 0, n)
    else:
        x = np.sort(x)
    return between(x[low], x[high], g)


def select(x, wanted, start, stop):
    """Put the values of the `wanted` places there, within x[start:stop]."""
    if not len(wanted):
        return
    middle = len(wanted) // 2
    k = wanted[middle]
    x[start:stop].partition(k - start)
    select(x, wanted[:middle], start, k)
    rest = wanted[middle + 1 :]
    if len(rest) and rest[0] == k + 1:  # the next larger value: a minimum, no selection
        at = k + 1 + np.argmin(x[k + 1 : stop])
        x[k + 1], x[at] = x[at], x[k + 1]
        k, rest = k + 1, rest[1:]
    select(x, rest, k + 1, stop)


def weighted_quantiles(x, q, weight, method):
    """Of values that count `weight` times."""
    some = weight > 0
    order = np.argsort(x[some], kind="stable")
    x, upto = x[some][order], np.cumsum(weight[some][order])
    if not len(x):
        return np.full(len(q), np.nan)
    total, last = upto[-1], len(x) - 1
    at = lambda place: x[np.minimum(np.searchsorted(upto, place, side="right"), last)]
    if method == "linear" or np.array_equal(weight, np.floor(weight)):
        i, g = places(max(total, 1.0), q, method)
        return between(at(np.maximum(i, 0)), at(i + 1), g)
    near = 1e-12 * total  # shares of weight, which have no places
    low = np.minimum(np.searchsorted(upto, q * total - near, side="left"), last)
    high = np.minimum(np.searchsorted(upto, q * total + near, side="right"), last)
    return x[low] if method == "inverted_cdf" else between(x[low], x[high], np.full(len(q), 0.5))
