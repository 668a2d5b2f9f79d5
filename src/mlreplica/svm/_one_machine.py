"""One machine, one fit: what regression and one-class machines share"""

import numpy as np
from sklearn.utils.validation import _num_samples

from mlreplica.core.iterate import iterate
from mlreplica.kernels import Precomputed

from ._smo import LARGE_BLOCK, smo

ENDLESS = 10**9


def row_weights(sample_weight, X, n):
    """A weight a row, 0 where it is to be left out."""
    if X.shape[0] != n:
        raise ValueError(
            f"X and y have incompatible shapes.\nX has {X.shape[0]} samples, but y has {n}."
        )
    if sample_weight is None:
        return np.ones(n)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim != 1 or _num_samples(weights) != n:
        raise ValueError(
            f"sample_weight and X have incompatible shapes: {weights.shape} vs {X.shape}\n"
            "Note: Sparse matrices cannot be indexed w/"
            "boolean masks (use `indices=True` in CV)."
        )
    if not (weights > 0.0).any():
        raise ValueError("Invalid input - all samples have zero or negative weights.")
    return np.maximum(weights, 0.0)


def solve_one(model, X, y, sample_weight):
    """Solve the dual that `model._dual(y, weights)` states, and publish its solution."""
    weights = row_weights(sample_weight, X, len(y))
    used = np.flatnonzero(weights)
    A = X
    if len(used) < len(y):
        A = X[np.ix_(used, used)] if isinstance(model._kernel, Precomputed) else X[used]
    P, start = model._dual(y[used], weights[used])
    options = {"tol": model.tol, "max_pairs": model._max_pairs, "shrinking": model.shrinking}
    states = smo(model._gram(A, LARGE_BLOCK), P, start, watched=model._watched, **options)
    last = iterate(model, states, max_iter=ENDLESS, unit="blocks", advice=None, X=X, y=y)
    coef = model._coefficients(last.beta)
    held = coef != 0.0
    b = np.asarray(model._intercepts(last.b), dtype=float)
    model._publish(X, used[held], [np.count_nonzero(held)], coef[None, held], b)
    model.n_iter_, model.certificate_ = int(last.pairs), float(last.gap)
    model._judge(last.violation, last.floor)
