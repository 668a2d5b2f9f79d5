"""One machine, one fit: what regression and one-class machines share"""

import numpy as np

from mlreplica.core.iterate import attributes_set_by, iterate
from mlreplica.kernels import Precomputed

from ._base import ENDLESS, row_weights
from ._smo import LARGE_BLOCK, smo


def solve_one(model, X, y, sample_weight):
    """Solve the dual that `model._dual(y, weights)` states, and publish its solution."""
    weights = row_weights(sample_weight, X, len(y))
    used = np.flatnonzero(weights)
    A = X
    if len(used) < len(y):
        A = X[np.ix_(used, used)] if isinstance(model._kernel, Precomputed) else X[used]
    P, start = model._dual(y[used], weights[used])
    states = smo(model._gram(A, LARGE_BLOCK), P, start, watched=model._watched, **model._options)

    def publish(model, state):
        coef = model._coefficients(state.beta)
        held = coef != 0.0
        b = np.asarray(model._intercepts(state.b), dtype=float)
        model._publish(X, used[held], [np.count_nonzero(held)], coef[None, held], b)
        model.n_iter_, model.certificate_ = int(state.pairs), float(state.gap)
        model._measure(state.violation, state.floor)

    last = iterate(
        model,
        states,
        max_iter=ENDLESS,
        unit="blocks",
        advice=None,
        publish=lambda state: attributes_set_by(model, lambda copy: publish(copy, state)),
        X=X,
        y=y,
    )
    publish(model, last)
    model._warn_if_early()
