r"""Support vector classification: soft margin (C), hard margin (C = ∞) and ν

`SVC` solves, for every pair of classes, the problem (1) of `_smo.py`, its dual (3) with q = −s and
the boxes [0, c_i] or [−c_i, 0], and decides by the sign of

    d(x) = Σ_i β_i K(x_i, x) + b                                                             (1)

With C = ∞ no row may come closer than the margin 1/‖w‖: the hard margin. It exists only if the
classes can be separated. Without a box every multiple tα of an α ≥ 0 with sᵀα = 0 is allowed, and
tΣα − ½t²‖w‖², the dual at tα, is never above ½‖w*‖² = 1/(2·margin²). The best t gives

    margin ≤ ‖w‖ / Σ_i α_i,      w = Σ_i s_iα_i φ(x_i)                                       (2)

which is next to 0, for some α on the way, if the classes cannot be separated.

`NuSVC` has ν instead of C: with weights v_i of mean 1,

    minimise over w, b, ρ:   ½‖w‖² − νnρ + Σ_i v_i max(0, ρ − s_i(wᵀφ(x_i) + b))             (3)

Its dual is (3) of `_smo.py` with q = 0, u_i − l_i = v_i and Σ α = νn/2 in each class: two sums. At
least νn rows (by weight) are support vectors, at most νn are on the wrong side of the margin. The
decision is divided by ρ, which puts the margin at ±1 as in (1).

Cortes, Vapnik, Support-vector networks (1995); Schölkopf, Smola, Williamson, Bartlett, New support
vector algorithms (2000).
"""

import warnings
from itertools import pairwise
from numbers import Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state, column_or_1d, compute_class_weight, deprecated
from sklearn.utils._param_validation import Hidden, Interval, Options, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import _ovr_decision_function, check_classification_targets
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.iterate import iterate

from ._base import KernelMachine, dense_if_small
from ._calibration import coupled, fit_sigmoid, sigmoid
from ._machines import Grams, joint, machines_of
from ._scores import all_of_them, one_against_one, pairs_of
from ._smo import problem, smo
from ._textbook import PLATT, SIMPLIFIED

SOLVERS = {"smo": smo, "platt": PLATT, "simplified": SIMPLIFIED}  # all with the arguments of `smo`
FOLDS = 5  # of the cross-validation behind `probability`
ENDLESS = 10**9
LEAST_MARGIN = 1e-5  # as a part of the longest φ(x): classes closer than this are not separated


class MarginClassifier(ClassifierMixin, KernelMachine):
    """Base of SVC and NuSVC: labels, machines for pairs of classes, votes and probabilities."""

    _parameter_constraints: dict = {
        **KernelMachine._parameter_constraints,
        "probability": ["boolean", Hidden(StrOptions({"deprecated"}))],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "random_state": ["random_state"],
        "solver": [StrOptions({"smo"})],
        "multi_class": [StrOptions({"ovo", "ovr"})],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the machines.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            Training rows, or their Gram matrix if the kernel is precomputed.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of C; rows whose weight is not positive are left out.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        generator = check_random_state(self.random_state)
        X, y = self._read(X, y)
        codes = self._read_labels(y)
        if X.shape[0] != len(codes):
            raise ValueError(
                "X and y have incompatible shapes.\n"
                f"X has {X.shape[0]} samples, but y has {len(codes)}."
            )
        weights = self._read_weights(sample_weight, X, codes)
        machines = machines_of(codes, len(self.classes_), weights, self._one_vs_rest)
        grams = Grams(self._kernel, dense_if_small(X), machines, self.cache_size, codes)
        duals = [self._dual(machine, weights[machine.index]) for machine in machines]
        states = self._solve(grams, machines, duals, watched=True)
        betas, b = zip(*map(self._decision_of, states), strict=True)
        self._publish_machines(X, codes, machines, betas, np.array(b))
        self.n_iter_ = np.array([state.pairs for state in states], dtype=np.int32)
        self._describe(machines, duals, states, betas)
        if getattr(self, "warm_start", False):
            ends = zip(machines, states, strict=True)
            self._last_fit = [(self.C, machine, state.beta) for machine, state in ends]
        self._judge(*max((state.violation, state.floor) for state in states))
        self._probA = self._probB = np.empty(0)
        if self._wants_probability():
            self._calibrate(grams, machines, weights, generator)
        return self

    def _read_labels(self, y):
        """Classes as numbers from 0; sets `classes_` and `class_weight_`."""
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.class_weight_ = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        if len(self.classes_) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(self.classes_)} class"
            )
        return codes

    def _read_weights(self, sample_weight, X, codes):
        """A weight a row, 0 where it is to be left out."""
        n = len(codes)
        if sample_weight is None:
            return np.ones(n)
        weights = np.asarray(sample_weight, dtype=np.float64)
        if weights.shape != (n,):
            raise ValueError(
                f"sample_weight and X have incompatible shapes: {weights.shape} vs {X.shape}\n"
                "Note: Sparse matrices cannot be indexed w/"
                "boolean masks (use `indices=True` in CV)."
            )
        if not (weights > 0.0).any():
            raise ValueError("Invalid input - all samples have zero or negative weights.")
        return np.maximum(weights, 0.0)

    @property
    def _one_vs_rest(self):
        return self.multi_class == "ovr" and len(self.classes_) > 2

    def _solve(self, grams, machines, duals, watched=False):
        """The last state of every machine's solver; callbacks see the fit that is `watched`."""
        solvers = [self._solver(grams, *both) for both in zip(machines, duals, strict=True)]
        last = [None] * len(machines)
        states = joint(solvers, last, grams.at_once, watched and self._watched)
        if watched:
            iterate(self, states, max_iter=ENDLESS, unit="blocks", advice=None)
        else:
            for _ in states:
                pass
        return last

    def _solver(self, grams, machine, dual):
        """A generator that solves one machine; it makes its rows when it is begun."""
        yield from self._begin(grams.rows(machine.index), *dual)

    def _begin(self, rows, P, beta):
        """The solver, on its way."""
        return SOLVERS[self.solver](
            rows,
            P,
            beta,
            tol=self.tol,
            max_pairs=self._max_pairs,
            shrinking=self.shrinking,
            watched=self._watched,
        )

    def _publish_machines(self, X, codes, machines, betas, b):
        """Attributes from every machine's β and b, laid out as scikit-learn's are."""
        n, k = X.shape[0], len(self.classes_)
        used = np.zeros(n, dtype=bool)
        for machine, beta in zip(machines, betas, strict=True):
            used[machine.index[beta != 0.0]] = True
        support = np.flatnonzero(used)
        support = support[np.argsort(codes[support], kind="stable")]
        coef = np.zeros((k if self._one_vs_rest else k - 1, len(support)))
        place = np.zeros(n, dtype=np.int64)
        place[support] = np.arange(len(support))
        for machine, beta in zip(machines, betas, strict=True):
            index = machine.index[beta != 0.0]
            if self._one_vs_rest:
                line = machine.plus
            else:
                line = np.where(codes[index] == machine.plus, machine.minus - 1, machine.plus)
            coef[line, place[index]] = beta[beta != 0.0]
        self._publish(X, support, np.bincount(codes[support], minlength=k), coef, b)
        if k == 2:  # inside, the first class is +1
            self.intercept_ = -self._intercept_
            self.dual_coef_ = -self._dual_coef_

    def _describe(self, machines, duals, states, betas):
        """`margin_`, `on_margin_`, `at_bound_` and `certificate_`."""
        place = np.full(self.shape_fit_[0], -1)
        place[self.support_] = np.arange(len(self.support_))
        self.on_margin_ = np.zeros((len(machines), len(self.support_)), dtype=bool)
        self.at_bound_ = np.zeros_like(self.on_margin_)
        squares = np.empty(len(machines))
        solved = zip(machines, duals, states, betas, strict=True)
        for k, (machine, (P, _), state, beta) in enumerate(solved):
            at_bound = np.where(machine.s > 0.0, state.beta >= P.high, state.beta <= P.low)
            held = state.beta != 0.0
            self.at_bound_[k, place[machine.index[held & at_bound]]] = True
            self.on_margin_[k, place[machine.index[held & ~at_bound]]] = True
            factor = np.abs(beta).sum() / max(np.abs(state.beta).sum(), 1e-300)
            squares[k] = factor**2 * float(state.beta @ (state.f - P.q))
        with np.errstate(divide="ignore"):
            self.margin_ = 1.0 / np.sqrt(np.maximum(squares, 0.0))
        if len(self.classes_) == 2:
            self.on_margin_, self.at_bound_ = self.on_margin_[0], self.at_bound_[0]
            self.margin_ = float(self.margin_[0])
        self.certificate_ = float(sum(state.gap for state in states))

    def _wants_probability(self):
        """Whether to calibrate; says that scikit-learn gives the parameter up."""
        if self.probability == "deprecated":
            return False
        name = type(self).__name__
        warnings.warn(
            "The `probability` parameter was deprecated in 1.9 and "
            "will be removed in version 1.11. "
            f"Use `CalibratedClassifierCV({name}(), ensemble=False)` "
            f"instead of `{name}(probability=True)`",
            FutureWarning,
            stacklevel=4,
        )
        return bool(self.probability)

    def _calibrate(self, grams, machines, weights, generator):
        """A and B of every machine, from decisions about rows that the machine has not seen."""
        folds = [np.array_split(generator.permutation(len(m.index)), FOLDS) for m in machines]
        without = []
        for machine, parts in zip(machines, folds, strict=True):
            for part in parts:
                kept = np.setdiff1d(np.arange(len(machine.index)), part)
                without.append(machine._replace(index=machine.index[kept], s=machine.s[kept]))
        two_sided = [m for m in without if len(np.unique(m.s)) == 2]
        duals = [self._dual(machine, weights[machine.index]) for machine in two_sided]
        solved = dict(zip(map(id, two_sided), self._solve(grams, two_sided, duals), strict=True))
        self._probA, self._probB = np.empty((2, len(machines)))
        for k, (machine, parts) in enumerate(zip(machines, folds, strict=True)):
            scores = np.zeros(len(machine.index))
            for part, less in zip(parts, without[k * FOLDS : (k + 1) * FOLDS], strict=True):
                if id(less) in solved:
                    beta, b = self._decision_of(solved[id(less)])
                    scores[part] = grams.between(machine.index[part], less.index) @ beta + b
                elif len(less.s):
                    scores[part] = less.s[0]
            self._probA[k], self._probB[k] = fit_sigmoid(scores, machine.s)

    def _products(self, coef):
        """How scores come from kernel values."""
        if self._one_vs_rest or len(self.classes_) == 2:
            return all_of_them(coef)
        return one_against_one(coef, self._n_support)

    def _machine_scores(self, X):
        """d(x) of (1) for every row and machine, > 0 for the machine's first class."""
        coef = self._dual_coef_.toarray() if self._sparse else self._dual_coef_
        scores = self._raw_scores(X, self._products(coef), len(self._intercept_))
        return scores + self._intercept_

    def _machine_signs(self, X):
        """Whether d(x) > 0"""
        if self._sparse:
            return self._machine_scores(X) > 0.0
        return self._prepare().signs(X, self._dual_coef_, self._products, self._intercept_)

    def decision_function(self, X):
        """Scores of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_training)

        Returns
        -------
        scores : ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_pairs)
            Of two classes, > 0 for the second; one column a class; or, with
            `decision_function_shape="ovo"`, one a pair of classes, > 0 for the first of the pair.
        """
        scores = self._machine_scores(self._new_rows(X))
        if len(self.classes_) == 2:
            return -scores.ravel()
        if self.decision_function_shape == "ovr" and not self._one_vs_rest:
            return _ovr_decision_function(scores < 0, -scores, len(self.classes_))
        return scores

    def predict(self, X):
        """The class of each row: of pairs, the one that wins most often, the first of several.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_training)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        k = len(self.classes_)
        if k > 2 and (self._one_vs_rest or self.break_ties):
            codes = np.argmax(self.decision_function(X), axis=1)
        else:
            wins = self._machine_signs(self._new_rows(X))
            if k == 2:
                codes = 1 - wins.ravel().astype(np.intp)
            else:
                votes = np.zeros((len(wins), k), dtype=np.int64)
                for m, (i, j) in enumerate(pairs_of(k)):
                    votes[:, i] += wins[:, m]
                    votes[:, j] += ~wins[:, m]
                codes = np.argmax(votes, axis=1)
        return self.classes_.take(codes)

    def _has_probability(self):
        if self.probability == "deprecated" or not self.probability:
            raise AttributeError("predict_proba is not available when probability=False")
        return True

    @available_if(_has_probability)
    def predict_proba(self, X):
        """Probabilities of the classes, by a sigmoid of every machine's score.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_training)

        Returns
        -------
        probability : ndarray of shape (n_samples, n_classes)
        """
        X = self._new_rows(X)
        if not len(self._probA):
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False"
            )
        p = sigmoid(self._machine_scores(X), self._probA, self._probB)
        if len(self.classes_) == 2:
            return np.column_stack([p, 1.0 - p])
        if self._one_vs_rest:
            return p / p.sum(axis=1, keepdims=True)
        return coupled(p, len(self.classes_))

    @available_if(_has_probability)
    def predict_log_proba(self, X):
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_training)

        Returns
        -------
        log_probability : ndarray of shape (n_samples, n_classes)
        """
        return np.log(self.predict_proba(X))

    def _primal_coef(self):
        V, coef = self.support_vectors_, self.dual_coef_
        if self._one_vs_rest or len(self.classes_) == 2:
            return coef @ V
        edges = np.concatenate([[0], np.cumsum(self._n_support)])
        of = [slice(a, b) for a, b in pairwise(edges)]
        lines = [
            coef[[j - 1], of[i]] @ V[of[i]] + coef[[i], of[j]] @ V[of[j]]
            for i, j in pairs_of(len(self.classes_))
        ]
        return sp.vstack(lines).tocsr() if self._sparse else np.vstack(lines)

    @deprecated(
        "Attribute `probA_` was deprecated in version 1.9 and will be removed in "
        "1.11 as the `probability=True` option for SVC and NuSVC was deprecated "
        "and will be removed in 1.11."
    )
    @property
    def probA_(self):  # noqa: N802
        """A of every machine's sigmoid."""
        return self._probA

    @deprecated(
        "Attribute `probB_` was deprecated in version 1.9 and will be removed in "
        "1.11 as the `probability=True` option for SVC and NuSVC was deprecated "
        "and will be removed in 1.11."
    )
    @property
    def probB_(self):  # noqa: N802
        """B of every machine's sigmoid."""
        return self._probB


class SVC(MarginClassifier):
    r"""Classification with the widest margin that the price of violations allows.

    For every pair of classes, with :math:`c_i` = C · class weight · sample weight, it minimises
    :math:`\tfrac12 \lVert w \rVert^2 + \sum_i c_i \max(0, 1 - s_i (w^\top \phi(x_i) + b))`.

    Parameters
    ----------
    C : float, default=1.0
        The price of a violation of the margin; `inf` allows none (hard margin) and is refused if
        the classes cannot be separated.
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
        Without effect; use callbacks.
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
        Begin at the last fit's solution, scaled to the new C; for the same rows and labels.

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
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        shrinking=True,
        probability="deprecated",
        tol=1e-3,
        cache_size=200,
        class_weight=None,
        verbose=False,
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
        return P, self._last_beta(machine, P) if self.warm_start else None

    def _last_beta(self, machine, P):
        """The last fit's β, which C/C_last times as long suits the new box; None if it does not."""
        for C, last, beta in self.__dict__.get("_last_fit", ()):
            if all(np.array_equal(a, b) for a, b in zip(last, machine, strict=True)):
                start = beta * (self.C / C)
                if (start >= P.low).all() and (start <= P.high).all():
                    return start
        return None

    def _solver(self, grams, machine, dual):
        if np.isinf(self.C):
            yield from self._hard_margin(grams, machine)
        else:
            yield from super()._solver(grams, machine, dual)

    def _hard_margin(self, grams, machine):
        """Raise C until no α is at its bound; (2) tells when there is no use in it."""
        rows = grams.rows(machine.index)
        scale = float(np.abs(rows.diag).max(initial=0.0)) or 1.0
        C, beta = 100.0 / scale, None
        while True:
            P, _ = self._dual(machine, np.ones(len(machine.s)), C)
            for state in self._begin(rows, P, beta):
                length = np.sqrt(max(float(state.beta @ (state.f - P.q)), 0.0))  # ‖w‖
                total = float(np.abs(state.beta).sum())
                if length < LEAST_MARGIN * np.sqrt(scale) * total:  # (2)
                    raise ValueError(
                        "C=inf asks for a hard margin, but the classes cannot be separated by more "
                        f"than {length / total:.1e}, if at all; use a finite C or another kernel."
                    )
                yield feasible(state, machine.s)
            if not (np.abs(state.beta) >= C).any() or state.violation > self.tol:
                return
            C, beta = 100.0 * C, state.beta

    def _decision_of(self, state):
        """β and b of (1)"""
        return state.beta, state.b[0]


def feasible(state, s):
    """A state of the hard margin: w is scaled until no row is inside, if all are on their sides."""
    reach = float((s * (state.f + s + state.b[0])).min())
    square = float(state.beta @ (state.f + s))
    objective = 0.5 * square / reach**2 if reach > 0.0 else np.inf
    return state._replace(objective=objective, gap=max(objective - state.dual, 0.0))


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
        Duality gap of problem (3), all machines together.
    kkt_residual_, fit_status_, n_iter_, shape_fit_, probA_, probB_
        As in `SVC`.
    n_features_in_, feature_names_in_
        As in `SVC`.

    See Also
    --------
    SVC : The same with the price C of a violation.

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.svm import NuSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NuSVC(nu=0.1).fit(X, y)
    >>> round(model.score(X, y), 3), model.n_support_.tolist()
    (0.987, [8, 11, 10])
    """

    _parameter_constraints: dict = {
        **MarginClassifier._parameter_constraints,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    }

    def __init__(
        self,
        *,
        nu=0.5,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        shrinking=True,
        probability="deprecated",
        tol=1e-3,
        cache_size=200,
        class_weight=None,
        verbose=False,
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
        """The dual of (3), and a β with the sums that it asks for."""
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
        """β and b of (1): those of (3) divided by ρ"""
        rho = 0.5 * (state.b[1] - state.b[0])
        if rho == 0.0:
            return state.beta, 0.5 * float(state.b.sum())
        return state.beta / rho, 0.5 * float(state.b.sum()) / rho
