r"""Stability selection: a column counts if it is selected on most halves of the rows

A method that selects q of p columns runs on both halves of B random cuts of the rows in two. With
Π_j the share of the 2B runs that select column j, keep

    S = {j : Π_j ≥ τ},    ½ < τ ≤ 1                                                          (12)

Call a column low if one run selects it with probability at most q/p, no better than chance. The
expected number of low columns in S is, whatever the method and the data are,

    E |S ∩ low|  ≤  q² / ((2τ − 1) p)                                                        (13)

because a low column is in both halves of a cut with probability at most (q/p)², and Markov's
inequality bounds how often that can add up to τ. Given a limit V on the left side, (13) gives q.

By default the method is the lasso's path: the first q columns that enter as its penalty falls.

References
----------
Meinshausen, Bühlmann: Stability selection. JRSS B 72 (2010), 417–473.
Shah, Samworth: Variable selection with error control: another look at stability selection. JRSS B
75 (2013), 55–80.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import HasMethods, Interval, _fit_context
from mlreplica.core.compile.threads import run
from mlreplica.core.validation import distinct, validate_data
from mlreplica.linear_model import lasso_path

from ._selector import SelectorMixin, importances_of

STEPS = 40  # penalties on the path, from the largest to a hundredth of it


def example_data():
    """X and y for the warm-up."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    return X, X[:, 0] + 0.1 * rng.standard_normal(60)


def as_numbers(y, name):
    """The target as numbers; two classes become 0 and 1."""
    if y.dtype.kind in "fiu":
        return y.astype(np.float64)
    classes, code = distinct(y)
    if len(classes) != 2:
        raise ValueError(
            f"Unknown label type: {name} without an estimator needs numbers or two classes as y, "
            f"got {len(classes)} classes; pass a classifier as estimator."
        )
    return code.astype(np.float64)


def standardised(X):
    """Columns of mean 0 and variance 1; a constant column is 0."""
    D = X - X.mean(axis=0)
    deviation = np.sqrt(np.einsum("ij,ij->j", D, D) / len(X))
    spread = deviation > 1e-12 * np.abs(X).max(axis=0, initial=0.0)
    return np.divide(D, deviation, out=np.zeros_like(D), where=spread)


def first_on_path(X, y, q):
    """A bool for each column: whether it is among the first q that enter the lasso's path."""
    X, y = standardised(X), y - y.mean()
    chosen = np.zeros(X.shape[1], dtype=bool)
    largest = np.abs(X.T @ y).max() / len(y)
    if largest <= 0.0:
        return chosen
    coefs = lasso_path(X, y, alphas=largest * np.geomspace(1.0, 0.01, STEPS), tol=1e-3)[1]
    entered = coefs != 0
    at = np.where(entered.any(axis=1), entered.argmax(axis=1), STEPS)
    size = np.abs(coefs[np.arange(len(at)), np.minimum(at, STEPS - 1)])
    first = np.lexsort((-size, at))[:q]
    chosen[first[at[first] < STEPS]] = True
    return chosen


class StabilitySelection(SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    """Keep the columns that are selected on most halves of the rows (12), with the bound (13).

    Parameters
    ----------
    estimator : object or None, default=None
        A model with `coef_` or `feature_importances_`; its q largest, if not zero, are selected.
        None: the first q columns on the lasso's path.
    threshold : float, default=0.75
        τ: the share of runs in which a column must be selected, above ½.
    max_false : float, default=1.0
        V: the limit of (13), the expected number of columns kept that are no better than chance.
    n_features_per_run : int or None, default=None
        q; None for the largest that keeps (13) at most `max_false`.
    n_pairs : int, default=50
        B: how often the rows are cut in two.
    importance_getter : str or callable, default="auto"
        Attribute of the model, or a function of it, that has the importances.
    n_jobs : int or None, default=None
        Threads; None for all cores.
    random_state : int, RandomState or None, default=None
        Of the cuts.

    Attributes
    ----------
    stability_scores_ : ndarray of shape (n_features,)
        Π, the share of runs that selected each column.
    n_features_per_run_ : float
        The mean number of columns that a run selected.
    false_bound_ : float
        The bound (13) with that number.
    support_ : ndarray of shape (n_features,)
        Whether a column is kept.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.feature_selection import StabilitySelection
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 50))
    >>> y = X[:, 0] - X[:, 1] + rng.standard_normal(200)
    >>> model = StabilitySelection(random_state=0).fit(X, y)
    >>> model.get_support(indices=True), model.false_bound_ <= 1.0
    (array([0, 1]), True)
    """

    card = Card(
        page="feature-selection",
        checks="selected",
        task="transformation",
        cheap=lambda: {"n_pairs": 3, "random_state": 0},
        data=example_data,
        use="columns to report, with a bound on how many are there by chance",
        good="any model; the bound needs no assumptions; few settings",
        bad="careful: misses weak columns; 2B fits",
        time="2B fits of the model to half of the rows",
        memory="a copy of half of the rows per thread",
        rescaling="not needed for the lasso's path; else as the model needs",
        instead="KnockoffSelector for more power if X is nearly normal",
    )
    _parameter_constraints: dict = {
        "estimator": [None, HasMethods(["fit"])],
        "threshold": [Interval(Real, 0.5, 1, closed="right")],
        "max_false": [Interval(Real, 0, None, closed="neither")],
        "n_features_per_run": [None, Interval(Integral, 1, None, closed="left")],
        "n_pairs": [Interval(Integral, 1, None, closed="left")],
        "importance_getter": [str, callable],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator=None,
        *,
        threshold=0.75,
        max_false=1.0,
        n_features_per_run=None,
        n_pairs=50,
        importance_getter: Any = "auto",
        n_jobs=None,
        random_state=None,
    ):
        self.estimator = estimator
        self.threshold = threshold
        self.max_false = max_false
        self.n_features_per_run = n_features_per_run
        self.n_pairs = n_pairs
        self.importance_getter = importance_getter
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @_fit_context(prefer_skip_nested_validation=False)  # the model may be any
    def fit(self, X, y):
        """Select on halves of the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            The target.

        Returns
        -------
        self : StabilitySelection
        """
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=4)
        n, p = X.shape
        if self.estimator is None:
            y = as_numbers(y, type(self).__name__)
        q = self.n_features_per_run
        if q is None:
            q = int(np.sqrt(self.max_false * (2.0 * self.threshold - 1.0) * p))
        q = min(max(q, 1), p)
        rng = check_random_state(self.random_state)
        halves = []
        for _ in range(self.n_pairs):
            order = rng.permutation(n)
            halves += [order[: n // 2], order[n // 2 : 2 * (n // 2)]]
        counts = np.array(
            run(
                lambda rows: self._selected(X[rows], y[rows], q),
                halves,
                n_jobs=self.n_jobs if self.estimator is None else 1,
            )
        )
        self.stability_scores_ = counts.mean(axis=0)
        self.n_features_per_run_ = float(counts.sum(axis=1).mean())
        self.false_bound_ = self.n_features_per_run_**2 / ((2.0 * self.threshold - 1.0) * p)
        self.support_ = self.stability_scores_ >= self.threshold
        return self

    def _selected(self, X, y, q):
        """The columns that one run selects."""
        if self.estimator is None:
            return first_on_path(X, y, q)
        model = clone(self.estimator).fit(X, y)
        importances = importances_of(model, self.importance_getter, "norm")
        chosen = np.zeros(X.shape[1], dtype=bool)
        chosen[np.argsort(-importances, kind="stable")[:q]] = True
        return chosen & (importances != 0)

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.support_
