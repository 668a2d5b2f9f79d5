r"""Polynomial features: all products of columns up to a degree

A product of degree g is x_j times a product of degree g − 1 whose first column is j or later. In
the order of scikit-learn (by degree, then by columns) those are a run of neighbours, so a whole run
is one multiplication of a number with a vector:

    z[to : to + length] = x_j · z[from : from + length]                                       (2)

From m columns C(g, m) = (m + g − 1 over g) products of degree g can be made, or (m over g) without
repetition. For sparse rows only products of stored values are formed; that of j_1 ≤ … ≤ j_g stands
at the place of its degree

    Σ_t  C(g − t + 1, m_t) − C(g − t + 1, p − j_t),      m_1 = p,   m_(t+1) = p − j_t          (3)

and one column fewer in every m_(t+1) without repetition.
"""

from math import comb
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    Interval,
    StrOptions,
    _align_api_if_sparse,
    _check_feature_names_in,
    _fit_context,
)
from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run, split
from mlreplica.core.rows.walk import is_sparse, steps
from mlreplica.core.validation import FLOATS, ValidatedOnce, is_finite, validate_data

from ._columns import THREAD, rows_to_fit, rows_to_map


@kernel
def products(X, runs, bias, out):
    """Fill rows of all products by (2); a run is (to, from, length, j), from −1 for x itself."""
    n, p = X.shape
    for i in range(n):
        x, z = X[i], out[i]
        if bias:
            z[0] = 1.0
        for r in range(len(runs)):
            to, start, length, j = runs[r, 0], runs[r, 1], runs[r, 2], runs[r, 3]
            if start < 0:
                for k in range(p):
                    z[to + k] = x[k]
            else:
                x_j = x[j]
                for k in range(length):
                    z[to + k] = x_j * z[start + k]


@kernel(part=True)
def combinations(g, m, alone):
    """C(g, m) of (3)."""
    top = m if alone else m + g - 1
    if top < g:
        return 0
    c = 1
    for k in range(1, g + 1):
        c = c * (top - g + k) // k
    return c


@kernel
def sparse_products(data, indices, starts, p, g, base, alone, to, values, columns):
    """Append the products of degree g of every CSR row, from place to_i on; to_i moves on."""
    at = np.zeros(g, dtype=np.int64)
    skip = 1 if alone else 0
    for i in range(len(starts) - 1):
        first, m = starts[i], starts[i + 1] - starts[i]
        k = to[i]
        for t in range(g):
            at[t] = t if alone else 0
        while m > 0 and at[g - 1] < m:
            v, column, left = 1.0, base, p
            for t in range(g):
                j = indices[first + at[t]]
                v *= data[first + at[t]]
                column += combinations(g - t, left, alone) - combinations(g - t, p - j, alone)
                left = p - j - skip
            values[k] = v
            columns[k] = column
            k += 1
            t = g - 1  # the next combination of places
            while t > 0 and at[t] == (m - (g - t) if alone else m - 1):
                t -= 1
            at[t] += 1
            for s in range(t + 1, g):
                at[s] = at[s - 1] + skip
        to[i] = k


def count(p, low, high, interactions_only):
    """How many products have degrees low … high, without the constant."""
    degrees = range(max(low, 1), min(high, p) + 1 if interactions_only else high + 1)
    return sum(comb(p if interactions_only else p + g - 1, g) for g in degrees)


def runs_of(p, high, interactions_only, offset):
    """The runs (2) of all degrees 1 … high, the first product at place `offset`."""
    runs = [(offset, -1, p, 0)]
    begins, end = (
        list(range(offset, offset + p)),
        offset + p,
    )  # where products of first column j are
    to = end
    for _ in range(2, high + 1):
        new = []
        for j in range(p):
            start = (begins[j + 1] if j + 1 < p else end) if interactions_only else begins[j]
            new.append(to)
            if end > start:
                runs.append((to, start, end - start, j))
            to += end - start
        if to == new[0]:
            break  # no product of so many different columns
        begins, end = new, to
    return np.array(runs, dtype=np.int64)


def can_overflow(X, degree):
    """Whether the power of an entry is not finite."""
    X = X.data if is_sparse(X) else X
    if X.dtype not in FLOATS:
        return False
    with np.errstate(over="ignore"):
        ends = np.array([X.max(initial=0.0), -X.min(initial=0.0)], X.dtype)
        return bool(np.isinf(ends**degree).any())


def overflow_text(X, degree):
    """What to say of products that overflow."""
    return f"Products of {degree} values up to {abs(X).max():.3g} overflow; scale X."


class PolynomialFeatures(ValidatedOnce, TransformerMixin, BaseEstimator):
    """All products of columns up to a degree.

    Parameters
    ----------
    degree : int or tuple (min_degree, max_degree), default=2
        The degrees of the products.
    interaction_only : bool, default=False
        Only products of different columns.
    include_bias : bool, default=True
        The product of none, a column of ones.
    order : {"C", "F"}, default="C"
        How the result lies in memory, by rows or by columns.

    Attributes
    ----------
    powers_ : ndarray of shape (n_output_features_, n_features_in_)
        Exponent of each column in each product.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.
    n_output_features_ : int
        How many products there are.

    Examples
    --------
    >>> from mlreplica.preprocessing import PolynomialFeatures
    >>> model = PolynomialFeatures(degree=2).fit([[0.0, 1.0]])
    >>> model.transform([[2.0, 3.0]]), model.get_feature_names_out().tolist()
    (array([[1., 2., 3., 4., 6., 9.]]), ['1', 'x0', 'x1', 'x0^2', 'x0 x1', 'x1^2'])
    """

    card = Card(
        page="binning-splines",
        checks="only_columns",
        input="rows",
        use="interactions and curves in a linear model",
        good="exact products; sparse rows stay sparse",
        bad="p^d columns; high degrees swing between the points and explode beyond",
        time="O(n · columns of the result)",
        memory="O(n · columns of the result)",
        rescaling="needed before: x³ of a large unit is enormous",
        instead='SplineTransformer for curves; kernel="poly" for high degrees; trees',
    )
    _parameter_constraints: dict = {
        "degree": [Interval(Integral, 0, None, closed="left"), "array-like"],
        "interaction_only": ["boolean"],
        "include_bias": ["boolean"],
        "order": [StrOptions({"C", "F"})],
    }

    def __init__(self, degree: Any = 2, *, interaction_only=False, include_bias=True, order="C"):
        self.degree = degree
        self.interaction_only = interaction_only
        self.include_bias = include_bias
        self.order = order

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _degrees(self):
        """min_degree and max_degree."""
        if isinstance(self.degree, Integral):
            if self.degree == 0 and not self.include_bias:
                raise ValueError(
                    "Setting degree to zero and include_bias to False would result in an empty "
                    "output array."
                )
            return 0, int(self.degree)
        if np.ndim(self.degree) != 1 or len(self.degree) != 2:
            raise ValueError(
                "degree must be a non-negative int or tuple (min_degree, max_degree), got "
                f"{self.degree}."
            )
        low, high = self.degree
        whole = isinstance(low, Integral) and isinstance(high, Integral)
        if not (whole and 0 <= low <= high):
            raise ValueError(
                "degree=(min_degree, max_degree) must be non-negative integers that fulfil "
                f"min_degree <= max_degree, got {self.degree}."
            )
        if high == 0 and not self.include_bias:
            raise ValueError(
                "Setting both min_degree and max_degree to zero and include_bias to False would "
                "result in an empty output array."
            )
        return int(low), int(high)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Count the products.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self : PolynomialFeatures
        """
        if type(X) is np.ndarray and X.dtype in FLOATS:
            X = rows_to_fit(self, X, ensure_all_finite=True)
        else:
            X = validate_data(self, X, accept_sparse=("csr", "csc"))
        low, high = self._degrees()
        p = X.shape[1]
        some = count(p, low, high, self.interaction_only)
        self.n_output_features_ = some + bool(self.include_bias)
        if self.n_output_features_ > np.iinfo(np.intp).max:
            raise ValueError(
                "The output that would result from the current configuration would have "
                f"{self.n_output_features_} features which is too large to be indexed by "
                f"{np.intp().dtype.name}; lower the degree, or choose interaction_only=True."
            )
        if not self.interaction_only and can_overflow(X, high):
            raise ValueError(overflow_text(X, high))
        self._min_degree, self._max_degree = low, high
        return self

    @property
    def powers_(self):
        """Exponent of each column in each product."""
        check_is_fitted(self)
        p = self.n_features_in_
        Z = self._dense_powers(np.eye(p, dtype=np.int64))
        return Z

    def _dense_powers(self, one):
        """The sums of exponents, in the place of products."""
        low, high = self._min_degree, self._max_degree
        p = len(one)
        rows = [np.zeros((1, p), dtype=np.int64)] if self.include_bias else []
        block, begins = one, list(range(p))
        for g in range(1, high + 1):
            if g > 1:
                parts, places = [], [0]
                for j in range(p):
                    start = begins[j + 1] if self.interaction_only else begins[j]
                    parts.append(one[j] + block[start:])
                    places.append(places[-1] + len(parts[-1]))
                block, begins = np.vstack(parts), places
            else:
                begins = list(range(p + 1))
            if g >= low:
                rows.append(block)
        return np.vstack(rows) if rows else np.zeros((0, p), dtype=np.int64)

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
        names = _check_feature_names_in(self, input_features)
        found = []
        for row in self.powers_:
            some = [(names[j], row[j]) for j in np.flatnonzero(row)]
            words = [f"{name}^{e}" if e > 1 else f"{name}" for name, e in some]
            found.append(" ".join(words) if words else "1")
        return np.asarray(found, dtype=object)

    def transform(self, X):
        """Form the products of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        Z : {ndarray, sparse matrix} of shape (n_samples, n_output_features_)
        """
        options = {"ensure_all_finite": True, "dtype": FLOATS, "accept_sparse": ("csr", "csc")}
        X = rows_to_map(self, X, **options)
        if is_sparse(X):
            return self._sparse(X)
        low, high = self._min_degree, self._max_degree
        n, p = X.shape
        bias = bool(self.include_bias)
        out = np.empty((n, self.n_output_features_), dtype=X.dtype, order=self.order)
        if high == 0:
            out[:] = 1.0
            return out
        runs = runs_of(p, high, self.interaction_only, int(bias))
        before = count(p, 1, low - 1, self.interaction_only)  # of lower degrees, dropped at the end
        width = int(runs[-1, 0] + runs[-1, 2])
        direct = before == 0 and out.dtype == np.float64 and self.order == "C"
        size = max(1, (1 << 15) // width)

        def part(rows):
            if direct:
                products(np.ascontiguousarray(X[rows]), runs, bias, out[rows])
                return
            for s in steps(rows, size):
                Z = np.empty((s.stop - s.start, width))
                products(np.ascontiguousarray(X[s], dtype=np.float64), runs, bias, Z)
                if bias:
                    out[s, 0] = 1.0
                out[s, int(bias) :] = Z[:, int(bias) + before :]

        run(part, split(n, 4 * n_threads(), least=1 + THREAD // max(1, width)))
        if can_overflow(X, high) and not is_finite(out):
            raise ValueError(overflow_text(X, high))
        return out

    def _sparse(self, X):
        """The same for sparse rows: products of stored values only."""
        kind, low, high = X.format, self._min_degree, self._max_degree
        X, alone = X.tocsr(), bool(self.interaction_only)
        X.sort_indices()
        n, p = X.shape
        starts = X.indptr.astype(np.int64)
        stored = np.diff(starts)
        bias = int(bool(self.include_bias))
        degrees = range(max(low, 1), high + 1)
        each = [binomial(stored if alone else stored + g - 1, g) for g in degrees]
        total = np.concatenate([[0], np.cumsum(sum(each, np.full(n, bias, dtype=np.int64)))])
        values, columns = np.empty(total[-1]), np.empty(total[-1], dtype=np.int64)
        to, base = total[:-1].copy(), bias
        if bias:
            values[to], columns[to] = 1.0, 0
            to += 1
        data, indices = X.data.astype(np.float64), X.indices.astype(np.int64)
        for g in degrees:
            sparse_products(data, indices, starts, p, g, base, alone, to, values, columns)
            base += comb(p if alone else p + g - 1, g)
        values = values.astype(X.dtype, copy=False)
        if can_overflow(X, high) and not is_finite(values):
            raise ValueError(overflow_text(X, high))
        width = self.n_output_features_
        index = np.int32 if max(width, total[-1]) < 2**31 else np.int64
        out = sparse.csr_array(
            (values, columns.astype(index), total.astype(index)),
            shape=(n, width),
        )
        return _align_api_if_sparse(out if kind == "csr" else out.tocsc())


def binomial(top, g):
    """(top over g) of an array of whole numbers."""
    c = np.ones_like(top)
    for k in range(1, g + 1):
        c = c * np.maximum(top - g + k, 0) // k
    return c
