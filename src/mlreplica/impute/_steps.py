"""Steps: those of iterative imputation (4), laid out to be done again on new rows, or drawn"""

from typing import Any, NamedTuple

import numpy as np

from mlreplica.core.compile.jit import kernel

from ._evidence import RowSums


class ImputerTriplet(NamedTuple):
    """One step of (4)."""

    feat_idx: int
    neighbor_feat_idx: np.ndarray
    estimator: Any


@kernel
def replay(X, gaps, column, W, b, low, high):
    """The steps of (4) for new rows: x_j ← b_s + xᵀw_s within its limits, where x_j is a gap."""
    p = X.shape[1]
    for i in range(len(X)):
        x = X[i]
        for s in range(len(column)):
            j = column[s]
            if gaps[i, j]:
                value = b[s]
                for k in range(p):
                    value += W[s, k] * x[k]
                x[j] = min(max(value, low[j]), high[j])


def packed(steps, p):
    """The arrays column, W and b of `replay`, from steps (column, others, fitted regression)."""
    S = len(steps)
    column, W, b = np.zeros(S, dtype=np.int64), np.zeros((S, p)), np.zeros(S)
    for s, (j, others, fitted) in enumerate(steps):
        column[s], W[s, others], b[s] = j, fitted[0], fitted[1]
    return column, W, b


def draw_gaps(X, gaps, order, others, low, high, rounds, rng):
    """Draw every gap of X in place, by so many rounds of (4).

    `others(j)` are the columns from which column j is predicted.
    """
    sums = RowSums(X)
    for _ in range(rounds):
        for j in order:
            given, rows = others(j), np.flatnonzero(gaps[:, j])
            fitted = sums.regress(gaps[:, j], j, given)
            values = fitted.draw(X[np.ix_(rows, given)], rng)
            sums.update(rows, j, np.clip(values, low[j], high[j]))
        sums.refresh()
