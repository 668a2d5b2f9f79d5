r"""Sums over residuals: one pass, block by block

Sums run over blocks that stay in the nearest cache; the spread of a block is taken about the
block's own mean and blocks are merged exactly (Chan, Golub & LeVeque, 1979), so no cancellation
ever meets the data:

    n = n_a + n_b,   δ = m_b − m_a,   m = m_a + δ n_b/n,   S = S_a + S_b + δ² n_a n_b/n     (4)

NaN and infinity need no search of their own: each of these sums is finite only if all inputs are.
"""

from __future__ import annotations

import numpy as np

from mlreplica.core.compile.jit import kernel

from ._inputs import LARGE, in_parts

BLOCK = 1024
TINY = np.finfo(np.float64).eps  # the least |y| that a relative error is divided by


INFINITE = 0x7FF0  # leading 16 bits of float64 infinity; NaN lies above


@kernel
def sum_squares(y, f, w):
    """(Σ w e², Σ w); no weights means ones."""
    total = weight = 0.0
    for start in range(0, len(y), BLOCK):
        stop, s, t = min(start + BLOCK, len(y)), 0.0, 0.0
        if len(w) == 0:
            for i in range(start, stop):
                s += (y[i] - f[i]) ** 2
        else:
            for i in range(start, stop):
                s += w[i] * (y[i] - f[i]) ** 2
                t += w[i]
        total += s
        weight += t
    return total, weight if len(w) else float(len(y))


@kernel
def sum_absolute(y, f, w):
    """(Σ w |e|, Σ w)"""
    total = weight = 0.0
    for start in range(0, len(y), BLOCK):
        stop, s, t = min(start + BLOCK, len(y)), 0.0, 0.0
        if len(w) == 0:
            for i in range(start, stop):
                s += abs(y[i] - f[i])
        else:
            for i in range(start, stop):
                s += w[i] * abs(y[i] - f[i])
                t += w[i]
        total += s
        weight += t
    return total, weight if len(w) else float(len(y))


@kernel
def sum_relative(y, f, w):
    """(Σ w |e| / max(|y|, ε), Σ w)"""
    total = weight = 0.0
    for start in range(0, len(y), BLOCK):
        stop, s, t = min(start + BLOCK, len(y)), 0.0, 0.0
        for i in range(start, stop):
            size, w_i = abs(y[i]), w[i] if len(w) else 1.0
            s += w_i * abs(y[i] - f[i]) / (max(TINY, size))
            t += w_i
        total += s
        weight += t
    return total, weight


@kernel
def spreads(y, f, w):
    """(Σ w, mean of y, its spread, mean of e, its spread): equation (4) over the blocks."""
    W = m_y = S_y = m_e = S_e = 0.0
    for start in range(0, len(y), BLOCK):
        stop = min(start + BLOCK, len(y))
        y_0, e_0 = y[start], y[start] - f[start]
        n = a = b = c = d = 0.0  # about the block's first value, then about its mean
        if len(w) == 0:
            n = float(stop - start)
            for i in range(start, stop):
                a += y[i] - y_0
                b += y[i] - f[i] - e_0
        else:
            for i in range(start, stop):
                n += w[i]
                a += w[i] * (y[i] - y_0)
                b += w[i] * (y[i] - f[i] - e_0)
        if n == 0.0:
            continue
        mean_y, mean_e = y_0 + a / n, e_0 + b / n
        if len(w) == 0:
            for i in range(start, stop):
                c += (y[i] - mean_y) ** 2
                d += (y[i] - f[i] - mean_e) ** 2
        else:
            for i in range(start, stop):
                c += w[i] * (y[i] - mean_y) ** 2
                d += w[i] * (y[i] - f[i] - mean_e) ** 2
        step_y, step_e, share = mean_y - m_y, mean_e - m_e, n / (W + n)
        m_y += step_y * share
        m_e += step_e * share
        S_y += c + step_y**2 * W * share
        S_e += d + step_e**2 * W * share
        W += n
    return W, m_y, S_y, m_e, S_e


@kernel
def histogram(y, f):
    """How many |e| have which leading 15 bits below the sign: equal order, 6 % wide bins."""
    count, e = np.zeros(1 << 15, np.int64), np.empty(BLOCK)
    bits = e.view(np.int64)
    for start in range(0, len(y), BLOCK):
        m = min(BLOCK, len(y) - start)
        for i in range(m):
            e[i] = abs(y[start + i] - f[start + i])
        for i in range(m):
            count[bits[i] >> 48] += 1
    return count


@kernel
def gather(y, f, low, high, out):
    """The |e| with leading bits low … high: few, so the branch is nearly always foreseen."""
    e, k = np.empty(BLOCK), 0
    bits = e.view(np.int64)
    for start in range(0, len(y), BLOCK):
        m = min(BLOCK, len(y) - start)
        for i in range(m):
            e[i] = abs(y[start + i] - f[start + i])
        for i in range(m):
            if low <= bits[i] >> 48 <= high:
                out[k] = e[i]
                k += 1


def on_parts(kernel, y, f, w):
    """The kernel's tuples, one for each thread's part of the samples, as rows."""
    y, f = np.ascontiguousarray(y), np.ascontiguousarray(f)
    w = np.empty(0) if w is None else np.ascontiguousarray(w)
    tuples = in_parts(lambda s: kernel(y[s], f[s], w[s]), len(y))
    return np.array(tuples)


def is_large(y, w):
    """Enough samples for the kernels, and no negative weight (sums of blocks might be zero)."""
    return len(y) >= LARGE and (w is None or w.min() >= 0)
