r"""Nearest centroid: a class is where its middle is

    ŷ(x) = argmin_c d(x, μ_c)                                                                (1)

with the mean μ_c of a class, or its median under the Manhattan metric. Shrunken centroids, with
s_j the standard deviation of column j within the classes and s₀ its median over the columns,

    Δ_cj = (μ_cj − μ_j) / (m_c (s_j + s₀)),       m_c = √(1/n_c − 1/n)                       (2)
    μ_cj ← μ_j + m_c (s_j + s₀) · sign(Δ_cj) max(|Δ_cj| − threshold, 0)                      (3)

drop the columns in which no class differs from the whole by more than noise.

References
----------
Tibshirani, Hastie, Narasimhan, Chu: Diagnosis of multiple cancer types by shrunken centroids of
gene expression. PNAS 99 (2002).
"""

import warnings
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, StrOptions, _fit_context
from mlreplica.core.formulas.distances import distance_named
from mlreplica.core.formulas.penalties import soft_threshold
from mlreplica.core.space.matrix import distance_matrix
from mlreplica.core.validation import refuse_overflow, validate_data


class NearestCentroid(ClassifierMixin, BaseEstimator):
    """The class whose centroid is nearest: (1), shrunken by (3).

    Parameters
    ----------
    metric : {"euclidean", "manhattan"}, default="euclidean"
        The distance; centroids are means, or medians.
    shrink_threshold : float, default=None
        The threshold of (3); None for no shrinking.
    priors : {"uniform", "empirical"} or array-like, default="uniform"
        Prior probabilities of the classes.

    Attributes
    ----------
    centroids_ : ndarray of shape (n_classes, n_features)
        μ_c.
    classes_ : ndarray of shape (n_classes,)
        Classes.
    deviations_ : ndarray of shape (n_classes, n_features)
        Δ of (2), shrunken.
    within_class_std_dev_ : ndarray of shape (n_features,)
        s_j.
    class_prior_ : ndarray of shape (n_classes,)
        Prior probabilities.

    Examples
    --------
    >>> from mlreplica.neighbors import NearestCentroid
    >>> X = [[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]]
    >>> NearestCentroid().fit(X, [1, 1, 1, 2, 2, 2]).predict([[-0.8, -1]])
    array([1])
    """

    card = Card(
        page="k-nearest-neighbours",
        checks="prototypes",
        use="a first answer for many classes or many columns",
        good="one row per class; shrinking finds the columns that matter",
        bad="a class of two separate groups has its centroid between them",
        time="O(n p) to fit, O(p) per class and row",
        memory="O(p) per class",
        rescaling="needed: distances depend on the units of the columns",
        instead="KNeighborsClassifier for classes of any shape",
    )
    _parameter_constraints: dict = {
        "metric": [StrOptions({"manhattan", "euclidean"})],
        "shrink_threshold": [Interval(Real, 0, None, closed="neither"), None],
        "priors": ["array-like", StrOptions({"empirical", "uniform"})],
    }

    def __init__(self, metric="euclidean", *, shrink_threshold=None, priors: Any = "uniform"):
        self.metric = metric
        self.shrink_threshold = shrink_threshold
        self.priors = priors

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Find the centroids.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : NearestCentroid
        """
        X, y = validate_data(self, X, y, accept_sparse=["csr", "csc"])
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        (n, p), C = X.shape, len(self.classes_)
        if C < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {C} class")
        counts = np.bincount(codes, minlength=C)
        self.class_prior_ = self._priors(counts)
        self.centroids_ = np.empty((C, p))
        for c in range(C):
            rows = X[np.flatnonzero(codes == c)]
            rows = rows.toarray() if sp.issparse(rows) and self.metric == "manhattan" else rows
            middle = np.median if self.metric == "manhattan" else np.mean
            found = rows.mean(axis=0) if sp.issparse(rows) else middle(rows, axis=0)
            self.centroids_[c] = np.asarray(found).ravel()
        squares = np.asarray(X - self.centroids_[codes]) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            self.within_class_std_dev_ = np.sqrt(squares.sum(axis=0) / (n - C))
        if (self.within_class_std_dev_ == 0).any():
            warnings.warn(
                "self.within_class_std_dev_ has at least 1 zero standard deviation. Inputs within "
                "the same classes for at least 1 feature are identical.",
                stacklevel=2,
            )
        spread = X.max(axis=0) - X.min(axis=0)
        spread = spread.toarray() if sp.issparse(spread) else np.asarray(spread)
        refuse_overflow(self, squared_ranges=spread * spread)
        if not spread.any():
            raise ValueError("All features have zero variance. Division by zero.")
        whole = np.asarray(X.mean(axis=0)).ravel()
        s = self.within_class_std_dev_ + np.median(self.within_class_std_dev_)
        scale = np.sqrt(1.0 / counts - 1.0 / n)[:, None] * s  # m_c (s_j + s₀)
        with np.errstate(divide="ignore", invalid="ignore"):
            self.deviations_ = (self.centroids_ - whole) / scale  # (2)
        if self.shrink_threshold:
            self.deviations_ = np.asarray(soft_threshold(self.deviations_, self.shrink_threshold))
            self.centroids_ = whole + scale * self.deviations_  # (3)
        return self

    def _priors(self, counts):
        """Prior probabilities, which sum to 1."""
        if isinstance(self.priors, str):
            uniform = np.full(len(counts), 1.0 / len(counts))
            return counts / counts.sum() if self.priors == "empirical" else uniform
        priors = np.asarray(self.priors, dtype=float)
        if priors.shape != counts.shape:
            raise ValueError(f"priors must be one number for each of {len(counts)} classes.")
        if (priors < 0).any():
            raise ValueError("priors must be non-negative")
        if not np.isclose(priors.sum(), 1.0):
            warnings.warn(
                "The priors do not sum to 1. Normalizing such that it sums to one.", stacklevel=3
            )
            priors = priors / priors.sum()
        return priors

    def predict(self, X):
        """Return the class of the nearest centroid, or the likeliest if priors differ.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        if not np.isclose(self.class_prior_, 1 / len(self.classes_)).all():
            return self.classes_[self._scores(X).argmax(axis=1)]
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        D = distance_matrix(X, self.centroids_, distance_named(self.metric), reduced=True)
        return self.classes_[D.argmin(axis=1)]

    def _scores(self, X):
        """2 log prior − squared distance in units of the standard deviations."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        unit = self.within_class_std_dev_
        unit = np.where(unit > 0, unit, 1.0)  # 0, or NaN where each class has one row
        X = (X.toarray() if sp.issparse(X) else X) / unit
        D = distance_matrix(X, self.centroids_ / unit, distance_named(self.metric))
        with np.errstate(divide="ignore"):
            return 2.0 * np.log(self.class_prior_) - D**2

    def _is_euclidean(self):
        return self.metric == "euclidean"

    @available_if(_is_euclidean)
    def decision_function(self, X):
        """Return the score of each class; of two classes, the difference.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    @available_if(_is_euclidean)
    def predict_log_proba(self, X):
        """Return the logarithms of the probabilities of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        scores = self._scores(X)
        return scores - logsumexp(scores, axis=1, keepdims=True)

    @available_if(_is_euclidean)
    def predict_proba(self, X):
        """Return the probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return np.exp(self.predict_log_proba(X))
