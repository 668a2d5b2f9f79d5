r"""Centring in the space of a kernel

φ(x) − φ̄ has the inner products, with k_ij = φ(x_i)ᵀφ(x_j) and means over the training rows,

    k̃(x, x_j) = k(x, x_j) − mean_i k(x, x_i) − mean_i k(x_i, x_j) + mean_ij k(x_i, x_j)
"""

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.validation import FLOATS, new_rows, validate_data


def square_data():
    """A kernel matrix, for the warm-up."""
    X = np.arange(12.0).reshape(6, 2)
    return (X @ X.T,)


class KernelCenterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Centre a kernel matrix as if its features had been centred.

    Attributes
    ----------
    K_fit_rows_ : ndarray of shape (n_samples,)
        Mean of each column of the training matrix.
    K_fit_all_ : float
        Mean of all its entries.
    n_features_in_ : int
        Columns of K.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if K has them.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.preprocessing import KernelCenterer
    >>> X = np.array([[1.0, -2.0, 2.0], [-2.0, 1.0, 3.0], [4.0, 1.0, -2.0]])
    >>> KernelCenterer().fit_transform(X @ X.T)
    array([[  5.,   0.,  -5.],
           [  0.,  14., -14.],
           [ -5., -14.,  19.]])
    """

    card = Card(
        page="kernel-pca",
        checks="kernel_means",
        input="gram",
        data=square_data,
        use="a kernel matrix before a method that assumes centred features",
        good="centres features that are never computed",
        bad="needs the kernel of new rows with all training rows",
        time="O(n²)",
        memory="O(n) beside the result",
        rescaling="as for the kernel",
        instead="KernelPCA, which centres by itself",
    )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, K, y=None):
        """Learn the means of a kernel matrix.

        Parameters
        ----------
        K : array-like of shape (n_samples, n_samples)
            Kernel of the training rows with each other.
        y : None
            Ignored.

        Returns
        -------
        self : KernelCenterer
        """
        K = validate_data(self, K, dtype=FLOATS)
        if K.shape[0] != K.shape[1]:
            raise ValueError(
                f"Kernel matrix must be a square matrix. Input is a {K.shape[0]}x{K.shape[1]} "
                "matrix."
            )
        self.K_fit_rows_ = K.sum(axis=0) / len(K)
        self.K_fit_all_ = self.K_fit_rows_.sum() / len(K)
        return self

    def transform(self, K, copy=True):
        """Centre the kernel of rows with the training rows.

        Parameters
        ----------
        K : array-like of shape (n_samples1, n_samples2)
            Kernel of new rows with the training rows.
        copy : bool, default=True
            Leave K as it is.

        Returns
        -------
        K : ndarray of shape (n_samples1, n_samples2)
        """
        check_is_fitted(self)
        K = new_rows(self, K)
        row = K.sum(axis=1, keepdims=True) / len(self.K_fit_rows_) - self.K_fit_all_
        out = np.empty_like(K) if copy or not K.flags.writeable else K
        np.subtract(K, self.K_fit_rows_, out=out)
        return np.subtract(out, row, out=out)

    @property
    def _n_features_out(self):
        """Columns that come out, for their names."""
        return self.n_features_in_
