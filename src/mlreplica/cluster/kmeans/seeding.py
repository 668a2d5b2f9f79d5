r"""k-means++: first centres that are spread out

Let D(x) be the distance from x to the nearest centre drawn so far. The next centre is row i with
probability

    P(i) = w_i D(x_i)² / Σ_j w_j D(x_j)²,                                                    (7)

which alone makes the expected J at most 8(log k + 2) times the least possible. The greedy variant
draws L = 2 + ⌊log k⌋ candidates by (7) and keeps the one that leaves the smallest Σ w D².

Arthur, Vassilvitskii, k-means++: the advantages of careful seeding (2007).
"""

from __future__ import annotations

from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_random_state

from mlreplica.core.compat import Interval, _check_sample_weight, validate_params
from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import run

from .distinct import distinct_rows
from .points import Points

BLOCK = 1024  # rows whose weights w D² are added up together


@kernel
def block_sums(w, closest, out):
    """out[b] ← Σ w D² over a block of rows."""
    for b in range(len(out)):
        s = 0.0
        for i in range(b * BLOCK, min((b + 1) * BLOCK, len(w))):
            s += w[i] * closest[i]
        out[b] = s


@kernel
def draw_rows(values, w, closest, blocks, rows):
    """rows[t] ← the row at which the running sum of w D² reaches values[t]."""
    for t in range(len(values)):
        b, s = 0, 0.0
        while b + 1 < len(blocks) and s + blocks[b] < values[t]:
            s += blocks[b]
            b += 1
        i, last = b * BLOCK, min((b + 1) * BLOCK, len(w)) - 1
        s += w[i] * closest[i]
        while i < last and s < values[t]:
            i += 1
            s += w[i] * closest[i]
        rows[t] = i


def drawn_among(u: Any, rows: Any, mass: Any) -> Any:
    """The same among distinct rows, for shares u of the whole mass."""
    running = np.cumsum(mass)
    return rows[np.minimum(np.searchsorted(running, u * running[-1]), len(rows) - 1)]


def plus_plus(
    points: Points, k: int, w: Any, random: Any, trials: int | None = None, among: Any = None
) -> Any:
    """Draw k rows by (7); their positions. among: distinct rows and their weights, or None."""
    trials, n, parts = trials or 2 + int(np.log(k)), points.n, points.parts()
    chosen, blocks = np.empty(k, dtype=np.int64), np.empty(-(-n // BLOCK))
    some, W = among or (points.all, w)
    chosen[0] = some[random.choice(len(some), p=W / W.sum())]
    rows, closest = chosen[:1], np.full(n, np.inf)
    for c in range(k):
        if c:
            u = random.uniform(size=trials)
            if among is None:
                block_sums(w, closest, blocks)
                rows = np.empty(trials, dtype=np.int64)
                draw_rows(u * blocks.sum(), w, closest, blocks, rows)
            else:
                rows = drawn_among(u, some, W * closest[some])
        found = run(partial(points.nearer, points.row(rows), w, closest), parts)
        best = int(np.argmin(sum(left for _, left in found)))
        for part, (D, _) in zip(parts, found, strict=True):
            closest[part] = D[best]
        chosen[c] = rows[best]
    return chosen


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "sample_weight": ["array-like", None],
        "x_squared_norms": ["array-like", None],
        "random_state": ["random_state"],
        "n_local_trials": [Interval(Integral, 1, None, closed="left"), None],
    },
    prefer_skip_nested_validation=True,
)
def kmeans_plusplus(
    X,
    n_clusters,
    *,
    sample_weight=None,
    x_squared_norms=None,
    random_state=None,
    n_local_trials=None,
):
    """Draw first centres for k-means, spread out by (7).

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    n_clusters : int
        How many centres.
    sample_weight : array-like of shape (n_samples,), default=None
    x_squared_norms : array-like of shape (n_samples,), default=None
        Accepted for scikit-learn's sake; not needed.
    random_state : int, RandomState instance or None, default=None
        Where all rows are distinct and weigh the same, a seed draws the same rows as in
        scikit-learn, up to rounding. Otherwise a row of weight 2 and a row that stands twice are
        drawn alike, in whatever order rows come.
    n_local_trials : int, default=None
        Candidates per centre; 1 is the plain method, None means 2 + log k.

    Returns
    -------
    centers : ndarray of shape (n_clusters, n_features)
    indices : ndarray of shape (n_clusters,)
        The rows that were drawn.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> centers, indices = kmeans_plusplus(X, n_clusters=2, random_state=0)
    >>> indices
    array([3, 2])
    """
    rows = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    n = rows.shape[0]
    w = _check_sample_weight(sample_weight, rows, dtype=np.float64)
    if n < n_clusters:
        raise ValueError(f"n_samples={n} should be >= n_clusters={n_clusters}.")
    if x_squared_norms is not None and len(x_squared_norms) != n:
        raise ValueError(
            f"The length of x_squared_norms {len(x_squared_norms)} should "
            f"be equal to the length of n_samples {n}."
        )
    random = check_random_state(random_state)
    among = distinct_rows(rows, w)
    indices = plus_plus(Points(rows), n_clusters, w, random, n_local_trials, among)
    if isinstance(X, list):
        X = rows
    centers = X[indices] if not hasattr(X, "iloc") else rows[indices]
    return centers.toarray() if hasattr(centers, "toarray") else centers, indices
