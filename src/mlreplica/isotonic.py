r"""Isotonic regression: the best curve that never falls, by pooling adjacent violators

For y_1, …, y_n in the order of x and weights w_i > 0:

    minimise over f_1 ≤ f_2 ≤ … ≤ f_n:   P(f) = Σ_i w_i (y_i − f_i)²                        (1)

A solution is constant on blocks of neighbours. On a block B its best value is the mean,

    f_B = Σ_{i∈B} w_i y_i / Σ_{i∈B} w_i                                                      (2)

and two neighbouring blocks whose means fall, f_A ≥ f_B, must be one block of the solution:

    A, B  →  A ∪ B,      w = w_A + w_B,      f = (w_A f_A + w_B f_B) / w                     (3)

Take the points from the left to the right, each a block of its own, and pool (3) while the last two
blocks fall. A point is pooled at most once, so that n points cost O(n). No two of the blocks that
are left fall, and the partial sums of residuals within a block,

    Σ_{i ∈ B, i ≤ k} w_i (y_i − f_B) ≥ 0    for each k, and = 0 at the end of B              (4)

are the multipliers of the constraints: P is convex, so this proves that f is the minimum. Points of
equal x are first replaced by their mean (2), as they must have one value. Bounds on f cut the
solution off: the best bounded curve is the best curve, clipped. Between points it is interpolated.

Ayer, Brunk, Ewing, Reid, Silverman, An empirical distribution function for sampling with incomplete
information (1955); de Leeuw, Hornik, Mair, Isotone optimization in R (2009).
"""

import warnings
from numbers import Real

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, RegressorMixin, TransformerMixin
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    Interval,
    StrOptions,
    _check_sample_weight,
    _fit_context,
    validate_params,
)
from mlreplica.core.compile.jit import kernel
from mlreplica.core.validation import FLOATS

__all__ = ["IsotonicRegression", "check_increasing", "isotonic_regression"]


@kernel
def pool(y, w, start):
    """Overwrite y by the solution of (1); w and start, weights and ends of blocks, are scratch."""
    b = -1  # the last block
    for i in range(len(y)):
        mean, weight = y[i], w[i]
        while b >= 0 and y[b] >= mean:  # (3)
            total = w[b] + weight
            mean += (y[b] - mean) * (w[b] / total)
            weight = total
            b -= 1
        b += 1
        y[b], w[b], start[b] = mean, weight, i + 1
    end = len(y)
    for k in range(b, -1, -1):  # from the right, as the blocks lie in the first entries of y
        first, mean = start[k - 1] if k > 0 else 0, y[k]
        for i in range(first, end):
            y[i] = mean
        end = first


@kernel
def merge_ties(x, y, w, gap):
    """Replace points less than `gap` above the first of them by their mean; how many are left."""
    k, weight, total = 0, w[0], w[0] * y[0]
    for i in range(1, len(x)):
        if x[i] - x[k] >= gap:
            y[k], w[k] = total / weight, weight
            k += 1
            x[k], weight, total = x[i], 0.0, 0.0
        weight += w[i]
        total += w[i] * y[i]
    y[k], w[k] = total / weight, weight
    return k + 1


def best_monotone(y, w, increasing):
    """The solution of (1) for float64 y and w, or of its mirror image if it must not increase."""
    f = np.array(y if increasing else -y)
    pool(f, np.array(w), np.empty(len(f), dtype=np.int64))
    return f if increasing else -f


@validate_params({"x": ["array-like"], "y": ["array-like"]}, prefer_skip_nested_validation=True)
def check_increasing(x, y):
    """Tell whether y rather increases than decreases with x, by the sign of Spearman's correlation.

    A warning says so if the interval that holds the correlation with 95 % (Fisher) has both signs.

    Parameters
    ----------
    x, y : array-like of shape (n_samples,)

    Returns
    -------
    increasing : bool

    Examples
    --------
    >>> from mlreplica.isotonic import check_increasing
    >>> bool(check_increasing([1, 2, 3, 4, 5], [10, 8, 6, 4, 2]))
    False
    """
    x, y = np.ravel(x), np.ravel(y)
    n = len(x)
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b = rankdata(x) - (n + 1) / 2, rankdata(y) - (n + 1) / 2
        rho = (a @ b) / np.sqrt((a @ a) * (b @ b))  # NaN if one is constant
    if n > 3 and abs(rho) < 1.0:
        F, width = np.arctanh(rho), 1.96 / np.sqrt(n - 3)
        if abs(F) < width:
            warnings.warn(
                "Confidence interval of the Spearman correlation coefficient spans zero. "
                "Determination of ``increasing`` may be suspect.",
                stacklevel=3,
            )
    return rho >= 0


BOUND = [Interval(Real, None, None, closed="both"), None]


@validate_params(
    {
        "y": ["array-like"],
        "sample_weight": ["array-like", None],
        "y_min": BOUND,
        "y_max": BOUND,
        "increasing": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def isotonic_regression(y, *, sample_weight=None, y_min=None, y_max=None, increasing=True):
    """Return the curve (1) for values y in the order of x.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
    sample_weight : array-like of shape (n_samples,), default=None
        Weights > 0; ones by default.
    y_min, y_max : float, default=None
        Bounds of the curve.
    increasing : bool, default=True
        Whether the curve must not fall; else it must not rise.

    Returns
    -------
    f : ndarray of shape (n_samples,)

    Examples
    --------
    >>> from mlreplica.isotonic import isotonic_regression
    >>> isotonic_regression([1.0, 4.0, 2.0, 3.0, 5.0])
    array([1., 3., 3., 3., 5.])
    """
    y = check_array(y, ensure_2d=False, input_name="y", dtype=FLOATS)
    if y.ndim != 1:
        raise ValueError(f"y must be one-dimensional, got an array of shape {y.shape}.")
    w = _check_sample_weight(sample_weight, y, dtype=np.float64)
    if not (w > 0).all():
        raise ValueError("Weights w must be strictly positive; leave out the values of weight 0.")
    f = best_monotone(y.astype(np.float64), w, increasing)
    if y_min is not None or y_max is not None:
        f = np.clip(f, y_min, y_max)
    return f.astype(y.dtype, copy=False)


class IsotonicRegression(RegressorMixin, TransformerMixin, BaseEstimator):
    """The best curve through points that never falls: (1), interpolated between the points.

    Minimises the weighted sum of squared residuals over all functions of x that never fall (or
    never rise). Points of equal x count as their mean.

    Parameters
    ----------
    y_min, y_max : float, default=None
        Bounds of the predictions.
    increasing : bool or "auto", default=True
        Whether the curve rises, falls, or does what Spearman's correlation says.
    out_of_bounds : {"nan", "clip", "raise"}, default="nan"
        What is predicted beyond the x seen in `fit`: NaN, the value at the end, or an error.

    Attributes
    ----------
    X_min_, X_max_ : float
        The least and the largest x.
    X_thresholds_, y_thresholds_ : ndarray of shape (n_thresholds,)
        The curve's corners.
    f_ : callable
        The curve.
    increasing_ : bool
        Whether it rises.

    Examples
    --------
    >>> from mlreplica.isotonic import IsotonicRegression
    >>> model = IsotonicRegression().fit([1, 2, 3, 4], [1.0, 3.0, 2.0, 5.0])
    >>> model.predict([1.5, 2.5, 3.5])
    array([1.75, 2.5 , 3.75])
    """

    card = Card(
        page="isotonic-regression",
        checks="isotonic",
        input="column",
        data=lambda: (np.arange(20.0) % 7, np.sin(np.arange(20.0))),
        use="a number that can only grow with one column: a dose, an age, a score to calibrate",
        good="no parameter to choose; the exact best curve in one pass",
        bad="one column only; steps where points are few; no value beyond the points",
        time="O(n log n), O(n) if x is sorted",
        memory="O(n)",
        rescaling="not needed: only the order of x matters",
        instead="HistGradientBoostingRegressor with monotonic_cst for several columns",
    )

    __metadata_request__predict = {"T": UNUSED}
    __metadata_request__transform = {"T": UNUSED}

    _parameter_constraints = {
        "y_min": BOUND,
        "y_max": BOUND,
        "increasing": ["boolean", StrOptions({"auto"})],
        "out_of_bounds": [StrOptions({"nan", "clip", "raise"})],
    }

    def __init__(
        self, *, y_min=None, y_max=None, increasing: bool | str = True, out_of_bounds="nan"
    ):
        self.y_min = y_min
        self.y_max = y_max
        self.increasing = increasing
        self.out_of_bounds = out_of_bounds

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the curve.

        Parameters
        ----------
        X : array-like of shape (n_samples,) or (n_samples, 1)
            Training points.
        y : array-like of shape (n_samples,)
            Their values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0; ones by default.

        Returns
        -------
        self : IsotonicRegression
            The fitted estimator.
        """
        X = check_array(X, input_name="X", dtype=FLOATS, ensure_2d=False)
        y = check_array(y, input_name="y", dtype=X.dtype, ensure_2d=False)
        check_consistent_length(X, y, sample_weight)
        x, dtype = one_column(X), X.dtype
        self.increasing_ = check_increasing(x, y) if self.increasing == "auto" else self.increasing
        w = _check_sample_weight(sample_weight, x, dtype=np.float64, ensure_non_negative=True)
        if not (w > 0).all():
            x, y, w = x[w > 0], y[w > 0], w[w > 0]
        order = slice(None) if (x[:-1] <= x[1:]).all() else np.argsort(x, kind="stable")
        x, y, w = (np.array(a[order], dtype=np.float64) for a in (x, y, w))
        n = merge_ties(x, y, w, float(np.finfo(dtype).resolution))
        x, f = x[:n], best_monotone(y[:n], w[:n], self.increasing_)
        if self.y_min is not None or self.y_max is not None:
            f = np.clip(f, self.y_min, self.y_max)
        x, f = x.astype(dtype, copy=False), f.astype(dtype, copy=False)
        self.X_min_, self.X_max_ = x[0], x[-1]
        corner = np.ones(n, dtype=bool)  # a point between two of its own value is none
        corner[1:-1] = (f[1:-1] != f[:-2]) | (f[1:-1] != f[2:])
        self.X_thresholds_, self.y_thresholds_ = x[corner], f[corner]
        return self

    @property
    def f_(self):
        """The curve, with `out_of_bounds` beyond its ends."""
        check_is_fitted(self, "X_thresholds_")
        return self._curve

    def _curve(self, x):
        """The value at each x."""
        t, f = self.X_thresholds_, self.y_thresholds_
        if len(t) == 1:
            return np.full(x.shape, f[0])
        outside = (x < t[0]) | (x > t[-1])
        if self.out_of_bounds == "raise" and outside.any():
            side, end = ("below", t[0]) if (x < t[0]).any() else ("above", t[-1])
            raise ValueError(
                f"A value ({x[outside][0]}) in x_new is {side} the interpolation range's "
                f"{'minimum' if side == 'below' else 'maximum'} value ({end}); "
                "use out_of_bounds='clip'."
            )
        return np.where(outside, np.nan, np.interp(x, t, f))

    def predict(self, T):
        """Predict by linear interpolation.

        Parameters
        ----------
        T : array-like of shape (n_samples,) or (n_samples, 1)
            New points.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The curve at these points.
        """
        dtype = self.X_thresholds_.dtype if hasattr(self, "X_thresholds_") else np.float64
        T = one_column(check_array(T, dtype=dtype, ensure_2d=False))
        check_is_fitted(self, "X_thresholds_")
        if self.out_of_bounds == "clip":
            T = np.clip(T, self.X_min_, self.X_max_)
        return self._curve(T).astype(T.dtype, copy=False)

    def transform(self, T):
        """Return what `predict` returns.

        Parameters
        ----------
        T : array-like of shape (n_samples,) or (n_samples, 1)
            New points.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The curve at these points.
        """
        return self.predict(T)

    def get_feature_names_out(self, input_features=None):
        """Return the name of the output, "isotonicregression0".

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Ignored.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self, "X_thresholds_")
        return np.asarray([f"{type(self).__name__.lower()}0"], dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags


def one_column(X):
    """X as a vector."""
    if X.ndim == 1 or (X.ndim == 2 and X.shape[1] == 1):
        return X.reshape(-1)
    raise ValueError("Isotonic regression input X should be a 1d array or 2d array with 1 feature")
