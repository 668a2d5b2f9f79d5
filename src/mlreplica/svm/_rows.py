"""Rows of a Gram matrix: computed in tiles by matrix products, the last ones used kept

A support vector machine asks for rows K(x_i, ·) again and again, and n² of their entries may be
too many to keep. `KernelRows` keeps as many as `cache_size` megabytes hold, in single precision (in
double where there are few), and forgets those that were asked for longest ago. Columns that no
longer matter can be dropped, which makes room for more rows. `times` gives products Kβ in double
precision and keeps nothing.
"""

from contextlib import nullcontext

import numpy as np

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, one_blas_thread, run, split
from mlreplica.kernels import RBF, Laplacian, Precomputed, squared_norms

SMALL = 1024  # rows; so few are kept in double precision
SHORT = 1 << 24  # multiplications that threads of BLAS take as long to share
TILE = 1 << 16  # entries of a Gram matrix that one task computes at a time


class KernelRows:
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
        self.n, self.kernel, self.cache_size = X.shape[0], kernel, cache_size
        self.precomputed, self.sparse = isinstance(kernel, Precomputed), hasattr(X, "indptr")
        if isinstance(kernel, RBF | Laplacian) and not self.sparse:
            X = X - X.mean(axis=0)  # distances stay, and shorter rows cancel less
        self.X = X
        self.dtype = np.dtype(dtype or (np.float64 if self.n <= SMALL else np.float32))
        self.x_sq = None if self.precomputed else squared_norms(X)
        self.diag = np.asarray(kernel.diag(X), dtype=float)
        self.A = X.astype(self.dtype, copy=False)
        self.a_sq = None if self.precomputed else self.x_sq.astype(self.dtype, copy=False)
        most = max(
            min(least, self.n),
            min(self.n, int(cache_size * 1e6 / (X.shape[0] * self.dtype.itemsize))),
        )
        self.there = self.precomputed and most == self.n and self.A.flags.c_contiguous
        self.buffer = None if self.there else np.empty(most * self.n, self.dtype)
        self.restrict(None)

    def restrict(self, columns):
        """Keep only these columns of the rows from now on (None: all); what was kept is lost."""
        self.columns = np.arange(self.n) if columns is None else columns
        self.select()
        width = len(self.columns)
        if self.there and columns is None:
            self.buffer, self.kept = None, self.A
            self.slot = self.owner = np.arange(self.n)
        else:
            if self.buffer is None:
                self.buffer = np.empty(self.n * width, self.dtype)
            slots = min(self.n, len(self.buffer) // width)
            self.kept = self.buffer[: slots * width].reshape(slots, width)
            self.slot, self.owner = np.full(self.n, -1), np.full(slots, -1)
        self.used = np.arange(-len(self.kept), 0)  # when a slot was last asked for; < 0: never
        self.clock = 0

    def select(self):
        """The other side of the Gram matrix: the rows of X that its columns stand for."""
        if len(self.columns) == self.n:
            self.Y, self.y_sq = self.A, self.a_sq
        elif self.precomputed:
            self.Y, self.y_sq = np.ascontiguousarray(self.A[:, self.columns]), None
        else:
            self.Y, self.y_sq = self.A[self.columns], self.a_sq[self.columns]

    def drop(self, keep):
        """Keep only those of the columns whose places are given, in rising order, and all rows."""
        if self.buffer is None:
            self.restrict(self.columns[keep])
            return
        slots = len(self.kept)
        keep_columns(self.buffer, self.kept.shape[1], keep, self.owner)
        more = min(self.n, len(self.buffer) // len(keep))
        self.kept = self.buffer[: more * len(keep)].reshape(more, len(keep))
        self.owner = np.concatenate([self.owner, np.full(more - slots, -1)])
        self.used = np.concatenate([self.used, np.arange(slots - more, 0)])
        self.columns = self.columns[keep]
        self.select()

    def fetch(self, indices):
        """Where in `kept` the rows of these distinct indices are, computing those that are not."""
        slots = self.slot[indices]
        self.clock += 1
        self.used[slots[slots >= 0]] = self.clock
        missing = indices[slots < 0]
        if len(missing):
            free = np.sort(np.argpartition(self.used, len(missing) - 1)[: len(missing)])
            lost = self.owner[free]
            self.slot[lost[lost >= 0]] = -1
            self.owner[free], self.slot[missing], self.used[free] = missing, free, self.clock
            self.fill(missing, free)
            slots = self.slot[indices]
        return slots

    def fill(self, indices, slots):
        """Compute rows, some columns of all of them per task."""
        left = self.left(indices)

        def one(part):
            self.kept[slots, part] = self.tile(indices, left, part)

        width = self.kept.shape[1]
        parts = max(-(-len(indices) * width // TILE), min(n_threads(), width // 64))
        run(one, split(width, parts))

    def left(self, indices):
        """Rows of X as the left factor of a product: dense, unless they are too long for that."""
        A = self.A[indices]
        return A.toarray() if self.sparse and A.shape[0] * A.shape[1] < 1 << 23 else A

    def tile(self, indices, left, part):
        """K at some rows and columns"""
        if self.precomputed:
            return self.Y[indices, part]
        out = np.empty((len(indices), part.stop - part.start), self.dtype)
        return self.kernel.block(left, self.Y[part], out, self.a_sq[indices], self.y_sq[part])

    def square(self, indices):
        """K among some indices, only the rows that are not kept; and the slots of the others."""
        slots = self.slot[indices]
        K, missing = np.empty((len(indices), len(indices)), self.dtype), np.flatnonzero(slots < 0)
        for part in split(len(missing), -(-len(missing) * len(indices) // TILE)):
            some = missing[part]
            if self.precomputed:
                K[some] = self.A[indices[some][:, None], indices]
            elif len(some):
                A, sq = self.A[indices], self.a_sq[indices]
                out = np.empty((len(some), len(indices)), self.dtype)
                K[some] = self.kernel.block(A[some], A, out, sq[some], sq)
        return K, slots

    def matrix(self):
        """All rows in their order, where they fit."""
        if self.buffer is not None and (self.owner != np.arange(self.n)).any():
            self.kernel.block(self.A, self.A, self.kept, self.a_sq, self.a_sq)
            self.slot = self.owner = np.arange(self.n)
        return self.kept

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
        if self.precomputed:
            return times_columns(self.X, chosen, b[:, None])[:, 0]
        right, norms = self.X[chosen], self.x_sq[chosen]
        inner = split(len(chosen), -(-len(chosen) // 512))

        def one(part):
            left, sq = self.X[part], self.x_sq[part]
            out = np.empty(left.shape[0] * (inner[-1].stop - inner[-1].start))
            for some in inner:
                m = some.stop - some.start
                K = out[: left.shape[0] * m].reshape(-1, m)
                G[part] += self.kernel.block(left, right[some], K, sq, norms[some]) @ b[some]

        run(one, split(self.n, max(n_threads(), self.n // 256)))
        return G


def times_columns(K, chosen, C):
    """K[:, chosen] @ C; gathering a column costs some ten times as much as reading it in place."""
    n, m, width = K.shape[1], len(chosen), C.shape[1]
    if m * (10 + width) < n * (1 + width):
        return K[:, chosen] @ C
    whole = np.zeros((n, width))
    whole[chosen] = C
    with one_blas_thread() if K.size * width <= SHORT else nullcontext():
        return K @ whole


@kernel
def keep_columns(buffer, width, keep, owner):
    """Rows of `width` numbers become their columns `keep`, each row next to the one before."""
    for r in range(len(owner)):
        if owner[r] >= 0:
            old, new = r * width, r * len(keep)
            for k in range(len(keep)):  # rising, so nothing is written before it is read
                buffer[new + k] = buffer[old + keep[k]]


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
            for k in range(len(g)):
                g[k] += d0 * k0[k] + d1 * k1[k] + d2 * k2[k] + d3 * k3[k]
            r += 4
        while r < len(slots):
            k0, d0 = kept[slots[r], a:b], d[r]
            for k in range(len(g)):
                g[k] += d0 * k0[k]
            r += 1
