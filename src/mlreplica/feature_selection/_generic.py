"""Univariate selection by name: for searches over the kind of selection"""

from numbers import Real
from typing import Any

from sklearn.utils.validation import check_is_fitted

from mlreplica.core.compat import Interval, StrOptions

from ._error_rates import SelectFdr, SelectFpr, SelectFwe
from ._scores import f_classif
from ._univariate import CARD, FOUND, SCORE, SelectKBest, SelectPercentile, UnivariateSelector


class GenericUnivariateSelect(UnivariateSelector):
    __doc__ = f"""One of the univariate selectors, by name: for searches over the kind of selection.

    Parameters
    ----------
    {SCORE}
    mode : {{"percentile", "k_best", "fpr", "fdr", "fwe"}}, default="percentile"
        Which selector.
    param : "all", float or int, default=1e-5
        Its parameter: percentile, k or alpha.

    Attributes
    ----------
    {FOUND}

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.feature_selection import GenericUnivariateSelect
    >>> X, y = load_iris(return_X_y=True)
    >>> GenericUnivariateSelect(mode="k_best", param=3).fit_transform(X, y).shape
    (150, 3)
    """

    card = CARD
    SELECTORS = {
        "percentile": (SelectPercentile, "percentile"),
        "k_best": (SelectKBest, "k"),
        "fpr": (SelectFpr, "alpha"),
        "fdr": (SelectFdr, "alpha"),
        "fwe": (SelectFwe, "alpha"),
    }
    _parameter_constraints: dict = {
        **UnivariateSelector._parameter_constraints,
        "mode": [StrOptions(set(SELECTORS))],
        "param": [Interval(Real, 0, None, closed="left"), StrOptions({"all"})],
    }

    def __init__(
        self, score_func: Any = f_classif, *, mode="percentile", param: float | str = 1e-5
    ):
        self.score_func = score_func
        self.mode = mode
        self.param = param

    def _selector(self):
        """The selector of this mode, with the scores found."""
        kind, name = self.SELECTORS[self.mode]
        return kind(score_func=self.score_func, **{name: self.param})

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._selector().__sklearn_tags__().target_tags.required
        return tags

    def _warn_of_parameters(self, X):
        self._selector()._warn_of_parameters(X)

    def _get_support_mask(self):
        check_is_fitted(self)
        selector = self._selector()
        selector.scores_, selector.pvalues_ = self.scores_, self.pvalues_
        return selector._get_support_mask()
