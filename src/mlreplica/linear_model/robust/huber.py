r"""Huber regression with its scale: Newton's method on the line, the scale always exact

Residuals r_i = y_i − x_iᵀw − b cost r² while they are small and grow linearly beyond; what is small
is measured by a scale σ that is found along with w and b. With weights s_i:

    minimise over w, b, σ > 0:   P = Σ_i s_i [σ + σ·ℓ(r_i/σ)] + α ‖w‖²                          (1)
    ℓ(ρ) = ρ² where |ρ| ≤ ε,   2ε|ρ| − ε² elsewhere

P is convex in all three together: σ·ℓ(r/σ) is the perspective of a convex function. For a given
line the best σ makes ∂P/∂σ = Σ s_i (1 − ψ_i²) zero, ψ_i = r_i/σ cut off at ±ε:

    Σ_i s_i min(r_i²/σ², ε²) = Σ_i s_i                                                          (2)

The left side is concave, piecewise linear and increasing in 1/σ², so that Newton's method for (2)
ends after a few passes over r, exactly. That leaves F(w, b) = min over σ of P. With z_i = [1, x_i],
the inliers I = {|r_i| ≤ εσ} and ρ_i = r_i/σ,

    ∇F = −2 Σ s_i ψ_i z_i + 2α (0, w)                                                           (3)
    H  = 2/σ [ Σ_I s_i z_i z_iᵀ − k kᵀ / Σ_I s_i ρ_i² ] + 2α I₀,     k = Σ_I s_i ρ_i z_i        (4)

(I₀: the identity without the intercept's entry). A step is v ← v − t H⁻¹∇F, with t found on
r − t·Zstep, which needs no look at X.

How far is the minimum? σ·ℓ(r/σ) is the largest u r − σu²/4 over |u| ≤ 2ε. So any u with

    |u_i| ≤ 2ε,    Σ s_i u_i²/4 ≤ Σ s_i,    Σ s_i u_i = 0    gives                              (5)
    P* ≥ D(u) = Σ s_i u_i y_i − ‖Σ s_i u_i x_i‖² / 4α

Newton's equation hands us such a u: what 2ψ becomes, to first order, after full steps d, δ of v, σ,

    u_i = 2 (r_i − z_iᵀd)/σ − 2 r_i δ/σ²  in I,      2ε·sign(r_i)  elsewhere                    (6)

has Σ s_i u_i z_i = 2α (0, w + d_w), and is made shorter where it is too long for (5).

If H is singular (all inliers on one line, or too few of them), or its step is of little use, a step
of weighted least squares takes its place, which is slower but falls from everywhere:

    H  = Σ s_i h_i z_i z_iᵀ + 2α I₀,    h_i = 2 / max(σ, |r_i|/ε),    u_i = h_i (r_i − z_iᵀd)    (7)

Huber, Robust Statistics (1981), section 7.7; Owen, A robust hybrid of lasso and ridge regression
(2007).
"""

import warnings
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.base import (
    BaseEstimator,
    RegressorMixin,
)
from sklearn.exceptions import ConvergenceWarning

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, _fit_context
from mlreplica.core.compile.jit import kernel
from mlreplica.core.iterate import CallbackSupport, iterate
from mlreplica.core.linalg import EPS, power_of_two, solve_symmetric
from mlreplica.core.linear import LinearPrediction, training_rows, weighted_rows
from mlreplica.core.rows.walk import Rows

LEAST = 10 * EPS  # σ in units of y: for a perfect fit it would be 0


class HuberState(NamedTuple):
    """Where the fit is: line, scale, P, the bound on P − P*, and the same as a share of P."""

    w: np.ndarray
    b: float
    sigma: float
    objective: float
    gap: float
    relative_gap: float
    outliers: int
    step: float  # t, 0 at the start


@kernel
def best_scale(r, s, epsilon, least):
    """σ of (2) for shares s that add up to one, or `least` if it is smaller."""
    total = 0.0
    for i in range(len(r)):
        total += s[i] * r[i] * r[i]
    if not total > least * least:
        return least
    tau, cut = 1.0 / total, epsilon * epsilon  # τ = 1/σ²; all rows are taken as inliers at first
    while tau < 1.0 / (least * least):
        inside, outside = 0.0, 0.0
        for i in range(len(r)):
            r_sq = r[i] * r[i]
            if r_sq * tau <= cut:
                inside += s[i] * r_sq
            else:
                outside += s[i]
        room = 1.0 - cut * outside
        if not (inside > 0.0 and room > 0.0):
            return least if inside <= 0.0 else max(least, tau**-0.5)
        new = room / inside
        if new <= tau * (1.0 + 1e-15):
            return tau**-0.5
        tau = new
    return least


class Residuals(NamedTuple):
    """What r alone tells: σ of (2), ψ, and the loss Σ s (σ + σ ℓ(r/σ))."""

    r: np.ndarray
    sigma: float
    psi: np.ndarray
    loss: float

    @classmethod
    def of(cls, r, s, epsilon, least):
        """At the best scale that is not below `least`."""
        sigma = best_scale(r, s, epsilon, least)
        z = r / sigma
        psi = np.clip(z, -epsilon, epsilon)
        z *= 2.0
        z -= psi  # ℓ(z) = ψ (2z − ψ)
        z *= psi
        return cls(r, sigma, psi, sigma * (1.0 + float(s @ z)))


class HuberProblem(NamedTuple):
    """Problem (1) with shares s that add up to one, and α to fit."""

    rows: Rows
    y: np.ndarray
    s: np.ndarray
    alpha: float
    epsilon: float

    @property
    def penalty(self):
        """α for every entry of v, 0 for the intercept."""
        return self.rows.penalty(self.alpha)

    def least_squares(self):
        """The v that treats all rows as inliers of scale one."""
        H = self.rows.gram(self.s)
        H[np.diag_indices(len(H))] += self.penalty
        return solve_symmetric(H, self.rows.back(self.s * self.y))

    def curvature(self, at, least):
        """H of (4) for a fixed σ, and the factors of what σ adds; a step d has δ = −ratioᵀd."""
        _, sigma, psi, _ = at
        k = self.rows.k
        root = np.sqrt(np.where(np.abs(psi) < self.epsilon, self.s, 0.0))

        def of(block):
            block.Z[:, k] = psi[block.rows]
            R = np.multiply(block.Z, root[block.rows, None], out=block.Z)
            return R.T @ R

        M = self.rows.sum(of, extra=1)
        H, cross, own = M[:k, :k], M[:k, k], M[k, k]
        ratio = cross / own if own > 0 and sigma > least else np.zeros(k)
        H *= 2 / sigma
        H[np.diag_indices(k)] += 2 * self.penalty
        return H, 2 / sigma * cross, ratio

    def newton_step(self, at, gradient, least):
        """A step d by (4), and the u of (6) that goes with it; None if H is singular along it."""
        H, cross, ratio = self.curvature(at, least)
        H -= np.outer(cross, ratio)
        d = -solve_symmetric(H, gradient)
        if np.abs(gradient + H @ d).max() > 1e-6 * np.abs(gradient).max():
            return None
        q = self.rows.scores(d)
        r_new = at.r - q + at.r * (ratio @ d / at.sigma)
        return d, q, np.where(np.abs(at.psi) < self.epsilon, 2 * r_new / at.sigma, 2 * at.psi)

    def weighted_step(self, at, gradient):
        """A step d by (7), and the u that goes with it."""
        h = 2 / np.maximum(at.sigma, np.abs(at.r) / self.epsilon)
        H = self.rows.gram(self.s * h)
        H[np.diag_indices(len(H))] += 2 * self.penalty
        d = -solve_symmetric(H, gradient)
        q = self.rows.scores(d)
        return d, q, h * (at.r - q)

    def lower_bound(self, u, r_new, v_new):
        """D(u) of (5), less its rounding; r_new = y − Z v_new, for any v_new near the optimum."""
        rows, _, s, alpha, epsilon = self
        i = int(rows.intercept)
        u = u - s @ u if i else u
        su, limit = s * u, 2 * epsilon
        t = min(1.0, limit / max(np.abs(u).max(), limit), 2.0 / max(np.sqrt(su @ u), 2.0))
        a, w = rows.back(su)[i:], v_new[i:]  # a = Σ s_i u_i x_i, which is 2α w
        if alpha == 0 and np.abs(a).max(initial=0.0) > 1e-10 * np.abs(rows.back(s)).max():
            return -np.inf
        parts = t * (su @ r_new), t * (a @ w), -t * t * (a @ a) / (4 * alpha) if alpha else 0.0
        return float(sum(parts) - 4 * EPS * np.abs(parts).sum())


def search(problem, at, v, value, step, decrement, q, slack, least):
    """The longest step of 1, 1/2, 1/4, … that pays: t, and the residuals and value there."""
    s, penalty, t = problem.s, problem.penalty, 1.0
    while t > 1e-12:
        new = Residuals.of(at.r - t * q, s, problem.epsilon, least)
        new_value = new.loss + penalty @ (v + t * step) ** 2
        if new_value <= value - 1e-4 * t * decrement + slack:
            return t, new, float(new_value)
        t *= 0.5
    return 0.0, at, value


def newton(problem, v):
    """Yield a HuberState after each Newton step; end when rounding leaves nothing to gain.

    Where σ tends to 0, P is as kinked as |r|. So σ is kept above a floor, which is lowered whenever
    a full step has been made on it.
    """
    rows, y, s, _, epsilon = problem
    penalty, bound, t, before = problem.penalty, 0.0, 0.0, np.inf
    r = y - rows.scores(v)
    least = max(LEAST, 0.1 * best_scale(r, s, max(epsilon, 1.35), LEAST))
    at = Residuals.of(r, s, epsilon, least)
    while True:
        value = float(at.loss + penalty @ v**2)
        gradient = 2 * (penalty * v - rows.back(s * at.psi))
        found = problem.newton_step(at, gradient, least)
        d, q, u = found or problem.weighted_step(at, gradient)
        bound = max(bound, problem.lower_bound(u, at.r - q, v + d))
        gap = max(value - bound, 0.0)
        outliers = int((np.abs(at.psi) >= epsilon).sum())
        share = gap / value if value > 10 * LEAST else 0.0
        yield HuberState(*rows.plain(v), at.sigma, value, gap, share, outliers, t)
        decrement, slack = -float(gradient @ d), 1e-14 * value
        if value <= 10 * LEAST or (before <= slack and decrement > 0.25 * before):
            return
        t, new, new_value = search(problem, at, v, value, d, decrement, q, slack, least)
        if t < 0.1 and found:
            other, q, _ = problem.weighted_step(at, gradient)
            slope = -float(gradient @ other)
            tried = search(problem, at, v, value, other, slope, q, slack, least)
            if tried[2] < new_value:
                d, (t, new, _) = other, tried
        v, at, before = v + t * d, new, decrement
        if at.sigma == least > LEAST and decrement <= least:
            least, before = max(LEAST, 0.1 * least), np.inf
            at = Residuals.of(at.r, s, epsilon, least)
        elif t == 0.0:
            return


def start(problem):
    """Least squares; for a large set, the answer of every 16th row."""
    rows, y, s, alpha, epsilon = problem
    few = rows.thinning()
    if few is None or not s[few].sum() > 0:
        return problem.least_squares()
    small = HuberProblem(rows.only(few), y[few].copy(), s[few] / s[few].sum(), alpha, epsilon)
    for state in newton(small, small.least_squares()):
        if state.relative_gap <= 1e-3 * rows.k / len(small.y):
            break
    return rows.shifted(state.w, state.b)


class HuberRegressor(CallbackSupport, LinearPrediction, RegressorMixin, BaseEstimator):
    r"""Linear regression that bounds the pull of outliers, with the scale of the errors.

    Minimises :math:`\sum_i s_i [\sigma + \sigma H(r_i/\sigma)] + \alpha \lVert w\rVert^2` over w,
    b and :math:`\sigma > 0`. Here :math:`r_i = y_i - x_i^\top w - b`; :math:`H(z) = z^2` for
    :math:`|z| \le \varepsilon` and :math:`2\varepsilon|z| - \varepsilon^2` beyond.

    Parameters
    ----------
    epsilon : float, default=1.35
        ε ≥ 1: rows with \|r\| > εσ count as outliers. The smaller, the more robust; with 1.35 and
        normal errors 95 % of the efficiency of least squares are kept.
    max_iter : int, default=100
        The most steps.
    alpha : float, default=0.0001
        Strength of the penalty.
    warm_start : bool, default=False
        Start from the answer of the last fit.
    fit_intercept : bool, default=True
        Fit b; otherwise b = 0.
    tol : float, default=1e-5
        Stop when `certificate_` is at most tol² times the objective.
    n_jobs : int, default=None
        Threads; None means all.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        w.
    intercept_ : float
        b.
    scale_ : float
        σ.
    outliers_ : ndarray of shape (n_samples,) of bool
        The rows with \|r\| > εσ.
    certificate_ : float
        An upper bound on the distance of the objective from its minimum: the duality gap.
    n_iter_ : int
        Steps taken over all rows.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.linear_model import HuberRegressor, LinearRegression
    >>> x = np.arange(10.0)
    >>> y = 2 * x + 1 + 0.1 * np.cos(7 * x)
    >>> y[9] = -100  # one wild value
    >>> HuberRegressor().fit(x[:, None], y).coef_.round(2)
    array([1.98])
    >>> LinearRegression().fit(x[:, None], y).coef_.round(2)
    array([-4.5])
    """

    card = Card(
        page="huber-regression",
        checks="linear",
        onnx="linear",
        scale_target=True,
        use="a number, with outliers in the target",
        good="large errors count linearly, so single rows cannot bend the fit; estimates the noise",
        bad="outliers in X still bend it",
        time="O(n p²) per Newton step",
        memory="O(n p)",
        instead="QuantileRegressor for the median, LinearRegression without outliers",
    )

    _parameter_constraints = {
        "epsilon": [Interval(Real, 1.0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        *,
        epsilon=1.35,
        max_iter=100,
        alpha=0.0001,
        warm_start=False,
        fit_intercept=True,
        tol=1e-05,
        n_jobs=None,
    ):
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.alpha = alpha
        self.warm_start = warm_start
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit w, b and σ.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights s ≥ 0: a weight of 2 stands for two equal rows, 0 for none.

        Returns
        -------
        self : HuberRegressor
            The fitted estimator.
        """
        X, y = training_rows(self, X, y, accept_sparse=["csr"])
        all_X, all_y = X, y
        X, y, s = weighted_rows(X, y, sample_weight)
        rows = Rows.of(X, intercept=self.fit_intercept, n_jobs=self.n_jobs, rotate=True)
        with rows.threads():
            return self._solve(rows, y, s, lambda w, b: all_y - (all_X @ w + b), X)

    def _solve(self, rows, y, s, residuals, X):
        """Minimise and publish; `residuals` gives those of all rows for w and b."""
        total = float(s.sum())
        # y about its median in units of its size: P is total·unit times (1) in these units
        y0 = float(np.median(y)) if self.fit_intercept else 0.0
        size = float(np.abs(y - y0).max())
        unit = float(1.0 / power_of_two(np.mean(np.abs(y - y0) / size) * size)) if size > 0 else 1.0
        problem = HuberProblem(
            rows, (y - y0) / unit, s / total, self.alpha * unit / total, float(self.epsilon)
        )

        ended = []

        def in_units(states):
            for w, b, sigma, *objective, relative, outliers, t in states:
                P, gap = (total * unit * value for value in objective)
                yield HuberState(
                    unit * w, unit * b + y0, unit * sigma, P, gap, relative, outliers, t
                )
            ended.append(relative)

        def attributes(state):
            residual = np.abs(residuals(state.w, state.b))
            return {
                "coef_": state.w,
                "intercept_": state.b,
                "scale_": state.sigma,
                "certificate_": state.gap,
                "outliers_": residual > state.sigma * self.epsilon,
            }

        if self.warm_start and hasattr(self, "coef_"):
            v = rows.shifted(self.coef_ / unit, (self.intercept_ - y0) / unit)
        else:
            v = start(problem)
        state = iterate(
            self,
            in_units(newton(problem, v)),
            max_iter=self.max_iter + 1,
            tol=self.tol**2,
            watch="relative_gap",
            unit="steps",
            advice="raise max_iter, alpha or tol" if self.max_iter > 1 else None,
            publish=attributes,
            X=X,
            y=y,
        )
        self.n_iter_ -= 1
        if ended and ended[0] > max(self.tol, 1e-6):
            warnings.warn(
                f"Not converged: relative_gap {state.relative_gap:.1e} after {self.n_iter_} steps, "
                "and no step lowers the objective; raise alpha or epsilon.",
                ConvergenceWarning,
                stacklevel=3,
            )
        vars(self).update(attributes(state))
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
