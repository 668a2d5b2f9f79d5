"""Stored columns: products with some columns of a sparse matrix, on threads and without a copy"""

from itertools import pairwise

import numpy as np

from mlreplica.core.jit import kernel
from mlreplica.core.parallel import n_threads, run

SMALL = 1 << 17  # stored values that one thread goes through before another has started


@kernel
def dots(start, rows, data, which, v, out):
    """out[a] = x_jᵀv for j = which[a]."""
    for a in range(len(which)):
        j, z = which[a], 0.0
        for k in range(start[j], start[j + 1]):
            z += data[k] * v[rows[k]]
        out[a] = z


@kernel
def total(start, rows, data, which, w, out):
    """out = Σ_a w_a x_j, j = which[a]."""
    out[:] = 0.0
    for a in range(len(which)):
        j, w_j = which[a], w[a]
        for k in range(start[j], start[j + 1]):
            out[rows[k]] += w_j * data[k]


class Stored:
    """Some columns of a CSC matrix; unsigned indices, as a sign would have to be looked at."""

    def __init__(self, triple, which, n, n_jobs):
        self.triple, self.which, self.n, self.n_jobs = triple, which, n, n_jobs
        start = triple[0]
        upto = np.append(0, np.cumsum(start[which + 1] - start[which]))
        ends = np.linspace(0, upto[-1], n_threads(n_jobs) + 1 if upto[-1] > SMALL else 2)
        cuts = np.searchsorted(upto, ends[1:-1]).tolist()  # as many values for every thread
        self.shares = [slice(*cut) for cut in pairwise([0, *cuts, len(which)])]

    def only(self, which):
        """Some of all columns."""
        return Stored(self.triple, which, self.n, self.n_jobs)

    def dots(self, V):
        """x_jᵀv for every column, and every row v of V."""
        out = np.empty((len(V), len(self.which)))

        def work(part):
            for v, z in zip(V, out, strict=True):
                dots(*self.triple, self.which[part], v, z[part])

        run(work, self.shares, n_jobs=self.n_jobs)
        return out

    def total(self, W):
        """Σ_j w_j x_j for every row w of W."""
        out = np.empty((len(self.shares), len(W), self.n))

        def work(part, sums):
            for w, f in zip(W, sums, strict=True):
                total(*self.triple, self.which[part], w[part], f)

        run(work, self.shares, out, n_jobs=self.n_jobs)
        return out.sum(axis=0)
