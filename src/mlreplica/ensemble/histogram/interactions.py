"""Which columns of histogram boosting may meet in a branch"""

import itertools
from numbers import Integral

import numpy as np


def interaction_groups(given, p):
    """The sets of columns that may meet in a branch, or None; the rest is a set of its own."""
    if given is None:
        return None
    if isinstance(given, str):
        size = 1 if given == "no_interactions" else 2
        groups = [set(pair) for pair in itertools.combinations(range(p), size)]
    else:
        try:
            groups = [set(group) for group in given]
        except TypeError as error:
            raise ValueError(
                f"Interaction constraints must be a sequence of tuples or lists, got: {given!r}."
            ) from error
    for column in set().union(*groups):
        if not (isinstance(column, Integral) and 0 <= column < p):
            raise ValueError(
                "Interaction constraints must consist of integer indices in [0, n_features - 1] = "
                f"[0, {p - 1}], specifying the position of features, got invalid indices: "
                f"{next(g for g in groups if column in g)!r}"
            )
    rest = set(range(p)) - set().union(*groups)
    return [*groups, rest] if rest else groups


def group_matrix(groups, p):
    """One row a group, one where a column belongs to it."""
    matrix = np.zeros((len(groups or ()), p), dtype=np.uint8)
    for k, group in enumerate(groups or ()):
        matrix[k, list(group)] = 1
    return matrix
