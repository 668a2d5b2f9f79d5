r"""Bisecting k-means: two clusters at a time

Start with one cluster of all rows. Take the cluster of largest inertia

    J_c = Σ_{a_i = c} w_i ‖x_i − c_c‖²                                                        (3)

(or of most rows), and divide it by k-means with two centres; repeat until there are k clusters. The
divisions make a tree, and a new row walks down it: at each node to the nearer of two centres. Every
division costs about as much as a few passes over the rows of one cluster, so the whole costs about
log k passes of two centres where clusters are even.

Steinbach, Karypis, Kumar, A comparison of document clustering techniques (2000).
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from mlreplica.core.compat import Interval, StrOptions, _fit_context
from mlreplica.core.compile.threads import one_blas_thread
from mlreplica.core.iterate import iterate
from mlreplica.core.validation import new_rows

from .centres import CentreModel, in_range, nearest_centres
from .distinct import distinct_rows
from .estimator import KMeans
from .points import Points


class BisectionState(NamedTuple):
    """A tree of clusters: nodes are numbered in the order of their making."""

    leaves: list  # nodes that are clusters now, in the order of their labels
    children: list  # pairs of nodes, (−1, −1) for a leaf
    centers: list
    members: list  # rows of each node
    worst: float  # the score (3) of the cluster that is divided next


class BisectingKMeans(CentreModel):
    """A tree of clusters: the worst one is divided in two, until there are k.

    Parameters
    ----------
    n_clusters : int, default=8
    init : {"k-means++", "random"} or callable, default="random"
        First centres of every division.
    n_init : int, default=1
        Starts of every division, of which the best is kept.
    random_state : int, RandomState instance or None, default=None
    max_iter : int, default=300
        The most passes in a division.
    verbose : int, default=0
        Whether to write a line per division on standard output.
    tol : float, default=1e-4
        Stop a division when its centres move by less, squared.
    copy_x : bool, default=True
        Accepted for scikit-learn's sake; X is never changed.
    algorithm : {"lloyd", "elkan"}, default="lloyd"
        With two centres there is nothing to choose: both run the same loop.
    bisecting_strategy : {"biggest_inertia", "largest_cluster"}, default="biggest_inertia"
        Which cluster is divided next.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
    labels_ : ndarray of shape (n_samples,)
    inertia_ : float
    n_iter_ : int
        How many clusters were made.

    References
    ----------
    Steinbach, Karypis, Kumar: A comparison of document clustering techniques. KDD workshop (2000).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1, 1], [10, 1], [3, 1], [10, 0], [2, 1], [10, 2], [10, 8], [10, 9]])
    >>> BisectingKMeans(n_clusters=3, random_state=0).fit(X).labels_
    array([0, 2, 0, 2, 0, 2, 1, 1], dtype=int32)
    """

    card = KMeans.card.but(
        page="mini-batch-k-means",
        checks="bisection",
        cheap=lambda: {"n_clusters": 2, "max_iter": 2},
        use="many clusters, or a coarse-to-fine tree of them",
        good="time grows with log k; the tree assigns new rows in log k steps",
        bad="an early division is never mended",
        time="O(n p log k) per pass",
        instead="KMeans for the best centres, AgglomerativeClustering for a tree of all rows",
    )

    _parameter_constraints = {
        **CentreModel._parameter_constraints,
        "init": [StrOptions({"k-means++", "random"}), callable],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "copy_x": ["boolean"],
        "algorithm": [StrOptions({"lloyd", "elkan"})],
        "bisecting_strategy": [StrOptions({"biggest_inertia", "largest_cluster"})],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        init: Any = "random",
        n_init=1,
        random_state=None,
        max_iter=300,
        verbose=0,
        tol=1e-4,
        copy_x=True,
        algorithm="lloyd",
        bisecting_strategy="biggest_inertia",
    ):
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.random_state = random_state
        self.max_iter = max_iter
        self.verbose = verbose
        self.tol = tol
        self.copy_x = copy_x
        self.algorithm = algorithm
        self.bisecting_strategy = bisecting_strategy

    def _divide(self, points, w, random):
        """Labels 0 and 1 of some rows, the two centres, and the score of either."""
        solver, best, among = KMeans(2, max_iter=self.max_iter), None, distinct_rows(points.X, w)
        for _ in range(self.n_init):
            C = self._first_centres(points, w, self.init, random, 2, among)
            found = solver._run(points, w, C, self.tol, np.float64)
            if best is None or found["inertia_"] < best["inertia_"] * (1 - 1e-6):
                best = found
        labels, C = best["labels_"], best["cluster_centers_"]
        if self.bisecting_strategy == "largest_cluster":
            return labels, C, np.bincount(labels, w, minlength=2)
        squares = w * points.squares(C - points.shift, labels)
        return labels, C, np.bincount(labels, squares, minlength=2)

    @_fit_context(prefer_skip_nested_validation=True)
    @one_blas_thread()
    def fit(self, X, y=None, sample_weight=None):
        """Divide the rows k − 1 times.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self : BisectingKMeans
        """
        X, w = self._rows(X, sample_weight)
        self._starts(X, 1)
        scale, random = in_range(X), check_random_state(self.random_state)
        points = Points(self._to_range(X, scale))

        def publish(state):
            leaves = state.leaves
            leaf = np.full(len(state.children), -1)
            leaf[leaves] = np.arange(len(leaves))
            labels, centers = np.empty(X.shape[0], np.int32), np.array(state.centers)
            for c, node in enumerate(leaves):
                labels[state.members[node]] = c
            squares = points.squares(centers[leaves] - points.shift, labels)
            with np.errstate(over="ignore"):
                inertia = float(w @ squares / scale / scale)
            return {
                "_children": np.array(state.children),
                "_leaf": leaf,
                "_node_centers": centers / scale,
                "labels_": labels,
                "cluster_centers_": (centers[leaves] / scale).astype(X.dtype),
                "inertia_": inertia,
                "_n_features_out": len(leaves),
            }

        state = iterate(
            self,
            self._divisions(points, w, random),
            max_iter=self.n_clusters,
            unit="clusters",
            advice=None,
            publish=publish,
        )
        vars(self).update(publish(state))
        self._say_if_few(self.labels_)
        return self

    def _divisions(self, points, w, random):
        """Yield the tree of 1, 2, … clusters."""
        members, centers, scores = [points.all], [points.mean(w) + points.shift], [0.0]
        children, leaves = [(-1, -1)], [0]  # nodes in the order of their making
        while True:
            node = max(leaves, key=lambda t: scores[t])
            yield BisectionState([*leaves], [*children], [*centers], [*members], scores[node])
            some = members[node]
            labels, C, score = self._divide(  # the root is not copied, and no copy outlives this
                Points(points.X[some]) if node else points, w[some], random
            )
            at, new = leaves.index(node), len(members)
            children[node] = (new, new + 1)
            leaves[at : at + 1] = [new, new + 1]
            members += [some[labels == 0], some[labels == 1]]
            centers += [*C]
            scores += [*score]
            children += [(-1, -1), (-1, -1)]

    def predict(self, X):
        """Walk each row down the tree, to the nearer of two centres at each node.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        X = new_rows(self, X, accept_sparse="csr")
        labels, waiting = np.empty(X.shape[0], np.int32), [(0, np.arange(X.shape[0]))]
        while waiting:
            node, rows = waiting.pop()
            if self._leaf[node] >= 0:
                labels[rows] = self._leaf[node]
            elif len(rows):
                pair = self._children[node]
                right = nearest_centres(X[rows], self._node_centers[pair]) == 1
                waiting += [(pair[0], rows[~right]), (pair[1], rows[right])]
        return labels
