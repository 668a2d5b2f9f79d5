r"""The lasso's path with α chosen by an information criterion

With s² the variance of the noise, and as many degrees of freedom as there are weights (Zou, Hastie,
Tibshirani 2007), minus twice the log-likelihood plus its penalty is, at every point of the path,

    n log(2π s²) + ‖y − Xw‖²/s² + κ · #{j : w_j ≠ 0},     κ = 2 (AIC) or log n (BIC)         (9)

If s² is not given, it is ‖r‖²/(n − p − 1) for the residual r of least squares.
"""

from math import log
from numbers import Real
from typing import Any

import numpy as np
from sklearn.linear_model import LassoLarsIC as Reference

from mlreplica.core.compat import Interval, StrOptions
from mlreplica.linear_model.least_squares.linear_regression import LinearRegression

from .estimators import LarsFit, LassoLars
from .path import EPS


class LassoLarsIC(LarsFit):
    """The lasso by its exact path, with α chosen by an information criterion.

    One path of all rows, and no folds: AIC aims at prediction, BIC at the right columns. Both take
    the model for true and the variance of its noise for known.

    Parameters
    ----------
    criterion : {"aic", "bic"}, default="aic"
        Which one.
    fit_intercept : bool, default=True
        Fit b; otherwise b = 0.
    verbose : bool or int, default=False
        Write a line for every so many events.
    precompute : bool, "auto" or ndarray of shape (n_features, n_features), default="auto"
        True: work on the Gram matrix XᵀX. An array: it is that matrix, of the centred X. "auto",
        False: the solver decides for itself.
    max_iter : int, default=500
        The most columns that enter or leave.
    eps : float, default=2.2e-16
        A column depends on those in use if they leave at most this part of its squared length, or
        1e-12 if that is more; it does not enter then.
    copy_X : bool, default=True
        If False, X may be centred in place.
    positive : bool, default=False
        Ask for w ≥ 0.
    noise_variance : float, default=None
        Variance of the noise; None: that of the residuals of least squares, for which there have to
        be more rows than columns.

    Attributes
    ----------
    alpha_ : float
        The chosen α.
    alphas_ : ndarray of shape (n_alphas,)
        α where a column enters or leaves, the largest first, down to 0.
    criterion_ : ndarray of shape (n_alphas,)
        The criterion at each of them.
    noise_variance_ : float
        Variance of the noise.
    coef_ : ndarray of shape (n_features,)
        w.
    intercept_ : float
        b.
    certificate_, dual_gap_ : float
        Duality gap at `alpha_`: the objective is at most this far above its minimum.
    n_iter_ : int
        How many columns entered or left.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> from mlreplica.linear_model import LassoLarsIC
    >>> X = [[-2, 2], [-1, 1], [0, 0], [1, 1], [2, 2]]
    >>> y = [-2.2222, -1.1111, 0, -1.1111, -2.2222]
    >>> LassoLarsIC(criterion="bic").fit(X, y).coef_.round(4)
    array([ 0.    , -1.1111])
    """

    card = LassoLars.card.but(
        good="selects columns; chooses alpha from one path, without folds",
        bad="trusts the model and the variance of its noise; needs more rows than columns",
        instead="LassoLarsCV, which trusts neither",
    )

    method = "lasso"
    _parameter_constraints = {
        **LassoLars._parameter_constraints,
        "criterion": [StrOptions({"aic", "bic"})],
        "noise_variance": [Interval(Real, 0, None, closed="left"), None],
    }
    for _name in ("alpha", "fit_path", "jitter", "random_state"):
        _parameter_constraints.pop(_name)

    def __init__(
        self,
        criterion="aic",
        *,
        fit_intercept=True,
        verbose: int = False,
        precompute: Any = "auto",
        max_iter=500,
        eps=EPS,
        copy_X=True,
        positive=False,
        noise_variance=None,
    ):
        self.criterion = criterion
        self.fit_intercept = fit_intercept
        self.verbose = verbose
        self.precompute = precompute
        self.max_iter = max_iter
        self.eps = eps
        self.copy_X = copy_X
        self.positive = positive
        self.noise_variance = noise_variance

    def fit(self, X, y, copy_X=None):
        """Follow the path and choose α.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Target.
        copy_X : bool, default=None
            If given, it counts instead of the parameter of this name.

        Returns
        -------
        self : LassoLarsIC
            The fitted estimator.
        """
        self._validate_params()
        X, Y = self._rows(X, y, self.copy_X if copy_X is None else copy_X, several=False)
        self.noise_variance_ = self._variance(X, Y[:, 0])
        return self._follow(X, Y, 0.0, self.max_iter)

    def _variance(self, X, y):
        """s² of (9)."""
        if self.noise_variance is not None:
            return self.noise_variance
        rest = len(X) - X.shape[1] - self.fit_intercept
        if rest <= 0:
            raise ValueError(
                f"You are using {type(self).__name__} in the case where the number of samples is "
                "smaller than the number of features. In this setting, getting a good estimate for "
                "the variance of the noise is not possible. Provide an estimate of the noise "
                "variance in the constructor."
            )
        model = LinearRegression(positive=self.positive, fit_intercept=self.fit_intercept).fit(X, y)
        return float(np.sum((y - model.predict(X)) ** 2)) / rest

    def _publish(self, problem, rows, paths, alpha, fit_path):
        """Choose the best point of the path by (9), and publish it."""
        path, n, variance = paths[0], len(problem.y[0]), self.noise_variance_
        W = np.array([state.w for state in path])
        used = np.flatnonzero(W.any(axis=0))
        f = problem.X[:, used] @ W[:, used].T - W @ problem.x_mean
        squares = ((problem.y[0][:, None] - f) ** 2).sum(axis=0)
        cost = 2.0 if self.criterion == "aic" else log(n)
        fit = n * np.log(2.0 * np.pi * variance) + squares / variance
        self.criterion_ = fit + cost * np.count_nonzero(W, axis=1)
        best = path[int(self.criterion_.argmin())]
        super()._publish(problem, rows, [[best]], best.alpha, False)
        self.alpha_, self.n_iter_ = best.alpha, path[-1].events
        self.alphas_ = np.array([state.alpha for state in path], dtype=problem.X.dtype)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags


Reference.register(LassoLarsIC)
