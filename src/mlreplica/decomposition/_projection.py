"""Projections on orthogonal axes, and the Gaussian model behind them: what PCA's family shares"""

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.rows.axes import centred_product
from mlreplica.core.validation import FLOATS, new_rows


def lost_noise(dropped, n, count):
    """Root of the mean variance along what was dropped, where its square underflows; else 0."""
    largest = dropped.max(initial=0.0)
    if not 0.0 < largest < 1e-140:
        return 0.0
    return float(largest * np.linalg.norm(dropped / largest) / np.sqrt(max(n - 1.0, 1.0) * count))


def completed(V, r, k):
    """The first r rows of V, and k − r more at right angles, which depend on their span alone.

    Along those the rows do not spread, and a solver would leave them to rounding. Each is what is
    left of the unit vector of which most is left.
    """
    if r >= k:
        return V[:k]
    p = V.shape[1]
    V = np.vstack([V[:r], np.zeros((k - r, p))])
    left = 1.0 - (V * V).sum(axis=0)
    first = 1.0 - 1e-6 * np.arange(p) / p  # of equals, the first
    for i in range(r, k):
        v = np.zeros(p)
        v[np.argmax(left * first)] = 1.0
        for _ in range(2):  # the second time takes off what the first one rounded
            v -= (V[:i] @ v) @ V[:i]
        V[i] = v / np.linalg.norm(v)
        left -= V[i] ** 2
    return V


class GaussianProjection(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """transform, inverse_transform, covariance and likelihood, from axes, variances and noise."""

    scale_ = None

    def transform(self, X):
        """The components of new rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        T : ndarray of shape (n_samples, n_components)
            One row per row.
        """
        return self._project(new_rows(self, X, accept_sparse=["csr", "csc"]))

    def _project(self, X):
        """(x − m)ᵀv, by blocks of rows."""
        W = self.components_.T
        if self.scale_ is not None:
            W = W / self.scale_[:, None]
        if self.whiten:
            W = W / self._deviations()
        return centred_product(X, self.mean_, W)

    def _deviations(self):
        """√λ, not below rounding."""
        root = np.sqrt(self.explained_variance_)
        return np.maximum(root, np.finfo(root.dtype).eps)

    def inverse_transform(self, X):
        """The rows that have these components, and no others.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Components.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            Rows.
        """
        check_is_fitted(self)
        T = check_array(X, input_name="X", dtype=FLOATS)
        V = self.components_
        if self.whiten:
            V = self._deviations()[:, None] * V
        Z = T @ V
        return (Z if self.scale_ is None else Z * self.scale_) + self.mean_

    def get_covariance(self):
        """The covariance of the Gaussian model.

        Returns
        -------
        C : ndarray of shape (n_features, n_features)
        """
        check_is_fitted(self)
        V = self.components_
        above = np.maximum(self.explained_variance_ - self.noise_variance_, 0.0)
        C = (V.T * above) @ V
        C.flat[:: len(C) + 1] += self.noise_variance_
        return C if self.scale_ is None else C * self.scale_ * self.scale_[:, None]

    def get_precision(self):
        """The inverse of the covariance of the Gaussian model.

        Returns
        -------
        P : ndarray of shape (n_features, n_features)
        """
        check_is_fitted(self)
        if self.noise_variance_ == 0.0:
            return np.linalg.inv(self.get_covariance())
        P = self._precision()
        return P if self.scale_ is None else P / self.scale_ / self.scale_[:, None]

    def _precision(self):
        """Of scaled columns: the axes are orthonormal, so each variance is inverted by itself."""
        V, noise = self.components_, self.noise_variance_
        above = np.maximum(self.explained_variance_ - noise, 0.0)
        P = -(V.T * (above / ((above + noise) * noise))) @ V
        P.flat[:: len(P) + 1] += 1.0 / noise
        return P

    def score_samples(self, X):
        """The log-likelihood of each row under the Gaussian model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        log_likelihood : ndarray of shape (n_samples,)
        """
        Z = new_rows(self, X) - self.mean_
        log_det = 0.0
        if self.scale_ is not None:
            Z, log_det = Z / self.scale_, 2.0 * np.log(self.scale_).sum()
        V, (k, p), (along, noise) = self.components_, self.components_.shape, self._spread()
        T = Z @ V.T
        squares = ((T / along) ** 2).sum(axis=1)
        log_det += 2.0 * np.log(along).sum()
        if k < p:  # the rest of a row is noise
            squares += (((Z - T @ V) / noise) ** 2).sum(axis=1)
            log_det += 2.0 * (p - k) * np.log(noise)
        return -0.5 * (squares + p * np.log(2.0 * np.pi) + log_det)

    def _spread(self):
        """Standard deviations of the Gaussian model along the axes, and across them.

        They come from singular values, as variances of tiny rows underflow, and none is below the
        rounding of the largest: along axes without variance the likelihood stays finite.
        """
        lost = getattr(self, "_lost_noise", 0.0)
        n = self.n_samples_ if hasattr(self, "n_samples_") else self.n_samples_seen_
        along = self.singular_values_.astype(np.float64) / np.sqrt(max(n - 1.0, 1.0))
        least = np.finfo(self.components_.dtype).eps * along.max(initial=0.0)
        noise = max(np.sqrt(self.noise_variance_), lost, least, np.finfo(np.float64).tiny)
        return np.maximum(along, noise), noise

    def score(self, X, y=None):
        """The mean log-likelihood of the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        log_likelihood : float
        """
        return float(self.score_samples(X).mean())

    @property
    def _n_features_out(self):
        """Number of components, by which they are named."""
        return self.components_.shape[0]
