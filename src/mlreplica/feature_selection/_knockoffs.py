r"""Knockoffs: every column competes with a copy of itself that cannot matter

For columns x ~ N(0, Σ), standardised, draw for each row a knockoff

    x̃ | x ~ N(x − DΣ⁻¹x,  2D − DΣ⁻¹D),    D = diag(s),   0 ⪯ D ⪯ 2Σ                          (14)

Then (x, x̃) has the same distribution as with any x_j and x̃_j exchanged, and x̃ knows nothing of y
that x does not. Fit a model to [X, X̃] and compare the weight of a column with its knockoff's,

    W_j = |w_j| − |w̃_j|                                                                      (15)

An unrelated column wins or loses like a fair coin, so those with W_j ≤ −t tell how many unrelated
ones there are with W_j ≥ t. The threshold

    T = min{t > 0 : (1 + #{j : W_j ≤ −t}) / max(1, #{j : W_j ≥ t}) ≤ α}                      (16)

keeps the false discovery rate, the expected share of unrelated columns in {j : W_j ≥ T}, at α or
below: for any model, any number of columns, and any relation of y to x.

The larger s, the less a knockoff resembles its column, and the more power. Equal entries can be at
most s = min(1, 2λ_min(Σ)). Maximising Σ s_j instead is a semidefinite program; coordinate ascent
solves it: with A = 2Σ − D, s_j may grow by 1/(A⁻¹)_jj before A becomes singular, so          (17)

    s_j ← min(1, s_j + 1/(A⁻¹)_jj − μ),   μ → 0,   and A⁻¹ follows by a rank-one update

References
----------
Barber, Candès: Controlling the false discovery rate via knockoffs. Annals of Statistics 43 (2015).
Candès, Fan, Janson, Lv: Panning for gold: model-X knockoffs. JRSS B 80 (2018), 551–577.
Askari, Rebjock, d'Aspremont, El Ghaoui: FANOK: knockoffs in linear time. SIMODS 3 (2021).
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import HasMethods, Interval, StrOptions, _fit_context
from mlreplica.core.validation import validate_data
from mlreplica.covariance import ledoit_wolf
from mlreplica.linear_model import LassoCV

from ._selector import SelectorMixin, importances_of
from ._stability import as_numbers, example_data, standardised


def equal_s(R):
    """The largest s with equal entries, for a correlation matrix R."""
    return np.full(len(R), min(1.0, 2.0 * max(linalg.eigvalsh(R)[0], 0.0)))


def largest_s(R):
    """s of the largest sum, by coordinate ascent (17)."""
    equal = equal_s(R)
    if equal[0] <= 1e-10 or equal[0] >= 1.0:
        return equal
    s, mu = 0.5 * equal, 1.0
    while mu > 1e-4:  # μ falls slowly enough for s to stay near the best for it
        mu *= 0.6
        inverse = linalg.inv(2.0 * R - np.diag(s))  # anew: the updates round
        for j in [*range(len(s))] * 3:
            step = max(min(1.0, s[j] + 1.0 / inverse[j, j] - mu) - s[j], -s[j])
            s[j] += step  # A_jj falls by step
            column = inverse[:, j].copy()
            inverse += np.outer(column, column * (step / (1.0 - step * column[j])))
    return s if s.sum() > equal.sum() else equal


def draw_knockoffs(X, R, s, rng):
    """A knockoff (14) of each row of standardised columns."""
    D = np.diag(s)
    factor = linalg.cho_factor(R)
    RD = linalg.cho_solve(factor, D)
    values, V = linalg.eigh(2.0 * D - D @ RD)
    root = V * np.sqrt(np.maximum(values, 0.0))
    return X - X @ RD + rng.standard_normal(X.shape) @ root.T


def knockoff_threshold(W, fdr, offset=1):
    """T of (16); infinite if no threshold will do."""
    t = np.unique(np.abs(W[W != 0]))
    up, down = np.sort(W), np.sort(-W)
    wins = len(W) - np.searchsorted(up, t)
    losses = len(W) - np.searchsorted(down, t)
    good = (offset + losses) / np.maximum(wins, 1) <= fdr
    return float(t[good.argmax()]) if good.any() else np.inf


class KnockoffSelector(SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    """Select columns with a bound on the false discovery rate, by Gaussian knockoffs (16).

    Parameters
    ----------
    estimator : object or None, default=None
        A model with `coef_` or `feature_importances_`, fitted to columns and knockoffs together.
        None: LassoCV.
    fdr : float, default=0.1
        α of (16): the largest expected share of unrelated columns among those selected.
    method : {"equicorrelated", "sdp"}, default="sdp"
        How s of (14) is chosen: equal entries, or the largest sum (17).
    offset : {0, 1}, default=1
        The 1 in (16). With 0, a slightly smaller quantity than the rate is bounded.
    covariance : array-like of shape (n_features, n_features) or None, default=None
        Σ, if it is known: then the bound is exact. None: an estimate, with which the bound is
        approximate: the covariance of the rows, or where it is singular or there are fewer than
        2p rows, that of Ledoit and Wolf.
    importance_getter : str or callable, default="auto"
        Attribute of the model, or a function of it, that has the importances.
    random_state : int, RandomState or None, default=None
        Of the knockoffs.

    Attributes
    ----------
    statistics_ : ndarray of shape (n_features,)
        W of (15).
    threshold_ : float
        T of (16); infinite if nothing is selected.
    s_ : ndarray of shape (n_features,)
        Diagonal of D, for standardised columns; 1 is best, 0 makes a copy.
    support_ : ndarray of shape (n_features,)
        Whether a column is kept.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.feature_selection import KnockoffSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 30))
    >>> y = X[:, :10].sum(axis=1) + rng.standard_normal(300)
    >>> KnockoffSelector(fdr=0.2, random_state=0).fit(X, y).get_support(indices=True)[:10]
    array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """

    card = Card(
        page="feature-selection",
        checks="selected",
        task="transformation",
        cheap=lambda: {"random_state": 0},
        data=example_data,
        use="columns to report, with a bound on the share that is wrong",
        good="exact for any model of y; sees columns together; powerful",
        bad="X must be nearly normal; random; selects nothing if fewer than 1/fdr columns matter",
        time="O(p³), and one fit of the model to 2p columns",
        memory="O(n p + p²)",
        rescaling="not needed: columns are standardised",
        instead="StabilitySelection, which assumes nothing about X",
    )
    _parameter_constraints: dict = {
        "estimator": [None, HasMethods(["fit"])],
        "fdr": [Interval(Real, 0, 1, closed="neither")],
        "method": [StrOptions({"equicorrelated", "sdp"})],
        "offset": [Interval(Integral, 0, 1, closed="both")],
        "covariance": [None, "array-like"],
        "importance_getter": [str, callable],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator=None,
        *,
        fdr=0.1,
        method="sdp",
        offset=1,
        covariance=None,
        importance_getter: Any = "auto",
        random_state=None,
    ):
        self.estimator = estimator
        self.fdr = fdr
        self.method = method
        self.offset = offset
        self.covariance = covariance
        self.importance_getter = importance_getter
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @_fit_context(prefer_skip_nested_validation=False)  # the model may be any
    def fit(self, X, y):
        """Draw knockoffs, fit the model and choose the threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            The target.

        Returns
        -------
        self : KnockoffSelector
        """
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=5)
        p = X.shape[1]
        rng = check_random_state(self.random_state)
        Z = standardised(X)
        varies = np.einsum("ij,ij->j", Z, Z) > 0
        self.s_, self.statistics_ = np.zeros(p), np.zeros(p)
        if varies.any():
            R = self._correlation(X, Z, varies)
            s = equal_s(R) if self.method == "equicorrelated" else largest_s(R)
            s *= 1.0 - 1e-9  # keeps (14) a covariance after rounding
            Z = Z[:, varies]
            both = np.hstack([Z, draw_knockoffs(Z, R, s, rng)])
            self.s_[varies] = s
            self.statistics_[varies] = self._statistics(both, y)
        self.threshold_ = knockoff_threshold(self.statistics_, self.fdr, self.offset)
        self.support_ = self.statistics_ >= self.threshold_
        return self

    def _correlation(self, X, Z, varies):
        """R of the columns that vary."""
        if self.covariance is None:
            Z = Z[:, varies]
            S = Z.T @ Z / len(Z)
            if len(Z) < 2 * Z.shape[1] or linalg.eigvalsh(S)[0] <= 1e-10 * S.trace():
                S = ledoit_wolf(Z, assume_centered=True)[0]  # costs some control of the rate
        else:
            S = check_array(self.covariance, dtype=np.float64)
            if S.shape != (X.shape[1],) * 2:
                raise ValueError(f"covariance must have shape {(X.shape[1],) * 2}, got {S.shape}.")
            S = S[np.ix_(varies, varies)]
        d = 1.0 / np.sqrt(S.diagonal())
        R = S * d * d[:, None]
        if linalg.eigvalsh(R)[0] <= 1e-10:
            raise ValueError(
                "covariance must be positive definite: a column is a combination of others, so "
                "that no knockoff can differ from it; remove such columns."
            )
        return R

    def _statistics(self, both, y):
        """W of (15)."""
        if self.estimator is None:
            model = LassoCV(cv=5).fit(both, as_numbers(y, type(self).__name__))
        else:
            model = clone(self.estimator).fit(both, y)
        size = importances_of(model, self.importance_getter, "norm")
        p = both.shape[1] // 2
        return size[:p] - size[p:]

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.support_
