r"""k nearest neighbours: a row is like the rows near it

    ŷ(x) = argmax_c Σ_{i ∈ N(x)} w_i [y_i = c]        or        ŷ(x) = Σ w_i y_i / Σ w_i     (1)

over the neighbours N(x): the k nearest rows, or all rows within a radius. Weights are 1, or 1/d_i:
a row at distance 0 outweighs all others, and several such share the vote. Of classes with equal
votes the first wins. With X = None every training row is predicted from the others: leave-one-out,
at the cost of one search (2).

References
----------
Cover, Hart: Nearest neighbor pattern classification. IEEE Trans. Information Theory 13 (1967).
"""

import warnings
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from mlreplica.core.card import Card
from mlreplica.core.compat import StrOptions, _fit_context
from mlreplica.core.compile.jit import kernel

from ._ask import KNeighboursMixin, views
from ._search import NeighboursBase, constraints

WEIGHTS = [StrOptions({"uniform", "distance"}), callable, None]


@kernel(borrow=True)
def add_votes(start, N, w, codes, votes):
    """votes[i, c] = Σ w over the neighbours of query i, from start[i] on in N, of class c."""
    for i in range(len(votes)):
        for a in range(start[i], start[i + 1]):
            votes[i, codes[N[a]]] += w[a] if len(w) > 0 else 1.0


@kernel(borrow=True)
def add_targets(start, N, w, Y, sums):
    """sums[i] = Σ w y / Σ w over the neighbours of query i; NaN if there is none."""
    for i in range(len(sums)):
        total = 0.0
        for a in range(start[i], start[i + 1]):
            u = w[a] if len(w) > 0 else 1.0
            total += u
            for c in range(Y.shape[1]):
                sums[i, c] += u * Y[N[a], c]
        for c in range(Y.shape[1]):
            sums[i, c] /= total


def inverse_distances(start, D):
    """1/d; where a neighbour is at distance 0, 1 for such neighbours and 0 for the others."""
    with np.errstate(divide="ignore"):
        w = 1.0 / D
    at = np.isinf(w)
    if at.any():
        query = np.repeat(np.arange(len(start) - 1), np.diff(start))
        touched = np.zeros(len(start) - 1, dtype=bool)
        touched[query[at]] = True
        w = np.where(touched[query], at, w)
    return w


NONE = np.empty(0)


class Vote:
    """What classifiers and regressors do with the neighbours they find."""

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y):
        """Keep the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or distances if `metric="precomputed"`.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes or numbers.

        Returns
        -------
        self : estimator
        """
        return self._fit(X, y)

    @property
    def loo_predict_(self):
        """Each training row as predicted from the others: (2)."""
        return self.predict(None)

    def __dir__(self):
        """Names without `loo_predict_`, so that a look at the model does not search."""
        return [n for n in object.__dir__(self) if n != "loo_predict_" and hasattr(self, n)]

    def _neighbours(self, X):
        """(start, distances, indices) of the neighbours of each row."""
        if hasattr(self, "radius_neighbors"):
            return self._radius_search(X, None, False)
        D, N = self.kneighbors(X)
        return np.arange(0, N.size + 1, N.shape[1]), D.ravel(), N.ravel()

    def _weights(self, start, D):
        """A weight per neighbour; empty if all are 1."""
        if self.weights in (None, "uniform"):
            return NONE
        if self.weights == "distance":
            return inverse_distances(start, D)
        if hasattr(self, "radius_neighbors"):
            found = self.weights(views(start, D))
            w = np.concatenate([NONE, *(np.asarray(a, dtype=float).ravel() for a in found)])
        else:
            w = np.asarray(self.weights(D.reshape(len(start) - 1, -1)), dtype=float).ravel()
        if w.shape != D.shape:
            raise ValueError(f"weights returned {w.size} numbers for {D.size} neighbours.")
        return w

    def _targets(self):
        """The target as columns."""
        return self._y if self._y.ndim == 2 else self._y[:, None]


class ClassVote(Vote):
    """Votes for classes."""

    def _all_classes(self):
        """The classes of each target."""
        return self.classes_ if self.outputs_2d_ else [self.classes_]

    def _votes(self, X):
        """Votes for each class, (queries, classes), for each target; and where neighbours start."""
        start, D, N = self._neighbours(X)
        w = self._weights(start, D)
        found = []
        for codes, classes in zip(self._targets().T, self._all_classes(), strict=True):
            votes = np.zeros((len(start) - 1, len(classes)))
            add_votes(start, N, w, np.ascontiguousarray(codes), votes)
            found.append(votes)
        return found, start

    def _checked_votes(self, X):
        """The votes, none of which are all 0."""
        votes, _ = self._votes(X)
        if callable(self.weights) and not (votes[0].sum(axis=1) != 0).all():
            raise ValueError(
                "All neighbors of some sample is getting zero weights. Please modify 'weights' to "
                "avoid this case if you are using a user-defined function."
            )
        return votes

    def predict(self, X):
        """Return the class with most votes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), or None
            Rows; None for the training rows, each predicted from the others.

        Returns
        -------
        y : ndarray of shape (n_queries,) or (n_queries, n_outputs)
        """
        votes = self._checked_votes(X)
        return self._named([v.argmax(axis=1) for v in votes], votes)

    def _named(self, best, votes):
        """The classes of given numbers, of one target or several."""
        if not self.outputs_2d_:
            return self.classes_[best[0]]
        y = np.empty((len(best[0]), len(best)), dtype=self.classes_[0].dtype)
        for k, (classes, column) in enumerate(zip(self.classes_, best, strict=True)):
            y[:, k] = classes[column]
        return y

    def predict_proba(self, X):
        """Return the share of votes for each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), or None
            Rows; None for the training rows, each predicted from the others.

        Returns
        -------
        p : ndarray of shape (n_queries, n_classes), or a list of them
            All 0 where nobody votes.
        """
        shares = []
        for v in self._checked_votes(X):
            total = v.sum(axis=1, keepdims=True)
            total[total == 0.0] = 1.0
            shares.append(v / total)
        return shares if self.outputs_2d_ else shares[0]

    def score(self, X, y, sample_weight=None):
        """Return the share of rows whose class is predicted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            Rows; None for the training rows, each predicted from the others.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        float
            The share.
        """
        return super().score(X, y, sample_weight)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class NumberVote(Vote):
    """Means of numbers."""

    def predict(self, X):
        """Return the weighted mean of the neighbours' targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), or None
            Rows; None for the training rows, each predicted from the others.

        Returns
        -------
        y : ndarray of shape (n_queries,) or (n_queries, n_outputs)
        """
        start, D, N = self._neighbours(X)
        Y = self._targets()
        sums = np.zeros((len(start) - 1, Y.shape[1]))
        add_targets(start, N, self._weights(start, D), Y, sums)
        if self.radius is not None and not np.diff(start).all():
            warnings.warn(
                "One or more samples have no neighbors within specified radius; predicting NaN.",
                stacklevel=2,
            )
        return sums if self._y.ndim == 2 else sums[:, 0]


WEIGHTED = """weights : {"uniform", "distance"}, callable or None, default="uniform"
        Neighbours count 1, 1/distance, or what a function makes of the distances.
    """
PARAMETERS = """algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        How neighbours are found; results do not depend on it. "auto" measures what is fastest.
    leaf_size : int, default=30
        About so many points in a leaf of a tree.
    p : float, default=2
        Power of the Minkowski metric.
    metric : str or callable, default="minkowski"
        A name, "precomputed", or a function of two rows, which is compiled.
    metric_params : dict, default=None
        Parameters of the metric, by name; of a function too, which is compiled for them.
    n_jobs : int, default=None
        Threads; None for all."""
ATTRIBUTES = """effective_metric_ : str or callable
        The metric after "minkowski" has been resolved.
    effective_metric_params_ : dict
        Its parameters.
    n_samples_fit_ : int
        Rows kept."""
OF_VOTES = f"""{ATTRIBUTES}
    loo_predict_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Each training row as predicted from the others."""
OF_CLASSES = f"""classes_ : ndarray or list of ndarray
        Classes of the target, or of each.
    outputs_2d_ : bool
        Whether there is more than one target.
    {OF_VOTES}"""

CARD = Card(
    page="k-nearest-neighbours",
    checks="neighbours",
    use="a class or a number from rows that are alike, few columns, any shape of border",
    good="nothing to train; exact leave-one-out in one pass; any metric, even your own function",
    bad="keeps all rows; fades in many dimensions; irrelevant columns count as much as others",
    time="O(n p log n) to fit, O(p log n) per query in few dimensions, O(n p) in many",
    memory="O(n p); never all distances",
    rescaling="needed: distances depend on the units of the columns",
    missing='refused, except by metric="nan_euclidean"',
    instead="RandomForestClassifier with irrelevant columns; SVC for a smooth border",
)


class KNeighborsClassifier(ClassVote, KNeighboursMixin, ClassifierMixin, NeighboursBase):
    __doc__ = f"""The most frequent class among the k nearest rows: (1).

    Parameters
    ----------
    n_neighbors : int, default=5
        k.
    {WEIGHTED}{PARAMETERS}

    Attributes
    ----------
    {OF_CLASSES}

    Examples
    --------
    >>> from mlreplica.neighbors import KNeighborsClassifier
    >>> model = KNeighborsClassifier(n_neighbors=3).fit([[0], [1], [2], [3]], [0, 0, 1, 1])
    >>> model.predict([[1.1]]), model.predict_proba([[0.9]]).round(3)
    (array([0]), array([[0.667, 0.333]]))
    """

    card = CARD
    _parameter_constraints: dict = constraints("radius", weights=WEIGHTS)

    def __init__(
        self,
        n_neighbors: int | None = 5,
        *,
        weights: Any = "uniform",
        algorithm="auto",
        leaf_size=30,
        p: float | None = 2,
        metric: Any = "minkowski",
        metric_params=None,
        n_jobs=None,
    ):
        NeighboursBase.__init__(
            self,
            n_neighbors=n_neighbors,
            algorithm=algorithm,
            leaf_size=leaf_size,
            metric=metric,
            p=p,
            metric_params=metric_params,
            n_jobs=n_jobs,
        )
        self.weights = weights


class KNeighborsRegressor(NumberVote, KNeighboursMixin, RegressorMixin, NeighboursBase):
    __doc__ = f"""The mean target of the k nearest rows: (1).

    Parameters
    ----------
    n_neighbors : int, default=5
        k.
    {WEIGHTED}{PARAMETERS}

    Attributes
    ----------
    {OF_VOTES}

    Examples
    --------
    >>> from mlreplica.neighbors import KNeighborsRegressor
    >>> model = KNeighborsRegressor(n_neighbors=2).fit([[0], [1], [2], [3]], [0, 0, 1, 1])
    >>> model.predict([[1.5]])
    array([0.5])
    """

    card = CARD
    _parameter_constraints: dict = constraints("radius", weights=WEIGHTS)
    __init__ = KNeighborsClassifier.__init__
