r"""Support vector classification with ν, a bound on the share of margin errors, instead of C

With weights v_i of mean 1, `NuSVC` solves for every pair of classes

    minimise over w, b, ρ:   ½‖w‖² − νnρ + Σ_i v_i max(0, ρ − s_i(wᵀφ(x_i) + b))             (1)

Its dual is (3) of `_smo.py` with q = 0, u_i − l_i = v_i and Σ α = νn/2 in each class: two sums. At
least νn rows (by weight) are support vectors, at most νn are on the wrong side of the margin. The
decision is divided by ρ, which puts the margin at ±1 as in (1) of `_svc.py`.

Schölkopf, Smola, Williamson, Bartlett, New support vector algorithms (2000).
"""

from numbers import Real
from typing import Any

import numpy as np

from mlreplica.core.compat import (
    Interval,
)

from ._margin_classifier import MarginClassifier
from ._smo import problem
from ._svc import SVC


class NuSVC(MarginClassifier):
    r"""Classification with the widest margin that at most a share ν of the rows may violate.

    Parameters
    ----------
    nu : float, default=0.5
        At most this share of the rows violates the margin, at least this share are support
        vectors; in (0, 1].
    kernel, degree, gamma, coef0, shrinking, probability, tol, cache_size
        As in `SVC`.
    class_weight : dict or "balanced", default=None
        Without effect, as in scikit-learn: ν gives both classes of a pair the same sum.
    verbose, max_iter, decision_function_shape, break_ties, random_state, multi_class
        As in `SVC`.
    solver : {"smo"}, default="smo"
        As in `SVC`.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_
        As in `SVC`.
    classes_, class_weight_, margin_, on_margin_, at_bound_
        As in `SVC`.
    certificate_ : float
        Duality gap of problem (1), all machines together.
    kkt_residual_, fit_status_, n_iter_, shape_fit_, probA_, probB_
        As in `SVC`.
    n_features_in_, feature_names_in_
        As in `SVC`.

    See Also
    --------
    SVC : The same with the cost C of a violation.

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.svm import NuSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NuSVC(nu=0.1).fit(X, y)
    >>> round(model.score(X, y), 3), model.n_support_.tolist()
    (0.987, [8, 11, 10])
    """

    card = SVC.card.but(
        good="nu bounds the share of margin errors and of support vectors; any kernel",
        bad="time grows with n² or faster; some nu are infeasible for unbalanced classes",
        instead="SVC, which has a solution for every C",
    )

    _parameter_constraints: dict = {
        **MarginClassifier._parameter_constraints,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    }

    def __init__(
        self,
        *,
        nu=0.5,
        kernel: Any = "rbf",
        degree=3,
        gamma: float | str = "scale",
        coef0=0.0,
        shrinking=True,
        probability: Any = "deprecated",
        tol=1e-3,
        cache_size: float = 200,
        class_weight=None,
        verbose: int = False,
        max_iter=-1,
        decision_function_shape="ovr",
        break_ties=False,
        random_state=None,
        solver="smo",
        multi_class="ovo",
    ):
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.solver = solver
        self.multi_class = multi_class

    def _dual(self, machine, weights):
        """The dual of (1), and a β with the sums that it asks for."""
        s, beta = machine.s, np.zeros(len(machine.s))
        half = 0.5 * self.nu * weights.sum()
        for sign in (1.0, -1.0):
            mine = s == sign
            share = weights[mine].sum() / weights.sum()
            if self.nu > 2.0 * share * (1.0 + 1e-12):
                raise ValueError(
                    "specified nu is infeasible: a class with a share of "
                    f"{share:.2g} among two allows nu up to {2.0 * share:.2g}."
                )
            before = np.cumsum(weights[mine]) - weights[mine]
            beta[mine] = sign * np.clip(half - before, 0.0, weights[mine])
        low, high = np.where(s > 0.0, 0.0, -weights), np.where(s > 0.0, weights, 0.0)
        return problem(np.zeros(len(s)), low, high, group=s < 0.0), beta

    def _decision_of(self, state):
        """β and b of the decision: those of (1) divided by ρ"""
        rho = 0.5 * (state.b[1] - state.b[0])
        if rho == 0.0:
            return state.beta, 0.5 * float(state.b.sum())
        return state.beta / rho, 0.5 * float(state.b.sum()) / rho
