r"""Mutual information: how much a column tells about the target, by any relation

    I(x; y) = ∫∫ p(x, y) log [p(x, y) / (p(x) p(y))]  ≥ 0,    0 only if x and y are independent  (5)

For two numbers (Kraskov): let r_i be the distance max(|x_i − x|, |y_i − y|) of row i to its k-th
neighbour, and a_i, b_i the numbers of rows with |x_i − x| < r_i and with |y_i − y| < r_i. Then

    Î = ψ(n) + ψ(k) − mean_i [ψ(a_i + 1) + ψ(b_i + 1)]                                          (6)

For a number c and a class (Ross): r_i is the distance of c_i to the k-th neighbour of its own
class, which has n_i rows; m_i rows of all classes, row i with them, are nearer than r_i:

    Î = ψ(n) + mean_i [ψ(k) − ψ(n_i) − ψ(m_i)]                                                  (7)

For two classes with counts n_ab:   Î = Σ_ab (n_ab/n) log [n n_ab / (n_a n_b)].                 (8)

Neighbours in the plane are found in strips: rows sorted by x are cut into strips of about √(nk),
and each strip is sorted by y. A search walks from the row's own place up and down its strip, then
through the strips beside it, until the gap alone is too wide. A row looks at a few dozen others,
however the rows lie; counts on a line are galloping searches in a sorted column.

References
----------
Kraskov, Stögbauer, Grassberger: Estimating mutual information. Phys. Rev. E 69 (2004), 066138.
Ross: Mutual information between discrete and continuous data sets. PLoS ONE 9 (2014), e87357.
"""

from numbers import Integral

import numpy as np
import scipy.sparse as sp
from scipy.special import digamma
from sklearn.utils import check_random_state, check_X_y
from sklearn.utils.multiclass import check_classification_targets

from mlreplica.core.compat import Interval, StrOptions, validate_params
from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import run
from mlreplica.core.validation import distinct

NOISE = 1e-10  # of the scale of a column: parts rows that have the same value


@kernel(part=True)
def end_within(v, i, r, step):
    """How many values beside v[i] lie within r of it, in one direction; v is sorted."""
    most = len(v) - 1 - i if step > 0 else i
    low, high = 0, 1  # v[i ± low] is within r; double the stride until v[i ± high] is not
    while high <= most and abs(v[i + step * high] - v[i]) <= r:
        low = high
        high *= 2
    high = min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        if abs(v[i + step * middle] - v[i]) <= r:
            low = middle
        else:
            high = middle
    return low


@kernel(part=True)
def place_nearest(d, distance):
    """Put a distance among the k smallest, which are sorted; return the largest of them."""
    k = len(d)
    j = k - 1
    while j > 0 and d[j - 1] > distance:
        d[j] = d[j - 1]
        j -= 1
    d[j] = distance
    return d[k - 1]


@kernel(part=True)
def search_strip(x, y, begin, end, x_i, y_i, start, d, reach):
    """Go up and down a strip from `start` while |y − y_i| may still be near enough."""
    up, down = start, start - 1
    while up < end and y[up] - y_i < reach:
        distance = max(abs(x[up] - x_i), y[up] - y_i)
        if distance < reach:
            reach = place_nearest(d, distance)
        up += 1
    while down >= begin and y_i - y[down] < reach:
        distance = max(abs(x[down] - x_i), y_i - y[down])
        if distance < reach:
            reach = place_nearest(d, distance)
        down -= 1
    return reach


@kernel(part=True)
def first_at_least(y, begin, end, value):
    """The first place in a strip whose y is at least a value."""
    while begin < end:
        middle = (begin + end) // 2
        if y[middle] < value:
            begin = middle + 1
        else:
            end = middle
    return begin


@kernel
def neighbour_counts(xs, ys, rank_x, by_y, size, k, psi, x, y, home):
    """Σ_i ψ(a_i + 1) + ψ(b_i + 1) of (6).

    xs, ys: the sorted columns; rank_x: places of rows in xs; by_y: rows in the order of ys; size:
    rows in a strip. x, y and home are work space: strips, and the places of their rows in xs, ys.
    """
    n = len(xs)
    strips = (n + size - 1) // size
    fill = np.arange(strips) * size
    for b in range(n):  # in the order of y, so that each strip is sorted
        i = by_y[b]
        s = rank_x[i] // size
        x[fill[s]], y[fill[s]], home[fill[s], 0], home[fill[s], 1] = (
            xs[rank_x[i]], ys[b], rank_x[i], b,
        )  # fmt: skip
        fill[s] += 1
    d = np.empty(k)
    total = 0.0
    for q in range(n):
        x_i, y_i, own = x[q], y[q], q // size
        d[:] = np.inf
        begin, end = own * size, min((own + 1) * size, n)
        reach = search_strip(x, y, begin, q, x_i, y_i, q, d, np.inf)
        reach = search_strip(x, y, q + 1, end, x_i, y_i, q + 1, d, reach)
        s = own - 1
        while s >= 0 and x_i - xs[(s + 1) * size - 1] < reach:
            begin, end = s * size, (s + 1) * size
            start = first_at_least(y, begin, end, y_i)
            reach = search_strip(x, y, begin, end, x_i, y_i, start, d, reach)
            s -= 1
        s = own + 1
        while s < strips and xs[s * size] - x_i < reach:
            begin, end = s * size, min((s + 1) * size, n)
            start = first_at_least(y, begin, end, y_i)
            reach = search_strip(x, y, begin, end, x_i, y_i, start, d, reach)
            s += 1
        r = np.nextafter(reach, 0.0)
        a = end_within(xs, home[q, 0], r, 1) + end_within(xs, home[q, 0], r, -1)
        b = end_within(ys, home[q, 1], r, 1) + end_within(ys, home[q, 1], r, -1)
        total += psi[a + 1] + psi[b + 1]
    return total


@kernel
def class_terms(cs, code, counts, k, psi, segment, place):
    """Σ_i ψ(k_i) − ψ(n_i) − ψ(m_i) of (7) over sorted values cs with classes of two rows or more.

    segment and place are work space: values class by class, and their places in cs.
    """
    start = np.zeros(len(counts) + 1, np.int64)
    for label in range(len(counts)):
        start[label + 1] = start[label] + counts[label]
    fill = start[:-1].copy()
    for i in range(len(cs)):
        at = fill[code[i]]
        segment[at], place[at] = cs[i], i
        fill[code[i]] = at + 1
    total = 0.0
    for label in range(len(counts)):
        v, m = segment[start[label] : start[label + 1]], counts[label]
        near = min(k, m - 1)
        for i in range(m):
            reach = np.inf
            for below in range(near + 1):  # a window of k + 1 neighbours that holds i
                if i - below >= 0 and i - below + near < m:
                    wide = max(v[i] - v[i - below], v[i - below + near] - v[i])
                    reach = min(reach, wide)
            at = place[start[label] + i]
            r = np.nextafter(reach, 0.0)
            inside = 1 + end_within(cs, at, r, 1) + end_within(cs, at, r, -1)
            total += psi[near] - psi[m] - psi[inside]
    return total


class SortedColumn:
    """A column in ascending order: values, the rows they come from, and the places of rows."""

    def __init__(self, values):
        self.rows = np.argsort(values)
        self.values = values[self.rows]
        self.places = np.empty(len(values), dtype=np.int64)
        self.places[self.rows] = np.arange(len(values))


def information_of_numbers(x, y, k, psi):
    """Î (6) of two sorted columns."""
    n = len(x.rows)
    if k >= n:
        raise ValueError(
            f"Expected n_neighbors < n_samples_fit, but n_neighbors = {k}, n_samples_fit = {n}, "
            f"n_samples = {n}; use at most {n - 1} neighbors."
        )
    size = int(np.sqrt(n * k)) + 1
    work = np.empty(n), np.empty(n), np.empty((n, 2), dtype=np.int64)
    total = neighbour_counts(x.values, y.values, x.places, y.rows, size, k, psi, *work)
    return max(0.0, psi[n] + psi[k] - total / n)


def information_of_classes(c, code, k, psi):
    """Î (7) of a sorted column and classes 0, 1, …."""
    counts = np.bincount(code)
    code = code[c.rows]
    values = c.values
    if counts.min() < 2:  # a row that is alone in its class has no neighbour there
        kept = counts[code] > 1
        values, code = values[kept], (np.cumsum(counts > 1) - 1)[code[kept]]
        counts = counts[counts > 1]
        if not len(counts):
            return 0.0
    n = len(values)
    work = np.empty(n), np.empty(n, dtype=np.int64)
    return max(0.0, psi[n] + class_terms(values, code, counts, k, psi, *work) / n)


def information_of_counts(a, b):
    """Î (8) of two columns of classes 0, 1, …."""
    n, width = len(a), int(b.max()) + 1
    pairs, n_ab = np.unique(a * width + b, return_counts=True)
    n_a, n_b = np.bincount(a)[pairs // width], np.bincount(b)[pairs % width]
    return max(0.0, float(n_ab / n @ np.log(n * (n_ab / n_a) / n_b)))


def with_noise(columns, rng):
    """Columns of unit variance, and a little noise that parts equal values."""
    deviation = columns.std(axis=0)
    rounding = 10 * np.finfo(float).eps * np.abs(columns).max(axis=0)
    columns = columns / np.where(deviation > rounding, deviation, 1.0)
    scale = np.maximum(1.0, np.abs(columns).mean(axis=0))
    return columns + NOISE * scale * rng.standard_normal(size=columns.shape)


def estimate(X, y, discrete_features, discrete_target, n_neighbors, random_state, n_jobs):
    """Î of every column."""
    X, y = check_X_y(X, y, accept_sparse="csc", y_numeric=not discrete_target)
    n, p = X.shape
    discrete = discrete_mask(discrete_features, p, sp.issparse(X))
    if sp.issparse(X) and not discrete.all():
        raise ValueError("Sparse matrix `X` can't have continuous features.")
    rng = check_random_state(random_state)
    numbers = np.flatnonzero(~discrete)
    noisy = with_noise(X[:, numbers].astype(np.float64), rng) if len(numbers) else None
    columns = dict(zip(numbers.tolist(), range(len(numbers)), strict=True))
    psi = digamma(np.arange(n + 2.0))  # ψ(0) is never looked at
    if discrete_target:
        code = np.asarray(distinct(y)[1], dtype=np.int64)
    else:
        target = SortedColumn(with_noise(y.astype(np.float64), rng))

    def of(j):
        if j in columns:
            column = SortedColumn(np.ascontiguousarray(noisy[:, columns[j]]))
            if discrete_target:
                return information_of_classes(column, code, n_neighbors, psi)
            return information_of_numbers(column, target, n_neighbors, psi)
        values = X[:, [j]].toarray().ravel() if sp.issparse(X) else X[:, j]
        own = np.asarray(distinct(values)[1], dtype=np.int64)
        if discrete_target:
            return information_of_counts(own, code)
        return information_of_classes(target, own, n_neighbors, psi)

    return np.array(run(of, range(p), n_jobs=n_jobs))


def discrete_mask(discrete_features, p, sparse):
    """Which columns hold classes rather than numbers."""
    if isinstance(discrete_features, str | bool | np.bool_):
        if isinstance(discrete_features, str) and discrete_features != "auto":
            raise ValueError("Invalid string value for discrete_features.")
        return np.full(p, sparse if isinstance(discrete_features, str) else discrete_features)
    given = np.asarray(discrete_features)
    if given.dtype == bool:
        return given
    mask = np.zeros(p, dtype=bool)
    mask[given] = True
    return mask


CONSTRAINTS = {
    "X": ["array-like", "sparse matrix"],
    "y": ["array-like"],
    "discrete_features": [StrOptions({"auto"}), "boolean", "array-like"],
    "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    "copy": ["boolean"],
    "random_state": ["random_state"],
    "n_jobs": [Integral, None],
}


@validate_params(CONSTRAINTS, prefer_skip_nested_validation=True)
def mutual_info_regression(
    X, y, *, discrete_features="auto", n_neighbors=3, copy=True, random_state=None, n_jobs=None
):
    """Estimate the mutual information (5) of each column and a number, by (6) or (7).

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        A number for each row.
    discrete_features : "auto", bool or array-like, default="auto"
        Which columns hold classes: all, none, a mask or their numbers. "auto": all if X is sparse.
    n_neighbors : int, default=3
        k. More neighbours: less variance, more bias.
    copy : bool, default=True
        X is never changed; present for compatibility.
    random_state : int, RandomState or None, default=None
        Of the noise that parts equal values.
    n_jobs : int or None, default=None
        Threads; None for all cores.

    Returns
    -------
    mi : ndarray of shape (n_features,)
        Estimates in nats, not negative.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.feature_selection import mutual_info_regression
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    >>> mutual_info_regression(X, X[:, 0] ** 2, random_state=0).round(1)
    array([3.6, 0. ])
    """
    return estimate(X, y, discrete_features, False, n_neighbors, random_state, n_jobs)


@validate_params(CONSTRAINTS, prefer_skip_nested_validation=True)
def mutual_info_classif(
    X, y, *, discrete_features="auto", n_neighbors=3, copy=True, random_state=None, n_jobs=None
):
    """Estimate the mutual information (5) of each column and a class, by (7) or (8).

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Classes.
    discrete_features : "auto", bool or array-like, default="auto"
        Which columns hold classes: all, none, a mask or their numbers. "auto": all if X is sparse.
    n_neighbors : int, default=3
        k. More neighbours: less variance, more bias.
    copy : bool, default=True
        X is never changed; present for compatibility.
    random_state : int, RandomState or None, default=None
        Of the noise that parts equal values.
    n_jobs : int or None, default=None
        Threads; None for all cores.

    Returns
    -------
    mi : ndarray of shape (n_features,)
        Estimates in nats, not negative.

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.feature_selection import mutual_info_classif
    >>> X, y = load_iris(return_X_y=True)
    >>> mutual_info_classif(X, y, random_state=0).round(1)
    array([0.5, 0.3, 1. , 1. ])
    """
    check_classification_targets(y)
    return estimate(X, y, discrete_features, True, n_neighbors, random_state, n_jobs)
