r"""Support vector classification: soft margin (C) and hard margin (C = ∞)

`SVC` solves, for every pair of classes, the problem (1) of `_smo.py`, its dual (3) with q = −s and
the boxes [0, c_i] or [−c_i, 0], and decides by the sign of

    d(x) = Σ_i β_i K(x_i, x) + b                                                             (1)

With C = ∞ no row may come closer than the margin 1/‖w‖: the hard margin. It exists only if the
classes can be separated. Without a box every multiple tα of an α ≥ 0 with sᵀα = 0 is allowed, and
tΣα − ½t²‖w‖², the dual at tα, is never above ½‖w*‖² = 1/(2·margin²). The best t gives

    margin ≤ ‖w‖ / Σ_i α_i,      w = Σ_i s_iα_i φ(x_i)                                       (2)

which is next to 0, for some α on the way, if the classes cannot be separated: only this counts as a
proof. Pair steps may take millions to find such an α, or a w that separates classes whose margin is
minute. Where K fits into memory the nearest points of the classes' hulls, `_hulls.py`, then tell.

Cortes, Vapnik, Support-vector networks (1995).
"""

from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    Interval,
    Options,
    StrOptions,
)
from mlreplica.kernels import RBF

from ._base import warn_if_unscaled
from ._hulls import nearest_points
from ._margin_classifier import SOLVERS, MarginClassifier
from ._smo import problem

LEAST_MARGIN = 1e-5  # as a part of the longest φ(x): classes closer than this are not separated


class SVC(MarginClassifier):
    r"""Classification with the widest margin that the cost of violations allows.

    For every pair of classes, with :math:`c_i` = C · class weight · sample weight, it minimises
    :math:`\tfrac12 \lVert w \rVert^2 + \sum_i c_i \max(0, 1 - s_i (w^\top \phi(x_i) + b))`.

    Parameters
    ----------
    C : float, default=1.0
        The cost of a violation of the margin; `inf` allows none (hard margin) and is refused if
        it is shown that the classes cannot be separated.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"}, Kernel or callable, default="rbf"
        A name; an object of `mlreplica.kernels`; a function of two matrices; or a function of two
        rows that Numba has compiled.
    degree : int, default=3
        Of "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        γ of "rbf", "poly" and "sigmoid": 1/(p·Var X), 1/p or a number.
    coef0 : float, default=0.0
        The constant in "poly" and "sigmoid".
    shrinking : bool, default=True
        Set rows aside that have come to rest at a bound.
    probability : bool, default=False
        Calibrate probabilities by cross-validation. Deprecated by scikit-learn 1.9 in favour of
        `CalibratedClassifierCV(SVC(), ensemble=False)`.
    tol : float, default=1e-3
        The largest violation of the optimality conditions.
    cache_size : float, default=200
        Megabytes for rows of the Gram matrix.
    class_weight : dict or "balanced", default=None
        Factors of C by class.
    verbose : bool, default=False
        Above 0, write a line per block of steps on standard output.
    max_iter : int, default=-1
        The most steps a machine; -1: ten million or a hundred a row.
    decision_function_shape : {"ovo", "ovr"}, default="ovr"
        Shape of `decision_function` for several classes.
    break_ties : bool, default=False
        Let scores decide between classes with equally many votes.
    random_state : int, RandomState instance or None, default=None
        For the cross-validation behind `probability`.
    solver : {"smo", "platt", "simplified"}, default="smo"
        How the dual is solved: by blocks of second-order pair steps; by the loop of Platt's paper;
        or with random partners. The last two keep the whole kernel matrix within `cache_size`,
        take many more steps, and are there to be read.
    multi_class : {"ovo", "ovr"}, default="ovo"
        Train a machine for every pair of classes, or one for each class against all others.
    warm_start : bool, default=False
        Begin at the last fit's solution, fitted into the new C; for the same rows and labels.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
        Indices of the support vectors, class by class.
    support_vectors_ : ndarray or sparse matrix of shape (n_SV, n_features)
        The rows; empty if the kernel is precomputed or a function.
    n_support_ : ndarray of shape (n_classes,), dtype=int32
        Support vectors of each class.
    dual_coef_ : ndarray or sparse matrix of shape (n_classes - 1, n_SV)
        :math:`\beta` of equation (1); for several classes, row r of a support vector of class c
        is its coefficient against the r-th other class. With `multi_class="ovr"` a row a class.
    intercept_ : ndarray of shape (n_machines,)
        b.
    coef_ : ndarray or sparse matrix of shape (n_machines, n_features)
        w, if the kernel is linear.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    class_weight_ : ndarray of shape (n_classes,)
        Factors of C.
    margin_ : float or ndarray of shape (n_machines,)
        :math:`1/\lVert w \rVert`, the distance from the boundary to the margin.
    on_margin_, at_bound_ : ndarray of bool, of shape (n_SV,) or (n_machines, n_SV)
        Support vectors with 0 < α < c, which lie on the margin, and those with α = c, which lie
        inside it or on the wrong side.
    certificate_ : float
        Duality gap: no w has an objective smaller by more than this (all machines together).
    kkt_residual_ : float
        The violation of the optimality conditions that is left, recomputed in double precision.
    fit_status_ : int
        0 if it is at most `tol`, else 1.
    n_iter_ : ndarray of shape (n_machines,)
        Steps taken.
    shape_fit_ : tuple of int
        Shape of the training data.
    probA_, probB_ : ndarray of shape (n_machines,)
        The sigmoids behind `predict_proba`.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if they are strings.

    See Also
    --------
    NuSVC : The same with a bound on the share of margin errors instead of C.

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC(C=10.0).fit(X, y)
    >>> round(model.score(X, y), 3), model.n_support_.tolist()
    (0.987, [4, 11, 12])
    """

    card = Card(
        page="soft-margin",
        checks="support_vectors",
        onnx="kernel_votes",
        use="a class with a curved border, up to some 50,000 rows",
        good="any kernel; the widest margin; few settings; a certificate bounds its error",
        bad="time grows with n² or faster; probabilities need a second fit",
        time="O(n² p) to O(n³)",
        memory="O(n) for rows in use, and a cache of kernel values",
        rescaling="needed: kernels compare columns in their units",
        instead="LinearSVC or HistGradientBoostingClassifier for many rows",
    )

    _parameter_constraints: dict = {
        **MarginClassifier._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="right"), Options(Real, {np.inf})],
        "solver": [StrOptions(set(SOLVERS))],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        *,
        C=1.0,
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
        warm_start=False,
    ):
        self.C = C
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
        self.warm_start = warm_start

    def _read_weights(self, sample_weight, X, codes):
        weights = super()._read_weights(sample_weight, X, codes) * self.class_weight_[codes]
        if np.count_nonzero(np.bincount(codes, weights)) < 2:
            raise ValueError(
                "Invalid input - all samples with positive weights belong to the same class."
            )
        return weights

    def _dual(self, machine, weights, C=None):
        """(3) of `_smo.py` for one machine, and β to begin at (None: 0)."""
        s, c = machine.s, (self.C if C is None else C) * weights
        P = problem(-s, np.where(s > 0.0, 0.0, -c), np.where(s > 0.0, c, 0.0))
        again = self.warm_start and np.isfinite(c).all()
        return P, self._last_beta(machine, P) if again else None

    def _last_beta(self, machine, P):
        """The last fit's β of the same machine in the new box; None if there was none."""
        for last, width, beta in self.__dict__.get("_last_fit", ()):
            if all(np.array_equal(a, b) for a, b in zip(last, machine, strict=True)):
                return in_new_box(beta, width, P.high - P.low)
        return None

    def _solver(self, grams, machine, dual):
        if np.isinf(self.C):
            yield from self._hard_margin(grams, machine)
        else:
            yield from super()._solver(grams, machine, dual)

    def _hard_margin(self, grams, machine):
        """Raise C until no α is at its bound; if that takes long, look for the hulls' distance."""
        s, n = machine.s, len(machine.s)
        rows, row = grams.rows(machine.index)
        X = grams.X[machine.index]
        if isinstance(X, np.ndarray) and meet(X, s):
            raise ValueError(
                "C=inf asks for a hard margin, but the classes cannot be separated: a row of one "
                "is equal to a row of the other; use a finite C."
            )
        longest = float(np.abs(rows.diag).max(initial=0.0)) or 1.0
        patience = n * n // 4 + 10_000  # steps that cost as much as `nearest_points` may
        if self.max_iter != -1 or 16e-6 * n * n > self.cache_size:
            patience = None
        C, beta, steps = 100.0 / longest, None, 0
        while True:
            P, _ = self._dual(machine, np.ones(n), C)
            left = {} if patience is None else {"max_pairs": patience - steps}
            for state in self._begin(rows, P._replace(row=row), beta, **left):
                square = float(state.beta @ (state.f - P.q))
                refuse_if_close(square, float(np.abs(state.beta).sum()), longest)  # (2)
                yield feasible(state, s)._replace(pairs=steps + state.pairs)
            steps += state.pairs
            solved = state.violation <= max(self.tol, state.floor)
            free = not (np.abs(state.beta) >= C).any()
            if (solved and free) or (patience is None and not solved):
                return
            beta, C = state.beta, 100.0 * C if solved else C
            if patience is not None and (steps >= patience or not solved):
                patience, K = None, grams.between(machine.index, machine.index)
                found = self._from_hulls(s[:, None] * s * K / longest, s, longest)
                if found is not None:
                    beta, C = found, 100.0 * float(np.abs(found).max())

    def _from_hulls(self, Q, s, longest):
        """β of the hard margin by the hulls' nearest points; None if they cannot tell."""
        apart = None
        for alpha, square, strip in nearest_points(Q, s):
            refuse_if_close(square * longest, 2.0, longest)
            if strip > 0.0:
                apart = alpha, square
            if strip >= (1.0 - 1e-3 * self.tol) * square:
                break
        if apart is None:
            return None
        alpha, square = apart
        z = Q @ alpha
        beta = np.zeros(len(s))
        for sign in (1.0, -1.0):
            mine = np.flatnonzero(s == sign)
            held = mine[alpha[mine] * square >= z[mine] - z[mine].min()]
            beta[held] = sign * alpha[held] / alpha[held].sum()
        return beta * 2.0 / (longest * square)

    def _decision_of(self, state):
        """β and b of (1)"""
        return state.beta, state.b[0]

    _varied = frozenset({"C"})  # a search fits them together

    def _fit_settings(self, fold, settings):
        """Yield (k, model, fold) for every C, from the least, on one Gram matrix."""
        Cs, given = [setting.get("C", self.C) for setting in settings], fold.X_train
        plain = type(given) is np.ndarray and given.dtype == np.float64 and given.ndim == 2
        n = len(fold.X_train) + len(fold.X_test) if plain else 0
        finite = all(isinstance(C, Real) and 0 < C < np.inf for C in Cs)
        if (
            not (plain and finite and self.kernel in ("linear", "poly", "rbf", "sigmoid"))
            or 8e-6 * n * n > self.cache_size
            or self.probability not in ("deprecated", False)
            or not np.isfinite(given).all()
        ):
            return None
        return self._on_gram(fold, Cs)

    def _on_gram(self, fold, Cs):
        self._validate_params()
        warn_if_unscaled(fold.X_train)
        K_train, K_test = shared_gram(self._make_kernel(fold.X_train), fold, self.cache_size)
        seen = replace(fold, X_train=K_train, X_test=K_test)
        model = clone(self).set_params(kernel="precomputed", gamma="scale")
        weight = fold.fit_params.get("sample_weight")
        given, solved = model._machines_for(K_train, fold.y_train, weight), False
        for k in sorted(range(len(Cs)), key=Cs.__getitem__):
            model.C = Cs[k]
            if not solved:
                model._fit_machines(*given)
                solved = not (model.at_bound_.any() or model.fit_status_)  # a larger C is the same
            yield k, model, seen


def in_new_box(beta, old, new):
    """β with Σβ = 0 for boxes of other widths: bounds stay bounds, the others make up the sum."""
    bound = np.abs(beta) >= old
    start = np.where(bound, np.copysign(new, beta), np.clip(beta, -new, new))
    if excess := start.sum():
        heavy = start * excess > 0.0
        free = heavy & ~bound
        some = free if abs(start[free].sum()) > abs(excess) else heavy
        start[some] *= 1.0 - excess / start[some].sum()
    return start


def shared_gram(kernel, fold, cache_size):
    """K among a fold's training rows, and between its test and training rows.

    That of all rows is kept for folds with the same rows and kernel, while `cache_size` megabytes
    hold them.
    """
    if fold.X is None:  # the rows depend on the fold
        X, test = fold.X_train, fold.X_test
        K, between = np.empty((len(X), len(X))), np.empty((len(test), len(X)))
        return kernel.block(X, X, K), kernel.block(np.ascontiguousarray(test), X, between)
    K = fold.shared.get(kernel)
    if K is None:
        X = np.ascontiguousarray(fold.X)
        if isinstance(kernel, RBF):
            X = X - X.mean(axis=0)  # distances stay, and shorter rows cancel less
        if 8e-6 * len(X) ** 2 * (len(fold.shared) + 1) > cache_size:
            fold.shared.clear()
        K = fold.shared[kernel] = kernel.block(X, X, np.empty((len(X), len(X))))
    return K[fold.train].take(fold.train, axis=1), K[fold.test].take(fold.train, axis=1)


def meet(X, s):
    """Whether a row with s = 1 is equal to one with s = −1."""
    place = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    return len(np.intersect1d(place[s > 0.0], place[s < 0.0])) > 0


def refuse_if_close(square, total, longest):
    """Raise if (2) with ‖w‖² and Σα shows that the margin is next to nothing."""
    length = np.sqrt(max(square, 0.0))
    if length < LEAST_MARGIN * np.sqrt(longest) * total:
        raise ValueError(
            "C=inf asks for a hard margin, but the classes cannot be separated by more than "
            f"{length / total:.1e}, if at all; use a finite C or another kernel."
        )


def feasible(state, s):
    """A state of the hard margin: w is scaled until no row is inside, if all are on their sides.

    Its violation of the optimality conditions is that without an upper bound on α.
    """
    reach = float((s * (state.f + s + state.b[0])).min())
    square = float(state.beta @ (state.f + s))
    objective = 0.5 * square / reach**2 if reach > 0.0 else np.inf
    held = state.beta != 0.0
    most, least = state.f[(s < 0.0) | held].max(), state.f[(s > 0.0) | held].min()
    return state._replace(
        objective=objective,
        gap=max(objective - state.dual, 0.0),
        violation=max(float(most - least), 0.0),
    )
