r"""A random forest in its shortest form (equations of `base.py`)

Tree t sees n rows drawn with replacement, as weights that count how often each was drawn, and
at every node only m columns drawn anew. The forest answers with the mean (1); row i is tested by
the mean (3) of the trees that have not seen it. The engine (`base.py`, `trees.py`) sorts the
columns once for all trees, grows them on threads and finds the same splits.

Breiman, Random forests (2001).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlreplica.core.growth.textbook import grow_tree, predict


class TextbookForest(NamedTuple):
    """Trees, and the mean of those that have not seen a row."""

    trees: list
    out_of_bag: np.ndarray  # (n, K); NaN where every tree has seen the row

    def predict(self, X):
        """The mean (1) over the trees, (n, K)."""
        return np.mean([predict(tree, X) for tree in self.trees], axis=0)


def grow_forest(X, Y, n_trees=100, *, m=None, rng=None, draws=None, **limits) -> TextbookForest:
    """Grow trees on draws of the rows.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    Y : ndarray of shape (n, K)
        One column of numbers, or a one in the column of each row's class.
    n_trees : int
    m : int, optional
        Columns drawn at a node; default: all.
    rng : numpy.random.Generator, optional
    draws : list of ndarray of int, optional
        The rows of each tree, instead of `n_trees` random draws.
    **limits
        Of `mlreplica.core.growth.textbook.grow_tree`.

    Returns
    -------
    TextbookForest
        NamedTuple ``(trees, out_of_bag)`` with the method ``predict(X)``.

    Examples
    --------
    >>> X = np.arange(20.0)[:, None]
    >>> forest = grow_forest(X, X**2, 50, rng=np.random.default_rng(0))
    >>> bool(90 < forest.predict(np.array([[10.0]]))[0, 0] < 110)
    True
    """
    n, p = X.shape
    rng = rng or np.random.default_rng()
    draws = draws or [rng.integers(n, size=n) for _ in range(n_trees)]
    trees, total, times = [], np.zeros(Y.shape), np.zeros((n, 1))
    for rows in draws:
        w = np.bincount(rows, minlength=n).astype(float)
        trees.append(grow_tree(X, Y, w, columns=lambda: rng.permutation(p)[:m], **limits))
        unseen = w == 0
        total[unseen] += predict(trees[-1], X[unseen])
        times[unseen] += 1
    with np.errstate(invalid="ignore"):
        return TextbookForest(trees, total / times)  # (3)
