r"""Incremental PCA: components of rows that come in batches

Of all rows so far keep their number n, mean m and the k leading axes V with singular values σ. A
batch of b rows with mean m_b and centred rows Z_b makes the scatter of all

    S = Vᵀdiag(σ²)V + Z_bᵀZ_b + (n b / (n + b)) (m − m_b)(m − m_b)ᵀ                       (1)

which is the merging of moments with what was dropped set to zero. So the new σ and V are those of

    [ diag(σ) V ;  Z_b ;  √(n b / (n + b)) (m − m_b) ]                                    (2)

With k = p nothing is dropped and the result is that of PCA on all rows. Otherwise the error is that
of k axes at each batch: memory O(k p + b p) for any number of rows.

Ross, Lim, Lin, Yang, Incremental learning for robust visual tracking (2008).
"""

from contextlib import nullcontext
from numbers import Integral

import numpy as np
from scipy.linalg import lapack
from sklearn.base import BaseEstimator
from sklearn.utils import gen_batches

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, _fit_context
from mlreplica.core.compile.threads import one_blas_thread
from mlreplica.core.linear import checked_rows
from mlreplica.core.rows.axes import SAFE, eigenpairs, fixed_signs
from mlreplica.core.rows.walk import WIDE, is_sparse
from mlreplica.core.validation import FLOATS, ValidatedOnce, validate_data

from ._projection import GaussianProjection, lost_noise


class IncrementalPCA(ValidatedOnce, GaussianProjection, BaseEstimator):
    """Principal components of rows that come in batches: (2).

    Parameters
    ----------
    n_components : int, default=None
        Components to keep; None for min(rows of the first batch, columns).
    whiten : bool, default=False
        Scale the components to unit variance. The Gaussian model of the rows, and with it `score`,
        does not depend on this; in scikit-learn it does.
    copy : bool, default=True
        Kept for scikit-learn: X is never overwritten.
    batch_size : int, default=None
        Rows of a batch in `fit`; None for five times the number of columns.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        V; the entry of largest modulus of each row is positive.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        Variances along the components, and their shares of the total.
    singular_values_ : ndarray of shape (n_components,)
        σ.
    mean_, var_ : ndarray of shape (n_features,)
        Means and variances of the columns.
    noise_variance_ : float
        Mean variance along what was dropped of the last batch.
    n_components_, n_samples_seen_, batch_size_ : int
        Components kept, rows seen, rows of a batch.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> from mlreplica.datasets import load_digits
    >>> from mlreplica.decomposition import IncrementalPCA
    >>> X, _ = load_digits(return_X_y=True)
    >>> IncrementalPCA(n_components=7, batch_size=200).fit_transform(X).shape
    (1797, 7)
    """

    card = Card(
        page="incremental-pca",
        checks="projection",
        input="rows",
        use="components of more rows than memory holds",
        good="memory does not grow with the rows; exact if all components are kept",
        bad="with few components an approximation that depends on the order of the rows",
        time="O(p²) per row and O(p³) per batch",
        memory="O(p² + b p), b rows per batch",
        rescaling="needed unless all columns have one unit",
        instead="PCA if the rows fit in memory: it is exact and needs no copy",
    )

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "whiten": ["boolean"],
        "copy": ["boolean"],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(self, n_components=None, *, whiten=False, copy=True, batch_size=None):
        self.n_components = n_components
        self.whiten = whiten
        self.copy = copy
        self.batch_size = batch_size

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the components, batch by batch.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self : IncrementalPCA
        """
        X = checked_rows(self, X, accept_sparse=["csr", "csc", "lil"])
        X = X.tocsr() if is_sparse(X) else X
        self.__dict__.pop("components_", None)
        self.batch_size_ = 5 * X.shape[1] if self.batch_size is None else self.batch_size
        for rows in gen_batches(
            X.shape[0], self.batch_size_, min_batch_size=self.n_components or 0
        ):
            self._add(X[rows].toarray() if is_sparse(X) else X[rows])
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, check_input=True):
        """Add one batch.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.
        check_input : bool, default=True
            Check the rows.

        Returns
        -------
        self : IncrementalPCA
        """
        if check_input:
            if is_sparse(X):
                raise TypeError(
                    "IncrementalPCA.partial_fit does not support sparse input. Either convert data "
                    "to dense or use IncrementalPCA.fit to do so in batches."
                )
            X = validate_data(self, X, dtype=FLOATS, reset=not hasattr(self, "components_"))
        self._add(X)
        return self

    def _add(self, X):
        """(2) for a batch"""
        (b, p), first = X.shape, not hasattr(self, "components_")
        k = self._count(b, p, first)
        X = X.astype(np.float64, copy=False)
        if first:
            self._origin = X.sum(axis=0) / b
        Z = X - self._origin  # means of later batches keep the digits that are not the origin's
        m_b = Z.sum(axis=0) / b
        Z -= m_b
        sq = np.einsum("ij,ij->j", Z, Z)
        if first:
            n, mean, total, stack = b, m_b, sq, [Z]
        else:
            n, d = self.n_samples_seen_ + b, self._mean - m_b
            share = self.n_samples_seen_ * b / n
            mean = m_b + d * (self.n_samples_seen_ / n)
            total = self._squares + sq + share * d * d
            stack = [self._sigma[:, None] * self._axes, Z, np.sqrt(share) * d[None]]
        with one_blas_thread() if p < WIDE else nullcontext():  # threads would wait for each other
            sigma, V = leading(stack, k)
        self.n_samples_seen_, self.n_components_ = n, k
        self._mean, self._squares, self._sigma, self._axes = mean, total, sigma[:k], V[:k]
        variance, free = sigma**2 / max(n - 1, 1), total.sum()
        self.components_ = fixed_signs(V[:k])
        self.singular_values_, self.explained_variance_ = sigma[:k].copy(), variance[:k].copy()
        self.explained_variance_ratio_ = sigma[:k] ** 2 / free if free > 0 else np.zeros(k)
        self.mean_, self.var_ = self._origin + mean, total / n
        self.noise_variance_ = float(variance[k:].mean()) if k not in (b, p) else 0.0
        self._lost_noise = lost_noise(sigma[k:], n, len(sigma) - k) if k not in (b, p) else 0.0

    def _count(self, b, p, first):
        """How many components to keep, or why not."""
        if self.n_components is None:
            return min(b, p) if first else self.components_.shape[0]
        if self.n_components > p:
            raise ValueError(
                f"n_components={self.n_components} invalid for n_features={p}, need more rows than "
                "columns for IncrementalPCA processing"
            )
        if first and self.n_components > b:
            raise ValueError(
                f"n_components={self.n_components} must be less or equal to the batch number of "
                f"samples {b} for the first partial_fit call."
            )
        if not first and self.components_.shape[0] != self.n_components:
            raise ValueError(
                f"Number of input features has changed from {self.components_.shape[0]} to "
                f"{self.n_components} between calls to partial_fit! Try setting n_components to a "
                "fixed value."
            )
        return self.n_components

    def transform(self, X):
        """The components of new rows; sparse ones batch by batch.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        T : ndarray of shape (n_samples, n_components)
        """
        if is_sparse(X):
            X = X.tocsr()
            size = getattr(self, "batch_size_", 5 * X.shape[1])
            batches = gen_batches(X.shape[0], size, min_batch_size=self.n_components or 0)
            return np.vstack(
                [super(IncrementalPCA, self).transform(X[b].toarray()) for b in batches]
            )
        return super().transform(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def leading(stack, k):
    """Singular values and right vectors of stacked rows, by products where k of them are safe."""
    rows, p = sum(map(len, stack)), stack[0].shape[1]
    if rows > p:
        values, V = eigenpairs(sum(A.T @ A for A in stack))
        if values[k - 1] > SAFE * values[0] > 1e-280:
            return np.sqrt(np.maximum(values, 0.0)), V
    _, sigma, V, failed = lapack.dgesdd(np.vstack(stack), full_matrices=0)
    if failed:
        raise np.linalg.LinAlgError("the singular values of a batch did not converge.")
    return sigma, V
