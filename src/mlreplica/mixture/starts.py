"""Starts: means and moments of given groups of rows, some rows at a time

A copy of all rows would double the memory of a fit, so each sum goes over blocks of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mlreplica.core.rows.walk import steps

from .em import Moments

ENTRIES = 1 << 15  # of a block of rows, whose copies stay in cache


def blocks(X: Any) -> Iterator[slice]:
    """All rows, some at a time."""
    return steps(slice(0, len(X)), max(1, ENTRIES // X.shape[1]))


def groups(X: Any, labels: Any, K: int) -> Iterator[tuple[int, Any]]:
    """(k, rows of group k) for each block of rows."""
    for block in blocks(X):
        for k in range(K):
            yield k, block.start + np.flatnonzero(labels[block] == k)


def hard_moments(X: Any, w: Any, labels: Any, K: int, whole: int) -> tuple[Any, Moments]:
    """Means and moments about them where every row has one label; −1 is none."""
    p = X.shape[1]
    mu, N = np.zeros((K, p)), np.zeros(K)
    second = np.zeros((K, {0: 1, 1: p, 2: 0}[whole], p))
    for k, rows in groups(X, labels, K):
        N[k] += w[rows].sum()
        mu[k] += w[rows] @ X[rows]
    mu /= np.where(N > 0, N, 1.0)[:, None]
    for k, rows in groups(X, labels, K) if whole < 2 else ():
        add_second(second[k], X[rows] - mu[k], w[rows])
    return mu, Moments(N, np.zeros((K, p)), second, np.zeros(2))


def soft_moments(X: Any, R: Any, whole: int) -> tuple[Any, Moments]:
    """The same for responsibilities (n, K), already multiplied by the weights."""
    (K, p), N = (R.shape[1], X.shape[1]), R.sum(axis=0)
    mu = sum(R[rows].T @ X[rows] for rows in blocks(X)) / N[:, None]
    second = np.zeros((K, {0: 1, 1: p, 2: 0}[whole], p))
    for rows in blocks(X) if whole < 2 else ():
        for k in range(K):
            add_second(second[k], X[rows] - mu[k], R[rows, k])
    return mu, Moments(N, np.zeros_like(mu), second, np.zeros(2))


def add_second(second: Any, D: Any, w: Any) -> None:
    """Add Σ w d dᵀ to a matrix (p, p), or its diagonal to a row (1, p)."""
    second += (w[:, None] * D).T @ D if len(second) > 1 else w @ (D * D)


def mean_of_known(X: Any, w: Any) -> Any:
    """The weighted mean of the known entries of each column."""
    total, weight = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for rows in blocks(X):
        known = ~np.isnan(X[rows])
        total += w[rows] @ np.where(known, X[rows], 0.0)
        weight += w[rows] @ known
    return total / weight


def scatter_of_known(X: Any, w: Any, mean: Any, whole: bool) -> tuple[Any, Any]:
    """Σ w d dᵀ about a mean, or its diagonal, unknown d being 0; and the weights per column."""
    p = X.shape[1]
    second, weight = np.zeros((p if whole else 1, p)), np.zeros(p)
    for rows in blocks(X):
        known = ~np.isnan(X[rows])
        add_second(second, np.where(known, X[rows] - mean, 0.0), w[rows])
        weight += w[rows] @ known
    return second if whole else second[0], weight
