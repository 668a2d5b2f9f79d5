r"""Kernel principal component analysis: the directions along which the features spread most

Let φ be the features of a kernel and φ̄ their mean over the rows. Look for unit vectors w_1, w_2, …,
each orthogonal to those before, along which the features have the largest variance:

    maximise over ‖w‖ = 1:   1/n Σ_i (wᵀ(φ(x_i) − φ̄))²                                  (1)

The rows φ(x_i) − φ̄ have the inner products

    K_c = J K J,    J = I − 1/n 11ᵀ,                                                     (2)

and a direction outside of their span has no variance, so w = Σ_i a_i (φ(x_i) − φ̄). With it (1) is
aᵀK_c²a/n at aᵀK_c a = 1: the eigenvalue problem

    K_c v = λ v,    a = v / √λ,    variance λ/n.                                         (3)

The components of row i are √λ v_i; those of a new point x follow from its kernel with the rows,

    wᵀ(φ(x) − φ̄) = Σ_i a_i (K(x_i, x) − m_i),    m_i = 1/n Σ_j K(x_i, x_j),              (4)

where the other two terms of the centring vanish since Σ_i a_i = 0. Back from components to rows
there is no formula; kernel ridge regression of the rows X on their components Z learns the way,

    x(z) = Σ_i d_i K(z_i, z),    (K(Z, Z) + αI) D = X.                                   (5)

For a few components of many rows K_c is never formed: `_lanczos` multiplies V by it as J(K(JV)). Of
few rows `_few_pairs` finds them. The features of the linear kernel are the columns themselves. If
these are fewer than the rows, not even K is formed: with Z = X − x̄ the v are left singular vectors
of Z, and λ = σ², since K_c = ZZᵀ.

Schölkopf, Smola, Müller, Nonlinear component analysis as a kernel eigenvalue problem (1998);
Bakır, Weston, Schölkopf, Learning to find pre-images (2004).
"""

from contextlib import nullcontext
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, check_random_state

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    Interval,
    StrOptions,
    _check_psd_eigenvalues,
    _fit_context,
)
from mlreplica.core.compile.threads import one_blas_thread
from mlreplica.core.formulas.kernel_algebra import is_sparse
from mlreplica.core.formulas.kernel_words import (
    WORDS,
    from_words,
    is_precomputed,
    square,
)
from mlreplica.core.formulas.kernels import Linear
from mlreplica.core.iterate import CallbackSupport, iterate
from mlreplica.core.linear import checked_rows
from mlreplica.core.validation import FLOATS, ValidatedOnce, new_rows, refuse_overflow
from mlreplica.kernel_ridge import KernelRidge

from ._few_pairs import few_eigenpairs
from ._lanczos import block_lanczos
from ._symmetric import symmetric_times

SMALL = 200  # rows up to which one thread of BLAS is faster than many
SHARE = 20  # "auto" takes Lanczos for fewer components than rows / SHARE
RESIDUAL = 1e-10  # tol=0: ‖K_c v − λ v‖ is at most so much of λ
BLOCK = 4  # vectors that a pass of Lanczos multiplies at once
OVERSAMPLING = 10  # vectors beyond n_components in the block of "randomized"
MAX_PASSES = 1000


class KernelPCA(
    ValidatedOnce, CallbackSupport, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    r"""Principal components of the features of a kernel.

    Parameters
    ----------
    n_components : int, default=None
        Number of components; None for all of non-zero variance.
    kernel : str, Kernel or callable, default="linear"
        A name as in :func:`sklearn.metrics.pairwise.pairwise_kernels`, "precomputed" (X is then the
        matrix itself), a kernel of :mod:`mlreplica.kernels`, or a function of two rows, which may
        be compiled by Numba.
    gamma : float, default=None
        γ of the kernels that have one; None for 1 / n_features.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        The constant in the polynomial and sigmoid kernels.
    kernel_params : dict, default=None
        More arguments of a function.
    alpha : float, default=1.0
        The penalty of the ridge regression that learns the inverse transform.
    fit_inverse_transform : bool, default=False
        Learn the way back from components to rows.
    eigen_solver : {"auto", "dense", "lanczos", "arpack", "randomized"}, default="auto"
        - "auto": the singular vectors of the columns for the linear kernel of fewer columns than
          rows; "lanczos" for fewer components than a twentieth of the rows; otherwise "dense".
        - "dense": all eigenvectors, by LAPACK.
        - "lanczos", "arpack": block Lanczos until the residual is at most `tol`; of a few hundred
          rows a single vector that proves its eigenvalues the largest, or else "dense". The second
          name is that of a library with another variant of the algorithm, to the same result.
        - "randomized": as many passes as `iterated_power` says, with a larger block. It takes
          the eigenvalues of largest modulus, so an indefinite kernel is an error.
    tol : float, default=0
        Block Lanczos stops when :math:`\lVert K_c v - \lambda v \rVert \le` tol λ for every
        component; 0 for 1e-10.
    max_iter : int, default=None
        The most passes of block Lanczos; None for 1000.
    iterated_power : int or "auto", default="auto"
        Passes of "randomized" after the first; "auto": 7 for less than a tenth of the
        components, otherwise 4.
    remove_zero_eig : bool, default=False
        Leave out components of variance zero, so that there may be fewer than `n_components`.
    random_state : int, RandomState instance or None, default=None
        The first block of vectors.
    copy_X : bool, default=True
        Keep a copy of X; False keeps X itself, which then must not change.
    n_jobs : int, default=None
        Kept for scikit-learn: all threads that the process may use are used.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        λ, in descending order: n times the variance along each component.
    eigenvectors_ : ndarray of shape (n_samples, n_components)
        v, of length 1; the entry of largest modulus is positive.
    dual_coef_ : ndarray of shape (n_samples, n_features)
        D of the inverse transform, if it was learned.
    X_transformed_fit_ : ndarray of shape (n_samples, n_components)
        The components of the training rows, if the inverse transform was learned.
    X_fit_ : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The training rows.
    kernel_ : Kernel
        K, every parameter a number.
    gamma_ : float
        γ: `gamma`, or 1 / n_features.
    n_iter_ : int
        Passes of block Lanczos; 1 where it was not needed.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> from mlreplica.datasets import load_digits
    >>> from mlreplica.decomposition import KernelPCA
    >>> X, _ = load_digits(return_X_y=True)
    >>> KernelPCA(n_components=7, kernel="rbf", gamma=1e-3).fit_transform(X).shape
    (1797, 7)
    """

    card = Card(
        page="kernel-pca",
        checks="kernel_rows",
        input="rows",
        use="a picture, or a few columns, of rows that lie along curves",
        good="finds curved directions; any kernel; can map back to X",
        bad="keeps every training row; the kernel must be chosen without a target",
        time="O(n² p) for the kernel, O(n²) per component and step",
        memory="O(n²)",
        rescaling="needed: kernels compare columns in their units",
        instead="scikit-learn's PCA for straight directions, Nystroem as input of a linear model",
    )

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "kernel": [StrOptions(WORDS), callable],
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_inverse_transform": ["boolean"],
        "eigen_solver": [StrOptions({"auto", "dense", "lanczos", "arpack", "randomized"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "iterated_power": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "remove_zero_eig": ["boolean"],
        "random_state": ["random_state"],
        "copy_X": ["boolean"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        n_components=None,
        *,
        kernel: Any = "linear",
        gamma=None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params=None,
        alpha=1.0,
        fit_inverse_transform=False,
        eigen_solver="auto",
        tol: float = 0,
        max_iter=None,
        iterated_power: int | str = "auto",
        remove_zero_eig=False,
        random_state=None,
        copy_X=True,
        n_jobs=None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.iterated_power = iterated_power
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state
        self.copy_X = copy_X
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; a matrix of shape (n_samples, n_samples) if the kernel is precomputed.
        y : None
            Ignored.

        Returns
        -------
        self : KernelPCA
            The fitted estimator.
        """
        if self.fit_inverse_transform and is_precomputed(self.kernel):
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")
        X = checked_rows(self, X, accept_sparse="csr")
        X = X.copy() if self.copy_X else X
        self.gamma_ = 1 / X.shape[1] if self.gamma is None else self.gamma
        words = self.gamma, self.degree, self.coef0, self.kernel_params
        self.kernel_ = from_words(self.kernel, *words).resolve(X)
        Z = X.astype(float, copy=False)
        if self._has_few_features(X):
            mean, k, self.n_iter_ = Z.mean(axis=0), self.n_components, 1
            V, sigma, _ = np.linalg.svd(Z - mean, full_matrices=False)
            found, m = (sigma[:k] ** 2, V[:, :k]), Z @ mean
        else:
            K = square(Z) if is_precomputed(self.kernel) else self.kernel_.block(Z, Z)
            m = symmetric_times(K, np.ones((1, len(K))))[0] / len(K)
            found = self._eigenpairs(X, K, m)
        vars(self).update(self._attributes(X, m, *found))
        if self.fit_inverse_transform:
            self._learn_the_way_back(X, self.eigenvectors_ * np.sqrt(self.eigenvalues_))
        return self

    def _has_few_features(self, X):
        """Whether K is that of fewer columns than rows, which have all components wanted."""
        dense = self.eigen_solver == "auto" and type(self.kernel_) is Linear and not is_sparse(X)
        return dense and (self.n_components or 0) <= X.shape[1] < X.shape[0]

    def _attributes(self, X, m, values, V):
        """The fitted attributes from the means of (4), eigenvalues and -vectors."""
        refuse_overflow(self, kernel_means=m, eigenvalues_=values)
        values = _check_psd_eigenvalues(values)
        order = np.argsort(-values, kind="stable")
        if self.remove_zero_eig or self.n_components is None:
            order = order[values[order] > 0.0]
        values, V = values[order], V[:, order]
        V *= np.sign(V[np.abs(V).argmax(axis=0), np.arange(len(order))])
        roots = np.sqrt(values)
        A = np.divide(V, roots, out=np.zeros_like(V), where=roots > 0.0)
        A -= A.mean(axis=0)
        found = {"eigenvalues_": values, "eigenvectors_": V, "_A": A, "_offset": m @ A}  # (4)
        return {name: value.astype(X.dtype) for name, value in found.items()} | {"X_fit_": X}

    def fit_transform(self, X, y=None):
        """Find the components and give those of the training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; a matrix of shape (n_samples, n_samples) if the kernel is precomputed.
        y : None
            Ignored.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            √λ v, one row a row.
        """
        self.fit(X)
        return self.eigenvectors_ * np.sqrt(self.eigenvalues_)

    def transform(self, X):
        """The components of new rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; if the kernel is precomputed, its values between these rows and those of `fit`.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            One row a row.
        """
        X = new_rows(self, X, accept_sparse="csr")
        return self.kernel_.times(X, self.X_fit_, self._A) - self._offset  # (4)

    def inverse_transform(self, X):
        """Rows whose components are about those given, by the regression learned in `fit`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Components.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            Rows.
        """
        if not self.fit_inverse_transform:
            raise NotFittedError(
                "The inverse transform was not learned; fit with fit_inverse_transform=True."
            )
        X = check_array(X, dtype=FLOATS)
        return self.kernel_.times(X, self.X_transformed_fit_, self.dual_coef_)

    def _eigenpairs(self, X, K, m):
        """Eigenvalues and -vectors of J K J by the solver that was chosen."""
        n = len(K)
        k = min(n, self.n_components or n)
        solver = self.eigen_solver
        if solver == "auto":
            solver = "lanczos" if k < n / SHARE else "dense"
        by, block, passes = np.asarray, BLOCK, None
        if solver == "randomized":
            by, block = np.abs, k + OVERSAMPLING
            passes = 1 + self._powers(k, n)
        most = block * passes if passes else max(40 * block, 4 * k)
        if solver == "dense" or n <= max(SMALL, 2 * most):
            self.n_iter_ = 1
            # threads of BLAS would wait for each other more than they work
            with one_blas_thread() if n <= SMALL else nullcontext():
                K_c = centred(K)
                found = few_eigenpairs(K_c, k) if solver in ("lanczos", "arpack") else None
                return found or dense(K_c, k, by)
        start = check_random_state(self.random_state).normal(size=(n, block))
        states = block_lanczos(lambda V: times_centred(K, V), start, k, most, by)
        options = {"max_iter": self.max_iter or MAX_PASSES, "tol": self.tol or RESIDUAL}
        if passes:
            options = {"max_iter": passes, "advice": None}
        with one_blas_thread():  # all other products of a pass are small
            state = iterate(
                self,
                states,
                watch="residual",
                unit="passes",
                publish=lambda s: self._attributes(X, m, s.eigenvalues, s.vectors()),
                **options,
            )
        return state.eigenvalues, state.vectors()

    def _powers(self, k, n):
        """Passes of "randomized" after the first"""
        if self.iterated_power == "auto":
            return 7 if k < 0.1 * n else 4
        return self.iterated_power

    def _learn_the_way_back(self, X, Z):
        """D of (5)"""
        if hasattr(X, "tocsr"):
            raise NotImplementedError("Inverse transform not implemented for sparse matrices!")
        way = KernelRidge(self.alpha, kernel=self.kernel_).fit(Z, X)
        self.X_transformed_fit_ = Z.astype(X.dtype)
        self.dual_coef_ = way.dual_coef_.astype(X.dtype)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags

    @property
    def _n_features_out(self):
        """Number of components, by which they are named."""
        return self.eigenvalues_.shape[0]


def times_centred(K, V):
    """J K J V"""
    W = symmetric_times(K, (V - V.mean(axis=0)).T)
    W -= W.mean(axis=1)[:, None]
    return W.T


def centred(K):
    """J K J"""
    K_c = K - K.mean(axis=0)
    K_c -= K_c.mean(axis=1)[:, None]
    return K_c


def dense(K_c, k, size):
    """The k eigenpairs of largest λ, or of largest |λ|; K_c is lost."""
    n = len(K_c)
    if k == n or size is np.abs:
        values, V = eigh(K_c, driver="evd", overwrite_a=True)
        best = np.argsort(-size(values))[:k]
        return values[best], V[:, best]
    return eigh(K_c, subset_by_index=(n - k, n - 1), overwrite_a=True)
