r"""Z-scores: how many standard deviations from the mean?

    z_ij = (x_ij − m_j) / σ_j                                                                (2)

with the mean m and standard deviation σ of column j. Both are learned from all rows, outliers
included, and they defend them: of n rows none can lie farther out than

    max_i |z_ij| ≤ √(n − 1),                                                                 (3)

so that ten rows have no z-score above 3, whatever their values. The robust z-score puts the median
and the median absolute deviation in their places,

    m_j = median_i x_ij,      σ_j = 1.4826 · median_i |x_ij − m_j|,                          (4)

which half of the rows minus one cannot move far; the factor is 1 / Φ⁻¹(¾) and makes σ the standard
deviation of normal values. If more than half of the values are equal the median in (4) is 0; the
mean of |x − m|, times √(π/2), then takes its place.
"""

import numpy as np

from ._columns import CARD, ColumnDetector, mean, quantiles

NORMAL = 1.482602218505602  # 1 / Φ⁻¹(¾): standard deviations in a MAD of normal values
MEAN_NORMAL = np.sqrt(np.pi / 2)  # the same in a mean absolute deviation


def spread_about(X, m, s):
    """σ of (4) about the medians m."""
    far = np.abs(X - m)
    spread = NORMAL * quantiles(far, s, [0.5])[0]
    if (spread == 0).any():
        spread = np.where(spread == 0, MEAN_NORMAL * mean(far, s), spread)
    return spread


class ZScore(ColumnDetector):
    """Outliers have an entry many standard deviations from the mean of its column.

    Parameters
    ----------
    threshold : float, default=3.0
        Rows with a |z| above it are outliers. With `robust`, 3.5 is customary.
    robust : bool, default=False
        Use the median and the median absolute deviation, which outliers hardly move.
    contamination : "auto" or float, default="auto"
        The share of outliers among the training rows, in (0, 0.5], in place of the threshold.

    Attributes
    ----------
    location_, scale_ : ndarray of shape (n_features,)
        m and σ of every column; σ = 0 for a column that did not vary.
    lower_, upper_ : ndarray of shape (n_features,)
        Values outside of [lower, upper] make a row an outlier.
    offset_ : float
        What the scores of inliers are at least: −`threshold`, or as `contamination` asks.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    References
    ----------
    Iglewicz, Hoaglin: How to detect and handle outliers. ASQC (1993).

    Examples
    --------
    >>> from mlreplica.outliers import ZScore
    >>> X = [[2.1], [1.9], [2.0], [2.2], [1.8], [2.1], [50.0]]
    >>> ZScore().fit_predict(X)
    array([1, 1, 1, 1, 1, 1, 1])
    >>> model = ZScore(robust=True).fit(X)
    >>> model.predict(X), model.upper_.round(2)
    (array([ 1,  1,  1,  1,  1,  1, -1]), array([2.54]))
    """

    card = CARD

    _parameter_constraints = ColumnDetector._parameter_constraints | {"robust": ["boolean"]}

    def __init__(self, *, threshold=3.0, robust=False, contamination: float | str = "auto"):
        self.threshold = threshold
        self.robust = robust
        self.contamination = contamination

    def _learn(self, X, s):
        if self.robust:
            self.location_ = quantiles(X, s, [0.5])[0]
            self.scale_ = spread_about(X, self.location_, s)
            return
        self.location_ = mean(X, s)
        self.scale_ = np.sqrt(mean((X - self.location_) ** 2, s))
        rounding = 8 * np.finfo(float).eps * np.abs(self.location_)  # of a column that is constant
        self.scale_[self.scale_ <= rounding] = 0.0

    def _deviations(self, X):
        """(2)"""
        unit = np.where(self.scale_ > 0, self.scale_, np.inf)
        return (X - self.location_) / unit

    def _limits(self, t):
        return self.location_ - t * self.scale_, self.location_ + t * self.scale_
