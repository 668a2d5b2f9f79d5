r"""Fences: how many boxes outside of the box?

The box of a column reaches from its first quartile Q₁ to its third Q₃. Tukey's fences stand 1.5
times its length outside of it,

    [Q₁ − c (Q₃ − Q₁),  Q₃ + c (Q₃ − Q₁)],      c = 1.5,                                     (5)

and of normal values seven in a thousand lie beyond them. The deviation of an entry is how many
lengths it lies outside of the box,

    d_ij = −(Q₁ − x_ij)₊ / (Q₃ − Q₁) + (x_ij − Q₃)₊ / (Q₃ − Q₁),                             (6)

so the fences are at |d| = c. A quarter of the rows cannot move them far, and an asymmetric column
has asymmetric fences. If half of the values are equal the box may have no length; the mean distance
from the median, times √(π/2) · 2Φ⁻¹(¾), then takes its place.
"""

import numpy as np

from ._columns import CARD, ColumnDetector, mean, quantiles

NORMAL = (
    1.6906950787902986  # √(π/2) · 2Φ⁻¹(¾): boxes of normal values in their mean absolute deviations
)


class IQR(ColumnDetector):
    """Outliers have an entry beyond Tukey's fences, outside of the box of its column.

    Parameters
    ----------
    threshold : float, default=1.5
        c of (5): how many lengths of the box the fences are outside of it; 3 is "far out".
    contamination : "auto" or float, default="auto"
        The share of outliers among the training rows, in (0, 0.5], in place of the threshold.

    Attributes
    ----------
    lower_quartile_, upper_quartile_ : ndarray of shape (n_features,)
        Q₁ and Q₃ of every column.
    location_, scale_ : ndarray of shape (n_features,)
        The medians, and the lengths of the boxes; 0 for a column that did not vary.
    lower_, upper_ : ndarray of shape (n_features,)
        The fences: values outside of [lower, upper] make a row an outlier.
    offset_ : float
        What the scores of inliers are at least: −`threshold`, or as `contamination` asks.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    References
    ----------
    Tukey: Exploratory data analysis. Addison-Wesley (1977).

    Examples
    --------
    >>> from mlreplica.outliers import IQR
    >>> model = IQR().fit([[2.1], [1.9], [2.0], [2.2], [1.8], [2.1], [50.0]])
    >>> model.lower_.round(2), model.upper_.round(2)
    (array([1.45]), array([2.65]))
    >>> model.predict([[2.3], [3.0]])
    array([ 1, -1])
    """

    card = CARD

    def __init__(self, *, threshold=1.5, contamination: float | str = "auto"):
        self.threshold = threshold
        self.contamination = contamination

    def _learn(self, X, s):
        found = quantiles(X, s, [0.25, 0.5, 0.75])
        self.lower_quartile_, self.location_, self.upper_quartile_ = found
        self.scale_ = self.upper_quartile_ - self.lower_quartile_
        if (self.scale_ == 0).any():
            instead = NORMAL * mean(np.abs(X - self.location_), s)
            self.scale_ = np.where(self.scale_ == 0, instead, self.scale_)

    def _deviations(self, X):
        """(6)"""
        unit = np.where(self.scale_ > 0, self.scale_, np.inf)
        return (X - np.clip(X, self.lower_quartile_, self.upper_quartile_)) / unit

    def _limits(self, t):
        return self.lower_quartile_ - t * self.scale_, self.upper_quartile_ + t * self.scale_
