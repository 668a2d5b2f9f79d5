r"""Quantile transformation: every column to a uniform or normal distribution

F_j, the distribution function of column j, maps it to uniform ranks. F_j is kept as m quantiles
q_0 ≤ … ≤ q_(m−1) at the references r_k = k / (m − 1), and between two of them it is a line. Where
several quantiles are equal F_j jumps, and a value there gets the middle of the jump:

    z = r_k + (r_(k+1) − r_k) (x − q_k) / (q_(k+1) − q_k),      q_k < x < q_(k+1)               (1)
    z = (r_first + r_last) / 2,                                 x = q_first = … = q_last        (2)

and for a normal distribution Φ⁻¹(z), cut at 1e-7 from both ends.
"""

import warnings
from numbers import Integral

import numpy as np
from scipy import sparse
from scipy.special import ndtr, ndtri
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    Interval,
    Options,
    StrOptions,
    _align_api_if_sparse,
    _fit_context,
    validate_params,
)
from mlreplica.core.compile.threads import n_threads, run, split
from mlreplica.core.rows.walk import is_sparse
from mlreplica.core.validation import ValidatedOnce

from ._columns import THREAD, rows_to_fit, rows_to_map, weights_of
from ._order import column_quantiles
from ._search import by_blocks, interpolate, padded
from ._standard import rows_to_map_back

EDGE = 1e-7  # how near to the ends of the range counts as the end
CUT = ndtri(EDGE - np.spacing(1))


def some_rows(n, m, random_state):
    """m of n rows, or all of them, in any order."""
    if m is None or m >= n:
        return slice(None)
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    return np.random.default_rng(seed).choice(n, m, replace=False, shuffle=False)


def line_tables(q, r):
    """Cuts, starts, values, slopes and middles of (1) and (2), for every column of q."""
    found, m = [], len(r)
    for column in q.T:
        values = column
        if np.isnan(column[-1]):
            values = np.zeros(m)  # a column without values: only NaN comes here
        first = np.flatnonzero(np.r_[True, values[1:] != values[:-1]])  # sorted already
        u, last = values[first], np.r_[first[1:], m] - 1
        with np.errstate(over="ignore"):
            slope = np.minimum((r[first[1:]] - r[last[:-1]]) / np.diff(u), np.finfo(float).max)
        middle = (r[first] + r[last]) / 2
        rows = [np.r_[u[0], u], np.r_[0.0, r[last]], np.r_[0.0, slope, 0.0], np.r_[0.0, middle]]
        found.append((u, *rows))
    cuts = padded([u for u, *_ in found])
    size = cuts.shape[1] + 1
    wide = np.zeros((4, len(found), size))
    for j, (_, *rows) in enumerate(found):
        for k, row in enumerate(rows):
            wide[k, j, : len(row)] = row
            wide[k, j, len(row) :] = row[-1]
    return cuts, *wide


class QuantileTransformer(ValidatedOnce, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Columns with a uniform or a normal distribution.

    Parameters
    ----------
    n_quantiles : int, default=1000
        m, at most the number of rows.
    output_distribution : {"uniform", "normal"}, default="uniform"
        The distribution of the result.
    ignore_implicit_zeros : bool, default=False
        For sparse rows: leave the zeros that are not stored out of the quantiles.
    subsample : int or None, default=10_000
        The most rows that quantiles are computed from; None for all.
    random_state : int, RandomState instance or None, default=None
        Which rows.
    copy : bool, default=True
        Leave X as it is; otherwise work in place where possible.

    Attributes
    ----------
    n_quantiles_ : int
        m.
    quantiles_ : ndarray of shape (n_quantiles_, n_features)
        q of each column.
    references_ : ndarray of shape (n_quantiles_,)
        r.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.

    Examples
    --------
    >>> from mlreplica.preprocessing import QuantileTransformer
    >>> model = QuantileTransformer(n_quantiles=5).fit([[1.0], [2.0], [4.0], [8.0], [16.0]])
    >>> model.transform([[0.0], [2.0], [3.0], [8.0], [99.0]]).ravel()
    array([0.   , 0.25 , 0.375, 0.75 , 1.   ])
    """

    card = Card(
        page="scaling",
        checks="quantiles",
        input="rows",
        cheap=lambda: {"n_quantiles": 10},
        use="columns of any shape, for a model that assumes a bell or a fixed range",
        good="outliers lose their weight; any monotone change of units leaves it as it is",
        bad="distances within a column are lost; many parameters for few rows",
        time="O(n p log m)",
        memory="O(m p) beside the result",
        rescaling="this is it",
        missing="left out of the statistics, and kept",
        instead="PowerTransformer, which has one parameter per column; RobustScaler",
    )
    _parameter_constraints: dict = {
        "n_quantiles": [Interval(Integral, 1, None, closed="left")],
        "output_distribution": [StrOptions({"uniform", "normal"})],
        "ignore_implicit_zeros": ["boolean"],
        "subsample": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
        "copy": ["boolean"],
    }

    def __init__(
        self,
        *,
        n_quantiles=1000,
        output_distribution="uniform",
        ignore_implicit_zeros=False,
        subsample: int | None = 10_000,
        random_state=None,
        copy=True,
    ):
        self.n_quantiles = n_quantiles
        self.output_distribution = output_distribution
        self.ignore_implicit_zeros = ignore_implicit_zeros
        self.subsample = subsample
        self.random_state = random_state
        self.copy = copy

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Compute the quantiles of every column.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; sparse ones must not be negative unless `ignore_implicit_zeros`.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            How often each row counts; all rows are used then.

        Returns
        -------
        self : QuantileTransformer
        """
        if self.subsample is not None and self.n_quantiles > self.subsample:
            raise ValueError(
                "The number of quantiles cannot be greater than the number of samples used. Got "
                f"{self.n_quantiles} quantiles and {self.subsample} samples."
            )
        X = rows_to_fit(self, X, accept_sparse="csc")
        self._refuse_negative(X)
        n, weight = X.shape[0], weights_of(sample_weight, X)
        if weight is not None:
            n = int(np.ceil(weight.sum()))
        if self.n_quantiles > n:
            warnings.warn(
                f"n_quantiles ({self.n_quantiles}) is greater than the total number of samples "
                f"({n}). n_quantiles is set to n_samples.",
                stacklevel=2,
            )
        self.n_quantiles_ = max(1, min(self.n_quantiles, n))
        self.references_ = np.linspace(0, 1, self.n_quantiles_, endpoint=True)
        if self.ignore_implicit_zeros and not is_sparse(X):
            warnings.warn(
                "'ignore_implicit_zeros' takes effect only with sparse matrix. This parameter has "
                "no effect.",
                stacklevel=2,
            )
        if weight is None:
            X = self._sample(X)
        zeros = not self.ignore_implicit_zeros
        q = column_quantiles(X, self.references_, weight, sparse_zeros=zeros)
        if is_sparse(X) and self.ignore_implicit_zeros:
            q = np.where(np.isnan(q), 0.0, q)  # a column without stored values
        self.quantiles_ = np.maximum.accumulate(q)
        self._tables = self._make_tables()
        return self

    def _sample(self, X):
        """Some of the rows, or some of the stored values of each column if only those count."""
        if is_sparse(X) and self.ignore_implicit_zeros:
            random, chosen = check_random_state(self.random_state), []
            for low, high in zip(X.indptr[:-1], X.indptr[1:], strict=True):
                chosen.append(np.arange(low, high)[some_rows(high - low, self.subsample, random)])
            at = np.concatenate(chosen)
            starts = np.r_[0, np.cumsum([len(places) for places in chosen])]
            return sparse.csc_array((X.data[at], X.indices[at], starts), shape=X.shape)
        rows = some_rows(X.shape[0], self.subsample, self.random_state)
        if isinstance(rows, slice):
            return X
        return X.tocsr()[rows].tocsc() if is_sparse(X) else X[rows]

    def _make_tables(self):
        """What the loop reads; a saved file does not hold it."""
        return line_tables(self.quantiles_, self.references_)

    def _refuse_negative(self, X):
        if is_sparse(X) and not self.ignore_implicit_zeros and X.nnz and np.nanmin(X.data) < 0:
            raise ValueError("QuantileTransformer only accepts non-negative sparse matrices.")

    def transform(self, X):
        """Map rows to the distribution.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        Z : {ndarray, sparse matrix} of shape (n_samples, n_features)
        """
        X = rows_to_map(self, X, accept_sparse="csc")
        self._refuse_negative(X)
        return self._through(X, self._ranks)

    def inverse_transform(self, X):
        """Return to the distribution of the data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Mapped rows.

        Returns
        -------
        X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        return self._through(rows_to_map_back(self, X, accept_sparse="csc"), self._values)

    def _through(self, X, function):
        """`function` of dense rows, or of the stored values of each sparse column."""
        if not is_sparse(X):
            Z = function(X, slice(None))
            if not self.copy and X.flags.writeable:
                X[...] = Z
                return X
            return Z
        X = X.copy() if self.copy else X
        for j in range(X.shape[1]):
            s = slice(X.indptr[j], X.indptr[j + 1])
            if s.stop > s.start:
                X.data[s] = function(X.data[s][:, None], slice(j, j + 1)).ravel()
        return _align_api_if_sparse(X)

    def _ranks(self, X, columns):
        """(1) and (2), and Φ⁻¹ of them."""
        tables = self._tables if columns == slice(None) else [t[columns] for t in self._tables]
        Z = by_blocks(interpolate, X, *tables)
        low, high = self.quantiles_[0, columns], self.quantiles_[-1, columns]
        normal = self.output_distribution == "normal"
        edge = EDGE if normal else 0.0

        def finish(rows):
            x, z = X[rows], Z[rows]
            np.copyto(z, 1.0, where=x + edge > high if normal else x >= high)
            np.copyto(z, 0.0, where=x - edge < low if normal else x <= low)
            if normal:
                ndtri(z, out=z)
                np.clip(z, CUT, -CUT, out=z)

        run(finish, split(len(X), 4 * n_threads(), least=1 + THREAD // X.shape[1]))
        return Z

    def _values(self, Z, columns):
        """The quantile function: (1) solved for x."""
        q, m = self.quantiles_[:, columns], self.n_quantiles_
        normal = self.output_distribution == "normal"
        out = np.empty_like(Z)

        def part(rows):
            z = Z[rows].astype(np.float64)
            z = ndtr(z) if normal else z
            at = np.clip(z, 0.0, 1.0) * (m - 1)
            k = np.minimum(np.nan_to_num(at).astype(np.int64), max(m - 2, 0))
            j = np.arange(q.shape[1])
            first, second = q[k, j], q[np.minimum(k + 1, m - 1), j]
            x = first + (at - k) * (second - first)
            edge = EDGE if normal else 0.0
            np.copyto(x, q[-1], where=z + edge > 1 if normal else z == 1)
            np.copyto(x, q[0], where=z - edge < 0 if normal else z == 0)
            out[rows] = x

        run(part, split(len(Z), 4 * n_threads(), least=1 + THREAD // Z.shape[1]))
        return out


@validate_params(
    {"X": ["array-like", "sparse matrix"], "axis": [Options(int, {0, 1})]},
    prefer_skip_nested_validation=False,
)
def quantile_transform(
    X,
    *,
    axis=0,
    n_quantiles=1000,
    output_distribution="uniform",
    ignore_implicit_zeros=False,
    subsample=int(1e5),
    random_state=None,
    copy=True,
):
    """Give the columns or rows of X a uniform or normal distribution.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The data.
    axis : {0, 1}, default=0
        0 for columns, 1 for rows.
    n_quantiles, output_distribution, ignore_implicit_zeros, subsample, random_state, copy
        As of `QuantileTransformer`.

    Returns
    -------
    Z : {ndarray, sparse matrix} of shape (n_samples, n_features)

    Examples
    --------
    >>> from mlreplica.preprocessing import quantile_transform
    >>> quantile_transform([[1.0], [10.0], [100.0]], n_quantiles=3).ravel()
    array([0. , 0.5, 1. ])
    """
    model = QuantileTransformer(
        n_quantiles=n_quantiles,
        output_distribution=output_distribution,
        subsample=subsample,
        ignore_implicit_zeros=ignore_implicit_zeros,
        random_state=random_state,
        copy=copy,
    )
    return model.fit_transform(X) if axis == 0 else model.fit_transform(X.T).T
