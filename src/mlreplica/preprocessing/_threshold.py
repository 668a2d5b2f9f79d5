"""Binarizing: 1 above a threshold, else 0"""

from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_array

from mlreplica.core.card import Card
from mlreplica.core.compat import _align_api_if_sparse, _fit_context, validate_params
from mlreplica.core.compile.threads import n_threads, run, split
from mlreplica.core.rows.walk import is_sparse
from mlreplica.core.validation import FLOATS, ValidatedOnce, new_rows, validate_data

from ._columns import THREAD, rows_to_fit


def above(X, threshold, copy):
    """1 where X is above the threshold, else 0."""
    if is_sparse(X):
        if threshold < 0:
            raise ValueError("Cannot binarize a sparse matrix with threshold < 0")
        X = X.copy() if copy else X
        X.data = (threshold < X.data).astype(X.dtype)
        X.eliminate_zeros()
        return _align_api_if_sparse(X) if copy else X
    out = X if not copy and X.flags.writeable else np.empty_like(X)
    rows = split(len(X), n_threads(), least=1 + THREAD // max(1, X.shape[1]))
    run(lambda s: np.greater(X[s], threshold, out=out[s], casting="unsafe"), rows)
    return out


class Binarizer(ValidatedOnce, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Values above a threshold become 1, all others 0.

    Parameters
    ----------
    threshold : float, default=0.0
        What is above becomes 1; at least 0 for sparse rows.
    copy : bool, default=True
        Leave X as it is; otherwise work in place where possible.

    Attributes
    ----------
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.

    Examples
    --------
    >>> from mlreplica.preprocessing import Binarizer
    >>> Binarizer().fit_transform([[1.0, -1.0, 2.0], [2.0, 0.0, 0.0]])
    array([[1., 0., 1.],
           [1., 0., 0.]])
    """

    card = Card(
        page="binning-splines",
        checks="only_columns",
        input="rows",
        use="counts of which only presence matters, as words before BernoulliNB",
        good="nothing is learned; sparse rows stay sparse",
        bad="drops everything but one bit",
        time="O(n p)",
        memory="O(1) beside the result",
        rescaling="not needed if the threshold is in the units of the column",
        instead="KBinsDiscretizer for more than two bins",
    )
    _parameter_constraints: dict = {"threshold": [Real], "copy": ["boolean"]}

    def __init__(self, *, threshold=0.0, copy=True):
        self.threshold = threshold
        self.copy = copy

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.sparse = True
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Only validate: nothing is learned.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self : Binarizer
        """
        rows_to_fit(self, X, accept_sparse="csr", ensure_all_finite=True, dtype="numeric")
        return self

    def transform(self, X, copy=None):
        """Compare with the threshold.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        copy : bool or None, default=None
            Instead of the parameter of the constructor.

        Returns
        -------
        Z : {ndarray, sparse matrix} of shape (n_samples, n_features)
        """
        copy = self.copy if copy is None else copy
        if type(X) is np.ndarray and X.dtype in FLOATS:
            X = new_rows(self, X)
        else:
            X = validate_data(self, X, accept_sparse=("csr", "csc"), reset=False)
        return above(X, self.threshold, copy)


@validate_params(
    {"X": ["array-like", "sparse matrix"], "threshold": [Real], "copy": ["boolean"]},
    prefer_skip_nested_validation=True,
)
def binarize(X, *, threshold=0.0, copy=True):
    """1 where X is above a threshold, else 0.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    threshold : float, default=0.0
        What is above becomes 1; at least 0 for sparse rows.
    copy : bool, default=True
        Leave X as it is.

    Returns
    -------
    Z : {ndarray, sparse matrix} of shape (n_samples, n_features)

    Examples
    --------
    >>> from mlreplica.preprocessing import binarize
    >>> binarize([[0.4, 0.6, 0.5], [0.6, 0.1, 0.2]], threshold=0.5)
    array([[0., 1., 0.],
           [1., 0., 0.]])
    """
    return above(check_array(X, accept_sparse=["csr", "csc"]), threshold, copy)
