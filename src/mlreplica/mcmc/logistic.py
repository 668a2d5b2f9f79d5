r"""Bayesian logistic regression by the no-U-turn sampler

    P(y_i = k) = e^{z_ik} / Σ_j e^{z_ij},   z_ik = x_iᵀw_k + b_k,   w ~ N(0, I/α),   b ~ N(0, s²)
    (1)

for K classes; two classes have one score z_i, with labels y_i = ±1, and the log-posterior       (2)

    −Σ c_i log(1 + e^{−y_i z_i}) − ½α ‖w‖² − b²/2s²,   gradient Σ c_i y_i σ(−y_i z_i) x_i − αw

with weights c_i. The logarithms are taken of products of up to 500 factors 1 + e^−|z| ≤ 2: one
logarithm per 500 rows, and the loop over rows becomes vector instructions.                      (3)
"""

import math
from numbers import Integral, Real

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, _check_sample_weight, _fit_context
from mlreplica.core.formulas.exp import power_of_two
from mlreplica.core.validation import new_rows, validate_data

from .nuts import NUTS
from .parameters import real
from .posterior import PosteriorModel

LOG2_E = 1.4426950408889634
BLOCK = 2_000_000  # scores in memory at a time


def logistic_log_density(X, y, alpha=1.0, sample_weight=None, intercept_scale=None, gradient=True):
    """The log-posterior (2) of binary logistic regression, as a function that samplers compile.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        −1 or +1.
    alpha : float, default=1.0
        Precision of the prior of the weights.
    sample_weight : ndarray of shape (n_samples,), optional
    intercept_scale : float, optional
        Standard deviation s of the intercept's prior; the intercept is then the last number.
    gradient : bool, default=True
        Whether the function returns the gradient, too: for HMC and NUTS with `gradient=True`.

    Returns
    -------
    log_density : callable
        Of the vector of weights; returns (value, gradient), or the value alone.
    """
    X, y = np.ascontiguousarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    (n, p), alpha = X.shape, float(alpha)
    c = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    even = bool((c == 1.0).all())
    s2 = math.inf if intercept_scale is None else float(intercept_scale) ** 2
    has_offset = intercept_scale is not None
    XT = np.ascontiguousarray(X.T)

    def value_alone(w):
        f = np.full(n, w[p] if has_offset else 0.0)
        for j in range(p):
            w_j, x_j = w[j], XT[j]
            for i in range(n):
                f[i] += w_j * x_j[i]
        value, start = 0.0, 0
        while start < n:
            stop = min(start + 500, n)
            product, f_b, y_b, c_b = 1.0, f[start:stop], y[start:stop], c[start:stop]
            for i in range(len(f_b)):
                z = y_b[i] * f_b[i]
                e = power_of_two(-LOG2_E * abs(z))
                value += c_b[i] * min(z, 0.0)
                if even:
                    product *= 1.0 + e  # (3)
                else:
                    value -= c_b[i] * math.log1p(e)
            value -= math.log(product)
            start = stop
        for j in range(p):
            value -= 0.5 * alpha * w[j] * w[j]
        return value - 0.5 * w[p] * w[p] / s2 if has_offset else value

    def value_and_gradient(w):
        r = np.full(n, w[p] if has_offset else 0.0)
        for j in range(p):
            w_j, x_j = w[j], XT[j]
            for i in range(n):
                r[i] += w_j * x_j[i]
        value, start = 0.0, 0
        while start < n:
            stop = min(start + 500, n)
            product, r_b, y_b, c_b = 1.0, r[start:stop], y[start:stop], c[start:stop]
            for i in range(len(r_b)):
                z = y_b[i] * r_b[i]
                e = power_of_two(-LOG2_E * abs(z))
                value += c_b[i] * min(z, 0.0)
                if even:
                    product *= 1.0 + e  # (3)
                else:
                    value -= c_b[i] * math.log1p(e)
                share = 1.0 / (1.0 + e)
                r_b[i] = c_b[i] * y_b[i] * (e * share if z > 0.0 else share)  # (2)
            value -= math.log(product)
            start = stop
        g = np.empty(len(w))
        total = 0.0
        for i in range(n):
            total += r[i]
        for j in range(p):
            x_j, s = XT[j], 0.0
            for i in range(n):
                s += r[i] * x_j[i]
            g[j] = s - alpha * w[j]
            value -= 0.5 * alpha * w[j] * w[j]
        if has_offset:
            g[p] = total - w[p] / s2
            value -= 0.5 * w[p] * w[p] / s2
        return value, g

    return value_and_gradient if gradient else value_alone


def multinomial_log_density(X, codes, K, alpha, c, s):
    """The log-posterior (1) of K classes, with its gradient; W is (K, p + 1), intercepts last."""
    (n, p), alpha, s2 = X.shape, float(alpha), float(s) ** 2

    def value_and_gradient(x):
        W = x.reshape(K, p + 1)
        g, value, f = np.empty(K * (p + 1)), 0.0, np.empty(K)
        for k in range(K):
            for j in range(p):
                g[k * (p + 1) + j] = -alpha * W[k, j]
                value -= 0.5 * alpha * W[k, j] ** 2
            g[k * (p + 1) + p] = -W[k, p] / s2
            value -= 0.5 * W[k, p] ** 2 / s2
        for i in range(n):
            high, total = -np.inf, 0.0
            for k in range(K):
                z = W[k, p]
                for j in range(p):
                    z += W[k, j] * X[i, j]
                f[k] = z
                high = max(high, z)
            value += c[i] * (f[codes[i]] - high)
            for k in range(K):
                f[k] = math.exp(f[k] - high)
                total += f[k]
            value -= c[i] * math.log(total)
            for k in range(K):
                r = c[i] * ((1.0 if k == codes[i] else 0.0) - f[k] / total)
                for j in range(p):
                    g[k * (p + 1) + j] += r * X[i, j]
                g[k * (p + 1) + p] += r
        return value, g

    return value_and_gradient


class BayesianLogisticRegression(ClassifierMixin, PosteriorModel):
    """Logistic regression (1) whose weights are drawn from their posterior.

    Parameters
    ----------
    alpha : float, default=1.0
        Precision of the prior of the weights, as 1/C of LogisticRegression.
    intercept_scale : float, default=10.0
        Standard deviation s of the intercept's prior.
    n_draws, n_warmup, n_chains : int, default=500, 300, 4
        Draws to keep per chain, steps before the first, and chains.
    target_accept : float, default=0.8
        Of NUTS.
    random_state : int, RandomState, Generator or None, default=None
    n_jobs : int or None, default=None
        Threads; None means as many as there are cores.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Posterior mean of w.
    intercept_ : ndarray of shape (1,) or (n_classes,)
    draws_ : Draws
        Blocks `coef` and `intercept`.
    n_iter_ : int
        Steps per chain.

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.mcmc import BayesianLogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BayesianLogisticRegression(random_state=0, n_draws=100).fit(X, y == 1)
    >>> model.predict_proba(X[:2]).shape
    (2, 2)
    """

    card = Card(
        page="bayesian-regression",
        checks="posterior",
        cheap=lambda: {"n_draws": 40, "n_warmup": 40, "n_chains": 2, "random_state": 0},
        use="a class, with probabilities that know how little data there was",
        good="probabilities are averaged over all weights that fit; intervals for weights",
        bad="slower than the optimum; linear",
        time="O(n p) per leapfrog step, some ten per draw",
        memory="O(n p), and p numbers per draw",
        instead="LogisticRegression for the most probable weights alone",
    )

    _parameter_constraints = {
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "intercept_scale": [Interval(Real, 0, None, closed="neither")],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "n_warmup": [Interval(Integral, 0, None, closed="left")],
        "n_chains": [Interval(Integral, 1, None, closed="left")],
        "target_accept": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state", np.random.Generator],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        alpha=1.0,
        *,
        intercept_scale=10.0,
        n_draws=500,
        n_warmup=300,
        n_chains=4,
        target_accept=0.8,
        random_state=None,
        n_jobs=None,
    ):
        self.alpha = alpha
        self.intercept_scale = intercept_scale
        self.n_draws = n_draws
        self.n_warmup = n_warmup
        self.n_chains = n_chains
        self.target_accept = target_accept
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
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
        self : BayesianLogisticRegression
        """
        X, y = validate_data(self, X, y, dtype=np.float64, order="C")
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        K, p = len(self.classes_), X.shape[1]
        if K < 2:
            raise ValueError(
                f"BayesianLogisticRegression needs at least two classes, got one class: "
                f"{self.classes_[0]!r}."
            )
        c = np.ones(len(y))
        if sample_weight is not None:
            c = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        X, codes, c = merge_rows(X, codes, c)
        if K == 2:
            f = logistic_log_density(
                X, np.where(codes == 1, 1.0, -1.0), self.alpha, c, self.intercept_scale
            )
            d = p + 1
        else:
            f = multinomial_log_density(X, codes, K, self.alpha, c, self.intercept_scale)
            d = K * (p + 1)
        sampler = NUTS(f, gradient=True, target_accept=self.target_accept)
        return self.sample_posterior(sampler, type(self).publish, np.zeros(d))

    def _blocks(self):
        """The named blocks of a draw."""
        return {"coef": real(self.coef_.shape), "intercept": real(len(self.intercept_))}

    def publish(self, draws):
        """Keep the draws, weights first and intercepts last, and their means."""
        p = self.n_features_in_
        W = draws.array.reshape(*draws.array.shape[:2], -1, p + 1)
        self.coef_, self.intercept_ = W[..., :p].mean(axis=(0, 1)), W[..., p].mean(axis=(0, 1))
        coef = W[..., :p].reshape(*W.shape[:2], -1)
        self.keep(draws, np.concatenate([coef, W[..., p]], axis=-1))

    def decision_function(self, X):
        """The score of the mean weights: z of (1).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        f : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        f = new_rows(self, X) @ self.coef_.T + self.intercept_
        return f[:, 0] if f.shape[1] == 1 else f

    def predict_proba(self, X, return_std=False):
        """Probabilities of the classes, averaged over the posterior.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_std : bool, default=False
            Whether to return, too, how much they vary over the posterior.

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
        std : ndarray of shape (n_samples, n_classes)
            Only if asked for.
        """
        X = new_rows(self, X)
        m, p = self.coef_.shape
        drawn = self._posterior.reshape(-1, m * (p + 1))
        W, offset = drawn[:, : m * p].reshape(-1, p), drawn[:, m * p :]  # a row per draw and score
        mean = np.empty((len(X), len(self.classes_)))
        std, rows = np.empty_like(mean), max(1, BLOCK // len(W))
        for at in range(0, len(X), rows):
            here = slice(at, at + rows)
            P = probabilities((X[here] @ W.T).reshape(-1, *offset.shape) + offset)
            mean[here] = P.mean(axis=1)
            std[here] = P.std(axis=1) if return_std else 0.0
        return (mean, std) if return_std else mean

    def predict(self, X):
        """The class of the largest averaged probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        P = self.predict_proba(X)
        return self.classes_[np.argmax(P, axis=1)]


def merge_rows(X, codes, c):
    """Different rows in a fixed order, their classes and weights.

    A trajectory turns a difference in the last digit of a sum into another draw; so rows in another
    order, or repeated instead of weighted, must be the same sum.
    """
    some = c > 0.0
    if not some.any():
        raise ValueError("sample_weight must have a positive sum.")
    rows = np.column_stack([codes, X])[some]
    rows, at = np.unique(rows, axis=0, return_inverse=True)
    weights = np.bincount(at.ravel(), c[some])
    return np.ascontiguousarray(rows[:, 1:]), rows[:, 0].astype(np.int64), weights


def probabilities(f):
    """Probabilities along the last axis from scores (1)."""
    if f.shape[-1] == 1:
        return np.concatenate([expit(-f), expit(f)], axis=-1)
    return softmax(f, axis=-1)
