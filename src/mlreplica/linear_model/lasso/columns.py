r"""Columns: what the lasso asks of X, dense or sparse, centred and weighted without a copy

Row i counts s_i times (Σ s_i = n after scaling) and an intercept is taken out by centring, so the
matrix the solvers see is

    A = diag(√s) (X − 1 x̄ᵀ),      x̄ = Σ s_i x_i / n                                          (1)

It is never formed. Products with it follow from products with X itself,

    Aᵀr = Xᵀ(√s ∘ r) − x̄ (√sᵀr),      A w = √s ∘ (Xw − x̄ᵀw)                                 (2)

so a dense X is used as it lies in memory, in rows or in columns, and a sparse one stays sparse.
Only columns that enter a working set are copied and centred. (2) loses digits where a mean is large
against the spread of its column; such an X is centred first, in a copy.
"""

from functools import cached_property
from itertools import pairwise

import numpy as np

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run
from mlreplica.core.rows.stored import dots

from .coordinate_descent import sparse_sweep, sweep

SMALL = 400_000  # non-zeros that one thread goes through before another has started
COLUMN = 12  # non-zeros that take as long as the step from one column to the next
FAR = 1e4  # |mean| / spread above which the columns are centred in a copy


@kernel
def sparse_gradient(data, rows, start, r, out):
    """out[j] = x_jᵀr for the stored part of every column."""
    for j in range(len(out)):
        z = 0.0
        for k in range(start[j], start[j + 1]):
            z += data[k] * r[rows[k]]
        out[j] = z


@kernel
def sparse_squares(data, rows, start, root, mean, q):
    """q[j] = ‖a_j‖²/n without cancellation; data carries √s, rootᵀroot = n."""
    n = len(root)
    for j in range(len(mean)):
        left, z = float(n), 0.0
        for k in range(start[j], start[j + 1]):
            d = data[k] - mean[j] * root[rows[k]]
            z += d * d
            left -= root[rows[k]] ** 2
        q[j] = (z + mean[j] * mean[j] * left) / n


@kernel
def sparse_products(data, rows, start, new, old, scratch, out):
    """out[a, b] = x_jᵀx_k, j = new[a], k = old[b], of stored parts; scratch is and stays zero."""
    for a in range(len(new)):
        j = new[a]
        for k in range(start[j], start[j + 1]):
            scratch[rows[k]] = data[k]
        for b in range(len(old)):
            z, i = 0.0, old[b]
            for k in range(start[i], start[i + 1]):
                z += data[k] * scratch[rows[k]]
            out[a, b] = z
        for k in range(start[j], start[j + 1]):
            scratch[rows[k]] = 0.0


@kernel
def sparse_add(data, rows, start, which, w, out):
    """out += Σ w_a x_j over j = which[a], for the stored parts."""
    for a in range(len(which)):
        j, w_a = which[a], w[a]
        for k in range(start[j], start[j + 1]):
            out[rows[k]] += w_a * data[k]


class Columns:
    """A of (1): what dense and sparse columns share."""

    n: int
    p: int

    def largest_eigenvalue(self):
        """‖A‖²/n by thirty steps of the power method, rounded up."""
        v, size = np.random.default_rng(0).normal(size=self.p), 0.0
        for _ in range(30):
            v = v / (np.linalg.norm(v) or 1.0)
            v = self.gradient(self.product(v))
            size = float(np.linalg.norm(v))
        return 1.05 * size


class DenseColumns(Columns):
    """X in rows or in columns, float64.

    root None: no weights; mean None: no intercept. `before` has been subtracted from X already.
    """

    def __init__(self, X, root, mean, before=0.0):
        self.X, self.root, self.mean = X, root, mean
        self.n, self.p = X.shape
        self.x_mean = np.zeros(self.p) if mean is None else mean + before

    def gradient(self, r):
        """Aᵀr/n of (2) for a vector r, or for every row of r."""
        t = r if self.root is None else r * self.root
        u = t @ self.X
        if self.mean is not None:
            u -= np.multiply.outer(t.sum(axis=-1), self.mean)
        u /= self.n
        return u

    def product(self, w):
        """A w of (2)."""
        used = np.flatnonzero(w)
        f = self.X[:, used] @ w[used] if 4 * len(used) < self.p else self.X @ w
        if self.mean is not None:
            f -= self.mean @ w
        return f if self.root is None else f * self.root

    def squares(self):
        """‖a_j‖²/n"""
        return np.einsum("ji,ji->j", self.AT, self.AT) / self.n

    def take(self, which):
        """Those columns as rows of a new array."""
        Z = np.ascontiguousarray(self.X.T[which])
        if self.mean is not None:
            Z -= self.mean[which, None]
        if self.root is not None:
            Z *= self.root
        return Z

    @cached_property
    def AT(self):  # noqa: N802  a matrix
        """Aᵀ in full: the one copy of X, made for whole sweeps."""
        Z = np.array(self.X.T, order="C")
        if self.mean is not None:
            Z -= self.mean[:, None]
        if self.root is not None:
            Z *= self.root
        return Z

    def sweep(self, w, r, q, alpha, beta, positive, order):
        """A sweep of coordinate descent over `order`; returns the residual."""
        sweep(self.AT, w, r, q, alpha, beta, positive, order)
        return r


class SparseColumns(Columns):
    """CSC: stored values, which already carry √s, their rows, and where each column starts.

    Rows and starts are unsigned: a sign would have to be looked at, which doubles a pass.
    """

    def __init__(self, parts, shape, root, centre):
        self.parts, (self.n, self.p), start = parts, shape, parts[-1]
        self.root = np.ones(self.n) if root is None else root
        work = start + COLUMN * np.arange(self.p + 1, dtype=np.uint64)
        ends = np.linspace(0, work[-1], n_threads() + 1 if work[-1] > SMALL else 2)
        cuts = np.searchsorted(work, ends[1:-1])  # as much for every thread
        self.shares = [slice(*cut) for cut in pairwise([0, *cuts.tolist(), self.p])]
        self.mean = self.stored(self.root) / self.n if centre else np.zeros(self.p)
        self.x_mean = self.mean

    def stored(self, r):
        """diag(√s) X, transposed, times r."""
        u, (data, rows, start) = np.empty(self.p), self.parts

        def products(j):
            sparse_gradient(data, rows, start[j.start : j.stop + 1], r, u[j])

        run(products, self.shares)
        return u

    def gradient(self, r):
        """Aᵀr/n of (2) for a vector r, or for every row of r."""
        if r.ndim == 2:
            return np.array([self.gradient(row) for row in r])
        u = self.stored(r)
        u -= self.mean * (self.root @ r)
        u /= self.n
        return u

    def slopes(self, r, which):
        """Aᵀr/n of (2) for some columns."""
        u, (data, rows, start) = np.empty(len(which)), self.parts
        dots(start, rows, data, which, r, u)
        u -= self.mean[which] * (self.root @ r)
        u /= self.n
        return u

    def product(self, w):
        """A w of (2)."""
        used = np.flatnonzero(w)
        return self.product_of(used, w[used])

    def product_of(self, which, w):
        """The same, for weights of some columns."""
        f = np.zeros(self.n)
        sparse_add(*self.parts, which, w, f)
        f -= (self.mean[which] @ w) * self.root
        return f

    def squares(self):
        """‖a_j‖²/n"""
        q = np.empty(self.p)
        sparse_squares(*self.parts, self.root, self.mean, q)
        return q

    def products(self, new, old):
        """(a_jᵀa_k)/n for j in `new` and k in `old`."""
        G = np.empty((len(new), len(old)))
        sparse_products(*self.parts, new, old, np.zeros(self.n), G)
        G /= self.n
        G -= np.multiply.outer(self.mean[new], self.mean[old])
        return G

    def sweep(self, w, r, q, alpha, beta, positive, order):
        """A sweep of coordinate descent over `order`; returns the residual."""
        shift = sparse_sweep(*self.parts, self.mean, w, r, 0.0, q, alpha, beta, positive, order)
        return r - shift * self.root if shift else r
