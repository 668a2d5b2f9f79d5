"""Elliptic envelope: outliers are what lies outside of the ellipsoid of most rows

The squared distance from `MinCovDet` scores a row; the threshold is the quantile of the training
rows that leaves the share `contamination` outside.
"""

from numbers import Real

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.compat import Interval, _fit_context

from ._robust import MinCovDet


class EllipticEnvelope(OutlierMixin, MinCovDet):
    """Outliers by their distance from the tightest half of the rows.

    Parameters
    ----------
    store_precision : bool, default=True
        Keep the inverse covariance as well.
    assume_centered : bool, default=False
        Whether the mean is known to be zero.
    support_fraction : float, default=None
        Share of the rows in the subset of least determinant.
    contamination : float, default=0.1
        Share of outliers among the rows, in (0, 0.5].
    random_state : int, RandomState instance or None, default=None
        The first subsets.

    Attributes
    ----------
    location_, covariance_, precision_, support_, dist_
        As in :class:`MinCovDet`.
    offset_ : float
        What the scores of inliers are at least.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.covariance import EllipticEnvelope
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(size=(95, 2)), 9 + rng.normal(size=(5, 2))])
    >>> model = EllipticEnvelope(contamination=0.05, random_state=0).fit(X)
    >>> model.predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])
    """

    card = MinCovDet.card.but(
        task="outliers",
        use="outliers of rows that are about Gaussian",
        instead="IsolationForest or OneClassSVM for other shapes",
    )

    _parameter_constraints = MinCovDet._parameter_constraints | {
        "contamination": [Interval(Real, 0, 0.5, closed="right")]
    }

    def __init__(
        self,
        *,
        store_precision=True,
        assume_centered=False,
        support_fraction=None,
        contamination=0.1,
        random_state=None,
    ):
        super().__init__(
            store_precision=store_precision,
            assume_centered=assume_centered,
            support_fraction=support_fraction,
            random_state=random_state,
        )
        self.contamination = contamination

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the ellipsoid and the threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self : EllipticEnvelope
        """
        super().fit(X)
        self.offset_ = np.percentile(-self.dist_, 100.0 * self.contamination)
        return self

    def score_samples(self, X):
        """Minus the squared distance of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return -self.mahalanobis(X)

    def decision_function(self, X):
        """Scores less the threshold: negative for outliers.

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
        """1 for inliers, −1 for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def score(self, X, y, sample_weight=None):
        """The share of rows that are told apart correctly.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            1 for inliers, −1 for outliers.
        sample_weight : array-like of shape (n_samples,), default=None
            How many times each row counts.

        Returns
        -------
        accuracy : float
        """
        return accuracy_score(y, self.predict(X), sample_weight=sample_weight)
