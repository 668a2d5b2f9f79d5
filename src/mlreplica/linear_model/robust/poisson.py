r"""Poisson regression by Newton's method

Counts y_i ≥ 0 with mean e^f_i, f_i = x_iᵀw + b, and weights s_i with sum S:

    minimise over w, b:   P(w, b) = 1/S Σ_i s_i (e^f_i − y_i f_i) + α/2 ‖w‖²                (1)

With rows z_i = [1, x_i] and v = (b, w), gradient and curvature are

    ∇P = 1/S Σ_i s_i (e^f_i − y_i) z_i + α (0, w),      H = 1/S Σ_i s_i e^f_i z_i z_iᵀ + α I₀  (2)

(I₀: the identity without the intercept's entry). Newton's step goes to the minimum of the parabola
that has the same value, gradient and curvature, or part of the way,

    v ← v − t H⁻¹∇P,      λ² = ∇Pᵀ H⁻¹ ∇P,                                                  (3)

with t the first of 1, 1/2, 1/4, … that makes P fall by 10⁻⁴ t λ² or more.

The best intercept for a given w has a closed form, so that b is always exact:

    b ← b + log c,      c = Σ s_i y_i / Σ s_i e^f_i        (every e^f_i is multiplied by c)   (4)

How far is the minimum? P is α-strongly convex in w and b is the best, hence the first bound; it is
the duality gap. The second needs no penalty: e^f is its own second and third derivative, so that H
cannot shrink by more than the factor e^−|change of f| on the way to the minimum.

    P(v) − P(v*)  ≤  ‖∇P‖² / 2α                                                                (5)
    P(v) − P(v*)  ≤  λ²/2 · (1 + ρλ)   if ρλ ≤ 1/2,     ρ² = S / min_i s_i e^f_i               (6)

A large set starts from the answer of every sixteenth row, which costs a sixteenth a step and is as
close as sixteen times fewer rows can tell; two or three steps over all rows do the rest.

Nelder, Wedderburn, Generalized linear models (1972); Bach, Self-concordant analysis for logistic
regression (2010).
"""

import logging
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy.special import xlogy
from sklearn.base import (
    BaseEstimator,
    RegressorMixin,
)
from sklearn.utils.validation import check_array

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    Interval,
    StrOptions,
    _check_sample_weight,
    _fit_context,
)
from mlreplica.core.compile.jit import kernel
from mlreplica.core.conjugate_gradients import conjugate_gradients
from mlreplica.core.formulas.exp import exp64
from mlreplica.core.iterate import CallbackSupport, iterate
from mlreplica.core.linalg import solve_symmetric
from mlreplica.core.linear import SPARSE, training_rows, weighted_rows
from mlreplica.core.rows.csr import RowProducts, backward, there_and_back
from mlreplica.core.rows.walk import Rows, Sums
from mlreplica.core.validation import new_rows

logger = logging.getLogger("mlreplica")

TINY = 2.0**-52  # the mean that stands for 0, whose logarithm is not finite


class PoissonState(NamedTuple):
    """Where Newton's method is: weights, intercept, P, and the bound on P(v) − P(v*)."""

    w: np.ndarray
    b: float
    objective: float
    gap: float
    decrement: float  # λ² of (3)
    step: float  # t of (3), 0 at the start


class PoissonPoint(NamedTuple):
    """All that one walk over the rows tells about v."""

    v: np.ndarray
    f: np.ndarray  # (n,)
    value: float  # P
    gradient: np.ndarray
    H: np.ndarray | None  # None where it would be too large
    least: float  # min_i s_i e^f_i / S


class PoissonSums(NamedTuple):
    """The sums of (1) and (2) without the penalty; those of two sets of rows add up."""

    mean: float  # Σ s e^f
    cross: float  # Σ s y f
    gradient: np.ndarray
    H: np.ndarray | None
    least: float  # min s e^f
    f: np.ndarray | None = None  # the scores, where the rows lie in memory

    def __add__(self, other):
        both = (a + b for a, b in zip(self[:4], other[:4], strict=True))
        return PoissonSums(*both, min(self.least, other.least))


@kernel
def derivatives(y, s, f, g, h):
    """Σ s e^f and Σ s y f; writes g = s (e^f − y) and h = s e^f."""
    for i in range(len(f)):
        h[i] = f[i]
    exp64(h)
    total, cross = 0.0, 0.0
    for i in range(len(f)):
        mean = s[i] * h[i]
        total += mean
        cross += s[i] * y[i] * f[i]
        g[i] = mean - s[i] * y[i]
        h[i] = mean
    return total, cross


class Counts(NamedTuple):
    """Problem (1): rows, counts and shares s_i/S that add up to one."""

    rows: Rows
    y: np.ndarray
    s: np.ndarray
    alpha: float

    @classmethod
    def of(cls, rows, y, s, alpha):
        """With s scaled to shares."""
        return cls(rows, y, s / s.sum(), alpha)

    @property
    def penalty(self):
        """α for every entry of v, 0 for the intercept."""
        return self.rows.penalty(self.alpha)

    def toward(self):
        """Σ s_i y_i z_i"""
        return self.rows.back(self.s * self.y)

    def scores(self, v):
        """f = Z v, in the form that `along` takes."""
        return self.rows.scores(v)

    def start(self):
        """w = 0 and the best b for it."""
        v = np.zeros(self.rows.k)
        if self.rows.intercept:
            v[0] = np.log(self.s @ self.y)
        return v

    def sums(self, v):
        """The PoissonSums at v."""
        rows, y, s, _ = self
        n = len(y)
        f, g, h = np.empty(n), np.empty(n), np.empty(n)

        def of(block):
            i, Z = block.rows, block.Z
            np.matmul(Z, v, out=f[i])
            sums = derivatives(y[i], s[i], f[i], g[i], h[i])
            gradient = g[i] @ Z
            R = np.multiply(Z, np.sqrt(h[i])[:, None], out=Z)
            return Sums((*sums, gradient, R.T @ R))

        if rows.direct:
            mean, cross, gradient, H = rows.sum(of)
        else:
            f = rows.scores(v)
            (mean, cross), gradient, H = derivatives(y, s, f, g, h), rows.back(g), None
        return PoissonSums(mean, cross, gradient, H, h.min(), f)

    @np.errstate(over="ignore", invalid="ignore")
    def at(self, v, toward):
        """The PoissonPoint at v, with the intercept moved to its best (4)."""
        mean, cross, gradient, H, least, f = self.sums(v)
        if self.rows.intercept and 0.0 < mean < np.inf:  # (4); `toward` is Σ s_i y_i z_i
            c = toward[0] / mean
            v, f = v.copy(), None if f is None else f + np.log(c)
            v[0] += np.log(c)
            mean, cross = toward[0], cross + np.log(c) * toward[0]
            gradient = c * (gradient + toward) - toward
            gradient[0] = 0.0
            H, least = None if H is None else c * H, c * least
        alpha = self.penalty
        value = mean - cross + 0.5 * (alpha @ v**2)
        gradient = gradient + alpha * v
        if H is not None:
            H[np.diag_indices(len(v))] += alpha
            value = value if np.isfinite(H.sum()) else np.inf
        return PoissonPoint(v, f, float(value), gradient, H, float(least))

    def along(self, f, q, v, step, t):
        """P at v − t·step, where f becomes f + t q: no walk over X."""
        u = v - t * step
        g, h = np.empty_like(f), np.empty_like(f)
        mean, cross = derivatives(self.y, self.s, f + t * q, g, h)
        return mean - cross + 0.5 * (self.penalty @ u**2)

    def direction(self, point):
        """H⁻¹∇P: by Cholesky, or by conjugate gradients where H would be too large."""
        if point.H is not None:
            return solve_symmetric(point.H, point.gradient)
        return newton_direction(self, self.s * np.exp(point.f), point.gradient)

    def gap(self, point, decrement):
        """The better of the bounds (5) and (6)."""
        bound = np.inf
        if self.alpha > 0 and (not self.rows.intercept or point.gradient[0] == 0.0):
            bound = point.gradient @ point.gradient / (2 * self.alpha)
        z = np.sqrt(decrement / point.least) if point.least > 0 else np.inf
        if point.H is not None and z <= 0.5:
            bound = min(bound, 0.5 * decrement * (1 + z))
        return float(bound)

    def only(self, few):
        """The problem of some of the rows."""
        return Counts.of(self.rows.only(few), self.y[few].copy(), self.s[few].copy(), self.alpha)


def newton_direction(problem, h, gradient):
    """(Zᵀ diag(h) Z + αI₀)⁻¹ ∇P by conjugate gradients, for an H that would be too large."""
    rows, alpha = problem.rows, problem.penalty
    diagonal, times = (sparse_curvature if rows.sparse else curvature)(rows, h)
    diagonal += alpha
    diagonal[diagonal <= 0] = 1.0
    return conjugate_gradients(lambda x: times(x) + alpha * x, gradient, 1.0 / diagonal)


def curvature(rows, h):
    """The diagonal of Zᵀ diag(h) Z, and its product with a vector."""
    diagonal = np.einsum("i,ij,ij->j", h, rows.X, rows.X)
    if rows.intercept:  # Σ h (x − x₀)² from Σ h x² and Σ h x
        shift = rows.origin * (2 * (h @ rows.X) - h.sum() * rows.origin)
        diagonal = np.append(h.sum(), diagonal - shift)
    return diagonal, lambda x: rows.back(h * rows.scores(x))


def sparse_curvature(rows, h):
    """The same for a sparse X, which has no x₀, with one walk over the rows for a product."""
    X, i = RowProducts(rows.X.tocsr().astype(float, copy=False), rows.n_jobs), int(rows.intercept)
    diagonal, cross, total = X.squares(h), X.added(backward, h), h.sum()

    def times(x):
        inner = X.added(there_and_back, h, x[i:])
        return np.append(total * x[0] + cross @ x[1:], inner + x[0] * cross) if i else inner

    return np.append(total, diagonal) if i else diagonal, times


def newton(problem, v):
    """Yield a PoissonState after each step (3); end when rounding leaves nothing to gain."""
    toward = problem.toward()
    point = problem.at(v, toward)
    if not np.isfinite(point.value):  # a warm start of another world
        point = problem.at(problem.start(), toward)
    slack = 1e-14 * (1 + abs(point.value))  # rounding of P
    before, t = np.inf, 0.0
    while True:
        step = problem.direction(point)
        decrement = max(float(point.gradient @ step), 0.0)
        gap = problem.gap(point, decrement)
        yield PoissonState(*problem.rows.plain(point.v), point.value, gap, decrement, t)
        if before <= slack and decrement > 0.25 * before:
            return
        before, t = decrement, 1.0
        new = problem.at(point.v - step, toward)
        if not new.value <= point.value - 1e-4 * decrement + slack:
            q = problem.scores(-step)
            while t > 1e-10 and not (
                problem.along(point.f, q, point.v, step, t)
                <= point.value - 1e-4 * t * decrement + slack
            ):
                t *= 0.5
            new = problem.at(point.v - t * step, toward)
            if not new.value <= point.value + slack:
                return
        point = new


def check_counts(y):
    """Raise unless y ≥ 0."""
    if y.min() < 0:
        raise ValueError(
            "Some value(s) of y are out of the valid range of the loss 'HalfPoissonLoss': "
            f"y must be >= 0, got {y.min():g}."
        )


def thinned_start(problem):
    """The answer of every 16th row; of the constant model, where those would be too few."""
    rows, y, s = problem.rows, problem.y, problem.s
    few = rows.thinning() if rows.direct else None
    if few is None or not s[few] @ y[few] > 0:
        return problem.start()
    small = problem.only(few)
    for state in newton(small, small.start()):
        if state.decrement <= 1e-4 * rows.k / len(small.y):
            break
    return rows.shifted(state.w, state.b)


class PoissonRegressor(CallbackSupport, RegressorMixin, BaseEstimator):
    r"""Regression of counts: the logarithm of the mean is linear.

    Minimises :math:`\frac{1}{S}\sum_i s_i (e^{f_i} - y_i f_i) + \frac{\alpha}{2}\lVert w\rVert^2`
    over w and b, where :math:`f_i = x_i^\top w + b`, :math:`s_i` is the weight of row i (1 by
    default) and S the sum of the weights.

    Parameters
    ----------
    alpha : float, default=1
        Strength of the penalty; 0 for plain maximum likelihood. If columns are dependent and there
        is no penalty, of all best w the one of least norm is found.
    fit_intercept : bool, default=True
        Fit b; otherwise b = 0.
    solver : {"lbfgs", "newton-cholesky"}, default="lbfgs"
        Both names of scikit-learn are taken and give Newton's method, which ends at the same
        minimum: by Cholesky, or by conjugate gradients where there are more than 1500 columns and
        rows (256 columns if X is sparse).
    max_iter : int, default=100
        The most steps.
    tol : float, default=1e-4
        Stop when `certificate_` is at most tol² times the mean of y. For a problem of unit
        curvature that is a gradient of length `tol`.
    warm_start : bool, default=False
        Start from the answer of the last fit.
    verbose : int, default=0
        Positive: report to the logger "mlreplica" how the fit went.
    n_jobs : int, default=None
        Threads; None means all.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        w.
    intercept_ : float
        b. If y is zero in every row, the logarithm of 2⁻⁵², as that of 0 is not finite.
    certificate_ : float
        An upper bound on the distance of the objective from its minimum; infinite if none is
        known (no penalty and far from the minimum, or no penalty and conjugate gradients).
    n_iter_ : int
        Steps taken over all rows.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> from mlreplica.linear_model import PoissonRegressor
    >>> X = [[1, 2], [2, 3], [3, 4], [4, 3]]
    >>> y = [12, 17, 22, 21]
    >>> model = PoissonRegressor().fit(X, y)
    >>> model.coef_.round(3), round(float(model.intercept_), 3)
    (array([0.121, 0.158]), 2.089)
    >>> round(model.score(X, y), 3)
    0.99
    """

    card = Card(
        page="poisson-regression",
        checks="linear",
        onnx="log_linear",
        use="a count, or a rate with exposures as weights",
        good="predictions are positive; effects multiply; a certificate bounds its error",
        bad="assumes a variance equal to the mean",
        time="O(n p) per iteration of L-BFGS, O(n p²) per Newton step",
        memory="O(n p)",
        instead="HistGradientBoostingRegressor(loss='poisson') for curves and interactions",
    )

    _parameter_constraints = {
        "alpha": [Interval(Real, 0.0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "solver": [StrOptions({"lbfgs", "newton-cholesky"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        *,
        alpha=1.0,
        fit_intercept=True,
        solver="lbfgs",
        max_iter=100,
        tol=1e-4,
        warm_start=False,
        verbose=0,
        n_jobs=None,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit w and b.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Counts, or any other values ≥ 0, as rates.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights s ≥ 0: exposures, if y are counts divided by them.

        Returns
        -------
        self : PoissonRegressor
            The fitted estimator.
        """
        X, y = training_rows(self, X, y, accept_sparse=["csc", "csr"])
        check_counts(y)
        X, y, s = weighted_rows(X, y, sample_weight)
        mean = float(s @ y / s.sum())
        if mean == 0.0 and self.fit_intercept:
            return self._publish(X, np.zeros(X.shape[1]), np.log(TINY), TINY, 0)
        # counts in units of their mean: P is `unit` times (1) with y/unit, α/unit, plus a constant
        unit = mean if self.fit_intercept else 1.0
        rows = Rows.of(X, intercept=self.fit_intercept, n_jobs=self.n_jobs, rotate=True)
        with rows.threads():
            return self._solve(Counts.of(rows, y / unit, s, self.alpha / unit), mean, unit, X, y)

    def _solve(self, problem, mean, unit, X, y=None):
        """Minimise, from zero or from the last answer, and publish."""
        rows = problem.rows

        def attributes(state):
            return {"coef_": state.w, "intercept_": state.b, "certificate_": state.gap}

        def in_units(states):
            for state in states:
                w, b, objective, gap, decrement, t = state
                objective = unit * objective - (mean * np.log(unit) if self.fit_intercept else 0.0)
                yield PoissonState(w, b + np.log(unit), objective, unit * gap, unit * decrement, t)

        if self.warm_start and hasattr(self, "coef_"):
            v = rows.shifted(self.coef_, self.intercept_ - np.log(unit))
        else:
            v = thinned_start(problem)
        state = iterate(
            self,
            in_units(newton(problem, v)),
            max_iter=self.max_iter + 1,
            tol=self.tol**2 * (mean or 1.0),
            watch="gap" if self.alpha > 0 or rows.direct else "decrement",
            unit="steps",
            advice="raise max_iter, alpha or tol, or scale X",
            publish=attributes,
            X=X,
            y=y,
        )
        return self._publish(X, state.w, state.b, state.gap, self.n_iter_ - 1)

    def _publish(self, X, w, b, gap, steps):
        """Set the fitted attributes."""
        self.coef_ = w.astype(X.dtype, copy=False)
        self.intercept_ = X.dtype.type(b) if self.fit_intercept else 0.0
        self.certificate_, self.n_iter_ = gap, steps
        if self.verbose:
            logger.info("%d steps, objective within %.1e of its minimum", steps, gap)
        return self

    def predict(self, X):
        """Predict the mean e^(X w + b).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            One mean a row.
        """
        X = new_rows(self, X, accept_sparse=SPARSE)
        return np.exp(X @ self.coef_ + self.intercept_)

    def score(self, X, y, sample_weight=None):
        """D², the share of the deviance that the model explains: 1 at best, 0 for a constant.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their counts.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.

        Returns
        -------
        score : float
        """
        mean = self.predict(X)
        y = check_array(y, dtype=np.float64, order="C", ensure_2d=False, input_name="y")
        check_counts(y)
        s = np.ones(len(y))
        if sample_weight is not None:
            s = _check_sample_weight(sample_weight, X, dtype=np.float64)

        def deviance(mean):
            return s @ (xlogy(y, y / mean) - y + mean)

        return float(1.0 - deviance(mean) / deviance(np.average(y, weights=s)))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.positive_only = True
        return tags
