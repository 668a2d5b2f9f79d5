"""Prepared: decision trees of one ensemble, grown on columns that were sorted once

`Prepared(tree, X)` does what cloning and fitting `tree` again and again would do, with other
targets and weights each time. `prepare` says None where a tree asks for more, or is not ours.
"""

import copy

import numpy as np
import scipy.sparse as sp

from mlreplica.core.formulas.draws import seeded
from mlreplica.core.growth.grow import Columns, grow
from mlreplica.tree import DecisionTreeClassifier, DecisionTreeRegressor

PLAIN = {  # parameters that must be as they are by default; all others are handed on
    "max_features": None,
    "class_weight": None,
    "ccp_alpha": 0.0,
    "monotonic_cst": None,
    "categorical_features": None,
    "min_weight_fraction_leaf": 0.0,
}
HANDED = (
    "criterion",
    "splitter",
    "max_depth",
    "min_samples_split",
    "min_samples_leaf",
    "max_leaf_nodes",
    "min_impurity_decrease",
)


def prepare(tree, X):
    """A `Prepared` for this tree and these rows, or None."""
    params = tree.get_params(deep=False)
    numeric = not sp.issparse(X) and X.ndim == 2 and X.dtype.kind in "fiub"
    ours = type(tree) in (DecisionTreeClassifier, DecisionTreeRegressor)
    whole = all(isinstance(params.get(name), int) for name in HANDED[3:5])
    plain = all(
        params[name] is None if value is None else params[name] == value
        for name, value in PLAIN.items()
        if name in params
    )
    return Prepared(tree, X) if numeric and ours and whole and plain else None


class Prepared:
    """One tree's parameters and the columns of X."""

    def __init__(self, tree, X):
        tree._validate_params()
        self.template = copy.copy(tree)
        params = tree.get_params(deep=False)
        self.options = {name: params[name] for name in HANDED}
        self.X = np.asarray(X, dtype=np.float64)
        self.columns = Columns(self.X)

    def fit(self, y, w, random_state, classes=None):
        """A fitted tree and the leaf of every row; y are numbers, or codes of the classes."""
        n_classes = None if classes is None else len(classes)
        seed = seeded(random_state).randint(2**31 - 1)
        tree, leaf = grow(self.columns, y, w, n_classes=n_classes, seed=int(seed), **self.options)
        estimator = copy.copy(self.template)
        estimator.random_state = random_state
        estimator.tree_, estimator.n_outputs_ = tree, 1
        estimator.n_features_in_ = estimator.max_features_ = self.columns.p
        if classes is not None:
            estimator.classes_, estimator.n_classes_ = classes, n_classes
        absent = np.flatnonzero(leaf < 0)
        if len(absent):
            leaf[absent] = tree.apply(self.X[absent])
        return estimator, leaf
