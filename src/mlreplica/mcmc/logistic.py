r"""Bayesian logistic regression by the no-U-turn sampler

    P(y_i = k) = e^{z_ik} / Σ_j e^{z_ij},   z_ik = x_iᵀw_k + b_k,   w ~ N(0, I/α),   b ~ N(0, s²)
    (1)

for K classes; two classes have one score. `logistic_density.py` is its log-posterior.
"""

from numbers import Integral, Real

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, _check_sample_weight, _fit_context
from mlreplica.core.validation import new_rows, validate_data

from .logistic_density import logistic_log_density, multinomial_log_density
from .nuts import NUTS
from .parameters import real
from .posterior import PosteriorModel

BLOCK = 2_000_000  # scores in memory at a time


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
