"""Shares: probabilities from counts, and which of them may be other than zero"""

import numpy as np


def shares(old, counts, prior, zeros_stay=True):
    """Counts with a Dirichlet prior as shares; a row without either stays as it is."""
    new = np.maximum(counts + prior - 1, 0.0)
    if zeros_stay:
        new = np.where(old > 0, new, 0.0)
    total = new.sum(axis=-1, keepdims=True)
    return np.where(total > 0, new / np.where(total > 0, total, 1.0), old)


def log_dirichlet(p, prior):
    """Σ (a − 1) log p of a Dirichlet prior; what is zero stays so, and counts nothing."""
    return float(((prior - 1) * np.log(np.where(p > 0, p, 1.0))).sum())


def allowed(topology, K):
    """Which transitions there may be."""
    if isinstance(topology, str):
        return (
            np.triu(np.ones((K, K), dtype=bool))
            if topology == "left-right"
            else np.full((K, K), True)
        )
    mask = np.asarray(topology, dtype=bool)
    if mask.shape != (K, K) or not mask.any(axis=1).all():
        raise ValueError(f"topology must be ({K}, {K}), and allow a transition from every state.")
    return mask


def check_distribution(name, p):
    """Raise unless the rows are probabilities that add up to 1."""
    total = p.sum(axis=-1)
    if not (np.isfinite(p).all() and (p >= 0).all() and np.allclose(total, 1)):
        rows = "rows must sum to 1" if p.ndim > 1 else "must sum to 1"
        raise ValueError(f"{name} {rows} (got {np.array2string(np.atleast_1d(total))})")


def clamp(log_b, states):
    """Make all states but the known ones impossible, in place."""
    rows = np.flatnonzero(states >= 0)
    kept = log_b[rows, states[rows]]
    log_b[rows] = -np.inf
    log_b[rows, states[rows]] = kept
