r"""Order: quantiles of columns, each row counted as often as its weight says

Of n sorted values x_0 ≤ … ≤ x_(n−1), the q-quantile interpolates between two neighbours,

    x_i + g (x_(i+1) − x_i),      i = ⌊h⌋,      g = h − i,      h = q (n − 1)                 (1)

or inverts the distribution function F and takes the mean of both values where F is flat,

    h = q n − 1,      g = ½ if h is whole, else 1                                             (2)

With weights, x_i is the value at place i of the sample in which every row is repeated w times.
A few quantiles need no sorting: of every s-th value, sorted, two enclose x_i almost surely; one
pass finds how many of all values are below them, and only those between them are looked at again.
"""

import numpy as np

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run, split
from mlreplica.core.rows.walk import is_sparse, steps

FEW, MANY, SAMPLE = 4, 2_500, 1000  # quantiles, rows for which a pass each is best; sorted rows
SOME = 32  # quantiles up to which NumPy's partition beats its sort
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
    if len(q) <= FEW and n > MANY:
        sample, inside = np.sort(x[:: n // SAMPLE]), np.empty(n + 1)
        ends = [neighbours(x, a, b, sample, inside) for a, b in zip(low, high, strict=True)]
        return between(*np.array(ends).T, g)
    x = np.partition(x, np.unique([low, high])) if len(q) <= SOME else np.sort(x)
    return between(x[low], x[high], g)


@kernel
def sift(x, low, high, inside):
    """Copy the values in (low, high); how many they are, and how many are below, low and high."""
    m, below, at_low, at_high = 0, 0, 0, 0
    for v in x:
        inside[m] = v
        m += (v > low) & (v < high)
        below += v < low
        at_low += v == low
        at_high += v == high
    return m, below, at_low, at_high


def neighbours(x, i, j, sample, inside):
    """x_i and x_j of the sorted x, j being i or i + 1; `inside` is room for n + 1 values."""
    m = len(sample)
    at, reach = i * m // len(x), 2 * int(m**0.5)  # four deviations of the rank
    low = sample[at - reach] if at >= reach else -np.inf
    high = sample[at + reach] if at + reach < m else np.inf
    among, below, at_low, at_high = sift(x, low, high, inside)
    first, last = below + at_low, below + at_low + among  # places of those inside
    if i < below or j >= last + at_high:
        return np.partition(x, [i, j])[[i, j]]
    some = [k - first for k in (i, j) if first <= k < last]
    if some:
        inside[:among].partition(some)
    return [low if k < first else high if k >= last else inside[k - first] for k in (i, j)]


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
