"""Paths: the best ones through the lattice, by Viterbi's recursion, compiled

`_textbook.py` writes it out. Scores may be any numbers, so that labels of random fields are found
as states of hidden Markov models are.
"""

import numpy as np

from mlreplica.core.compile.intrinsics import choose
from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import run

from ._lattice import in_blocks, pieces


@kernel(borrow=True)
def best_paths(log_b, offsets, first, last, log_start, log_A, origin, states, totals, rows):
    """Viterbi's path of each sequence first … last−1; log_A is in blocks of four columns."""
    K, columns = log_A.shape
    d, e = rows[0], rows[1]
    for s in range(first, last):
        a, z = offsets[s], offsets[s + 1]
        for j in range(K):
            d[j] = log_start[j] + log_b[a, j]
        for t in range(a + 1, z):
            b = 0
            while b < columns:
                e0, e1, e2, e3 = -np.inf, -np.inf, -np.inf, -np.inf
                o0, o1, o2, o3, i = 0, 0, 0, 0, 0
                while i < K:
                    w = d[i]
                    c0, c1 = w + log_A[i, b], w + log_A[i, b + 1]
                    c2, c3 = w + log_A[i, b + 2], w + log_A[i, b + 3]
                    o0, o1 = choose(c0 > e0, i, o0), choose(c1 > e1, i, o1)
                    o2, o3 = choose(c2 > e2, i, o2), choose(c3 > e3, i, o3)
                    e0, e1 = choose(c0 > e0, c0, e0), choose(c1 > e1, c1, e1)
                    e2, e3 = choose(c2 > e2, c2, e2), choose(c3 > e3, c3, e3)
                    i += 1
                e[b], e[b + 1], e[b + 2], e[b + 3] = e0, e1, e2, e3
                origin[t, b], origin[t, b + 1] = o0, o1
                origin[t, b + 2], origin[t, b + 3] = o2, o3
                b += 4
            for j in range(K):
                d[j] = e[j] + log_b[t, j]
        best = 0
        for j in range(1, K):
            if d[j] > d[best]:
                best = j
        totals[s] = d[best]
        for t in range(z - 1, a - 1, -1):
            states[t] = best
            if t > a:
                best = origin[t, best]
    return 0


def decode_lattice(startprob, transmat, log_b, offsets):
    """The best path of every sequence and the logarithm of its probability."""
    with np.errstate(divide="ignore"):
        return decode_scores(np.log(startprob), np.log(transmat), log_b, offsets)


def decode_scores(log_start, log_A, log_b, offsets):
    """The best path of every sequence and its score; scores may be any numbers."""
    n, wide = len(log_b), in_blocks(log_A, -np.inf)
    origin, states = np.empty((n, wide.shape[1]), dtype=np.int64), np.empty(n, dtype=np.int64)
    totals = np.empty(len(offsets) - 1)

    def task(first, last):
        rows = np.empty((2, wide.shape[1]))
        best_paths(log_b, offsets, first, last, log_start, wide, origin, states, totals, rows)

    run(task, *zip(*pieces(offsets), strict=True))
    return totals, states


@kernel(borrow=True)
def several_paths(log_b, log_start, log_A, d, e, state, rank, paths, scores):
    """The R best paths of one sequence: d and e are (K, R), state and rank (T, K, R)."""
    T, K = log_b.shape
    R = d.shape[1]
    for j in range(K):
        for r in range(R):
            d[j, r] = -np.inf
        d[j, 0] = log_start[j] + log_b[0, j]
    for t in range(1, T):
        for j in range(K):
            for r in range(R):
                e[j, r] = -np.inf
            for i in range(K):
                for r in range(R):
                    come = d[i, r] + log_A[i, j]
                    if not come > e[j, R - 1]:
                        break
                    k = R - 1
                    while k > 0 and come > e[j, k - 1]:
                        e[j, k] = e[j, k - 1]
                        state[t, j, k], rank[t, j, k] = state[t, j, k - 1], rank[t, j, k - 1]
                        k -= 1
                    e[j, k], state[t, j, k], rank[t, j, k] = come, i, r
        for j in range(K):
            for r in range(R):
                d[j, r] = e[j, r] + log_b[t, j]
    found = 0
    for m in range(R):
        best, at = 0, 0
        for j in range(K):
            for r in range(R):
                if d[j, r] > d[best, at]:
                    best, at = j, r
        if not d[best, at] > -np.inf:
            break
        scores[m] = d[best, at]
        d[best, at] = -np.inf
        found += 1
        for t in range(T - 1, -1, -1):
            paths[m, t] = best
            if t > 0:
                best, at = state[t, best, at], rank[t, best, at]
    return found


def best_of_lattice(startprob, transmat, log_b, R):
    """The R best paths of one sequence, best first, and the logarithms of their probabilities."""
    with np.errstate(divide="ignore"):
        return best_of_scores(np.log(startprob), np.log(transmat), log_b, R)


def best_of_scores(log_start, log_A, log_b, R):
    """The R best paths of one sequence, best first, and their scores, which may be any numbers."""
    T, K = log_b.shape
    d, e = np.empty((K, R)), np.empty((K, R))
    state, rank = (np.zeros((T, K, R), dtype=np.int64) for _ in range(2))
    paths, scores = np.zeros((R, T), dtype=np.int64), np.empty(R)
    found = several_paths(log_b, log_start, log_A, d, e, state, rank, paths, scores)
    return scores[:found], paths[:found]
