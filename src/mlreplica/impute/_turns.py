"""Turns: in which order columns are predicted, from which others, and within which limits"""

import numpy as np
from sklearn.utils import check_array

from mlreplica.preprocessing import normalize


def limits_of(least, most, kept):
    """The parameters `min_value` and `max_value` for each column that is kept."""
    return limit_of(least, "min", -np.inf, kept), limit_of(most, "max", np.inf, kept)


def limit_of(limit, name, none, kept):
    """The parameter `name`_value for each column that is kept."""
    limit = none if limit is None else limit
    if np.isscalar(limit):
        return np.full(np.count_nonzero(kept), limit, dtype=np.float64)
    limit = check_array(
        limit, ensure_all_finite=False, copy=False, ensure_2d=False, dtype=np.float64
    )
    if limit.shape[0] != len(kept):
        raise ValueError(
            f"'{name}_value' should be of shape ({len(kept)},) when an array-like is provided. "
            f"Got {limit.shape}, instead."
        )
    return limit[kept]


def order_of(gaps, kind, skip_complete, random):
    """The columns to predict, in their order; `kind` is the parameter `imputation_order`."""
    share = gaps.mean(axis=0)
    columns = np.flatnonzero(share) if skip_complete else np.arange(len(share))
    if kind in ("ascending", "descending"):
        columns = np.argsort(share, kind="mergesort")[len(share) - len(columns) :]
    if kind in ("descending", "arabic"):
        return columns[::-1]
    if kind == "random":
        random.shuffle(columns)
    return columns


def chances_of(X, n_nearest):
    """The chance of each column to be among the nearest of another; None if all are used."""
    if n_nearest is None or n_nearest >= X.shape[1]:
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        related = np.abs(np.corrcoef(X.T))
    related[np.isnan(related)] = 1e-6
    np.clip(related, 1e-6, None, out=related)
    np.fill_diagonal(related, 0)
    return normalize(related, norm="l1", axis=0)
