r"""A symmetric matrix times a few vectors, half of it read, and once for all of them

To multiply a large matrix by a few vectors is to read it. Of K = Kᵀ it is enough to read what is
not above the diagonal, if each K_ij is used twice as it comes by, for i > j

    w_i ← w_i + K_ij v_j,    w_j ← w_j + K_ij v_i.                                      (11)

Four rows are taken at a time, so that w_j is loaded and stored once for all four, and a strip of
them stays in the first-level cache until every vector has had its turn. BLAS has this product
either for one vector, which reads K for each, or for many, which copies K first.
"""

import numpy as np

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run

STRIP = 512  # columns of four rows that are worked on at a time: 16 KB
ALONE = 2048  # rows of a matrix that one thread has multiplied before others are awake


def symmetric_times(K, V):
    """V K for a symmetric K (n, n) and a few rows V (b, n)"""
    n, V = len(K), np.ascontiguousarray(V)
    threads = n_threads() if n > ALONE else 1
    edges = np.rint(n * np.sqrt(np.arange(threads + 1) / threads)).astype(int)  # equal areas
    W = np.zeros((threads, *V.shape))
    run(lambda k: lower_times(K, V, W[k], edges[k], edges[k + 1]), range(threads))
    return W.sum(axis=0) if threads > 1 else W[0]


@kernel
def lower_times(K, V, W, start, stop):
    """Equation (11) for rows start ≤ i < stop of K and each row v of V, w of W"""
    for i in range(start, stop, 4):
        four = i + 4 <= stop
        if four:
            for a in range(0, i, STRIP):
                z = min(a + STRIP, i)
                k0, k1, k2, k3 = K[i, a:z], K[i + 1, a:z], K[i + 2, a:z], K[i + 3, a:z]
                for q in range(len(V)):
                    v, w, v_i, w_i = V[q, a:z], W[q, a:z], V[q, i : i + 4], W[q, i : i + 4]
                    v0, v1, v2, v3 = v_i[0], v_i[1], v_i[2], v_i[3]
                    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
                    for j in range(z - a):
                        s0 += k0[j] * v[j]
                        s1 += k1[j] * v[j]
                        s2 += k2[j] * v[j]
                        s3 += k3[j] * v[j]
                        w[j] += v0 * k0[j] + v1 * k1[j] + v2 * k2[j] + v3 * k3[j]
                    w_i[0] += s0
                    w_i[1] += s1
                    w_i[2] += s2
                    w_i[3] += s3
        for k in range(i, min(i + 4, stop)):  # what is left of them at the diagonal
            for q in range(len(V)):
                v, w = V[q], W[q]
                for j in range(i if four else 0, k):
                    w[k] += K[k, j] * v[j]
                    w[j] += K[k, j] * v[k]
                w[k] += K[k, k] * v[k]
