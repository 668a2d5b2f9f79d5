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
from mlreplica.core.compile.threads import run, split

from .distinct import distinct_rows
from .points import SUMMED, Points


@kernel
def draw_rows(values, blocks, w, closest, drawn):
    """drawn[t] ← the row of block t at which the running sum of w D² reaches values[t]."""
    for t in range(len(values)):
        i, last = blocks[t] * SUMMED, min((blocks[t] + 1) * SUMMED, len(w)) - 1
        s = w[i] * closest[i]
        while i < last and s < values[t]:
            i += 1
            s += w[i] * closest[i]
        drawn[t] = i


def plus_plus(
    points: Points, k: int, w: Any, random: Any, trials: int | None = None, among: Any = None
) -> Any:
    """Draw k rows by (7); their positions. among: distinct rows and their weights, or None.

    Rows are read once per centre, to add up what each candidate would leave. `closest` is only
    brought up to date with the winner by the next such pass, or in the blocks drawn from.
    """
    trials, (rows, w) = trials or 2 + int(np.log(k)), among or (points.all, w)
    chosen, closest = np.empty(k, dtype=np.int64), np.full(len(rows), np.inf)
    blocks = np.arange(-(-len(rows) // SUMMED))
    parts = [blocks[part] for part in split(len(blocks), 32, least=max(1, 128 // points.p))]
    drawn = np.array([random.choice(len(rows), p=w / w.sum())])
    newest, mass = rows[drawn[0]], np.zeros(len(blocks))
    for c in range(k):
        if c:
            ends = np.cumsum(mass)
            values, drawn = random.uniform(size=trials) * ends[-1], np.empty(trials, np.int64)
            some = np.minimum(np.searchsorted(ends, values), len(blocks) - 1)
            points.potentials(rows[:0], newest, rows, w, closest, some)
            draw_rows(values - (ends - mass)[some], some, w, closest, drawn)
        add_up = partial(points.potentials, rows[drawn], newest, rows, w, closest)
        left = np.concatenate(run(add_up, parts))
        best = left.sum(axis=0).argmin()
        mass, newest = left[:, best], rows[drawn[best]]  # what the winner leaves, by blocks
        chosen[c] = newest
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
    rows = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
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
