r"""Binning: a number becomes the interval it lies in

Column j is cut at e_0 < e_1 < … < e_m, and x lies in bin k if e_k ≤ x < e_(k+1); the first and the
last bin have no outer end. The cuts are found by one of four strategies:

- uniform: bins of equal width;
- quantile: bins with equally many rows;
- kmeans: the middles between the centres c_1 < … < c_m of k-means on a line. In a sorted column a
  cluster is a run of rows, and sums S_i = Σ_(i'≤i) w x make each round cost O(m log n):

      cut_k = (c_k + c_(k+1)) / 2,       c_k = (S_right − S_left) / (W_right − W_left)         (1)

- tree: the thresholds of a decision tree with m leaves that predicts y from this column alone.
"""

import warnings
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    Interval,
    Options,
    StrOptions,
    _align_api_if_sparse,
    _check_feature_names_in,
    _fit_context,
)
from mlreplica.core.linear import checked_weights
from mlreplica.core.validation import FLOATS, ValidatedOnce, validate_data

from ._columns import rows_to_fit, rows_to_map
from ._order import column_quantiles, columns_of
from ._quantile import some_rows
from ._ranges import extremes
from ._search import by_blocks, interval_codes, padded

METHODS = {
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf",
    "hazen", "weibull", "linear", "median_unbiased", "normal_unbiased",
}  # fmt: skip
NARROW = 1e-8  # bins that are no wider are dropped
ROUNDS = 300


def centres_on_a_line(x, weight, start):
    """The centres that k-means (1) reaches from `start`, sorted."""
    order = np.argsort(x, kind="stable")
    x = x[order]
    w = np.ones(len(x)) if weight is None else weight[order]
    origin = x[len(x) // 2]  # sums stay small
    W, S = np.r_[0.0, np.cumsum(w)], np.r_[0.0, np.cumsum(w * (x - origin))]
    c = np.sort(start)
    for _ in range(ROUNDS):
        ends = np.r_[0, np.searchsorted(x, (c[1:] + c[:-1]) / 2, side="right"), len(x)]
        mass, sums = np.diff(W[ends]), np.diff(S[ends])
        empty = np.flatnonzero(mass == 0)
        if len(empty):  # a cluster without rows moves to the row farthest from its centre
            own = np.repeat(np.arange(len(c)), np.diff(ends))
            far = np.argsort(np.abs(x - c[own]), kind="stable")[::-1][: len(empty)]
            np.subtract.at(mass, own[far], w[far])
            np.subtract.at(sums, own[far], w[far] * (x[far] - origin))
            mass[empty], sums[empty] = w[far], w[far] * (x[far] - origin)
        with np.errstate(invalid="ignore", divide="ignore"):
            moved = np.where(mass > 0, origin + sums / mass, c)
        if np.array_equal(moved, c):
            break
        c = np.sort(moved)
    return c


def tree_cuts(x, y, weight, m):
    """Thresholds of a tree with at most m leaves on one column."""
    from mlreplica.tree import DecisionTreeClassifier, DecisionTreeRegressor

    discrete = type_of_target(y) in ("binary", "multiclass") and not (
        np.asarray(y).dtype.kind == "f" and len(np.unique(y)) > 20
    )
    model = (DecisionTreeClassifier if discrete else DecisionTreeRegressor)(max_leaf_nodes=m)
    tree = model.fit(x[:, None], y, sample_weight=weight).tree_
    return np.unique(tree.threshold[tree.children_left >= 0])


class KBinsDiscretizer(ValidatedOnce, TransformerMixin, BaseEstimator):
    """Columns cut into bins.

    Parameters
    ----------
    n_bins : int or array-like of shape (n_features,), default=5
        Bins of every or of each column, at least 2.
    encode : {"onehot", "onehot-dense", "ordinal"}, default="onehot"
        A column of zeros and ones per bin, sparse or dense, or the number of the bin.
    strategy : {"uniform", "quantile", "kmeans", "tree"}, default="quantile"
        How cuts are found; "tree" needs y.
    quantile_method : str, default="averaged_inverted_cdf"
        The kind of quantile, as of `numpy.quantile`; with weights "averaged_inverted_cdf" or
        "inverted_cdf".
    dtype : {np.float32, np.float64} or None, default=None
        Of the result; None for that of X.
    subsample : int or None, default=200_000
        The most rows that "quantile" and "kmeans" look at; None for all.
    random_state : int, RandomState instance or None, default=None
        Which rows.

    Attributes
    ----------
    bin_edges_ : ndarray of ndarray of shape (n_features,)
        e_0 … e_m of each column.
    n_bins_ : ndarray of shape (n_features,), dtype=np.int64
        m of each column; narrow bins are dropped.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.

    Examples
    --------
    >>> from mlreplica.preprocessing import KBinsDiscretizer
    >>> X = [[-2.0, 1.0], [-1.0, 2.0], [0.0, 3.0], [1.0, 4.0]]
    >>> KBinsDiscretizer(n_bins=3, encode="ordinal", strategy="uniform").fit_transform(X)
    array([[0., 0.],
           [1., 1.],
           [2., 2.],
           [2., 2.]])
    """

    card = Card(
        page="binning-splines",
        checks="bins",
        input="rows",
        use="an effect that goes up and down, in a linear model",
        good="any shape, step by step; outliers end up in the outer bins",
        bad="jumps at the cuts; loses the order within a bin; many columns",
        time="O(n p log n) once, O(n p log m) for new rows",
        memory="O(n p)",
        rescaling="not needed: cuts move with the units",
        instead="SplineTransformer, which is smooth; trees, which find cuts by themselves",
    )
    _parameter_constraints: dict = {
        "n_bins": [Interval(Integral, 2, None, closed="left"), "array-like"],
        "encode": [StrOptions({"onehot", "onehot-dense", "ordinal"})],
        "strategy": [StrOptions({"uniform", "quantile", "kmeans", "tree"})],
        "quantile_method": [StrOptions(METHODS)],
        "dtype": [Options(type, {np.float64, np.float32}), None],
        "subsample": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_bins: Any = 5,
        *,
        encode="onehot",
        strategy="quantile",
        quantile_method="averaged_inverted_cdf",
        dtype=None,
        subsample: int | None = 200_000,
        random_state=None,
    ):
        self.n_bins = n_bins
        self.encode = encode
        self.strategy = strategy
        self.quantile_method = quantile_method
        self.dtype = dtype
        self.subsample = subsample
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.strategy == "tree"
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Find the cuts of every column.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or None, default=None
            Classes or numbers, for the strategy "tree".
        sample_weight : array-like of shape (n_samples,) or None, default=None
            How often each row counts.

        Returns
        -------
        self : KBinsDiscretizer
        """
        tree = self.strategy == "tree"
        if tree and y is None:
            raise ValueError(
                "strategy='tree' needs y, which its cuts predict. (requires y to be passed, but "
                "the target y is None)"
            )
        if tree:
            X, y = validate_data(self, X, y, dtype=FLOATS)
        else:
            X = rows_to_fit(self, X, ensure_all_finite=True, dtype="numeric")
        p = X.shape[1]
        bins = self._bins(p)
        weight = None if sample_weight is None else checked_weights(sample_weight, X)
        by_rank = self.strategy == "quantile"
        if by_rank and weight is not None and "inverted_cdf" not in self.quantile_method[-12:]:
            raise ValueError(
                "When fitting with strategy='quantile' and sample weights, quantile_method should "
                "either be set to 'averaged_inverted_cdf' or 'inverted_cdf', got "
                f"quantile_method='{self.quantile_method}' instead."
            )
        if weight is not None:
            X, y = X[weight > 0], y[weight > 0] if tree else None
            weight = weight[weight > 0]
        low, high = extremes(X)
        if self.strategy in ("quantile", "kmeans"):
            chosen = some_rows(len(X), self.subsample, self.random_state)
            X, weight = X[chosen], None if weight is None else weight[chosen]
        edges = self._edges(X, y, weight, bins, low.astype(float), high.astype(float))
        self.bin_edges_ = np.empty(p, dtype=object)
        self.n_bins_ = np.zeros(p, dtype=np.int64)
        for j, found in enumerate(edges):
            e = found
            if low[j] == high[j]:
                warnings.warn(f"Feature {j} is constant and will be replaced with 0.", stacklevel=2)
                e = np.array([-np.inf, np.inf])
            elif self.strategy in ("quantile", "kmeans"):
                wide = np.diff(e, prepend=-np.inf) > NARROW
                if not wide.all():
                    warnings.warn(
                        f"Bins whose width are too small (i.e., <= 1e-8) in feature {j} are "
                        "removed. Consider decreasing the number of bins.",
                        stacklevel=2,
                    )
                e = e[wide]
            self.bin_edges_[j], self.n_bins_[j] = e, len(e) - 1
        self._fit_dtype = np.dtype(self.dtype or (X.dtype if X.dtype in FLOATS else np.float64))
        return self

    def _bins(self, p):
        """m of every column."""
        if isinstance(self.n_bins, Integral):
            return np.full(p, self.n_bins, dtype=np.int64)
        bins = check_array(self.n_bins, dtype=np.int64, copy=True, ensure_2d=False)
        if bins.ndim > 1 or len(bins) != p:
            raise ValueError("n_bins must be a scalar or array of shape (n_features,).")
        bad = np.flatnonzero((bins < 2) | (bins != np.asarray(self.n_bins)))
        if len(bad):
            raise ValueError(
                f"{type(self).__name__} received an invalid number of bins at indices "
                f"{', '.join(map(str, bad))}. Number of bins must be at least 2, and must be an "
                "int."
            )
        return bins

    def _edges(self, X, y, weight, bins, low, high):
        """e_0 … e_m of every column."""
        if self.strategy == "uniform":
            return [np.linspace(a, b, m + 1) for a, b, m in zip(low, high, bins, strict=True)]
        if self.strategy == "quantile":
            m = bins.max()
            if (bins == m).all():
                q = np.linspace(0, 100, m + 1) / 100
                return list(column_quantiles(X, q, weight, method=self.quantile_method).T)
            column = lambda j: column_quantiles(
                X[:, [j]], np.linspace(0, 100, bins[j] + 1) / 100, weight,
                method=self.quantile_method,
            )  # fmt: skip
            return [column(j)[:, 0] for j in range(len(bins))]
        edges = []
        for j, x in enumerate(columns_of(X)):
            if low[j] == high[j]:
                cuts = np.empty(0)
            elif self.strategy == "tree":
                cuts = tree_cuts(x, y, weight, int(bins[j]))
            else:
                e = np.linspace(low[j], high[j], bins[j] + 1)
                c = centres_on_a_line(x, weight, (e[1:] + e[:-1]) / 2)
                cuts = (c[1:] + c[:-1]) / 2
            edges.append(np.r_[low[j], cuts, high[j]])
        return edges

    def transform(self, X):
        """Find the bin of every value.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        Z : {ndarray, sparse matrix} of shape (n_samples, n_features) or (n_samples, sum of bins)
        """
        check_is_fitted(self)
        dtype = FLOATS if self.dtype is None else self.dtype
        X = rows_to_map(self, X, dtype=dtype, ensure_all_finite=True)
        X = X if self.dtype is None else X.astype(self.dtype, copy=False)
        codes = by_blocks(interval_codes, X, padded([e[1:-1] for e in self.bin_edges_]))
        if self.encode == "ordinal":
            return codes
        n, p = codes.shape
        width = int(self.n_bins_.sum())
        at = codes.astype(np.int32 if n * p < 2**31 else np.int64)
        at += np.r_[0, np.cumsum(self.n_bins_)[:-1]].astype(at.dtype)
        if self.encode == "onehot-dense":
            out = np.zeros((n, width), dtype=self._fit_dtype)
            out[np.arange(n)[:, None], at] = 1.0
            return out
        data, starts = np.ones(n * p, self._fit_dtype), np.arange(0, n * p + 1, p, dtype=at.dtype)
        out = sparse.csr_array((data, at.ravel(), starts), shape=(n, width))
        return _align_api_if_sparse(out)

    def inverse_transform(self, X):
        """Return the middle of the bin of every value.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, sum of bins)
            Numbers of bins, or zeros and ones.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        p = self.n_features_in_
        X = check_array(X, accept_sparse="csr", dtype=FLOATS, force_writeable=True)
        if self.encode != "ordinal":
            ends = np.cumsum(self.n_bins_)
            if X.shape[1] != ends[-1]:
                raise ValueError(
                    f"Shape of the passed X data is not correct. Expected {ends[-1]} columns, got "
                    f"{X.shape[1]}."
                )
            X = X.toarray() if sparse.issparse(X) else X
            parts = np.split(X, ends[:-1], axis=1)
            X = np.column_stack([part.argmax(axis=1) for part in parts]).astype(X.dtype)
        if X.shape[1] != p:
            raise ValueError(f"Incorrect number of features. Expecting {p}, received {X.shape[1]}.")
        out = np.empty_like(X)
        for j, e in enumerate(self.bin_edges_):
            with np.errstate(invalid="ignore"):
                middle = (e[1:] + e[:-1]) * 0.5
            out[:, j] = middle[X[:, j].astype(np.int64)]
        return out

    def get_feature_names_out(self, input_features=None):
        """Return the names of the columns that `transform` returns.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns of X.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self, "n_features_in_")
        names = _check_feature_names_in(self, input_features)
        if self.encode == "ordinal":
            return names
        pairs = zip(names, self.n_bins_, strict=True)
        return np.array([f"{name}_{float(k)}" for name, m in pairs for k in range(m)], dtype=object)
