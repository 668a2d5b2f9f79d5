"""Quantile regression: the estimator; objective and solvers are in `quantile_solvers.py`"""

import warnings
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import (
    BaseEstimator,
    RegressorMixin,
)
from sklearn.exceptions import ConvergenceWarning

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    Interval,
    StrOptions,
    _fit_context,
)
from mlreplica.core.iterate import CallbackSupport, iterate
from mlreplica.core.linalg import power_of_two
from mlreplica.core.linear import LinearPrediction, training_rows, weighted_rows
from mlreplica.core.rows.walk import Rows

from .quantile_solvers import (
    FEW,
    Lines,
    QuantileState,
    by_columns,
    independent,
    near_then_exact,
    simplex,
)


class QuantileRegressor(CallbackSupport, LinearPrediction, RegressorMixin, BaseEstimator):
    r"""Linear regression for a quantile, as the median, with an L1 penalty.

    Minimises :math:`\frac{1}{S}\sum_i s_i \max(\tau r_i, (\tau-1) r_i) + \alpha\lVert w\rVert_1`
    over w and b, where :math:`r_i = y_i - x_i^\top w - b`, :math:`s_i` is the weight of row i (1
    by default) and S the sum of the weights.

    Parameters
    ----------
    quantile : float, default=0.5
        τ, between 0 and 1: a share τ of the rows comes to lie below the line.
    alpha : float, default=1.0
        Strength of the penalty.
    fit_intercept : bool, default=True
        Fit b; otherwise b = 0.
    solver : {"highs", "highs-ds", "highs-ipm", "interior-point", "revised simplex"}
        Names of scikit-learn for the same optimum, "highs" by default. "revised simplex" walks
        from vertex to vertex. All others give an interior-point method that ends with such a walk;
        with more than 100 penalised columns, on those columns that turn out to matter.
    solver_options : dict, default=None
        "maxiter" replaces `max_iter`. Options of other solvers are not looked at.
    max_iter : int, default=10000
        The most steps.
    tol : float, default=1e-12
        Stop when `certificate_` is at most `tol` times the objective. A vertex reaches 1e-14.
    n_jobs : int, default=None
        Threads; None means all.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        w.
    intercept_ : float
        b.
    certificate_ : float
        An upper bound on the distance of the objective from its minimum: the duality gap.
    n_iter_ : int
        Steps taken.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.linear_model import QuantileRegressor
    >>> X = np.arange(10.0)[:, None]
    >>> y = [0.0, 2, 1, 5, 4, 9, 5, 12, 7, 20]
    >>> model = QuantileRegressor(quantile=0.7, alpha=0).fit(X, y)
    >>> model.coef_.round(3), round(model.intercept_, 3)
    (array([1.8]), 0.0)
    >>> float(np.mean(y <= model.predict(X) + 1e-9))
    0.8
    """

    card = Card(
        page="quantile-regression",
        checks="linear",
        onnx="linear",
        use="a quantile of the target: the median, or the ends of an interval",
        good="no assumption about the noise; robust to outliers in the target",
        bad="slower than least squares; quantiles that are fitted separately can cross",
        time="O(n p²) per step of the interior-point method",
        memory="O(n p)",
        instead="HistGradientBoostingRegressor(loss='quantile') for curves",
    )

    _parameter_constraints = {
        "quantile": [Interval(Real, 0, 1, closed="neither")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "solver": [
            StrOptions({"highs-ds", "highs-ipm", "highs", "interior-point", "revised simplex"})
        ],
        "solver_options": [dict, None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        *,
        quantile=0.5,
        alpha=1.0,
        fit_intercept=True,
        solver="highs",
        solver_options=None,
        max_iter=10_000,
        tol=1e-12,
        n_jobs=None,
    ):
        self.quantile = quantile
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.solver_options = solver_options
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit w and b.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights s ≥ 0: a weight of 2 stands for two equal rows, 0 for none.

        Returns
        -------
        self : QuantileRegressor
            The fitted estimator.
        """
        X, y = training_rows(self, X, y, accept_sparse=["csc", "csr", "coo"])
        if sp.issparse(X) and self.solver in ("interior-point", "revised simplex"):
            raise ValueError(
                f"Solver {self.solver} does not support sparse X. Use solver 'highs' for example."
            )
        X = X.tocsr() if sp.issparse(X) else X
        X, y, s = weighted_rows(X, y, sample_weight)
        # y about its median in units of its size; P is `unit` times (1) in these units
        y0 = float(np.median(y)) if self.fit_intercept else 0.0
        size = float(np.abs(y - y0).max())
        unit = float(1.0 / power_of_two(size)) if size > 0 else 1.0
        rows = Rows.of(X, intercept=self.fit_intercept, n_jobs=self.n_jobs, rotate=self.alpha == 0)

        p, keep = rows.p, None
        if self.alpha == 0 and len(keep := independent(rows)) < p and rows.basis is None:
            rows = rows.columns(keep)
        else:
            keep = None

        def lines_of(rows):
            return Lines.of(rows, (y - y0) / unit, s, self.quantile, self.alpha)

        if self.solver == "revised simplex":
            solver = simplex(lines_of(rows))
        elif self.alpha > 0 and rows.p > FEW:
            solver = by_columns(lines_of, rows, self.alpha, self.tol)
        else:
            solver = near_then_exact(lines_of(rows))

        ended = []

        def states():
            relative = 0.0
            for found in solver:
                relative = found.relative_gap
                w, b = rows.plain(found.v)
                if keep is not None:
                    full = np.zeros(p)
                    full[keep], w = w, full
                gap = max(found.objective - found.bound, 0.0)
                exact = int((np.abs(found.r[: len(y)]) <= 1e-12).sum())
                values = unit * found.objective, unit * gap, found.relative_gap, exact
                yield QuantileState(unit * w, unit * b + y0, *values)
            ended.append(relative)

        def attributes(state):
            b = state.b if self.fit_intercept else 0.0
            return {"coef_": state.w, "intercept_": b, "certificate_": state.gap}

        with rows.threads():
            state = iterate(
                self,
                states(),
                max_iter=(self.solver_options or {}).get("maxiter", self.max_iter),
                tol=self.tol,
                watch="relative_gap",
                unit="steps",
                advice="raise max_iter",
                publish=attributes,
                X=X,
                y=y,
            )
        if ended and ended[0] > max(self.tol, 1e-6):
            warnings.warn(
                f"Not converged: relative_gap {ended[0]:.1e} after {self.n_iter_} steps, and "
                "rounding leaves no more to gain; scale X, or raise alpha.",
                ConvergenceWarning,
                stacklevel=2,
            )
        vars(self).update(attributes(state))
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
