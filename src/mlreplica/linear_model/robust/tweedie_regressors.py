"""Regressors of amounts: `GammaRegressor` and `TweedieRegressor`; `tweedie.py` has the problem"""

from numbers import Real

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, StrOptions

from .mean_regressor import MeanRegressor
from .tweedie import Amounts


class AmountRegressor(MeanRegressor):
    """Both solve the problem of `tweedie.py`."""

    def _problem(self, rows, y, s, alpha):
        """The amounts, with the power and the link."""
        return Amounts.of(rows, y, s, alpha, *self._family())


class GammaRegressor(AmountRegressor):
    r"""Regression of positive amounts whose standard deviation grows with the mean.

    Minimises :math:`\frac{1}{S}\sum_i s_i (f_i + y_i e^{-f_i}) + \frac{\alpha}{2}\lVert w\rVert^2`
    over w and b, where :math:`f_i = x_i^\top w + b` is the logarithm of the mean, :math:`s_i` is
    the weight of row i (1 by default) and S the sum of the weights.

    Parameters
    ----------
    alpha : float, default=1
        Strength of the penalty; 0 for plain maximum likelihood.
    fit_intercept : bool, default=True
        Fit b; otherwise b = 0.
    solver : {"lbfgs", "newton-cholesky"}, default="lbfgs"
        Both names of scikit-learn are taken and give Newton's method, which ends at the same
        minimum.
    max_iter : int, default=100
        The most steps.
    tol : float, default=1e-4
        Stop when `certificate_` is at most tol².
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
        b.
    certificate_ : float
        An upper bound on the distance of the objective from its minimum; infinite if none is known.
    n_iter_ : int
        Steps taken over all rows.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> from mlreplica.linear_model import GammaRegressor
    >>> X = [[1, 2], [2, 3], [3, 4], [4, 3]]
    >>> y = [19, 26, 33, 30]
    >>> model = GammaRegressor().fit(X, y)
    >>> round(model.score(X, y), 3)
    0.773
    """

    card = Card(
        page="poisson-regression",
        checks="linear",
        onnx="log_linear",
        by_name=True,  # one zero in y, and it refuses
        use="a positive amount with errors in per cent: claims, durations, rainfall",
        good="predictions are positive; effects multiply; a certificate bounds its error",
        bad="refuses zeros; assumes a standard deviation in proportion to the mean",
        time="O(n p²) per Newton step, some 5 steps",
        memory="O(n p)",
        instead="TweedieRegressor(power=1.5) if there are zeros; HuberRegressor on log y",
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
        """Gamma: p = 2 and the logarithm."""
        return 2.0, True


class TweedieRegressor(AmountRegressor):
    r"""Regression for variances that grow like a power of the mean.

    Minimises half the mean deviance of y from its mean :math:`\mu`, and
    :math:`\frac{\alpha}{2}\lVert w\rVert^2`, where :math:`x^\top w + b` is :math:`\log\mu` or
    :math:`\mu`, as the link says.

    Parameters
    ----------
    power : float, default=0
        p: the variance grows like the mean to the power p. 0: normal, 1: Poisson, between 1 and 2:
        amounts with zeros (compound Poisson), 2: gamma, 3: inverse Gaussian.
    alpha : float, default=1
        Strength of the penalty; 0 for plain maximum likelihood.
    fit_intercept : bool, default=True
        Fit b; otherwise b = 0.
    link : {"auto", "identity", "log"}, default="auto"
        What the linear function is: the mean or its logarithm; "auto" is "identity" for a power of
        at most 0, else "log".
    solver : {"lbfgs", "newton-cholesky"}, default="lbfgs"
        Both names of scikit-learn are taken and give Newton's method.
    max_iter : int, default=100
        The most steps.
    tol : float, default=1e-4
        Stop when `certificate_` is at most tol², in units of the mean of y to the power 2 − p; when
        the Newton decrement is, if the problem is not convex.
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
        b.
    certificate_ : float
        An upper bound on the distance of the objective from its minimum; infinite if none is known,
        as outside 1 ≤ p ≤ 2, where the objective is not convex in w (but for p = 0 and the link
        "identity").
    n_iter_ : int
        Steps taken over all rows.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> from mlreplica.linear_model import TweedieRegressor
    >>> X = [[1, 2], [2, 3], [3, 4], [4, 3]]
    >>> y = [2, 3.5, 5, 5.5]
    >>> model = TweedieRegressor().fit(X, y)
    >>> round(model.score(X, y), 3)
    0.84
    """

    card = Card(
        page="poisson-regression",
        checks="linear",
        by_name=True,  # its default is Ridge
        use="amounts with many exact zeros, as insurance claims per policy (1 < power < 2)",
        good="one model for zeros and sizes; a certificate bounds its error for 1 ≤ power ≤ 2",
        bad="the power must be chosen; not convex for powers below 1 and above 2",
        time="O(n p²) per Newton step, some 5 steps",
        memory="O(n p)",
        instead="PoissonRegressor for counts; GammaRegressor for positive amounts",
    )

    _parameter_constraints = {
        "power": [Interval(Real, None, None, closed="neither")],
        **MeanRegressor._parameter_constraints,
        "link": [StrOptions({"auto", "identity", "log"})],
    }

    def __init__(
        self,
        *,
        power=0.0,
        alpha=1.0,
        fit_intercept=True,
        link="auto",
        solver="lbfgs",
        max_iter=100,
        tol=1e-4,
        warm_start=False,
        verbose=0,
        n_jobs=None,
    ):
        self.power = power
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.link = link
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.n_jobs = n_jobs

    def _family(self):
        """(p, whether the link is the logarithm)."""
        return float(self.power), self.power > 0 if self.link == "auto" else self.link == "log"
