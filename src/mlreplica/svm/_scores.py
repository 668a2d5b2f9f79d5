"""Scores Σ_j β_j K(x, x_j) over the support vectors, block by block, for many machines at once

Support vectors come sorted by class. With k classes and a machine for each pair of them, a support
vector of class c has k − 1 coefficients, so the products are taken class by class and no
coefficient that is zero by construction is multiplied.
"""

import numpy as np

from mlreplica.core.parallel import n_threads, run, split
from mlreplica.kernels import RBF, Laplacian, Precomputed, squared_norms

CHUNK = 1 << 17  # entries of a Gram matrix that one task computes at a time


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
        self.rows = rows

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
        n, m = X.shape[0], max(1, self.rows.shape[0])
        scores = np.zeros((n, width))

        def one(part):
            products(self.gram(X[part]), scores[part])

        if self.rows.shape[0]:
            parts = max(-(-n * m // CHUNK), n_threads() if n * m > CHUNK >> 3 else 1)
            run(one, split(n, parts))
        return scores


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
