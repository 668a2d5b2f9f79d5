r"""KNN imputation: a gap is filled by the rows most like its row

The distance of two rows with gaps, over the q of p columns that both have,

    d(x, y) = √(p/q Σ_j (x_j − y_j)²)                                                        (1)

A missing x_j becomes the mean of y_j over the k rows y nearest to x that have column j, weighted as
in k-nearest-neighbour regression. If no such row shares a column with x, the mean of column j.

References
----------
Troyanskaya et al.: Missing value estimation methods for DNA microarrays. Bioinformatics 17 (2001).
"""

from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    Hidden,
    Interval,
    StrOptions,
    _fit_context,
    is_scalar_nan,
)
from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run, split
from mlreplica.core.space.walk import before, insert
from mlreplica.core.validation import FLOATS, validate_data

from ._imputer import Imputer

BLOCK = 32  # rows that are measured together


@kernel
def nearest_donors(V, there, x, known, start, columns, D, N):
    """Fill D and N with the nearest rows that have the columns each row lacks, by (1) squared.

    V, there (blocks, p, BLOCK): values, 0 in gaps, and 1 where there is one. Row i of x lacks the
    columns[start_i … start_(i+1) − 1], and each has its own row of D and N, sorted.
    """
    blocks, p, width = V.shape
    r, q = np.empty(width), np.empty(width)
    k = D.shape[1]
    for i in range(len(x)):
        for c in range(start[i], start[i + 1]):
            D[c, :] = np.inf
            N[c, :] = -1
        for b in range(blocks):
            r[:] = 0.0
            q[:] = 0.0
            for j in range(p):
                if known[i, j]:
                    v, here, x_j = V[b, j], there[b, j], x[i, j]
                    for a in range(width):
                        t = (v[a] - x_j) * here[a]
                        r[a] += t * t
                        q[a] += here[a]
            for a in range(width):
                r[a] = r[a] / q[a] * p  # NaN without a common column
            for c in range(start[i], start[i + 1]):
                here, worst = there[b, columns[c]], D[c, k - 1]
                for a in range(width):
                    if (
                        r[a] < worst
                        and here[a] > 0.0
                        and before(r[a], b * width + a, worst, N[c, k - 1])
                    ):
                        insert(D[c], N[c], r[a], b * width + a)
                        worst = D[c, k - 1]


class KNNImputer(Imputer):
    """Fill gaps with the mean of the k nearest rows that have the column: distance (1).

    Parameters
    ----------
    missing_values : number, str, None or NaN, default=nan
        What marks a gap.
    n_neighbors : int, default=5
        k.
    weights : {"uniform", "distance"} or callable, default="uniform"
        Rows count 1, 1/distance, or what a function makes of the distances.
    metric : "nan_euclidean" or callable, default="nan_euclidean"
        The distance (1), or a function f(x, y, *, missing_values).
    copy : bool, default=True
        Leave X as it is.
    add_indicator : bool, default=False
        Add columns that say where gaps were.
    keep_empty_features : bool, default=False
        Keep columns that had no value in `fit`, as 0.

    Attributes
    ----------
    indicator_ : MissingIndicator or None
        Says where gaps were.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.impute import KNNImputer
    >>> X = [[1, 2, np.nan], [3, 4, 3], [np.nan, 6, 5], [8, 8, 7]]
    >>> KNNImputer(n_neighbors=2).fit_transform(X)
    array([[1. , 2. , 4. ],
           [3. , 4. , 3. ],
           [5.5, 6. , 5. ],
           [8. , 8. , 7. ]])
    """

    card = Card(
        page="k-nearest-neighbours",
        checks="gaps",
        input="rows",
        use="gaps in tables whose rows come in kinds",
        good="no model; keeps relations between columns; never holds all distances",
        bad="looks at every row for every gap; blurs what few rows have",
        time="O(n p) per row with a gap",
        memory="O(n p)",
        rescaling="needed: distances depend on the units of the columns",
        missing="filled",
        instead="trees that take gaps as they are, as HistGradientBoostingClassifier",
    )
    _parameter_constraints: dict = {
        **Imputer._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "weights": [StrOptions({"uniform", "distance"}), callable, Hidden(None)],
        "metric": [StrOptions({"nan_euclidean"}), callable],
        "copy": ["boolean"],
    }

    def __init__(
        self,
        *,
        missing_values: Any = np.nan,
        n_neighbors=5,
        weights: Any = "uniform",
        metric: Any = "nan_euclidean",
        copy=True,
        add_indicator=False,
        keep_empty_features=False,
    ):
        self.missing_values = missing_values
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.metric = metric
        self.copy = copy

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = is_scalar_nan(self.missing_values)
        return tags

    def _rows(self, X, *, reset):
        """X as floats, and where it has gaps."""
        by_nan = is_scalar_nan(self.missing_values)
        X = validate_data(
            self,
            X,
            dtype=FLOATS,
            ensure_all_finite="allow-nan" if by_nan else True,
            copy=self.copy,
            reset=reset,
            force_writeable=not reset,
        )
        return X, np.isnan(X) if by_nan else self.missing_values == X

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Keep the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with gaps.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        self : KNNImputer
        """
        self._fit_X, self._mask_fit_X = self._rows(X, reset=True)
        self._valid_mask = ~self._mask_fit_X.all(axis=0)
        self._learn_marks(self._fit_X, self._mask_fit_X)
        return self

    def transform(self, X):
        """Fill the gaps.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with gaps.

        Returns
        -------
        X : ndarray of shape (n_samples, n_output_features)
            Without the columns that had no value in `fit`.
        """
        check_is_fitted(self)
        X, gaps = self._rows(X, reset=False)
        wanted = gaps & self._valid_mask
        rows = np.flatnonzero(wanted.any(axis=1))
        if len(rows):
            found = self._values(X[rows], gaps[rows], wanted[rows])
            X[rows[np.nonzero(wanted[rows])[0]], np.nonzero(wanted[rows])[1]] = found
        if self.keep_empty_features:
            X[:, ~self._valid_mask] = 0
        else:
            X = X[:, self._valid_mask]
        return self._with_marks(X, X, gaps)

    def _kept(self):
        return self.keep_empty_features | self._valid_mask

    def _values(self, x, gaps, wanted):
        """The values of the gaps that are wanted, row by row."""
        owner, columns = np.nonzero(wanted)
        k = min(self.n_neighbors, len(self._fit_X))
        search = self._search_by_python if callable(self.metric) else self._search
        D, N = search(x, gaps, owner, columns, k)
        alone = ~np.isfinite(D[:, 0])
        weights = self._weights(np.where(np.isfinite(D), D, np.nan))
        donors = np.where(N >= 0, self._fit_X[np.maximum(N, 0), columns[:, None]], 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            values = (weights * donors).sum(axis=1) / weights.sum(axis=1)
        if alone.any():
            known = np.where(self._mask_fit_X, 0.0, self._fit_X).sum(axis=0)
            means = known / np.maximum((~self._mask_fit_X).sum(axis=0), 1)
            values[alone] = means[columns[alone]]
        return values

    def _weights(self, D):
        """Weights of donors at distances D, 0 where there is none."""
        if self.weights in (None, "uniform"):
            return np.isfinite(D) * 1.0
        if self.weights == "distance":
            with np.errstate(divide="ignore"):
                w = 1.0 / D
            at = np.isinf(w)
            w[at.any(axis=1)] = at[at.any(axis=1)]
        else:
            w = self.weights(D)
            w = np.isfinite(D) * 1.0 if w is None else np.asarray(w, dtype=float)
        return np.where(np.isnan(w) | np.isnan(D), 0.0, w)

    def _search(self, x, gaps, owner, columns, k):
        """Distances and indices of the donors of every gap."""
        (n, p), blocks = self._fit_X.shape, -(-len(self._fit_X) // BLOCK)
        V, there = np.zeros((2, blocks * BLOCK, p))
        unit = max(float(np.abs(np.where(self._mask_fit_X, 0.0, self._fit_X)).max()), 1e-300)
        unit = 1.0 if 1e-100 < unit < 1e100 else unit
        V[:n] = np.where(self._mask_fit_X, 0.0, self._fit_X) / unit
        there[:n] = ~self._mask_fit_X
        V, there = (
            np.ascontiguousarray(a.reshape(blocks, BLOCK, p).transpose(0, 2, 1)) for a in (V, there)
        )
        x = np.where(gaps, 0.0, x).astype(np.float64) / unit
        start = np.searchsorted(owner, np.arange(len(x) + 1))
        D, N = np.empty((len(owner), k)), np.empty((len(owner), k), np.int64)

        def part(s):
            cells = slice(start[s.start], start[s.stop])
            begin = start[s.start : s.stop + 1] - cells.start
            at = columns[cells]
            nearest_donors(V, there, x[s], ~gaps[s], begin, at, D[cells], N[cells])

        run(part, split(len(x), 8 * n_threads(), least=8))
        return np.sqrt(D, out=D) * unit, N

    def _search_by_python(self, x, gaps, owner, columns, k):
        """The same by a function of two rows with gaps."""
        call = partial(self.metric, missing_values=self.missing_values)
        D, N = np.full((len(owner), k), np.inf), np.full((len(owner), k), -1)
        start = np.searchsorted(owner, np.arange(len(x) + 1))
        for i, row in enumerate(x):
            d = np.array([call(row, other) for other in self._fit_X], dtype=float)
            d[np.isnan(d)] = np.inf
            order = np.argsort(d, kind="stable")
            for c in range(start[i], start[i + 1]):
                near = order[~self._mask_fit_X[order, columns[c]]][:k]
                D[c, : len(near)], N[c, : len(near)] = d[near], near
        return D, N
