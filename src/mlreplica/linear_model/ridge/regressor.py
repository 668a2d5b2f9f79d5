"""Ridge regression: the estimator; its solvers are in `solvers.py`"""

from copy import copy
from numbers import Integral, Real
from operator import attrgetter
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    Interval,
    StrOptions,
    validate_params,
)
from mlreplica.core.iterate import CallbackSupport
from mlreplica.core.linear import LinearPrediction
from mlreplica.linear_model.least_squares.linear_regression import training_set

from .solvers import DENSE_ONLY, GRAM, SOLVERS, RidgeSolvers

SPARSE = ["csr", "csc", "coo"]


class Ridge(
    RidgeSolvers, CallbackSupport, LinearPrediction, MultiOutputMixin, RegressorMixin, BaseEstimator
):
    r"""Linear least squares with an L2 penalty.

    Minimises :math:`\sum_i s_i (y_i - x_i^\top w - b)^2 + \alpha \lVert w \rVert^2` over w and b,
    where :math:`s_i` is the weight of row i (1 by default).

    Parameters
    ----------
    alpha : float or array-like of shape (n_targets,), default=1.0
        The cost α ≥ 0 of a unit of :math:`\lVert w \rVert^2`, one for all targets or one each.
        0 is least squares, and of several minimisers the one of least norm.
    fit_intercept : bool, default=True
        Fit b; otherwise b = 0.
    copy_X : bool, default=True
        Kept for scikit-learn: X is never changed.
    max_iter : int, default=None
        The most steps of an iterative solver; None: 10 000 epochs of "gd" and "sgd", and at
        least 1000 steps of conjugate gradients.
    tol : float, default=1e-4
        Conjugate gradients stop when the gradient is at most `tol` times that at w = 0 and the
        certificate at most `tol` times the objective at w = 0, "gd" and "sgd" by the second alone.
        The direct solvers are as exact as they can be and take no notice of it.
    solver : str, default="auto"
        - "auto": as "cholesky"; for a sparse X of many columns as "sparse_cg".
        - "cholesky": normal equations, in the dual if there are fewer rows than columns, where an
          estimate of the condition number and, if needed, a correction step prove them accurate;
          otherwise as "qr".
        - "qr": orthogonal transformations of the rows and of √α times the unit vectors, refined
          with residuals in twice the working precision where X is ill-conditioned.
        - "svd": singular value decomposition.
        - "gd", "sgd": gradient descent with the step 1/L; stochastic gradient descent with
          variance reduction.
        - "lsqr", "sparse_cg", "sag", "saga": conjugate gradients, all four. The first
          two names are this algorithm up to rounding; the last two stand for stochastic methods
          that reach the same optimum in more passes over the rows.
        - "lbfgs": with `positive` only, and what `positive` does in any case.
    positive : bool, default=False
        Ask for w ≥ 0: by block pivoting; by L-BFGS-B for a sparse X of more than 4096 columns.
    random_state : int, RandomState instance or None, default=None
        The order of rows in "sgd".
    penalize_intercept : bool, default=False
        Add α b² to the objective, as if b were one more weight.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        w.
    intercept_ : float or ndarray of shape (n_targets,)
        b.
    n_iter_ : ndarray of shape (n_targets,)
        Steps of an iterative solver, which takes all targets at once; 1 for a direct one.
    solver_ : str
        The solver that gave the answer: the one asked for, or "qr" where normal equations would
        have lost digits; "nnls" for block pivoting.
    certificate_ : float
        An upper bound on the distance of the objective from its minimum, summed over targets:
        of direct solvers, what rounding may have cost. Infinite if α = 0 and that is unknown.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.linear_model import Ridge
    >>> X = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    >>> model = Ridge(alpha=0.5).fit(X, [0.0, 0.1, 1.0])
    >>> model.coef_.round(4), round(float(model.intercept_), 4)
    (array([0.3455, 0.3455]), 0.1364)
    """

    card = Card(
        page="ridge",
        checks="linear",
        onnx="linear",
        use="a number from many or correlated columns",
        good="stable for any X; exact; a certificate bounds its error",
        bad="keeps all columns; alpha must be chosen",
        time="O(n p min(n, p))",
        memory="O(n p), for a centred copy of X",
        instead="RidgeCV to choose alpha, Lasso to select columns, KernelRidge for curves",
    )

    _parameter_constraints = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "fit_intercept": ["boolean"],
        "copy_X": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "solver": [StrOptions(SOLVERS)],
        "positive": ["boolean"],
        "random_state": ["random_state"],
        "penalize_intercept": ["boolean"],
    }

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        fit_intercept=True,
        copy_X=True,
        max_iter=None,
        tol=1e-4,
        solver="auto",
        positive=False,
        random_state=None,
        penalize_intercept=False,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.penalize_intercept = penalize_intercept

    def fit(self, X, y, sample_weight=None):
        """Fit w and b.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights s ≥ 0: a weight of 2 stands for two equal rows, 0 for none.

        Returns
        -------
        self : Ridge
            The fitted estimator.
        """
        number = isinstance(self.alpha, (float, int)) and 0 <= self.alpha < np.inf
        if not (number and parameters(self) == DEFAULTS):
            self._validate_params()
        X, Y, one_target = training_set(self, X, y, SPARSE)
        self._publish(self._solve(X, Y, sample_weight), X.dtype)
        if one_target or Y.shape[1] == 1:
            self.coef_ = self.coef_[0]
        if one_target and self.fit_intercept:
            self.intercept_ = self.intercept_[0]
        return self

    _varied = frozenset({"alpha"})  # a search fits them together

    def _fit_settings(self, fold, settings):
        """Yield (k, model, fold) for every α: they are targets of one fit, which factors X once."""
        alphas, y = (
            [setting.get("alpha", self.alpha) for setting in settings],
            np.asarray(fold.y_train),
        )
        numbers = all(isinstance(a, (float, int)) and 0 < a < np.inf for a in alphas)
        if not numbers or y.ndim != 1 or self.solver not in GRAM or self.positive:
            return None
        self.alpha = np.array(alphas, dtype=float)
        self.fit(fold.X_train, np.repeat(y[:, None], len(alphas), axis=1), **fold.fit_params)

        def models():
            for k, alpha in enumerate(alphas):
                model = copy(self)
                model.alpha, model.coef_, model.n_iter_ = (
                    alpha,
                    self.coef_[k],
                    self.n_iter_[k : k + 1],
                )
                model.intercept_ = self.intercept_[k] if self.fit_intercept else 0.0
                yield k, model, fold

        return models()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        offset = self.fit_intercept and self.solver in ("cholesky", "saga")
        tags.input_tags.sparse = self.solver not in DENSE_ONLY and not offset
        return tags


parameters = attrgetter(*Ridge.__init__.__kwdefaults__)
DEFAULTS = parameters(Ridge())  # they need no validation


@validate_params(
    {
        "X": ["array-like", "sparse matrix", LinearOperator],
        "y": ["array-like"],
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "sample_weight": [Interval(Real, None, None, closed="neither"), "array-like", None],
        "solver": [StrOptions(SOLVERS)],
        "max_iter": [Interval(Integral, 0, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "positive": ["boolean"],
        "random_state": ["random_state"],
        "return_n_iter": ["boolean"],
        "return_intercept": ["boolean"],
        "check_input": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def ridge_regression(
    X,
    y,
    alpha,
    *,
    sample_weight=None,
    solver="auto",
    max_iter=None,
    tol=1e-4,
    verbose=0,
    positive=False,
    random_state=None,
    return_n_iter=False,
    return_intercept=False,
    check_input=True,
):
    """Solve ridge regression without an offset, as a function.

    Parameters
    ----------
    X, y, alpha, sample_weight, solver, max_iter, tol, positive, random_state
        As in `Ridge`.
    verbose : int, default=0
        Kept for scikit-learn; nothing is printed.
    return_n_iter : bool, default=False
        Return n_iter too.
    return_intercept : bool, default=False
        Fit an offset and return it too; for solver "auto" and "sag".
    check_input : bool, default=True
        Kept for scikit-learn; input is always checked.

    Returns
    -------
    coef : ndarray of shape (n_features,) or (n_targets, n_features)
        w.
    n_iter : ndarray of shape (n_targets,)
        Only if `return_n_iter`.
    intercept : float or ndarray of shape (n_targets,)
        Only if `return_intercept`.

    Examples
    --------
    >>> from mlreplica.linear_model import ridge_regression
    >>> ridge_regression([[1.0, 0.0], [0.0, 2.0]], [1.0, 2.0], alpha=1.0)
    array([0.5, 0.8])
    """
    if return_intercept and solver not in ("auto", "sag"):
        raise ValueError(
            "In Ridge, only 'sag' solver can directly fit the intercept. Please change solver to "
            "'sag' or set return_intercept=False."
        )
    if positive and solver not in ("auto", "lbfgs"):
        raise ValueError(
            "When positive=True, only 'lbfgs' solver can be used. "
            f"Please change solver {solver} to 'lbfgs' or set positive=False."
        )
    if np.ndim(y) > 2:
        raise ValueError(f"Target y has the wrong shape {np.shape(y)}")
    model = Ridge(
        alpha,
        fit_intercept=return_intercept,
        max_iter=max_iter or None,
        tol=tol,
        solver=solver,
        positive=positive,
        random_state=random_state,
    ).fit(X, y, sample_weight)
    found = (model.coef_,)
    found += (model.n_iter_,) if return_n_iter else ()
    found += (model.intercept_,) if return_intercept else ()
    return found if len(found) > 1 else found[0]
