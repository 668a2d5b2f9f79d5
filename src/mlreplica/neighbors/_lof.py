r"""Local outlier factor: is a row's neighbourhood thinner than those of its neighbours?

With the k nearest rows N(x), and d_k(y) the distance of y to its own k-th neighbour,

    reach(x, y) = max(d(x, y), d_k(y))                                                       (1)
    lrd(x) = 1 / mean of reach(x, y) over y ∈ N(x)          local reachability density       (2)
    LOF(x) = mean of lrd(y) / lrd(x) over y ∈ N(x)                                           (3)

LOF ≈ 1 inside a group however dense it is, and ≫ 1 for a row outside. The maximum in (1) keeps the
densities inside a group from jumping about.

References
----------
Breunig, Kriegel, Ng, Sander: LOF: identifying density-based local outliers. SIGMOD (2000).
"""

import warnings
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.compat import Interval, StrOptions, _fit_context
from mlreplica.core.compile.jit import kernel

from ._ask import KNeighboursMixin
from ._search import NeighboursBase, constraints
from ._vote import CARD, PARAMETERS

TINY = 1e-10  # keeps (2) finite where k rows are equal


@kernel(borrow=True)
def reachability_density(D, N, d_k, out):
    """(2) from the distances D and indices N of neighbours."""
    for i in range(len(D)):
        s = 0.0
        for a in range(D.shape[1]):
            s += max(D[i, a], d_k[N[i, a]])
        out[i] = 1.0 / (s / D.shape[1] + TINY)


@kernel(borrow=True)
def outlier_factor(N, lrd, own, out):
    """(3), of rows whose own density is `own`."""
    for i in range(len(N)):
        s = 0.0
        for a in range(N.shape[1]):
            s += lrd[N[i, a]]
        out[i] = s / N.shape[1] / own[i]


def only(novelty, name, why):
    """Whether a method is there: it is for new rows, or for the training rows."""

    def check(self):
        if bool(self.novelty) != novelty:
            raise AttributeError(f"{name} is not available when novelty={self.novelty}. {why}")
        return True

    return available_if(check)


NEW = "Use novelty=True if you want to use LOF for novelty detection on new unseen data."


class LocalOutlierFactor(KNeighboursMixin, OutlierMixin, NeighboursBase):
    __doc__ = f"""Outliers are rows in thinner neighbourhoods than their neighbours': (3).

    Parameters
    ----------
    n_neighbors : int, default=20
        k.
    {PARAMETERS}
    contamination : "auto" or float, default="auto"
        The share of outliers among the training rows; "auto" for LOF > 1.5.
    novelty : bool, default=False
        Judge new rows (`predict`, `score_samples`) instead of the training rows (`fit_predict`).

    Attributes
    ----------
    negative_outlier_factor_ : ndarray of shape (n_samples,)
        −LOF of the training rows: about −1, or much less for outliers.
    n_neighbors_ : int
        The number of neighbours used.
    offset_ : float
        Rows with −LOF below it are outliers.
    effective_metric_ : str or callable
        The metric after "minkowski" has been resolved.
    effective_metric_params_ : dict
        Its parameters.
    n_samples_fit_ : int
        Rows kept.

    Examples
    --------
    >>> from mlreplica.neighbors import LocalOutlierFactor
    >>> LocalOutlierFactor(n_neighbors=2).fit_predict([[-1.1], [0.2], [101.1], [0.3]])
    array([ 1,  1, -1,  1])
    """

    card = CARD.but(
        page="local-outlier-factor",
        input="rows",
        checks="neighbours",
        cheap=lambda: {"n_neighbors": 4},
        use="which rows are unlike their neighbours, in groups of different density",
        good="no model of the groups; finds outliers between dense and thin groups",
        bad="depends on k; fades in many dimensions",
        time="one search for the neighbours of all rows",
        memory="O(n k)",
        instead="IsolationForest for many rows and columns",
    )
    _parameter_constraints: dict = constraints(
        "radius",
        contamination=[StrOptions({"auto"}), Interval(Real, 0, 0.5, closed="right")],
        novelty=["boolean"],
    )

    def __init__(
        self,
        n_neighbors: int | None = 20,
        *,
        algorithm="auto",
        leaf_size=30,
        metric: Any = "minkowski",
        p: float | None = 2,
        metric_params=None,
        contamination: float | str = "auto",
        novelty=False,
        n_jobs=None,
    ):
        super().__init__(
            n_neighbors=n_neighbors,
            algorithm=algorithm,
            leaf_size=leaf_size,
            metric=metric,
            p=p,
            metric_params=metric_params,
            n_jobs=n_jobs,
        )
        self.contamination = contamination
        self.novelty = novelty

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None):
        """Keep the rows and their densities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or distances if `metric="precomputed"`.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        self : LocalOutlierFactor
        """
        self._fit(X)
        n = self.n_samples_fit_
        if self.n_neighbors > n:
            warnings.warn(
                f"n_neighbors ({self.n_neighbors}) is greater than the total number of samples "
                f"({n}). n_neighbors will be set to (n_samples - 1) for estimation.",
                stacklevel=2,
            )
        self.n_neighbors_ = max(1, min(self.n_neighbors, n - 1))
        D, N = self.kneighbors(n_neighbors=self.n_neighbors_)
        self._d_k = D[:, -1].copy()
        self._lrd, factor = np.empty(n), np.empty(n)
        reachability_density(D, N, self._d_k, self._lrd)
        outlier_factor(N, self._lrd, self._lrd, factor)
        dtype = np.float32 if self._fit_X.dtype == np.float32 else np.float64
        self.negative_outlier_factor_ = -factor.astype(dtype)
        self.offset_ = -1.5
        if self.contamination != "auto":
            share = 100.0 * self.contamination
            self.offset_ = np.percentile(self.negative_outlier_factor_, share)
        if self.negative_outlier_factor_.min() < -1e7 and not self.novelty:
            warnings.warn(
                "Duplicate values are leading to incorrect results. Increase the number of "
                "neighbors for more accurate results.",
                stacklevel=2,
            )
        return self

    @only(False, "fit_predict", "Use novelty=False if you want to predict on the training set.")
    def fit_predict(self, X, y=None):
        """Return which training rows are outliers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        is_inlier : ndarray of shape (n_samples,)
            1, or −1 for outliers.
        """
        self.fit(X)
        return np.where(self.negative_outlier_factor_ < self.offset_, -1, 1)

    @only(True, "predict", f"Use fit_predict if you want to predict on training data. {NEW}")
    def predict(self, X):
        """Return which new rows are outliers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        is_inlier : ndarray of shape (n_samples,)
            1, or −1 for outliers.
        """
        return np.where(self.decision_function(X) < 0, -1, 1)

    @only(
        True,
        "decision_function",
        f"{NEW} Note that this parameter will affect the meaning of negative_outlier_factor_.",
    )
    def decision_function(self, X):
        """Return −LOF less the offset: negative for outliers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        return self.score_samples(X) - self.offset_

    @only(
        True,
        "score_samples",
        f"The scores of the training samples are always available through the "
        f"negative_outlier_factor_ attribute. {NEW}",
    )
    def score_samples(self, X):
        """Return −LOF of new rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New rows; a training row among them finds itself at distance 0.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        D, N = self.kneighbors(X, n_neighbors=self.n_neighbors_)
        lrd, factor = np.empty(len(D)), np.empty(len(D))
        reachability_density(D, N, self._d_k, lrd)
        outlier_factor(N, self._lrd, lrd, factor)
        dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
        return -factor.astype(dtype)
