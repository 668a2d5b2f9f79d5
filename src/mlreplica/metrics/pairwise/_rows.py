"""What the functions of two sets of rows share: how X and Y are checked, described and scaled"""

import numpy as np
import scipy.sparse as sp

from mlreplica.core.compat import _VALID_METRICS, StrOptions, validate_params

ANY = ["array-like", "sparse matrix"]
METRIC = [StrOptions({*_VALID_METRICS, "precomputed"}), callable]
TEXTS = {
    "{rows}": """X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
        Rows.
    Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features), default=None
        Other rows; None for X.""",
    "{dense rows}": """X : array-like of shape (n_samples_X, n_features)
        Rows.
    Y : array-like of shape (n_samples_Y, n_features), default=None
        Other rows; None for X.""",
    "{two sets}": """X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
        Rows.
    Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features)
        Other rows.
    axis : int, default=1
        0 for the rows of Y.
    metric : str or callable, default="euclidean"
        As in `pairwise_distances`.
    metric_kwargs : dict, default=None
        Parameters of the metric.""",
    "{pairs}": """X, Y : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows; row i of X goes with row i of Y.""",
    "{metric}": """metric : str or callable, default="euclidean"
        A name, or a function of two rows, which is compiled.
    n_jobs : int, default=None
        Threads; None for all.""",
    "{gamma}": """gamma : float, default=None
        γ; None for 1 / n_features.""",
    "{D}": "D : ndarray of shape (n_samples_X, n_samples_Y)",
    "{K}": "K : ndarray of shape (n_samples_X, n_samples_Y)",
    "{d}": "d : ndarray of shape (n_samples,)",
}


def of_rows(rows=ANY, *, y=None, nested=True, **more):
    """Check the parameters of a function of X and Y, and complete its docstring.

    rows: what X may be; y: what Y may be, by default the same or None; more: other parameters.
    """
    constraints = {"X": rows, "Y": [*rows, None] if y is None else y, **more}

    def complete(function):
        for name, text in TEXTS.items():
            function.__doc__ = (function.__doc__ or "").replace(name, text)
        return validate_params(constraints, prefer_skip_nested_validation=nested)(function)

    return complete


def unit_rows(X):
    """Rows divided by their lengths; rows of zeros stay."""
    if not sp.issparse(X):
        size = np.abs(X).max(axis=1, initial=0.0, keepdims=True)
        X = X / np.where(size > 0.0, size, 1.0).astype(X.dtype)
        norm = np.sqrt(np.einsum("ij,ij->i", X, X))[:, None]
        return X / np.where(norm > 0.0, norm, 1.0).astype(X.dtype)
    norm = np.sqrt(np.asarray(X.multiply(X).sum(axis=1))).ravel()
    return (sp.diags_array(1.0 / np.where(norm > 0.0, norm, 1.0)) @ X).tocsr()


def as_given(D, X, Y):
    """float32 if both sets of rows are."""
    return D.astype(np.float32) if X.dtype == Y.dtype == np.float32 else D
