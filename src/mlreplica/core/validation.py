"""Validate: once, at the boundary; nothing inside checks again"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def new_rows(estimator: Any, X: Any, *, accept_sparse: bool | str | list[str] = False) -> Any:
    """X as a fitted estimator takes it: finite, floating, with the columns seen in fit.

    A plain float array of the right width needs no more than a sum (finite unless an entry is not,
    or the sum overflows; then the long way decides). All else goes through scikit-learn.
    """
    if (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in FLOATS
        and X.shape[1] == getattr(estimator, "n_features_in_", None)
        and len(X) > 0
        and not hasattr(estimator, "feature_names_in_")
    ):
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(X.sum()):
                return X
    check_is_fitted(estimator)
    return validate_data(estimator, X, reset=False, accept_sparse=accept_sparse, dtype=FLOATS)
