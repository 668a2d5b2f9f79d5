r"""Lattice: the sums of hidden Markov models over all paths of many sequences, compiled

`_textbook.py` writes them out; here they run on log b_tj = log p(x_t | state j), rows of all
sequences one below the other, sequences shared among threads.

Before b is exponentiated, each row is shifted by its largest entry, so that no outlier can
underflow a whole row. The filtered probabilities f_t = P(z_t | x_1 … x_t) and predicted ones
p_t = P(z_t | x_1 … x_{t−1}) come from one pass forward,

    p_tj = Σ_i f_{t−1,i} A_ij,      f_tj = p_tj b_tj / c_t,      log P(x) = Σ_t log c_t         (1)

and the smoothed ones from one pass backward that needs no emission again and cannot overflow:

    q_tj = γ_tj / p_tj,    γ_{t−1,i} = f_{t−1,i} Σ_j A_ij q_tj,    ξ_tij = f_{t−1,i} A_ij q_tj   (2)

The two passes begin at the same time, one at each end. Until they meet, the one backward knows q
only up to a factor, found from Σ_j γ_tj = 1:

    q_tj ∝ b_tj Σ_k A_jk q_{t+1,k},      γ_tj = p_tj q_tj / Σ_k p_tk q_tk                        (3)

Where A has (nearly) no zeros, what falls below 1e-300 of its row never matters again: the next
prediction gives every state at least min A. Otherwise a sequence in which that happens is done
again with logarithms, which lose nothing.
"""

from typing import NamedTuple

import numpy as np

from mlreplica.core.compile.intrinsics import choose, larger, multiply_row
from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import one_blas_thread, run
from mlreplica.core.formulas.exp import exp_of

TINY = 1e-290  # relative weight below which scaled numbers no longer count as kept
SMALL = 1e-200  # the smallest sum of scaled numbers that is trusted
SPARSE = 1e-60  # transitions below it need logarithms where weights fall below TINY


@kernel(borrow=True, part=True)
def densities(log_b, f, flat):
    """f ← b, each row divided by its largest entry; returns the sum of their logarithms.

    `flat` is f in one row.
    """
    T, K = f.shape
    total = 0.0
    for t in range(T):
        largest = log_b[t, 0]
        for j in range(1, K):
            largest = larger(largest, log_b[t, j])
        if not largest > -np.inf:
            return -np.inf
        total += largest
        for j in range(K):
            f[t, j] = log_b[t, j] - largest
    for k in range(len(flat)):
        x = flat[k]
        e = exp_of(x)
        flat[k] = e if x > -700.0 else 0.0
    return total


@kernel(borrow=True, part=True)
def weigh(v, r, b, log_b, sparse, p, f):
    """p ← v and f ← r·v·b for one row; returns Σ f, or NaN if logarithms must do the sequence."""
    c = 0.0
    for j in range(len(b)):
        x = v[j]
        p[j] = x
        x *= r * b[j]
        f[j] = x
        c += x
    if sparse:
        for j in range(len(b)):
            if p[j] > 0.0 and f[j] < TINY * c and log_b[j] > -np.inf:
                return np.nan
    return c if c > SMALL else np.nan


@kernel(borrow=True, part=True)
def filter_scaled(log_b, start, A, sparse, f, p, rows):
    """One sequence by (1), f holding b; returns Σ log c_t, or NaN if logarithms must do it.

    f_t is left with the sum c_t, for the next step divides by it while it waits for nothing else;
    `rows` is scratch.
    """
    v, c, total, scale = rows[0], 1.0, 0.0, 1.0
    for j in range(len(start)):
        v[j] = start[j]
    for t in range(len(f)):
        if t > 0:
            multiply_row(f[t - 1], A, v)
        c = weigh(v, 1.0 / c, f[t], log_b[t], sparse, p[t], f[t])
        scale *= c
        if scale < 1e-100 or scale > 1e100:
            total += np.log(scale)
            scale = 1.0
    return total + np.log(scale)


@kernel(borrow=True, part=True)
def meet(v, r, sparse, f, p, gamma, weight, q):
    """What `weigh` does, and (3), for a row whose p holds A·q_{t+1}; `v` is the predicted p_t.

    γ takes the place of log b, and q times the weight that of p.
    """
    c, d, g = 0.0, 0.0, 0.0
    for j in range(len(f)):
        x = r * f[j]
        y, z = p[j] * x, v[j] * x
        q[j] = y
        f[j] = z
        c += z
        d += y
        g += v[j] * y
    if sparse:
        for j in range(len(f)):
            lost = (v[j] > 0.0 and f[j] < TINY * c) or (p[j] > 0.0 and q[j] < TINY * d)
            if lost and gamma[j] > -np.inf:
                return np.nan
    if not (c > SMALL and g > SMALL):
        return np.nan
    g = 1.0 / g
    for j in range(len(f)):
        y = g * q[j]
        q[j] = y
        gamma[j] = v[j] * y
        p[j] = weight * y
    return c


@kernel(borrow=True, part=True)
def smooth_scaled(log_b, start, matrices, sparse, f, p, weight, rows):
    """One sequence by (1) to (3), as `filter_scaled` does it by (1).

    Each step waits for the result of the one before it, so one pass leaves most of the CPU idle.
    Two passes run side by side: one forward, and one backward, which leaves A·q_{t+1} in p_t. After
    they have met in the middle, each finds there what the other has left.

    γ takes the place of log_b, and q_t times the weight that of p_t, or 0 at the first step: then
    f_{t−1,i} p_tj, summed over t, is ξ without the factor A_ij.
    """
    T, K = f.shape
    v, w, q, other, half = rows[0], rows[1], rows[2], rows[3], T // 2
    total, scale, c, d = 0.0, 1.0, 1.0, 1.0
    for j in range(K):
        v[j], w[j] = start[j], 1.0
    for t in range(half):
        o = T - 1 - t
        if t > 0:
            multiply_row(f[t - 1], matrices[0], v)
            multiply_row(q, matrices[1], w)
        c = weigh(v, 1.0 / c, f[t], log_b[t], sparse, p[t], f[t])
        d = weigh(w, 1.0 / d, f[o], log_b[o], sparse, p[o], q)
        scale *= c
        if scale < 1e-100 or scale > 1e100:
            total += np.log(scale)
            scale = 1.0
    if np.isnan(c + d):
        return np.nan
    if T % 2:
        if half:
            multiply_row(q, matrices[1], w)
        for j in range(K):
            p[half, j] = w[j]
    for t in range(half, 2 * half + 1):
        o = 2 * half - t
        if o < half:
            multiply_row(q, matrices[1], w)
            smooth_row(w, f[o], p[o], log_b[o], weight, q)
        if t == T:
            break
        if t > 0:
            multiply_row(f[t - 1], matrices[0], v)
        c = meet(v, 1.0 / c, sparse, f[t], p[t], log_b[t], weight, other if o < half else q)
        if np.isnan(c):
            return np.nan
        scale *= c
        if scale < 1e-100 or scale > 1e100:
            total += np.log(scale)
            scale = 1.0
    for j in range(K):
        p[0, j] = 0.0
    return total + np.log(scale)


@kernel(borrow=True, part=True)
def smooth_row(w, f, p, gamma, weight, q):
    """(2) for row t, with w = A·q_{t+1}."""
    for i in range(len(f)):
        x = f[i]
        y = x / choose(p[i] > 0.0, p[i], 1.0) * w[i]  # f is 0 where p is
        q[i] = y
        gamma[i] = x * w[i]
        p[i] = weight * y
    return 0


@kernel(borrow=True)
def walk_scaled(
    log_b, offsets, first, last, matrices, start, rows, how, weights, f, p, flat, starts, totals
):
    """Sequences first … last−1: filtered and predicted probabilities in f and p; or, if how[0]
    is 1, γ in the place of log_b.

    `matrices` are A and Aᵀ, `rows` scratch. how[1] is 1 if A has (nearly) zeros. Sequences that
    need logarithms get NaN in `totals`.
    """
    K, sparse = f.shape[1], how[1] == 1
    for s in range(first, last):
        a, z = offsets[s], offsets[s + 1]
        x, g, h, own = log_b[a:z], f[a:z], p[a:z], flat[a * K : z * K]
        totals[s] = densities(x, g, own)
        if not totals[s] > -np.inf:
            continue
        if how[0] == 1:
            totals[s] += smooth_scaled(x, start, matrices, sparse, g, h, weights[s], rows)
            if totals[s] > -np.inf:
                for j in range(K):
                    starts[j] += weights[s] * x[0, j]
            continue
        totals[s] += filter_scaled(x, start, matrices[0], sparse, g, h, rows)
        before = 1.0
        for t in range(z - a if totals[s] > -np.inf else 0):
            c = 0.0
            for j in range(K):
                c += g[t, j]
            for j in range(K):
                g[t, j] /= c
                h[t, j] /= before
            before = c
    return 0


@kernel(borrow=True, part=True)
def log_sum(v):
    """log Σ e^v"""
    largest = v[0]
    for j in range(1, len(v)):
        largest = max(largest, v[j])
    if not largest > -np.inf:
        return -np.inf
    s = 0.0
    for j in range(len(v)):
        s += np.exp(v[j] - largest)
    return largest + np.log(s)


@kernel(borrow=True, part=True)
def filter_log(log_b, log_start, log_AT, f, p, v):
    """(1) in logarithms: f and p hold log f and log p; returns log P(x)."""
    T, K = log_b.shape
    total = 0.0
    for t in range(T):
        for j in range(K):
            p[t, j] = log_start[j]
            if t > 0:
                for i in range(K):
                    v[i] = f[t - 1, i] + log_AT[j, i]
                p[t, j] = log_sum(v)
        for j in range(K):
            f[t, j] = p[t, j] + log_b[t, j]
        c = log_sum(f[t])
        if c == -np.inf:
            return -np.inf
        total += c
        for j in range(K):
            f[t, j] -= c
    return total


@kernel(borrow=True, part=True)
def smooth_log(log_A, f, p, weight, counts, q, v):
    """(2) in logarithms; f becomes γ itself, and `counts` gets ξ without the factor A."""
    T, K = len(f), len(log_A)
    for j in range(K):
        q[j] = f[T - 1, j] - p[T - 1, j] if p[T - 1, j] > -np.inf else -np.inf
    for t in range(T - 1, 0, -1):
        for j in range(K):
            f[t, j] = np.exp(q[j] + p[t, j])
        for i in range(K):
            for j in range(K):
                v[j] = q[j] + log_A[i, j]
                if v[j] > -np.inf:
                    counts[i, j] += weight * np.exp(f[t - 1, i] + q[j])
            f[t - 1, i] += log_sum(v)
        for j in range(K):
            q[j] = f[t - 1, j] - p[t - 1, j] if p[t - 1, j] > -np.inf else -np.inf
    for j in range(K):
        f[0, j] = np.exp(f[0, j])
    return 0


@kernel(borrow=True)
def walk_logs(
    log_b, offsets, first, last, log_A, log_AT, log_start, rows, smooth, weights, f, p, starts,
    counts, totals,
):  # fmt: skip
    """What `walk_scaled` does, in logarithms, for the sequences whose total is NaN."""
    K = f.shape[1]
    q, v = rows[0], rows[1]
    for s in range(first, last):
        if not np.isnan(totals[s]):
            continue
        g, h = f[offsets[s] : offsets[s + 1]], p[offsets[s] : offsets[s + 1]]
        totals[s] = filter_log(log_b[offsets[s] : offsets[s + 1]], log_start, log_AT, g, h, v)
        if totals[s] == -np.inf:
            continue
        if smooth:
            smooth_log(log_A, g, h, weights[s], counts, q, v)
            for j in range(K):
                starts[j] += weights[s] * g[0, j]
            for t in range(len(g)):
                for j in range(K):
                    log_b[offsets[s] + t, j], g[t, j], h[t, j] = g[t, j], 0.0, 0.0
            continue
        for t in range(len(g)):
            for j in range(K):
                g[t, j], h[t, j] = np.exp(g[t, j]), np.exp(h[t, j])
    return 0


class Lattice(NamedTuple):
    """log P(x); γ and counts of starts and transitions, or filtered and predicted probabilities."""

    log_likelihoods: np.ndarray
    gamma: np.ndarray
    predicted: np.ndarray
    start: np.ndarray | None = None
    transitions: np.ndarray | None = None


def pieces(offsets, least=2000, most=16):
    """Ranges of sequences of about equal numbers of rows; they do not depend on the machine."""
    n = offsets[-1]
    parts = int(max(1, min(most, len(offsets) - 1, n // least)))
    cuts = np.searchsorted(offsets, [n * k // parts for k in range(parts + 1)])
    cuts[0], cuts[-1] = 0, len(offsets) - 1
    cuts = np.unique(cuts)
    return list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))


def walk_lattice(
    startprob, transmat, log_b, offsets, *, smooth, log=False, weights=None, work=None
):
    """Filter or smooth all sequences, on threads.

    Parameters
    ----------
    startprob, transmat : ndarray of shape (K,), (K, K)
    log_b : ndarray of shape (n, K)
        Overwritten by γ if `smooth`.
    offsets : ndarray of shape (S + 1,)
        Sequence s has the rows from offsets[s] to offsets[s + 1].
    smooth : bool
        Return γ instead of the filtered probabilities, and counts.
    log : bool, default=False
        Use logarithms throughout.
    weights : ndarray of shape (S,), default=None
        How often each sequence counts.
    work : tuple of two arrays like log_b, default=None
        Where to work, to save the time of making them.
    """
    K, S = len(startprob), len(offsets) - 1
    f, p = work if work is not None else (np.empty_like(log_b), np.empty_like(log_b))
    weights = np.ones(S) if weights is None else weights
    sparse = transmat.min() < SPARSE
    kept = log_b.copy() if smooth and sparse else None  # else nothing fails after γ is begun
    matrices = np.stack([in_blocks(transmat), in_blocks(transmat.T)])
    how = np.array([smooth, sparse], dtype=np.int64)
    totals, tasks, flat = np.full(S, np.nan), pieces(offsets), f.reshape(-1)
    starts, counts = np.zeros((len(tasks), K)), np.zeros((len(tasks), K, K))

    def scaled(k, ends):
        constant = matrices, startprob, np.zeros((4, matrices.shape[2])), how, weights
        walk_scaled(log_b, offsets, *ends, *constant, f, p, flat, starts[k], totals)

    def in_logarithms(k, ends):
        constant, sums = (np.empty((2, K)), smooth, weights), (starts[k], counts[k], totals)
        walk_logs(log_b, offsets, *ends, *logs, *constant, f, p, *sums)

    if not log:
        run(scaled, range(len(tasks)), tasks)
    if np.isnan(totals).any():
        if kept is not None:
            log_b[:] = np.where(np.repeat(np.isnan(totals), np.diff(offsets))[:, None], kept, log_b)
        with np.errstate(divide="ignore"):
            log_A = np.log(transmat)
            logs = log_A, np.ascontiguousarray(log_A.T), np.log(startprob)
        run(in_logarithms, range(len(tasks)), tasks)
    if not smooth:
        return Lattice(totals, f, p)
    if not totals.min() > -np.inf:  # then no numbers count
        return Lattice(totals, log_b, p)
    with one_blas_thread():  # narrow matrices: its threads would only wait for each other
        moves = (counts.sum(axis=0) + f[:-1].T @ p[1:]) * transmat
    return Lattice(totals, log_b, p, starts.sum(axis=0), moves)


def in_blocks(M, fill=0.0):
    """M with further columns, so that their number is a multiple of eight."""
    wide = np.full((len(M), -(-M.shape[1] // 8) * 8), fill)
    wide[:, : M.shape[1]] = M
    return wide
