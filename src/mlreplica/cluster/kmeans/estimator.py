"""KMeans and k_means: the estimator over the solvers of this folder"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mlreplica.core.card import Card
from mlreplica.core.compat import StrOptions, _fit_context, validate_params
from mlreplica.core.compile.threads import one_blas_thread
from mlreplica.core.iterate import iterate

from .centres import CentreModel, in_range, is_array
from .distinct import distinct_rows
from .elkan import elkan
from .lloyd import lloyd
from .macqueen import macqueen
from .points import Points

STRICT = "strict convergence"  # no label has changed


def same_partition(a, b, k):
    """Whether two labellings differ in the names of the clusters only."""
    name = np.full(k, -1)
    name[a] = b
    return bool((name[a] == b).all())


class KMeans(CentreModel):
    """Clusters around centres: each row belongs to the nearest, each centre is a mean, (1).

    Parameters
    ----------
    n_clusters : int, default=8
        k, the number of centres.
    init : {"k-means++", "random"}, callable or array-like, default="k-means++"
        First centres: spread out by `kmeans_plusplus`, rows at random, a function of X, k and a
        random state, or the centres themselves.
    n_init : "auto" or int, default="auto"
        Starts, of which the best is kept. "auto": 10 for random rows or a function, else 1.
    max_iter : int, default=300
        The most passes over the rows in a run.
    tol : float, default=1e-4
        Stop when the centres move by less, squared, relative to the mean variance of the columns.
    verbose : int, default=0
        Whether to write a line per pass on standard output.
    random_state : int, RandomState instance or None, default=None
        Seed of the starts.
    copy_x : bool, default=True
        Accepted for scikit-learn's sake; X is never changed.
    algorithm : {"lloyd", "hamerly", "elkan", "macqueen", "auto"}, default="auto"
        "lloyd" compares every row with every centre in every pass. "hamerly" and "elkan" leave out
        what the triangle inequality proves needless, with one bound per row or one per row and
        centre, and find the same partition. "auto" is "hamerly". "macqueen" moves centres after
        each row. For sparse rows "elkan" and "macqueen" are "auto".

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
    labels_ : ndarray of shape (n_samples,)
        The nearest centre of each row.
    inertia_ : float
        J of (1).
    n_iter_ : int
        Passes of the best run.

    References
    ----------
    Lloyd: Least squares quantization in PCM. IEEE Trans. Inf. Theory 28 (1982), 129–137.
    Hamerly: Making k-means even faster. SDM (2010).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = KMeans(n_clusters=2, random_state=0).fit(X)
    >>> model.labels_
    array([1, 1, 1, 0, 0, 0], dtype=int32)
    >>> model.predict([[0, 0], [12, 3]])
    array([1, 0], dtype=int32)
    """

    card = Card(
        page="k-means",
        checks="centres",
        input="rows",
        cheap=lambda: {"n_clusters": 6, "max_iter": 3},
        use="compact groups of similar size, described by their centres",
        good="fast and simple; new rows are assigned at once; centres can be read",
        bad="round groups only; k must be chosen; finds a local minimum",
        time="O(n k p) per pass at first, little in later passes",
        memory="O(n) besides X, which is not copied",
        rescaling="needed: distances depend on the units of the columns",
        instead="GaussianMixture for stretched groups, HDBSCAN for any shape and noise",
    )

    _parameter_constraints = {
        **CentreModel._parameter_constraints,
        "copy_x": ["boolean"],
        "algorithm": [StrOptions({"auto", "lloyd", "hamerly", "elkan", "macqueen"})],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        init: Any = "k-means++",
        n_init: int | str = "auto",
        max_iter=300,
        tol=1e-4,
        verbose=0,
        random_state=None,
        copy_x=True,
        algorithm="auto",
    ):
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.copy_x = copy_x
        self.algorithm = algorithm

    def _solver(self, points, w, C):
        """The generator of states that `algorithm` names."""
        if self.algorithm == "elkan" and not points.sparse and self.n_clusters > 1:
            return elkan(points, w, C)
        if self.algorithm == "macqueen" and not points.sparse:
            return macqueen(points, w, C)
        return lloyd(points, w, C, bounded=self.algorithm != "lloyd" and self.n_clusters > 1)

    @_fit_context(prefer_skip_nested_validation=True)
    @one_blas_thread()
    def fit(self, X, y=None, sample_weight=None):
        """Minimise (1) from `n_init` starts and keep the best.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of 2 is a row twice, 0 is no row.

        Returns
        -------
        self : KMeans
        """
        X, w = self._rows(X, sample_weight)
        starts, init = self._starts(X, 10), self._given_centres(X)
        if self.algorithm == "elkan" and self.n_clusters == 1:
            warnings.warn(
                "algorithm='elkan' doesn't make sense for a single cluster. Using 'lloyd' instead.",
                RuntimeWarning,
                stacklevel=2,
            )
        scale = in_range(X)
        X, init = self._to_range(X, scale), init * scale if is_array(init) else init
        points, random = Points(X), check_random_state(self.random_state)
        tol, best = self._tolerance(points, w), None
        among = distinct_rows(X, w) if isinstance(init, str) else None
        for _ in range(starts):
            C = self._first_centres(points, w, init, random, among=among)
            found = self._run(points, w, C, tol, X.dtype)
            if best is None or (
                found["inertia_"] < best["inertia_"]
                and not same_partition(found["labels_"], best["labels_"], self.n_clusters)
            ):
                best = found
        best["cluster_centers_"] = (best["cluster_centers_"] / scale).astype(X.dtype, copy=False)
        with np.errstate(over="ignore"):
            best["inertia_"] = float(np.float64(best["inertia_"]) / scale / scale)
        vars(self).update(best)
        self._say_if_few(self.labels_)
        return self

    def _run(self, points, w, C, tol, dtype):
        """The attributes found from one start."""

        def publish(state):
            C = state.centers + points.shift
            return {
                "cluster_centers_": C.astype(dtype),
                "labels_": state.labels,
                "inertia_": state.inertia,
                "_n_features_out": len(C),
            }

        state = iterate(
            self,
            self._solver(points, w, C),
            max_iter=self.max_iter,
            tol=tol,
            watch="shift",
            unit="passes",
            advice=None,
            publish=publish,
            reasons=("center shift small" if tol > 0 else STRICT, STRICT),
        )
        C, labels = state.centers, state.labels
        if state.moved:  # the centres have moved since the rows were labelled
            labels = points.labels(C)
        return publish(state) | {
            "cluster_centers_": C + points.shift,
            "labels_": labels.astype(np.int32, copy=False),
            "inertia_": float(w @ points.squares(C, labels)),
            "n_iter_": self.n_iter_,
        }


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "sample_weight": ["array-like", None],
        "return_n_iter": [bool],
    },
    prefer_skip_nested_validation=False,
)
def k_means(
    X,
    n_clusters,
    *,
    sample_weight=None,
    init="k-means++",
    n_init="auto",
    max_iter=300,
    verbose=False,
    tol=1e-4,
    random_state=None,
    copy_x=True,
    algorithm="auto",
    return_n_iter=False,
):
    """Centres, labels and inertia of `KMeans`, whose parameters these are.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    n_clusters : int
    sample_weight : array-like of shape (n_samples,), default=None
    init, n_init, max_iter, verbose, tol, random_state, copy_x, algorithm
        As in `KMeans`.
    return_n_iter : bool, default=False
        Whether to return the number of passes, too.

    Returns
    -------
    centroid, label, inertia, and n_iter if asked for

    Examples
    --------
    >>> centers, labels, inertia = k_means([[0.0], [1.0], [10.0]], 2, random_state=0)
    >>> labels, inertia
    (array([0, 0, 1], dtype=int32), 0.5)
    """
    model = KMeans(
        n_clusters,
        init=init,
        n_init=n_init,
        max_iter=max_iter,
        verbose=verbose,
        tol=tol,
        random_state=random_state,
        copy_x=copy_x,
        algorithm=algorithm,
    ).fit(X, sample_weight=sample_weight)
    found = model.cluster_centers_, model.labels_, model.inertia_
    return (*found, model.n_iter_) if return_n_iter else found
