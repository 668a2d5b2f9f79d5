r"""Error rates: columns kept by their p-values, so that few of them are wrong

With the p-value p_j of each of p columns, of which p₀ are unrelated to the target:

    SelectFpr    p_j < α                                          keeps α p₀ of them on average
    SelectFwe    p_j < α / p                                      keeps any with probability ≤ α
    SelectFdr    p_j ≤ p_(i), largest i with p_(i) ≤ α i / p      expected share of errors ≤ α  (9)

Step (9) is Benjamini and Hochberg's: p_(1) ≤ p_(2) ≤ … are the sorted p-values.

References
----------
Benjamini, Hochberg: Controlling the false discovery rate. JRSS B 57 (1995), 289–300.
"""

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.compat import Interval

from ._scores import f_classif
from ._univariate import CARD, UnivariateSelector

DOC = """{what}

    Parameters
    ----------
    score_func : callable, default=f_classif
        (X, y) → scores and p-values of all columns.
    alpha : float, default=0.05
        {alpha}

    Attributes
    ----------
    scores_, pvalues_ : ndarray of shape (n_features,)
        Scores and p-values of the columns.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.

    Examples
    --------
    >>> from mlreplica.datasets import load_diabetes
    >>> from mlreplica.feature_selection import {name}, f_regression
    >>> {name}(f_regression).fit_transform(*load_diabetes(return_X_y=True)).shape
    (442, 9)
    """


class ByPValue(UnivariateSelector):
    """Keeps columns with small p-values; a subclass says which are small."""

    _parameter_constraints: dict = {
        **UnivariateSelector._parameter_constraints,
        "alpha": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(self, score_func: Any = f_classif, *, alpha=5e-2):
        self.score_func = score_func
        self.alpha = alpha

    def _p_values(self):
        """The p-values, which this selector needs."""
        check_is_fitted(self)
        if self.pvalues_ is None:
            raise ValueError(
                f"{type(self).__name__} needs p-values, and score_func returned none; use "
                "SelectKBest or SelectPercentile."
            )
        return self.pvalues_


class SelectFpr(ByPValue):
    __doc__ = DOC.format(
        name="SelectFpr",
        what="Keep the columns with a p-value below α: a test of each column at that level.",
        alpha="Share of unrelated columns that is kept, on average.",
    )
    card = CARD

    def _get_support_mask(self):
        return self._p_values() < self.alpha


class SelectFdr(ByPValue):
    __doc__ = DOC.format(
        name="SelectFdr",
        what="Keep columns such that the expected share of unrelated ones is at most α, by (9).",
        alpha="The largest expected share of errors among the columns that are kept.",
    )
    card = CARD

    def _get_support_mask(self):
        p_values = self._p_values()
        p = len(p_values)
        ordered = np.sort(p_values)
        small = ordered[ordered <= self.alpha / p * np.arange(1, p + 1)]
        return p_values <= small.max() if len(small) else np.zeros(p, dtype=bool)


class SelectFwe(ByPValue):
    __doc__ = DOC.format(
        name="SelectFwe",
        what="Keep the columns with a p-value below α/p: probably not a single wrong one.",
        alpha="The largest probability that any unrelated column is kept.",
    )
    card = CARD

    def _get_support_mask(self):
        p_values = self._p_values()
        return p_values < self.alpha / len(p_values)
