"""MultiTaskElasticNetCV and MultiTaskLassoCV: the penalty of several targets by cross-validation"""

from itertools import islice
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .cv import ElasticNetCV, LassoCV
from .multi_task import MultiTaskProblem, block_coordinate_descent
from .multi_task_estimators import MultiTaskElasticNet, MultiTaskLasso, several_targets
from .path import geometric

CV_PARAMETERS = """\
eps : float, default=1e-3
        The smallest α, as a part of the largest, if `alphas` is a number.
    alphas : int or array-like, default=100
        The values of α, or how many; then the largest is the least for which W = 0.
    fit_intercept : bool, default=True
        Fit b; otherwise b = 0.
    max_iter : int, default=1000
        The most sweeps, for each α.
    tol : float, default=1e-4
        A fit stops when its duality gap is at most `tol` times ‖Y‖²/n (Y centred)."""


CV_ATTRIBUTES = """\
dual_gap_, certificate_ : float
        Duality gap of the last fit: its objective is at most this far above its minimum.
    n_iter_ : int
        Sweeps of the last fit.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any."""


class MultiTaskElasticNetCV(ElasticNetCV):
    __doc__ = f"""Elastic net for several targets, with α and `l1_ratio` chosen by cross-validation.

    Every fold follows one warm-started path of α for each `l1_ratio`; the pair with the least mean
    of the folds' mean squared errors is fitted on all rows.

    Parameters
    ----------
    l1_ratio : float or list of float, default=0.5
        Share of the penalty that is not squared, or several to choose from.
    {CV_PARAMETERS}
    cv : int, splitter or iterable, default=None
        Folds; None means five.
    copy_X : bool, default=True
        Without effect: X is never written to.
    verbose : bool or int, default=0
        Above 0, write the choice on standard output.
    n_jobs : int, default=None
        Threads over which folds are spread; None means all.
    random_state : int, RandomState instance or None, default=None
        Draws the columns if `selection` is "random".
    selection : {{"cyclic", "random"}}, default="cyclic"
        Order of the columns in a sweep.

    Attributes
    ----------
    alpha_ : float
        The chosen α.
    l1_ratio_ : float
        The chosen `l1_ratio`.
    coef_ : ndarray of shape (n_targets, n_features)
        W, transposed.
    intercept_ : ndarray of shape (n_targets,)
        b.
    mse_path_ : ndarray of shape (n_l1_ratio, n_alphas, n_folds) or (n_alphas, n_folds)
        Mean squared error on each fold.
    alphas_ : ndarray of shape (n_alphas,) or (n_l1_ratio, n_alphas)
        The values of α.
    {CV_ATTRIBUTES}

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.linear_model import MultiTaskElasticNetCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 4))
    >>> Y = X[:, :1] * [1.0, 2.0, 3.0] + 0.1 * rng.normal(size=(60, 3))
    >>> model = MultiTaskElasticNetCV(l1_ratio=[0.5, 1.0], cv=3).fit(X, Y)
    >>> float(model.l1_ratio_), model.mse_path_.shape
    (1.0, (2, 100, 3))
    """

    card = MultiTaskElasticNet.card.but(
        good="selects columns for all targets; chooses the penalty by cross-validation",
        instead="LassoCV, which chooses columns for each target by itself",
    )

    _parameter_constraints = {**ElasticNetCV._parameter_constraints}
    for _name in ("precompute", "positive"):
        _parameter_constraints.pop(_name)

    def __init__(
        self,
        *,
        l1_ratio: Any = 0.5,
        eps=1e-3,
        alphas: Any = 100,
        fit_intercept=True,
        max_iter=1000,
        tol=1e-4,
        cv=None,
        copy_X=True,
        verbose=0,
        n_jobs=None,
        random_state=None,
        selection="cyclic",
    ):
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.copy_X = copy_X
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.selection = selection

    def fit(self, X, y, sample_weight=None, **params):
        """Choose α, then fit W and b on all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples, n_targets)
            Their targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights ≥ 0, for the fits and for the errors on the folds.
        **params : dict
            Passed on to the splitter, if metadata routing is enabled.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        return super().fit(X, y, sample_weight, **params)

    def _training_set(self, X, y, sample_weight):
        """X, the targets and weights, checked."""
        alternative = type(self).__name__.replace("MultiTask", "")
        return several_targets(self, X, y, sample_weight, alternative)

    def _grids(self, X, y, s, ratios):
        """The values of α for each l1_ratio, the largest first."""
        if not isinstance(self.alphas, Integral):
            return super()._grids(X, y, s, ratios)
        if min(ratios) == 0.0:
            raise ValueError(
                "Automatic alpha grid generation is not supported for l1_ratio=0. Please supply "
                "a grid by providing your estimator with the appropriate `alphas=` argument."
            )
        top = MultiTaskProblem(X, y, s, self.fit_intercept).largest_alpha()
        return [geometric(top / ratio, self.eps, self.alphas) for ratio in ratios]

    def _errors(self, X, y, s, ratio, alphas, train, test):
        """Mean squared error on the rows `test` of every fit on the rows `train`."""
        weight = None if s is None else s[train]
        problem = MultiTaskProblem(X[train], y[train], weight, self.fit_intercept)
        rng = check_random_state(self.random_state) if self.selection == "random" else None
        W, errors = np.zeros((X.shape[1], y.shape[1])), []
        for alpha in alphas:
            states = block_coordinate_descent(
                problem, alpha * ratio, alpha * (1.0 - ratio), W, rng=rng
            )
            for state in islice(states, self.max_iter):
                if state.gap <= self.tol * problem.size:
                    break
            residual = X[test] @ W + (problem.y_mean - problem.x_mean @ W) - y[test]
            errors.append((residual**2).mean(axis=1))
        return np.average(errors, axis=1, weights=None if s is None else s[test])

    def _model(self, alpha, ratio):
        """The estimator for the last fit."""
        return MultiTaskElasticNet(
            alpha=alpha,
            l1_ratio=ratio,
            fit_intercept=self.fit_intercept,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=self.random_state,
            selection=self.selection,
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags


class MultiTaskLassoCV(MultiTaskElasticNetCV):
    __doc__ = f"""Lasso for several targets, with α chosen by cross-validation.

    Every fold follows one warm-started path of α; the α with the least mean of the folds'
    mean squared errors is fitted on all rows.

    Parameters
    ----------
    {CV_PARAMETERS}
    copy_X : bool, default=True
        Without effect: X is never written to.
    cv : int, splitter or iterable, default=None
        Folds; None means five.
    verbose : bool or int, default=False
        Above 0, write the choice on standard output.
    n_jobs : int, default=None
        Threads over which folds are spread; None means all.
    random_state : int, RandomState instance or None, default=None
        Draws the columns if `selection` is "random".
    selection : {{"cyclic", "random"}}, default="cyclic"
        Order of the columns in a sweep.

    Attributes
    ----------
    alpha_ : float
        The chosen α.
    coef_ : ndarray of shape (n_targets, n_features)
        W, transposed.
    intercept_ : ndarray of shape (n_targets,)
        b.
    mse_path_ : ndarray of shape (n_alphas, n_folds)
        Mean squared error on each fold.
    alphas_ : ndarray of shape (n_alphas,)
        The values of α.
    {CV_ATTRIBUTES}

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.linear_model import MultiTaskLassoCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 4))
    >>> Y = X[:, :1] * [1.0, 2.0, 3.0] + 0.1 * rng.normal(size=(60, 3))
    >>> MultiTaskLassoCV(cv=3).fit(X, Y).coef_.round(1)[:, 0]
    array([1., 2., 3.])
    """

    card = MultiTaskElasticNetCV.card.but(instead="LassoCV for each target by itself")

    _parameter_constraints = {**MultiTaskElasticNetCV._parameter_constraints}
    _parameter_constraints.pop("l1_ratio")

    path = LassoCV.path

    def __init__(
        self,
        *,
        eps=1e-3,
        alphas: Any = 100,
        fit_intercept=True,
        max_iter=1000,
        tol=1e-4,
        copy_X=True,
        cv=None,
        verbose: int = False,
        n_jobs=None,
        random_state=None,
        selection="cyclic",
    ):
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.copy_X = copy_X
        self.cv = cv
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.selection = selection

    def _model(self, alpha, ratio):
        """The estimator for the last fit."""
        model = super()._model(alpha, ratio)
        return MultiTaskLasso(**{k: v for k, v in model.get_params().items() if k != "l1_ratio"})
