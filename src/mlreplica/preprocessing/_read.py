"""Columns: arrays, lists of rows and frames, read one column at a time

Columns of one array share a dtype; those of a frame keep their own. Texts and categoricals of
pandas and polars come as numbers of values, as `Coded`, without a Python object per row.
"""

import numpy as np
from sklearn.utils.validation import check_array

from mlreplica.core.compat import _check_feature_names, _check_n_features

from ._categories import SMALL, Coded, group

PLAIN = "biufOUSmM"


def read_columns(estimator, X, *, reset):
    """The columns of X, and how many rows it has: checked, infinity refused, gaps allowed."""
    if type(X) is np.ndarray and is_plain(X) and (reset or fits(estimator, X)):
        if reset:
            estimator.n_features_in_ = X.shape[1]
            vars(estimator).pop("feature_names_in_", None)
        return list(X.T), len(X)
    frame = frame_kind(X)
    if not frame:
        checked = check_array(X, dtype=None, ensure_all_finite="allow-nan")
        if not hasattr(X, "dtype") and checked.dtype.kind == "U":
            checked = check_array(X, dtype=object, ensure_all_finite="allow-nan")
    _check_feature_names(estimator, X, reset=reset)
    _check_n_features(estimator, X if frame else checked, reset=reset)
    if not frame:
        return list(checked.T), len(checked)
    n, p = X.shape
    if min(n, p) == 0:
        check_array(np.empty((n, p)))  # raises
    read = from_pandas if frame == "pandas" else from_polars
    each = (series for _, series in X.items()) if frame == "pandas" else X.get_columns()
    return [finite(read(column)) for column in each], n


def frame_kind(X):
    """Which library a frame is of; empty for all else."""
    module = type(X).__module__.partition(".")[0]
    return module if module in ("pandas", "polars") and len(getattr(X, "shape", ())) == 2 else ""


def is_plain(X):
    """Whether an array needs no more checks."""
    return (
        X.ndim == 2
        and X.size > 0
        and X.dtype.kind in PLAIN
        and not (X.dtype.kind == "f" and np.isinf(X).any())
    )


def fits(estimator, X):
    """Whether an array has the columns that an estimator saw, without names."""
    return X.shape[1] == getattr(estimator, "n_features_in_", None) and not hasattr(
        estimator, "feature_names_in_"
    )


def finite(column):
    """A column, unless it holds an infinite number."""
    if not isinstance(column, Coded) and column.dtype.kind not in "OUSmMbiu":
        check_array(column, dtype=None, ensure_2d=False, ensure_all_finite="allow-nan")
    return column


def with_gap(codes, values, gap):
    """`Coded` values with a mark for −1 at the end, if there is a −1."""
    codes = np.asarray(codes, np.int64)
    if not (codes < 0).any():
        return Coded(codes, values)
    more = np.empty(len(values) + 1, values.dtype if values.dtype.kind == "f" else object)
    more[:-1] = values
    more[-1] = gap
    return Coded(codes, more)


def from_pandas(series):
    """A column of a pandas frame."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return series.to_numpy()
    if dtype.name == "category":
        return with_gap(series.cat.codes, np.asarray(series.cat.categories), np.nan)
    if hasattr(dtype, "numpy_dtype") and dtype.numpy_dtype.kind in "biuf":  # Int64, boolean …
        if series.isna().any():
            return series.to_numpy(dtype=np.float64, na_value=np.nan)
        return series.to_numpy(dtype=dtype.numpy_dtype)
    if getattr(dtype, "kind", "") == "M":  # with a time zone: what a clock there shows
        return series.dt.tz_localize(None).to_numpy()
    if len(series) <= SMALL:
        return np.asarray(series, dtype=object)
    codes, values = series.array.factorize()
    return with_gap(codes, np.asarray(values, dtype=object), np.nan)


def from_polars(series):
    """A column of a polars frame."""
    kind = str(series.dtype).partition("(")[0]
    if kind == "String":
        numbers = series.hash().to_numpy().view(np.int64)
    elif kind in ("Categorical", "Enum"):
        numbers = series.to_physical().cast(int).fill_null(-1).to_numpy()
    else:
        zone = getattr(series.dtype, "time_zone", None)
        return (series.dt.replace_time_zone(None) if zone else series).to_numpy()
    codes, first = group(numbers.reshape(-1, 1))
    found = series.gather(first) if hasattr(series, "gather") else series[first]
    if kind == "String" and not series.eq_missing(found.gather(codes)).all():
        return series.to_numpy()  # two texts have one hash
    values = np.empty(len(first), object)
    values[:] = found.to_list()
    return Coded(codes, values)


def series_of(y):
    """A column of a frame, or None if y is something else."""
    module = type(y).__module__.partition(".")[0]
    if module not in ("pandas", "polars") or len(getattr(y, "shape", ())) != 1:
        return None
    if module == "pandas":
        return from_pandas(y) if hasattr(y, "iloc") else None
    return from_polars(y)
