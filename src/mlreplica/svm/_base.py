"""What all support vector machines with a kernel have in common: input, kernel, support vectors"""

import warnings
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from mlreplica.core.compat import (
    Interval,
    StrOptions,
    _align_api_if_sparse,
    _num_samples,
)
from mlreplica.core.iterate import CallbackSupport, speaks
from mlreplica.core.validation import new_rows, validate_data
from mlreplica.kernels import Constant, Kernel, Precomputed, get, resolve_gamma, squared_norms

from ._rows import KernelRows
from ._scores import Support, all_of_them

DENSE = 1 << 22  # entries up to which sparse data are made dense for training
ENDLESS = 10**9  # blocks: the solvers themselves know when to end
UNSCALED = 1e4  # ratio of the columns' standard deviations above which a warning is due


class KernelMachine(CallbackSupport, BaseEstimator):
    """Base of SVC, NuSVC, SVR, NuSVR and OneClassSVM.

    A subclass calls `_read`, solves its dual over `self._gram(X)`, and publishes `support_`,
    `_n_support`, `_dual_coef_` (one row a machine or, for pairs of classes, as scikit-learn lays
    them out) and `_intercept_` through `_publish`.
    """

    _parameter_constraints: dict = {
        "kernel": [StrOptions({"linear", "poly", "rbf", "sigmoid", "precomputed"}), callable],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "shrinking": ["boolean"],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "verbose": ["verbose"],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
    }

    def _read(self, X, y=None):
        """X and y validated, and `self._kernel` made; X is a Gram matrix if that is precomputed.

        A function of two matrices is called once, with all of X, whatever that may be; a kernel
        object and a function compiled by Numba see validated numbers.
        """
        self._sparse = sp.issparse(X) and not self._is_function
        if sp.issparse(X) and self._is_precomputed:
            raise TypeError("Sparse precomputed kernels are not supported.")
        if self._is_function:
            check_consistent_length(X, y)
            self._X_fit, self._gamma, self._kernel = X, 0.0, Precomputed()
            self.shape_fit_ = X.shape if hasattr(X, "shape") else (_num_samples(X),)
            return self._function_gram(X), y
        checks = {"dtype": np.float64, "order": "C", "accept_sparse": "csr"}
        if y is None:
            X = validate_data(self, X, accept_large_sparse=False, **checks)
        else:
            X, y = validate_data(self, X, y, accept_large_sparse=False, **checks)
        if self._is_precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                "Precomputed matrix must be a square matrix."
                f" Input is a {X.shape[0]}x{X.shape[1]} matrix."
            )
        self.shape_fit_ = X.shape
        if not (self._is_precomputed or np.isfinite(squared_norms(X)).all()):
            raise ValueError(
                "The dual coefficients or intercepts are not finite, for the squares of X overflow."
                " The input data may contain large values and need to be preprocessed."
            )
        self._kernel = self._make_kernel(dense_if_small(X))
        if not (self._is_precomputed or self._sparse):
            warn_if_unscaled(X)
        return X, y

    @property
    def _is_function(self):
        """Whether the kernel is a plain function of two matrices."""
        return (
            callable(self.kernel)
            and not isinstance(self.kernel, Kernel)
            and not hasattr(self.kernel, "py_func")
        )

    @property
    def _is_precomputed(self):
        return isinstance(self.kernel, Precomputed) or (
            isinstance(self.kernel, str) and self.kernel == "precomputed"
        )

    def _make_kernel(self, X):
        """The kernel object that the parameters describe, γ being a number; sets `_gamma`."""
        self._gamma = 0.0 if self._is_precomputed else resolve_gamma(self.gamma, X)
        if not isinstance(self.kernel, str):
            return get(self.kernel).resolve(X)
        if self.kernel == "poly":
            if self.degree == 0:
                return Constant(1.0)
            return get("poly", degree=self.degree, gamma=self._gamma, coef0=self.coef0)
        if self.kernel == "sigmoid":
            return get("sigmoid", gamma=self._gamma, coef0=self.coef0)
        return get("rbf", gamma=self._gamma) if self.kernel == "rbf" else get(self.kernel)

    def _function_gram(self, X):
        """The user's kernel between X and the training data."""
        K = self.kernel(X, self._X_fit)
        K = np.asarray(K.toarray() if sp.issparse(K) else K, dtype=np.float64, order="C")
        if K.ndim != 2 or K.shape[1] != self.shape_fit_[0]:
            raise ValueError(
                f"X.shape[1] = {K.shape[-1]} should be equal to {self.shape_fit_[0]}, "
                "the number of samples at training time"
            )
        if X is self._X_fit and K.shape[0] != K.shape[1]:
            raise ValueError("X.shape[0] should be equal to X.shape[1]")
        return K

    def _gram(self, X, least):
        """The rows of K(X, X)."""
        return KernelRows(self._kernel, dense_if_small(X), self.cache_size, least=least)

    @property
    def _watched(self):
        """Whether callbacks or `verbose` look at the solver's states."""
        return bool(getattr(self, "_skl_callbacks", None)) or speaks(self)

    @property
    def _options(self):
        """The solver's options; `max_pairs` is None for its own limit."""
        most = None if self.max_iter == -1 else self.max_iter
        return {"tol": self.tol, "max_pairs": most, "shrinking": self.shrinking}

    def _measure(self, violation, floor):
        """Set `kkt_residual_` and `fit_status_`.

        `floor` is what rounding does to the violation: less cannot be asked for.
        """
        self.kkt_residual_ = float(violation)
        self.fit_status_ = int(violation > max(self.tol, floor))

    def _warn_if_early(self):
        """Warn if the solver had to stop early."""
        if self.fit_status_:
            warnings.warn(
                f"Solver terminated early (max_iter={self.max_iter}).  Consider pre-processing "
                "your data with StandardScaler or MinMaxScaler. The optimality conditions are "
                f"violated by {self.kkt_residual_:.1e} > tol = {self.tol:.1e}.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _publish(self, X, support, n_support, coef, intercept):
        """Support vectors and coefficients as attributes."""
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            raise ValueError(
                "The dual coefficients or intercepts are not finite."
                " The input data may contain large values and need to be"
                " preprocessed."
            )
        self.support_ = support.astype(np.int32)
        self._n_support = np.asarray(n_support, dtype=np.int32)
        is_gram = isinstance(self._kernel, Precomputed)
        self.support_vectors_ = np.empty((0, 0)) if is_gram else X[support]
        self._dual_coef_ = _align_api_if_sparse(sp.csr_array(coef)) if self._sparse else coef
        self._intercept_ = intercept
        self.dual_coef_, self.intercept_ = self._dual_coef_, intercept.copy()
        self._support = self._prepared()

    def _prepared(self):
        """The support vectors as predictions need them; kept, but not pickled."""
        is_gram = isinstance(self._kernel, Precomputed)
        rows = self.support_ if is_gram else self.support_vectors_
        return Support(self._kernel, rows, self._parts())

    def _parts(self):
        """Which support vectors have a part in which machines"""
        return all_of_them(len(self.support_), len(self._intercept_))

    def _new_rows(self, X):
        """X as a fitted model takes it, as rows of the Gram matrix if the kernel is a function."""
        check_is_fitted(self)
        if self._is_function:
            X = self._function_gram(X)
        else:
            X = new_rows(self, X, accept_sparse="csr")
            if sp.issparse(X):
                X = X.astype(np.float64, copy=False)
            else:
                X = np.ascontiguousarray(X, dtype=np.float64)
        if self._sparse:
            X = X if sp.issparse(X) else _align_api_if_sparse(sp.csr_array(X))
        elif sp.issparse(X):
            raise ValueError(
                f"cannot use sparse input in {type(self).__name__!r} trained on dense data"
            )
        if self._is_precomputed and X.shape[1] != self.shape_fit_[0]:
            raise ValueError(
                f"X.shape[1] = {X.shape[1]} should be equal to {self.shape_fit_[0]}, "
                "the number of samples at training time"
            )
        sv = self.support_vectors_
        if not self._sparse and sv.size > 0 and self.n_support_.sum() != sv.shape[0]:
            raise ValueError(f"The internal representation of {type(self).__name__} was altered")
        return X

    def _raw_scores(self, X):
        """Σ_j β_j K(x, x_j) without b for each machine, for rows that `_new_rows` has seen."""
        coef = self._dual_coef_.toarray() if self._sparse else self._dual_coef_
        return self._prepare().scores(X, coef, len(self._intercept_))

    def _sums(self, X):
        """Σ_j β_j K(x, x_j) of the one machine that there is, for new rows."""
        return self._raw_scores(self._new_rows(X))[:, 0]

    def _prepare(self):
        if "_support" not in self.__dict__:  # unpickled
            self._support = self._prepared()
        return self._support

    def __getstate__(self):
        return {k: v for k, v in super().__getstate__().items() if k != "_support"}

    @property
    def coef_(self):
        """w, if the kernel is linear.

        Returns
        -------
        ndarray or CSR array of shape (n_machines, n_features)
        """
        if not (isinstance(self.kernel, str) and self.kernel == "linear"):
            raise AttributeError("coef_ is only available when using a linear kernel")
        coef = self._primal_coef()
        (coef.data if sp.issparse(coef) else coef).flags.writeable = False
        return coef

    def _primal_coef(self):
        return safe_sparse_dot(self._dual_coef_, self.support_vectors_)

    @property
    def n_support_(self):
        """Number of support vectors, of each class if there are classes."""
        try:
            check_is_fitted(self)
        except NotFittedError:
            raise AttributeError from None
        return self._n_support

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed
        tags.input_tags.sparse = not self._is_precomputed
        return tags


def dense_if_small(X):
    """X as an array where that is not large: products are then faster, and as of dense data."""
    return X.toarray() if sp.issparse(X) and X.shape[0] * X.shape[1] <= DENSE else X


def warn_if_unscaled(X):
    """Kernels weigh all columns alike: say so if one is larger than another by far."""
    spread = X.std(axis=0)
    spread = np.where(spread > 0.0, spread, np.nan)
    if X.shape[1] > 1 and not np.isnan(spread).all():
        low, high = int(np.nanargmin(spread)), int(np.nanargmax(spread))
        if spread[high] > UNSCALED * spread[low]:
            warnings.warn(
                f"column {high} varies {spread[high] / spread[low]:.0e} times as much as column "
                f"{low}, which the kernel will hardly see; scale X, with StandardScaler for "
                "instance.",
                UserWarning,
                stacklevel=5,
            )


def row_weights(sample_weight, X, n):
    """A weight a row, 0 where it is to be left out."""
    if X.shape[0] != n:
        raise ValueError(
            f"X and y have incompatible shapes.\nX has {X.shape[0]} samples, but y has {n}."
        )
    if sample_weight is None:
        return np.ones(n)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n,):
        raise ValueError(
            f"sample_weight and X have incompatible shapes: {weights.shape} vs {X.shape}\n"
            "Note: Sparse matrices cannot be indexed w/"
            "boolean masks (use `indices=True` in CV)."
        )
    if not (weights > 0.0).any():
        raise ValueError("Invalid input - all samples have zero or negative weights.")
    return np.maximum(weights, 0.0)
