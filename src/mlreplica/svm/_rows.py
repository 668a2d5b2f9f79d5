"""Rows of a Gram matrix: computed in blocks by one matrix product, the last ones used kept

A support vector machine asks for rows K(x_i, ·) again and again, and n² of their entries may be
too many to keep. `Rows` keeps as many as `cache_size` megabytes hold, in single precision (in
double where there are few), and forgets those that were asked for longest ago. `times` gives
products Kβ in double precision and keeps nothing.
"""

import numpy as np

from mlreplica.core.jit import kernel
from mlreplica.core.parallel import n_threads, run, split
from mlreplica.kernels import Precomputed, squared_norms

SMALL = 1000  # rows; so few are kept in double precision
CHUNK = 1 << 18  # entries of a Gram matrix that one task computes at a time


class Rows:
    """The rows of K(X, X) on demand: `rows.kept[rows.fetch(i)]` are those of the indices i.

    Parameters
    ----------
    kernel : mlreplica.kernels.Kernel
        With γ a number; `Precomputed` if X is the Gram matrix itself.
    X : float64 array or CSR array of shape (n, p), or (n, n) if precomputed
    cache_size : float
        Megabytes to keep rows in.
    least : int, default=2
        As many rows as are ever asked for at once; kept whatever `cache_size` says.
    dtype : dtype, default=None
        Of the rows; None chooses by n.
    """

    def __init__(self, kernel, X, cache_size=200.0, *, least=2, dtype=None):
        self.n = X.shape[0]
        self.kernel, self.cache_size, self.least = kernel, cache_size, min(self.n, least)
        self.precomputed = isinstance(kernel, Precomputed)
        self.sparse = hasattr(X, "indptr")
        if not (self.precomputed or self.sparse):
            X = X - X.mean(axis=0) if shift_invariant(kernel) else X
        self.X = X
        self.dtype = np.dtype(dtype or (np.float64 if self.n <= SMALL else np.float32))
        self.x_sq = None if self.precomputed else squared_norms(X)
        self.diag = np.asarray(kernel.diag(X), dtype=float)
        self.restrict(None)

    def restrict(self, columns):
        """Keep only these columns of the rows from now on (None: all); what was kept is lost."""
        self.columns = columns
        X = self.X
        if columns is not None:
            X = X[:, columns] if self.precomputed else X[columns]
        self.Y = X.astype(self.dtype, copy=False)
        self.y_sq = None if self.x_sq is None else self.x_sq.astype(self.dtype, copy=False)
        width = self.Y.shape[1] if self.precomputed else self.Y.shape[0]
        if columns is not None and self.y_sq is not None:
            self.y_sq = self.y_sq[columns]
        room = int(self.cache_size * 1e6 / (self.dtype.itemsize * width))
        self.kept = np.empty((max(self.least, min(self.n, room)), width), self.dtype)
        self.slot = np.full(self.n, -1)  # where a row is kept
        self.owner = np.full(len(self.kept), -1)  # which row a slot keeps
        self.used = np.zeros(len(self.kept), dtype=np.int64)  # when it was last asked for
        self.clock = 0

    def fetch(self, indices):
        """Where in `kept` the rows of these distinct indices are, computing those that are not."""
        self.clock += 1
        slots = self.slot[indices]
        self.used[slots[slots >= 0]] = self.clock
        missing = indices[slots < 0]
        if len(missing):
            free = np.argpartition(self.used, len(missing) - 1)[: len(missing)]
            lost = self.owner[free]
            self.slot[lost[lost >= 0]] = -1
            self.owner[free], self.slot[missing], self.used[free] = missing, free, self.clock
            self.fill(missing, free)
            slots = self.slot[indices]
        return slots

    def fill(self, indices, slots):
        """Compute rows, a chunk of them per task."""
        width = self.kept.shape[1]
        parts = max(-(-len(indices) * width // CHUNK), min(n_threads(), len(indices)))

        def one(part):
            self.kept[slots[part]] = self.block(indices[part])

        run(one, split(len(indices), parts))

    def block(self, indices):
        """Rows of K at the columns kept, in the type that is kept."""
        if self.precomputed:
            return self.Y[indices]
        A = self.X[indices].astype(self.dtype, copy=False)
        out = np.empty((len(indices), self.kept.shape[1]), self.dtype)
        return self.kernel.block(A, self.Y, out, self.x_sq[indices], self.y_sq)

    def add(self, G, slots, d):
        """G ← G + Σ_r d_r · kept[slots_r], the columns shared among the threads."""
        parts = split(len(G), n_threads(), least=4096)
        run(lambda part: add_rows(G, self.kept, slots, d, part.start, part.stop), parts)

    def times(self, beta):
        """Kβ in double precision, from the rows where β is not zero."""
        chosen = np.flatnonzero(beta)
        b, G = beta[chosen], np.zeros(self.n)
        if not len(chosen):
            return G

        def one(part):
            if self.precomputed:
                G[part] = self.X[part][:, chosen] @ b
                return
            out = np.empty((part.stop - part.start, len(chosen)))
            self.kernel.block(self.X[part], support, out, self.x_sq[part], norms)
            G[part] = out @ b

        support = None if self.precomputed else self.X[chosen]
        norms = None if self.precomputed else self.x_sq[chosen]
        run(one, split(self.n, max(n_threads(), -(-self.n * len(chosen) // CHUNK))))
        return G


def shift_invariant(kernel):
    """Whether K(u + a, v + a) = K(u, v), so that the rows may be centred."""
    from mlreplica.kernels import RBF, Laplacian

    return isinstance(kernel, RBF | Laplacian)


@kernel
def gather(kept, slots, columns, K):
    """K_rk = kept[slots_r, columns_k]"""
    for r in range(len(slots)):
        row = kept[slots[r]]
        for k in range(len(columns)):
            K[r, k] = row[columns[k]]


@kernel
def add_rows(G, kept, slots, d, start, stop):
    """G_k ← G_k + Σ_r d_r · kept[slots_r, k] for start ≤ k < stop, four rows at a time."""
    for a in range(start, stop, 2048):  # 16 KB of G stay in the first-level cache
        b = min(a + 2048, stop)
        g, r = G[a:b], 0
        while r + 4 <= len(slots):
            k0, k1 = kept[slots[r], a:b], kept[slots[r + 1], a:b]
            k2, k3 = kept[slots[r + 2], a:b], kept[slots[r + 3], a:b]
            d0, d1, d2, d3 = d[r], d[r + 1], d[r + 2], d[r + 3]
            for k in range(b - a):
                g[k] += d0 * k0[k] + d1 * k1[k] + d2 * k2[k] + d3 * k3[k]
            r += 4
        while r < len(slots):
            k0, d0 = kept[slots[r], a:b], d[r]
            for k in range(b - a):
                g[k] += d0 * k0[k]
            r += 1
