"""Paths: the best ones through the lattice, by Viterbi's recursion, compiled

`_textbook.py` writes it out. Scores may be any numbers, so that labels of random fields are found
as states of hidden Markov models are.
"""

import numpy as np

from mlreplica.core.compile.intrinsics import choose, max_plus_row
from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import run

from ._lattice import in_blocks, pieces


@kernel(borrow=True)
def best_paths(d, offsets, first, last, log_start, log_A, log_AT, states, totals, e):
    """Viterbi's path of each sequence first … last−1; d holds log b, and then the best scores.

    Where a best path came from is asked only of the states on it, on the way back.
    """
    K = d.shape[1]
    for s in range(first, last):
        a, z = offsets[s], offsets[s + 1]
        for j in range(K):
            d[a, j] += log_start[j]
        for t in range(a + 1, z):
            max_plus_row(d[t - 1], log_A, e)
            for j in range(K):
                d[t, j] += e[j]
        best = 0
        for j in range(1, K):
            if d[z - 1, j] > d[z - 1, best]:
                best = j
        totals[s] = d[z - 1, best]
        for t in range(z - 1, a, -1):
            states[t] = best
            come, most, best = log_AT[best], -np.inf, 0
            for i in range(K):
                c = d[t - 1, i] + come[i]
                best, most = choose(c > most, i, best), choose(c > most, c, most)
        states[a] = best
    return 0


def decode_lattice(startprob, transmat, log_b, offsets):
    """The best path of every sequence and the logarithm of its probability; log_b is used up."""
    with np.errstate(divide="ignore"):
        return decode_scores(np.log(startprob), np.log(transmat), log_b, offsets)


def decode_scores(log_start, log_A, log_b, offsets):
    """The best path of every sequence and its score, any numbers; log_b is used up."""
    wide, log_AT = in_blocks(log_A, -np.inf), np.ascontiguousarray(log_A.T)
    totals, states = np.empty(len(offsets) - 1), np.empty(len(log_b), dtype=np.int64)

    def task(first, last):
        matrices, e = (wide, log_AT), np.empty(wide.shape[1])
        best_paths(log_b, offsets, first, last, log_start, *matrices, states, totals, e)

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
