"""LinearSVR: the estimator; its mathematics is in `_linear` and the solvers' files"""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.base import (
    BaseEstimator,
    RegressorMixin,
)
from sklearn.utils import check_random_state

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    Interval,
    StrOptions,
    _check_sample_weight,
    _fit_context,
)
from mlreplica.core.iterate import CallbackSupport
from mlreplica.core.linear import LinearPrediction
from mlreplica.core.validation import validate_data

from ._linear import regression
from ._linear_fit import converge, in_primal, prepared, quadratic


class LinearSVR(CallbackSupport, LinearPrediction, RegressorMixin, BaseEstimator):
    r"""Linear support vector regression, for many rows.

    Minimises :math:`\frac12 \|w\|^2 + C \sum_i s_i L(y_i - w^\top x_i - b)` with
    :math:`L(r) = \max(0, |r| - \varepsilon)` or its square and :math:`s_i` the weight of row i. As
    in LIBLINEAR, b is b' times `intercept_scaling`, and b' is penalised like a weight.

    Parameters
    ----------
    epsilon : float, default=0.0
        ε ≥ 0: residuals up to it cost nothing; in the units of y.
    tol : float, default=1e-4
        Stop when the certificate is at most tol² times the objective: then the weights are within
        tol √(2 · objective) of the best ones.
    C : float, default=1.0
        Cost of a unit of loss.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        L above, or its square.
    fit_intercept : bool, default=True
        Fit b; otherwise b = 0.
    intercept_scaling : float, default=1.0
        The larger, the less b is penalised.
    dual : "auto" or bool, default="auto"
        Kept for scikit-learn's sake: it decides which combinations are refused, as there. The
        minimum is the same; how it is found is decided by `solver`.
    verbose : int, default=0
        Above 0, write a line per iteration on standard output.
    random_state : int, RandomState instance or None, default=None
        The order of rows in "dcd".
    max_iter : int, default=1000
        The most iterations: looks at all rows for "dcd" (each after one to ten sweeps), steps
        for "newton".
    solver : {"auto", "dcd", "newton"}, default="auto"
        "dcd": dual coordinate descent. "newton": Newton's method, without a square by the method
        of multipliers; it needs memory for the square of the number of columns. "auto": "newton"
        for tall data of not too many columns.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        w.
    intercept_ : ndarray of shape (1,), or 0.0 without an intercept
        b.
    n_iter_ : int
        Iterations.
    certificate_ : float
        An upper bound on the distance of the objective from its minimum.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    References
    ----------
    C.-H. Ho, C.-J. Lin, "Large-scale linear support vector regression", Journal of Machine Learning
    Research 13 (2012).

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from mlreplica.svm import LinearSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearSVR(C=100.0).fit(X, y)
    >>> round(model.score(X, y), 3), model.certificate_ < 0.1
    (0.479, True)
    """

    card = Card(
        page="linear-svm",
        checks="linear",
        onnx="linear",
        scale_target=True,
        use="a number from many rows, with outliers in the target",
        good="linear in n and in the values stored; large errors count linearly",
        bad="only straight lines; C and epsilon must be chosen",
        time="O(n p) per epoch",
        memory="O(n + p) beside X",
        instead="HuberRegressor, SVR for curves",
    )

    _parameter_constraints: dict = {
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "loss": [StrOptions({"epsilon_insensitive", "squared_epsilon_insensitive"})],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "dual": ["boolean", StrOptions({"auto"})],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "solver": [StrOptions({"auto", "dcd", "newton"})],
    }

    def __init__(
        self,
        *,
        epsilon=0.0,
        tol=1e-4,
        C=1.0,
        loss="epsilon_insensitive",
        fit_intercept=True,
        intercept_scaling=1.0,
        dual: bool | str = "auto",
        verbose=0,
        random_state=None,
        max_iter=1000,
        solver="auto",
    ):
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.solver = solver

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit w and b.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Weights: 2 stands for two equal rows, 0 for none.

        Returns
        -------
        self : LinearSVR
        """
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=np.float64,
            order="C",
            accept_large_sparse=False,
            y_numeric=True,
        )
        in_primal(self.dual, self.loss, "l2", X)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        A, target, c = prepared(X, y.astype(np.float64), self.C * weight, self.solver)
        bias = float(self.intercept_scaling) if self.fit_intercept else 0.0
        squared = self.loss == "squared_epsilon_insensitive"
        problem = regression(A, bias, target, c, float(self.epsilon), squared)
        solver, tol = quadratic(self, problem, check_random_state(self.random_state))

        def attributes(W):
            b = bias * W[0, -1:] if self.fit_intercept else 0.0
            return {"coef_": W[0, :-1].copy(), "intercept_": b}

        converge(self, solver, tol, X, y, attributes)
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
