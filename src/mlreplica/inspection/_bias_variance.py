r"""Bias and variance, measured

A model f̂ comes from a random training set. At a point x whose target is y = f(x) + ε, with
E ε = 0, E ε² = σ² and ε independent of the training set,

    E (y − f̂)²  =  σ²  +  (E f̂ − f)²  +  E (f̂ − E f̂)²                          (1)
     error       = noise +    bias²     +   variance

Fit R independent training sets; let f̂_r be the r-th model's prediction at x and f̄ their mean.
Whatever the number c,

    1/R Σ_r (f̂_r − c)²  =  (f̄ − c)²  +  1/R Σ_r (f̂_r − f̄)²                     (2)

(f̄ − f)² is too large by variance/R on average, the last sum too small by as much. Moved over,

    v = 1/(R−1) Σ_r (f̂_r − f̄)²,     b = (f̄ − f)² − v/R                         (3)

are both unbiased, and by (2) with c = f they still add up to 1/R Σ_r (f̂_r − f)². So b may come out
below zero: it then is zero within its error.

Without the truth there is only y. With c = y, for models that have not seen this row,

    1/R Σ_r (y − f̂_r)²  =  v  +  [ (y − f̄)² − v/R ]                            (4)

where the bracket estimates σ² + bias²: one target a row cannot tell the two apart.

Standard errors are the jackknife's. With t_(r) the value of a term without draw r,

    se² = (R−1)/R Σ_r (t_(r) − t̄)²                                              (5)

It is too large rather than too small on average: by up to √2 for b where there is no bias.

Geman, Bienenstock, Doursat, Neural networks and the bias/variance dilemma (1992). Efron, Stein,
The jackknife estimate of variance (1981).
"""

from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn import config_context, get_config
from sklearn.base import clone, is_classifier
from sklearn.utils import (
    check_array,
    check_random_state,
    indexable,
)
from sklearn.utils.validation import column_or_1d

from mlreplica.core.compat import (
    HasMethods,
    Interval,
    StrOptions,
    _num_samples,
    _safe_indexing,
    validate_params,
)
from mlreplica.core.compile import threads as parallel

TEST_POINTS = 1000  # as many draws more as give at least so many points


class Terms(NamedTuple):
    """The four terms of (1), each a number or an array; what cannot be known is nan."""

    noise: Any
    bias2: Any
    variance: Any
    error: Any


@dataclass(frozen=True, eq=False)
class BiasVariance:
    """What `bias_variance` measured.

    A sweep over a parameter gives every array one axis more, in front: one entry a value.

    Attributes
    ----------
    noise, bias2, variance, error : float
        The terms of E(y − f̂)² = noise + bias² + variance, averaged over the points. From data,
        `noise` and `bias2` are nan: only their sum, `noise_and_bias2`, can be known.
    standard_errors : Terms
        Monte-Carlo standard error of each term: how far more draws would move it. `noise` is
        given and has none.
    at : Terms
        The terms at each point, arrays of shape (n_points,).
    X_test : array-like of shape (n_points, n_features)
        The points.
    target : ndarray of shape (n_points,)
        The truth f at the points; from data, y.
    predictions : ndarray of shape (n_draws, n_points)
        f̂_r at the points; nan where the r-th model has seen the row.
    param_name : str or None
        The parameter that was swept.
    param_range : list or None
        Its values.
    """

    noise: Any
    bias2: Any
    variance: Any
    error: Any
    standard_errors: Terms
    at: Terms
    X_test: Any
    target: np.ndarray
    predictions: np.ndarray
    param_name: str | None
    param_range: list | None

    @property
    def noise_and_bias2(self):
        """error − variance: noise + bias², which data alone can give."""
        return self.error - self.variance

    @property
    def mean_prediction(self):
        """The mean model f̄ at the points."""
        return np.nanmean(self.predictions, axis=-2)

    def plot(self, *, ax=None):
        """Draw the terms: curves over the swept parameter, or one bar each.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; the current axes by default.

        Returns
        -------
        matplotlib Axes
        """
        from mlreplica.plotting._curves import BiasVarianceDisplay
        from mlreplica.plotting._style import pyplot

        return BiasVarianceDisplay(self).plot(ax=ax or pyplot().gca()).ax_


@validate_params(
    {
        "estimator": [HasMethods(["fit", "predict"])],
        "source": [callable, "array-like", "sparse matrix"],
        "y": ["array-like", None],
        "X_test": ["array-like", None],
        "n_draws": [Interval(Integral, 3, None, closed="left")],
        "resampling": [StrOptions({"bootstrap", "half"})],
        "param_name": [str, None],
        "param_range": ["array-like", None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    },
    prefer_skip_nested_validation=False,  # the estimator's parameters are the user's
)
def bias_variance(
    estimator,
    source,
    y=None,
    *,
    X_test=None,
    n_draws=200,
    resampling="bootstrap",
    param_name=None,
    param_range=None,
    random_state=None,
    n_jobs=None,
):
    """Measure noise, bias² and variance of a regressor's squared error (1).

    **From a generator that knows the truth.** Every draw gives a new training set; all models
    predict the same points, where the truth is known, so that all terms can be measured (3).

    **From data (X, y).** Every draw takes some of the rows, and the others are predicted. Then
    noise and bias² cannot be told apart (4), and the spread is that of models trained on draws
    from these rows, which stand for new data only as well as they resemble it. A bootstrap draw
    has n rows, of which 63 % differ; half of the rows without repetition spread an average by as
    much, and are kinder to models that mistake repetition for evidence.

    Parameters
    ----------
    estimator : regressor
        Cloned for every draw. Where its `random_state` is None, each draw has a new seed, so its
        own randomness is part of the variance.
    source : callable or array-like of shape (n_samples, n_features)
        `source(random_state=seed)` returns (X, y, truth), where `truth.predict(X)` is the mean
        of y and `truth.noise` the standard deviation of y about it, the same for every seed:
        the generators of `mlreplica.datasets`, with their options bound by `functools.partial`.
        Or the data X.
    y : array-like of shape (n_samples,), optional
        The targets, if `source` is X.
    X_test : array-like of shape (n_points, n_features), optional
        The points at which a generator's models are compared. By default the rows of further
        draws, 1000 or more.
    n_draws : int, default=200
        Number of training sets R.
    resampling : {"bootstrap", "half"}, default="bootstrap"
        How rows are drawn from data.
    param_name, param_range : str and list, optional
        Sweep a parameter of the estimator over these values, on the same draws.
    random_state : int, RandomState or None
        Seed of the draws.
    n_jobs : int, optional
        Threads; None for all cores.

    Returns
    -------
    BiasVariance

    Examples
    --------
    The best straight line through a parabola x² on [−1, 1] is 1/3; its bias² is the
    variance of x², 4/45 = 0.089.

    >>> from functools import partial
    >>> from mlreplica.datasets import make_polynomial_regression
    >>> from mlreplica.inspection import bias_variance
    >>> from mlreplica.linear_model import LinearRegression
    >>> parabola = partial(make_polynomial_regression, 100, coef=[0, 0, 1], noise=0.5)
    >>> found = bias_variance(LinearRegression(), parabola, random_state=0)
    >>> print(f"{found.noise:.2f} + {found.bias2:.2f} + {found.variance:.2f} = {found.error:.2f}")
    0.25 + 0.09 + 0.01 = 0.35
    """
    if is_classifier(estimator):
        raise ValueError(
            f"bias_variance measures squared error; {type(estimator).__name__} is a classifier."
        )
    if (param_name is None) != (param_range is None):
        raise ValueError("param_name and param_range go together: give both or none.")
    if param_range is not None and len(param_range) == 0:
        raise ValueError("param_range must have at least one value.")
    swept = [{}] if param_range is None else [{param_name: value} for value in param_range]
    models = [clone(estimator).set_params(**values) for values in swept]
    rng = check_random_state(random_state)
    if callable(source):
        if y is not None:
            raise ValueError("y is given, but source is a generator, which draws its own.")
        drawn = from_generator(models, source, X_test, n_draws, rng, n_jobs)
    else:
        if y is None:
            raise ValueError("source is data, so y is required.")
        if X_test is not None:
            raise ValueError("X_test needs a generator as source; data is predicted out of bag.")
        drawn = from_data(models, source, y, resampling == "half", n_draws, rng, n_jobs)
    X_test, target, noise, F = drawn  # F (R, values, points)

    found = [decompose(F[:, k], target, noise) for k in range(len(models))]
    at, se = (Terms(*map(np.array, zip(*part, strict=True))) for part in zip(*found, strict=True))
    means = Terms(*(term.mean(axis=-1) for term in at))
    F = np.moveaxis(F, 0, 1)
    if param_range is None:
        at, se, means = (Terms(*(term[0] for term in terms)) for terms in (at, se, means))
        F = F[0]
    values = None if param_range is None else list(param_range)
    return BiasVariance(*means, se, at, X_test, target, F, param_name, values)


def decompose(F, target, noise):
    """Terms (3) or (4) at each point, and the standard errors (5) of their means.

    F is (R, points), nan where a model has nothing to say; noise is σ², or nan where target is y.
    """
    seen = ~np.isnan(F)
    R = seen.sum(axis=0)  # per point
    mean = np.where(seen, F, 0.0).sum(axis=0) / R
    away = np.where(seen, (F - mean) ** 2, 0.0)
    off = np.where(seen, (F - target) ** 2, 0.0)
    v = away.sum(axis=0) / (R - 1)
    b = (mean - target) ** 2 - v / R
    known = not np.isnan(noise)
    sigma2, bias2 = np.full(len(b), noise), b if known else np.full(len(b), np.nan)
    at = Terms(sigma2, bias2, v, b + v + (noise if known else 0.0))

    # What leaving out a draw changes in the mean over the points; nothing where it was not seen.
    d_error = np.where(seen, (off.sum(axis=0) / R - off) / (R - 1), 0.0).mean(axis=1)
    d_v = np.where(seen, (v - R / (R - 1) * away) / (R - 2), 0.0).mean(axis=1)
    se_error, se_v, se_b = (
        np.sqrt((len(F) - 1) * np.var(d)) for d in (d_error, d_v, d_error - d_v)
    )
    return at, Terms(0.0 if known else np.nan, se_b, se_v, se_error)


def from_generator(models, source, X_test, n_draws, rng, n_jobs):
    """Points, truth, σ² and the predictions of models trained on fresh samples."""
    X, _, truth = sample(source, rng.randint(2**31))
    if X_test is None:
        more = -(-TEST_POINTS // len(X))
        X_test = np.concatenate([sample(source, rng.randint(2**31))[0] for _ in range(more)])
    X_test = check_array(X_test)
    f, sigma = truth.predict(X_test), truth.noise

    def predictions(seed):
        X, y, truth = sample(source, seed)
        if truth.noise != sigma or not np.array_equal(truth.predict(X_test), f):
            raise ValueError(
                "the generator's truth changes from draw to draw; fix its weights, "
                "e.g. partial(make_polynomial_regression, coef=[0, 1, -1])."
            )
        return fit_predict(models, X, y, X_test, seed)

    F = draws(predictions, rng.randint(2**31, size=n_draws), n_jobs)
    return X_test, f, float(sigma) ** 2, F


def from_data(models, X, y, half, n_draws, rng, n_jobs):
    """Rows, targets, nan for σ² and the predictions for rows that a draw has left out."""
    X, y = indexable(X, column_or_1d(y, dtype=np.float64))
    n = _num_samples(X)

    def predictions(seed):
        draw = np.random.RandomState(seed)
        rows = draw.permutation(n)[: n // 2] if half else draw.randint(n, size=n)
        others = np.setdiff1d(np.arange(n), rows)
        F = np.full((len(models), n), np.nan)
        X_out = _safe_indexing(X, others)
        F[:, others] = fit_predict(models, _safe_indexing(X, rows), y[rows], X_out, seed)
        return F

    F = draws(predictions, rng.randint(2**31, size=n_draws), n_jobs)
    least = int((~np.isnan(F[:, 0])).sum(axis=0).min())
    if least < 3:
        raise ValueError(
            f"some row was left out by {least} of {n_draws} draws, and 3 are needed; raise n_draws."
        )
    return X, y, np.nan, F


def draws(predictions, seeds, n_jobs):
    """The predictions of all draws, (R, values, points)."""
    settings = get_config()  # scikit-learn keeps them per thread

    def one(seed):
        with config_context(**settings):
            return predictions(seed)

    with parallel.one_blas_thread():  # also when one thread does it all: the same roundings
        return np.array(parallel.run(one, seeds, n_jobs=n_jobs))


def fit_predict(models, X, y, X_test, seed):
    """Train every model on (X, y): its predictions at X_test, one row a model."""
    F = np.empty((len(models), _num_samples(X_test)))
    for k, model in enumerate(models):
        names = [name for name, v in model.get_params().items() if v is None]
        seeds = {name: seed for name in names if name.endswith("random_state")}
        f = np.asarray(clone(model).set_params(**seeds).fit(X, y).predict(X_test))
        if f.shape != F[k].shape:
            raise ValueError(f"predict must return one number a row, got shape {f.shape}.")
        F[k] = f
    if not np.all(np.isfinite(F)):
        raise ValueError("a model predicted nan or infinity.")
    return F


def sample(source, seed):
    """One draw of a generator."""
    drawn = source(random_state=seed)
    if not (isinstance(drawn, tuple) and len(drawn) == 3):
        raise TypeError("source(random_state=seed) must return (X, y, truth).")
    if not (hasattr(drawn[2], "predict") and hasattr(drawn[2], "noise")):
        raise TypeError("the truth of a generator must have predict(X) and noise.")
    return drawn
