"""Lasso and elastic net: the estimators; see `coordinate_descent.py` and `working_set.py`"""

import warnings
from numbers import Integral, Number, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.linear_model import ElasticNet as Reference
from sklearn.linear_model import Lasso as LassoReference
from sklearn.utils import check_random_state

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, StrOptions, _check_sample_weight, _fit_context
from mlreplica.core.iterate import CallbackSupport, attributes_set_by, iterate
from mlreplica.core.linear import LinearPrediction
from mlreplica.core.validation import FLOATS, ValidatedOnce, validate_data
from mlreplica.linear_model.least_squares.linear_regression import LinearRegression

from .path import descent, enet_path, tolerance, warn_of
from .problem import MEDIUM, LassoProblem, checked_gram
from .working_set import LARGEST


class ElasticNet(
    CallbackSupport,
    LinearPrediction,
    MultiOutputMixin,
    RegressorMixin,
    ValidatedOnce,
    BaseEstimator,
):
    r"""Linear regression with an L1 and an L2 penalty.

    Minimises :math:`\frac{1}{2n} \|y - Xw - b\|^2 + \alpha\rho\|w\|_1 +
    \frac{\alpha(1-\rho)}{2}\|w\|^2` over w and b, where :math:`\rho` is `l1_ratio`. With sample
    weights the squares are averaged under them. The L1 penalty makes weights exactly zero,
    the L2 penalty lets correlated columns share their weight.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength α ≥ 0 of the penalty. With 0 this is least squares, solved as such, with a warning.
    l1_ratio : float, default=0.5
        Share ρ of the L1 penalty, from 0 (ridge) to 1 (lasso).
    fit_intercept : bool, default=True
        Fit b; otherwise b = 0.
    precompute : bool or array-like of shape (n_features, n_features), default=False
        True: work on the whole Gram matrix. An array: it is the Gram matrix of the (centred and
        weighted) X. False: the solver decides for itself what to compute.
    max_iter : int, default=1000
        The most sweeps and Newton steps.
    copy_X : bool, default=True
        Without effect: X is never written to, and copied only where its columns have means so far
        from zero that digits would be lost.
    tol : float, default=1e-4
        Stop when the duality gap is at most `tol` times ‖y‖²/n (y centred).
    warm_start : bool, default=False
        Start from the `coef_` of the last fit.
    positive : bool, default=False
        Ask for w ≥ 0.
    random_state : int, RandomState instance or None, default=None
        Draws the columns if `selection` is "random".
    selection : {"cyclic", "random"}, default="cyclic"
        Order of the coordinates in a sweep. "random" means plain coordinate descent.
    solver : {"auto", "cd", "subgradient"}, default="auto"
        - "auto": coordinate descent on working sets, with Newton steps; the fastest.
        - "cd": cyclic coordinate descent over all columns that are not proved to be zero.
        - "subgradient": the subgradient method, for comparison; slow, and no weight becomes zero.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        w.
    sparse_coef_ : sparse array of shape (1, n_features) or (n_targets, n_features)
        w as a sparse array.
    intercept_ : float or ndarray of shape (n_targets,)
        b.
    certificate_ : float
        Duality gap: the objective is at most this far above its minimum (targets summed).
    dual_gap_ : float or ndarray of shape (n_targets,)
        The same, per target.
    n_iter_ : int or list of int
        Sweeps and Newton steps, per target.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> from mlreplica.linear_model import ElasticNet
    >>> X, y = [[0, 1], [1, 0], [2, 1], [3, 3]], [0, 1, 2, 3.5]
    >>> model = ElasticNet(alpha=0.1).fit(X, y)
    >>> model.coef_.round(3), round(float(model.intercept_), 3)
    (array([0.953, 0.169]), -0.017)
    >>> bool(model.certificate_ <= 1e-4 * 1.7)
    True
    """

    card = Card(
        page="elastic-net",
        checks="linear",
        onnx="linear",
        use="a number from many columns, few groups of which matter",
        good="selects columns and keeps correlated ones together; a certificate bounds its error",
        bad="weights are shrunk towards 0; two penalties to choose",
        time="O(n p) per sweep, over few columns once most are proved to be 0",
        memory="O(n p)",
        instead="Lasso for fewer columns, Ridge to keep all, ElasticNetCV to choose the penalties",
    )

    _parameter_constraints = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "fit_intercept": ["boolean"],
        "precompute": ["boolean", "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "copy_X": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "positive": ["boolean"],
        "random_state": ["random_state"],
        "selection": [StrOptions({"cyclic", "random"})],
        "solver": [StrOptions({"auto", "cd", "subgradient"})],
    }

    path = staticmethod(enet_path)

    def __init__(
        self,
        alpha=1.0,
        *,
        l1_ratio=0.5,
        fit_intercept=True,
        precompute: Any = False,
        max_iter: int | None = 1000,
        copy_X=True,
        tol=1e-4,
        warm_start=False,
        positive=False,
        random_state=None,
        selection="cyclic",
        solver="auto",
    ):
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.copy_X = copy_X
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.solver = solver

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, check_input=True):
        """Fit w and b.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets; each is a problem of its own.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights ≥ 0: a weight of 2 stands for two equal rows, 0 for none.
        check_input : bool, default=True
            Without effect: the checks cost nothing beside the fit.

        Returns
        -------
        self : ElasticNet
            The fitted estimator.
        """
        if self.alpha == 0:
            warnings.warn(
                "With alpha=0, this algorithm does not converge well. You are advised to use the "
                "LinearRegression estimator",
                stacklevel=2,
            )
        X, y, s = training_set(self, X, y, sample_weight)
        Y = y[:, None] if y.ndim == 1 else y
        if self.alpha == 0 and not (sp.issparse(X) and self.positive):
            W, b, gaps = least_squares(X, Y, s, self.fit_intercept, self.positive)
            return self._publish(X, y, W, b, gaps, [1] * len(W))
        alpha, beta = self.alpha * self.l1_ratio, self.alpha * (1.0 - self.l1_ratio)
        gram = checked_gram(self.precompute, X, s, self.fit_intercept)
        if alpha == 0.0 and X.shape[1] <= LARGEST and self.solver == "auto":
            gram = True if gram is False else gram
        problem = LassoProblem(X, Y, s, self.fit_intercept, gram, type(self).__name__)
        W = np.zeros((Y.shape[1], X.shape[1]))
        if self.warm_start and hasattr(self, "coef_"):
            W[:] = self.coef_
        with problem.threads_of_blas():
            steps, gaps = self._descend(problem, X, y, W, alpha, beta)
            W, b, gaps = self._rounded(problem, X.dtype, W, gaps, alpha, beta)
        if not (np.isfinite(W).all() and np.isfinite(b).all()):
            raise ValueError(
                "Coordinate descent iterations resulted in non-finite parameter values. The input "
                "data may contain large values and need to be preprocessed."
            )
        return self._publish(X, y, W, b, gaps, steps)

    def _descend(self, problem, X, y, W, alpha, beta):
        """Minimise for every target; W changes in place. Sweeps and gaps, one of each a target."""
        options = {
            "tol": self.tol,
            "max_iter": np.inf if self.max_iter is None else self.max_iter,
            "positive": self.positive,
            "solver": self.solver,
            "rng": check_random_state(self.random_state) if self.selection == "random" else None,
        }
        steps, gaps, values = [0] * len(W), problem.size / 2, problem.size / 2  # at w = 0
        ended = []  # not by a callback

        def states():
            for k, w in enumerate(W):
                for state in descent(problem, k, alpha, beta, w.copy(), **options):
                    W[k], steps[k] = state.w, state.sweeps
                    gaps[k], values[k] = state.gap, state.objective
                    yield (
                        state
                        if len(W) == 1
                        else state._replace(
                            w=W, objective=values.sum(), gap=gaps.sum(), sweeps=sum(steps)
                        )
                    )
                ended.append(k)

        gaps, values = gaps.copy(), values.copy()

        def publish(_):
            b = problem.y_mean - W @ problem.x_mean
            return attributes_set_by(
                self, lambda model: model._publish(X, y, W.copy(), b, gaps.copy(), list(steps))
            )

        iterate(
            self,
            states(),
            max_iter=10**9,
            unit="working sets" if self.solver == "auto" else "sweeps",
            advice=None,
            publish=publish,
            X=X,
            y=y,
        )
        for k in ended:
            enough = tolerance(problem, k, self.tol)
            if gaps[k] > enough:
                warn_of(gaps[k], enough, alpha)
        return steps, gaps

    def _rounded(self, problem, dtype, W, gaps, alpha, beta):
        """W and b in the precision of X, and the gaps of what has become of them."""
        b, exact = problem.y_mean - W @ problem.x_mean, W
        if dtype == np.float64:
            return W, b, gaps
        W = W.astype(dtype)
        off = b.astype(dtype) - (problem.y_mean - W @ problem.x_mean)  # of the best b for this W
        for k in range(len(W)):
            rise = problem.value(k, W[k], alpha, beta) - problem.value(k, exact[k], alpha, beta)
            gaps[k] += max(rise, 0.0) + 0.5 * off[k] ** 2
        return W, b, gaps

    def _publish(self, X, y, W, b, gaps, steps):
        """Set the fitted attributes, in the precision of X."""
        one = len(W) == 1
        W, b = W.astype(X.dtype, copy=False), b.astype(X.dtype, copy=False)
        self.coef_ = W[0] if one else W
        self.intercept_ = (b[0] if y.ndim == 1 else b) if self.fit_intercept else 0.0
        self.dual_gap_ = float(gaps[0]) if one else np.array(gaps)
        self.certificate_ = float(np.sum(gaps))
        self.n_iter_ = steps[0] if one else steps
        return self

    @property
    def sparse_coef_(self):
        """w as a sparse array."""
        return sp.csr_array(np.atleast_2d(self.coef_))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class Lasso(ElasticNet):
    r"""Linear regression with an L1 penalty.

    Minimises :math:`\frac{1}{2n} \|y - Xw - b\|^2 + \alpha\|w\|_1` over w and b. With sample
    weights the squares are averaged under them. Many weights become exactly zero: the lasso
    selects columns.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength α ≥ 0 of the penalty. With 0 this is least squares, solved as such, with a warning.
    fit_intercept : bool, default=True
        Fit b; otherwise b = 0.
    precompute : bool or array-like of shape (n_features, n_features), default=False
        True: work on the whole Gram matrix. An array: it is the Gram matrix of the (centred and
        weighted) X. False: the solver decides for itself what to compute.
    copy_X : bool, default=True
        Without effect: X is never written to, and copied only where its columns have means so far
        from zero that digits would be lost.
    max_iter : int, default=1000
        The most sweeps and Newton steps.
    tol : float, default=1e-4
        Stop when the duality gap is at most `tol` times ‖y‖²/n (y centred).
    warm_start : bool, default=False
        Start from the `coef_` of the last fit.
    positive : bool, default=False
        Ask for w ≥ 0.
    random_state : int, RandomState instance or None, default=None
        Draws the columns if `selection` is "random".
    selection : {"cyclic", "random"}, default="cyclic"
        Order of the coordinates in a sweep. "random" means plain coordinate descent.
    solver : {"auto", "cd", "subgradient"}, default="auto"
        - "auto": coordinate descent on working sets, with Newton steps; the fastest.
        - "cd": cyclic coordinate descent over all columns that are not proved to be zero.
        - "subgradient": the subgradient method, for comparison; slow, and no weight becomes zero.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        w.
    sparse_coef_ : sparse array of shape (1, n_features) or (n_targets, n_features)
        w as a sparse array.
    intercept_ : float or ndarray of shape (n_targets,)
        b.
    certificate_ : float
        Duality gap: the objective is at most this far above its minimum (targets summed).
    dual_gap_ : float or ndarray of shape (n_targets,)
        The same, per target.
    n_iter_ : int or list of int
        Sweeps and Newton steps, per target.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> from mlreplica.linear_model import Lasso
    >>> model = Lasso(alpha=0.1).fit([[0, 0], [1, 1], [2, 2]], [0, 1, 2])
    >>> model.coef_.round(12), round(float(model.intercept_), 12)
    (array([0.85, 0.  ]), 0.15)
    """

    card = ElasticNet.card.but(
        page="lasso",
        use="a number from many columns, few of which matter",
        good="selects columns; a certificate bounds its error",
        bad="weights are shrunk towards 0; of correlated columns it keeps one, arbitrarily",
        instead="ElasticNet if columns are correlated, LassoCV to choose alpha",
    )

    _parameter_constraints = {**ElasticNet._parameter_constraints}
    _parameter_constraints.pop("l1_ratio")

    def __init__(
        self,
        alpha=1.0,
        *,
        fit_intercept=True,
        precompute: Any = False,
        copy_X=True,
        max_iter: int | None = 1000,
        tol=1e-4,
        warm_start=False,
        positive=False,
        random_state=None,
        selection="cyclic",
        solver="auto",
    ):
        super().__init__(
            alpha=alpha,
            l1_ratio=1.0,
            fit_intercept=fit_intercept,
            precompute=precompute,
            copy_X=copy_X,
            max_iter=max_iter,
            tol=tol,
            warm_start=warm_start,
            positive=positive,
            random_state=random_state,
            selection=selection,
            solver=solver,
        )


def training_set(estimator, X, y, sample_weight):
    """X, y and weights as the solvers take them; `LassoProblem` sees to it that X is finite."""
    X, y = validate_data(
        estimator,
        X,
        y,
        accept_sparse="csc",
        dtype=FLOATS,
        ensure_all_finite=False,
        multi_output=True,
        y_numeric=True,
    )
    return X, y, weights_of_rows(sample_weight, X)


def weights_of_rows(sample_weight, X):
    """The weights ≥ 0 of the rows, or None if all are the same."""
    if sample_weight is None or isinstance(sample_weight, Number):
        return None
    return _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)


def least_squares(X, Y, s, intercept, positive):
    """α = 0: W, b and a bound on P − P* a target, ‖∇P‖²/2μ with μ the least curvature."""
    model = LinearRegression(fit_intercept=intercept, positive=positive).fit(X, Y, s)
    W, b = np.atleast_2d(model.coef_).astype(np.float64), np.atleast_1d(model.intercept_)
    if positive:
        return W, b, [model.certificate_ / len(W)] * len(W)
    n = X.shape[0]
    share = np.full(n, 1.0 / n) if s is None else s / s.sum()
    R = Y - X @ W.T - b
    if hasattr(model, "singular_"):
        u = (share[:, None] * R).T @ (X - share @ X if intercept else X)
        used = model.singular_[: model.rank_].astype(np.float64)
        mu = float(used.min(initial=np.inf)) ** 2 / (n if s is None else s.sum())
    elif X.shape[1] <= MEDIUM:  # sparse: LSQR tells nothing of the curvature, G does
        problem = LassoProblem(X, Y, s, intercept, True)
        u = problem.c - W @ problem.G
        values = np.linalg.eigvalsh(problem.G)
        mu = float(values[values > 1e-12 * values[-1]].min(initial=np.inf))
    else:
        return W, b, list(0.5 * (share @ (R * R)))  # P ≤ P* + P
    return W, b, list(np.einsum("kj,kj->k", u, u) / (2 * mu))


Reference.register(ElasticNet)
LassoReference.register(Lasso)
