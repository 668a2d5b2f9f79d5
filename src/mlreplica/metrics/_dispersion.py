r"""Clusters judged by their spread: Calinski–Harabasz and Davies–Bouldin

For n points in K clusters of sizes n_k, with means m_k and the mean m of all points,

    B = Σ_k n_k ‖m_k − m‖²,      W = Σ_i ‖x_i − m_{k(i)}‖²,      CH = B (n − K) / (W (K − 1))   (1)

is large for clusters that are tight and far apart. With σ_k the mean distance of the points of a
cluster from m_k,

    DB = 1/K Σ_k max_{j ≠ k} (σ_k + σ_j) / ‖m_k − m_j‖                                         (2)

is small for such clusters: each is compared with the one it is most easily confused with.

Caliński, Harabasz, A dendrite method for cluster analysis (1974); Davies, Bouldin, A cluster
separation measure (1979).
"""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_X_y

from ._inputs import checked
from ._silhouette import clusters_of

POINTS = {"X": ["array-like"], "labels": ["array-like"]}


def clusters(X, labels):
    """(X − its first row, cluster of each point, sizes, means of the clusters), checked."""
    X, labels = check_X_y(X, labels)
    code, sizes = clusters_of(np.asarray(labels))
    if not 1 < len(sizes) < len(X):
        raise ValueError(
            f"Number of labels is {len(sizes)}. Valid values are 2 to n_samples - 1 (inclusive)"
        )
    X = np.subtract(X, X[0], dtype=np.float64)  # so that sums lose no digits
    order = np.argsort(code, kind="stable")
    starts = np.cumsum(sizes) - sizes
    return X, code, sizes, np.add.reduceat(X[order], starts, axis=0) / sizes[:, None]


@checked(POINTS)
def calinski_harabasz_score(X, labels):
    """Spread between clusters over spread within them, (1): the higher, the better.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    labels : array-like of shape (n_samples,)

    Returns
    -------
    score : float

    Examples
    --------
    >>> from mlreplica.metrics import calinski_harabasz_score
    >>> calinski_harabasz_score([[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1])
    32.0
    """
    X, code, sizes, means = clusters(X, labels)
    within = X - means[code]
    W, B = np.vdot(within, within), sizes @ np.square(means - X.mean(axis=0)).sum(axis=1)
    n, K = len(X), len(sizes)
    return float(1.0 if W == 0.0 else B * (n - K) / (W * (K - 1.0)))


@checked(POINTS)
def davies_bouldin_score(X, labels):
    """Mean likeness of each cluster to the one most like it, (2): the lower, the better.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    labels : array-like of shape (n_samples,)

    Returns
    -------
    score : float

    Examples
    --------
    >>> from mlreplica.metrics import davies_bouldin_score
    >>> davies_bouldin_score([[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1])
    0.25
    """
    X, code, sizes, means = clusters(X, labels)
    X -= means[code]
    sigma = np.bincount(code, weights=np.sqrt(np.einsum("ij,ij->i", X, X))) / sizes
    apart = np.sqrt(np.square(means[:, None] - means).sum(axis=2))
    if np.allclose(sigma, 0.0) or np.allclose(apart, 0.0):
        return 0.0
    apart[apart == 0] = np.inf
    return float(((sigma[:, None] + sigma) / apart).max(axis=1).mean())
