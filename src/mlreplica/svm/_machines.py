"""Several machines, one fit: which rows and labels each takes, and how they are solved together"""

from typing import NamedTuple

import numpy as np

from mlreplica.core.parallel import run
from mlreplica.kernels import Precomputed

from ._rows import Rows
from ._scores import pairs_of
from ._smo import BLOCK


class Machine(NamedTuple):
    """A problem of two classes among the rows of a larger one."""

    index: np.ndarray  # its rows
    s: np.ndarray  # +1 or −1 for each of them
    plus: int  # the class with s = +1
    minus: int  # the class with s = −1; −1: all others


class Joint(NamedTuple):
    """Where several solvers are: their sums, and the worst violation."""

    objective: float
    dual: float
    gap: float
    violation: float
    pairs: int


def machines_of(codes, k, weights, one_vs_rest=False):
    """The machines for k classes: one a pair, or one a class; rows of weight 0 take no part."""
    used = weights > 0.0
    if one_vs_rest and k > 2:
        index = np.flatnonzero(used)
        signs = [np.where(codes[index] == c, 1.0, -1.0) for c in range(k)]
        return [Machine(index, s, c, -1) for c, s in enumerate(signs)]
    made = []
    for i, j in pairs_of(k):
        index = np.flatnonzero(used & ((codes == i) | (codes == j)) if k > 2 else used)
        made.append(Machine(index, np.where(codes[index] == i, 1.0, -1.0), i, j))
    return made


def joint(solvers, last, at_once):
    """Drive solvers to their ends, all in turn or one after the other; yield `Joint` states.

    `last` receives every solver's last state. One after the other there is nothing to yield before
    the last of them has begun.
    """

    def advance(k):
        state = next(solvers[k], None)
        if state is not None:
            last[k] = state
        return state is not None

    going = list(range(len(solvers)))
    if not at_once:
        *first, final = going
        for k in first:
            while advance(k):
                pass
        going = [final]
    while going := [k for k, more in zip(going, run(advance, going), strict=True) if more]:
        yield Joint(
            sum(s.objective for s in last),
            sum(s.dual for s in last),
            sum(s.gap for s in last),
            max(s.violation for s in last),
            sum(s.pairs for s in last),
        )


class Grams:
    """`Rows` for each of several machines, out of one Gram matrix if that fits in `cache_size`.

    Then it is computed once, and all machines can be solved at once.
    """

    def __init__(self, kernel, X, machines, cache_size):
        self.kernel, self.X, self.cache_size = kernel, X, cache_size
        everything = 8e-6 * (X.shape[0] ** 2 + sum(len(m.index) ** 2 for m in machines))
        self.at_once = len(machines) == 1 or everything <= cache_size
        self.K = None
        if len(machines) > 1 and self.at_once:
            self.K = X if isinstance(kernel, Precomputed) else kernel.block(X, X, *dense_out(X))

    def rows(self, index):
        """The rows of the Gram matrix of X[index]."""
        all_of_them = len(index) == self.X.shape[0]
        if self.K is not None:
            K = self.K if all_of_them else self.K[index[:, None], index]
            return Rows(Precomputed(), K, self.cache_size, dtype=float)
        if all_of_them:
            X = self.X
        elif isinstance(self.kernel, Precomputed):
            X = self.X[index[:, None], index]
        else:
            X = self.X[index]
        return Rows(self.kernel, X, self.cache_size, least=BLOCK)

    def between(self, index, others):
        """K(X[index], X[others])"""
        if self.K is not None or isinstance(self.kernel, Precomputed):
            return (self.X if self.K is None else self.K)[index[:, None], others]
        return self.kernel.block(self.X[index], self.X[others], *dense_out(self.X, index, others))


def dense_out(X, rows=None, columns=None):
    """An array for a block of the Gram matrix, in a tuple."""
    n = X.shape[0]
    return (np.empty((n if rows is None else len(rows), n if columns is None else len(columns))),)
