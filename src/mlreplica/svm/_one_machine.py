"""One machine, one fit: what regression and one-class machines share"""

import numpy as np

from mlreplica.core.iterate import iterate
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
    last = iterate(model, states, max_iter=ENDLESS, unit="blocks", advice=None, X=X, y=y)
    coef = model._coefficients(last.beta)
    held = coef != 0.0
    b = np.asarray(model._intercepts(last.b), dtype=float)
    model._publish(X, used[held], [np.count_nonzero(held)], coef[None, held], b)
    model.n_iter_, model.certificate_ = int(last.pairs), float(last.gap)
    model._judge(last.violation, last.floor)
