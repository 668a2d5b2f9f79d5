r"""Normalising: every row to length 1

    z_i = x_i / ‖x_i‖,      ‖x‖ = √Σ x_j²  (l2),  Σ |x_j|  (l1)  or  max |x_j|

so that inner products of rows are cosines. A row of zeros stays as it is.
"""

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_array

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    Options,
    StrOptions,
    _align_api_if_sparse,
    _fit_context,
    validate_params,
)
from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run, split
from mlreplica.core.rows.walk import is_sparse, steps
from mlreplica.core.validation import FLOATS, ValidatedOnce, new_rows, validate_data

from ._columns import BLOCK, HALF, SMALL, THREAD, rows_to_fit

NORMS = StrOptions({"l1", "l2", "max"})


def lengths(X, norm):
    """The norm of every row."""
    if norm == "l1":
        return np.abs(X).sum(axis=1)
    if norm == "max":
        return np.maximum(X.max(axis=1), -X.min(axis=1))
    return np.sqrt(np.einsum("ij,ij->i", X, X))


@kernel
def unit_rows(X, norms, out):
    """Rows of length 1, and their lengths."""
    p = X.shape[1]
    for i in range(len(X)):
        x, z = X[i], out[i]
        total = 0.0
        for j in range(p):
            total += x[j] * x[j]
        size = np.sqrt(total)
        norms[i] = size
        size = 1.0 if size == 0.0 else size
        for j in range(p):
            z[j] = x[j] / size


def sparse_lengths(X, norm):
    """The same for CSR rows."""
    out = np.zeros(X.shape[0], dtype=X.dtype)
    some = np.flatnonzero(np.diff(X.indptr))
    if len(some):
        values = X.data * X.data if norm == "l2" else np.abs(X.data)
        add = np.maximum if norm == "max" else np.add
        out[some] = add.reduceat(values, X.indptr[some])
    return np.sqrt(out) if norm == "l2" else out


def normalized(X, norm, copy):
    """Rows of length 1, and what their lengths were."""
    if is_sparse(X):
        X = X.copy() if copy else X
        norms = sparse_lengths(X, norm)
        X.data /= np.repeat(np.where(norms == 0, 1, norms), np.diff(X.indptr))
        return _align_api_if_sparse(X) if copy else X, norms
    out = X if not copy and X.flags.writeable else np.empty_like(X)
    norms = np.empty(len(X), dtype=X.dtype)

    fast = norm == "l2" and X.size > SMALL and X.dtype in FLOATS
    fast = fast and X.flags.c_contiguous and out.flags.c_contiguous

    def part(rows):
        if fast:
            unit_rows(X[rows], norms[rows], out[rows])
            return
        for s in steps(rows, max(1, BLOCK // X.shape[1])):
            norms[s] = lengths(X[s], norm)
            np.divide(X[s], np.where(norms[s] == 0, 1, norms[s])[:, None], out=out[s])

    run(part, split(len(X), n_threads(), least=1 + THREAD // X.shape[1]))
    return out, norms


class Normalizer(ValidatedOnce, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Rows of length 1.

    Parameters
    ----------
    norm : {"l1", "l2", "max"}, default="l2"
        What length means.
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
    >>> from mlreplica.preprocessing import Normalizer
    >>> Normalizer().fit_transform([[3.0, 4.0], [0.0, 2.0]])
    array([[0.6, 0.8],
           [0. , 1. ]])
    """

    card = Card(
        page="scaling",
        checks="only_columns",
        input="rows",
        use="rows of which only the direction matters, as counts of words in texts",
        good="nothing is learned; sparse rows stay sparse",
        bad="mixes the units of the columns; drops the length",
        time="O(n p)",
        memory="O(n) beside the result",
        rescaling="columns must have one unit before",
        instead="StandardScaler, which scales columns",
    )
    _parameter_constraints: dict = {"norm": [NORMS], "copy": ["boolean"]}

    def __init__(self, norm="l2", *, copy=True):
        self.norm = norm
        self.copy = copy

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
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
        self : Normalizer
        """
        rows_to_fit(self, X, accept_sparse="csr", ensure_all_finite=True, dtype="numeric")
        return self

    def transform(self, X, copy=None):
        """Divide every row by its length.

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
            X = validate_data(self, X, accept_sparse="csr", dtype=HALF, reset=False)
        return normalized(X, self.norm, copy)[0]


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "norm": [NORMS],
        "axis": [Options(int, {0, 1})],
        "copy": ["boolean"],
        "return_norm": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def normalize(X, norm="l2", *, axis=1, copy=True, return_norm=False):
    """Divide every row (or column) by its length.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The data.
    norm : {"l1", "l2", "max"}, default="l2"
        What length means.
    axis : {0, 1}, default=1
        1 for rows, 0 for columns.
    copy : bool, default=True
        Leave X as it is.
    return_norm : bool, default=False
        Return the lengths, too.

    Returns
    -------
    Z : {ndarray, sparse matrix} of shape (n_samples, n_features)
    norms : ndarray of shape (n_samples,) or (n_features,)
        If `return_norm`.

    Examples
    --------
    >>> from mlreplica.preprocessing import normalize
    >>> normalize([[-2.0, 1.0, 1.0], [-1.0, 0.0, 1.0]], norm="l1")
    array([[-0.5 ,  0.25,  0.25],
           [-0.5 ,  0.  ,  0.5 ]])
    """
    X = check_array(
        X,
        accept_sparse="csc" if axis == 0 else "csr",
        estimator="the normalize function",
        dtype=HALF,
    )
    if is_sparse(X) and return_norm and norm in ("l1", "l2"):
        raise NotImplementedError(
            "return_norm=True is not implemented for sparse matrices with norm 'l1' or norm 'l2'"
        )
    Z, norms = normalized(X.T if axis == 0 else X, norm, copy)
    Z = Z.T if axis == 0 else Z
    return (Z, np.where(norms == 0, 1, norms).astype(norms.dtype)) if return_norm else Z
