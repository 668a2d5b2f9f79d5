r"""Scores Σ_j β_j K(x, x_j) over the support vectors, block by block, for many machines at once

Support vectors come sorted by class. With k classes and a machine for each pair of them, a support
vector of class c has k − 1 coefficients, so the products are taken class by class and no
coefficient that is zero by construction is multiplied.

A prediction needs only the signs of scores, and single precision, twice as fast, gives them but
for rows close to a boundary. With ε = 2⁻²⁴, inner products of p terms are wrong by at most
(p + 2)ε‖x‖‖x_j‖, and so the kernels by

    RBF           |ΔK| ≤ ε (4 + (p + 4) γ (‖x‖ + ‖x_j‖)²) K                                  (1)
    polynomial    |ΔK| ≤ ε d (p + d + 4) (γ‖x‖‖x_j‖ + |c|)^d                                 (2)

A score is then wrong by at most Σ_j |β_j| (|ΔK_j| + mε|K_j|), where mε is for the sum of m terms
itself; rows whose score is not larger than twice that are computed again in double precision.
"""

import numpy as np

from mlreplica.core.parallel import n_threads, run, split
from mlreplica.kernels import RBF, Laplacian, Polynomial, Precomputed, squared_norms

CHUNK = 1 << 18  # entries of a Gram matrix that one task computes at a time
EPSILON = 2.0**-24


class Support:
    """The support vectors of a fitted model, as its kernel likes them.

    Parameters
    ----------
    kernel : Kernel
    rows : array or CSR array of shape (n_SV, p)
        The support vectors; if the kernel is precomputed, their indices.
    """

    def __init__(self, kernel, rows):
        self.kernel = kernel
        self.precomputed = isinstance(kernel, Precomputed)
        self.centre = self.sq = None
        if not self.precomputed:
            if isinstance(kernel, RBF | Laplacian) and isinstance(rows, np.ndarray) and len(rows):
                self.centre = rows.mean(axis=0)  # distances stay, and shorter rows cancel less
                rows = rows - self.centre
            self.sq = squared_norms(rows)
        self.rows, self._single = rows, None

    def gram(self, X):
        """K(X, support vectors), in double precision"""
        if self.precomputed:
            return X[:, self.rows]
        if self.centre is not None:
            X = X - self.centre
        out = np.empty((X.shape[0], self.rows.shape[0]))
        return self.kernel.block(X, self.rows, out, squared_norms(X), self.sq)

    def scores(self, X, products, width):
        """For every row of X the sums that `products(K, out)` makes of its kernel values.

        `out` has `width` columns, as many as there are machines.
        """
        scores = np.zeros((X.shape[0], width))

        def one(part):
            products(self.gram(X[part]), scores[part])

        self.over_parts(one, X.shape[0])
        return scores

    def over_parts(self, one, n):
        """one(part) for some rows of n at a time"""
        size = n * self.rows.shape[0]
        if 0 < size <= CHUNK:
            one(slice(0, n))
        elif size:
            run(one, split(n, max(-(-size // CHUNK), n_threads())))

    @property
    def single(self):
        """The support vectors in single precision, where (1) or (2) says what that costs."""
        bounded = isinstance(self.kernel, RBF | Polynomial) and isinstance(self.rows, np.ndarray)
        if self._single is None and bounded:
            self._single = self.rows.astype(np.float32), self.sq.astype(np.float32)
        return self._single

    def signs(self, X, coef, products, b):
        """Whether scores Σ_j β_j K(x, x_j) + b are > 0; `scores` takes `products(coef)`."""
        n, width = X.shape[0], len(b)
        if self.single is None or n * self.rows.shape[0] <= CHUNK:
            return self.scores(X, products(coef), width) + b > 0.0
        sums, magnitudes = (products(a.astype(np.float32)) for a in (coef, np.abs(coef)))
        scores = np.zeros((n, width), dtype=np.float32)
        error = np.zeros((n, width), dtype=np.float32)

        def one(part):
            x = X[part] if self.centre is None else X[part] - self.centre
            sq = squared_norms(x)
            rows, norms = self.single
            K = np.empty((len(x), len(rows)), dtype=np.float32)
            self.kernel.block(x.astype(np.float32), rows, K, sq.astype(np.float32), norms)
            sums(K, scores[part])
            self.bound(K, magnitudes, error[part], np.sqrt(sq))

        self.over_parts(one, n)
        total = scores + b
        positive = total > 0.0
        doubtful = (np.abs(total) <= 2.0 * error + 2.0 * EPSILON * np.abs(b)).any(axis=1)
        again = np.flatnonzero(doubtful | ~np.isfinite(total).all(axis=1))
        if len(again):
            positive[again] = self.scores(X[again], products(coef), width) + b > 0.0
        return positive

    def bound(self, K, magnitudes, error, norms):
        """Σ_j |β_j| (|ΔK_j| + mε|K_j|) by (1) or (2), with the longest x_j for all"""
        (m, p), longest = self.rows.shape, float(np.sqrt(self.sq.max()))
        if isinstance(self.kernel, RBF):
            magnitudes(K, error)
            factor = m + 4.0 + (p + 4.0) * self.kernel.gamma * (norms + longest) ** 2
        else:
            magnitudes(np.ones((1, K.shape[1]), dtype=np.float32), error[:1])
            error[1:] = error[:1]
            d, reach = self.kernel.degree, self.kernel.gamma * norms * longest
            factor = (m + d * (p + d + 4.0)) * (reach + abs(self.kernel.coef0)) ** d
        error *= (EPSILON * factor)[:, None]


def pairs_of(k):
    """The pairs of k classes in the order of their machines."""
    return [(i, j) for i in range(k) for j in range(i + 1, k)]


def one_against_one(coef, n_support):
    """`products` for machines between pairs: coefficients (k − 1, n_SV), as scikit-learn's."""
    k = len(n_support)
    edges = np.concatenate([[0], np.cumsum(n_support)])
    number = {pair: m for m, pair in enumerate(pairs_of(k))}
    columns = [
        [number[min(c, o), max(c, o)] for o in range(k) if o != c] for c in range(k)
    ]  # row r of the coefficients of class c is its machine against the r-th other class

    def products(K, out):
        for c in range(k):
            mine = slice(edges[c], edges[c + 1])
            if edges[c] < edges[c + 1]:
                out[:, columns[c]] += K[:, mine] @ coef[:, mine].T

    return products


def all_of_them(coef):
    """`products` for machines that share all support vectors: coefficients (machines, n_SV)."""

    def products(K, out):
        out += K @ coef.T

    return products
