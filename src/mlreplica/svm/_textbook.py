"""The textbook's solvers with the arguments and states of `smo`, so that `SVC` can name them"""

from itertools import islice

import numpy as np

from ._platt import platt
from ._simplified import simplified
from ._smo import report


def with_whole_matrix(loop):
    """A solver like `smo` of a generator of pair steps, which needs all of K."""

    def solve(rows, P, beta=None, *, tol=1e-3, max_pairs=None, shrinking=True, watched=True):
        """Yield a `State` after every n pair steps and after the last, never shrinking."""
        n = len(P.q)
        if 8e-6 * n * n > rows.cache_size:
            raise ValueError(
                f'solver="{loop.__name__}" keeps the whole kernel matrix, {8e-6 * n * n:.0f} MB, '
                f'but cache_size is {rows.cache_size:.0f}; raise it or use solver="smo".'
            )
        if rows.precomputed:
            K, P = rows.X[P.row[:, None], P.row], P._replace(row=np.arange(n))
        else:
            K = rows.kernel.block(rows.X, rows.X, np.empty((n, n)), rows.x_sq, rows.x_sq)
        y = np.where(P.q < 0.0, 1.0, -1.0)  # q = −y
        alpha = None if beta is None else y * beta
        steps = loop(K, y, P.high - P.low, tol, np.random.default_rng(0), alpha)
        beta, pairs = np.zeros(n) if beta is None else beta, 0
        most = max(10**7, 100 * n) if max_pairs is None else max_pairs
        longest = float(np.abs(rows.diag).max(initial=0.0))
        yield report(P, beta, K @ beta, pairs, n, longest)
        while some := list(islice(steps, min(n, most - pairs))):
            pairs += len(some)
            beta = y * some[-1].alpha
            yield report(P, beta, K @ beta, pairs, n, longest)

    return solve


PLATT, SIMPLIFIED = with_whole_matrix(platt), with_whole_matrix(simplified)
