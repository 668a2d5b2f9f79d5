r"""Least angle regression and the lasso by its path, with α chosen by cross-validation

On a fold, the residuals of the rows left out are linear in α between two points of its path, with
residuals r₁ and r₂, and their mean square is a parabola: for t from 0 to 1,

    ‖(1 − t) r₁ + t r₂‖² = (1 − t)² ‖r₁‖² + 2t(1 − t) r₁ᵀr₂ + t² ‖r₂‖²                       (8)

so three numbers per piece give the error at the points of every other fold's path.
"""

import warnings
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.linear_model import LarsCV as Reference
from sklearn.linear_model import LassoLarsCV as LassoReference
from sklearn.model_selection import check_cv
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from mlreplica.core.compat import Interval, _raise_for_params, _routing_enabled
from mlreplica.core.compile.threads import run
from mlreplica.linear_model.lasso.problem import LassoProblem

from .estimators import Lars, LarsFit, LassoLars
from .path import EPS, asked_gram, path_states, rows_of, stacked


def fold_path(model, X, y, train, test):
    """α along the path of the rows `train`, rising, and the residuals of the rows `test`."""
    gram = asked_gram(model.precompute)
    gram = "auto" if isinstance(gram, np.ndarray) else gram
    problem = LassoProblem(X[train], y[train], None, model.fit_intercept, gram)
    options = (model.method, model.positive, 0.0, model.max_iter, model.eps)
    states = list(path_states(rows_of(problem), problem.c[0], *options))[::-1]
    W = stacked(states, np.float64)
    used = np.flatnonzero(W.any(axis=1))
    f = X[test][:, used] @ W[used] + (problem.y_mean[0] - problem.x_mean @ W)
    return np.array([state.alpha for state in states]), f.T - y[test].T


def errors(alphas, residuals, wanted):
    """The mean square (8) of residuals at the wanted values of α; that of the ends beyond them."""
    own = np.einsum("ki,ki->k", residuals, residuals)
    if len(alphas) == 1:
        return np.full(len(wanted), own[0] / residuals.shape[1])
    next_to = np.einsum("ki,ki->k", residuals[:-1], residuals[1:])
    k = np.clip(np.searchsorted(alphas, wanted) - 1, 0, len(alphas) - 2)
    t = np.clip((wanted - alphas[k]) / (alphas[k + 1] - alphas[k]), 0.0, 1.0)
    total = (1 - t) ** 2 * own[k] + 2 * t * (1 - t) * next_to[k] + t**2 * own[k + 1]
    return total / residuals.shape[1]


class LarsCV(LarsFit):
    """Least angle regression, with the end of the path chosen by cross-validation.

    Every fold follows its own path; the α with the least mean of the folds' mean squared errors
    ends the path of all rows.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Fit b; otherwise b = 0.
    verbose : bool or int, default=False
        Write a line for every so many events of the last fit.
    max_iter : int, default=500
        The most columns that enter.
    precompute : bool, "auto" or ndarray of shape (n_features, n_features), default="auto"
        Whether the paths work on the Gram matrix. A matrix serves the last fit alone.
    cv : int, splitter or iterable, default=None
        Folds; None means five.
    max_n_alphas : int, default=1000
        About how many values of α are compared, at most.
    n_jobs : int, default=None
        Threads over which folds are spread; None means all.
    eps : float, default=2.2e-16
        A column depends on those in use if they leave at most this part of its squared length, or
        1e-12 if that is more; it does not enter then.
    copy_X : bool, default=True
        If False, X may be centred in place.

    Attributes
    ----------
    alpha_ : float
        The chosen α.
    cv_alphas_ : ndarray of shape (n_cv_alphas,)
        The values of α that were compared: those of the points of all folds' paths.
    mse_path_ : ndarray of shape (n_cv_alphas, n_folds)
        Mean squared error on each fold.
    alphas_ : ndarray of shape (n_alphas,)
        α where a column enters, the largest first, and at the end.
    active_ : list of int
        The columns in use, in the order in which they came.
    coef_path_ : ndarray of shape (n_features, n_alphas)
        The weights at each α, linear in between.
    coef_ : ndarray of shape (n_features,)
        The weights at the end.
    intercept_ : float
        b.
    n_iter_ : int
        How many columns entered.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.linear_model import LarsCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5))
    >>> y = X @ [2.0, 0.0, 0.0, -1.0, 0.0] + 0.1 * rng.normal(size=60)
    >>> LarsCV(cv=3).fit(X, y).coef_.round(1)
    array([ 2.,  0.,  0., -1.,  0.])
    """

    card = Lars.card.but(
        good="the whole path of every fold; its length chosen by cross-validation",
        instead="LassoLarsCV for an objective and a certificate, LassoCV for many columns",
    )

    _parameter_constraints = {
        **{k: v for k, v in Lars._parameter_constraints.items() if k != "n_nonzero_coefs"},
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "cv": ["cv_object"],
        "max_n_alphas": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
    }
    for _name in ("fit_path", "jitter", "random_state"):
        _parameter_constraints.pop(_name)

    def __init__(
        self,
        *,
        fit_intercept=True,
        verbose: int = False,
        max_iter=500,
        precompute: Any = "auto",
        cv=None,
        max_n_alphas=1000,
        n_jobs=None,
        eps=EPS,
        copy_X=True,
    ):
        self.fit_intercept = fit_intercept
        self.verbose = verbose
        self.max_iter = max_iter
        self.precompute = precompute
        self.cv = cv
        self.max_n_alphas = max_n_alphas
        self.n_jobs = n_jobs
        self.eps = eps
        self.copy_X = copy_X

    def fit(self, X, y, **params):
        """Choose α, then follow the path of all rows to it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Target.
        **params : dict
            Passed on to the splitter, if metadata routing is enabled.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        self._validate_params()
        _raise_for_params(params, self, "fit")
        X, Y = self._rows(X, y, self.copy_X, several=False)
        if isinstance(self.precompute, np.ndarray):
            warnings.warn(
                f'Parameter "precompute" cannot be an array in {type(self).__name__}. '
                'Automatically switch to "auto" instead.',
                stacklevel=2,
            )
        split = process_routing(self, "fit", **params).splitter.split if _routing_enabled() else {}
        folds = list(check_cv(self.cv).split(X, Y[:, 0], **split))
        found = run(
            lambda train, test: fold_path(self, X, Y, train, test),
            *zip(*folds, strict=True),
            n_jobs=self.n_jobs,
        )
        wanted = np.unique(np.concatenate([alphas for alphas, _ in found]))
        wanted = wanted[:: max(1, len(wanted) // self.max_n_alphas)]
        self.mse_path_ = np.array([errors(*path, wanted) for path in found]).T.astype(X.dtype)
        self.cv_alphas_ = wanted
        self.alpha_ = float(wanted[self.mse_path_.mean(axis=1).argmin()])
        return self._follow(X, Y, self.alpha_, self.max_iter)

    def get_metadata_routing(self):
        """Where metadata go: to the splitter's `split`.

        Returns
        -------
        routing : MetadataRouter
            What is routed to whom.
        """
        mapping = MethodMapping().add(caller="fit", callee="split")
        return MetadataRouter(owner=self).add(splitter=check_cv(self.cv), method_mapping=mapping)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags


class LassoLarsCV(LarsCV):
    """The lasso by its exact path, with α chosen by cross-validation.

    Every fold follows its own path, and all points of all paths are compared: no grid is needed.
    The α with the least mean of the folds' mean squared errors ends the path of all rows.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Fit b; otherwise b = 0.
    verbose : bool or int, default=False
        Write a line for every so many events of the last fit.
    max_iter : int, default=500
        The most columns that enter or leave.
    precompute : bool, "auto" or ndarray of shape (n_features, n_features), default="auto"
        Whether the paths work on the Gram matrix. A matrix serves the last fit alone.
    cv : int, splitter or iterable, default=None
        Folds; None means five.
    max_n_alphas : int, default=1000
        About how many values of α are compared, at most.
    n_jobs : int, default=None
        Threads over which folds are spread; None means all.
    eps : float, default=2.2e-16
        A column depends on those in use if they leave at most this part of its squared length, or
        1e-12 if that is more; it does not enter then.
    copy_X : bool, default=True
        If False, X may be centred in place.
    positive : bool, default=False
        Ask for w ≥ 0.

    Attributes
    ----------
    alpha_ : float
        The chosen α.
    cv_alphas_ : ndarray of shape (n_cv_alphas,)
        The values of α that were compared: those of the points of all folds' paths.
    mse_path_ : ndarray of shape (n_cv_alphas, n_folds)
        Mean squared error on each fold.
    alphas_ : ndarray of shape (n_alphas,)
        α where a column enters or leaves, the largest first, and at the end.
    active_ : list of int
        The columns in use, in the order in which they came.
    coef_path_ : ndarray of shape (n_features, n_alphas)
        The weights at each α, linear in between.
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
    >>> import numpy as np
    >>> from mlreplica.linear_model import LassoLarsCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5))
    >>> y = X @ [2.0, 0.0, 0.0, -1.0, 0.0] + 0.1 * rng.normal(size=60)
    >>> LassoLarsCV(cv=3).fit(X, y).coef_.round(1)
    array([ 2.,  0.,  0., -1.,  0.])
    """

    card = LassoLars.card.but(
        good="selects columns; chooses alpha among all points of the folds' exact paths",
        instead="LassoCV where many columns are used, LassoLarsIC without folds",
    )

    method = "lasso"
    _parameter_constraints = {**LarsCV._parameter_constraints, "positive": ["boolean"]}

    def __init__(
        self,
        *,
        fit_intercept=True,
        verbose: int = False,
        max_iter=500,
        precompute: Any = "auto",
        cv=None,
        max_n_alphas=1000,
        n_jobs=None,
        eps=EPS,
        copy_X=True,
        positive=False,
    ):
        super().__init__(
            fit_intercept=fit_intercept,
            verbose=verbose,
            max_iter=max_iter,
            precompute=precompute,
            cv=cv,
            max_n_alphas=max_n_alphas,
            n_jobs=n_jobs,
            eps=eps,
            copy_X=copy_X,
        )
        self.positive = positive


Reference.register(LarsCV)
LassoReference.register(LassoLarsCV)
