r"""Neighbourhood components analysis: a linear map in which neighbours are of one class

With z = Lx, each row chooses a neighbour at random, a near one more often,

    p_ij = exp(−‖z_i − z_j‖²) / Σ_{k ≠ i} exp(−‖z_i − z_k‖²),      p_ii = 0                  (1)

and is classified right with probability p_i = Σ_j p_ij [y_j = y_i]. Maximise what is expected,

    F(L) = Σ_i p_i                                                                           (2)
    ∂F/∂L = 2 Zᵀ (M + Mᵀ − diag(M1 + Mᵀ1)) X,        M_ij = p_ij [y_j = y_i] − p_i p_ij      (3)

with the sign of (3) such that L grows along it. Blocks of rows give both, so that no n × n matrix
is held; quasi-Newton steps (L-BFGS) do the rest. F is not concave: where L starts matters.

References
----------
Goldberger, Hinton, Roweis, Salakhutdinov: Neighbourhood components analysis. NIPS 17 (2005).
"""

import sys
import time
import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, StrOptions, _fit_context
from mlreplica.core.formulas.distances import distance_named
from mlreplica.core.iterate import say
from mlreplica.core.rows.walk import steps
from mlreplica.core.space.matrix import distance_matrix
from mlreplica.core.validation import validate_data

BLOCK = 1 << 21  # probabilities that are held at a time


class NeighborhoodComponentsAnalysis(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """The linear map that makes neighbours agree: it maximises (2).

    Parameters
    ----------
    n_components : int, default=None
        Rows of L; None for as many as columns.
    init : {"auto", "pca", "lda", "identity", "random"} or ndarray, default="auto"
        L at the start.
    warm_start : bool, default=False
        Start from the last L.
    max_iter : int, default=50
        The most steps.
    tol : float, default=1e-5
        Tolerance of the optimiser.
    callback : callable, default=None
        Called with (L flattened, step) after each step.
    verbose : int, default=0
        Whether to write a line per step on standard output, and to warn if the optimiser has not
        converged.
    random_state : int, RandomState instance or None, default=None
        Draws L for `init="random"`, and in PCA.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        L.
    n_iter_ : int
        Steps done.
    random_state_ : RandomState
        The generator used.

    Examples
    --------
    >>> from mlreplica.neighbors import NeighborhoodComponentsAnalysis
    >>> X, y = [[0.0, 9.0], [0.1, -9.0], [1.0, 8.0], [1.1, -8.0]], [0, 0, 1, 1]
    >>> L = NeighborhoodComponentsAnalysis(n_components=1, random_state=0).fit(X, y).components_
    >>> bool(abs(L[0, 0]) > abs(L[0, 1]))
    True
    """

    card = Card(
        page="k-nearest-neighbours",
        checks="linear_map",
        task="transformation",
        use="a metric, or a picture in two dimensions, for k nearest neighbours",
        good="learns which directions matter; few settings",
        bad="every step looks at all pairs of rows; finds a local best",
        time="O(n² p) per step",
        memory="O(n p); never all pairs at once",
        instead="LVQClassifier(algorithm='gmlvq') for many rows",
    )
    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "init": [StrOptions({"auto", "pca", "lda", "identity", "random"}), np.ndarray],
        "warm_start": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "callback": [callable, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components=None,
        *,
        init: Any = "auto",
        warm_start=False,
        max_iter=50,
        tol=1e-5,
        callback=None,
        verbose=0,
        random_state=None,
    ):
        self.n_components = n_components
        self.init = init
        self.warm_start = warm_start
        self.max_iter = max_iter
        self.tol = tol
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @property
    def _n_features_out(self):
        return self.components_.shape[0]

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Learn L.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : NeighborhoodComponentsAnalysis
        """
        X, y = validate_data(self, X, y, ensure_min_samples=2, dtype=np.float64)
        check_classification_targets(y)
        codes = np.unique(y, return_inverse=True)[1]
        init = self._checked_start(X)
        self.random_state_ = check_random_state(self.random_state)
        begin = time.perf_counter()
        start = self._start(X, codes, init)
        self.n_iter_ = 0
        if self.verbose:
            header = f"{'Iteration':>10} {'Objective Value':>20} {'Time(s)':>10}"
            for line in ("", header, "-" * len(header)):
                say(self, line)

        def after_step(intermediate_result):
            if self.callback is not None:
                self.callback(intermediate_result.x, self.n_iter_)
            if self.verbose:
                F, seconds = -intermediate_result.fun, time.perf_counter() - begin
                say(self, f"{self.n_iter_:>10} {F:>20.6e} {seconds:>10.2f}")
            self.n_iter_ += 1

        found = minimize(
            lambda L: negative(agreement(L.reshape(-1, X.shape[1]), X, codes)),
            start.ravel(),
            jac=True,
            method="L-BFGS-B",
            tol=self.tol,
            options={"maxiter": self.max_iter},
            callback=after_step,
        )
        self.components_ = found.x.reshape(-1, X.shape[1])
        if self.verbose:
            say(self, f"Training took {time.perf_counter() - begin:8.2f}s.")
        if self.verbose and not found.success:
            warnings.warn(
                f"[{type(self).__name__}] NCA did not converge: {found.message}",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _checked_start(self, X):
        """`init`, if its shape fits."""
        p, k = X.shape[1], self.n_components
        if k is not None and k > p:
            raise ValueError(
                "The preferred dimensionality of the projected space `n_components` "
                f"({k}) cannot be greater than the given data dimensionality ({p})!"
            )
        if self.warm_start and hasattr(self, "components_") and self.components_.shape[1] != p:
            raise ValueError(
                f"The new inputs dimensionality ({p}) does not match the input dimensionality of "
                f"the previously learned transformation ({self.components_.shape[1]})."
            )
        if not isinstance(self.init, np.ndarray):
            return self.init
        init = check_array(self.init)
        if init.shape[1] != p:
            raise ValueError(
                f"The input dimensionality ({init.shape[1]}) of the given linear transformation "
                f"`init` must match the dimensionality of the given inputs `X` ({p})."
            )
        if init.shape[0] > init.shape[1]:
            raise ValueError(
                f"The output dimensionality ({init.shape[0]}) of the given linear transformation "
                f"`init` cannot be greater than its input dimensionality ({init.shape[1]})."
            )
        if k is not None and k != init.shape[0]:
            raise ValueError(
                f"The preferred dimensionality of the projected space `n_components` ({k}) does "
                "not match the output dimensionality of the given linear transformation "
                f"`init` ({init.shape[0]})!"
            )
        return init

    def _start(self, X, codes, init):
        """L before the first step."""
        if self.warm_start and hasattr(self, "components_"):
            return self.components_
        if isinstance(init, np.ndarray):
            return init
        (n, p), C = X.shape, codes.max() + 1
        k = self.n_components or p
        if init == "auto":
            init = "identity"
            if k <= min(p, C - 1):
                init = "lda"
            elif k < min(p, n):
                init = "pca"
        if init == "identity":
            return np.eye(k, p)
        if init == "random":
            return self.random_state_.standard_normal(size=(k, p))
        begin = time.perf_counter()
        if init == "pca":
            what = "principal components"
            L = PCA(n_components=k, random_state=self.random_state_).fit(X).components_
        else:
            what = "most discriminative components"
            L = LinearDiscriminantAnalysis(n_components=k).fit(X, codes).scalings_.T[:k]
        if self.verbose:
            sys.stdout.write(f"Finding {what}... done in {time.perf_counter() - begin:5.2f}s\n")
        return L

    def transform(self, X):
        """Return LX for every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        return X @ self.components_.T


def agreement(L, X, codes):
    """F of (2) and its gradient (3)."""
    Z, n = X @ L.T, len(X)
    F, gradient, column = 0.0, np.zeros_like(L), np.zeros(n)
    for rows in steps(slice(0, n), max(1, BLOCK // n)):
        here = np.arange(rows.start, rows.stop)
        P = -distance_matrix(Z[rows], Z, distance_named("sqeuclidean"))
        P[here - rows.start, here] = -np.inf
        P = softmax(P, axis=1)  # (1)
        same = np.where(codes[rows, None] == codes, P, 0.0)
        right = same.sum(axis=1)
        F += right.sum()
        M = same - P * right[:, None]
        gradient += Z[rows].T @ (M @ X) + (M @ Z).T @ X[rows]
        gradient -= (Z[rows] * M.sum(axis=1)[:, None]).T @ X[rows]
        column += M.sum(axis=0)
    gradient -= (Z * column[:, None]).T @ X
    return F, 2.0 * gradient


def negative(found):
    """What is minimised instead."""
    return -found[0], -found[1].ravel()
