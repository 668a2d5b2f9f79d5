r"""Search: in which interval of its column a value lies, for many values at once

A column has sorted cuts c_0 ≤ … ≤ c_(m−1), filled up with infinity to 2^s − 1, and a value x lies
in interval k if k cuts are at most x. Halving finds the bits of k from the highest down,

    k ← k + 2^b   if   c_(k + 2^b − 1) ≤ x,         b = s − 1, …, 0                             (1)

without a branch, so that LANES values go through it together. NaN lies in interval 0.
"""

import numpy as np

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run, split

LANES = 64
ENTRIES = 1 << 16  # values that are worth a thread
FEW = 7  # cuts up to which counting all of them is faster than halving


def padded(cuts):
    """Cuts of all columns, (p, 2^s − 1), with infinity where a column has fewer."""
    most = max(map(len, cuts), default=0)
    size = 1
    while size - 1 < most:
        size *= 2
    table = np.full((len(cuts), max(1, size - 1)), np.inf)
    for row, c in zip(table, cuts, strict=True):
        row[: len(c)] = c
    return table


@kernel(part=True)
def locate(x, c, k):
    """k ← the interval of each of LANES values x among the cuts c: (1)."""
    m = len(c)
    for a in range(LANES):
        k[a] = 0
    if m <= FEW:
        for b in range(m):
            cut = c[b]
            for a in range(LANES):
                k[a] += 1 if cut <= x[a] else 0
        return
    step = (m + 1) // 2
    while step > 0:
        for a in range(LANES):
            k[a] += step if c[k[a] + step - 1] <= x[a] else 0
        step //= 2


@kernel
def interval_codes(X, table, x, k, out):
    """out ← the interval of every value, as a float."""
    n, p = X.shape
    for i in range(0, n, LANES):
        rows = min(LANES, n - i)
        for j in range(p):
            for a in range(rows):
                x[a] = X[i + a, j]
            locate(x, table[j], k)
            for a in range(rows):
                out[i + a, j] = k[a]


@kernel
def interpolate(X, table, start, low, slope, middle, x, k, out):
    """out ← low_k + slope_k (x − start_k), or middle_k where x = start_k, in interval k of x."""
    n, p = X.shape
    for i in range(0, n, LANES):
        rows = min(LANES, n - i)
        for j in range(p):
            for a in range(rows):
                x[a] = X[i + a, j]
            locate(x, table[j], k)
            s, y, b, m = start[j], low[j], slope[j], middle[j]
            for a in range(rows):
                u = x[a] - s[k[a]]
                t = y[k[a]] + b[k[a]] * u
                t = m[k[a]] if u == 0.0 else t
                out[i + a, j] = t if x[a] == x[a] else x[a]


def by_blocks(loop, X, *tables):
    """An array like X that `loop` fills, in float64 inside, on threads."""
    n, p = X.shape
    out = np.empty(X.shape, dtype=X.dtype)

    def part(rows):
        x, k = np.zeros(LANES), np.zeros(LANES, dtype=np.int64)
        Z = np.ascontiguousarray(X[rows], dtype=np.float64)
        to = out[rows] if out.dtype == np.float64 else np.empty(Z.shape)
        loop(Z, *tables, x, k, to)
        if to.dtype != out.dtype:
            out[rows] = to

    size = max(LANES, ENTRIES // p)
    parts = split(n, -(-n // size))
    if len(parts) == 1 or (n_threads() == 1 and X.dtype == np.float64 and X.flags.c_contiguous):
        part(slice(0, n))
    else:
        run(part, parts)
    return out
