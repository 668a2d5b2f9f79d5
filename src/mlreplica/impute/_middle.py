"""The middle of a column: its mean (1), median and most frequent value, gaps left out"""

import numpy as np

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run, split


@kernel
def add_known(X, w, sums, weights):
    """Add Σ wx and Σ w of (1) over the entries of each column that are not NaN."""
    p = X.shape[1]
    for i in range(len(X)):
        x, w_i = X[i], w[i]
        for j in range(p):
            known = x[j] == x[j]
            sums[j] += w_i * x[j] if known else 0.0
            weights[j] += w_i if known else 0.0


@kernel
def fill_nan(X, values, out):
    """out ← X with the NaN of column j replaced by values[j]; return how many are infinite."""
    p, infinite = X.shape[1], 0
    for i in range(len(X)):
        x, o = X[i], out[i]
        for j in range(p):
            o[j] = x[j] if x[j] == x[j] else values[j]
            infinite += abs(x[j]) == np.inf
    return infinite


def weighted_median(v, w):
    """The median of values that are there w times each; the mean of the two in the middle."""
    if w is None:
        return middle_of(v, len(v)) if len(v) else np.nan
    v, w = v[w > 0], w[w > 0]
    if not len(v):
        return np.nan
    order = np.argsort(v, kind="stable")
    v, reached = v[order], np.cumsum(w[order])
    half = 0.5 * reached[-1]
    k = int(np.searchsorted(reached, half * (1.0 - 1e-12)))
    at_half = reached[k] <= half * (1.0 + 1e-12) and k + 1 < len(v)
    return 0.5 * (v[k] + v[k + 1]) if at_half else v[k]


def middle_of(v, m):
    """The median of the m values of v that are not NaN."""
    v = np.partition(v, m // 2)  # NaN counts as larger than all
    upper = v[m // 2]
    return 0.5 * (v[: m // 2].max() + upper) if m % 2 == 0 else upper


def most_frequent(v, w):
    """The value with the largest weight; of several, the smallest."""
    if not len(v):
        return np.nan
    if v.dtype == object:
        counts: dict = {}
        for value, weight in zip(v, np.ones(len(v)) if w is None else w, strict=True):
            counts[value] = counts.get(value, 0.0) + weight
        most = max(counts.values())
        best = [value for value, count in counts.items() if count == most]
        try:
            return min(best)
        except TypeError:  # values of kinds without an order
            return min(best, key=lambda value: (str(type(value)), str(value)))
    if w is None:
        v = np.sort(v)
        begins = np.flatnonzero(np.append(True, v[1:] != v[:-1]))
        return v[begins[np.argmax(np.diff(begins, append=len(v)))]]
    values, code = np.unique(v, return_inverse=True)
    return values[np.argmax(np.bincount(code, weights=w))]


def column_means(X, w):
    """(1) of columns with NaN, on threads."""
    p = X.shape[1]
    w = np.ones(len(X)) if w is None else w

    def part(rows):
        sums, weights = np.zeros(p), np.zeros(p)
        add_known(np.ascontiguousarray(X[rows], dtype=np.float64), w[rows], sums, weights)
        return sums, weights

    found = run(part, split(len(X), n_threads(), 1 + (1 << 16) // max(p, 1)))
    sums, weights = sum(s for s, _ in found), sum(w for _, w in found)
    with np.errstate(invalid="ignore", over="ignore"):
        return sums / weights
