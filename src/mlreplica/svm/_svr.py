r"""Support vector regression: a tube of half-width ε (SVR), or of the width that ν asks for (NuSVR)

    minimise over w, b:   P = ½‖w‖² + Σ_i c_i max(0, |y_i − wᵀφ(x_i) − b| − ε)                (1)

Rows inside the tube cost nothing. One multiplier α_i ≥ 0 for "y_i is not more than ε above" and one
α*_i for "not more than ε below" give the dual

    minimise:   D = ½(α − α*)ᵀK(α − α*) + ε Σ_i (α_i + α*_i) − Σ_i y_i(α_i − α*_i)            (2)
    with   0 ≤ α_i ≤ c_i,   0 ≤ α*_i ≤ c_i,   Σ_i (α_i − α*_i) = 0

With β = (α, −α*) this is the general dual of `_smo.py`, ½βᵀKβ + qᵀβ, for 2n variables over the n
rows of K: the first n have q_i = ε − y_i and the box [0, c_i], the others q_i = −ε − y_i and
[−c_i, 0]. A row cannot be above and below the tube at once, so one of α_i, α*_i is 0, and the
prediction is

    f(x) = Σ_i (α_i − α*_i) K(x_i, x) + b                                                     (3)

Rows with 0 < α_i < c_i lie on the edge of the tube, rows with α_i = c_i outside of it.

`NuSVR` makes the width of the tube a variable with a cost of its own:

    minimise over w, b, ε:   ½‖w‖² + ν Σ_i c_i ε + Σ_i c_i max(0, |y_i − wᵀφ(x_i) − b| − ε)   (4)

The derivative by ε gives one more equation, Σ(α_i + α*_i) = ν Σ c_i, so each of the two halves of
β has a sum of its own, ±½ν Σ c_i, and q = −y. Their two b are b + ε and b − ε: half their sum is
b and half their difference is the tube. Outside of it are at most ν of all rows (by weight), on
its edge or outside at least ν.

Vapnik, The Nature of Statistical Learning Theory (1995); Smola, Schölkopf, A tutorial on support
vector regression (2004); Schölkopf, Smola, Williamson, Bartlett, New support vector algorithms
(2000).
"""

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import column_or_1d

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, _fit_context

from ._base import KernelMachine
from ._one_machine import solve_one
from ._smo import problem


class TubeRegressor(RegressorMixin, KernelMachine):
    """Base of SVR and NuSVR: one machine with two variables a row."""

    _parameter_constraints: dict = {
        **KernelMachine._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="right")],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the tube.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            Training rows, or their Gram matrix if the kernel is precomputed.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C; rows whose weight is not positive are left out.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = self._read(X, y)
        y = column_or_1d(y, warn=True).astype(np.float64, copy=False)
        self.class_weight_ = np.empty(0)
        solve_one(self, X, y, sample_weight)
        return self

    def _box(self, y, c, inside):
        """(2) with a tube of half-width `inside`."""
        n, zero = len(y), np.zeros(len(y))
        q = np.concatenate([inside - y, -inside - y])
        low, high = np.concatenate([zero, -c]), np.concatenate([c, zero])
        return q, low, high, np.tile(np.arange(n), 2)

    def _coefficients(self, beta):
        """α − α*, a row each."""
        n = len(beta) // 2
        return beta[:n] + beta[n:]

    def predict(self, X):
        """Predict (3).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_training)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return self._sums(X) + self._intercept_[0]


class SVR(TubeRegressor):
    r"""Regression that ignores residuals up to ε, with a kernel.

    Minimises :math:`\frac12 \|w\|^2 + C \sum_i s_i \max(0, |y_i - w^\top \varphi(x_i) - b| -
    \varepsilon)`, with :math:`s_i` the weight of row i.

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
        Of the violation of the optimality conditions, in the units of y.
    C : float, default=1.0
        Cost of a unit of residual outside of the tube.
    epsilon : float, default=0.1
        ε, the half-width of the tube, in the units of y.
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
        Rows on the edge of the tube or outside of it.
    support_vectors_ : ndarray or sparse matrix of shape (n_SV, n_features)
        These rows.
    n_support_ : ndarray of shape (1,)
        Their number.
    dual_coef_ : ndarray or sparse matrix of shape (1, n_SV)
        Their coefficients in equation (3).
    intercept_ : ndarray of shape (1,)
        b.
    coef_ : ndarray or sparse matrix of shape (1, n_features)
        w, if the kernel is linear.
    certificate_ : float
        Duality gap: no w has an objective smaller by more than this.
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

    See Also
    --------
    NuSVR : The share of rows outside of the tube instead of its width.
    LinearSVR : Without a kernel, for many rows.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.svm import SVR
    >>> x = np.linspace(0.0, 6.0, 60)[:, None]
    >>> model = SVR(C=10.0, epsilon=0.2).fit(x, np.sin(x[:, 0]))
    >>> bool(np.abs(model.predict(x) - np.sin(x[:, 0])).max() < 0.21), len(model.support_) < 10
    (True, True)
    """

    card = Card(
        page="svr",
        checks="support_vectors",
        onnx="kernel_scores",
        scale_target=True,
        use="a number along a smooth curve, with outliers, up to some 20,000 rows",
        good="any kernel; errors below epsilon cost nothing, so few rows are kept",
        bad="time grows with n² or faster; C, epsilon and the kernel must be chosen",
        time="O(n² p) to O(n³)",
        memory="O(n) for rows in use, and a cache of kernel values",
        rescaling="needed: kernels compare columns in their units",
        instead="KernelRidge for one linear system, LinearSVR for many rows",
    )

    _parameter_constraints: dict = {
        **TubeRegressor._parameter_constraints,
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree=3,
        gamma: float | str = "scale",
        coef0=0.0,
        tol=1e-3,
        C=1.0,
        epsilon=0.1,
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
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter

    def _dual(self, y, weights):
        """(2), and where to begin: at 0."""
        return problem(*self._box(y, self.C * weights, self.epsilon)), None

    def _intercepts(self, b):
        return b


class NuSVR(TubeRegressor):
    r"""Regression by a tube that a share ν of the rows may leave, with a kernel.

    Parameters
    ----------
    nu : float, default=0.5
        At most this share of the rows is outside of the tube, at least this share are support
        vectors; in (0, 1].
    C : float, default=1.0
        Cost of a unit of residual outside of the tube.
    kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter
        As in `SVR`.

    Attributes
    ----------
    epsilon_ : float
        The half-width of the tube that was found: `SVR` with this ε finds the same.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_
        As in `SVR`.
    certificate_ : float
        Duality gap of problem (4).
    kkt_residual_, fit_status_, n_iter_, shape_fit_, class_weight_
        As in `SVR`.
    n_features_in_, feature_names_in_
        As in `SVR`.

    See Also
    --------
    SVR : The width of the tube instead of the share outside of it.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.svm import NuSVR
    >>> x = np.linspace(0.0, 6.0, 60)[:, None]
    >>> model = NuSVR(nu=0.2).fit(x, np.sin(x[:, 0]))
    >>> outside = np.abs(model.predict(x) - np.sin(x[:, 0])) > model.epsilon_ + 1e-3
    >>> bool(outside.mean() <= 0.2 <= len(model.support_) / 60)
    True
    """

    card = SVR.card.but(
        good="any kernel; nu bounds the share of support vectors, and epsilon follows",
        bad="time grows with n² or faster; C, nu and the kernel must be chosen",
        instead="SVR with a known epsilon, KernelRidge for one linear system",
    )

    _parameter_constraints: dict = {
        **TubeRegressor._parameter_constraints,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    }

    def __init__(
        self,
        *,
        nu=0.5,
        C=1.0,
        kernel: Any = "rbf",
        degree=3,
        gamma: float | str = "scale",
        coef0=0.0,
        shrinking=True,
        tol=1e-3,
        cache_size: float = 200,
        verbose: int = False,
        max_iter=-1,
    ):
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter

    def _dual(self, y, weights):
        """The dual of (4), and a β with the sums that it asks for."""
        c = self.C * weights
        alpha = np.clip(0.5 * self.nu * c.sum() - (np.cumsum(c) - c), 0.0, c)
        group = np.repeat([0, 1], len(y))
        return problem(*self._box(y, c, 0.0), group=group), np.concatenate([alpha, -alpha])

    def _intercepts(self, b):
        """Half the sum of both; half their difference is the tube."""
        self.epsilon_ = 0.5 * float(b[0] - b[1])
        return np.array([0.5 * (b[0] + b[1])])
