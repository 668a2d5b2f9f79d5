"""Linear regression: the estimator; its mathematics is in `direct.py` and `descent.py`"""

import math
from numbers import Integral, Real
from operator import attrgetter

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.linear_model import LinearRegression as Reference
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    Interval,
    StrOptions,
    _check_sample_weight,
)
from mlreplica.core.iterate import CallbackSupport, iterate
from mlreplica.core.linalg import numerical_rank, singular_values
from mlreplica.core.linear import LinearPrediction
from mlreplica.core.rows.walk import SMALL
from mlreplica.core.validation import FLOATS, refuse_overflow, validate_data

from . import descent
from .direct import (
    DesignRows,
    DesignTriangle,
    LeastSquaresSolution,
    by_cholesky,
    by_normal_equations,
    by_qr,
    by_svd,
    by_wide,
    centred,
)
from .sparse import DENSE, MOST, by_lsqr

GRAM = ("auto", "cholesky")  # the solvers that start with the normal equations
RESULTS = ("rank_", "singular_", "certificate_")  # not left by every solver


def training_set(estimator, X, y, accept_sparse):
    """X, y (n, q), and whether y came as one column; entries are checked by the solvers."""
    if (
        type(X) is np.ndarray
        and type(y) is np.ndarray
        and X.ndim == 2
        and X.dtype in FLOATS
        and X.size
        and y.dtype in FLOATS
        and y.ndim in (1, 2)
        and len(X) == len(y)
        and y.size
    ):
        estimator.n_features_in_ = X.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)
    else:
        X, y = validate_data(
            estimator,
            X,
            y,
            accept_sparse=accept_sparse,
            dtype=FLOATS,
            y_numeric=True,
            multi_output=True,
        )
    return X, (y[:, None] if y.ndim == 1 else y), y.ndim == 1


class LinearRegression(
    CallbackSupport, LinearPrediction, MultiOutputMixin, RegressorMixin, BaseEstimator
):
    r"""Linear least squares, ordinary or weighted.

    Minimises :math:`\frac{1}{2S} \sum_i s_i (y_i - x_i^\top w - b)^2` over w and b, where
    :math:`s_i` is the weight of row i (1 by default) and S the sum of the weights. If several w
    attain the minimum (dependent columns, or fewer rows than columns), the one of least norm
    is given.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Fit b; otherwise b = 0.
    copy_X : bool, default=True
        If False, a wide X (fewer rows than columns) may be centred in place. A tall X is neither
        copied nor changed in any case.
    tol : float, default=1e-6
        "gd" and "sgd" stop when the certificate is at most `tol` times the objective at w = 0; with
        sparse X, the precision of LSQR where normal equations cannot serve. The direct solvers
        are as exact as they can be and take no notice of it; in particular they do
        not drop small singular values.
    n_jobs : int, default=None
        Threads; None means all.
    positive : bool, default=False
        Ask for w ≥ 0 (dense X; active set of Lawson and Hanson, whatever `solver` says).
    solver : {"auto", "qr", "cholesky", "svd", "gd", "sgd"}, default="auto"
        - "auto": normal equations where an estimate of the condition number and, if needed, a
          correction step prove them accurate; otherwise as "qr".
        - "qr": orthogonal transformations, block by block; if X is ill-conditioned, refined with
          residuals in twice the working precision, up to the last digits.
        - "cholesky": as "auto", the textbook's name for it.
        - "svd": singular value decomposition.
        - "gd": gradient descent with the step 1/L. - "sgd": stochastic gradient descent with
          variance reduction.
    max_iter : int, default=10000
        The most epochs of "gd" and "sgd".
    learning_rate : float, default=None
        Their step; None means 1/L for "gd" and 1/(2 max_i L_i) for "sgd", L the largest curvature
        of the objective and L_i that of a single row.
    random_state : int, RandomState instance or None, default=None
        The order of rows in "sgd".

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        w.
    intercept_ : float or ndarray of shape (n_targets,)
        b.
    rank_ : int
        Rank of X (centred if there is an intercept), judged after its columns are scaled to
        equal length. Dense X only.
    singular_ : ndarray of shape (min(n_samples, n_features),)
        Singular values of X (centred if there is an intercept). Dense X only.
    solver_ : str
        The solver that gave the answer: "cholesky", "qr", "svd", "gd", "sgd", "lsqr" or "nnls".
    certificate_ : float
        An upper bound on the distance of the objective from its minimum, for "gd", "sgd" and
        `positive`; infinite if `positive` and columns are dependent.
    n_iter_ : int
        Epochs of "gd" and "sgd", changes of the active set if `positive`, otherwise 1.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.linear_model import LinearRegression
    >>> X = np.array([[1, 1], [1, 2], [2, 2], [2, 3]])
    >>> y = X @ [1, 2] + 3
    >>> model = LinearRegression().fit(X, y)
    >>> model.coef_.round(12), round(float(model.intercept_), 12)
    (array([1., 2.]), 3.0)
    >>> model.predict([[3, 5]]).round(12)
    array([16.])
    """

    card = Card(
        page="linear-regression",
        checks="linear",
        onnx="linear",
        use="a number from columns whose effects add up; weights with standard errors",
        good="no settings; exact; every weight has a meaning, an interval and a test",
        bad="misled by outliers; unstable when columns are nearly dependent or p is near n",
        time="O(n p²)",
        memory="O(n p), for a centred copy of X",
        rescaling="not needed: predictions do not depend on the units",
        instead="Ridge for correlated columns, Lasso to select, HuberRegressor for outliers",
    )

    _parameter_constraints = {
        "fit_intercept": ["boolean"],
        "copy_X": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [None, Integral],
        "positive": ["boolean"],
        "solver": [StrOptions({"auto", "qr", "cholesky", "svd", "gd", "sgd"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [None, Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        fit_intercept=True,
        copy_X=True,
        tol=1e-6,
        n_jobs=None,
        positive=False,
        solver="auto",
        max_iter=10_000,
        learning_rate=None,
        random_state=None,
    ):
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.tol = tol
        self.n_jobs = n_jobs
        self.positive = positive
        self.solver = solver
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        """Fit w and b.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights s ≥ 0: a weight of 2 stands for two equal rows, 0 for none.

        Returns
        -------
        self : LinearRegression
            The fitted estimator.
        """
        if parameters(self) != DEFAULTS:
            self._validate_params()
        sparse = ["csr", "csc"] if self.solver in GRAM and not self.positive else False
        X, Y, one_target = training_set(self, X, y, sparse)
        for name in RESULTS:
            self.__dict__.pop(name, None)
        self.n_iter_ = 1
        w, b, rank, sigma, self.solver_ = self._solve(X, Y, sample_weight)
        if X.dtype.itemsize == 4:
            w, b = w.astype(np.float32), b.astype(np.float32)
            sigma = None if sigma is None else sigma.astype(np.float32)
        if not (math.isfinite(np.vdot(w, w)) and math.isfinite(np.vdot(b, b))):
            refuse_overflow(self, coef_=w, intercept_=b)
        self.coef_ = w.ravel() if one_target else np.ascontiguousarray(w.T)
        self.intercept_ = (b[0] if one_target else b) if self.fit_intercept else 0.0
        if rank is not None and type(X) is np.ndarray:
            self.rank_, self.singular_ = rank, sigma
        return self

    def summary(self, X, y, sample_weight=None, *, level=0.95):
        """Standard errors, t, p, confidence intervals and measures of fit, given the training rows.

        Parameters
        ----------
        X, y, sample_weight
            What the model was fitted on; none of it is kept in the model.
        level : float, default=0.95
            Coverage of the confidence intervals.

        Returns
        -------
        summary : Summary
            A table that prints in a terminal and shows as HTML in a notebook.
        """
        from .summary import summarize

        check_is_fitted(self)
        return summarize(
            X,
            y,
            self.coef_,
            self.intercept_ if self.fit_intercept else None,
            sample_weight=sample_weight,
            feature_names=getattr(self, "feature_names_in_", None),
            level=level,
        )

    def _rows(self, X, Y, sample_weight):
        """The rows in the coordinates that the solvers take."""
        s, X = None, X.astype(float) if sp.issparse(X) else X
        if sample_weight is not None:
            s = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        return DesignRows.of(X, Y, s, intercept=self.fit_intercept, n_jobs=self.n_jobs)

    def _solve(self, X, Y, sample_weight):
        """The solution, by the solver asked for."""
        n, p = X.shape
        small = X.size + Y.size <= SMALL and sample_weight is None and type(X) is np.ndarray
        gram = self.solver in GRAM and not self.positive
        tall = n >= p + self.fit_intercept
        if gram and tall and small and (found := by_normal_equations(X, Y, self.fit_intercept)):
            return found
        with np.errstate(over="ignore", invalid="ignore"):  # the solvers look at their sums instead
            rows = self._rows(X, Y, sample_weight)
            if sp.issparse(X):
                return self._solve_sparse(rows, tall)
            if gram and tall and (found := by_cholesky(rows)):
                return found
            return self._solve_checked(rows, wide=gram and not tall)

    def _solve_sparse(self, rows, tall):
        """The same without filling X, if X is large."""
        n, p = rows.X.shape
        if tall and p <= MOST and (found := by_cholesky(rows)):
            return found
        if n * p > DENSE:
            return by_lsqr(rows, self.tol)
        rows = self._rows(rows.X.toarray(), rows.y, rows.s)
        return self._solve_checked(rows, wide=not tall)

    def _solve_checked(self, rows, wide):
        """The same once the normal equations of a tall X are ruled out."""
        for name, values in (("X", rows.X), ("y", rows.y)):
            assert_all_finite(values, estimator_name=type(self).__name__, input_name=name)
        rows = rows.positive()
        if self.positive:
            return self._drive(rows, *self._non_negative(rows))
        if self.solver in ("gd", "sgd"):
            return self._drive(rows, *self._descent(rows))
        if wide:
            in_place = not self.copy_X and rows.X.dtype == np.float64 and rows.X.flags.writeable
            return by_wide(rows, in_place)
        return by_svd(rows) if self.solver == "svd" else by_qr(rows)

    def _descent(self, rows):
        """Name, problem, solver and its limits for "gd" and "sgd"."""
        A, c, x_mean, y_mean = centred(rows)
        (n, p), S = A.shape, float(len(A) if rows.s is None else rows.s.sum())
        mu, L = map(float, descent.extremes(A, S))
        problem = descent.LeastSquaresProblem(A, c, S, mu, L, np.ones((p, 1)), x_mean, y_mean)
        tol = self.tol * float((c * c).sum()) / (2 * S)
        if self.solver == "gd":
            states = descent.gradient_descent(problem, self.learning_rate or 1.0 / (L or 1.0))
        else:
            L_row = np.einsum("ij,ij->i", A, A).max() * n / S
            step = self.learning_rate or 0.5 / (L_row or 1.0)
            rng = check_random_state(self.random_state)
            states = descent.stochastic_gradient_descent(problem, step, rng)
        return self.solver, problem, states, tol, self.max_iter

    def _non_negative(self, rows):
        """Name, problem, solver and its limits for w ≥ 0."""
        S = float(len(rows.X) if rows.s is None else rows.s.sum())
        problem = descent.LeastSquaresProblem.of_triangle(rows, DesignTriangle.of(rows), S)
        most = 10 * rows.X.shape[1] * rows.y.shape[1] + 10
        return "nnls", problem, descent.non_negative(problem), None, most

    def _drive(self, rows, name, problem, states, tol, max_iter):
        """Drive an iterative solver to its end."""
        one_target = rows.y.shape[1] == 1

        def publish(state):
            w, b = (state.w[:, 0], state.b[0]) if one_target else (state.w.T, state.b)
            found = {"coef_": w, "intercept_": b, "certificate_": state.gap}
            return found | {"solver_": name}

        state = iterate(
            self,
            states,
            max_iter=max_iter,
            tol=tol,
            watch="gap",
            unit="epochs",
            advice="raise max_iter or tol, or scale the columns of X",
            publish=publish,
            X=rows.X,
            y=rows.y[:, 0] if one_target else rows.y,
        )
        self.certificate_ = state.gap
        sigma = singular_values(problem.A / problem.d.T)
        return LeastSquaresSolution(state.w, state.b, numerical_rank(sigma), sigma, name)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.solver in GRAM and not self.positive
        return tags


parameters = attrgetter(*LinearRegression.__init__.__kwdefaults__)
DEFAULTS = parameters(LinearRegression())  # they need no validation
Reference.register(LinearRegression)  # RANSACRegressor and others ask by isinstance
