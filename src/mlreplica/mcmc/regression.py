r"""Bayesian linear regression by Gibbs sampling

    y ~ N(Xw + b, σ²),   w ~ N(0, I/α),   σ² ~ InvGamma(a, r),   α ~ Gamma(a, r),   b flat       (1)

In the basis of the eigenvectors V of XᵀX (X and y centred), with eigenvalues λ and c = Vᵀ Xᵀy, the
weights v = Vᵀw are independent given σ² and α. A sweep costs O(p):                              (2)

    v_i ~ N(c_i / (λ_i + ασ²), σ² / (λ_i + ασ²))
    σ²  ~ InvGamma(a + (n − 1)/2, r + ½ RSS),   RSS = RSS_min + Σ λ_i (v_i − c_i/λ_i)²
    α   ~ Gamma(a + p/2, r + ½ ‖v‖²)
    b   ~ N(ȳ − x̄ᵀw, σ²/n)

Directions in which X does not vary are left out of (2), with p the number of the others, and drawn
from their prior given α.

The mean of w given σ² and α is ridge regression with the penalty ασ², so the model is a ridge whose
penalty is drawn from what the data say about it, and whose weights come with their uncertainty.

References
----------
Lindley, Smith: Bayes estimates for the linear model. JRSS B 34 (1972), 1–41.
"""

import math
from numbers import Integral, Real

import numpy as np
from scipy import linalg
from sklearn.base import RegressorMixin
from sklearn.utils.extmath import svd_flip

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, _check_sample_weight, _fit_context
from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import one_blas_thread
from mlreplica.core.validation import new_rows, refuse_overflow, validate_data

from .parameters import Layout, positive, real
from .posterior import PosteriorModel
from .random import gamma, normal, seeds
from .sampler import Sampler


@kernel(borrow=True)
def ridge_sweeps(words, v, numbers, lam, best, rss, n_rows, prior, fixed, out, n, thin):
    """n draws of (v, σ², α, noise of b) by (2); numbers holds σ² and α."""
    p, (a, r) = len(v), prior
    for k in range(n):
        for _ in range(thin):
            sigma2, alpha = numbers[0], numbers[1]
            left, length = rss, 0.0
            for i in range(p):
                weight = lam[i] + alpha * sigma2
                v[i] = lam[i] / weight * best[i] + math.sqrt(sigma2 / weight) * normal(words)
                left += lam[i] * (v[i] - best[i]) * (v[i] - best[i])
                length += v[i] * v[i]
            numbers[0] = (r + 0.5 * left) / gamma(words, a + 0.5 * n_rows)
            if not fixed:
                numbers[1] = gamma(words, a + 0.5 * p) / (r + 0.5 * length)
        if len(out) > 0:
            for i in range(p):
                out[k, i] = v[i]
            out[k, p], out[k, p + 1], out[k, p + 2] = numbers[0], numbers[1], normal(words)
    return 0


class RidgeGibbs(Sampler):
    """The sampler behind `BayesianLinearRegression`: everything but the rotation back."""

    stat_names = ()
    layout = None  # set by the constructor, not by a density

    def __init__(self, lam, best, rss, n_rows, prior, alpha, start):
        self.data = lam, best, rss, n_rows, prior, alpha is not None
        self.start, p = start, len(lam)
        self.layout = Layout({"v": real(p), "sigma2": positive(), "alpha": positive(), "z": real()})

    def prepare(self, d):
        """There is nothing to compile."""

    def begin(self, x0, n_chains, random_state):
        """Chains at the ridge solution."""
        return [
            {
                "words": child.generate_state(4, np.uint64),
                "v": self.data[1].copy(),
                "numbers": np.array(self.start),
                "counts": np.ones(2, dtype=np.int64),
            }
            for child in seeds(random_state, n_chains)
        ]

    def advance(self, chain, out, stats, n, thin, step, n_warmup):
        """n draws of a chain, or n sweeps of its warm-up."""
        out = np.empty((0, self.layout.size)) if out is None else out
        ridge_sweeps(chain["words"], chain["v"], chain["numbers"], *self.data, out, n, thin)


class BayesianLinearRegression(RegressorMixin, PosteriorModel):
    """Linear regression (1) whose weights, noise and penalty are drawn from their posterior.

    Parameters
    ----------
    alpha : float or None, default=None
        Precision of the prior of the weights; None gives it a prior of its own and learns it.
    shape, rate : float, default=1e-4
        a and r of the priors of σ² and α, relative to the scale of y.
    fit_intercept : bool, default=True
    n_draws, n_warmup, n_chains : int, default=1000, 200, 4
        Draws to keep per chain, sweeps before the first, and chains.
    random_state : int, RandomState, Generator or None, default=None
    n_jobs : int or None, default=None
        Threads; None means as many as there are cores.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Posterior mean of w.
    intercept_ : float
        Posterior mean of b.
    sigma_, alpha_ : float
        Posterior means of σ and of α.
    covariance_ : ndarray of shape (n_features + 1, n_features + 1)
        Posterior covariance of the weights and, last, the intercept.
    draws_ : Draws
        Blocks `coef`, `intercept`, `sigma`, `alpha`.
    n_iter_ : int
        Sweeps per chain.

    Examples
    --------
    >>> from mlreplica.datasets import load_diabetes
    >>> from mlreplica.mcmc import BayesianLinearRegression
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BayesianLinearRegression(random_state=0).fit(X, y)
    >>> mean, std = model.predict(X[:1], return_std=True)
    >>> bool(50 < std[0] < 60)
    True
    """

    card = Card(
        page="bayesian-regression",
        checks="posterior",
        cheap=lambda: {"n_draws": 60, "n_warmup": 20, "n_chains": 2, "random_state": 0},
        use="a number, with an honest standard deviation for every prediction",
        good="chooses the penalty by itself; intervals for weights and predictions",
        bad="linear; normal noise of one size",
        time="O(n p²) once, then O(p) per sweep and O(p²) per draw",
        memory="O(n p), and p numbers per draw",
        instead="Ridge for the weights alone",
    )

    _parameter_constraints = {
        "alpha": [Interval(Real, 0, None, closed="neither"), None],
        "shape": [Interval(Real, 0, None, closed="neither")],
        "rate": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "n_warmup": [Interval(Integral, 0, None, closed="left")],
        "n_chains": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state", np.random.Generator],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        alpha=None,
        *,
        shape=1e-4,
        rate=1e-4,
        fit_intercept=True,
        n_draws=1000,
        n_warmup=200,
        n_chains=4,
        random_state=None,
        n_jobs=None,
    ):
        self.alpha = alpha
        self.shape = shape
        self.rate = rate
        self.fit_intercept = fit_intercept
        self.n_draws = n_draws
        self.n_warmup = n_warmup
        self.n_chains = n_chains
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    @one_blas_thread()
    def fit(self, X, y, sample_weight=None):
        """Draw from the posterior (1).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight 2 counts twice.

        Returns
        -------
        self : BayesianLinearRegression
        """
        known = int(self.fit_intercept)  # rows that the intercept uses up
        X, y = validate_data(
            self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=1 + known
        )
        c = np.ones(len(y))
        if sample_weight is not None:
            c = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        n = float(c.sum())
        if n <= known:  # nothing but its prior would be known of σ
            raise ValueError(f"sample_weight must have a sum above {known}, got {n:g}.")
        x_mean = (c @ X) / n if self.fit_intercept else np.zeros(X.shape[1])
        y_mean = float(c @ y) / n if self.fit_intercept else 0.0
        root = np.sqrt(c)
        Xc, yc = (X - x_mean) * root[:, None], (y - y_mean) * root
        unit = float(np.sqrt(max(yc @ yc / n, 0.0))) or 1.0  # y is drawn in units of its deviation
        refuse_overflow(self, X=[unit, np.abs(Xc).max(initial=0.0) * np.abs(Xc).max(initial=0.0)])
        U, s, Vt = linalg.svd(Xc, full_matrices=False)
        U, Vt = svd_flip(U, Vt, u_based_decision=False)  # rows in any form give the same draws
        kept = s > max(Xc.shape) * np.finfo(float).eps * max(s.max(initial=0.0), 1e-300)
        s = np.where(kept, s, 0.0)
        kept[0] = True  # of a constant X, too: v has at least one entry
        U, s, Vt = U[:, kept], s[kept], Vt[kept]
        lam, along = s**2, np.where(s > 0.0, U.T @ (yc / unit), 0.0)
        best = along / np.where(s > 0.0, s, 1.0)
        rss = float(np.sum((yc / unit - U @ along) ** 2))
        n_rows = n - known
        alpha = None if self.alpha is None else self.alpha * unit**2
        start = max(rss / max(n, 1.0), 1e-8), alpha if alpha is not None else 1.0
        prior = float(self.shape), float(self.rate)
        sampler = RidgeGibbs(lam, best, rss, n_rows, prior, alpha, start)

        def publish(model, draws):
            model.publish(draws, Vt, unit, x_mean, y_mean, n)

        return self.sample_posterior(sampler, publish)

    def _blocks(self):
        """The named blocks of a draw."""
        p = self.n_features_in_
        return {"coef": real(p), "intercept": real(), "sigma": positive(), "alpha": positive()}

    def publish(self, draws, Vt, unit, x_mean, y_mean, n):
        """Turn draws of v into draws of w and b, and keep their moments."""
        v, p = draws.array[..., : len(Vt)], Vt.shape[1]
        coef = unit * (v @ Vt)
        sigma = unit * np.sqrt(draws["sigma2"])
        if len(Vt) < p:  # directions in which the data say nothing keep their prior
            rng = np.random.default_rng(draws.chains[0]["words"][0])
            z = rng.standard_normal((*v.shape[:2], p))
            coef += unit * (z - z @ Vt.T @ Vt) / np.sqrt(draws["alpha"])[..., None]
        at = y_mean - coef @ x_mean
        offset = at + sigma / math.sqrt(n) * draws["z"] if self.fit_intercept else np.zeros_like(at)
        alpha = draws["alpha"] / unit**2
        array = np.concatenate([coef, np.stack([offset, sigma, alpha], axis=-1)], axis=-1)
        self.keep(draws, array)
        self.coef_, self.intercept_ = coef.mean(axis=(0, 1)), float(offset.mean())
        self.sigma_, self.alpha_ = float(sigma.mean()), float(alpha.mean())
        both = array[..., : p + 1].reshape(-1, p + 1)
        self.covariance_ = np.atleast_2d(np.cov(both.T, bias=len(both) == 1))
        refuse_overflow(self, coef_=self.coef_, intercept_=self.intercept_, sigma_=self.sigma_)

    def predict(self, X, return_std=False):
        """The posterior mean of the line at each row, and the deviation of a new y from it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_std : bool, default=False
            Whether to return the standard deviation of the predictive distribution, too: of the
            line, by its uncertain weights, and of the noise.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        std : ndarray of shape (n_samples,)
            Only if asked for.
        """
        X = new_rows(self, X)
        mean = X @ self.coef_ + self.intercept_
        if not return_std:
            return mean
        p = X.shape[1]
        C = self.covariance_
        line = np.einsum("ij,ij->i", X @ C[:p, :p], X) + 2.0 * X @ C[:p, p] + C[p, p]
        noise = float(np.mean(self.draws_["sigma"] ** 2))
        return mean, np.sqrt(np.maximum(line, 0.0) + noise)

    def predict_interval(self, X, probability=0.9):
        """The interval between two quantiles of the predictive distribution, at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        probability : float, default=0.9
            Share of new y inside.

        Returns
        -------
        interval : ndarray of shape (n_samples, 2)
        """
        if not 0.0 < probability < 1.0:
            raise ValueError(f"probability must lie in (0, 1), got {probability!r}.")
        drawn = self.sample_y(X, random_state=0)
        tail = 0.5 - 0.5 * probability
        return np.quantile(drawn, [tail, 1.0 - tail], axis=1).T

    def sample_y(self, X, random_state=None):
        """A new y of every row for every draw of the posterior.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        random_state : int, Generator or None, default=None

        Returns
        -------
        y : ndarray of shape (n_samples, n_chains · n_draws)
        """
        X, d = new_rows(self, X), self.draws_.flat()
        p, rng = X.shape[1], np.random.default_rng(random_state)
        line = X @ d[:, :p].T + d[:, p]
        return line + d[:, p + 1] * rng.standard_normal(line.shape)
