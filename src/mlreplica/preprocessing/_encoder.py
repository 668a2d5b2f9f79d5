"""What encoders share: categories, learned or given, and infrequent ones joined into one

With n_c the rows that have category c, c is infrequent if n_c < `min_frequency` (a number, or a
share of all rows), or if `max_categories` − 1 categories are more frequent.
"""

from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.compat import Interval, RealNotInt, StrOptions
from mlreplica.core.compile.threads import run
from mlreplica.core.validation import ValidatedOnce

from ._categories import Coded, Finder, categories_of, is_nan
from ._read import read_columns

INFREQUENT = "infrequent_sklearn"  # the name that scikit-learn gives it
MANY = 1 << 17  # entries from which columns are read on threads


class CategoryEncoder(ValidatedOnce, TransformerMixin, BaseEstimator):
    """Base of the encoders of categories."""

    _parameter_constraints: dict = {
        "categories": [StrOptions({"auto"}), list],
        "dtype": "no_validation",
        "max_categories": [Interval(Integral, 1, None, closed="left"), None],
        "min_frequency": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            None,
        ],
    }

    def _learn(self, X, *, refuse_unknown=True, count_gaps=True):
        """Learn the categories of X; return the number of every entry, by column."""
        columns, n = read_columns(self, X, reset=True)
        if isinstance(self.categories, str):
            found = over_columns(categories_of, columns)
        elif len(self.categories) != len(columns):
            raise ValueError(
                "Shape mismatch: if categories is an array, it has to be of shape (n_features,)."
            )
        else:
            found = [
                by_given(given, column, j, refuse_unknown)
                for j, (given, column) in enumerate(zip(self.categories, columns, strict=True))
            ]
        self.categories_ = [categories for categories, _ in found]
        self._finders = [Finder(categories) for categories in self.categories_]
        codes = [numbers for _, numbers in found]
        vars(self).pop("_infrequent", None)
        if self._joins_infrequent:
            self._infrequent = [
                self._find_infrequent(categories, numbers, n, count_gaps)
                for categories, numbers in found
            ]
        return codes

    @property
    def _joins_infrequent(self):
        """Whether a parameter asks for it."""
        most, least = (getattr(self, name, None) for name in ("max_categories", "min_frequency"))
        return (most is not None and most >= 1) or least is not None

    def _find_infrequent(self, categories, codes, n, count_gaps):
        """The numbers of the infrequent categories of a column; None if there is none."""
        size = len(categories)
        counts = np.bincount(codes + 1, minlength=size + 1)[1:]
        if not count_gaps and size and is_nan(categories[-1]):
            size -= 1
            counts = counts[:size]
        least = self.min_frequency or 0
        rare = counts < (least if isinstance(least, Integral) else least * n)
        left = size - rare.sum() + 1  # the one of the infrequent counts, as in scikit-learn
        if self.max_categories is not None and self.max_categories < left:
            order = np.argsort(counts, kind="stable")
            rare[order[: size - (self.max_categories - 1)]] = True
        return np.flatnonzero(rare) if rare.any() else None

    @property
    def infrequent_categories_(self):
        """Infrequent categories of each column; None for a column without any."""
        return [
            None if rare is None else categories[rare]
            for rare, categories in zip(self._infrequent, self.categories_, strict=True)
        ]

    def _rare(self, j):
        """The numbers of the infrequent categories of column j; None if there is none."""
        return self._infrequent[j] if "_infrequent" in vars(self) else None

    def _groups(self, j):
        """The number of each category after joining infrequent ones, and how many numbers.

        The category that `_missing_indices` names, if there is one, has no number of its own.
        """
        size, rare = len(self.categories_[j]), self._rare(j)
        gap = vars(self).get("_missing_indices", {}).get(j)
        if rare is None:
            return np.arange(size), size - (gap is not None)
        frequent = np.ones(size, bool)
        frequent[rare] = False
        if gap is not None:
            frequent[gap] = False
        number = np.cumsum(frequent) - 1
        number[rare] = frequent.sum()
        return number, int(frequent.sum()) + 1

    def _number(self, X, *, refuse_unknown):
        """The number of every entry of new rows among the categories, by column; −1: unknown."""
        if "_finders" not in vars(self):
            check_is_fitted(self)
        columns, _ = read_columns(self, X, reset=False)
        for j, finder in enumerate(self._finders):
            if finder.categories is not self.categories_[j]:  # set by hand
                self._finders[j] = Finder(self.categories_[j])
        codes = over_columns(lambda finder, column: finder(column), self._finders, columns)
        if refuse_unknown:
            for j, (column, numbers) in enumerate(zip(columns, codes, strict=True)):
                refuse(column, numbers, j, "transform")
        return codes

    def __getstate__(self):
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_finders"}

    def __setstate__(self, state):
        super().__setstate__(state)
        if "categories_" in state:
            self._finders = [Finder(categories) for categories in self.categories_]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        return tags


def over_columns(function, *columns):
    """list(map(function, *columns)), on threads if the columns are long."""
    long = len(columns[-1]) > 1 and len(columns[-1]) * len(columns[-1][0]) >= MANY
    return run(function, *columns) if long else list(map(function, *columns))


def refuse(column, codes, j, when):
    """Raise if a column has values that are no categories."""
    unknown = codes < 0
    if unknown.any():
        rest = (
            Coded(column.codes[unknown], column.values)
            if isinstance(column, Coded)
            else column[unknown]
        )
        values = categories_of(rest)[0].tolist()
        raise ValueError(f"Found unknown categories {values} in column {j} during {when}")


def by_given(given, column, j, refuse_unknown):
    """Categories that the user gives, and the number of every entry of a column among them."""
    dtype = column.values.dtype if isinstance(column, Coded) else column.dtype
    categories = np.array(given, dtype=object if dtype.kind == "U" else dtype)
    if (
        categories.dtype == object
        and len(categories)
        and isinstance(categories[0], bytes)
        and dtype.kind != "S"
    ):
        raise ValueError(
            f"In column {j}, the predefined categories have type 'bytes' which is incompatible "
            f"with values of type '{dtype.type.__name__}'."
        )
    if any(is_nan(value) for value in categories[:-1]):
        raise ValueError(
            "Nan should be the last element in user provided categories, see categories "
            f"{categories} in column #{j}"
        )
    if len(set(categories.tolist())) < len(categories):
        raise ValueError(f"In column {j}, the predefined categories contain duplicate elements.")
    if dtype.kind not in "OUS":
        numbers = categories[:-1] if len(categories) and is_nan(categories[-1]) else categories
        if (np.sort(numbers) != numbers).any():
            raise ValueError("Unsorted categories are not supported for numerical categories")
    codes = Finder(categories)(column)
    if refuse_unknown:
        refuse(column, codes, j, "fit")
    return categories, codes
