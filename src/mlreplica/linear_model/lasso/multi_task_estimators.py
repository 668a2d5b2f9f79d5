"""Multi-task lasso and elastic net: the estimators; see `multi_task.py`"""

from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_consistent_length, check_random_state

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, StrOptions, _fit_context
from mlreplica.core.iterate import CallbackSupport, attributes_set_by, iterate
from mlreplica.core.linear import LinearPrediction, forget_names
from mlreplica.core.validation import (
    FLOATS,
    ValidatedOnce,
    is_plain_array,
    refuse_overflow,
    validate_data,
)

from .elastic_net import weights_of_rows
from .multi_task import MultiTaskProblem, block_coordinate_descent, objective


def several_targets(estimator, X, y, sample_weight, alternative):
    """X, y (n, T) and weights, checked; y of one dimension is refused."""
    if is_plain_array(X, contiguous=False) and is_plain_array(y) and len(X) == len(y):
        forget_names(estimator, X)
    else:
        X, y = validate_data(
            estimator,
            X,
            y,
            validate_separately=(
                {"accept_sparse": "csc", "dtype": FLOATS},
                {"dtype": FLOATS, "ensure_2d": False},
            ),
        )
        check_consistent_length(X, y)
    if y.ndim == 1:
        raise ValueError(f"For mono-task outputs, use {alternative}; y here has several columns.")
    return X, y, weights_of_rows(sample_weight, X)


def example():
    """Rows and two targets, for the warm-up."""
    X = np.sin(np.arange(60.0)).reshape(20, 3)
    return X, X[:, :2] + 1.0


PARAMETERS = """\
fit_intercept : bool, default=True
        Fit b; otherwise b = 0.
    copy_X : bool, default=True
        Without effect: X is never written to.
    max_iter : int, default=1000
        The most sweeps.
    tol : float, default=1e-4
        Stop when the duality gap is at most `tol` times ‖Y‖²/n (Y centred).
    warm_start : bool, default=False
        Start from the `coef_` of the last fit.
    random_state : int, RandomState instance or None, default=None
        Draws the columns if `selection` is "random".
    selection : {"cyclic", "random"}, default="cyclic"
        Order of the columns in a sweep."""
ATTRIBUTES = """\
coef_ : ndarray of shape (n_targets, n_features)
        W, transposed.
    sparse_coef_ : sparse array of shape (n_targets, n_features)
        The same as a sparse array.
    intercept_ : ndarray of shape (n_targets,)
        b.
    certificate_, dual_gap_ : float
        Duality gap: the objective is at most this far above its minimum.
    eps_ : float
        The tolerance of the gap: `tol` times ‖Y‖²/n.
    n_iter_ : int
        Sweeps.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any."""


class MultiTaskElasticNet(
    CallbackSupport,
    LinearPrediction,
    MultiOutputMixin,
    RegressorMixin,
    ValidatedOnce,
    BaseEstimator,
):
    __doc__ = rf"""Elastic net for several targets that use the same columns.

    Minimises :math:`\frac{{1}}{{2n}} \|Y - XW - b\|_F^2 + \alpha\rho \sum_j \|w_j\| +
    \frac{{\alpha(1-\rho)}}{{2}}\|W\|_F^2`, where :math:`\rho` is `l1_ratio` and w_j holds the
    weights of column j for all targets. A column is used by every target or by none.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength α ≥ 0 of the penalty.
    l1_ratio : float, default=0.5
        Share ρ of the penalty that is not squared, from 0 (ridge) to 1 (`MultiTaskLasso`).
    {PARAMETERS}

    Attributes
    ----------
    {ATTRIBUTES}

    Examples
    --------
    >>> from mlreplica.linear_model import MultiTaskElasticNet
    >>> X, Y = [[0, 1], [1, 2], [2, 4]], [[0, 0], [1, 1], [2, 3]]
    >>> MultiTaskElasticNet(alpha=0.1, tol=1e-9).fit(X, Y).coef_.round(3)
    array([[0.252, 0.451],
           [0.247, 0.788]])
    """

    card = Card(
        page="lasso",
        checks="linear",
        input="targets",
        data=example,
        use="several numbers from many columns, few of which matter, the same for all of them",
        good="selects columns for all targets at once; a certificate bounds its error",
        bad="a column that matters to one target is kept for all",
        time="O(n p T) per sweep for T targets, over few columns once most are proved to be 0",
        memory="O(n p)",
        instead="Lasso, which chooses columns for each target by itself",
    )

    @classmethod
    def small_runs(cls):
        """A call for the warm-up, beside that of dense rows."""
        X, Y = example()
        yield lambda: cls(0.01).fit(sp.csc_array(X), Y)

    _parameter_constraints = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "fit_intercept": ["boolean"],
        "copy_X": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "selection": [StrOptions({"cyclic", "random"})],
    }

    def __init__(
        self,
        alpha=1.0,
        *,
        l1_ratio=0.5,
        fit_intercept=True,
        copy_X=True,
        max_iter=1000,
        tol=1e-4,
        warm_start=False,
        random_state=None,
        selection="cyclic",
    ):
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.selection = selection

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit W and b.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples, n_targets)
            Their targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights ≥ 0 of the rows.

        Returns
        -------
        self : MultiTaskElasticNet
            The fitted estimator.
        """
        alternative = type(self).__name__.replace("MultiTask", "")
        X, Y, s = several_targets(self, X, y, sample_weight, alternative)
        problem = MultiTaskProblem(X, Y, s, self.fit_intercept)
        ratio = getattr(self, "l1_ratio", 1.0)
        W = np.zeros((X.shape[1], Y.shape[1]))
        if self.warm_start and hasattr(self, "coef_"):
            W[:] = self.coef_.T
        rng = check_random_state(self.random_state) if self.selection == "random" else None

        def publish(state):
            return attributes_set_by(self, lambda model: model._publish(problem, X.dtype, state))

        alpha, beta = self.alpha * ratio, self.alpha * (1.0 - ratio)
        state = iterate(
            self,
            block_coordinate_descent(problem, alpha, beta, W, rng=rng),
            max_iter=self.max_iter,
            tol=self.tol * problem.size,
            unit="sweeps",
            advice="raise max_iter or alpha, or scale X",
            publish=publish,
            X=X,
            y=y,
        )
        return self._publish(problem, X.dtype, state)

    def _publish(self, problem, dtype, state):
        """Set the fitted attributes, in the precision of X."""
        b = problem.y_mean - problem.x_mean @ state.W
        refuse_overflow(self, coef_=state.W, intercept_=b)
        self.coef_ = np.array(state.W.T, dtype=dtype)
        self.intercept_ = b.astype(dtype) if self.fit_intercept else 0.0
        rounded = 0.0  # what single precision costs
        if dtype != np.float64:
            ratio, W = getattr(self, "l1_ratio", 1.0), self.coef_.T.astype(np.float64)
            P = objective(problem.residual(W), W, self.alpha * ratio, self.alpha * (1.0 - ratio))
            off = self.intercept_ - problem.y_mean + problem.x_mean @ W
            rounded = max(P - state.objective, 0.0) + 0.5 * float(off @ off)
        self.dual_gap_ = self.certificate_ = float(state.gap + rounded)
        self.eps_ = float(self.tol * problem.size)
        return self

    @property
    def sparse_coef_(self):
        """W, transposed, as a sparse array."""
        return sp.csr_array(self.coef_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags


class MultiTaskLasso(MultiTaskElasticNet):
    __doc__ = rf"""Lasso for several targets that use the same columns.

    Minimises :math:`\frac{{1}}{{2n}} \|Y - XW - b\|_F^2 + \alpha \sum_j \|w_j\|`, where w_j holds
    the weights of column j for all targets. A column is used by every target or by none.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength α ≥ 0 of the penalty.
    {PARAMETERS}

    Attributes
    ----------
    {ATTRIBUTES}

    Examples
    --------
    >>> from mlreplica.linear_model import MultiTaskLasso
    >>> X, Y = [[0, 1], [1, 2], [2, 4]], [[0, 0], [1, 1], [2, 3]]
    >>> MultiTaskLasso(alpha=0.1).fit(X, Y).coef_.round(3)
    array([[0.   , 0.608],
           [0.   , 0.946]])
    """

    card = MultiTaskElasticNet.card.but(
        instead="MultiTaskElasticNet if columns are correlated; Lasso for each target by itself"
    )

    _parameter_constraints = {**MultiTaskElasticNet._parameter_constraints}
    _parameter_constraints.pop("l1_ratio")

    def __init__(
        self,
        alpha=1.0,
        *,
        fit_intercept=True,
        copy_X=True,
        max_iter=1000,
        tol=1e-4,
        warm_start=False,
        random_state=None,
        selection="cyclic",
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.selection = selection
