"""Lasso and elastic net with α chosen by cross-validation: one path a fold, folds on threads"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import (
    BaseEstimator,
    RegressorMixin,
)
from sklearn.linear_model import ElasticNetCV as Reference
from sklearn.linear_model import LassoCV as LassoReference
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import check_consistent_length, column_or_1d

from mlreplica.core.compat import (
    Interval,
    StrOptions,
    _fit_context,
    _raise_for_params,
    _routing_enabled,
)
from mlreplica.core.compile.threads import run
from mlreplica.core.iterate import say, speaks
from mlreplica.core.linear import LinearPrediction
from mlreplica.core.validation import FLOATS, refuse_weightless_folds, validate_data

from .elastic_net import ElasticNet, Lasso, weights_of_rows
from .path import alpha_grid, enet_path, lasso_path, points
from .problem import LassoProblem


class ElasticNetCV(LinearPrediction, RegressorMixin, BaseEstimator):
    """Elastic net with α and `l1_ratio` chosen by cross-validation.

    Every fold follows one warm-started path of α for each `l1_ratio`; the pair with the least mean
    of the folds' mean squared errors is fitted on all rows.

    Parameters
    ----------
    l1_ratio : float or list of float, default=0.5
        Share of the L1 penalty, or several to choose from.
    eps : float, default=1e-3
        The smallest α, as a part of the largest, if `alphas` is a number.
    alphas : int or array-like, default=100
        The values of α, or how many; then the largest is the least for which w = 0.
    fit_intercept : bool, default=True
        Fit b; otherwise b = 0.
    precompute : "auto", bool or array-like of shape (n_features, n_features), default="auto"
        Whether the paths work on the whole Gram matrix.
    max_iter : int, default=1000
        The most sweeps and Newton steps, for each α.
    tol : float, default=1e-4
        A fit stops when its duality gap is at most `tol` times ‖y‖²/n (y centred).
    cv : int, splitter or iterable, default=None
        Folds; None means five.
    copy_X : bool, default=True
        Without effect: X is never written to.
    verbose : bool or int, default=0
        Above 0, write the choice on standard output.
    n_jobs : int, default=None
        Threads over which folds are spread; None means all.
    positive : bool, default=False
        Ask for w ≥ 0.
    random_state : int, RandomState instance or None, default=None
        Draws the columns if `selection` is "random".
    selection : {"cyclic", "random"}, default="cyclic"
        Order of the coordinates in a sweep.

    Attributes
    ----------
    alpha_ : float
        The chosen α.
    l1_ratio_ : float
        The chosen `l1_ratio`.
    coef_ : ndarray of shape (n_features,)
        w.
    intercept_ : float
        b.
    mse_path_ : ndarray of shape (n_l1_ratio, n_alphas, n_folds) or (n_alphas, n_folds)
        Mean squared error on each fold.
    alphas_ : ndarray of shape (n_alphas,) or (n_l1_ratio, n_alphas)
        The values of α.
    dual_gap_, certificate_ : float
        Duality gap of the last fit: its objective is at most this far above its minimum.
    n_iter_ : int
        Sweeps and Newton steps of the last fit.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.linear_model import ElasticNetCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5))
    >>> y = X @ [2.0, 0.0, 0.0, -1.0, 0.0] + 0.1 * rng.normal(size=60)
    >>> model = ElasticNetCV(l1_ratio=[0.5, 1.0], cv=3).fit(X, y)
    >>> float(model.l1_ratio_), model.mse_path_.shape
    (1.0, (2, 100, 3))
    """

    card = ElasticNet.card.but(
        good="chooses the penalty by cross-validation along a warm-started path",
        bad="weights are shrunk towards 0",
        scale_target=True,
        instead="LassoCV for fewer columns, RidgeCV to keep all",
    )

    _parameter_constraints = {
        "l1_ratio": [Interval(Real, 0, 1, closed="both"), "array-like"],
        "eps": [Interval(Real, 0, None, closed="neither")],
        "alphas": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "fit_intercept": ["boolean"],
        "precompute": [StrOptions({"auto"}), "array-like", "boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "copy_X": ["boolean"],
        "cv": ["cv_object"],
        "verbose": ["verbose"],
        "n_jobs": [Integral, None],
        "positive": ["boolean"],
        "random_state": ["random_state"],
        "selection": [StrOptions({"cyclic", "random"})],
    }

    path = staticmethod(enet_path)

    def __init__(
        self,
        *,
        l1_ratio: Any = 0.5,
        eps=1e-3,
        alphas: Any = 100,
        fit_intercept=True,
        precompute: Any = "auto",
        max_iter=1000,
        tol=1e-4,
        cv=None,
        copy_X=True,
        verbose=0,
        n_jobs=None,
        positive=False,
        random_state=None,
        selection="cyclic",
    ):
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.copy_X = copy_X
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, **params):
        """Choose α, then fit w and b on all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Target.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights ≥ 0, for the fits and for the errors on the folds.
        **params : dict
            Passed on to the splitter, if metadata routing is enabled.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        _raise_for_params(params, self, "fit")
        X, y, s = self._training_set(X, y, sample_weight)
        ratios = np.atleast_1d(getattr(self, "l1_ratio", 1.0))
        grids = self._grids(X, y, s, ratios)
        split = {}
        if _routing_enabled():
            split = process_routing(self, "fit", sample_weight=s, **params).splitter.split
        folds = list(check_cv(self.cv).split(X, y, **split))
        refuse_weightless_folds(s, folds)
        tasks = [(*pair, *fold) for pair in zip(ratios, grids, strict=True) for fold in folds]

        def task(ratio, grid, train, test):
            return self._errors(X, y, s, ratio, grid, train, test)

        errors = run(task, *zip(*tasks, strict=True), n_jobs=self.n_jobs)
        errors = np.reshape(errors, (len(ratios), len(folds), -1))
        means = errors.mean(axis=1)
        best, at = np.unravel_index(means.argmin(), means.shape)
        self.mse_path_ = np.squeeze(np.moveaxis(errors, 2, 1))
        self.alpha_ = grids[best][at]
        if speaks(self):
            least, most = means.min(), len(means.ravel())
            say(self, f"alpha {self.alpha_:.4g}: mean squared error {least:.4g}, least of {most}")
        if not isinstance(self.alphas, Integral) or len(ratios) == 1:
            self.alphas_ = np.asarray(grids[0])
        else:
            self.alphas_ = np.asarray(grids)
        if hasattr(self, "l1_ratio"):
            self.l1_ratio_ = ratios[best]
        model = self._model(self.alpha_, ratios[best]).fit(
            X, y, **({} if s is None else {"sample_weight": s})
        )
        for name in ("coef_", "intercept_", "dual_gap_", "certificate_", "n_iter_"):
            setattr(self, name, getattr(model, name))
        return self

    def _training_set(self, X, y, sample_weight):
        """X, y and weights, checked."""
        X, y = validate_data(
            self,
            X,
            y,
            validate_separately=(
                {"accept_sparse": "csc", "dtype": FLOATS},
                {"dtype": FLOATS, "ensure_2d": False},
            ),
        )
        check_consistent_length(X, y)
        if y.ndim > 1 and y.shape[1] > 1:
            raise ValueError(f"For multi-task outputs, use MultiTask{type(self).__name__}")
        y = column_or_1d(y, warn=True)
        return X, y, weights_of_rows(sample_weight, X)

    def _grids(self, X, y, s, ratios):
        """The values of α for each l1_ratio, the largest first."""
        if not isinstance(self.alphas, Integral):
            for i, alpha in enumerate(self.alphas):
                check_scalar(alpha, f"alphas[{i}]", Real, min_val=0.0, include_boundaries="left")
            return [np.sort(self.alphas)[::-1]] * len(ratios)
        problem = LassoProblem(X, y[:, None], s, self.fit_intercept, gram=None)
        return [
            alpha_grid(problem, 0, ratio, self.eps, self.alphas, self.positive) for ratio in ratios
        ]

    def _errors(self, X, y, s, ratio, alphas, train, test):
        """Mean squared error on the rows `test` of every fit on the rows `train`."""
        weight = None if s is None else s[train]
        gram = self.precompute if isinstance(self.precompute, bool | str) else "auto"
        problem = LassoProblem(X[train], y[train, None], weight, self.fit_intercept, gram)
        rng = check_random_state(self.random_state) if self.selection == "random" else None
        found = points(
            problem,
            0,
            alphas,
            ratio,
            np.zeros(X.shape[1]),
            tol=self.tol,
            max_iter=self.max_iter,
            positive=self.positive,
            rng=rng,
        )
        W = np.array([point.w for point in found])
        used = np.flatnonzero(W.any(axis=0))
        residual = X[test][:, used] @ W[:, used].T
        residual += problem.y_mean[0] - W @ problem.x_mean - y[test, None]
        return np.average(residual**2, axis=0, weights=None if s is None else s[test])

    def _model(self, alpha, ratio):
        """The estimator for the last fit."""
        precompute = False if isinstance(self.precompute, str) else self.precompute
        return ElasticNet(
            alpha=alpha,
            l1_ratio=ratio,
            fit_intercept=self.fit_intercept,
            precompute=precompute,
            max_iter=self.max_iter,
            tol=self.tol,
            positive=self.positive,
            random_state=self.random_state,
            selection=self.selection,
        )

    def get_metadata_routing(self):
        """Where metadata go: to the splitter's `split`.

        Returns
        -------
        routing : MetadataRouter
            What is routed to whom.
        """
        mapping = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(splitter=check_cv(self.cv), method_mapping=mapping)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = False
        return tags


class LassoCV(ElasticNetCV):
    """Lasso with α chosen by cross-validation.

    Every fold follows one warm-started path of α; the α with the least mean of the folds'
    mean squared errors is fitted on all rows.

    Parameters
    ----------
    eps : float, default=1e-3
        The smallest α, as a part of the largest, if `alphas` is a number.
    alphas : int or array-like, default=100
        The values of α, or how many; then the largest is the least for which w = 0.
    fit_intercept : bool, default=True
        Fit b; otherwise b = 0.
    precompute : "auto", bool or array-like of shape (n_features, n_features), default="auto"
        Whether the paths work on the whole Gram matrix.
    max_iter : int, default=1000
        The most sweeps and Newton steps, for each α.
    tol : float, default=1e-4
        A fit stops when its duality gap is at most `tol` times ‖y‖²/n (y centred).
    copy_X : bool, default=True
        Without effect: X is never written to.
    cv : int, splitter or iterable, default=None
        Folds; None means five.
    verbose : bool or int, default=False
        Above 0, write the choice on standard output.
    n_jobs : int, default=None
        Threads over which folds are spread; None means all.
    positive : bool, default=False
        Ask for w ≥ 0.
    random_state : int, RandomState instance or None, default=None
        Draws the columns if `selection` is "random".
    selection : {"cyclic", "random"}, default="cyclic"
        Order of the coordinates in a sweep.

    Attributes
    ----------
    alpha_ : float
        The chosen α.
    coef_ : ndarray of shape (n_features,)
        w.
    intercept_ : float
        b.
    mse_path_ : ndarray of shape (n_alphas, n_folds)
        Mean squared error on each fold.
    alphas_ : ndarray of shape (n_alphas,)
        The values of α.
    dual_gap_, certificate_ : float
        Duality gap of the last fit: its objective is at most this far above its minimum.
    n_iter_ : int
        Sweeps and Newton steps of the last fit.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.linear_model import LassoCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5))
    >>> y = X @ [2.0, 0.0, 0.0, -1.0, 0.0] + 0.1 * rng.normal(size=60)
    >>> model = LassoCV(cv=3).fit(X, y)
    >>> model.coef_.round(1)
    array([ 2.,  0.,  0., -1.,  0.])
    """

    card = Lasso.card.but(
        good="selects columns; chooses alpha by cross-validation along a warm-started path",
        instead="ElasticNetCV if columns are correlated, RidgeCV to keep all columns",
    )

    _parameter_constraints = {**ElasticNetCV._parameter_constraints}
    _parameter_constraints.pop("l1_ratio")

    path = staticmethod(lasso_path)

    def __init__(
        self,
        *,
        eps=1e-3,
        alphas: Any = 100,
        fit_intercept=True,
        precompute: Any = "auto",
        max_iter=1000,
        tol=1e-4,
        copy_X=True,
        cv=None,
        verbose: int = False,
        n_jobs=None,
        positive=False,
        random_state=None,
        selection="cyclic",
    ):
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.copy_X = copy_X
        self.cv = cv
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection

    def _model(self, alpha, ratio):
        """The estimator for the last fit."""
        model = super()._model(alpha, ratio)
        return Lasso(**{k: v for k, v in model.get_params().items() if k != "l1_ratio"})


Reference.register(ElasticNetCV)
LassoReference.register(LassoCV)
