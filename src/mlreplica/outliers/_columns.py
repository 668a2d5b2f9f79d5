r"""Detectors that look at one column at a time

A detector gives every entry a signed deviation d_ij, in a unit of its own column. The most unusual
entry speaks for its row,

    score(x_i) = −max_j |d_ij|,                                                              (1)

and a row is an outlier if its score is below `offset_`, that is, if an entry deviates by more than
the threshold. A missing entry has no deviation. A column that did not vary has no unit, so its
entries deviate by 0.

A row of weight 2 counts as two rows. Quantiles are therefore those of the weighted distribution
function F: the value where F passes q, or the midpoint of two values if F = q between them.
"""

from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, StrOptions, _check_sample_weight, _fit_context
from mlreplica.core.validation import ValidatedOnce, refuse_overflow, validate_data

BLOCK = 1 << 15  # entries whose deviations are computed at a time: they stay in the cache


CARD = Card(
    page="outliers",
    checks="column_limits",
    input="rows",
    use="rows with an unusual value in some column, and which column it is",
    good="says why; one pass; missing values are ignored",
    bad="blind to unusual combinations of usual values",
    time="O(n p)",
    memory="O(n p)",
    rescaling="not needed: every column has its own unit",
    missing="accepted: ignored",
    instead="IsolationForest or LocalOutlierFactor for unusual combinations",
)


def quantiles(X, s, shares):
    """The quantiles of the columns of X, NaN aside, with weights s: shape (len(shares), p)."""
    n, p = X.shape
    if s is None:  # NaN is sorted to the end
        Z = np.sort(X.T, axis=1)
        known = n - np.isnan(Z).sum(axis=1)
        found, column = np.empty((len(shares), p)), np.arange(p)
        for k, share in enumerate(shares):
            at = share * known
            low = np.maximum(np.ceil(at).astype(np.intp) - 1, 0)
            high = np.minimum(np.floor(at).astype(np.intp), np.maximum(known - 1, 0))
            found[k] = 0.5 * Z[column, low] + 0.5 * Z[column, high]
        return found
    found = np.full((len(shares), p), np.nan)
    for j in range(p):
        some = np.flatnonzero(~np.isnan(X[:, j]) & (s > 0))
        if len(some):
            some = some[np.argsort(X[some, j])]
            x, total = X[some, j], np.cumsum(s[some])
            at = np.asarray(shares) * total[-1]
            low, high = (np.searchsorted(total, at, side=side) for side in ("left", "right"))
            last = len(x) - 1
            found[:, j] = 0.5 * x[np.minimum(low, last)] + 0.5 * x[np.minimum(high, last)]
    return found


def mean(X, s):
    """The means of the columns, NaN aside."""
    known = ~np.isnan(X)
    s = known if s is None else known * s[:, None]
    with np.errstate(invalid="ignore"):
        return np.einsum("ij,ij->j", np.where(known, X, 0.0), s) / s.sum(axis=0)


class ColumnDetector(OutlierMixin, ValidatedOnce, BaseEstimator):
    """Base of `ZScore` and `IQR`: (1), and thresholds for every column.

    A subclass has `_learn(X, s)`, which sets `location_` and `scale_`, `_deviations(X)`, and
    `_limits(t)`, the values that deviate by t.
    """

    _parameter_constraints: dict = {
        "threshold": [Interval(Real, 0, None, closed="left")],
        "contamination": [StrOptions({"auto"}), Interval(Real, 0, 0.5, closed="right")],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Learn the middle, the unit and the thresholds of every column.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN is a missing value.
        y : Ignored
            Not used, present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights s ≥ 0: a weight of 2 stands for two equal rows, 0 for none.

        Returns
        -------
        self : object
            The fitted detector.
        """
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        s = sample_weight
        if s is not None:
            s = _check_sample_weight(s, X, dtype=np.float64, ensure_non_negative=True)
        self._learn(X, s)
        if not np.isfinite(self.scale_).all():  # a column without values, or with too large ones
            known = ~np.isnan(X if s is None else X[s > 0])
            refuse_overflow(self, scale_=self.scale_[known.any(axis=0)])
        self.scale_ = np.nan_to_num(self.scale_)
        self.offset_ = -float(self.threshold)
        if self.contamination != "auto":
            scores = self._scores(X)[:, None]
            self.offset_ = float(quantiles(scores, s, [self.contamination])[0, 0])
        self.lower_, self.upper_ = self._limits(-self.offset_)
        return self

    def deviations(self, X):
        """Say how far each entry is from the middle of its column: d of (1).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        d : ndarray of shape (n_samples, n_features)
            Negative below the middle; 0 for missing entries and in columns that did not vary.
        """
        return np.nan_to_num(self._deviations(self._new_rows(X)))

    def score_samples(self, X):
        """Return minus the largest deviation in each row, (1).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        return self._scores(self._new_rows(X))

    def decision_function(self, X):
        """Return the scores less the offset: negative for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        decision : ndarray of shape (n_samples,)
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X):
        """Return 1 for inliers, −1 for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        is_inlier : ndarray of shape (n_samples,)
        """
        return np.where(self.decision_function(X) < 0.0, -1, 1)

    def _new_rows(self, X):
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")

    def _scores(self, X):
        """(1), block by block."""
        out, step = np.empty(len(X)), max(1, BLOCK // X.shape[1])
        for start in range(0, len(X), step):
            d = self._deviations(X[start : start + step])
            np.fmax.reduce(np.abs(d, out=d), axis=1, initial=0.0, out=out[start : start + step])
        return -np.minimum(out, np.finfo(float).max)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
