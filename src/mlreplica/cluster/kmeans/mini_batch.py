r"""Mini-batch k-means: centres move after every few rows

Draw b rows. Label each by its nearest centre. If centre c has seen rows of weight N_c so far and
gets rows of weight n_c now, whose mean is m_c, it becomes the mean of all it has seen:

    N_c ← N_c + n_c,     c_c ← c_c + (n_c / N_c) (m_c − c_c)                                  (1)

The factor is a learning rate that falls as 1/N_c, for every centre on its own. A centre that has
seen far fewer rows than the others is put on a row of the batch now and then. The inertia of
batches, smoothed over about one pass,

    E ← (1 − α) E + α J(batch)/b,     α = 2b/(n + 1),                                         (2)

says when to stop: if it has reached no new low for a number of batches.

Sculley, Web-scale k-means clustering (2010).
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from mlreplica.core.compat import Interval, _fit_context
from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import one_blas_thread
from mlreplica.core.iterate import iterate

from .centres import CentreModel, common_range, in_range, is_array, nearest_centres
from .distinct import distinct_rows
from .estimator import KMeans
from .points import Points


class MiniBatchState(NamedTuple):
    """What a `Trace` records once per batch."""

    centers: Any
    inertia: float  # J of the batch per row
    smoothed: float  # E of (2)
    change: float  # Σ ‖change of a centre‖²
    counts: Any  # N_c
    batch: int  # batches so far


@kernel
def draw_by_weight(u, ends, first, at):
    """at[t] ← the least i with ends[i] > u[t]; the search begins at `first_above`."""
    for t in range(len(u)):
        i = first[int(u[t] * len(first))]
        while ends[i] <= u[t]:
            i += 1
        at[t] = i


def first_above(ends):
    """For each part of [0, 1), about as many as `ends`: the first that is above its lower end."""
    parts = 1 << (len(ends).bit_length() - 1)  # a power of two: products with it are exact
    return np.bincount(np.ceil(ends * parts).astype(np.int64), minlength=parts).cumsum()[:parts]


def batch_points(X, origin, rows=None):
    """A batch, all of X or some rows, seen from the origin."""
    if rows is not None:
        X = X[rows] if sp.issparse(X) else X.take(rows, axis=0)
    points = Points(X, centred=False)
    if not points.sparse:
        points.shift = origin
    return points


def unscaled(inertia, scale):
    """A sum of squares of rows that were multiplied by `scale`; inf if beyond all floats."""
    with np.errstate(over="ignore"):
        return float(np.float64(inertia) / scale / scale)


def step(points, w, C, counts):
    """Update (1) of C and counts in place; return J of the batch before it."""
    n, k = points.n, len(C)
    near, labels = np.empty(n, np.int32), np.full(n, -1, np.int32)
    gap, squares, table = np.empty(n, np.float32), np.empty(n), points.table(C)
    sums, total, count = np.zeros_like(C), np.zeros(k), np.zeros(k, np.int64)
    points.nearest(table, points.all, near, gap)
    points.transfer(points.all.copy(), w, near, labels, (sums, total, count))
    points.own_distances(table, points.all, near, squares)
    seen = total > 0
    counts[seen] += total[seen]
    C[seen] += (sums[seen] - total[seen, None] * C[seen]) / counts[seen, None]
    return float(w @ squares)


def reassign(points, C, counts, ratio, random, rows=None):
    """Put centres that have seen few rows on (some) rows of the batch, in place."""
    few, rows = counts < ratio * counts.max(), points.all if rows is None else rows
    if few.sum() > 0.5 * len(rows):  # at most half of the batch
        few[np.argsort(counts)[int(0.5 * len(rows)) :]] = False
    if few.any():
        C[few] = points.row(rows[random.choice(len(rows), replace=False, size=few.sum())])
        counts[few] = counts[~few].min()


class MiniBatchKMeans(CentreModel):
    """k-means on random batches of rows: nearly as good, in a fraction of the time.

    Parameters
    ----------
    n_clusters : int, default=8
    init : {"k-means++", "random"}, callable or array-like, default="k-means++"
        First centres, found on `init_size` rows.
    max_iter : int, default=100
        The most passes' worth of batches.
    batch_size : int, default=1024
    verbose : int, default=0
        Whether to write a line per batch on standard output.
    compute_labels : bool, default=True
        Whether to label all rows at the end.
    random_state : int, RandomState instance or None, default=None
    tol : float, default=0.0
        If positive, stop when a batch moves the centres by less, squared, relative to the mean
        variance of the columns.
    max_no_improvement : int or None, default=10
        Stop after as many batches without a new low of (2).
    init_size : int, default=None
        Rows for the first centres; None means 3 batches, or 3 k.
    n_init : "auto" or int, default="auto"
        Starts to compare before the one run. "auto": 3 for random rows or a function, else 1.
    reassignment_ratio : float, default=0.01
        A centre that has seen less than this share of the most is put elsewhere.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
    labels_ : ndarray of shape (n_samples,)
    inertia_ : float
    n_iter_ : int
        Passes' worth of batches.
    n_steps_ : int
        Batches.

    References
    ----------
    Sculley: Web-scale k-means clustering. WWW (2010).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat([[0.0, 0.0], [9.0, 9.0]], 50, axis=0)
    >>> model = MiniBatchKMeans(2, batch_size=10, random_state=0).fit(X)
    >>> np.sort(model.cluster_centers_[:, 0])
    array([0., 9.])
    """

    card = KMeans.card.but(
        page="mini-batch-k-means",
        cheap=lambda: {"n_clusters": 2, "max_iter": 1},
        use="compact groups in very many rows, or in rows that arrive in batches",
        good="a fraction of the time of k-means; learns from a stream by partial_fit",
        bad="a slightly larger objective than k-means",
        time="O(b k p) per batch of b rows",
        instead="KMeans, unless it takes too long",
    )

    _parameter_constraints = {
        **CentreModel._parameter_constraints,
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "compute_labels": ["boolean"],
        "max_no_improvement": [Interval(Integral, 0, None, closed="left"), None],
        "init_size": [Interval(Integral, 1, None, closed="left"), None],
        "reassignment_ratio": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        init: Any = "k-means++",
        max_iter=100,
        batch_size=1024,
        verbose=0,
        compute_labels=True,
        random_state=None,
        tol=0.0,
        max_no_improvement: int | None = 10,
        init_size=None,
        n_init: int | str = "auto",
        reassignment_ratio=0.01,
    ):
        self.n_clusters = n_clusters
        self.init = init
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.verbose = verbose
        self.compute_labels = compute_labels
        self.random_state = random_state
        self.tol = tol
        self.max_no_improvement = max_no_improvement
        self.init_size = init_size
        self.n_init = n_init
        self.reassignment_ratio = reassignment_ratio

    def _sizes(self, n):
        """Rows of a batch and rows of a start."""
        batch, size = min(self.batch_size, n), self.init_size
        if size is None:
            size = 3 * batch if 3 * batch >= self.n_clusters else 3 * self.n_clusters
        elif size < self.n_clusters:
            warnings.warn(
                f"init_size={size} should be larger than n_clusters={self.n_clusters}. "
                "Setting it to min(3*n_clusters, n_samples)",
                RuntimeWarning,
                stacklevel=3,
            )
            size = 3 * self.n_clusters
        self._init_size = min(size, n)
        return batch, self._init_size

    def _start(self, X, drawn, init, random, size, origin):
        """First centres from `size` of the rows to draw from, about the origin."""
        rows, W = drawn
        if size < len(rows):
            some = random.randint(0, len(rows), size)
            rows, W = rows[some], W[some]
        points = batch_points(X, origin, rows)
        return self._first_centres(points, W if W.any() else np.ones(len(W)), init, random)

    def _best_start(self, X, drawn, init, random, starts, size, origin):
        """The start whose centres suit a sample best."""
        rows, W = drawn
        some, best = random.randint(0, len(rows), size), None
        sample = batch_points(X, origin, rows[some])
        for _ in range(starts):
            C = self._start(X, drawn, init, random, size, origin)
            J = float(W[some] @ sample.squares(C, sample.labels(C)))
            if best is None or best[0] > J:
                best = J, C
        return best[1]

    def _batches(self, X, drawn, C, random, size, origin):
        """Yield a state once per batch, until there is no more improvement."""
        among, W = drawn
        n, counts, ones = len(among), np.zeros(len(C)), np.ones(size)
        ends = np.cumsum(W / W.sum())
        ends /= ends[-1]
        first, at = first_above(ends), np.empty(size, np.int64)
        alpha, smoothed, lowest, waited, since = min(2.0 * size / (n + 1), 1.0), None, None, 0, 0
        batch = 1
        while True:
            draw_by_weight(random.random_sample(size), ends, first, at)
            points, C_old = batch_points(X, origin, among[at]), C
            C, since = C.copy(), since + size
            mend = (counts == 0).any() or since >= 10 * len(C)
            J = step(points, ones, C, counts) / size
            if mend:
                since = 0
                if self.reassignment_ratio > 0:
                    reassign(points, C, counts, self.reassignment_ratio, random)
            if lowest is None and smoothed is None:  # the first batch saw the first centres
                yield MiniBatchState(C, J, J, np.inf, counts, 1)
                smoothed = np.nan
                continue
            smoothed = J if np.isnan(smoothed) else (1 - alpha) * smoothed + alpha * J
            batch += 1
            yield MiniBatchState(C, J, smoothed, float(((C - C_old) ** 2).sum()), counts, batch)
            waited = 0 if lowest is None or smoothed < lowest else waited + 1
            lowest = smoothed if lowest is None else min(lowest, smoothed)
            if self.max_no_improvement is not None and waited >= self.max_no_improvement:
                return

    @_fit_context(prefer_skip_nested_validation=True)
    @one_blas_thread()
    def fit(self, X, y=None, sample_weight=None):
        """Move the centres by random batches of X until that helps no more.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            How often rows are drawn.

        Returns
        -------
        self : MiniBatchKMeans
        """
        X, w = self._rows(X, sample_weight)
        starts, random = self._starts(X, 3), check_random_state(self.random_state)
        drawn = distinct_rows(X, w) or (np.arange(X.shape[0]), w)
        n = len(drawn[0])
        size, init_size = self._sizes(n)
        init, scale, rows = self._given_centres(X), in_range(X), X
        X, init = self._to_range(X, scale), init * scale if is_array(init) else init
        points = Points(X)
        origin = points.shift
        C = self._best_start(X, drawn, init, random, starts, init_size, origin)

        def learned(state):
            C = ((state.centers + origin) / scale).astype(X.dtype)
            return {
                "cluster_centers_": C,
                "_n_features_out": len(C),
                "_counts": state.counts.copy(),
                "inertia_": unscaled(state.smoothed * float(w.sum()), scale),
                "n_steps_": state.batch,
            }

        def publish(state):
            found = learned(state)
            if self.compute_labels:
                found["labels_"] = nearest_centres(rows, found["cluster_centers_"])
            return found

        state = iterate(
            self,
            self._batches(X, drawn, C, random, size, origin),
            max_iter=max(1, self.max_iter * n // size),
            tol=self._tolerance(points, w) if self.tol > 0.0 else None,
            watch="change",
            unit="batches",
            advice=None,
            publish=publish,
            reasons=("small centers change", "lack of improvement in inertia"),
        )
        vars(self).update(learned(state))
        self.n_iter_ = int(np.ceil(self.n_steps_ * size / n))
        if self.compute_labels:
            self._label(rows, w)
            self._say_if_few(self.labels_)
        return self

    def _label(self, X, w):
        """Set labels_ and inertia_ of these rows."""
        C = self.cluster_centers_
        scale = common_range(X, C)
        if scale != 1.0:
            X, C = X * scale, C * scale
        points = batch_points(X, C.mean(axis=0, dtype=np.float64))
        C = C - points.shift
        self.labels_ = points.labels(C)
        self.inertia_ = unscaled(w @ points.squares(C, self.labels_), scale)

    @_fit_context(prefer_skip_nested_validation=True)
    @one_blas_thread()
    def partial_fit(self, X, y=None, sample_weight=None):
        """Move the centres by one batch, X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self : MiniBatchKMeans
        """
        first = not hasattr(self, "cluster_centers_")
        X, w = self._rows(X, sample_weight, reset=first)
        scale, rows = in_range(X) if first else common_range(X, self.cluster_centers_), X
        drawn = distinct_rows(X, w) or (np.arange(X.shape[0]), w)
        X = self._to_range(X, scale)
        if first:
            self._starts(X, 3)
            init = self._given_centres(X)
            init = init * scale if is_array(init) else init
            self._random_state, self.n_steps_ = check_random_state(self.random_state), 0
            _, size = self._sizes(len(drawn[0]))
            origin = Points(X).shift
            C = self._start(X, drawn, init, self._random_state, size, origin)
            C, self._counts, self._since = C + origin, np.zeros(self.n_clusters), 0
        else:
            C = self.cluster_centers_.astype(np.float64) * scale
            if not hasattr(self, "_random_state"):  # after fit
                self._random_state, self._since = check_random_state(self.random_state), 0
        origin = np.zeros(X.shape[1]) if sp.issparse(X) else C.mean(axis=0)
        points = batch_points(X, origin)
        C -= origin
        self._since += min(self.batch_size, len(drawn[0]))
        mend = (self._counts == 0).any() or self._since >= 10 * self.n_clusters
        step(points, w, C, self._counts)
        if mend:
            self._since = 0
            if self.reassignment_ratio > 0:
                ratio, random = self.reassignment_ratio, self._random_state
                reassign(points, C, self._counts, ratio, random, drawn[0])
        self.cluster_centers_ = ((C + origin) / scale).astype(X.dtype)
        self._n_features_out = len(C)
        self.n_steps_ += 1
        if self.compute_labels:
            self._label(rows, w)
        return self
