"""Tree options: the parameters of a tree, as estimators name them, in the grower's numbers"""

from __future__ import annotations

import warnings
from math import ceil
from numbers import Integral
from typing import Any

import numpy as np


def columns_drawn(max_features: Any, p: int) -> int:
    """How many of p columns a node looks at."""
    if max_features is None:
        return p
    if isinstance(max_features, str):
        return max(1, int(np.sqrt(p) if max_features == "sqrt" else np.log2(p)))
    return (
        int(max_features) if isinstance(max_features, Integral) else max(1, int(max_features * p))
    )


def least_rows(min_samples_split: Any, min_samples_leaf: Any, n: int) -> dict[str, int]:
    """Both as numbers of rows; a share is one of n rows."""
    split, leaf = min_samples_split, min_samples_leaf
    leaf = int(leaf) if isinstance(leaf, Integral) else ceil(leaf * n)
    split = int(split) if isinstance(split, Integral) else max(2, ceil(split * n))
    return {"min_samples_split": max(split, 2 * leaf), "min_samples_leaf": leaf}


def monotonic_signs(monotonic_cst: Any, p: int, n_outputs: int, n_classes: Any = None) -> Any:
    """Constraints on the mean or, for two classes, on the share of class 0; None without any."""
    if monotonic_cst is None:
        return None
    if n_outputs > 1:
        raise ValueError("Monotonicity constraints are not supported with multiple outputs.")
    signs = np.asarray(monotonic_cst)
    if signs.shape[0] != p:
        raise ValueError(
            f"monotonic_cst has shape {signs.shape[0]} but the input data X has {p} features."
        )
    if not np.isin(signs, (-1, 0, 1)).all():
        raise ValueError(
            f"monotonic_cst must be None or an array-like of -1, 0 or 1, but got {np.unique(signs)}"
        )
    if n_classes is None:
        return signs.astype(np.int8)
    if n_classes[0] > 2:
        raise ValueError(
            "Monotonicity constraints are not supported with multiclass classification"
        )
    return -signs.astype(np.int8)


def without_friedman(criterion: Any, stacklevel: int = 3) -> Any:
    """The criterion; "friedman_mse", which scikit-learn gives up, means the squared error."""
    if not isinstance(criterion, str) or criterion != "friedman_mse":
        return criterion
    warnings.warn(
        'Value `"friedman_mse"` for `criterion` is deprecated and will be removed in 1.11. '
        'It maps to `"squared_error"` as both were always equivalent. Use '
        '`criterion="squared_error"` to remove this warning.',
        FutureWarning,
        stacklevel=stacklevel,
    )
    return "squared_error"
