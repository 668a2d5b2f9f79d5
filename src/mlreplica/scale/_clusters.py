r"""Clusters from sums: k-means and Gaussian mixtures

Given the centres, a pass of k-means needs for each of them Σ w x and Σ w over its own rows; given
the bells, a step of EM needs their expected moments. Both add up over blocks, so that each pass is
one walk, and from the same start every pass gives the centres of a fit in memory. The start
itself needs rows at hand: it is made from a sample, all rows if there are no more than `SAMPLE`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from mlreplica.cluster.kmeans.centres import in_range, is_array
from mlreplica.cluster.kmeans.distinct import distinct_rows
from mlreplica.cluster.kmeans.lloyd import KMeansState
from mlreplica.cluster.kmeans.lloyd import Sums as ClusterSums
from mlreplica.cluster.kmeans.points import Points
from mlreplica.core.iterate import iterate
from mlreplica.core.rows.moments import Moments
from mlreplica.core.rows.walk import Sums
from mlreplica.mixture.base import WHOLE
from mlreplica.mixture.em import Bells, expectations
from mlreplica.mixture.gaussian import GaussianMixture

from ._blocks import Block, dense
from ._rows import Rows
from ._sample import Sample


def overview(block: Block, seed: int) -> Sums:
    """How many rows, a Sample of them, and their moments."""
    X, _, s = dense(block)
    return Sums((len(X), Sample.of(block, seed), Moments.of(np.asarray(X, dtype=np.float64), s)))


def start_of(model: Any, rows: Rows, least: int) -> tuple[Any, Any, Any, Any]:
    """A random state, a sample of the rows, its weights, and the moments of all."""
    random, seed = check_random_state(model.random_state), model.random_state
    n, sample, m = rows.sum(overview, seed if isinstance(seed, int) else 0)
    if n < least:
        raise ValueError(f"n_samples={n} should be >= the number of clusters, {least}.")
    if not m.n > 0.0:
        raise ValueError("all sample_weight are zero; give some row a positive weight.")
    X, weight, _ = sample.rows()
    return random, X, weight, m


def points_of(block: Block, origin: Any, scale: float) -> tuple[Points, Any]:
    """The rows of a block about the common origin, and their weights."""
    X, _, s = dense(block)
    X = X if scale == 1.0 else X * scale
    points = Points(np.ascontiguousarray(X, dtype=np.float64), centred=False)
    points.shift = origin
    return points, np.ones(points.n) if s is None else s


def assigned(block: Block, C: Any, origin: Any, scale: float) -> Sums:
    """Σ w x, Σ w and the number of rows of each cluster."""
    points, w = points_of(block, origin, scale)
    near, found = points.labels(C), ClusterSums.zero(*C.shape)
    points.transfer(points.all, w, near, np.full(points.n, -1, np.int32), found)
    return Sums(found)


def inertia_of(block: Block, C: Any, origin: Any, scale: float) -> float:
    """Σ w ‖x − c‖² to the nearest centres."""
    points, w = points_of(block, origin, scale)
    return float(w @ points.squares(C, points.labels(C)))


class Farthest(NamedTuple):
    """The k rows that are farthest from their centres."""

    k: int
    square: Any
    x: Any
    w: Any
    label: Any

    def __add__(self, other: Any) -> Farthest:
        both = [np.concatenate(pair) for pair in zip(self[1:], other[1:], strict=True)]
        first = np.argsort(-both[0], kind="stable")[: self.k]
        return Farthest(self.k, *(a[first] for a in both))


def farthest(block: Block, C: Any, origin: Any, scale: float, k: int) -> Farthest:
    """The farthest rows of a block."""
    points, w = points_of(block, origin, scale)
    near = points.labels(C)
    square = np.where(w > 0.0, points.squares(C, near), -1.0)
    first = np.argsort(-square, kind="stable")[:k]
    return Farthest(k, square[first], points.row(first), w[first], near[first])


def streamed_lloyd(
    rows: Rows, C: Any, origin: Any, scale: float, T: float
) -> Iterator[KMeansState]:
    """Yield a state once per walk, until no centre moves; T is the scatter about the origin."""
    while True:
        S, N, count = rows.sum(assigned, C, origin, scale)
        J = T - float((S * S).sum(axis=1) @ (1 / np.where(count, N, np.inf)))
        empty = np.flatnonzero(count == 0)
        if len(empty):  # a cluster without rows gets the row that is farthest from its centre
            far = rows.sum(farthest, C, origin, scale, len(empty))
            if far.square.max() > 0.0:
                for c, x, w, label in zip(empty, far.x, far.w, far.label, strict=False):
                    S[label] -= w * x
                    N[label] -= w
                    count[label] -= 1
                    S[c], N[c], count[c] = w * x, w, 1
        kept = (count > 0) & (N > 0)
        new = np.where(kept[:, None], S / np.where(kept, N, 1.0)[:, None], C)
        shift = float(((new - C) ** 2).sum())
        C = new
        yield KMeansState(C, max(J, 0.0), shift, int(shift > 0.0), None)
        if shift == 0.0:
            return


def fit_kmeans(model: Any, rows: Rows) -> None:
    """KMeans by Lloyd's passes, whatever `algorithm` says: they give the same centres."""
    random, X, w, m = start_of(model, rows, model.n_clusters)
    starts, init = model._starts(X, 10), model._given_centres(X)
    scale = in_range(X)
    points, origin = Points(X * scale), m.mean * scale
    if is_array(init):
        init = init * scale
    T = float(m.squares.sum()) * scale * scale
    tol = model.tol * T / m.n / rows.width
    among, best = distinct_rows(X, w) if isinstance(init, str) else None, None

    def publish(state: KMeansState) -> dict[str, Any]:
        C = (state.centers + origin) / scale
        return {
            "cluster_centers_": C,
            "inertia_": state.inertia / scale**2,
            "_n_features_out": len(C),
        }

    for _ in range(starts):
        C = model._first_centres(points, w, init, random, among=among) + points.shift - origin
        state = iterate(
            model,
            streamed_lloyd(rows, C, origin, scale, T),
            max_iter=model.max_iter,
            tol=tol,
            watch="shift",
            unit="passes",
            advice=None,
            publish=publish,
        )
        state = state._replace(inertia=rows.sum(inertia_of, state.centers, origin, scale))
        if best is None or state.inertia < best[0].inertia:
            best = state, model.n_iter_
    vars(model).update(publish(best[0]), n_iter_=best[1])
    vars(model).pop("labels_", None)  # one per row; predict gives them


def expected(block: Block, bells: Bells, log_weights: Any, whole: int) -> Any:
    """The expected moments of the components."""
    X, _, s = dense(block)
    X = np.ascontiguousarray(X, dtype=np.float64)
    return expectations(X, np.ones(len(X)) if s is None else s, bells, log_weights, whole)


class StreamedMixture(GaussianMixture):
    """The steps of `GaussianMixture` with sums over the blocks of a source."""

    def _prepare(self, X: Any, w: Any) -> Any:
        """An origin and, if tied, Σ w x xᵀ about it."""
        self._gaps = False
        if not isinstance(X, Rows):  # the sample that a start is made of
            return super()._prepare(X, w)
        return self._all.mean, self._all.S if self.covariance_type == "tied" else None

    def _moments(self, X: Any, w: Any, attributes: Any) -> Any:
        """The E-step: one walk."""
        kind, mu = self.covariance_type, attributes["means_"]
        bells = Bells.of(mu, attributes["precisions_cholesky_"], kind)
        return X.sum(expected, bells, self._log_weights(attributes), WHOLE[kind])

    def _mend(self, X: Any, w: Any, attributes: Any, mu: Any, S: Any, error: Any) -> Any:
        raise error


def fit_mixture(model: Any, rows: Rows) -> None:
    """GaussianMixture by EM, a walk per step."""
    if model.missing != "error":
        raise ValueError("missing='marginalise' needs all rows in memory; use missing='error'.")
    random, X, w, m = start_of(model, rows, model.n_components)
    em = StreamedMixture(**model.get_params())
    vars(em).update(vars(model))
    em._all, em._mended = m, 0
    em._check_start(X, w)
    warm, weight, best = model.warm_start and hasattr(model, "converged_"), np.array([m.n]), None
    for _ in range(1 if warm else model.n_init):
        start = em._attributes() if warm else em._start(X, w, random)
        found = em._run(rows, weight, start, em.lower_bound_ if warm else -np.inf)
        if best is None or found["lower_bound_"] > best["lower_bound_"]:
            best = found
    vars(model).update(em._published(best, rows.dtype))
    model._say_if_unfinished()
