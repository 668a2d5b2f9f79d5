"""Least angle regression and the lasso by its path: the estimators; see `homotopy.py`"""

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.linear_model import Lars as Reference
from sklearn.linear_model import LassoLars as LassoReference
from sklearn.utils import check_random_state

from mlreplica.core.card import Card
from mlreplica.core.compat import Hidden, Interval, StrOptions
from mlreplica.core.iterate import CallbackSupport, attributes_set_by, iterate
from mlreplica.core.linear import LinearPrediction, forget_names
from mlreplica.core.validation import FLOATS, ValidatedOnce, is_plain, validate_data
from mlreplica.linear_model.lasso.coordinate_descent import blur, duality_gap, objective
from mlreplica.linear_model.lasso.problem import LassoProblem, checked_gram

from .path import EPS, asked_gram, path_states, rows_of, stacked, warn_of_ties


class JudgedState(NamedTuple):
    """A LarsState that callbacks see of a lasso: with its objective and gap at the α asked for."""

    alpha: float
    w: np.ndarray
    active: np.ndarray
    column: int
    entered: bool
    events: int
    tied: int
    objective: float
    gap: float


class LarsFit(
    LinearPrediction,
    MultiOutputMixin,
    RegressorMixin,
    ValidatedOnce,
    BaseEstimator,
):
    """What estimators share that follow a path to one α."""

    method = "lar"
    positive = False

    def _rows(self, X, y, copy_X=True, several=True):
        """X, and y (n, q), checked; X is centred in place if it need not be copied."""
        if is_plain(X, y, "f", contiguous=False):
            forget_names(self, X)
        else:
            options = {"dtype": FLOATS, "y_numeric": True, "multi_output": several}
            X, y = validate_data(self, X, y, **options)
        if not copy_X and self.fit_intercept and X.flags.writeable:
            X -= X.mean(axis=0)
        return X, y[:, None] if y.ndim == 1 else y

    def _follow(self, X, Y, alpha, max_iter, fit_path=True):
        """Follow the path of every target to `alpha`, and publish it."""
        gram = checked_gram(asked_gram(self.precompute), X, None, self.fit_intercept)
        problem = LassoProblem(X, Y, None, self.fit_intercept, gram, type(self).__name__)
        rows, paths = rows_of(problem), [[] for _ in problem.c]
        seen = self.method == "lasso" and getattr(self, "_skl_callbacks", None)

        def judged(state, k):
            return JudgedState(
                *state, *certify(problem, rows, {k: state.w}, alpha, self.positive)[0]
            )

        def states():
            for k, (c, path) in enumerate(zip(problem.c, paths, strict=True)):
                options = (self.method, self.positive, alpha, max_iter, self.eps)
                for state in path_states(rows, c, *options):
                    path.append(state)
                    yield judged(state, k) if seen else state
                    if not fit_path:
                        del path[:-1]

        def publish(state):
            begun = [
                path or [state._replace(w=0.0 * state.w, active=state.active[:0], events=0)]
                for path in paths
            ]
            return attributes_set_by(
                self, lambda model: model._publish(problem, rows, begun, alpha, fit_path)
            )

        iterate(
            self,
            states(),
            max_iter=10**9,
            unit="events",
            publish=publish,
            X=X,
            y=Y,
            verbose=int(self.verbose),
        )
        self._publish(problem, rows, paths, alpha, fit_path)
        for path in paths:
            warn_of_ties(path[-1])
        return self

    def _publish(self, problem, rows, paths, alpha, fit_path):
        """Set the fitted attributes from the states of every target, in the precision of X."""
        kind, W = problem.X.dtype, np.array([path[-1].w for path in paths])
        b = problem.y_mean - W @ problem.x_mean
        found = {
            "coef_": W.astype(kind),
            "intercept_": b.astype(kind) if self.fit_intercept else np.zeros(len(b), dtype=kind),
            "alphas_": [np.array([s.alpha for s in path], dtype=kind) for path in paths],
            "n_iter_": [path[-1].events for path in paths],
        }
        if fit_path:
            found["active_"] = [path[-1].active.tolist() for path in paths]
            found["coef_path_"] = [stacked(path, kind) for path in paths]
        if self.method == "lasso":
            W = dict(enumerate(found["coef_"].astype(float)))
            gaps = np.array(certify(problem, rows, W, alpha, self.positive))[:, 1]
            off = found["intercept_"] - (problem.y_mean - found["coef_"] @ problem.x_mean)
            found["dual_gap_"] = gaps + (0.5 * off**2 if self.fit_intercept else 0.0)
            self.certificate_ = float(found["dual_gap_"].sum())
        for name, values in found.items():
            setattr(self, name, values[0] if len(paths) == 1 else values)
        if not self.fit_intercept:
            self.intercept_ = 0.0


def certify(problem, rows, W, alpha, positive):
    """(objective, duality gap) of the lasso at α for each target k, whose weights are W[k]."""
    found = []
    for k, w in W.items():
        c, size, y = problem.c[k], problem.size[k], problem.y[k]
        if problem.whole:
            u, ry = c - problem.G @ w, float(size - c @ w)
            rr = max(ry - float(w @ u), 0.0)
        else:
            r = y - problem.A.product(w)
            u, rr, ry = problem.A.gradient(r), float(r @ r) / len(r), float(r @ y) / len(r)
        gap, *_ = duality_gap(rr, ry, u, w, alpha, 0.0, positive)
        gap += blur(float(size), np.sqrt(rows.q), w)
        found.append((objective(rr, w, alpha, 0.0), gap))
    return found


class Lars(CallbackSupport, LarsFit):
    r"""Least angle regression: columns enter one by one and then keep equal covariances.

    With u the covariances of the (centred) columns with the residual and F the columns in use,
    :math:`|u_j| = \alpha` for all j in F and :math:`|u_j| \le \alpha` for the others. The weights
    are followed while α falls from its largest value to the one at which another column would be
    one too many. Weights are piecewise linear in α.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Fit b; otherwise b = 0.
    verbose : bool or int, default=False
        Write a line for every so many events.
    precompute : bool, "auto" or ndarray of shape (n_features, n_features), default="auto"
        True: work on the Gram matrix XᵀX. An array: it is that matrix, of the centred X. "auto",
        False: the solver decides for itself.
    n_nonzero_coefs : int, default=500
        How many columns may enter.
    eps : float, default=2.2e-16
        A column depends on those in use if they leave at most this part of its squared length, or
        1e-12 if that is more; it does not enter then.
    copy_X : bool, default=True
        If False, X may be centred in place.
    fit_path : bool, default=True
        Keep the path in `coef_path_`.
    jitter : float, default=None
        Add noise to y, uniform from 0 to this. Kept for scikit-learn; ties need no noise here.
    random_state : int, RandomState instance or None, default=None
        Draws that noise.

    Attributes
    ----------
    alphas_ : ndarray of shape (n_alphas,) or list of such arrays
        α where a column enters, the largest first, and at the end; one array per target.
    active_ : list of int or list of such lists
        The columns in use, in the order in which they came; only with `fit_path`.
    coef_path_ : ndarray of shape (n_features, n_alphas) or list of such arrays
        The weights at each α, linear in between; only with `fit_path`.
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        The weights at the end.
    intercept_ : float or ndarray of shape (n_targets,)
        b.
    n_iter_ : int or list of int
        How many columns entered.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> from mlreplica.linear_model import Lars
    >>> model = Lars(n_nonzero_coefs=1).fit([[-1, 1], [0, 0], [1, 1]], [-1.1111, 0, -1.1111])
    >>> model.active_, model.coef_.round(4)
    ([1], array([ 0.    , -1.1111]))
    """

    card = Card(
        page="least-angle-regression",
        checks="linear",
        onnx="linear",
        use="the order in which columns matter for a number",
        good="the whole path for the cost of one least-squares fit; nothing to tune but its length",
        bad="sensitive to noise in correlated columns; minimises no objective",
        time="O(n p) per column that enters",
        memory="O(p min(n, p))",
        instead="LassoLars for an objective and a certificate, Lasso for one alpha",
    )

    _parameter_constraints = {
        "fit_intercept": ["boolean"],
        "verbose": ["verbose"],
        "precompute": ["boolean", StrOptions({"auto"}), np.ndarray, Hidden(None)],
        "n_nonzero_coefs": [Interval(Integral, 1, None, closed="left")],
        "eps": [Interval(Real, 0, None, closed="left")],
        "copy_X": ["boolean"],
        "fit_path": ["boolean"],
        "jitter": [Interval(Real, 0, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        fit_intercept=True,
        verbose: int = False,
        precompute: Any = "auto",
        n_nonzero_coefs=500,
        eps=EPS,
        copy_X=True,
        fit_path=True,
        jitter=None,
        random_state=None,
    ):
        self.fit_intercept = fit_intercept
        self.verbose = verbose
        self.precompute = precompute
        self.n_nonzero_coefs = n_nonzero_coefs
        self.eps = eps
        self.copy_X = copy_X
        self.fit_path = fit_path
        self.jitter = jitter
        self.random_state = random_state

    def fit(self, X, y, Xy=None):
        """Follow the path.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets; each has a path of its own.
        Xy : array-like of shape (n_features,) or (n_features, n_targets), default=None
            Without effect: Xᵀy costs nothing beside the path.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        self._validate_params()
        X, Y = self._rows(X, y, self.copy_X)
        if self.jitter is not None:
            noise = check_random_state(self.random_state).uniform(high=self.jitter, size=len(Y))
            Y = Y + noise[:, None]
        return self._follow(X, Y, *self._limits(), self.fit_path)

    def _limits(self):
        """α at the end, and the most events."""
        return 0.0, self.n_nonzero_coefs


class LassoLars(Lars):
    r"""The lasso, exactly, by following its path from the largest α to the one asked for.

    Minimises :math:`\frac{1}{2n} \|y - Xw - b\|^2 + \alpha\|w\|_1` over w and b. The minimum is
    piecewise linear in α; the path is followed from piece to piece, so that the weights carry no
    error but rounding and those of all larger α come with them.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength α ≥ 0 of the penalty.
    fit_intercept : bool, default=True
        Fit b; otherwise b = 0.
    verbose : bool or int, default=False
        Write a line for every so many events.
    precompute : bool, "auto" or ndarray of shape (n_features, n_features), default="auto"
        True: work on the Gram matrix XᵀX. An array: it is that matrix, of the centred X. "auto",
        False: the solver decides for itself.
    max_iter : int, default=500
        The most columns that enter or leave. If the path ends earlier, `certificate_` tells how far
        the weights are from the minimum.
    eps : float, default=2.2e-16
        A column depends on those in use if they leave at most this part of its squared length, or
        1e-12 if that is more; it does not enter then.
    copy_X : bool, default=True
        If False, X may be centred in place.
    fit_path : bool, default=True
        Keep the path in `coef_path_`.
    positive : bool, default=False
        Ask for w ≥ 0.
    jitter : float, default=None
        Add noise to y, uniform from 0 to this. Kept for scikit-learn; ties need no noise here.
    random_state : int, RandomState instance or None, default=None
        Draws that noise.

    Attributes
    ----------
    alphas_ : ndarray of shape (n_alphas,) or list of such arrays
        α where a column enters or leaves, the largest first, and at the end; one array per target.
    active_ : list of int or list of such lists
        The columns in use, in the order in which they came; only with `fit_path`.
    coef_path_ : ndarray of shape (n_features, n_alphas) or list of such arrays
        The weights at each α, linear in between; only with `fit_path`.
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        w.
    intercept_ : float or ndarray of shape (n_targets,)
        b.
    certificate_ : float
        Duality gap: the objective is at most this far above its minimum (targets summed).
    dual_gap_ : float or ndarray of shape (n_targets,)
        The same, per target.
    n_iter_ : int or list of int
        How many columns entered or left.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> from mlreplica.linear_model import LassoLars
    >>> model = LassoLars(alpha=0.1).fit([[0, 0], [1, 1], [2, 3]], [0, 1, 2])
    >>> model.coef_.round(4), round(float(model.intercept_), 4), model.certificate_ < 1e-14
    (array([0.    , 0.5786]), 0.2286, True)
    """

    card = Lars.card.but(
        use="a number from many columns, few of which matter, at every penalty at once",
        good="exact; selects columns; gives the whole path; a certificate bounds its error",
        bad="a step per column: slow where many columns are used; of correlated ones keeps one",
        time="O(n p) per column that enters or leaves",
        instead="Lasso for one alpha, LassoLarsCV to choose it, ElasticNet for correlated columns",
    )

    method = "lasso"
    _parameter_constraints = {
        **Lars._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "positive": ["boolean"],
    }
    _parameter_constraints.pop("n_nonzero_coefs")

    def __init__(
        self,
        alpha=1.0,
        *,
        fit_intercept=True,
        verbose: int = False,
        precompute: Any = "auto",
        max_iter=500,
        eps=EPS,
        copy_X=True,
        fit_path=True,
        positive=False,
        jitter=None,
        random_state=None,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.verbose = verbose
        self.precompute = precompute
        self.max_iter = max_iter
        self.eps = eps
        self.copy_X = copy_X
        self.fit_path = fit_path
        self.positive = positive
        self.jitter = jitter
        self.random_state = random_state

    def _limits(self):
        """α at the end, and the most events."""
        return self.alpha, self.max_iter


Reference.register(Lars)
LassoReference.register(LassoLars)
