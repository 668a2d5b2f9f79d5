"""Margin classifier: a machine for every pair of classes, their votes, and probabilities

What `SVC` and `NuSVC` share: labels in, machines solved together, attributes laid out as
scikit-learn's are, scores and votes out. The decision (1) and the duals are in `_svc.py`.
"""

import warnings
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state, column_or_1d, compute_class_weight, deprecated
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.compat import (
    Hidden,
    StrOptions,
    _fit_context,
    _ovr_decision_function,
)
from mlreplica.core.formulas.platt import fit_sigmoid, sigmoid
from mlreplica.core.iterate import attributes_set_by, iterate

from ._base import ENDLESS, KernelMachine, dense_if_small, row_weights
from ._calibration import coupled
from ._machines import Grams, joint, machines_of
from ._scores import one_against_one, pairs_of
from ._smo import smo
from ._textbook import PLATT, SIMPLIFIED

SOLVERS = {"smo": smo, "platt": PLATT, "simplified": SIMPLIFIED}  # all with the arguments of `smo`
FOLDS = 5  # of the cross-validation behind `probability`


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
        given = self._machines_for(X, y, sample_weight)
        self._fit_machines(*given)
        if self._wants_probability():
            self._calibrate(*given[2:], generator)
        return self

    def _machines_for(self, X, y, sample_weight):
        """X, the classes and weights of its rows, the machines and their Gram matrices."""
        X, y = self._read(X, y)
        codes = self._read_labels(y)
        weights = self._read_weights(sample_weight, X, codes)
        machines = machines_of(codes, len(self.classes_), weights, self._one_vs_rest)
        grams = Grams(self._kernel, dense_if_small(X), machines, self.cache_size, codes)
        return X, codes, weights, machines, grams

    def _fit_machines(self, X, codes, weights, machines, grams):
        """Solve all machines and set the attributes."""
        duals = [self._dual(machine, weights[machine.index]) for machine in machines]

        def publish(model, states):
            betas, b = zip(*map(model._decision_of, states), strict=True)
            model._publish_machines(X, codes, machines, betas, np.array(b))
            model.n_iter_ = np.array([state.pairs for state in states], dtype=np.int32)
            model._describe(machines, duals, states, betas)
            model._measure(*max((state.violation, state.floor) for state in states))
            model._probA = model._probB = np.empty(0)

        states = self._solve(grams, machines, duals, publish)
        publish(self, states)
        if getattr(self, "warm_start", False):
            ends = zip(machines, duals, states, strict=True)
            self._last_fit = [(m, P.high - P.low, state.beta) for m, (P, _), state in ends]
        self._warn_if_early()

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
        return row_weights(sample_weight, X, len(codes))

    @property
    def _one_vs_rest(self):
        return self.multi_class == "ovr" and len(self.classes_) > 2

    def _solve(self, grams, machines, duals, publish=None):
        """The last state of every machine's solver; callbacks see a fit that is to `publish`."""
        solvers = [self._solver(grams, *both) for both in zip(machines, duals, strict=True)]
        last = [None] * len(machines)
        states = joint(solvers, last, grams.at_once, publish and self._watched)
        if publish:

            def so_far(_):
                return attributes_set_by(self, lambda copy: publish(copy, last))

            iterate(self, states, max_iter=ENDLESS, unit="blocks", advice=None, publish=so_far)
        else:
            for _ in states:
                pass
        return last

    def _solver(self, grams, machine, dual):
        """A generator that solves one machine; it makes its rows when it is begun."""
        rows, row = grams.rows(machine.index)
        P, beta = dual
        yield from self._begin(rows, P._replace(row=row), beta)

    def _begin(self, rows, P, beta, **options):
        """The solver, on its way; `options` win over the parameters."""
        options = self._options | options
        return SOLVERS[self.solver](rows, P, beta, watched=self._watched, **options)

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
            held = np.flatnonzero(state.beta)
            at_bound = (np.abs(state.beta) >= P.high - P.low)[held]
            self.at_bound_[k, place[machine.index[held]]] = at_bound
            self.on_margin_[k, place[machine.index[held]]] = ~at_bound
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

    def _calibrate(self, weights, machines, grams, generator):
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

    def _parts(self):
        if self._one_vs_rest or len(self.classes_) == 2:
            return super()._parts()
        return one_against_one(self._n_support)

    def _machine_scores(self, X):
        """d(x) of (1) for every row and machine, > 0 for the machine's first class."""
        return self._raw_scores(X) + self._intercept_

    def _machine_signs(self, X):
        """Whether d(x) > 0"""
        if self._sparse:
            return self._machine_scores(X) > 0.0
        return self._prepare().signs(X, self._dual_coef_, self._intercept_)

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
