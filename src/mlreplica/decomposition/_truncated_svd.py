r"""Truncated SVD of large, sparse rows: latent semantic analysis

The rows are not centred, because a centred sparse matrix is not sparse any more. The k leading
triplets of X come from block Lanczos, with products that read each stored number once: equations
15 to 17 of `_bidiagonal` where every digit counts. A fixed, small number of passes is enough for a
good V_k, and 6 to 8 of `_lanczos` for XᵀX find it with one basis instead of two: half the digits of
small σ² are lost, but σ is taken from the triangle of T. With V_k (p, k) the projection is
T = X V_k, and

    ‖X − T V_kᵀ‖_F² = ‖X‖_F² − ‖T‖_F²                                                    (1)

is known without forming X − T V_kᵀ. `certificate_` bounds how much of it a better V_k could save.
"""

from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, StrOptions, _fit_context
from mlreplica.core.compile.threads import one_blas_thread
from mlreplica.core.iterate import CallbackSupport, iterate
from mlreplica.core.linear import checked_rows
from mlreplica.core.rows.axes import fixed_signs
from mlreplica.core.rows.products import Products, SparseTimes
from mlreplica.core.rows.walk import is_sparse
from mlreplica.core.validation import FLOATS, ValidatedOnce, new_rows

from ._bidiagonal import BLOCK, block_bidiagonal, bound
from ._lanczos import block_lanczos

DENSE = 500  # rows or columns up to which all singular values cost no more than a few
RESIDUAL, PASSES = 1e-10, 300


class TruncatedSVD(
    ValidatedOnce, CallbackSupport, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """The k leading singular triplets of rows that are not centred, sparse or dense.

    Parameters
    ----------
    n_components : int, default=2
        k.
    algorithm : {"randomized", "arpack", "lanczos"}, default="randomized"
        - "randomized": block Lanczos with as many products as `n_iter` power iterations.
        - "lanczos", "arpack": block Lanczos until the residual is at most `tol`. The second is the
          name of a library with another variant of the algorithm, to the same result.
    n_iter : int, default=5
        For "randomized": more iterations, more accuracy.
    n_oversamples : int, default=10
        Vectors of "randomized" beyond `n_components`.
    power_iteration_normalizer : {"auto", "QR", "LU", "none"}, default="auto"
        Kept for scikit-learn: blocks are always made orthonormal.
    random_state : int, RandomState instance or None, default=None
        The first block of vectors.
    tol : float, default=0.0
        Residual, relative to the largest singular value, at which Lanczos stops; 0 for 1e-10.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Right singular vectors; the entry of largest modulus is positive.
    singular_values_ : ndarray of shape (n_components,)
        σ_j.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        Variance of each column of the projection, and its share of that of all columns of X.
    error_ : float
        ‖X − T V_kᵀ‖_F of (1).
    certificate_ : float
        The square of `error_` is at most this much above that of the best rank-k matrix.
    n_iter_ : int
        Passes.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from mlreplica.decomposition import TruncatedSVD
    >>> X = sp.random_array((100, 50), density=0.1, rng=0, format="csr")
    >>> TruncatedSVD(3, random_state=0).fit_transform(X).shape
    (100, 3)
    """

    card = Card(
        page="truncated-svd",
        checks="components_only",
        input="rows",
        use="a few columns in the place of thousands of sparse ones, as of words",
        good="keeps X sparse; reports its error and how far it is from the best",
        bad="not centred: the first component is about the mean; components mix signs",
        time="O(stored numbers · k) per pass",
        memory="O((n + p) k)",
        rescaling="as for PCA; rows of words are scaled by tf-idf",
        instead="PCA for dense rows, NMF for components that only add",
    )

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "algorithm": [StrOptions({"arpack", "randomized", "lanczos"})],
        "n_iter": [Interval(Integral, 0, None, closed="left")],
        "n_oversamples": [Interval(Integral, 1, None, closed="left")],
        "power_iteration_normalizer": [StrOptions({"auto", "QR", "LU", "none"})],
        "random_state": ["random_state"],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components=2,
        *,
        algorithm="randomized",
        n_iter=5,
        n_oversamples=10,
        power_iteration_normalizer="auto",
        random_state=None,
        tol=0.0,
    ):
        self.n_components = n_components
        self.algorithm = algorithm
        self.n_iter = n_iter
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state
        self.tol = tol

    def fit(self, X, y=None):
        """Find the components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self : TruncatedSVD
        """
        self.fit_transform(X)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X, y=None):
        """Find the components and project the rows on them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        T : ndarray of shape (n_samples, n_components)
        """
        X = checked_rows(self, X, least=2, accept_sparse=["csr", "csc"])
        n, p = X.shape
        k = self.n_components
        if k > p:
            raise ValueError(f"n_components({k}) must be <= n_features({p}).")
        if self.algorithm == "arpack" and k >= min(n, p):
            raise ValueError(f"n_components must be less than min(X.shape) = {min(n, p)}, got {k}.")
        A, dtype = Products(X), X.dtype
        total = total_variance(X, A.norm_sq)
        with one_blas_thread():  # all products but those with X are small
            found = self._axes(A, min(k, n, p), lambda *s: attributes(A, total, *s, dtype)[0])
            learned, T = attributes(A, total, *found, dtype)
        vars(self).update(learned)
        return T.astype(dtype, copy=False)

    def _axes(self, A, k, published):
        """Vᵀ and the certificate, which `published` turns into attributes if interrupted."""
        randomized = self.algorithm == "randomized"
        block = BLOCK if randomized else max(BLOCK, min(k, 4 * BLOCK))
        # less than half the products of power iterations on k + n_oversamples vectors find as much
        basis = max(k + BLOCK, (1 + self.n_iter) * (k + self.n_oversamples) * 9 // 20)
        passes = -(-basis // block) if randomized else PASSES
        most = block * passes if randomized else max(20 * block, 3 * k + 3 * block)
        if most + block > min(A.shape) or (not randomized and min(A.shape) <= DENSE):
            _, sigma, Vt = np.linalg.svd(A.times(np.eye(A.shape[1])), full_matrices=False)
            self.n_iter_ = 1
            return Vt[:k], bound(A.norm_sq, sigma**2, np.zeros((1, 1)), k)
        start = check_random_state(self.random_state).normal(size=(A.shape[1], block))
        if randomized:
            states = block_lanczos(lambda V: A.back(A.times(V)), start, k, most)
            axes = lambda s: (s.vectors().T, bound(A.norm_sq, s.all, s.leak, k))
        else:
            states = block_bidiagonal(A, start, k, most)
            axes = lambda s: (s.vectors()[1], s.bound)
        state = iterate(
            self,
            states,
            max_iter=passes,
            tol=None if randomized else self.tol or RESIDUAL,
            watch="residual",
            unit="passes",
            advice=None if randomized else "raise tol",
            publish=lambda s: published(*axes(s)),
        )
        return axes(state)

    def transform(self, X):
        """Project new rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        T : ndarray of shape (n_samples, n_components)
        """
        X = new_rows(self, X, accept_sparse=["csr", "csc"])
        if is_sparse(X) and X.nnz > 1 << 16:
            return SparseTimes(X.tocsr())(self.components_.T).astype(X.dtype, copy=False)
        return np.asarray(X @ self.components_.T)

    def inverse_transform(self, X):
        """The rows that have these components, and no others.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Components.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        return check_array(X, dtype=FLOATS) @ self.components_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self):
        """Number of components, by which they are named."""
        return self.components_.shape[0]


def attributes(A, total, Vt, certificate, dtype):
    """What a fit publishes, and the projection of the rows, by (1)."""
    T = A.times(np.ascontiguousarray(Vt.T))
    _, sigma, Y = np.linalg.svd(np.linalg.qr(T, mode="r"))  # T Yᵀ has orthogonal columns, of σ
    V = Y @ Vt
    signed = fixed_signs(V)
    V, T = signed, T @ (Y.T * np.sign((signed * V).sum(axis=1)))
    variance = T.var(axis=0)
    share = variance / total if total > 0 else np.zeros_like(variance)
    learned = {
        "components_": V.astype(dtype),
        "singular_values_": sigma.astype(dtype),
        "explained_variance_": variance.astype(dtype),
        "explained_variance_ratio_": share.astype(dtype),
        "error_": float(np.sqrt(max(A.norm_sq - sigma @ sigma, 0.0))),
        "certificate_": certificate,
    }
    return learned, T


def total_variance(X, norm_sq):
    """The sum of the variances of the columns."""
    if is_sparse(X):
        mean = (np.ones(X.shape[0]) @ X) / X.shape[0]
        return max(norm_sq / X.shape[0] - float(mean @ mean), 0.0)
    return float(X.var(axis=0, dtype=np.float64).sum())
