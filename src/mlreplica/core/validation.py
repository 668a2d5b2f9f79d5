"""Validate: once, at the boundary; nothing inside checks again"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from sklearn.utils import validation
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.compile.threads import n_threads, run, split

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
OTHER = {"skip_check_array", "validate_separately"}  # with these, X need not be numbers
FEW = 64  # numbers that Python adds up sooner than NumPy

PLAIN = (bool, int, float, str, type(None))
_valid: set[tuple[Any, ...]] = set()  # parameters that have passed, with their class and types


class ValidatedOnce:
    """Parameters that are plain values are validated once: to look at them takes 0.3 ms a fit.

    It stands before `BaseEstimator`, which validates them.
    """

    def _validate_params(self) -> None:
        model: Any = type(self)
        values = [getattr(self, name) for name in _parameters(model)]
        kinds = tuple(type(value) for value in values)
        key = (type(self), kinds, *values) if all(kind in PLAIN for kind in kinds) else None
        if key is None or key not in _valid:
            super()._validate_params()  # type: ignore[misc]
            if key is not None:
                if len(_valid) > 1000:
                    _valid.clear()
                _valid.add(key)


@cache
def _parameters(model: Any) -> list[str]:
    """The names of the parameters; to read them from the signature takes 0.1 ms."""
    return list(model._get_param_names())


def validation_rows(X_val: Any, y_val: Any, eval_set: Any) -> tuple[Any, Any]:
    """Return X_val and y_val, or the last pair of `eval_set`, as LightGBM and XGBoost call them."""
    if eval_set is None:
        return X_val, y_val
    if X_val is not None or y_val is not None:
        raise ValueError("eval_set and X_val, y_val are the same thing; give one of the two.")
    pairs = [eval_set] if isinstance(eval_set, tuple) else list(eval_set)
    if not pairs or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        raise ValueError(
            "eval_set must be a pair (X_val, y_val) or a list of such pairs, of which the last is "
            "validated on."
        )
    return pairs[-1][0], pairs[-1][1]


def validate_data(estimator: Any, X: Any = "no_validation", /, *args: Any, **given: Any) -> Any:
    """scikit-learn's `validate_data`; words among numbers are named, and our classes advised."""
    try:
        found = validation.validate_data(estimator, X, *args, **given)
    except ValueError as error:
        if "could not convert" in str(error) or "invalid literal" in str(error):
            refuse_words(X)
        if (peer := "sklearn.ensemble.HistGradient") in str(error):
            advice = str(error).replace(peer, peer.replace("sklearn", "mlreplica"))
            raise ValueError(advice.partition(" See https://")[0]) from None
        raise
    rows = found[0] if isinstance(found, tuple) else found
    if (
        getattr(rows, "dtype", None) == np.dtype(object)
        and OTHER.isdisjoint(given)
        and str(given.get("dtype", "numeric")) == "numeric"
    ):
        refuse_words(X)  # of polars and pyarrow, which scikit-learn lets pass
    return found


def refuse_words(X: Any) -> None:
    """Raise for the first column of X, a table or rows, that holds words."""
    if isinstance(X, str):  # only y is validated
        return
    names = getattr(X, "column_names", getattr(X, "columns", None))  # pyarrow; pandas and polars
    table = np.array(X, dtype=object, ndmin=2) if names is None else X
    for name in range(table.shape[1]) if names is None else names:
        try:
            np.asarray(table[:, name] if names is None else table[name], dtype=float)
        except TypeError:  # neither a number nor a word
            continue
        except ValueError as error:
            raise ValueError(
                f"{error} in column {name!r}. Encode words as numbers, by OneHotEncoder or "
                "OrdinalEncoder in a ColumnTransformer; `mlreplica compare` does so by itself."
            ) from None


def new_rows(estimator: Any, X: Any, *, accept_sparse: bool | str | list[str] = False) -> Any:
    """X as a fitted estimator takes it: finite, floating, with the columns seen in fit.

    A plain float array of the right width needs no more than a sum (finite unless an entry is not,
    or the sum overflows; then the long way decides). All else goes through scikit-learn. A row or
    two are summed by Python, which takes a microsecond; NumPy takes four.
    """
    if (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in FLOATS
        and X.shape[1] == getattr(estimator, "n_features_in_", None)
        and len(X) > 0
        and not hasattr(estimator, "feature_names_in_")
    ):
        if X.size <= FEW:
            if math.isfinite(sum(X.ravel().tolist())):
                return X
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                if math.isfinite(X.sum()):
                    return X
    check_is_fitted(estimator)
    return validate_data(estimator, X, reset=False, accept_sparse=accept_sparse, dtype=FLOATS)


def is_plain(X: Any, y: Any, kinds: str, *, contiguous: bool = True) -> bool:
    """Whether X is a finite array of floats and y a finite number a row: nothing to validate.

    `kinds` are the kinds of numbers that y may hold, as NumPy names them by letters.
    """
    return (
        type(X) is type(y) is np.ndarray
        and y.shape == X.shape[:1]
        and y.dtype.kind in kinds
        and is_plain_array(X, contiguous=contiguous)
        and (y.dtype.kind in "iu" or is_finite(y))
    )


def is_plain_array(X: Any, *, contiguous: bool = True) -> bool:
    """Whether X is a finite matrix of floats."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in FLOATS
        and (X.flags.c_contiguous or not contiguous)
        and X.size > 0
        and is_finite(X)
    )


def is_plain_csr(X: Any, y: Any, kinds: str, *, finite: bool = True) -> bool:
    """The same for rows in CSR with indices of 32 bits; X may be left for the caller to check."""
    return (
        getattr(X, "format", None) == "csr"
        and X.dtype in FLOATS
        and X.indices.dtype == np.int32
        and min(X.shape) > 0
        and type(y) is np.ndarray
        and y.shape == X.shape[:1]
        and y.dtype.kind in kinds
        and (not finite or is_finite(X.data))
        and (y.dtype.kind in "iu" or is_finite(y))
    )


@np.errstate(over="ignore", invalid="ignore")
def is_finite(X: Any) -> bool:
    """Whether the sum is finite, on threads: false if an entry is not, or if the sum overflows."""
    if X.size <= 1 << 18:
        return math.isfinite(X.sum())
    parts = split(len(X), n_threads(), least=1 + (1 << 18) * len(X) // X.size)
    return math.isfinite(sum(run(lambda rows: X[rows].sum(), parts)))


def refuse_overflow(estimator: Any, **learned: Any) -> None:
    """Raise if an array that predictions are made of holds a number that is not finite."""
    for name, values in learned.items():
        bad = np.size(values) - np.count_nonzero(np.isfinite(values))
        if bad:
            raise ValueError(
                f"{type(estimator).__name__} overflowed: {bad} of {np.size(values)} numbers in "
                f"{name} are not finite. Scale X and y, for instance by StandardScaler, and use "
                "moderate weights, penalties and learning rates."
            )


def refuse_heavy_share(sample_weight: Any, max_samples: Any) -> None:
    """Raise if a share of the total weight is more rows than can be drawn."""
    if sample_weight is None or not isinstance(max_samples, float | np.floating):
        return
    total = float(np.sum(np.asarray(sample_weight, dtype=float)))
    if max_samples * total >= 2.0**31:
        raise ValueError(
            f"max_samples={max_samples} of a total sample_weight of {total:.3g} is more rows than "
            "can be drawn; divide sample_weight by its mean, or give max_samples as an integer."
        )


def refuse_weightless_folds(sample_weight: Any, folds: Any) -> None:
    """Raise if a fold of cross-validation has no weight to train on or to be scored by."""
    if sample_weight is None:
        return
    for k, parts in enumerate(folds):
        for part, use in zip(parts, ("train on", "score"), strict=True):
            if not sample_weight[part].any():
                raise ValueError(
                    f"Fold {k} of cv has no row of positive sample_weight to {use}; leave out the "
                    "rows of weight 0, or use KFold(shuffle=True)."
                )


def distinct(y: Any) -> tuple[Any, Any]:
    """np.unique(y, return_inverse=True); whole numbers close together need no sorting."""
    if y.dtype.kind in "iu":
        low, high = int(y.min()), int(y.max())
        if high - low <= len(y) and low >= -(2**62) and high < 2**62:
            codes = y.astype(np.int64) - low
            present = np.bincount(codes) > 0
            classes = (np.flatnonzero(present) + low).astype(y.dtype)
            return classes, codes if present.all() else (np.cumsum(present) - 1)[codes]
    return np.unique(y, return_inverse=True)
