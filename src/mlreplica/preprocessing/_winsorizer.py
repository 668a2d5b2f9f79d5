r"""Winsorizing: values beyond two limits become the limits

    z = min(max(x, l_j), u_j)

with l_j and u_j two quantiles of the column, or k distances of the quartiles Q₁ and Q₃ beyond them,

    l_j = Q₁ − k (Q₃ − Q₁),      u_j = Q₃ + k (Q₃ − Q₁)

Tukey's fences are k = 1.5. A normal column has 0.7 % of its values beyond them.

References
----------
Dixon: Simplified estimation from censored normal samples. Annals of Math. Statistics 31 (1960).
Tukey: Exploratory data analysis. Addison-Wesley, 1977.
"""

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, StrOptions, _fit_context
from mlreplica.core.validation import ValidatedOnce

from ._columns import rows_to_fit, rows_to_map, weights_of
from ._order import column_quantiles


class Winsorizer(ValidatedOnce, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Cut columns at quantiles, or at k distances of the quartiles beyond them.

    Parameters
    ----------
    method : {"quantiles", "iqr"}, default="quantiles"
        How the limits are found.
    quantiles : tuple (low, high), default=(0.01, 0.99)
        The quantiles of "quantiles", as shares; 0 or 1 leaves that side as it is.
    k : float, default=1.5
        For "iqr": how many distances of the quartiles beyond them.
    copy : bool, default=True
        Leave X as it is; otherwise work in place where possible.

    Attributes
    ----------
    lower_, upper_ : ndarray of shape (n_features,)
        The limits.
    clipped_ : ndarray of shape (2, n_features)
        The share of the training rows below the lower and above the upper limit.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.

    Examples
    --------
    >>> from mlreplica.preprocessing import Winsorizer
    >>> model = Winsorizer("iqr").fit([[1.0], [2.0], [3.0], [4.0], [100.0]])
    >>> model.lower_, model.upper_, model.clipped_.ravel(), model.transform([[50.0]])
    (array([-1.]), array([7.]), array([0. , 0.2]), array([[7.]]))
    """

    card = Card(
        page="scaling",
        checks="limits",
        input="rows",
        use="a few values so far away that they would decide the fit",
        good="keeps every row; reports its limits and how many values they cut",
        bad="all values beyond a limit become equal; hides errors in the data",
        time="O(n p)",
        memory="O(n p), for a copy of X by columns",
        rescaling="not needed: limits are in the units of the column",
        missing="left out of the statistics, and kept",
        instead="RobustScaler, QuantileTransformer, a robust model as HuberRegressor",
    )
    _parameter_constraints: dict = {
        "method": [StrOptions({"quantiles", "iqr"})],
        "quantiles": [tuple],
        "k": [Interval(Real, 0, None, closed="left")],
        "copy": ["boolean"],
    }

    def __init__(self, method="quantiles", *, quantiles: Any = (0.01, 0.99), k=1.5, copy=True):
        self.method = method
        self.quantiles = quantiles
        self.k = k
        self.copy = copy

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Find the limits of every column.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            How often each row counts.

        Returns
        -------
        self : Winsorizer
        """
        low, high = self.quantiles
        if not 0 <= low < high <= 1:
            raise ValueError(
                f"quantiles must be two shares with 0 <= low < high <= 1, got {self.quantiles}; "
                "use (0.01, 0.99) to cut one percent at each end."
            )
        X = rows_to_fit(self, X)
        weight = weights_of(sample_weight, X)
        by_rank = self.method == "quantiles"
        found = column_quantiles(X, [low, high] if by_rank else [0.25, 0.75], weight)
        reach = 0.0 if by_rank else self.k * (found[1] - found[0])
        self.lower_, self.upper_ = found[0] - reach, found[1] + reach
        w = np.full(len(X), 1.0 / len(X)) if weight is None else weight / weight.sum()
        self.clipped_ = np.array([w @ (self.lower_ > X), w @ (self.upper_ < X)])
        return self

    def transform(self, X):
        """Cut rows at the limits.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_features)
        """
        X = rows_to_map(self, X)
        out = X if not self.copy and X.flags.writeable else None
        low, high = (limit.astype(X.dtype, copy=False) for limit in (self.lower_, self.upper_))
        return np.clip(X, low, high, out=out)
