"""Non-negative matrix factorisation: where to start, equation (2) of `_nmf`"""

import numpy as np
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_non_negative

from mlreplica.core.rows.products import Products

from ._randomized import randomized


def given(A, shape, whom):
    """Refuse a start of wrong shape, with negative entries, or without positive ones."""
    A = check_array(A)
    for axis, name in enumerate(("first", "second")):
        if shape[axis] != "auto" and A.shape[axis] != shape[axis]:
            raise ValueError(
                f"Array with wrong {name} dimension passed to {whom}. Expected {shape[axis]}, but "
                f"got {A.shape[axis]}."
            )
    check_non_negative(A, whom)
    if np.max(A) == 0:
        raise ValueError(f"Array passed to {whom} is full of zeros.")


def first_factors(X, k, init, random_state):
    """W and H at random, or by (2)"""
    n, p = X.shape
    if init is not None and init != "random" and k > min(n, p):
        raise ValueError(
            f"init = '{init}' can only be used when n_components <= min(n_samples, n_features)"
        )
    init = init or ("nndsvda" if k <= min(n, p) else "random")
    rng = check_random_state(random_state)
    mean = X.mean()
    if init == "random":
        size = np.sqrt(mean / k)
        H = np.abs(size * rng.standard_normal((k, p)))
        return np.abs(size * rng.standard_normal((n, k))), H
    U, s, Vt = randomized(Products(X), k, rng, powers=4)
    W, H = np.zeros((n, k)), np.zeros((k, p))
    W[:, 0], H[0] = np.sqrt(s[0]) * np.abs(U[:, 0]), np.sqrt(s[0]) * np.abs(Vt[0])
    for j in range(1, k):
        pairs = [(np.maximum(sign * U[:, j], 0), np.maximum(sign * Vt[j], 0)) for sign in (1, -1)]
        sizes = [np.linalg.norm(u) * np.linalg.norm(v) for u, v in pairs]
        u, v = pairs[int(sizes[1] >= sizes[0])]
        size = np.sqrt(s[j] * max(sizes))
        lengths = np.linalg.norm(u), np.linalg.norm(v)
        if min(lengths) > 0:
            W[:, j], H[j] = size * u / lengths[0], size * v / lengths[1]
    W[W < 1e-6], H[H < 1e-6] = 0.0, 0.0
    if init == "nndsvda":
        W[W == 0], H[H == 0] = mean, mean
    elif init == "nndsvdar":
        for A in (W, H):
            zero = A == 0
            A[zero] = np.abs(mean * rng.standard_normal(zero.sum()) / 100)
    return W, H
