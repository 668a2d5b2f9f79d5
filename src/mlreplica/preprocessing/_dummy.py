"""A column of ones beside X"""

from numbers import Real

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from mlreplica.core.compat import _align_api_if_sparse, validate_params
from mlreplica.core.rows.walk import is_sparse
from mlreplica.core.validation import FLOATS


@validate_params(
    {"X": ["array-like", "sparse matrix"], "value": [Real]}, prefer_skip_nested_validation=True
)
def add_dummy_feature(X, value=1.0):
    """Put a constant column before the others, for models without an intercept.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    value : float, default=1.0
        The constant.

    Returns
    -------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features + 1)

    Examples
    --------
    >>> from mlreplica.preprocessing import add_dummy_feature
    >>> add_dummy_feature([[0.0, 1.0], [1.0, 0.0]])
    array([[1., 0., 1.],
           [1., 1., 0.]])
    """
    X = check_array(X, accept_sparse=["csc", "csr", "coo"], dtype=FLOATS)
    n, p = X.shape
    if is_sparse(X):
        one = sparse.coo_array((np.full(n, value), (np.arange(n), np.zeros(n, int))), shape=(n, 1))
        return _align_api_if_sparse(sparse.hstack([one, X], format=X.format))
    out = np.empty((n, p + 1), dtype=X.dtype)
    out[:, 0], out[:, 1:] = value, X
    return out
