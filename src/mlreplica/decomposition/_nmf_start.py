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
    V = Vt.T
    U[:, 0], V[:, 0] = np.abs(U[:, 0]), np.abs(V[:, 0])  # of one sign, but for rounding
    above, below = (part_lengths(sign * U) * part_lengths(sign * V) for sign in (1.0, -1.0))
    sign = np.where(below >= above, -1.0, 1.0)
    U, V = np.maximum(sign * U, 0.0), np.maximum(sign * V, 0.0)
    u, v = part_lengths(U), part_lengths(V)
    size = np.sqrt(s * u * v)
    some = size > 0
    W = U * np.divide(size, u, out=np.zeros(k), where=some)
    H = (V * np.divide(size, v, out=np.zeros(k), where=some)).T
    W[W < 1e-6], H[H < 1e-6] = 0.0, 0.0
    if init == "nndsvda":
        W[W == 0], H[H == 0] = mean, mean
    elif init == "nndsvdar":
        for A in (W, H):
            zero = A == 0
            A[zero] = np.abs(mean * rng.standard_normal(zero.sum()) / 100)
    return W, H


def part_lengths(U):
    """‖u⁺‖ of each column"""
    positive = np.maximum(U, 0.0)
    return np.sqrt(np.einsum("ij,ij->j", positive, positive))
