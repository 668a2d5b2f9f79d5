r"""Kernel density: every row is a small hill, and the density is their sum

    f(x) = 1/(Σ_i w_i) Σ_i w_i K_h(d(x, x_i)),        ∫ K_h = 1                              (1)

The bandwidth h says how wide the hills are: too small and the density is a row of spikes, too large
and all shape is gone. Scott's and Silverman's rules fit Gaussian data of unit variance,

    h = n^(−1/(p + 4))            h = (n (p + 2) / 4)^(−1/(p + 4))                           (2)

The sum is taken by a tree, which puts many far rows, or near ones, into one term as long as the
error stays below atol + rtol · f(x): `core/space/density.py`.

References
----------
Rosenblatt: Remarks on some nonparametric estimates of a density function. Annals of Mathematical
Statistics 27 (1956).
Gray, Moore: Nonparametric density estimation: toward computational tractability. SDM (2003).
"""

from numbers import Integral, Real

import numpy as np
from scipy.special import gammainc
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, StrOptions, _check_sample_weight, _fit_context
from mlreplica.core.space.density import KERNELS
from mlreplica.core.validation import refuse_overflow, validate_data

from ._trees import BallTree, KDTree

TREES = {"kd_tree": KDTree, "ball_tree": BallTree}


class KernelDensity(DensityMixin, BaseEstimator):
    """The density of rows as a sum of kernels: (1).

    Parameters
    ----------
    bandwidth : float or {"scott", "silverman"}, default=1.0
        h, or a rule (2).
    algorithm : {"auto", "kd_tree", "ball_tree"}, default="auto"
        The tree.
    kernel : {"gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"}
        K; default="gaussian".
    metric : str, default="euclidean"
        The distance; only for "euclidean" is the density normalised.
    atol, rtol : float, default=0
        The error of a density f is at most atol + rtol·f. More tolerance, less time.
    breadth_first : bool, default=True
        Accepted for compatibility.
    leaf_size : int, default=40
        About so many points in a leaf.
    metric_params : dict, default=None
        Parameters of the metric.

    Attributes
    ----------
    tree_ : KDTree or BallTree
        The rows.
    bandwidth_ : float
        h.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.neighbors import KernelDensity
    >>> X = np.random.default_rng(0).random((100, 3))
    >>> KernelDensity(bandwidth=0.5).fit(X).score_samples(X[:3]).round(4)
    array([-1.6065, -1.885 , -1.2272])
    """

    card = Card(
        page="kernel-density",
        checks="density",
        input="rows",
        use="how likely rows are, and new rows like them, in few dimensions",
        good="any shape; one setting; the error of a faster sum is bounded",
        bad="needs rows by the thousand beyond three or four dimensions",
        time="O(n log n) to fit, between O(log n) and O(n) per row",
        memory="O(n p)",
        rescaling="needed: one bandwidth serves all columns",
        instead="a Gaussian mixture in more dimensions",
    )
    _parameter_constraints: dict = {
        "bandwidth": [
            Interval(Real, 0, None, closed="neither"), StrOptions({"scott", "silverman"})
        ],
        "algorithm": [StrOptions({"auto", *TREES})],
        "kernel": [StrOptions(set(KERNELS))],
        "metric": [StrOptions(set(BallTree.valid_metrics))],
        "atol": [Interval(Real, 0, None, closed="left")],
        "rtol": [Interval(Real, 0, None, closed="left")],
        "breadth_first": ["boolean"],
        "leaf_size": [Interval(Integral, 1, None, closed="left")],
        "metric_params": [None, dict],
    }  # fmt: skip

    def __init__(
        self,
        *,
        bandwidth: float | str = 1.0,
        algorithm="auto",
        kernel="gaussian",
        metric="euclidean",
        atol: float = 0,
        rtol: float = 0,
        breadth_first=True,
        leaf_size=40,
        metric_params=None,
    ):
        self.algorithm = algorithm
        self.bandwidth = bandwidth
        self.kernel = kernel
        self.metric = metric
        self.atol = atol
        self.rtol = rtol
        self.breadth_first = breadth_first
        self.leaf_size = leaf_size
        self.metric_params = metric_params

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, sample_weight=None):
        """Grow the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : Ignored
            Not used, present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights w_i.

        Returns
        -------
        self : KernelDensity
        """
        kind = self.algorithm
        if kind == "auto":
            kind = "kd_tree" if self.metric in KDTree.valid_metrics else "ball_tree"
        elif self.metric not in TREES[kind].valid_metrics:
            raise ValueError(f"invalid metric for {TREES[kind]}: '{self.metric}'")
        if self.metric == "pyfunc" and "func" not in (self.metric_params or {}):
            raise ValueError('metric="pyfunc" needs metric_params={"func": distance}.')
        X = validate_data(self, X, order="C", dtype=np.float64)
        n, p = X.shape
        rules = {"scott": n, "silverman": n * (p + 2) / 4}
        by_rule = isinstance(self.bandwidth, str)
        self.bandwidth_ = rules[self.bandwidth] ** (-1 / (p + 4)) if by_rule else self.bandwidth
        if sample_weight is not None:
            sample_weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
            X, sample_weight = X[sample_weight > 0], sample_weight[sample_weight > 0]
            if not len(X):
                raise ValueError("All sample weights are 0; give at least one a positive weight.")
        with np.errstate(over="ignore"):
            farthest = float((np.ptp(X, axis=0) ** 2).sum())
        refuse_overflow(self, squared_distances=farthest)
        self._kind, self._rows, self._weights, self._made = kind, X, sample_weight, None
        return self

    @property
    def tree_(self):
        """The rows in a tree, grown when it is first asked for."""
        check_is_fitted(self)
        if vars(self).get("_made") is None:  # not in files, but made from what is
            self._made = TREES[self._kind](
                self._rows,
                metric=self.metric,
                leaf_size=self.leaf_size,
                sample_weight=self._weights,
                **(self.metric_params or {}),
            )
        return self._made

    def __getstate__(self):
        return {name: v for name, v in super().__getstate__().items() if name != "_made"}

    def score_samples(self, X):
        """Return the logarithm of the density at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        density : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        X = validate_data(self, X, order="C", dtype=np.float64, reset=False)
        weights = self.tree_.sample_weight
        total = len(self.tree_.data) if weights is None else weights.sum()
        found = self.tree_.kernel_density(
            X,
            h=self.bandwidth_,
            kernel=self.kernel,
            atol=self.atol * total,
            rtol=self.rtol,
            return_log=True,
        )
        return found - np.log(total)

    def score(self, X, y=None):
        """Return the log-likelihood of all rows together.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        logprob : float
        """
        return np.sum(self.score_samples(X))

    def sample(self, n_samples=1, random_state=None):
        """Draw new rows from the density.

        Parameters
        ----------
        n_samples : int, default=1
            How many.
        random_state : int, RandomState instance or None, default=None
            Draws them.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        if self.kernel not in ("gaussian", "tophat"):
            raise NotImplementedError("rows are drawn for Gaussian and tophat kernels only.")
        data, weights = self.tree_.data, self.tree_.sample_weight
        rng, p = check_random_state(random_state), data.shape[1]
        u = rng.uniform(0, 1, size=n_samples)
        if weights is None:
            rows = (u * len(data)).astype(np.int64)
        else:
            running = np.cumsum(weights)
            rows = np.searchsorted(running, u * running[-1])
        if self.kernel == "gaussian":
            return np.atleast_2d(rng.normal(data[rows], self.bandwidth_))
        X = rng.normal(size=(n_samples, p))
        squares = np.einsum("ij,ij->i", X, X)
        # a Gaussian has the right direction; its length becomes that of a point of the ball
        length = gammainc(0.5 * p, 0.5 * squares) ** (1.0 / p) * self.bandwidth_ / np.sqrt(squares)
        return data[rows] + X * length[:, np.newaxis]
