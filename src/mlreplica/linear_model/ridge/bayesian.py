r"""Bayesian ridge regression: both strengths of ridge chosen by the evidence

    y ~ N(Xw + b, I/β),    w ~ N(0, I/α),    β ~ Gamma(a₁, a₂),    α ~ Gamma(l₁, l₂)         (3)

β is the precision of the noise (`alpha_`, as scikit-learn names it), α that of the weights
(`lambda_`). Let A, t be the rows √s_i [x_i − x̄, y_i − ȳ] and S = Σ s_i. Given α and β, the weights
have a normal posterior, and its mean is ridge regression with the penalty α/β:

    Σ = (β AᵀA + αI)⁻¹,      w = β Σ Aᵀt                                                     (4)

The evidence is the density of y when the weights are integrated out; with the priors of (3),

    log p = ½ (p log α + S log β − β ‖t − Aw‖² − α ‖w‖² + log |Σ| − S log 2π)                (5)
            + a₁ log β − a₂ β + l₁ log α − l₂ α

Its derivatives in α and β are zero where, with γ the number of weights that the data determine and
λ_i the eigenvalues of AᵀA,

    γ = Σ_i β λ_i / (β λ_i + α),                                                             (6)
    α = (γ + 2l₁) / (‖w‖² + 2l₂),      β = (S − γ + 2a₁) / (‖t − Aw‖² + 2a₂)

which is repeated until w is at rest. With AᵀA = V diag(λ) Vᵀ, computed once, all of this is sums
over i: let z_i be the part of t along column i of A V, and ρ = α/β,

    w = V v,   v_i = √λ_i z_i / (λ_i + ρ),      ‖t − Aw‖² = rest + Σ_i (ρ z_i / (λ_i + ρ))²  (7)

MacKay, Bayesian interpolation (1992); Tipping, Sparse Bayesian learning and the relevance vector
machine (2001).
"""

import math
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import BayesianRidge as Reference

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval
from mlreplica.core.iterate import CallbackSupport, attributes_set_by, iterate
from mlreplica.core.linalg import EPS
from mlreplica.core.linear import LinearPrediction, training_rows, weighted_rows
from mlreplica.core.validation import ValidatedOnce, new_rows, refuse_overflow

CLEAR = 1e-6  # least eigenvalue of AᵀA, relative to the largest, that keeps ten digits


class Spectrum(NamedTuple):
    """What (7) asks of A and t."""

    lam: np.ndarray  # (k,), the eigenvalues that need not be zero
    V: np.ndarray  # (p, k)
    z: np.ndarray  # (k,)
    rest: float  # ‖t‖² − ‖z‖², without cancellation

    @classmethod
    def of(cls, A, t):
        """By the eigenvalues of AᵀA where they are exact enough, else by an SVD of A."""
        if A.shape[0] > A.shape[1]:
            lam, V = np.linalg.eigh(A.T @ A)
            if lam[0] > CLEAR * lam[-1]:
                w = V @ ((t @ A @ V) / lam)
                r = t - A @ w
                return cls(lam, V, (w @ V) * np.sqrt(lam), float(r @ r))
        U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
        z = t @ U
        r = t - U @ z
        return cls(sigma**2, Vt.T, z, float(r @ r))


class EvidenceState(NamedTuple):
    """The two precisions, and what they make of the weights."""

    w: np.ndarray
    alpha: float  # of the weights
    beta: float  # of the noise
    determined: float  # γ of (6) that led here
    score: float  # (5)
    step: float  # Σ |change of w| in the step before


def maximise_evidence(spectrum, S, alpha, beta, priors):
    """Yield the EvidenceState indefinitely, first at the given α and β; priors a₁, a₂, l₁, l₂."""
    lam, V, z, rest = spectrum
    p, (a1, a2, l1, l2), determined, step, w_old = len(V), priors, 0.0, np.inf, np.inf
    while True:
        if not (0.0 < alpha < np.inf and 0.0 < beta < np.inf):
            raise ValueError(
                f"The precisions of weights and noise became {alpha:.3g} and {beta:.3g}; scale X "
                "and y, for instance by StandardScaler, and use moderate weights and priors."
            )
        rho = alpha / beta
        v = np.sqrt(lam) * z / (lam + rho)
        w, w_sq = V @ v, float(v @ v)
        r_sq = rest + float(np.sum((rho * z / (lam + rho)) ** 2))  # (7)
        logdet = -float(np.log(beta * lam + alpha).sum()) - (p - len(lam)) * math.log(alpha)
        score = p * math.log(alpha) + S * math.log(beta) - beta * r_sq - alpha * w_sq
        score = 0.5 * (score + logdet - S * math.log(2.0 * math.pi))  # (5)
        score += a1 * math.log(beta) - a2 * beta + l1 * math.log(alpha) - l2 * alpha
        yield EvidenceState(w, alpha, beta, determined, score, step)
        step, w_old = float(np.abs(w - w_old).sum()), w
        determined = float(np.sum(beta * lam / (beta * lam + alpha)))  # (6)
        alpha = (determined + 2.0 * l1) / (w_sq + 2.0 * l2)
        beta = (S - determined + 2.0 * a1) / (r_sq + 2.0 * a2)


class BayesianRidge(
    CallbackSupport, LinearPrediction, RegressorMixin, ValidatedOnce, BaseEstimator
):
    r"""Ridge regression that chooses its penalty, and knows how certain it is.

    The noise has the precision :math:`\alpha`, the weights have the prior :math:`N(0, I/\lambda)`,
    and both numbers have gamma priors. They are chosen to maximise the evidence, the density of the
    data when the weights are integrated out. The weights are those of ridge regression with the
    penalty :math:`\lambda/\alpha`.

    Parameters
    ----------
    max_iter : int, default=300
        The most steps.
    tol : float, default=1e-3
        Stop when the weights have changed by at most this in a step, in sum.
    alpha_1, alpha_2 : float, default=1e-6
        Shape and rate of the prior of α.
    lambda_1, lambda_2 : float, default=1e-6
        Shape and rate of the prior of λ.
    alpha_init : float, default=None
        First α; None: one over the variance of y.
    lambda_init : float, default=None
        First λ; None: 1.
    compute_score : bool, default=False
        Keep the logarithm of the evidence in `scores_`.
    fit_intercept : bool, default=True
        Fit b; otherwise b = 0.
    copy_X : bool, default=True
        Without effect: X is never written to.
    verbose : bool or int, default=False
        Write a line for every so many steps.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Posterior mean of w.
    intercept_ : float
        b.
    alpha_ : float
        Precision of the noise.
    lambda_ : float
        Precision of the weights.
    sigma_ : ndarray of shape (n_features, n_features)
        Posterior covariance of w.
    scores_ : ndarray of shape (n_iter_ + 1,)
        Logarithm of the evidence before each step and at the end; empty without `compute_score`.
    n_iter_ : int
        Steps.
    X_offset_ : ndarray of shape (n_features,)
        Mean of the columns, or zeros without `fit_intercept`.
    X_scale_ : ndarray of shape (n_features,)
        Ones.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> from mlreplica.linear_model import BayesianRidge
    >>> model = BayesianRidge().fit([[0, 0], [1, 1], [2, 2]], [0, 1, 2])
    >>> model.predict([[1, 1]]).round(6)
    array([1.])
    >>> mean, std = model.predict([[1, 1], [5, 5]], return_std=True)
    >>> bool(std[0] < std[1])
    True
    """

    card = Card(
        page="bayesian-regression",
        checks="linear",
        onnx="linear",
        scale_target=True,
        use="a number with an error bar, from correlated columns, without choosing a penalty",
        good="chooses the penalty from the training rows alone; a deviation for every prediction",
        bad="keeps all columns; trusts normal noise and one prior for all weights",
        time="O(n p min(n, p)), then O(p min(n, p)) per step",
        memory="O(n p + p²)",
        instead="RidgeCV to choose by prediction, BayesianLinearRegression to draw the penalty too",
    )

    _parameter_constraints = {
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "alpha_1": [Interval(Real, 0, None, closed="left")],
        "alpha_2": [Interval(Real, 0, None, closed="left")],
        "lambda_1": [Interval(Real, 0, None, closed="left")],
        "lambda_2": [Interval(Real, 0, None, closed="left")],
        "alpha_init": [None, Interval(Real, 0, None, closed="left")],
        "lambda_init": [None, Interval(Real, 0, None, closed="left")],
        "compute_score": ["boolean"],
        "fit_intercept": ["boolean"],
        "copy_X": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        max_iter=300,
        tol=1e-3,
        alpha_1=1e-6,
        alpha_2=1e-6,
        lambda_1=1e-6,
        lambda_2=1e-6,
        alpha_init=None,
        lambda_init=None,
        compute_score=False,
        fit_intercept=True,
        copy_X=True,
        verbose: int = False,
    ):
        self.max_iter = max_iter
        self.tol = tol
        self.alpha_1 = alpha_1
        self.alpha_2 = alpha_2
        self.lambda_1 = lambda_1
        self.lambda_2 = lambda_2
        self.alpha_init = alpha_init
        self.lambda_init = lambda_init
        self.compute_score = compute_score
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.verbose = verbose

    def fit(self, X, y, sample_weight=None):
        """Choose α and λ, and with them w and b.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Target.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights s ≥ 0: a weight of 2 stands for two equal rows, 0 for none.

        Returns
        -------
        self : BayesianRidge
            The fitted estimator.
        """
        self._validate_params()
        X, y = training_rows(self, X, y, False)
        kind = X.dtype
        X, y, s = weighted_rows(X.astype(np.float64, copy=False), y, sample_weight)
        S, p = float(s.sum()), X.shape[1]
        y_mean = float(s @ y) / S
        variance = float(s @ (y - y_mean) ** 2) / S
        refuse_overflow(self, **{"the variance of y": variance})
        x_mean = s @ X / S if self.fit_intercept else np.zeros(p)
        root, y_mean = np.sqrt(s), y_mean if self.fit_intercept else 0.0
        spectrum = Spectrum.of(root[:, None] * (X - x_mean), root * (y - y_mean))
        noise, weights = self.alpha_init, self.lambda_init
        states = maximise_evidence(
            spectrum,
            S,
            1.0 if weights is None else max(float(weights), EPS),
            1.0 / (variance + EPS) if noise is None else max(float(noise), EPS),
            (self.alpha_1, self.alpha_2, self.lambda_1, self.lambda_2),
        )
        scores = [next(states).score]

        def stepped():
            for state in states:
                scores.append(state.score)
                yield state

        def publish(state):
            return attributes_set_by(
                self, lambda model: model._publish(state, scores, spectrum, x_mean, y_mean, kind)
            )

        state = iterate(
            self,
            stepped(),
            max_iter=self.max_iter,
            tol=self.tol,
            watch="step",
            unit="steps",
            advice=None,
            publish=publish,
            X=X,
            y=y,
            verbose=int(self.verbose),
        )
        self._publish(state, scores, spectrum, x_mean, y_mean, kind)
        return self

    def _publish(self, state, scores, spectrum, x_mean, y_mean, kind):
        """Set the fitted attributes, in the precision of X."""
        lam, V, *_ = spectrum
        self.alpha_, self.lambda_ = state.beta, state.alpha
        inverse = 1.0 / (state.beta * lam + state.alpha)
        if len(lam) < len(V):  # the other directions keep the prior's variance, 1/α
            inverse -= 1.0 / state.alpha
        sigma = (V * inverse) @ V.T
        if len(lam) < len(V):
            sigma.flat[:: len(V) + 1] += 1.0 / state.alpha
        self.sigma_, self.coef_ = sigma.astype(kind, copy=False), state.w.astype(kind, copy=False)
        self.intercept_ = kind.type(y_mean - x_mean @ state.w) if self.fit_intercept else 0.0
        self.X_offset_, self.X_scale_ = x_mean.astype(kind), np.ones(len(x_mean), dtype=kind)
        self.scores_ = np.array(scores) if self.compute_score else []
        refuse_overflow(self, coef_=self.coef_, intercept_=self.intercept_, sigma_=self.sigma_)

    def predict(self, X, return_std=False):
        """The mean of the predictive distribution at each row, and its standard deviation.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        return_std : bool, default=False
            Whether to return the standard deviation too: of a new y, from uncertain weights and
            from the noise.

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
        D = X - self.X_offset_
        line = np.einsum("ij,ij->i", D @ self.sigma_, D)
        return mean, np.sqrt(line + X.dtype.type(1.0 / self.alpha_))


Reference.register(BayesianRidge)
