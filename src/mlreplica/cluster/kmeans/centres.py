"""What k-means estimators share: starts, nearest centres, distances to them"""

from __future__ import annotations

import warnings
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_array

from mlreplica.core.compat import Interval, StrOptions, _check_sample_weight
from mlreplica.core.iterate import CallbackSupport
from mlreplica.core.linear import forget_names
from mlreplica.core.validation import (
    FLOATS,
    ValidatedOnce,
    is_plain_array,
    new_rows,
    refuse_overflow,
    validate_data,
)

from .points import Points
from .seeding import plus_plus

LARGEST = 1e12  # entries up to which squares, summed, stay in range in single precision


def is_array(init):
    """Whether centres are given, and not a way to find them."""
    return not isinstance(init, str) and not callable(init)


def in_range(X):
    """A power of two by which X is multiplied so that squares neither overflow nor vanish."""
    entries = X.data if sp.issparse(X) else X
    with np.errstate(over="ignore"):
        size = float(np.dot(entries.ravel(), entries.ravel())) / max(entries.size, 1)
    if 1 / LARGEST < size < LARGEST:  # the mean square; no entry is beyond √n of its root
        return 1.0
    size = max(abs(float(entries.max())), abs(float(entries.min()))) if entries.size else 0.0
    return float(np.ldexp(1.0, -np.frexp(size)[1])) if size else 1.0


def common_range(X, centers):
    """`in_range` of rows and centres together: that of the larger ones."""
    return min(in_range(X), in_range(centers))


def nearest_centres(X, centers):
    """Labels of checked rows."""
    scale = common_range(X, centers)
    X, C = X * scale if scale != 1.0 else X, centers.astype(np.float64) * scale
    points = Points(X if sp.issparse(X) else np.ascontiguousarray(X), centred=False)
    if not points.sparse:
        points.shift = C.mean(axis=0)
    return points.labels(C - points.shift)


class CentreModel(
    CallbackSupport,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    ValidatedOnce,
    BaseEstimator,
):
    """What k-means estimators share: starts, nearest centres, distances to them."""

    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"k-means++", "random"}), callable, "array-like"],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def _rows(self, X, sample_weight, *, reset=True):
        """X and the weights in float64, checked."""
        if reset and is_plain_array(X):
            forget_names(self, X)
        else:
            X = validate_data(
                self,
                X,
                accept_sparse="csr",
                dtype=FLOATS,
                order="C",
                accept_large_sparse=False,
                reset=reset,
            )
        if sample_weight is None:
            return X, np.ones(X.shape[0])
        return X, _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)

    def _to_range(self, X, scale):
        """X times `scale`; an error if distances between its rows are beyond all floats."""
        if scale == 1.0:
            return X
        X = X * scale
        box = X.max(axis=0) - X.min(axis=0)
        length = np.linalg.norm(box.toarray() if sp.issparse(box) else box)
        with np.errstate(over="ignore"):
            refuse_overflow(self, distances=(np.float64(length) / scale).astype(X.dtype))
        return X

    def _starts(self, X, random_starts):
        """How many starts to make; given centres allow one."""
        if X.shape[0] < self.n_clusters:
            raise ValueError(f"n_samples={X.shape[0]} should be >= n_clusters={self.n_clusters}.")
        n_init = self.n_init
        if n_init == "auto":
            fixed = is_array(self.init) or (isinstance(self.init, str) and self.init == "k-means++")
            n_init = 1 if fixed else random_starts
        if is_array(self.init) and n_init != 1:
            warnings.warn(
                "Explicit initial center position passed: performing only one init in "
                f"{type(self).__name__} instead of n_init={n_init}.",
                RuntimeWarning,
                stacklevel=3,
            )
            n_init = 1
        return n_init

    def _given_centres(self, X):
        """`init` as an array of the right shape, or as it is."""
        if not is_array(self.init):
            return self.init
        init = check_array(self.init, dtype=X.dtype, copy=True, order="C")
        return self._checked_shape(init, X, self.n_clusters)

    def _checked_shape(self, centers, X, k):
        if centers.shape[0] != k:
            raise ValueError(
                f"The shape of the initial centers {centers.shape} does not match the number of "
                f"clusters {k}."
            )
        if centers.shape[1] != X.shape[1]:
            raise ValueError(
                f"The shape of the initial centers {centers.shape} does not match the number of "
                f"features of the data {X.shape[1]}."
            )
        return centers

    def _first_centres(self, points, w, init, random, k=None, among=None):
        """One start, about the origin of the points; among: distinct rows and their weights."""
        k = k or self.n_clusters
        if isinstance(init, str):
            if init == "k-means++":
                return points.row(plus_plus(points, k, w, random, among=among))
            rows, W = among or (points.all, w)
            most = min(k, len(rows))
            some = rows[random.choice(len(rows), size=most, replace=False, p=W / W.sum())]
            return points.row(np.resize(some, k))  # fewer distinct rows than centres: some twice
        if callable(init):
            X = points.X if points.sparse else (points.X - points.shift).astype(points.X.dtype)
            centers = check_array(init(X, k, random_state=random), dtype=points.X.dtype, order="C")
            return self._checked_shape(centers, X, k).astype(np.float64)
        return init.astype(np.float64) - points.shift

    def fit_predict(self, X, y=None, sample_weight=None):
        """Fit, and return the label of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return self.fit(X, sample_weight=sample_weight).labels_

    def predict(self, X):
        """The nearest centre of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return nearest_centres(new_rows(self, X, accept_sparse="csr"), self.cluster_centers_)

    def transform(self, X):
        """Distances from each row to each centre.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
        """
        X, C = new_rows(self, X, accept_sparse="csr"), self.cluster_centers_
        scale = common_range(X, C)
        if scale == 1.0:
            return euclidean_distances(X, C)
        return euclidean_distances(X * scale, C * scale) / scale

    def score(self, X, y=None, sample_weight=None):
        """Minus the inertia (1) of the rows with the centres that were found.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        score : float
        """
        X = new_rows(self, X, accept_sparse="csr")
        w = _check_sample_weight(sample_weight, X, dtype=np.float64)
        points = Points(X if sp.issparse(X) else np.ascontiguousarray(X))
        labels = nearest_centres(X, self.cluster_centers_)
        return -float(w @ points.squares(self.cluster_centers_ - points.shift, labels))

    def _tolerance(self, points, w):
        """`tol` times the mean variance of the columns of weighted rows."""
        if self.tol == 0:
            return 0.0
        if not points.sparse and w.min() == w.max():  # the origin is the mean
            return self.tol * float(points.norms.mean()) / points.p
        squares = points.squares(points.mean(w).reshape(1, -1), np.zeros(points.n, np.int32))
        return self.tol * float(w @ squares / w.sum()) / points.p

    def _say_if_few(self, labels):
        """Warn of clusters without rows: there are fewer different rows than clusters."""
        distinct = np.count_nonzero(np.bincount(labels))
        if distinct < self.n_clusters:
            warnings.warn(
                f"Number of distinct clusters ({distinct}) found smaller than n_clusters "
                f"({self.n_clusters}). Possibly due to duplicate points in X.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
