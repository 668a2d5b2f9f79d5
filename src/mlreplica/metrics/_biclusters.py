r"""Two sets of biclusters compared: the best matching of one with the other

A bicluster is a set of rows and a set of columns; its cells are their product. Two have

    J = |A ∩ B| / |A ∪ B|,      |A ∩ B| = |rows in both| · |columns in both|                 (1)

Each bicluster is matched with at most one of the other set so that Σ J is largest; the score is
that sum over the number of biclusters in the larger set (Hochreiter et al., FABIA, 2010).
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils import check_array, check_consistent_length

from mlreplica.core.compat import StrOptions

from ._inputs import checked


def jaccard(a, b):
    """(1) for all pairs of biclusters, given as (rows, columns) of indicators."""
    a, b = ([part.astype(np.float64) for part in pair] for pair in (a, b))
    both = (a[0] @ b[0].T) * (a[1] @ b[1].T)
    size_a, size_b = (rows.sum(axis=1) * columns.sum(axis=1) for rows, columns in (a, b))
    return both / (size_a[:, None] + size_b - both)


@checked({"a": [tuple], "b": [tuple], "similarity": [callable, StrOptions({"jaccard"})]})
def consensus_score(a, b, *, similarity="jaccard"):
    """How alike two sets of biclusters are, from 0 to 1.

    Parameters
    ----------
    a, b : tuple (rows, columns)
        Indicators of shape (n_biclusters, n_rows) and (n_biclusters, n_columns).
    similarity : "jaccard" or callable, default="jaccard"
        Or a function of (a_rows, a_columns, b_rows, b_columns) of one bicluster each.

    Returns
    -------
    score : float

    Examples
    --------
    >>> from mlreplica.metrics import consensus_score
    >>> a = ([[1, 0], [0, 1]], [[1, 0], [0, 1]])
    >>> consensus_score(a, ([[0, 1], [1, 0]], [[0, 1], [1, 0]]))
    1.0
    """
    for pair in (a, b):
        check_consistent_length(*pair)
    a, b = ([check_array(part, ensure_2d=False) for part in pair] for pair in (a, b))
    if similarity == "jaccard":
        likeness = jaccard(a, b)
    else:
        likeness = np.array([[similarity(*one, *other) for other in zip(*b, strict=True)]
                             for one in zip(*a, strict=True)])  # fmt: skip
    matched = linear_sum_assignment(-likeness)
    return float(likeness[matched].sum() / max(likeness.shape))
