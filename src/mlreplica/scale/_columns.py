r"""Statistics of columns: quantiles, means and values for scalers, imputers and encoders

The value at place k of a sorted column is found digit by digit. Floats keep their order if their
bits are read as whole numbers (the sign flipped, and all other bits of a negative one). So a
walk counts the values by their first 13 bits, and the counts tell the 13 bits of the value at
place k, and how many values lie below all that begin with them:

    Σ_blocks #{x : x begins with the bits found so far, d is its next digit}   for every d  (3)

Five walks find all 64 bits: the quantile is that of memory, exactly, with no more than 8192 counts
per column and place, however many rows there are and however they are distributed.

What a transformer has learned from a column is then told to its own `fit` by a few rows that stand
for all: two rows with its mean and a gap, a row for each of its values.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from mlreplica.core.compat import is_scalar_nan
from mlreplica.core.rows.walk import Sums
from mlreplica.preprocessing._order import between, places
from mlreplica.preprocessing._quantile import some_rows

from ._blocks import Block, dense
from ._rows import Rows
from ._sample import numbered, taken

DIGITS = (13, 13, 13, 13, 12)  # bits of each digit
SIGN = np.uint64(1 << 63)


def keys_of(x: Any) -> Any:
    """Whole numbers in the order of floats; −0 is 0."""
    bits = (x + 0.0).view(np.uint64)
    return np.where(bits & SIGN, ~bits, bits | SIGN)


def floats_of(keys: Any) -> Any:
    """The floats of these keys."""
    return np.where(keys & SIGN, keys ^ SIGN, ~keys).view(np.float64)


def known(block: Block) -> tuple[Any, Any]:
    """X and weights; refuses infinity, but not NaN."""
    X, _, s = dense(block, gaps=True)
    infinite = np.isinf(X).any(axis=1)
    if infinite.any():
        raise ValueError(f"X has infinity in row {infinite.argmax()} of the block.")
    return np.asarray(X, dtype=np.float64), s


def digit_counts(block: Block, begin: list[Any], shift: int, width: int) -> Any:
    """(3): (p, beginnings, digits), for the beginnings of each column."""
    X, s = known(block)
    out = np.zeros((len(begin), max(map(len, begin)), 1 << width))
    for j, starts in enumerate(begin):
        here = ~np.isnan(X[:, j])
        key = keys_of(X[here, j]) >> np.uint64(shift)
        digit = (key & np.uint64((1 << width) - 1)).astype(np.int64)
        w, first = None if s is None else s[here], key >> np.uint64(width)
        for k, start in enumerate(starts):
            some = slice(None) if shift + width == 64 else first == start
            out[j, k] = np.bincount(digit[some], None if w is None else w[some], 1 << width)
    return out


def quantiles(rows: Rows, q: Any) -> Any:
    """The quantiles (len(q), p) of every column, as `column_quantiles` has them in memory."""
    shift = 64
    for number, width in enumerate(DIGITS):
        shift -= width
        if number == 0:
            if rows.width is None:
                next(iter(rows), None)  # the first block tells
            begin = [np.zeros(1, np.uint64)] * (rows.width or 0)
        counts = rows.sum(digit_counts, begin, shift, width)
        if number == 0:
            total = counts.sum(axis=(1, 2))
            i, g = places(
                np.maximum(total, 1.0)[:, None], np.asarray(q, dtype=np.float64), "linear"
            )
            wanted = np.stack([np.maximum(i, 0), i + 1], axis=-1).reshape(len(total), -1)
            key, below = np.zeros(wanted.shape, np.uint64), np.zeros(wanted.shape)
        for j, starts in enumerate(begin):
            for t, place in enumerate(wanted[j]):
                count = counts[j, np.searchsorted(starts, key[j, t])]
                upto, last = below[j, t] + np.cumsum(count), np.flatnonzero(count)
                digit = int(np.searchsorted(upto, place, side="right"))
                digit = min(digit, int(last[-1])) if len(last) else 0
                below[j, t] = upto[digit] - count[digit]
                key[j, t] = (key[j, t] << np.uint64(width)) | np.uint64(digit)
        begin = [np.unique(some) for some in key]
    x = floats_of(key).reshape(len(total), -1, 2)
    found = between(x[..., 0], x[..., 1], g)
    return np.where(total[:, None] > 0.0, found, np.nan).T


def fit_robust(model: Any, rows: Rows) -> None:
    """RobustScaler: three quantiles."""
    low, high = model._checked_range()
    model._publish(*quantiles(rows, [low / 100, 0.5, high / 100]))


def fit_quantiles(model: Any, rows: Rows) -> None:
    """QuantileTransformer: the random rows that it draws from all."""
    if model.subsample is None:
        raise ValueError("subsample=None needs all rows in memory; give a number of rows.")
    first, n, weighted = numbered(rows)
    if weighted:
        raise ValueError("QuantileTransformer takes blocks without sample_weight only.")
    which = np.arange(n)[some_rows(n, model.subsample, model.random_state)]
    model.fit(taken(rows, first, which))


class Frequencies(list[Any]):
    """The values of every column, and the weight of each; `a + b` joins them."""

    def __add__(self, other: Any) -> Frequencies:
        return Frequencies(
            weighed(*map(np.concatenate, zip(a, b, strict=True)))
            for a, b in zip(self, other, strict=True)
        )


def weighed(x: Any, w: Any) -> tuple[Any, Any]:
    """Distinct values, in order, NaN last, and the weight of each."""
    values, which = np.unique(x, return_inverse=True)
    return values, np.bincount(which, w, len(values))


def frequencies(block: Block, gap: Any) -> Frequencies:
    """Of a block, without gaps; gap None: NaN is a value."""
    X, s = known(block)
    s = np.ones(len(X)) if s is None else s
    here = (np.ones_like(X, dtype=bool) if gap is None else ~is_gap(X, gap)) & (s > 0.0)[:, None]
    return Frequencies(weighed(x[h], s[h]) for x, h in zip(X.T, here.T, strict=True))


def fit_encoder(model: Any, rows: Rows) -> None:
    """OneHotEncoder and OrdinalEncoder: the values of every column."""
    if model._joins_infrequent:
        raise ValueError("min_frequency and max_categories need all rows in memory.")
    found = [values for values, _ in rows.sum(frequencies, None)]
    model.fit(np.column_stack([np.resize(x, max(map(len, found))) for x in found]))


def is_gap(X: Any, gap: Any) -> Any:
    """Where a value is missing."""
    return np.isnan(X) if is_scalar_nan(gap) else gap == X


def known_sums(block: Block, gap: Any) -> Sums:
    """Rows, whether weighted; known values of every column, their weight and weighted sum."""
    X, s = known(block)
    if not is_scalar_nan(gap):
        dense(block)  # refuses NaN
    gaps, weighted = is_gap(X, gap), int(s is not None)
    s = np.ones(len(X)) if s is None else s
    return Sums((len(X), weighted, (~gaps).sum(axis=0), s @ ~gaps, s @ np.where(gaps, 0.0, X)))


def fit_imputer(model: Any, rows: Rows) -> None:
    """SimpleImputer: two rows, with what fills each column, and with a gap where it has gaps."""
    gap, strategy = model.missing_values, model.strategy
    if callable(strategy) or not isinstance(gap, Real):
        raise ValueError("a function as strategy, and gaps that are no numbers, need all rows.")
    n, weighted, there, weight, total = rows.sum(known_sums, gap)
    if strategy == "median":
        if weighted:
            raise ValueError("strategy='median' takes blocks without sample_weight only.")
        blank = rows if is_scalar_nan(gap) else rows.mapped(blanked, gap)
        fill = quantiles(blank, [0.5])[0]
    elif strategy == "most_frequent":
        found = rows.sum(frequencies, gap)
        fill = np.array([x[np.argmax(w)] if len(x) else np.nan for x, w in found])
    else:  # the constant is not learned
        fill = total / np.where(weight > 0.0, weight, np.nan)
    Z = np.where(np.isnan(fill), gap, np.vstack([fill, np.where(there < n, gap, fill)]))
    model.fit(Z)


def blanked(block: Block, gap: Any) -> Any:
    """X with NaN for gaps."""
    X, _, _ = dense(block)
    return np.where(gap == X, np.nan, X)
