r"""What a logistic regression without penalty says about its coefficients (Wald)

At the maximum of the likelihood the weights are nearly normal about the true ones, with the inverse
of the information as covariance: S times the Hessian (4) of `objective.py`, S the number of rows,

    Cov(V) = (S ∇²P)⁻¹,       se = √ of its diagonal,       z = coefficient / se               (11)

Of K > 2 classes only differences are determined; as usual each class is compared with the first.
With the log-likelihood ℓ = −S P, and ℓ₀ that of a model with nothing but its intercept,

    R² = 1 − ℓ/ℓ₀ (McFadden),       2 (ℓ − ℓ₀) ~ χ² with k − k₀ degrees                     (12)

if all weights are zero. AIC = 2k − 2ℓ, BIC = k log S − 2ℓ, k counting coefficients.

McCullagh & Nelder, Generalized Linear Models (1989), chapters 2 and 4.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from itertools import islice

import numpy as np
from scipy.special import chdtrc, ndtr, ndtri

from mlreplica.core.compat import _get_feature_names
from mlreplica.core.validation import FLOATS, validate_data
from mlreplica.linear_model.least_squares.summary import INTERCEPT, WITHIN, number, p_value
from mlreplica.linear_model.summary_table import SummaryTable

from .objective import EPS, LogisticObjective
from .smooth import newton
from .training import LogisticData, row_weights


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class LogisticSummary(SummaryTable):
    """Statistics of a logistic regression; `print` it, show it in a notebook, or take its numbers.

    Arrays have one entry a coefficient: the intercept first, if there is one, then the columns;
    of more than two classes, class after class, each against the first. What the data do not
    determine is NaN.

    Attributes
    ----------
    names : tuple of str
    coef, standard_errors, z, p : ndarray of shape (n_coefficients,)
        Coefficients at the maximum of the likelihood, their standard errors, z statistics and
        two-sided p-values of "it is 0".
    intervals : ndarray of shape (n_coefficients, 2)
        Confidence intervals of coverage `level`.
    covariance : ndarray of shape (n_coefficients, n_coefficients)
    log_likelihood, log_likelihood_null, aic, bic : float
    r2 : float
        McFadden's pseudo R².
    chi2, chi2_p : float
        Likelihood ratio and p-value of "all coefficients but the intercepts are 0".
    n : float
        Sum of the weights of the rows.
    df_model, df_residual : int
    level : float
    """

    names: tuple[str, ...]
    coef: np.ndarray
    standard_errors: np.ndarray
    z: np.ndarray
    p: np.ndarray
    intervals: np.ndarray
    covariance: np.ndarray
    log_likelihood: float
    log_likelihood_null: float
    aic: float
    bic: float
    r2: float
    chi2: float
    chi2_p: float
    n: float
    df_model: int
    df_residual: float
    level: float

    _statistic = "z"

    @property
    def odds_ratios(self) -> np.ndarray:
        """e^coef: what one unit more of a column multiplies the odds by."""
        return np.exp(self.coef)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the table must know."""
        errors = zip(self.names, self.standard_errors, strict=True)
        unknown = ", ".join(name for name, error in errors if math.isnan(error))
        if not unknown:
            return ()
        note = (
            f"The columns are linearly dependent, and the data do not determine {unknown}: other "
            "values fit as well."
        )
        return (note,)

    def __repr__(self) -> str:
        return (
            f"<LogisticSummary of {len(self.names)} coefficients from {self.n:g} rows, "
            f"log-likelihood {self.log_likelihood:.4f}>"
        )

    def _title(self):
        """The first line."""
        return "Logistic regression"

    def _cells(self):
        """The facts (name, value), the columns (name, width) and the rows, all as text."""
        facts = [
            ("rows", f"{self.n:,g}"),
            ("pseudo R²", f"{self.r2:.4f}"),
            ("coefficients", f"{len(self.names):,}"),
            ("log-likelihood", number(self.log_likelihood)),
            (f"χ²({self.df_model})", number(self.chi2)),
            ("AIC", number(self.aic)),
            ("p of χ²", p_value(self.chi2_p)),
            ("BIC", number(self.bic)),
        ]
        low, high = (f"{100 * q:g} %" for q in ((1 - self.level) / 2, (1 + self.level) / 2))
        columns = [("coef", 11), ("std err", 11), ("z", 9), ("p", 9), (low, 11), (high, 11)]
        columns = [(name, w - (max(map(len, self.names)) > 18)) for name, w in columns]
        numbers = (self.coef, self.standard_errors, self.z, self.p, self.intervals)
        rows = [
            (name, number(c), number(se), number(z, 4), p_value(p), number(a), number(b))
            for name, c, se, z, p, (a, b) in zip(self.names, *numbers, strict=True)
        ]
        return facts, columns, rows


def summarize_logistic(model, X, y, *, sample_weight=None, level=0.95) -> LogisticSummary:
    """Standard errors and tests of a fitted LogisticRegression, from its training rows.

    Parameters
    ----------
    model : LogisticRegression
    X, y, sample_weight
        The rows it was fitted on.
    level : float, default=0.95
        Coverage of the confidence intervals.

    Returns
    -------
    summary : LogisticSummary

    Raises
    ------
    ValueError
        If the coefficients do not maximise the likelihood of these rows.
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}.")
    names = _get_feature_names(X)
    X, y = validate_data(model, X, y, reset=False, accept_sparse="csr", dtype=FLOATS)
    names = [f"x{j}" for j in range(X.shape[1])] if names is None else [str(a) for a in names]
    data = rows_of(model, X, y, sample_weight)
    objective = LogisticObjective(data.problem(np.inf, 0.0))
    point = polished(objective, *data.inside(model.coef_, model.intercept_), data.total)
    W, b = data.outside(*objective.weights(point.V))

    H, m, has_b = objective.hessian(point), objective.shape[1], data.intercept
    C = np.ones((1, 1)) if data.K == 1 else objective.U[1:] - objective.U[0]
    covariance = inverse(H, shifted(C, m, has_b, data.x0)) / data.total
    coef = np.column_stack([b, W]) if has_b else W
    coef = (coef if data.K == 1 else coef[1:] - coef[0]).ravel()
    errors = np.sqrt(covariance.diagonal())
    z = coef / errors
    reach = ndtri((1 + level) / 2)
    log_l = -data.total * point.P
    null = -data.total * null_loss(objective)
    k, k0 = rank(H), (objective.shape[0] if has_b else 0)
    return LogisticSummary(
        names=coefficient_names(names, has_b, model.classes_),
        coef=coef,
        standard_errors=errors,
        z=z,
        p=2 * ndtr(-np.abs(z)),
        intervals=np.column_stack([coef - reach * errors, coef + reach * errors]),
        covariance=covariance,
        log_likelihood=log_l,
        log_likelihood_null=null,
        aic=2 * k - 2 * log_l,
        bic=k * math.log(data.total) - 2 * log_l,
        r2=1 - log_l / null,
        chi2=2 * (log_l - null),
        chi2_p=float(chdtrc(k - k0, 2 * (log_l - null))) if k > k0 else math.nan,
        n=data.total,
        df_model=k - k0,
        df_residual=data.total - k,
        level=level,
    )


def rows_of(model, X, y, sample_weight):
    """The rows as `fit` saw them."""
    codes = np.searchsorted(model.classes_, y)
    known = codes < len(model.classes_)
    if not (known.all() and (model.classes_[codes] == y).all()):
        raise ValueError("y has classes that the model was not fitted on.")
    s = row_weights(X, y, model.classes_, codes, sample_weight, model.class_weight)
    data = LogisticData(
        X.toarray() if hasattr(X, "toarray") else X, codes, s, len(model.classes_), model
    )
    if len(np.unique(data.y)) < len(model.classes_):
        raise ValueError("Some class of the model has no row here: pass the rows of the fit.")
    if data.scaling:
        raise ValueError("solver='liblinear' penalises, so that it has no standard errors.")
    return data


def polished(objective, W, b, total):
    """The Point of maximal likelihood next to W, b; an error if it is not next to it."""
    start = objective.at(objective.coordinates(W, b))
    if objective.margin(start.F) > 0.0:
        raise ValueError(
            "These coefficients separate the classes: the likelihood has no maximum, and there "
            "are no standard errors."
        )
    states = newton(objective, start)
    first = next(states)
    off = first.residual if first.gap >= first.objective else math.sqrt(2 * first.gap)
    if not math.sqrt(total) * off <= WITHIN:
        raise ValueError(
            "These coefficients do not maximise the likelihood of these rows: they are up to "
            f"{math.sqrt(total) * off:.2g} standard errors away. Fit with C=np.inf and a small "
            "tol, and pass the rows and weights of the fit."
        )
    last = deque(islice(states, 10), maxlen=1)[0]
    return objective.at(objective.coordinates(last.W, last.b))


def shifted(C, m, has_b, x0):
    """From V to the published coefficients: contrasts C of classes, b first and not centred."""
    T = np.eye(m)
    if has_b:
        if x0 is not None:
            T[-1, :-1] = -x0
        T = np.roll(T, 1, axis=0)
    return np.kron(C, T)


def inverse(H, G):
    """G H⁻¹ Gᵀ, with NaN where a row of G is not determined by H."""
    d = np.sqrt(np.maximum(H.diagonal(), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(H / np.outer(d, d))
    kept = values > len(H) * 8 * EPS * values[-1]
    scaled = G / d
    inside = scaled @ vectors[:, kept]
    outside = np.linalg.norm(scaled @ vectors[:, ~kept], axis=1)
    T = inside / np.sqrt(values[kept])
    covariance = T @ T.T
    unknown = outside > 1e-6 * np.linalg.norm(scaled, axis=1)
    covariance[unknown] = covariance[:, unknown] = np.nan
    return covariance


def rank(H):
    """How many coefficients the data determine."""
    d = np.sqrt(np.maximum(H.diagonal(), np.finfo(float).tiny))
    values = np.linalg.eigvalsh(H / np.outer(d, d))
    return int((values > len(H) * 8 * EPS * values[-1]).sum())


def null_loss(objective):
    """P of the best model without columns: the entropy of the shares, or log K without b."""
    K = max(objective.K, 2)
    if not objective.intercept:
        return math.log(K)
    codes = (objective.y > 0).astype(np.int64) if objective.K == 1 else objective.y
    share = np.bincount(codes, objective.s, K)
    return -float(share @ np.log(share))


def coefficient_names(names, has_b, classes):
    """A name a coefficient, with its class if there are more than two."""
    names = [INTERCEPT] * has_b + names
    if len(classes) == 2:
        return tuple(names)
    return tuple(f"{label}: {name}" for label in classes[1:] for name in names)
