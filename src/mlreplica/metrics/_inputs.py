"""Inputs: a metric looks at its arguments once, and cheaply

A score of a hundred numbers is an affair of microseconds; generic validation takes a thousand times
as long. So plain NumPy arrays (integers, booleans, floats, strings; one dimension; equal lengths)
pass a few comparisons, and finiteness is read off a sum: a sum is finite unless a term is not, or
it overflows. Everything else (lists, data frames, sparse indicators, mistakes) takes the long way
through scikit-learn's own validators, so that what is accepted, and what is said when it is not,
is the same to the letter.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np

from mlreplica.core.compat import (
    StrOptions,
    validate_params,
)
from mlreplica.core.compile.threads import n_threads, run, split

LARGE = 100_000  # rows from which a compiled kernel repays the start of the compiler
SHARE = 1 << 20  # rows a thread must get to repay its waking


def checked(constraints: dict[str, Any]) -> Any:
    """scikit-learn's `validate_params`, skipped for plain arrays and options known to be valid."""
    arrays = {name for name, rule in constraints.items() if "array-like" in rule}
    options: dict[str, set[Any]] = {}
    for name, rule in constraints.items():
        if rule == "no_validation":
            continue
        known = options[name] = {None} if None in rule else set()
        for part in rule:
            if isinstance(part, StrOptions):
                known |= part.options
            elif isinstance(part, str) and part == "boolean":
                known |= {True, False}

    def plain(name: str, value: Any) -> bool:
        if type(value) is np.ndarray:
            return name in arrays
        return type(value) in (str, bool, type(None)) and value in options.get(name, ())

    def decorate(function: Any) -> Any:
        long_way = validate_params(constraints, prefer_skip_nested_validation=True)(function)
        names = list(inspect.signature(function).parameters)

        @functools.wraps(long_way)
        def score(*args: Any, **kwargs: Any) -> Any:
            if all(map(plain, names, args)) and all(map(plain, kwargs, kwargs.values())):
                return function(*args, **kwargs)
            return long_way(*args, **kwargs)

        return score

    return decorate


def is_plain(*arrays: Any, kinds: str = "biuf") -> bool:
    """Plain one-dimensional arrays of one common length > 0 and of these kinds."""
    n = len(arrays[0]) if type(arrays[0]) is np.ndarray and arrays[0].ndim == 1 else 0
    return n > 0 and all(
        type(a) is np.ndarray and a.shape == (n,) and a.dtype.kind in kinds and a.dtype.isnative
        for a in arrays
    )


def is_finite(*arrays: np.ndarray) -> bool:
    """Surely finite, judged by sums: an overflow says False and sends one the long way."""
    with np.errstate(over="ignore", invalid="ignore"):
        return all(a.dtype.kind != "f" or np.isfinite(a.sum()) for a in arrays)


def is_weight(weight: Any, n: int) -> bool:
    """None, or plain finite weights with a sum that one can divide by."""
    if weight is None:
        return True
    if not is_plain(weight) or len(weight) != n:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(weight.sum())
    return np.isfinite(total) and total != 0.0


def integers(y: np.ndarray) -> np.ndarray | None:
    """Plain labels as int64, or None if they are not whole numbers that fit."""
    if y.itemsize > 8:
        return None
    if y.dtype.kind == "f":
        if not is_finite(y):
            return None
        with np.errstate(invalid="ignore"):
            whole = y.astype(np.int64)
        return whole if np.array_equal(whole, y) else None
    return None if y.dtype == np.uint64 else y.astype(np.int64, copy=False)


def mean(values: np.ndarray, weight: np.ndarray | None = None, normalize: bool = True) -> float:
    """Weighted mean of a score per sample, or its sum."""
    if normalize:
        return float(values.mean() if weight is None else np.average(values, weights=weight))
    return float(values.sum() if weight is None else np.dot(values, weight))


def in_parts(function: Any, n: int) -> list[Any]:
    """function(slice) over range(n), on threads where each gets its share."""
    if n < 2 * SHARE:
        return [function(slice(0, n))]
    return run(function, split(n, n_threads(), least=SHARE))
