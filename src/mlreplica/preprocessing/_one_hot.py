r"""One-hot encoding: a column of zeros and ones for every category

Column j has the categories v_1, …, v_m. The entry x_ij becomes the row                       (1)

    e(x_ij) = (1[x_ij = v_1], …, 1[x_ij = v_m]) ∈ {0, 1}^m

The m columns add up to one, so together with an intercept they are linearly dependent. Without
the column of v_1, `drop="first"`, a weight is the difference from v_1. Infrequent categories share
one column, the last. A value that is no category is a row of zeros, or belongs to them.
"""

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.utils.validation import check_array, check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    StrOptions,
    _align_api_if_sparse,
    _check_feature_names_in,
    _fit_context,
)

from ._encoder import INFREQUENT, CategoryEncoder

CARD = Card(
    page="encoding",
    checks="categories",
    input="rows",
    use="categories as columns of zeros and ones, for models that add up columns",
    good="assumes no order; sparse; rare and unknown categories have a place",
    bad="as many columns as categories; nothing learned of a category seen once",
    time="O(n p)",
    memory="O(n p), sparse",
    rescaling="not needed: categories have no unit",
    missing="accepted: a category of their own",
    instead="OrdinalEncoder for trees; TargetEncoder for many categories",
)


class OneHotEncoder(CategoryEncoder):
    """Encode each category as a column of zeros and ones: (1).

    Parameters
    ----------
    categories : "auto" or list of array-like, default="auto"
        The categories of each column, in the order of the new columns; "auto" learns and sorts
        them.
    drop : {"first", "if_binary"}, array-like of shape (n_features,) or None, default=None
        Which category of each column gets no new column: the first, the first of columns with two,
        the given ones, none.
    sparse_output : bool, default=True
        Return a sparse matrix in CSR.
    dtype : dtype, default=np.float64
        Of the result.
    handle_unknown : {"error", "ignore", "infrequent_if_exist", "warn"}, default="error"
        A value that `fit` has not seen is an error, a row of zeros, or an infrequent category if
        there are some; "warn" also warns.
    min_frequency : int, float or None, default=None
        Categories with fewer rows, or a smaller share of all rows, are infrequent.
    max_categories : int or None, default=None
        The most categories a column may have; the rest are infrequent.
    feature_name_combiner : "concat" or callable, default="concat"
        f(name of the column, category) → name of the new column; "concat" joins them by "_".

    Attributes
    ----------
    categories_ : list of ndarray
        The categories of each column.
    drop_idx_ : ndarray of shape (n_features,) or None
        The number of the category without a column, or None.
    infrequent_categories_ : list of ndarray or None
        Those that share a column; only if `min_frequency` or `max_categories` is set.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.
    feature_name_combiner : callable or None
        As given.

    Examples
    --------
    >>> from mlreplica.preprocessing import OneHotEncoder
    >>> encoder = OneHotEncoder(handle_unknown="ignore").fit([["red"], ["blue"], ["red"]])
    >>> encoder.transform([["red"], ["green"]]).toarray()
    array([[0., 1.],
           [0., 0.]])
    >>> encoder.get_feature_names_out(["colour"])
    array(['colour_blue', 'colour_red'], dtype=object)
    """

    card = CARD
    _parameter_constraints: dict = CategoryEncoder._parameter_constraints | {
        "drop": [StrOptions({"first", "if_binary"}), "array-like", None],
        "handle_unknown": [StrOptions({"error", "ignore", "infrequent_if_exist", "warn"})],
        "sparse_output": ["boolean"],
        "feature_name_combiner": [StrOptions({"concat"}), callable],
    }

    def __init__(
        self,
        *,
        categories: Any = "auto",
        drop=None,
        sparse_output=True,
        dtype=np.float64,
        handle_unknown="error",
        min_frequency=None,
        max_categories=None,
        feature_name_combiner: Any = "concat",
    ):
        self.categories = categories
        self.drop = drop
        self.sparse_output = sparse_output
        self.dtype = dtype
        self.handle_unknown = handle_unknown
        self.min_frequency = min_frequency
        self.max_categories = max_categories
        self.feature_name_combiner = feature_name_combiner

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn the categories of each column.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, texts, any objects; frames, too.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        self : OneHotEncoder
        """
        self._fit(X)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X, y=None):
        """Learn the categories and encode X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, texts, any objects; frames, too.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        X_out : CSR matrix or ndarray of shape (n_samples, n_new_columns)
        """
        self._refuse_sparse_frames()
        return self._encode(self._fit(X))

    def _fit(self, X):
        """Learn; return the number of every entry, by column."""
        codes = self._learn(X, refuse_unknown=self.handle_unknown == "error")
        self.drop_idx_ = self._find_dropped()
        return codes

    def _find_dropped(self):
        """The number of the category of each column that gets no new one."""
        if self.drop is None:
            return None
        if isinstance(self.drop, str):
            found = []
            for j in range(self.n_features_in_):
                number, size = self._groups(j)
                is_dropped = self.drop == "first" or size == 2
                found.append(int(np.argmax(number == 0)) if is_dropped else None)
            return np.array(found, dtype=object)
        drop = np.asarray(self.drop, dtype=object)
        if len(drop) != self.n_features_in_:
            raise ValueError(
                "`drop` should have length equal to the number of features "
                f"({self.n_features_in_}), got {len(drop)}"
            )
        found = [int(find.of_values([v])[0]) for find, v in zip(self._finders, drop, strict=True)]
        missing = [f"Category: {drop[j]}, Feature: {j}" for j, c in enumerate(found) if c < 0]
        if missing:
            raise ValueError(
                "The following categories were supposed to be dropped, but were not found in the "
                "training data.\n" + "\n".join(missing)
            )
        for j, c in enumerate(found):
            rare = self._rare(j)
            if rare is not None and c in rare:
                raise ValueError(
                    f"Unable to drop category {drop[j]!r} from feature {j} because it is "
                    "infrequent; drop a frequent one."
                )
        return np.array(found, dtype=object)

    def _places(self, j):
        """The new column of each category of column j, −1 without; how many; the dropped one."""
        number, size = self._groups(j)
        if self.drop_idx_ is None or self.drop_idx_[j] is None:
            return number, size, None
        dropped = number[self.drop_idx_[j]]
        return np.where(number == dropped, -1, number - (number > dropped)), size - 1, dropped

    def transform(self, X):
        """Encode rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns seen in `fit`.

        Returns
        -------
        X_out : CSR matrix or ndarray of shape (n_samples, n_new_columns)
        """
        check_is_fitted(self)
        self._refuse_sparse_frames()
        return self._encode(self._number(X, refuse_unknown=self.handle_unknown == "error"))

    def _refuse_sparse_frames(self):
        """Raise if a frame is wanted of a sparse result."""
        config = getattr(self, "_sklearn_output_config", {})
        kind = config.get("transform") or get_config()["transform_output"]
        if kind != "default" and self.sparse_output:
            raise ValueError(
                f"{kind.capitalize()} output does not support sparse data. Set sparse_output=False "
                f"to output {kind} dataframes or disable {kind.capitalize()} output via "
                '`encoder.set_output(transform="default")`, which returns a sparse matrix.'
            )

    def _encode(self, codes):
        """Rows (1) of numbers of categories, by column."""
        n, p = len(codes[0]), len(codes)
        at, width, unknown = np.empty((n, p), np.int32), 0, []
        joins = self.handle_unknown in ("infrequent_if_exist", "warn")
        for j, numbers in enumerate(codes):
            place, size, _ = self._places(j)
            rare = self._rare(j)
            last = place[rare[0]] if joins and rare is not None else -1
            place = np.append(place, last)  # numbers of −1 find it
            np.add(place, width, out=place, where=place >= 0)
            at[:, j] = place.astype(np.int32)[numbers]
            width += size
            if self.handle_unknown != "error" and (numbers < 0).any():
                unknown.append(j)
        if unknown and (self.drop_idx_ is not None or self.handle_unknown == "warn"):
            where = "the infrequent category." if joins else "all zeros"
            warnings.warn(
                f"Found unknown categories in columns {unknown} during transform. These unknown "
                f"categories will be encoded as {where}",
                UserWarning,
                stacklevel=3,
            )
        return self._sparse(at, width) if self.sparse_output else self._dense(at, width)

    def _sparse(self, at, width):
        """CSR with ones in columns `at` (n, p), ascending in a row; −1 stands for none."""
        n, p = at.shape
        there = at >= 0
        if there.all():
            indices, start = at.ravel(), np.arange(0, n * p + 1, p, dtype=np.int32)
        else:
            indices, start = at[there], np.zeros(n + 1, np.int32)
            np.cumsum(there.sum(axis=1), out=start[1:])
        if n * p > np.iinfo(np.int32).max:
            start = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
        ones = np.ones(len(indices), self.dtype)
        return _align_api_if_sparse(sp.csr_array((ones, indices, start), shape=(n, width)))

    def _dense(self, at, width):
        """The same as an array."""
        out = np.zeros((len(at), width), self.dtype)
        for column in at.T:
            if (column >= 0).all():
                out[np.arange(len(at)), column] = 1
            else:
                rows = np.flatnonzero(column >= 0)
                out[rows, column[rows]] = 1
        return out

    def inverse_transform(self, X):
        """Return the categories of encoded rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_new_columns)
            Encoded rows; the largest entry of a category's columns counts.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            None where a row is all zeros, and no category was dropped.
        """
        check_is_fitted(self)
        X = check_array(X, accept_sparse="csr")
        places = [self._places(j) for j in range(self.n_features_in_)]
        width = sum(size for _, size, _ in places)
        if X.shape[1] != width:
            raise ValueError(
                "Shape of the passed X data is not correct. "
                f"Expected {width} columns, got {X.shape[1]}."
            )
        names = [self._names(j) for j in range(len(places))]
        out = np.empty((X.shape[0], len(places)), np.result_type(*(c.dtype for c in names)))
        at = 0
        for j, (_, size, dropped) in enumerate(places):
            code, is_zero = largest(X, at, size)
            at += size
            if dropped is not None:
                code = np.where(is_zero, dropped, code + (code >= dropped))
            column = names[j][code]
            if is_zero.any() and dropped is None:
                column = self._unknown(column, is_zero, j)
                out = out if out.dtype == object else out.astype(object)
            out[:, j] = column
        return out

    def _unknown(self, column, is_zero, j):
        """Values of a column whose rows are all zeros, without a category that was dropped."""
        rare = self._rare(j)
        if self.handle_unknown in ("infrequent_if_exist", "warn") and rare is not None:
            fill = INFREQUENT
        elif self.handle_unknown == "error":
            rows = np.flatnonzero(is_zero)
            raise ValueError(
                f"Samples {rows} can not be inverted when drop=None and handle_unknown='error' "
                "because they contain all zeros"
            )
        else:
            fill = None
        column = column.astype(object)
        column[is_zero] = fill
        return column

    def _names(self, j):
        """The categories of column j, the infrequent ones as one, before any is dropped."""
        rare = self._rare(j)
        if rare is None:
            return self.categories_[j]
        frequent = np.delete(self.categories_[j], rare).astype(object)
        return np.append(frequent, np.array([INFREQUENT], dtype=object))

    def get_feature_names_out(self, input_features=None):
        """Return the names of the new columns.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns of X.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        given = _check_feature_names_in(self, input_features)
        combine = self.feature_name_combiner
        if combine == "concat":
            combine = lambda name, category: f"{name}_{category}"
        elif not isinstance(trial := combine("feature", "category"), str):
            raise TypeError(
                "When `feature_name_combiner` is a callable, it should return a Python string. "
                f"Got {type(trial)} instead."
            )
        names = []
        for j, feature in enumerate(given):
            dropped = self._places(j)[2]
            names += [combine(feature, c) for k, c in enumerate(self._names(j)) if k != dropped]
        return np.array(names, dtype=object)


def largest(X, at, size):
    """Of the columns at, …, at + size − 1: the largest of each row, and which rows are zero."""
    if size == 0:
        return np.zeros(X.shape[0], np.int64), np.ones(X.shape[0], bool)
    part = X[:, at : at + size]
    if not sp.issparse(part):
        return part.argmax(axis=1), ~part.any(axis=1)
    is_zero = np.asarray(part.sum(axis=1)).ravel() == 0
    if (part.data == 1).all() and (np.diff(part.indptr) <= 1).all():
        code = np.zeros(part.shape[0], np.int64)
        code[~is_zero] = part.indices
        return code, is_zero
    return part.toarray().argmax(axis=1), is_zero
