r"""Scores Σ_j β_j K(x, x_j) over the support vectors, for many machines at once

Support vectors come sorted by class. With k classes and a machine for each pair of them, a support
vector of class c has k − 1 coefficients, so the products are taken class by class and no
coefficient that is zero by construction is multiplied.

A prediction needs only the signs of scores, and of the Gaussian kernel single precision, twice as
fast, gives them but for rows close to a boundary. With ε = 2⁻²⁴, the exponent is a product of p + 2
terms, rounded before, and wrong by (p + 4)ε at most of the sum of their moduli; so

    |ΔK| ≤ ε (4 + (p + 4) γ (‖x‖ + ‖x_j‖)²) K                                                (1)

A score is then wrong by at most Σ_j |β_j| (|ΔK_j| + tεK_j), where t is how many terms are summed
one after the other; rows whose score is not larger than twice that are computed again in double
precision.
"""

import numpy as np

from mlreplica.core.formulas.kernel_loops import STRIP
from mlreplica.kernels import RBF, Precomputed, squared_norms

from ._rows import times_columns

EPSILON = 2.0**-24
FEW = 1 << 20  # entries of a Gram matrix for which double precision is fast enough


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
        self.kernel, self._single = kernel, None
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
                scores[:, machines] += times_columns(X, self.rows[mine], C)
            else:
                scores[:, machines] += self.multipliers[k](X, C)
        return scores

    @property
    def single(self):
        """A multiplier in single precision, the centre and the longest x_j of every part."""
        if self._single is None:
            self._single = []
            for mine, _ in self.parts:
                rows = self.rows[mine]
                centre = rows.mean(axis=0)
                longest = np.sqrt(squared_norms(rows - centre).max())
                self._single.append((self.kernel.multiplier(rows, single=True), centre, longest))
        return self._single

    def signs(self, X, coef, b):
        """Whether scores Σ_j β_j K(x, x_j) + b are > 0"""
        (n, p), m, width = X.shape, self.rows.shape[0], len(b)
        dense = isinstance(self.kernel, RBF) and isinstance(self.rows, np.ndarray)
        if not dense or n * m <= FEW:
            return self.scores(X, coef, width) + b > 0.0
        total, error = np.tile(b, (n, 1)), np.tile(EPSILON * np.abs(b), (n, 1))
        for (mine, machines), (multiply, centre, longest) in zip(
            self.parts, self.single, strict=True
        ):
            sums = multiply(X, np.vstack([coef[:, mine], np.abs(coef[:, mine])]).T)
            reach = np.sqrt(squared_norms(X - centre)) + longest
            factor = 8.0 + STRIP + m / STRIP + (p + 4.0) * self.kernel.gamma * reach**2  # (1)
            total[:, machines] += sums[:, : len(coef)]
            error[:, machines] += EPSILON * factor[:, None] * sums[:, len(coef) :]
        positive = total > 0.0
        again = np.flatnonzero(~(np.abs(total) > 2.0 * error).all(axis=1))
        positive[again] = self.scores(X[again], coef, width) + b > 0.0
        return positive


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
