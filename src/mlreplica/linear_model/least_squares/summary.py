r"""What a least-squares fit says about its coefficients

Under y = Xw + b + e with independent normal errors of variance ω²/sᵢ, the solution of weighted
least squares is normal about the true (b, w). Let A be the design with its rows times √sᵢ and,
if there is an intercept, its columns centred at the weighted means x̄; d the lengths of its columns.

    A diag(1/d) = Q R,      R = U diag(σ) Vᵀ       (QR, then the SVD of the small triangle)  (13)

No product AᵀA is formed, which would square the condition number. A number gᵀw is determined by the
data if g/d lies in the span of V (columns with σ > 0), and then has the variance           (14)

    ω² ‖diag(1/σ) Vᵀ(g/d)‖² ;      for b = ȳ − x̄ᵀw add ω²/Σsᵢ and take g = −x̄

With residuals r, n rows and rank k, counting the intercept,                                (15)

    s² = Σ sᵢrᵢ² / (n − k),      t = w_j / se(w_j),      F = ‖Qᵀ√s y‖² / (k − 1) / s²

k − 1 being k without an intercept. Leverage is the diagonal of the projection on the columns of A:

    hᵢ = ‖Qᵢ‖² + sᵢ/Σs                                                                      (16)

and the residual in its own units, and Cook's distance of the fit with and without row i, are

    √sᵢ rᵢ / (s √(1 − hᵢ)),      Dᵢ = (that)² hᵢ / (1 − hᵢ) / k                              (17)

The log-likelihood at its maximum over ω² is

    −n/2 (log(2π Σ sᵢrᵢ²/n) + 1) + Σ log(sᵢ)/2,    AIC = 2k − 2 log L,  BIC = k log n − 2 log L (18)

Seber & Lee, Linear Regression Analysis (2003), chapters 3, 4 and 10.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr, svd
from scipy.special import fdtrc, stdtr, stdtrit
from sklearn.utils import check_array, check_consistent_length

from mlreplica.core.compat import (
    _check_sample_weight,
    _get_feature_names,
)
from mlreplica.core.linalg import EPS, numerical_rank
from mlreplica.linear_model.summary_table import SummaryTable

WITHIN = 0.01  # how many standard errors the coefficients may be away from the minimum
INTERCEPT = "intercept"


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Summary(SummaryTable):
    """Statistics of a least-squares fit; `print` it, show it in a notebook, or take its numbers.

    Arrays with one entry a coefficient start with the intercept, if there is one. What the data
    do not determine is NaN.

    Attributes
    ----------
    names : tuple of str
    coef, standard_errors, t, p : ndarray of shape (n_coefficients,)
        Coefficients, their standard errors, t statistics and two-sided p-values of "it is 0".
    intervals : ndarray of shape (n_coefficients, 2)
        Confidence intervals of coverage `level`.
    covariance : ndarray of shape (n_coefficients, n_coefficients)
        Estimated covariance of the coefficients.
    r2, r2_adjusted : float
        Share of the variance explained (about zero if there is no intercept).
    f, f_p : float
        F statistic and p-value of "all coefficients but the intercept are 0".
    log_likelihood, aic, bic : float
    residual_variance : float
        s², the estimate of σ².
    n, df_model, df_residual : int
        Rows of positive weight, and degrees of freedom.
    leverage, studentized_residuals, cooks_distance : ndarray of shape (n,)
        For each such row: how much its own y moves its fit, its residual in units of its
        standard deviation, and how much the whole fit moves without it.
    residuals : ndarray of shape (n,)
        y less the fitted values.
    condition_number, scaled_condition_number : float
        Of the weighted design with its column of ones: as it is, and with columns of length one.
    weighted, level : bool, float
    """

    names: tuple[str, ...]
    coef: np.ndarray
    standard_errors: np.ndarray
    t: np.ndarray
    p: np.ndarray
    intervals: np.ndarray
    covariance: np.ndarray
    r2: float
    r2_adjusted: float
    f: float
    f_p: float
    log_likelihood: float
    aic: float
    bic: float
    residual_variance: float
    n: int
    df_model: int
    df_residual: int
    residuals: np.ndarray
    leverage: np.ndarray
    studentized_residuals: np.ndarray
    cooks_distance: np.ndarray
    condition_number: float
    scaled_condition_number: float
    weighted: bool
    level: float

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the table must know."""
        notes, k = [], self.n - self.df_residual
        errors = zip(self.names, self.standard_errors, strict=True)
        unknown = ", ".join(name for name, error in errors if math.isnan(error))
        if self.df_residual <= 0:
            notes.append(
                f"The fit is exact: {self.n} rows determine {k} coefficients, and nothing is left "
                "to estimate the errors with."
            )
        elif unknown:
            notes.append(
                f"The columns are linearly dependent, and the data do not determine {unknown}: "
                "other values fit as well, and these are the ones of least norm."
            )
        if 1e6 < self.scaled_condition_number < math.inf:
            notes.append(
                "The columns are nearly dependent (condition number "
                f"{self.scaled_condition_number:.1e} with columns of equal length): what is said "
                "of one coefficient depends on all the others."
            )
        return tuple(notes)

    def __repr__(self) -> str:
        return f"<Summary of {len(self.names)} coefficients from {self.n} rows, R² {self.r2:.4f}>"

    def _title(self) -> str:
        return f"{'Weighted' if self.weighted else 'Ordinary'} least squares"

    def _cells(self):
        """The facts (name, value), the columns (name, width) and the rows, all as text."""
        facts = [
            ("rows", f"{self.n:,}"),
            ("R²", f"{self.r2:.4f}"),
            ("coefficients", f"{len(self.names):,}"),
            ("adjusted R²", f"{self.r2_adjusted:.4f}"),
            ("residual std", number(math.sqrt(self.residual_variance))),
            ("log-likelihood", number(self.log_likelihood)),
            (f"F({self.df_model}, {self.df_residual})", number(self.f)),
            ("AIC", number(self.aic)),
            ("p of F", p_value(self.f_p)),
            ("BIC", number(self.bic)),
            ("largest leverage", f"{self.leverage.max():.3f}"),
            ("condition number", number(self.condition_number)),
        ]
        low, high = (f"{100 * q:g} %" for q in ((1 - self.level) / 2, (1 + self.level) / 2))
        columns = [("coef", 11), ("std err", 11), ("t", 9), ("p", 9), (low, 11), (high, 11)]
        columns = [(name, w - (max(map(len, self.names)) > 18)) for name, w in columns]
        rows = [
            (name, number(c), number(se), number(t, 4), p_value(p), number(a), number(b))
            for name, c, se, t, p, (a, b) in zip(
                self.names,
                self.coef,
                self.standard_errors,
                self.t,
                self.p,
                self.intervals,
                strict=True,
            )
        ]
        return facts, columns, rows


def number(x, digits=5):
    """x in at most 10 characters; a dash for what does not exist."""
    if math.isnan(x):
        return "–"
    if x == 0 or 1e-4 <= abs(x) < 1e6:
        size = 0 if x == 0 else math.floor(math.log10(abs(x)))
        return f"{x:.{max(0, min(digits - 1 - size, 7 if size < 0 else digits - 1))}f}"
    return f"{x:.{digits - 2}e}".replace("e-0", "e-").replace("e+0", "e+")


def p_value(p):
    """A p-value: four decimals, or a bound when they would all be zero."""
    return "–" if math.isnan(p) else f"{p:.4f}" if p >= 1e-4 else f"{p:.1e}".replace("e-0", "e-")


def summarize(
    X, y, coef, intercept, *, sample_weight=None, feature_names=None, level=0.95
) -> Summary:
    """Standard errors, tests and diagnostics of a least-squares fit, from its training rows.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    coef : array-like of shape (n_features,)
    intercept : float or None
        None if the model was fitted without one.
    sample_weight : array-like of shape (n_samples,), default=None
        Precisions: row i has the error variance σ²/sᵢ. Rows of weight 0 are left out.
    feature_names : sequence of str, default=None
        Names of the columns; those of a DataFrame, or x0, x1, …, if not given.
    level : float, default=0.95
        Coverage of the confidence intervals.

    Returns
    -------
    summary : Summary

    Raises
    ------
    ValueError
        If the coefficients do not minimise the sum of squares on these rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.linear_model.least_squares.summary import summarize
    >>> x, y = np.arange(5.0), np.array([1.0, 3.0, 4.0, 8.0, 9.0])
    >>> s = summarize(x[:, None], y, [2.1], 0.8)
    >>> s.standard_errors.round(4), s.t.round(2), round(s.r2, 4)
    (array([0.6164, 0.2517]), array([1.3 , 8.34]), 0.9587)
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}.")
    names = _get_feature_names(X) if feature_names is None else feature_names
    X, y, w, root = used_rows(X, y, coef, sample_weight)
    (n, p), has_b, weight = X.shape, intercept is not None, root @ root
    names = [f"x{j}" for j in range(p)] if names is None else [str(name) for name in names]
    if len(names) != p:
        raise ValueError(f"feature_names has {len(names)} names for {p} columns.")
    b = float(intercept) if has_b else 0.0

    x_mean = root**2 @ X / weight if has_b else np.zeros(p)
    y_mean = root**2 @ y / weight if has_b else 0.0
    Q, R, d = triangle(root[:, None] * (X - x_mean), np.linalg.norm(root[:, None] * X, axis=0))
    rank = len(R)
    k, df = rank + has_b, n - rank - has_b

    r = y - X @ w - b
    e = root * r
    ssr = float(e @ e)
    rounding = 10 * EPS * np.linalg.norm(root * (np.abs(y) + np.abs(X) @ np.abs(w) + abs(b)))
    off = math.hypot(np.linalg.norm(Q.T @ e), has_b * (root @ e) / math.sqrt(weight))
    std = math.sqrt(ssr / max(df, 1))
    if off > WITHIN * std + rounding:
        raise ValueError(
            "These coefficients are not the least-squares solution on these rows: they are up to "
            f"{off / std:.2g} standard errors away from it. Pass the rows, targets and weights of "
            "the fit, and no penalised, constrained or half-converged coefficients."
        )

    s2 = ssr / df if df > 0 else math.nan
    covariance = s2 * unit_covariance(R, d, x_mean if has_b else None, weight)
    values = np.append(b, w) if has_b else w
    errors = np.sqrt(covariance.diagonal())
    explained = float(np.sum((Q.T @ (root * (y - y_mean))) ** 2))
    total = explained + ssr
    h = np.minimum(np.einsum("ij,ij->i", Q, Q) + has_b * root**2 / weight, 1.0)  # (16)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = values / errors
        f = np.divide(explained, rank * s2)
        studentized = e / np.sqrt(s2 * (1.0 - h))  # (17)
        cooks = studentized**2 * h / (1.0 - h) / k
        log_l = float(np.log(root).sum() - n / 2 * (np.log(2 * np.pi * ssr / n) + 1))  # (18)
        lost = np.divide(ssr, total)
        reach = stdtrit(df, (1 + level) / 2) if df > 0 else math.nan
        condition, scaled_condition = conditions(R, d, x_mean if has_b else None, weight)
    return Summary(
        names=tuple([INTERCEPT] * has_b + names),
        coef=values,
        standard_errors=errors,
        t=t,
        p=2 * stdtr(df, -np.abs(t)) if df > 0 else np.full_like(t, np.nan),
        intervals=np.column_stack([values - reach * errors, values + reach * errors]),
        covariance=covariance,
        r2=float(1 - lost),
        r2_adjusted=float(1 - lost * (n - has_b) / df) if df > 0 else math.nan,
        f=float(f),
        f_p=float(fdtrc(rank, df, f)) if df > 0 and rank > 0 else math.nan,
        log_likelihood=log_l,
        aic=2 * k - 2 * log_l,
        bic=k * math.log(n) - 2 * log_l,
        residual_variance=s2,
        n=n,
        df_model=rank,
        df_residual=df,
        residuals=r,
        leverage=h,
        studentized_residuals=studentized,
        cooks_distance=cooks,
        condition_number=condition,
        scaled_condition_number=scaled_condition,
        weighted=sample_weight is not None,
        level=level,
    )


def used_rows(X, y, coef, sample_weight):
    """X, y, w and √s without the rows of weight 0, as float64."""
    X = check_array(X, dtype=np.float64)
    y, w = np.asarray(y, dtype=np.float64), np.asarray(coef, dtype=np.float64)
    if y.ndim == 2 and y.shape[1] > 1:
        raise ValueError(f"A summary describes one target; y has {y.shape[1]}: take one at a time.")
    y, w = y.reshape(-1), w.reshape(-1)
    check_consistent_length(X, y)
    if len(w) != X.shape[1]:
        raise ValueError(f"coef has {len(w)} entries for {X.shape[1]} columns.")
    if sample_weight is None:
        return X, y, w, np.ones(len(y))
    s = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return X[s > 0], y[s > 0], w, np.sqrt(s[s > 0])


def triangle(A, lengths):
    """Q (n, rank), R (rank, p) and the column lengths d of (13); d = 0 marks a column of noise."""
    d = np.linalg.norm(A, axis=0)
    d[d <= 10 * EPS * lengths] = 0.0
    A = np.divide(A, d, out=np.zeros_like(A), where=d > 0)
    Q, R, order = qr(A, mode="economic", pivoting=True, check_finite=False)
    rank = numerical_rank(np.abs(R.diagonal()))
    return Q[:, :rank], R[:rank, np.argsort(order)], d


def unit_covariance(R, d, x_mean, weight):
    """Covariance (14) of (b, w), or of w if x_mean is None, for ω² = 1; NaN if not determined."""
    p = len(d)
    _, sigma, Vt = svd(R, full_matrices=False, check_finite=False)
    G = np.eye(p) if x_mean is None else np.vstack([-x_mean, np.eye(p)])
    scaled = np.divide(G, d, out=np.zeros_like(G), where=d > 0)
    inside = scaled @ Vt.T
    outside = np.linalg.norm(scaled - inside @ Vt, axis=1)
    unknown = outside > 1e-6 * np.linalg.norm(scaled, axis=1)
    unknown |= (G[:, d == 0] != 0).any(axis=1)
    T = inside / sigma
    covariance = T @ T.T
    if x_mean is not None:
        covariance[0, 0] += 1.0 / weight
    covariance[unknown] = covariance[:, unknown] = np.nan
    return covariance


def conditions(R, d, x_mean, weight):
    """Condition numbers of √s[1, X], as it is and with columns of length one."""
    B = R * d  # same singular values as the design: both are Qᵀ of it
    if x_mean is not None:
        top = math.sqrt(weight) * np.append(1.0, x_mean)
        B = np.vstack([top, np.column_stack([np.zeros(len(R)), B])])
    if len(B) < B.shape[1]:
        return math.inf, math.inf
    return tuple(float(np.linalg.cond(M)) for M in (B, B / np.linalg.norm(B, axis=0)))
