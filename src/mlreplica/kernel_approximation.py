r"""Kernel approximation: a few explicit features whose inner products are nearly the kernel

A linear model on m features of n rows costs O(nm²); the kernel matrix alone costs O(n²). So look
for z(x) of m numbers with z(u)ᵀz(v) ≈ K(u, v).

**Nyström.** Take m of the rows, x_1 … x_m, with the matrix G = K(x_i, x_j) and k(x) the vector of
the K(x_i, x). Project φ(x) orthogonally on the span of φ(x_1) … φ(x_m): the coordinates are

    z(x) = G^{−1/2} k(x),    z(u)ᵀz(v) = k(u)ᵀ G⁺ k(v),                                     (1)

exact if u or v is one of the m rows, and never too large on the diagonal:

    K(x, x) − ‖z(x)‖² = min_c ‖φ(x) − Σ_i c_i φ(x_i)‖² ≥ 0.                                 (2)

**Random Fourier features.** The Gaussian kernel is the mean of waves (Bochner): with normal ω of
variance 2γ in each coordinate and β uniform on [0, 2π],

    exp(−γ‖u − v‖²) = E cos(ωᵀ(u − v)) = E 2 cos(ωᵀu + β) cos(ωᵀv + β),                     (3)

so m draws give features whose inner product has the kernel as its mean,

    z_j(x) = √(2/m) cos(ω_jᵀx + β_j),                                                       (4)

and a standard deviation of ((1 + K(2u, 2v)/2 − K(u, v)²)/m)^½.

Williams, Seeger, Using the Nyström method to speed up kernel machines (2001); Rahimi, Recht, Random
features for large-scale kernel machines (2007).
"""

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.metrics.pairwise import KERNEL_PARAMS
from sklearn.utils import check_random_state

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    Interval,
    StrOptions,
    _fit_context,
)
from mlreplica.core.compile.threads import run, split
from mlreplica.core.formulas.cos import cos_in_place
from mlreplica.core.formulas.kernel_algebra import resolve_gamma
from mlreplica.core.formulas.kernel_words import (
    WORDS,
    from_words,
    is_precomputed,
    square,
)
from mlreplica.core.validation import FLOATS, new_rows, refuse_overflow, validate_data

__all__ = ["Nystroem", "RBFSampler"]

BLOCK = 1 << 17  # numbers of z that one task finishes while they are in the cache


class Features(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What both have in common: sparse input, and features in the precision of the rows."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class Nystroem(Features):
    """Features of any kernel, from a random sample of the rows.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        A name as in :func:`sklearn.metrics.pairwise.pairwise_kernels`, "precomputed" (X is then the
        matrix itself), a kernel of :mod:`mlreplica.kernels`, or a function of two rows, which may
        be compiled by Numba.
    gamma : float, default=None
        γ of the kernels that have one; None for 1 / n_features (1 for "chi2").
    coef0 : float, default=None
        The constant in the polynomial and sigmoid kernels; None for 1.
    degree : float, default=None
        Degree of the polynomial kernel; None for 3.
    kernel_params : dict, default=None
        More arguments of the kernel.
    n_components : int, default=100
        Number of rows in the sample, and of features.
    random_state : int, RandomState instance or None, default=None
        The sample.
    n_jobs : int, default=None
        Kept for scikit-learn: all threads that the process may use are used.

    Attributes
    ----------
    components_ : {ndarray, sparse matrix} of shape (n_components, n_features)
        The sample.
    component_indices_ : ndarray of shape (n_components,)
        Where it is in the training rows.
    normalization_ : ndarray of shape (n_components, n_components)
        G^(−1/2), the root of the pseudo-inverse of the kernel between the rows of the sample.
    kernel_ : Kernel
        K, every parameter a number.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.kernel_approximation import Nystroem
    >>> from mlreplica.kernels import RBF
    >>> X = np.random.default_rng(0).uniform(size=(500, 2))
    >>> Z = Nystroem(gamma=0.5, n_components=50, random_state=0).fit_transform(X)
    >>> bool(np.abs(Z @ Z.T - RBF(0.5)(X)).max() < 1e-6)
    True
    """

    card = Card(
        page="feature-maps",
        checks="components",
        input="rows",
        use="columns in which a linear model acts like a kernel machine",
        good="any kernel; adapts to the data, so fewer columns suffice than at random",
        bad="approximate; m components must be chosen",
        time="O(n m p + m³)",
        memory="O(n m)",
        rescaling="needed: kernels compare columns in their units",
        instead="RBFSampler if m is large, SVC or KernelRidge if n is small",
    )

    _parameter_constraints = {
        "kernel": [StrOptions(WORDS), callable],
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "coef0": [Interval(Real, None, None, closed="neither"), None],
        "degree": [Interval(Real, 1, None, closed="left"), None],
        "kernel_params": [dict, None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma=None,
        coef0=None,
        degree=None,
        kernel_params=None,
        n_components=100,
        random_state=None,
        n_jobs=None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Draw the sample and find G^(−1/2).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : None
            Ignored.

        Returns
        -------
        self : Nystroem
            The fitted estimator.
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS)
        n = X.shape[0]
        m = min(n, self.n_components)
        if m < self.n_components:
            warnings.warn(
                "n_components > n_samples. This is not possible.\n"
                "n_components was set to n_samples, which results"
                " in inefficient evaluation of the full kernel.",
                stacklevel=3,
            )
        self.kernel_ = self._kernel().resolve(X)
        sample = check_random_state(self.random_state).permutation(n)[:m]
        basis = X[sample]
        if is_precomputed(self.kernel):
            G = square(X)[np.ix_(sample, sample)].astype(float)
        else:
            exact = basis.astype(float, copy=False)
            G = self.kernel_.block(exact, exact)
        self.normalization_ = inverse_root(G).astype(X.dtype)
        self.components_, self.component_indices_ = basis, sample
        refuse_overflow(self, features=self._features(X[[farthest(X)]]))
        self._n_features_out = m
        return self

    def transform(self, X):
        """The features of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; if the kernel is precomputed, its values between these rows and those of `fit`.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            z of every row.
        """
        return self._features(new_rows(self, X, accept_sparse="csr"))

    def _features(self, X):
        """The features of checked rows."""
        if is_precomputed(self.kernel):
            X = X[:, self.component_indices_]
        return self.kernel_.times(X, self.components_, self.normalization_)  # (1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags

    def _kernel(self):
        """The kernel; a parameter by name goes before one in `kernel_params`."""
        by_name = {"gamma": self.gamma, "coef0": self.coef0, "degree": self.degree}
        by_name = {name: value for name, value in by_name.items() if value is not None}
        if callable(self.kernel) or is_precomputed(self.kernel):
            if by_name:
                raise ValueError(
                    "Don't pass gamma, coef0 or degree to Nystroem if using a callable or "
                    "precomputed kernel"
                )
            return from_words(self.kernel, params=self.kernel_params)
        given = {**(self.kernel_params or {}), **by_name}
        known = KERNEL_PARAMS[self.kernel]
        return from_words(self.kernel, **{name: v for name, v in given.items() if name in known})


def farthest(X):
    """The row with the largest entry."""
    size = abs(X).max(axis=1)
    return int((size.toarray() if sp.issparse(size) else size).argmax())


def inverse_root(G):
    """G^(−1/2) on the range of G; a negative eigenvalue λ keeps its sign, ∓1/√|λ|"""
    values, V = eigh(G, driver="evd")
    size = np.abs(values)
    roots = np.sqrt(size)
    kept = size > len(G) * np.finfo(float).eps * size.max()
    scale = np.divide(np.sign(values), roots, out=np.zeros_like(roots), where=kept)
    return (V * scale) @ V.T


class RBFSampler(Features):
    r"""Random Fourier features of the Gaussian kernel.

    Parameters
    ----------
    gamma : "scale" or float, default=1.0
        γ in :math:`\exp(-\gamma \lVert u - v \rVert^2)`; "scale" for 1 / (n_features · variance
        of X).
    n_components : int, default=100
        Number of features.
    random_state : int, RandomState instance or None, default=None
        The waves.

    Attributes
    ----------
    random_weights_ : ndarray of shape (n_features, n_components)
        ω, a column a wave.
    random_offset_ : ndarray of shape (n_components,)
        β.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.kernel_approximation import RBFSampler
    >>> from mlreplica.kernels import RBF
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> Z = RBFSampler(gamma=0.5, n_components=10_000, random_state=0).fit_transform(X)
    >>> bool(np.abs(Z @ Z.T - RBF(0.5)(X)).max() < 0.05)
    True
    """

    card = Nystroem.card.but(
        checks="random_features",
        good="needs one look at the shape of X; cost linear in everything",
        bad="only the RBF kernel; needs more columns than Nystroem",
        time="O(n m p)",
        instead="Nystroem for fewer columns or other kernels",
    )

    _parameter_constraints = {
        "gamma": [StrOptions({"scale"}), Interval(Real, 0.0, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(self, *, gamma: float | str = 1.0, n_components=100, random_state=None):
        self.gamma = gamma
        self.n_components = n_components
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Draw the waves; of X only the width counts, and the variance for gamma="scale".

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : None
            Ignored.

        Returns
        -------
        self : RBFSampler
            The fitted estimator.
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS)
        rng = check_random_state(self.random_state)
        self._gamma = resolve_gamma(self.gamma, X)
        weights = (2.0 * self._gamma) ** 0.5 * rng.normal(size=(X.shape[1], self.n_components))
        offset = rng.uniform(0.0, 2.0 * np.pi, size=self.n_components)
        self.random_weights_, self.random_offset_ = (a.astype(X.dtype) for a in (weights, offset))
        most = max(X.max(), -X.min()) * np.abs(self.random_weights_).sum(axis=0)
        refuse_overflow(self, random_weights_=self.random_weights_, **{"X @ random_weights_": most})
        self._n_features_out = self.n_components
        return self

    def transform(self, X):
        """The features of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            z of every row.
        """
        X = new_rows(self, X, accept_sparse="csr")
        W, beta = self.random_weights_, self.random_offset_
        n, m = X.shape[0], W.shape[1]
        Z = np.empty((n, m), dtype=np.result_type(X.dtype, W.dtype))
        scale = Z.dtype.type((2.0 / m) ** 0.5)

        def finish(rows):
            z = Z[rows]
            z[...] = X[rows] @ W
            z += beta
            cos_in_place(z)
            z *= scale  # (4)

        run(finish, split(n, -(-n * m // BLOCK)))
        return Z
