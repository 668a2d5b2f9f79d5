r"""Scores Σ_j β_j K(x, x_j) over the support vectors, for many machines at once

Support vectors come sorted by class. With k classes and a machine for each pair of them, a support
vector of class c has k − 1 coefficients, so the products are taken class by class and no
coefficient that is zero by construction is multiplied.
"""

import numpy as np

from mlreplica.kernels import Precomputed


class Support:
    """The support vectors of a fitted model, as its kernel likes them.

    Parameters
    ----------
    kernel : Kernel
    rows : array or CSR array of shape (n_SV, p)
        The support vectors; if the kernel is precomputed, their indices.
    parts : list of (slice of the support vectors, list of the machines that they have a part in)
    """

    def __init__(self, kernel, rows, parts):
        self.precomputed, self.rows, self.parts = isinstance(kernel, Precomputed), rows, parts
        if not self.precomputed:
            self.multipliers = [kernel.multiplier(rows[mine]) for mine, _ in parts]

    def scores(self, X, coef, width):
        """Σ_j β_j K(x, x_j) for every row of X and each of `width` machines.

        Row r of `coef` belongs to the r-th machine of the list of a support vector's part.
        """
        scores = np.zeros((X.shape[0], width))
        for k, (mine, machines) in enumerate(self.parts):
            C = coef[:, mine].T
            if self.precomputed:
                scores[:, machines] += X[:, self.rows[mine]] @ C
            else:
                scores[:, machines] += self.multipliers[k](X, C)
        return scores


def pairs_of(k):
    """The pairs of k classes in the order of their machines."""
    return [(i, j) for i in range(k) for j in range(i + 1, k)]


def one_against_one(n_support):
    """Parts for machines between pairs: coefficients (k − 1, n_SV), as scikit-learn's."""
    k = len(n_support)
    edges = np.concatenate([[0], np.cumsum(n_support)])
    number = {pair: m for m, pair in enumerate(pairs_of(k))}
    return [
        (slice(edges[c], edges[c + 1]), [number[min(c, o), max(c, o)] for o in range(k) if o != c])
        for c in range(k)
        if edges[c] < edges[c + 1]
    ]  # row r of the coefficients of class c is its machine against the r-th other class


def all_of_them(n, width):
    """The one part of machines that share all of n support vectors: coefficients (width, n)."""
    return [(slice(0, n), list(range(width)))] if n else []
