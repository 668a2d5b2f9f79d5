"""LinearSVC: the estimator; its mathematics is in `_linear` and the solvers' files"""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
)
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    Interval,
    StrOptions,
    _check_sample_weight,
    _fit_context,
)
from mlreplica.core.iterate import CallbackSupport
from mlreplica.core.linear import LinearScores
from mlreplica.core.validation import distinct, validate_data

from ._crammer_singer import crammer_singer
from ._linear import FINEST, classification, together, until
from ._linear_fit import converge, in_primal, prepared, quadratic
from ._linear_l1 import proximal_newton


class LinearSVC(CallbackSupport, LinearScores, ClassifierMixin, BaseEstimator):
    r"""Linear support vector classification, for many rows.

    Minimises :math:`\frac12 \|w\|^2 + C \sum_i s_i L(y_i, w^\top x_i + b)` (or :math:`\|w\|_1` for
    :math:`\frac12 \|w\|^2`), with L the hinge or its square and :math:`s_i` the weight of row i. As
    in LIBLINEAR, b is b' times `intercept_scaling`, and b' is penalised like a weight. Several
    classes: one against the rest for each, or all at once (`multi_class`).

    Parameters
    ----------
    penalty : {"l1", "l2"}, default="l2"
        "l1" makes many weights zero; it goes with the squared hinge.
    loss : {"hinge", "squared_hinge"}, default="squared_hinge"
        max(0, 1 − yf), as `SVC` has it, or its square.
    dual : "auto" or bool, default="auto"
        Kept for scikit-learn's sake: it decides which combinations are refused, as there. The
        minimum is the same; how it is found is decided by `solver`.
    tol : float, default=1e-4
        Stop when the certificate is at most tol² times the objective: then the weights are within
        tol √(2 · objective) of the best ones.
    C : float, default=1.0
        Cost of a unit of loss.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        For more than two classes. "crammer_singer" knows one loss only; `penalty`, `loss` and
        `dual` are ignored.
    fit_intercept : bool, default=True
        Fit b; otherwise b = 0.
    intercept_scaling : float, default=1.0
        The larger, the less b is penalised.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; they multiply `sample_weight`.
    verbose : int, default=0
        Above 0, write a line per iteration on standard output.
    random_state : int, RandomState instance or None, default=None
        The order of rows in "dcd".
    max_iter : int, default=1000
        The most iterations: looks at all rows for "dcd" (each after one to ten sweeps), steps
        for "newton" and L1.
    solver : {"auto", "dcd", "newton"}, default="auto"
        For an L2 penalty. "dcd": dual coordinate descent. "newton": Newton's method, for the hinge
        by the method of multipliers; it needs memory for the square of the number of columns.
        "auto": "newton" for tall data of not too many columns.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        w. Of two classes, the second one's.
    intercept_ : ndarray of shape (1,) or (n_classes,), or 0.0 without an intercept
        b.
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
        Iterations; of several problems, the most.
    certificate_ : float
        An upper bound on the distance of the objective from its minimum (one against the rest: of
        the sum of all objectives).
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    References
    ----------
    C.-J. Hsieh et al., "A dual coordinate descent method for large-scale linear SVM", ICML (2008).
    O. L. Mangasarian, "A finite Newton method for classification", Optimization Methods and
    Software 17 (2002). K. Crammer, Y. Singer, "On the algorithmic implementation of multiclass
    kernel-based vector machines", Journal of Machine Learning Research 2 (2001).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mlreplica.svm import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC().fit(X, y)
    >>> model.predict(X[:2]), round(model.score(X, y), 3)
    (array([0, 0]), 0.967)
    >>> model.certificate_ < 1e-6
    True
    """

    card = Card(
        page="linear-svm",
        checks="linear",
        onnx="linear",
        use="a class from many rows or words, with a straight border",
        good="linear in n and in the values stored; a certificate bounds its error",
        bad="no probabilities; only straight borders",
        time="O(n p) per epoch",
        memory="O(n + p) beside X",
        instead="LogisticRegression for probabilities, SVC for curved borders",
    )

    _parameter_constraints: dict = {
        "penalty": [StrOptions({"l1", "l2"})],
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "dual": ["boolean", StrOptions({"auto"})],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "multi_class": [StrOptions({"ovr", "crammer_singer"})],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [None, dict, StrOptions({"balanced"})],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "solver": [StrOptions({"auto", "dcd", "newton"})],
    }

    def __init__(
        self,
        penalty="l2",
        loss="squared_hinge",
        *,
        dual: bool | str = "auto",
        tol=1e-4,
        C=1.0,
        multi_class="ovr",
        fit_intercept=True,
        intercept_scaling: float = 1,
        class_weight=None,
        verbose=0,
        random_state=None,
        max_iter=1000,
        solver="auto",
    ):
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.solver = solver

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit w and b.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            The class of each row.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights: 2 stands for two equal rows, 0 for none.

        Returns
        -------
        self : LinearSVC
        """
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, order="C", accept_large_sparse=False
        )
        check_classification_targets(y)
        self.classes_, codes = distinct(y)
        joint = self.multi_class == "crammer_singer"
        if not joint:
            in_primal(self.dual, self.loss, self.penalty, X)
        if len(self.classes_) < 2:
            raise ValueError(
                "This solver needs samples of at least 2 classes in the data, but the data "
                f"contains only one class: {self.classes_[0]!r}"
            )
        weight = compute_class_weight(
            self.class_weight, classes=self.classes_, y=y, sample_weight=sample_weight
        )
        c = self.C * _check_sample_weight(sample_weight, X, dtype=np.float64) * weight[codes]
        X, codes, c = prepared(X, codes, c, self.solver)
        if len(np.unique(codes)) < 2:
            raise ValueError(
                "This solver needs samples of at least 2 classes in the data, but the rows of "
                f"positive sample_weight are all of class {self.classes_[codes[0]]!r}."
            )
        bias = float(self.intercept_scaling)

        def attributes(W):
            if joint and len(W) == 2:
                W = W[1:] - W[:1]
            b = bias * W[:, -1] if self.fit_intercept else 0.0
            return {"coef_": W[:, :-1].copy(), "intercept_": b}

        converge(self, *self._solver(X, codes, c, joint), X, y, attributes)
        return self

    def _solver(self, X, codes, c, joint):
        """The generator of states for the problem that the parameters name, and its tolerance."""
        K, rng = len(self.classes_), check_random_state(self.random_state)
        bias = float(self.intercept_scaling) if self.fit_intercept else 0.0
        tol = max(self.tol, FINEST)
        if joint:
            return crammer_singer(X, bias, codes, c, K, rng), tol

        def one(k):
            sign = np.where(codes == k, 1.0, -1.0)
            if self.penalty == "l1":
                return proximal_newton(X, bias, sign, c), tol
            squared = self.loss == "squared_hinge"
            return quadratic(self, classification(X, bias, sign, c, squared), rng)

        if K == 2:
            return one(1)
        solvers = [one(k) for k in range(K)]
        return together([until(*solver) for solver in solvers]), solvers[0][1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
