r"""Splines: a smooth curve through pieces of polynomials, as columns for a linear model

On knots t_0 ≤ t_1 ≤ … the B-splines of degree d are (Cox, de Boor 1972)

    B_(i,0)(x) = 1 if t_i ≤ x < t_(i+1), else 0                                                (4)
    B_(i,d)(x) = (x − t_i)/(t_(i+d) − t_i) B_(i,d−1)(x)
               + (t_(i+d+1) − x)/(t_(i+d+1) − t_(i+1)) B_(i+1,d−1)(x)                          (5)

Between t_s and t_(s+1) only B_(s−d) … B_s are not 0, and each is a polynomial in u = x − t_s. (5)
on the coefficients of polynomials gives them once, in `fit`,

    B_(s−d+r)(t_s + u) = c_r0 + c_r1 u + … + c_rd u^d,        r = 0 … d                        (6)

and new rows cost d multiplications per number. What lies outside the knots is a piece too: the
first polynomial continued, its value (constant) or its tangent (linear). `natural` takes those
combinations of B-splines that have no curvature at both ends, and goes on as a line:

    N_j = B_j + a_j B_0 + b_j B_last,      N_j''(first knot) = N_j''(last knot) = 0            (7)

References
----------
de Boor: On calculating with B-splines. J. Approximation Theory 6 (1972), 50–62.
"""

from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array
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
from mlreplica.core.validation import FLOATS, ValidatedOnce

from ._columns import THREAD, rows_to_fit, rows_to_map, weights_of
from ._order import column_quantiles
from ._ranges import extremes

KINDS = {"error", "constant", "linear", "continue", "periodic", "natural"}


def basis_pieces(t, d):
    """c of (6), (p, pieces, powers, r), for knots t (m, p) and the pieces from t_d on."""
    apart = lambda gap: np.where(gap == 0.0, np.inf, gap)  # equal knots: what (5) divides is 0
    s = np.arange(d, len(t) - d - 1)
    B = np.zeros((d + 1, d + 1, len(s), t.shape[1]))  # (r, power): B_(s−g+r, g) for r ≤ g
    B[0, 0] = 1.0  # (4)
    for g in range(1, d + 1):
        new = np.zeros_like(B)
        for r, i in enumerate(s - g + np.arange(g + 1)[:, None]):
            if r > 0:  # (5), where x − t_i = u + (t_s − t_i)
                low = B[r - 1] / apart(t[i + g] - t[i])
                new[r] += (t[s] - t[i]) * low
                new[r, 1:] += low[:-1]
            if r < g:
                low = B[r] / apart(t[i + g + 1] - t[i + 1])
                new[r] += (t[i + g + 1] - t[s]) * low
                new[r, 1:] -= low[:-1]
        B = new
    return B.transpose(3, 2, 1, 0)


def tangent(c, u, terms):
    """The first `terms` coefficients of the Taylor series about u of polynomials c (powers, r)."""
    powers, out = np.arange(len(c)), np.zeros_like(c)
    scale = np.ones(len(c))
    for m in range(min(terms, len(c))):
        out[m] = (scale * u ** np.maximum(powers - m, 0.0) * (powers >= m)) @ c
        scale = scale * (powers - m) / (m + 1)
    return out


def natural_combinations(c, h):
    """The rows of (7): a_j and b_j of the splines between the first and the last."""
    pieces, d = len(c), c.shape[1] - 1
    K = pieces + d
    if not c.any():  # of a constant column
        return np.zeros((2, K - 2))
    ends = np.zeros((2, K))
    ends[0, : d + 1] = tangent(c[0], 0.0, 3)[2]
    ends[1, K - d - 1 :] = tangent(c[-1], h, 3)[2]
    return -np.linalg.solve(ends[:, [0, K - 1]], ends[:, 1 : K - 1])


@kernel
def spline_rows(X, knots, coef, place, lowest, period, kept, out, found):
    """Add the values (6) of every number to its columns of `out`.

    knots (p, m): the first knot, then the inner ones, then the last. Piece 0 lies before the first
    knot, piece m after the last. coef (p, m + 1, d + 1, r) are polynomials in x − origin, where the
    origin of piece k is knot max(k − 1, 0); place (p, m + 1, r) are their columns. What is beyond
    `kept` columns of a number is dropped. `found` gets the pieces if it has rows.
    """
    n, p = X.shape
    m, terms, width = knots.shape[1], coef.shape[2], coef.shape[3]
    for i in range(n):
        for j in range(p):
            x, t = X[i, j], knots[j]
            if period:
                x = t[0] + (x - t[0]) % (t[m - 1] - t[0])
            k = -1
            if not np.isnan(x):
                k = 0
                for b in range(m - 1):
                    k += 1 if t[b] <= x else 0
                k += 1 if t[m - 1] < x else 0
            if len(found) > 0:
                found[i, j] = k
            if k < 0:
                continue
            u = x - t[max(k - 1, 0)]
            c, at = coef[j, k], place[j, k]
            for r in range(width):
                if at[r] < lowest[j] + kept:
                    v = c[terms - 1, r]
                    for q in range(terms - 2, -1, -1):
                        v = v * u + c[q, r]
                    out[i, at[r]] += v


class SplineTransformer(ValidatedOnce, TransformerMixin, BaseEstimator):
    """B-splines of every column: (5).

    Parameters
    ----------
    n_knots : int, default=5
        Knots of each column, with both ends, if they are not given.
    degree : int, default=3
        d, the degree of the pieces.
    knots : {"uniform", "quantile"} or array-like of shape (n_knots, n_features), default="uniform"
        At equal distances, at quantiles, or where they are given.
    extrapolation : {"error", "constant", "linear", "continue", "periodic", "natural"}, \
            default="constant"
        Beyond the first and the last knot: refuse, keep the value, go on along the tangent or the
        polynomial, start again, or (7), which has two columns fewer and needs degree >= 2.
    include_bias : bool, default=True
        Keep the last spline of each column. All of them sum to 1, as an intercept does.
    order : {"C", "F"}, default="C"
        How the result lies in memory.
    handle_missing : {"error", "zeros"}, default="error"
        Refuse missing values, or give them zeros.
    sparse_output : bool, default=False
        Return a CSR matrix: only d + 1 splines are not 0.

    Attributes
    ----------
    bsplines_ : list of scipy.interpolate.BSpline
        The splines of each column, before (7).
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.
    n_features_out_ : int
        Columns of the result.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.preprocessing import SplineTransformer
    >>> SplineTransformer(n_knots=3, degree=2).fit_transform(np.arange(3.0).reshape(3, 1))
    array([[0.5, 0.5, 0. , 0. ],
           [0. , 0.5, 0.5, 0. ],
           [0. , 0. , 0.5, 0.5]])
    """

    card = Card(
        page="binning-splines",
        checks="splines",
        input="rows",
        use="smooth curves and seasons in a linear model",
        good="local: a row moves the curve near it only; periodic and natural ends",
        bad="one column at a time: no interactions; knots are a choice",
        time="O(n p d²)",
        memory="O(n · columns of the result)",
        rescaling="not needed: knots move with the units",
        missing='refused, or zeros with handle_missing="zeros"',
        instead="KBinsDiscretizer for jumps, PolynomialFeatures for interactions, trees",
    )
    _parameter_constraints: dict = {
        "n_knots": [Interval(Integral, 2, None, closed="left")],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "knots": [StrOptions({"uniform", "quantile"}), "array-like"],
        "extrapolation": [StrOptions(KINDS)],
        "include_bias": ["boolean"],
        "order": [StrOptions({"C", "F"})],
        "handle_missing": [StrOptions({"error", "zeros"})],
        "sparse_output": ["boolean"],
    }

    def __init__(
        self,
        n_knots=5,
        degree=3,
        *,
        knots: Any = "uniform",
        extrapolation="constant",
        include_bias=True,
        order="C",
        handle_missing="error",
        sparse_output=False,
    ):
        self.n_knots = n_knots
        self.degree = degree
        self.knots = knots
        self.extrapolation = extrapolation
        self.include_bias = include_bias
        self.order = order
        self.handle_missing = handle_missing
        self.sparse_output = sparse_output

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.handle_missing == "zeros"
        return tags

    def _finite(self):
        return "allow-nan" if self.handle_missing == "zeros" else True

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Choose the knots of every column.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            How often each row counts, for knots at quantiles; 0 is no row.

        Returns
        -------
        self : SplineTransformer
        """
        if self.extrapolation == "natural" and self.degree < 2:
            raise ValueError(
                f"extrapolation='natural' needs degree >= 2, got {self.degree}; 'linear' is the "
                "same for lines."
            )
        try:
            X = rows_to_fit(self, X, ensure_all_finite=self._finite(), ensure_min_samples=2)
            if len(X) < 2:
                X = rows_to_fit(self, X.tolist(), ensure_min_samples=2)
        except ValueError as error:
            if "Input X contains NaN" in str(error):
                raise ValueError(
                    "Input X contains NaN values and `SplineTransformer` is configured to error in "
                    "this case (handle_missing='error'). To avoid this error, set "
                    "handle_missing='zeros' to encode missing values as splines with value 0 or "
                    "ensure no missing values in X."
                ) from error
            raise
        base = self._base_knots(X, weights_of(sample_weight, X))
        apart = np.diff(base, axis=0)
        if np.any((apart > 0) & (apart ** max(self.degree, 1) == 0)):
            raise ValueError(
                f"Knots {apart[apart > 0].min():.3g} apart are too close for splines of degree "
                f"{self.degree}; scale X."
            )
        self._t = self._all_knots(base)
        kept = self._columns() - (0 if self.include_bias else 1)
        self.n_features_out_ = X.shape[1] * kept
        self._tables = self._make_tables()
        return self

    def _base_knots(self, X, weight):
        """The knots between the ends of the data, (n_knots, p)."""
        p, d = X.shape[1], self.degree
        if not isinstance(self.knots, str):
            base = check_array(self.knots, dtype=np.float64)
            if len(base) < 2:
                raise ValueError("Number of knots, knots.shape[0], must be >= 2.")
            if base.shape[1] != p:
                raise ValueError("knots.shape[1] == n_features is violated.")
            if not np.all(np.diff(base, axis=0) > 0):
                raise ValueError("knots must be sorted without duplicates.")
        elif self.knots == "quantile":
            q = np.linspace(0, 100, self.n_knots) / 100
            method = "linear" if weight is None else "averaged_inverted_cdf"
            base = column_quantiles(X, q, weight, method=method)
        else:
            low, high = extremes(X if weight is None else X[weight > 0])
            low, high = (np.where(np.isnan(low), k, v) for k, v in ((0.0, low), (1.0, high)))
            base = np.linspace(low, high, self.n_knots, dtype=np.float64)
        if self.extrapolation == "natural" and len(base) == d == 2:
            raise ValueError(
                "Natural splines of degree 2 need n_knots >= 3: one parabola without curvature is "
                "a line."
            )
        if self.extrapolation == "periodic" and len(base) <= d:
            raise ValueError(
                f"Periodic splines require degree < n_knots. Got n_knots={len(base)} and "
                f"degree={d}."
            )
        return base

    def _all_knots(self, base):
        """With d more at each end, at the distance of the last two, or by the period: (m, p)."""
        d = self.degree
        if self.extrapolation == "periodic":
            period = base[-1] - base[0]
            return np.vstack([base[-(d + 1) : -1] - period, base, base[1 : d + 1] + period])
        first, last = base[1] - base[0], base[-1] - base[-2]
        away = np.arange(1, d + 1)[:, None]
        return np.vstack([base[0] - away[::-1] * first, base, base[-1] + away * last])

    def _columns(self):
        """How many splines a column has."""
        base = len(self._t) - 2 * self.degree
        less = {"periodic": self.degree, "natural": 2}.get(self.extrapolation, 0)
        return base + self.degree - 1 - less

    def _make_tables(self):
        """Knots, polynomials and their columns; a saved file does not hold them."""
        d, (m, p) = self.degree, self._t.shape
        inner, K, kind = m - 2 * d, self._columns(), self.extrapolation
        kept = K - (0 if self.include_bias else 1)
        knots = np.ascontiguousarray(self._t[d : m - d].T)
        coef = np.zeros((p, inner + 1, d + 1 if d else 2, d + 1))
        place = np.empty((p, inner + 1, d + 1), dtype=np.int64)
        with np.errstate(invalid="ignore", divide="ignore"):
            pieces = basis_pieces(self._t, d)
        first = np.r_[0, np.arange(inner - 1), inner - 2]
        columns = first[:, None] + np.arange(d + 1)
        terms = {"constant": 1, "linear": 2, "natural": 2}.get(kind, d + 1)
        for j in range(p):
            c, h = pieces[j], knots[j, -1] - knots[j, -2]
            if kind == "natural":
                c, columns = self._natural(c, h, K)
                columns = columns[first]
            coef[j, 1:-1, : d + 1] = c
            coef[j, 0, : d + 1] = tangent(c[0], 0.0, terms)
            coef[j, -1, : d + 1] = tangent(c[-1], h, terms)
            at = columns % K if kind == "periodic" else columns
            place[j] = np.where(at < kept, at + j * kept, np.iinfo(np.int64).max)
        return knots, coef, place, np.arange(p, dtype=np.int64) * kept

    def _natural(self, c, h, K):
        """Polynomials of the N_j of (7) that are not 0 on each piece, and their columns."""
        pieces, d = len(c), self.degree
        ends = natural_combinations(c, h)
        new, columns = np.zeros_like(c), np.empty((pieces, d + 1), dtype=np.int64)
        for k in range(pieces):
            full = np.zeros((d + 1, K + 2))
            full[:, k : k + d + 1] = c[k]
            N = full[:, 1:-1] + np.outer(full[:, 0], ends[0]) + np.outer(full[:, -1], ends[1])
            start = min(max(k - 1, 0), max(K - d - 1, 0))
            columns[k] = start + np.arange(d + 1)
            new[k, :, : min(d + 1, K)] = N[:, start : start + d + 1]
        return new, columns

    @property
    def bsplines_(self):
        """The splines of each column as SciPy's objects."""
        check_is_fitted(self, "_t")
        from scipy.interpolate import BSpline

        d, periodic = self.degree, self.extrapolation == "periodic"
        K = len(self._t) - d - 1
        coef = np.eye(K)
        if periodic:
            coef = np.vstack([np.eye(K - d), np.eye(K - d)[:d]])
        outside = (
            "periodic" if periodic else self.extrapolation in ("continue", "linear", "natural")
        )
        return [BSpline.construct_fast(t.copy(), coef, d, outside, 0) for t in self._t.T]

    def transform(self, X):
        """Evaluate the splines.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        Z : {ndarray, sparse matrix} of shape (n_samples, n_features_out_)
        """
        check_is_fitted(self)
        X = rows_to_map(self, X, ensure_all_finite=self._finite(), dtype=FLOATS)
        knots, coef, place, lowest = self._tables
        (n, p), kept = X.shape, self.n_features_out_ // X.shape[1]
        if self.extrapolation == "error":
            low, high = extremes(X)
            if (low < knots[:, 0]).any() or (high > knots[:, -1]).any():
                raise ValueError(
                    "`X` contains values beyond the limits of the knots: Out of bounds. Use "
                    "another extrapolation, as 'constant'."
                )
        if self.sparse_output:
            return self._sparse(X)
        period, out = self.extrapolation == "periodic", np.zeros((n, self.n_features_out_))

        def part(rows):
            Z = np.ascontiguousarray(X[rows], dtype=np.float64)
            none = np.empty((0, p), dtype=np.int64)
            spline_rows(Z, knots, coef, place, lowest, period, kept, out[rows], none)

        run(part, split(n, 4 * n_threads(), least=1 + THREAD // out.shape[1]))
        out = out.astype(X.dtype, copy=False)
        return np.asfortranarray(out) if self.order == "F" else out

    def _sparse(self, X):
        """The d + 1 splines that are not 0, in CSR."""
        knots, coef, place, _ = self._tables
        (n, p), r = X.shape, place.shape[2]
        values, found = np.zeros((n, p * r)), np.empty((n, p), dtype=np.int64)
        compact = np.broadcast_to(np.arange(p * r).reshape(p, 1, r), place.shape).copy()
        period, Z = self.extrapolation == "periodic", np.ascontiguousarray(X, dtype=np.float64)
        low = np.arange(p, dtype=np.int64) * r
        spline_rows(Z, knots, coef, compact, low, period, r, values, found)
        columns = place[np.arange(p), np.maximum(found, 0)].reshape(n, p * r)
        there = (columns < self.n_features_out_) & (np.repeat(found, r, axis=1) >= 0)
        starts = np.r_[0, np.cumsum(there.sum(axis=1))]
        index = np.int32 if values.size < 2**31 else np.int64
        data = values[there].astype(X.dtype, copy=False)
        shape = (n, self.n_features_out_)
        out = sparse.csr_array((data, columns[there].astype(index), starts.astype(index)), shape)
        out.sum_duplicates()
        return _align_api_if_sparse(out)

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
        kept = self.n_features_out_ // self.n_features_in_
        return np.array([f"{name}_sp_{k}" for name in names for k in range(kept)], dtype=object)
