r"""Minimum covariance determinant: the tightest half of the rows

Outliers inflate C in every direction in which they lie. Among all subsets H of h rows, take the one
whose covariance has the least determinant, that is, the smallest ellipsoid:

    minimise over |H| = h:   det C_H,    h ≈ (n + p + 1) / 2                               (6)

Up to n − h outliers of any kind cannot move it far. The *C-step* concentrates a subset: measure all
rows by the mean and covariance of H, and take the h nearest,

    d_i² = (x_i − m_H)ᵀC_H⁻¹(x_i − m_H),    H ← the h rows of smallest d_i²                (7)

Its determinant never grows (Rousseeuw, Van Driessen 1999): the new H lies closer by the old
distances, whose mean over H is p; by the inequality of means a matrix with smaller mean distance
has a smaller determinant. So steps converge in a finite number, to one of several minima. FastMCD
starts from hundreds of subsets of p + 1 rows, makes two steps from each, and goes on with the best
ten; for many rows first within groups of 300, then within 1500, then on all.

C_H is the covariance of the inner half, which is too small. For Gaussian rows the factor is known,

    c(α) = α / F_{p+2}(F_p⁻¹(α)),    F_p the distribution of χ² with p degrees of freedom   (8)

with α = h/n. Then all rows with d² below the 97.5 % point of χ² are taken together: their mean and
covariance, times c(0.975), are the estimate. It is nearly as precise as (1) if there are no
outliers.
"""

import warnings
from numbers import Real

import numpy as np
from scipy import linalg
from scipy.stats import chi2
from sklearn.utils import check_array, check_random_state

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, _fit_context
from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import run
from mlreplica.core.linalg import EPS
from mlreplica.core.validation import FLOATS, validate_data

from ._empirical import EmpiricalCovariance, empirical_covariance, squared_distances

GROUP, MERGED = 300, 1500  # rows of a group, and of the second round
TRIALS, BEST, STEPS = 500, 10, 30
OUTER = 0.025
ALIKE = 0.9
SINGULAR = 1e-12  # of the variance along a direction: what counts as none


@kernel
def subset_moments(X, pick, h, mean, C):
    """Mean and covariance of the rows pick[:h], the lower triangle."""
    p = X.shape[1]
    mean[:] = 0.0
    for a in range(h):
        x = X[pick[a]]
        for j in range(p):
            mean[j] += x[j]
    for j in range(p):
        mean[j] /= h
    C[:] = 0.0
    for a in range(h):
        x = X[pick[a]]
        for i in range(p):
            d, row = x[i] - mean[i], C[i]
            for j in range(i + 1):
                row[j] += d * (x[j] - mean[j])
    for i in range(p):
        for j in range(i + 1):
            C[i, j] /= h


@kernel
def factor(C, tiny):
    """C ← its Cholesky factor L; log det C, or −inf if C is singular."""
    total = 0.0
    for j in range(len(C)):
        s = C[j, j]
        scale = s
        for k in range(j):
            s -= C[j, k] * C[j, k]
        if not s > tiny * scale or s < 1e-290:
            return -np.inf
        root = np.sqrt(s)
        C[j, j] = root
        total += 2.0 * np.log(root)
        for i in range(j + 1, len(C)):
            t = C[i, j]
            for k in range(j):
                t -= C[i, k] * C[j, k]
            C[i, j] = t / root
    return total


@kernel
def distances(X, mean, L, z, d):
    """d_i ← ‖L⁻¹(x_i − m)‖² of (7)"""
    p = X.shape[1]
    for i in range(len(X)):
        x, total = X[i], 0.0
        for j in range(p):
            t, row = x[j] - mean[j], L[j]
            for k in range(j):
                t -= row[k] * z[k]
            z[j] = t / row[j]
            total += z[j] * z[j]
        d[i] = total


@kernel
def nearest(d, pick, h):
    """Reorder `pick` so that its first h rows have the smallest d (quickselect)."""
    low, high = 0, len(pick) - 1
    while low < high:
        pivot = d[pick[(low + high) // 2]]
        i, j = low, high
        while i <= j:
            while d[pick[i]] < pivot:
                i += 1
            while d[pick[j]] > pivot:
                j -= 1
            if i <= j:
                pick[i], pick[j] = pick[j], pick[i]
                i += 1
                j -= 1
        if h - 1 <= j:
            high = j
        elif h - 1 >= i:
            low = i
        else:
            return


@kernel
def concentrate(X, pick, h, size, steps, mean, C, z, d):
    """C-steps (7) from the rows pick[:size]; log det of the last subset, which is pick[:h]."""
    before = np.inf
    while True:  # a first subset that is flat takes more rows
        subset_moments(X, pick, size, mean, C)
        now = factor(C, SINGULAR)
        if now > -np.inf or size >= h:
            break
        size += 1
    for _ in range(steps):
        if now == -np.inf:
            return now
        distances(X, mean, C, z, d)
        nearest(d, pick, h)
        subset_moments(X, pick, h, mean, C)
        now = factor(C, SINGULAR)
        if now >= before - 1e-12:
            break
        before = now
    return now


def candidates(X, h, starts, steps, best):
    """The best subsets after C-steps from each start, with their log det.

    Half of them share less than `ALIKE` of their rows with those before: a sample may hold more of
    the outliers than all rows do, and what is best in it need not be best among all.
    """
    p = X.shape[1]

    def trial(pick, size):
        mean, C, z, d = np.empty(p), np.empty((p, p)), np.empty(p), np.empty(len(X))
        pick = pick.copy()
        return concentrate(X, pick, h, size, steps, mean, C, z, d), pick[:h]

    found = run(trial, *zip(*starts, strict=True))
    found.sort(key=lambda pair: pair[0])
    other, alike, seen = [], [], np.zeros((0, len(X)), dtype=bool)
    for pair in found:
        if 2 * len(other) < best and (seen[:, pair[1]].sum(axis=1) < ALIKE * h).all():
            other.append(pair)
            seen = np.vstack([seen, np.isin(np.arange(len(X)), pair[1])])
        else:
            alike.append(pair)
    return (other + alike)[:best]


def restart(X, rows, fits):
    """Starts on other rows: ordered by their distance to the mean and covariance of each fit."""
    for Y in fits:
        m, C = Y.mean(axis=0), np.atleast_2d(np.cov(Y.T, bias=True))
        d = squared_distances(X[rows], m, linalg.pinvh(C))
        yield np.argsort(d, kind="stable")


def fast_mcd(X, support_fraction=None, cov_computation_method=empirical_covariance,
             random_state=None):  # fmt: skip
    """The subset of least determinant: (6), by FastMCD.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    support_fraction : float, default=None
        h/n; by default (n + p + 1) / 2n, which withstands the most outliers.
    cov_computation_method : callable, default=empirical_covariance
        Gives the covariance of the subset that was found.
    random_state : int, RandomState instance or None, default=None
        The first subsets.

    Returns
    -------
    location : ndarray of shape (n_features,)
    covariance : ndarray of shape (n_features, n_features)
    support : ndarray of shape (n_samples,), dtype=bool
    dist : ndarray of shape (n_samples,)
        Squared distances (7) of all rows.
    """
    rng = check_random_state(random_state)
    X = check_array(X, ensure_min_samples=2, estimator="fast_mcd", dtype=np.float64, order="C")
    n, p = X.shape
    h = min((n + p + 2) // 2, n) if support_fraction is None else int(support_fraction * n)
    h, Y = max(h, 1), within_span(X)
    pick = shortest_half(Y[:, 0], h) if Y.shape[1] == 1 else tightest(Y, h, rng)
    support = np.zeros(n, dtype=bool)
    support[pick] = True
    location = X[support].mean(axis=0)
    covariance = np.atleast_2d(cov_computation_method(X[support]))
    return location, covariance, support, squared_distances(X, location, linalg.pinvh(covariance))


def within_span(X):
    """Coordinates of the rows within the plane in which they all lie, fewer than p; or X itself.

    Where a column is constant or follows from others every determinant is zero. The plane's own
    determinants tell subsets apart, and in the same way in any units.
    """
    Z = X - X.mean(axis=0)
    length = np.sqrt(np.einsum("ij,ij->j", Z, Z))
    varies = length > 10 * EPS * np.sqrt(len(X)) * np.abs(X).max(axis=0)
    Z = Z[:, varies] / length[varies]
    values, V = np.linalg.eigh(Z.T @ Z)
    V = V[:, values > SINGULAR * len(values)]
    return np.ascontiguousarray(Z @ V) if 0 < V.shape[1] < X.shape[1] else X


def tightest(X, h, rng):
    """The rows of (6), by groups if there are many."""
    n, p = X.shape
    if n <= 2 * GROUP:
        starts = [(rng.permutation(n), min(p + 1, h)) for _ in range(TRIALS // BEST)]
        best = candidates(X, h, starts, 2, BEST)
    else:
        groups = min(n // GROUP, 5)
        order, fits = rng.permutation(n)[: groups * GROUP], []
        for g in range(groups):
            Y = np.ascontiguousarray(X[order[g * GROUP : (g + 1) * GROUP]])
            part = int(np.ceil(GROUP * h / n))
            starts = [(rng.permutation(GROUP), min(p + 1, part)) for _ in range(TRIALS // groups)]
            fits += [Y[pick] for _, pick in candidates(Y, part, starts, 2, BEST)]
        rows = np.sort(order[: min(MERGED, n)])
        part = int(np.ceil(len(rows) * h / n))
        Y = np.ascontiguousarray(X[rows])
        starts = [(pick, part) for pick in restart(X, rows, fits)]
        fits = [Y[pick] for _, pick in candidates(Y, part, starts, 2, BEST)]
        everyone = np.arange(n)
        best = [(0.0, pick[:h]) for pick in restart(X, everyone, fits[: 2 if n > 50_000 else BEST])]
    starts = [(np.concatenate([pick, np.setdiff1d(np.arange(n), pick)]), h) for _, pick in best]
    return candidates(X, h, starts, STEPS, 1)[0][1]


def shortest_half(x, h):
    """Of one column: the h neighbours in order that have the least variance."""
    order = np.argsort(x, kind="stable")
    z = x[order] - x[order[len(x) // 2]]
    sums, squares = np.append(0.0, np.cumsum(z)), np.append(0.0, np.cumsum(z * z))
    s, q = sums[h:] - sums[:-h], squares[h:] - squares[:-h]
    first = int(np.argmin(q - s * s / h))
    return order[first : first + h]


def consistency(p, alpha):
    """c of (8)"""
    return alpha / chi2.cdf(chi2.ppf(alpha, p), p + 2) if alpha < 1 else 1.0


class MinCovDet(EmpiricalCovariance):
    """Covariance that outliers cannot move: minimum covariance determinant, (6) to (8).

    Parameters
    ----------
    store_precision : bool, default=True
        Keep the inverse as well.
    assume_centered : bool, default=False
        Whether the mean is known to be zero.
    support_fraction : float, default=None
        h/n; by default (n + p + 1) / 2n, which withstands the most outliers.
    random_state : int, RandomState instance or None, default=None
        The first subsets.

    Attributes
    ----------
    raw_location_, raw_covariance_, raw_support_
        Mean and covariance of the subset (6), and which rows it has.
    location_, covariance_, precision_
        The final estimate.
    support_ : ndarray of shape (n_samples,)
        The rows that it is made of.
    dist_ : ndarray of shape (n_samples,)
        Squared distances of the training rows.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.covariance import MinCovDet
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(size=(90, 2)), 50 + rng.normal(size=(10, 2))])
    >>> bool(np.abs(MinCovDet(random_state=0).fit(X).location_).max() < 0.3)
    True
    """

    card = Card(
        page="covariance",
        checks="covariance",
        input="rows",
        task="density",
        use="mean and covariance of rows with outliers among them",
        good="withstands up to half of the rows; distances that show the outliers",
        bad="needs several times more rows than columns; random starts",
        time="O(p² n) per step, some hundreds of them",
        memory="O(n p)",
        rescaling="not needed: the result does not change with the units of columns",
        instead="EmpiricalCovariance without outliers, IsolationForest for other shapes",
    )

    _parameter_constraints = EmpiricalCovariance._parameter_constraints | {
        "support_fraction": [Interval(Real, 0, 1, closed="right"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        store_precision=True,
        assume_centered=False,
        support_fraction=None,
        random_state=None,
    ):
        super().__init__(store_precision=store_precision, assume_centered=assume_centered)
        self.support_fraction = support_fraction
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the tightest half of the rows, and what belongs to it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self : MinCovDet
        """
        X = validate_data(self, X, ensure_min_samples=2, estimator="MinCovDet", dtype=FLOATS)
        X = X.astype(np.float64, order="C", copy=False)
        flat = within_span(X) is not X
        if flat:
            warnings.warn(
                "The covariance matrix associated to your dataset is not full rank", stacklevel=2
            )
        location, C, support, dist = fast_mcd(X, self.support_fraction, random_state=self._rng())
        if self.assume_centered:
            location = np.zeros(X.shape[1])
            C = empirical_covariance(X[support], assume_centered=True)
            dist = squared_distances(X, location, linalg.pinvh(C))
        self.raw_location_, self.raw_covariance_, self.raw_support_ = location, C, support
        self.location_, self.support_, self.dist_ = location, support, dist
        self.correct_covariance(X)
        if not flat and factor(C.copy(), SINGULAR) == -np.inf:
            warnings.warn(
                f"The covariance of the tightest {support.sum()} of {len(X)} rows is singular, so "
                "that distances across their plane are not measured; raise support_fraction.",
                RuntimeWarning,
                stacklevel=2,
            )
        self.reweight_covariance(X)
        return self

    def _rng(self):
        """The source of random subsets."""
        return check_random_state(self.random_state)

    def correct_covariance(self, data):
        """Scale the raw covariance by (8), and the distances accordingly.

        Parameters
        ----------
        data : array-like of shape (n_samples, n_features)
            The rows of `fit`.

        Returns
        -------
        covariance_corrected : ndarray of shape (n_features, n_features)
        """
        n, h = len(self.dist_), int(np.sum(self.support_))
        none = SINGULAR * np.var(data, axis=0) + (10 * EPS * np.abs(data).max(axis=0)) ** 2
        if h < n and (self.raw_covariance_.diagonal() <= none).all():
            raise ValueError(
                "The covariance matrix of the support data is equal to 0, try to increase "
                "support_fraction"
            )
        c = consistency(len(self.raw_covariance_), h / n)
        self.dist_ = self.dist_ / c
        return self.raw_covariance_ * c

    def reweight_covariance(self, data):
        """Take all rows that are near enough together.

        Parameters
        ----------
        data : array-like of shape (n_samples, n_features)
            The rows of `fit`.

        Returns
        -------
        location_reweighted : ndarray of shape (n_features,)
        covariance_reweighted : ndarray of shape (n_features, n_features)
        support_reweighted : ndarray of shape (n_samples,), dtype=bool
        """
        data = np.asarray(data)
        p = data.shape[1]
        support = self.dist_ < chi2(p).isf(OUTER)
        location = np.zeros(p) if self.assume_centered else data[support].mean(axis=0)
        C = empirical_covariance(data[support], assume_centered=self.assume_centered)
        self._set_covariance(C * consistency(p, 1 - OUTER))
        self.location_, self.support_ = location, support
        self.dist_ = squared_distances(data, location, self.get_precision())
        return location, C, support
