"""Several machines, one fit: which rows and labels each takes, and how they are solved together"""

from typing import NamedTuple

import numpy as np

from mlreplica.core.compile.threads import run
from mlreplica.kernels import Precomputed

from ._rows import KernelRows
from ._scores import pairs_of
from ._smo import LARGE_BLOCK


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
    if k == 2:
        index = np.flatnonzero(used)
        return [Machine(index, np.where(codes[index] == 0, 1.0, -1.0), 0, 1)]
    of = [np.flatnonzero(used & (codes == c)) for c in range(k)]
    return [
        Machine(
            np.concatenate([of[i], of[j]]), np.repeat([1.0, -1.0], [len(of[i]), len(of[j])]), i, j
        )
        for i, j in pairs_of(k)
    ]


def joint(solvers, last, at_once, seen):
    """Drive solvers to their ends, all in turn or one after the other; yield `Joint` states.

    `last` receives every solver's last state. Nothing is yielded before all have begun and, unless
    the states are `seen` by somebody, none before the end.
    """

    def advance(k):
        state = next(solvers[k], None)
        if state is not None:
            last[k] = state
        return state is not None

    def finish(k):
        while advance(k):
            pass

    going = list(range(len(solvers)))
    if at_once and not seen:
        run(finish, going)
        yield total(last)
        return
    if not at_once:
        *first, final = going
        for k in first:
            finish(k)
        going = [final]
    while going := [k for k, more in zip(going, run(advance, going), strict=True) if more]:
        yield total(last)


def total(states):
    """A `Joint` state from those of all solvers"""
    return Joint(
        sum(s.objective for s in states),
        sum(s.dual for s in states),
        sum(s.gap for s in states),
        max(s.violation for s in states),
        sum(s.pairs for s in states),
    )


class Grams:
    """The Gram matrix of each of several machines, a part of one that fits in `cache_size`.

    That one is computed once, its rows in the order of `codes` so that the rows of a class are
    neighbours, and all machines can be solved at once. If it does not fit, a machine makes its own.
    """

    def __init__(self, kernel, X, machines, cache_size, codes):
        self.kernel, self.X, self.cache_size = kernel, X, cache_size
        n, sizes = X.shape[0], [len(machine.index) for machine in machines]
        entries = n**2 + sum(m**2 for m in sizes if LARGE_BLOCK < m < n)
        self.at_once = len(machines) == 1 or 8e-6 * entries <= cache_size
        self.K = self.whole = None
        if len(machines) > 1 and self.at_once:
            order = np.argsort(codes, kind="stable")
            self.place = np.empty(len(order), dtype=np.int64)
            self.place[order] = np.arange(len(order))
            if isinstance(kernel, Precomputed):
                self.K = X[order[:, None], order]
            else:
                X = X[order]
                self.K = kernel.block(X, X, np.empty((len(order), len(order))))
            self.shared = self.precomputed(self.K)

    def precomputed(self, K):
        """`KernelRows` that are there already"""
        return KernelRows(Precomputed(), K, self.cache_size, least=len(K), dtype=float)

    def rows(self, index):
        """`KernelRows`, and which of them are those of X[index]; they are only read, so shared"""
        if self.K is not None:
            place = self.place[index]
            if len(index) <= LARGE_BLOCK:
                return self.shared, place
            if len(index) == len(self.K):
                return self.precomputed(self.K), place
            return self.precomputed(self.K[place[:, None], place]), np.arange(len(index))
        if len(index) == self.X.shape[0]:
            if self.whole is None:
                self.whole = KernelRows(self.kernel, self.X, self.cache_size, least=LARGE_BLOCK)
            return self.whole, np.arange(len(index))
        gram = isinstance(self.kernel, Precomputed)
        X = self.X[index[:, None], index] if gram else self.X[index]
        rows = KernelRows(self.kernel, X, self.cache_size, least=LARGE_BLOCK)
        return rows, np.arange(len(index))

    def between(self, index, others):
        """K(X[index], X[others])"""
        if self.K is not None:
            return self.K[self.place[index][:, None], self.place[others]]
        if isinstance(self.kernel, Precomputed):
            return self.X[index[:, None], others]
        out = np.empty((len(index), len(others)))
        return self.kernel.block(self.X[index], self.X[others], out)
