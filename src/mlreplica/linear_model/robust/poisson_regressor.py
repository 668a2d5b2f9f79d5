"""PoissonRegressor: regression of counts; `poisson.py` has the problem"""

from mlreplica.core.card import Card

from .mean_regressor import MeanRegressor
from .poisson import Counts


class PoissonRegressor(MeanRegressor):
    r"""Regression of counts: the logarithm of the mean is linear.

    Minimises :math:`\frac{1}{S}\sum_i s_i (e^{f_i} - y_i f_i) + \frac{\alpha}{2}\lVert w\rVert^2`
    over w and b, where :math:`f_i = x_i^\top w + b`, :math:`s_i` is the weight of row i (1 by
    default) and S the sum of the weights.

    Parameters
    ----------
    alpha : float, default=1
        Strength of the penalty; 0 for plain maximum likelihood. If columns are dependent and there
        is no penalty, of all best w the one of least norm is found.
    fit_intercept : bool, default=True
        Fit b; otherwise b = 0.
    solver : {"lbfgs", "newton-cholesky"}, default="lbfgs"
        Both names of scikit-learn are taken and give Newton's method, which ends at the same
        minimum: by Cholesky, or by conjugate gradients where there are more than 1500 columns and
        rows (256 columns if X is sparse).
    max_iter : int, default=100
        The most steps.
    tol : float, default=1e-4
        Stop when `certificate_` is at most tol² times the mean of y. For a problem of unit
        curvature that is a gradient of length `tol`.
    warm_start : bool, default=False
        Start from the answer of the last fit.
    verbose : int, default=0
        Above 0, write a line per step on standard output.
    n_jobs : int, default=None
        Threads; None means all.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        w.
    intercept_ : float
        b. If y is zero in every row, the logarithm of 2⁻⁵², as that of 0 is not finite.
    certificate_ : float
        An upper bound on the distance of the objective from its minimum; infinite if none is
        known (no penalty and far from the minimum, or no penalty and conjugate gradients).
    n_iter_ : int
        Steps taken over all rows.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> from mlreplica.linear_model import PoissonRegressor
    >>> X = [[1, 2], [2, 3], [3, 4], [4, 3]]
    >>> y = [12, 17, 22, 21]
    >>> model = PoissonRegressor().fit(X, y)
    >>> model.coef_.round(3), round(float(model.intercept_), 3)
    (array([0.121, 0.158]), 2.089)
    >>> round(model.score(X, y), 3)
    0.99
    """

    card = Card(
        page="poisson-regression",
        checks="linear",
        onnx="log_linear",
        use="a count, or a rate with exposures as weights",
        good="predictions are positive; effects multiply; a certificate bounds its error",
        bad="assumes a variance equal to the mean",
        time="O(n p) per iteration of L-BFGS, O(n p²) per Newton step",
        memory="O(n p)",
        instead="HistGradientBoostingRegressor(loss='poisson') for curves and interactions",
    )

    def __init__(
        self,
        *,
        alpha=1.0,
        fit_intercept=True,
        solver="lbfgs",
        max_iter=100,
        tol=1e-4,
        warm_start=False,
        verbose=0,
        n_jobs=None,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.n_jobs = n_jobs

    def _family(self):
        """Poisson: p = 1 and the logarithm."""
        return 1.0, True

    def _problem(self, rows, y, s, alpha):
        """The counts."""
        return Counts.of(rows, y, s, alpha)
