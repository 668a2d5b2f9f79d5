"""Gaps: where they are, and which of them are refused"""

from numbers import Real

import numpy as np

from mlreplica.core.compat import _get_mask, is_pandas_na, is_scalar_nan


def gaps_of(X, missing_values):
    """A bool for each entry of a dense array: whether it is a gap."""
    if X.dtype.kind == "f" and is_scalar_nan(missing_values):
        return np.isnan(X)
    return _get_mask(X, missing_values)


def is_plain_with_nan(estimator, X, *, reset):
    """Whether X is an array of float64 whose gaps are NaN, so that there is nothing to validate.

    It may hold infinity, which the caller must look for. Sets what `fit` learns of the columns.
    """
    plain = (
        type(X) is np.ndarray
        and X.dtype == np.float64
        and X.ndim == 2
        and X.size > 0
        and X.flags.c_contiguous
        and is_scalar_nan(estimator.missing_values)
    )
    if plain and reset:
        estimator.n_features_in_ = X.shape[1]
        vars(estimator).pop("feature_names_in_", None)
        return True
    state = vars(estimator)
    return plain and X.shape[1] == state.get("n_features_in_") and "feature_names_in_" not in state


def may_be_nan(missing_values):
    """What validation allows to be not finite."""
    return "allow-nan" if is_pandas_na(missing_values) or is_scalar_nan(missing_values) else True


def refuse_other_types(X, missing_values):
    """Raise if X holds numbers, and what marks its gaps is none."""
    if is_pandas_na(missing_values):
        return
    if X.dtype.kind in "fiu" and not isinstance(missing_values, Real):
        raise ValueError(
            "'X' and 'missing_values' types are expected to be both numerical. Got "
            f"X.dtype={X.dtype} and type(missing_values)={type(missing_values)}."
        )
