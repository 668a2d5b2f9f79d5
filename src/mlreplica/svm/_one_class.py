r"""One-class support vector machine: where the data are

A half-space of the feature space that holds all rows but few, as far from the origin as possible:

    minimise over w, ρ:   ½‖w‖² − ν Σ_i v_i ρ + Σ_i v_i max(0, ρ − wᵀφ(x_i))                  (5)

v_i are the weights of the rows. A new x is said to be like the others if

    d(x) = Σ_i β_i K(x_i, x) − ρ  >  0                                                        (6)

The dual is the general one of `_smo.py` with q = 0, boxes [0, v_i] and Σ β_i = ν Σ v_i. As no β_i
exceeds v_i, at least a share ν of the rows (by weight) has β_i > 0, and since only rows with
β_i = v_i are outside, at most a share ν is. With the kernel e^(−γ‖u − v‖²) and ν = 1 all β are
equal, and (6) is a threshold on the estimate of the density by the sum of these bells.

Schölkopf, Platt, Shawe-Taylor, Smola, Williamson, Estimating the support of a high-dimensional
distribution (2001).
"""

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import OutlierMixin

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, _fit_context, _num_samples

from ._base import KernelMachine
from ._one_machine import solve_one
from ._smo import problem


class OneClassSVM(OutlierMixin, KernelMachine):
    r"""The region that holds all but a share ν of the rows, with a kernel.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"}, Kernel or callable, default="rbf"
        Also a kernel object of `mlreplica.kernels`, a function of two matrices, or a function of
        two rows compiled by Numba.
    degree : int, default=3
        Of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        γ of "rbf", "poly" and "sigmoid": "scale" is 1 / (n_features · X.var()), "auto" is
        1 / n_features.
    coef0 : float, default=0.0
        The constant in "poly" and "sigmoid".
    tol : float, default=1e-3
        Of the violation of the optimality conditions.
    nu : float, default=0.5
        At most this share of the rows is outside, at least this share are support vectors; in
        (0, 1].
    shrinking : bool, default=True
        Set variables aside that have come to rest at a bound.
    cache_size : float, default=200
        Megabytes for rows of the Gram matrix.
    verbose : bool, default=False
        Above 0, write a line per block of steps on standard output.
    max_iter : int, default=-1
        The most steps; -1: a limit that grows with the number of rows.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
        Rows on the boundary or outside of it.
    support_vectors_ : ndarray or sparse matrix of shape (n_SV, n_features)
        These rows.
    n_support_ : ndarray of shape (1,)
        Their number.
    dual_coef_ : ndarray or sparse matrix of shape (1, n_SV)
        Their β in equation (6).
    intercept_ : ndarray of shape (1,)
        −ρ.
    offset_ : float
        ρ: `decision_function` is `score_samples` less this.
    coef_ : ndarray or sparse matrix of shape (1, n_features)
        w, if the kernel is linear.
    certificate_ : float
        Duality gap: no w has an objective (5) smaller by more than this.
    kkt_residual_ : float
        The violation of the optimality conditions that is left, recomputed in double precision.
    fit_status_ : int
        0 if it is at most `tol`, else 1.
    n_iter_ : int
        Steps taken.
    shape_fit_ : tuple of int
        Shape of the training data.
    class_weight_ : ndarray of shape (0,)
        Empty: there are no classes.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if they are strings.

    Examples
    --------
    >>> from mlreplica.svm import OneClassSVM
    >>> model = OneClassSVM(gamma=1.0, nu=0.1).fit([[0.0], [0.44], [0.45], [0.46], [1.0]])
    >>> model.predict([[0.5], [0.9], [3.0]])
    array([ 1,  1, -1])
    """

    card = Card(
        page="svr",
        checks="support_vectors",
        onnx="one_class",
        input="rows",
        use="which rows are unlike the rest, along curved borders",
        good="any kernel; nu bounds the share of rows outside",
        bad="time grows with n² or faster; sensitive to gamma",
        time="O(n² p) to O(n³)",
        memory="O(n) for rows in use, and a cache of kernel values",
        rescaling="needed: kernels compare columns in their units",
        instead="IsolationForest for many rows or columns",
    )

    _parameter_constraints: dict = {
        **KernelMachine._parameter_constraints,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree=3,
        gamma: float | str = "scale",
        coef0=0.0,
        tol=1e-3,
        nu=0.5,
        shrinking=True,
        cache_size: float = 200,
        verbose: int = False,
        max_iter=-1,
    ):
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Fit the region.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            Training rows, or their Gram matrix if the kernel is precomputed.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; rows whose weight is not positive are left out.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, _ = self._read(X)
        self.class_weight_ = np.empty(0)
        solve_one(self, X, np.ones(_num_samples(X)), sample_weight)
        return self

    def _publish(self, X, support, n_support, coef, intercept):
        super()._publish(X, support, n_support, coef, intercept)
        self.offset_ = -float(intercept[0])

    def _dual(self, y, weights):
        """The dual of (5), and a β with the sum that it asks for."""
        total = self.nu * weights.sum()
        beta = np.clip(total - (np.cumsum(weights) - weights), 0.0, weights)
        return problem(np.zeros(len(y)), np.zeros(len(y)), weights), beta

    def _coefficients(self, beta):
        return beta

    def _intercepts(self, b):
        return b

    def decision_function(self, X):
        """d(x) of (6): > 0 inside.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_training)

        Returns
        -------
        d : ndarray of shape (n_samples,)
        """
        return self.score_samples(X) + self._intercept_[0]

    def score_samples(self, X):
        """d(x) + ρ: the larger, the more like the training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_training)

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        return self._sums(X)

    def predict(self, X):
        """+1 for rows inside the region, −1 for the others.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_training)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return np.where(self.decision_function(X) > 0.0, 1, -1)
