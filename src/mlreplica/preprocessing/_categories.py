"""Categories: the distinct values of a column, and the number of every value among them

A column is a one-dimensional array, or `Coded`: numbers into an array of values, which frames hold
already. Large columns of numbers or texts of fixed width are rows of 64-bit words in a hash table
(`number_keys`); a column of Python objects is first grouped by address, because equal texts are
often the same object, and a dictionary compares one object per address. Missing values, None and
then NaN, come last.
"""

from collections import defaultdict
from typing import NamedTuple

import numpy as np

from mlreplica.core.compile.jit import kernel

SMALL = 256  # rows below which a dictionary is faster than a kernel, which must be loaded, too
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ divided by the golden ratio
SHIFT = np.uint64(32)


class Coded(NamedTuple):
    """A column as numbers of values; −1 stands for the last value."""

    codes: np.ndarray
    values: np.ndarray

    def __len__(self):
        return len(self.codes)


@kernel
def number_keys(words, table, known, first, count, learn, codes):
    """Write the number of every row of `words` (n, k) into `codes`; return how many are known.

    `table`, a power of two long, holds numbers or −1; `known[c]` is the row with number c, met
    `first` at that place. A new row gets the next number if `learn`, else −1; the count is −1 when
    `known` is full.
    """
    n, k = words.shape
    mask = np.uint64(len(table) - 1)
    for i in range(n):
        h = np.uint64(k)
        for j in range(k):
            h = (h ^ np.uint64(words[i, j])) * MULTIPLIER
            h ^= h >> SHIFT
        h *= MULTIPLIER  # of a float, only the upper bits differ
        slot = (h ^ (h >> SHIFT)) & mask
        while True:
            c = table[slot]
            if c < 0:
                if learn:
                    if count == len(known):
                        return -1
                    c = count
                    count += 1
                    table[slot] = c
                    first[c] = i
                    for j in range(k):
                        known[c, j] = words[i, j]
                break
            same = True
            for j in range(k):
                same &= known[c, j] == words[i, j]
            if same:
                break
            slot = (slot + np.uint64(1)) & mask
        codes[i] = c
    return count


def words_of(column):
    """The values of a plain column as rows of 64-bit words, equal where they are; None if not."""
    kind = column.dtype.kind
    if kind in "biumM":
        whole = {"b": np.int64, "i": np.int64, "u": np.uint64}.get(kind, column.dtype)
        return np.ascontiguousarray(column, whole).view(np.int64).reshape(-1, 1)
    if kind == "f" and column.dtype.itemsize <= 8:
        x = column.astype(np.float64) + 0.0  # −0 becomes 0
        gap = np.isnan(x)
        if gap.any():
            x[gap] = np.nan  # one of the many NaNs
        return x.view(np.int64).reshape(-1, 1)
    if kind in "US" and column.dtype.itemsize:
        unit = 2 if kind == "U" else 8
        width = column.dtype.itemsize // (4 if kind == "U" else 1)
        even = np.dtype(f"{kind}{-(-width // unit) * unit}")
        texts = np.ascontiguousarray(column, even)
        return texts.view(np.int64).reshape(len(column), -1)
    return None


def group(words, most=None):
    """Numbers of rows in order of appearance, and the first row of each; None above `most`."""
    n, k = words.shape
    codes = np.empty(n, np.int64)
    most = n if most is None else most
    room = min(most, 1024)
    while True:
        table = np.full(1 << (2 * room - 1).bit_length(), -1)
        known, first = np.empty((room, k), np.int64), np.empty(room, np.int64)
        count = number_keys(words, table, known, first, 0, True, codes)
        if count >= 0:
            return codes, first[:count]
        if room >= most:
            return None
        room = min(16 * room, most)


def addresses(column):
    """Where the objects of a column lie in memory, as words."""
    view = column.__array_interface__ | {"typestr": "<i8", "descr": [("", "<i8")]}
    holder = type("Addresses", (), {"__array_interface__": view, "column": column})()
    return np.ascontiguousarray(np.asarray(holder)).reshape(-1, 1)


def coded(column):
    """A column as `Coded`; of objects, some values may be equal."""
    if isinstance(column, Coded):
        return column
    n = len(column)
    if n > SMALL:
        is_object = column.dtype == object
        words = addresses(column) if is_object else words_of(column)
        found = None if words is None else group(words, most=n // 8 if is_object else None)
        if found is not None:
            return Coded(found[0], column[found[1]])
        if not is_object and words is None:
            values, codes = np.unique(column, return_inverse=True)
            return Coded(codes, values)
    numbers = defaultdict()
    numbers.default_factory = numbers.__len__
    try:
        codes = np.fromiter(map(numbers.__getitem__, column.tolist()), np.int64, n)
    except TypeError:
        raise not_uniform(column) from None
    values = np.empty(len(numbers), column.dtype)
    values[:] = list(numbers)
    return Coded(codes, values)


def not_uniform(values):
    """The error of values that have no order."""
    kinds = sorted({type(value).__qualname__ for value in values})
    return TypeError(
        f"Encoders require their input argument must be uniformly strings or numbers. Got {kinds}"
    )


def is_nan(value):
    """Whether a value differs from itself, as NaN, NaT and pandas' NA do."""
    try:
        return bool(value != value)  # noqa: PLR0124
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def categories_of(column):
    """The distinct values of a column, in order, and the number of every entry among them."""
    codes, values = coded(column)
    m = len(values)
    if isinstance(column, Coded):
        seen = np.bincount(codes + 1, minlength=m + 1)
        seen[m] += seen[0]  # −1 is the last value
        keep = np.flatnonzero(seen[1:])
    else:
        keep = np.arange(m)
    if values.dtype == object:
        categories, number = order_objects(values[keep])
    else:
        categories, number = order_plain(values[keep])
    if len(keep) == m and np.array_equal(number, keep) and not isinstance(column, Coded):
        return categories, codes
    full = np.zeros(m, np.int64)
    full[keep] = number
    return categories, full[codes]


def order_plain(values):
    """Sorted values and the place of each: NaN and NaT last, once."""
    order = np.argsort(values, kind="stable")
    categories, number = values[order], np.empty(len(values), np.int64)
    number[order] = np.arange(len(values))
    if values.dtype.kind in "fcmM":
        gaps = int(np.count_nonzero(np.isnan(categories)))
        if gaps > 1:
            categories = categories[: len(categories) - gaps + 1]
            number = np.minimum(number, len(categories) - 1)
    return categories, number


def order_objects(values):
    """The same for objects, of which some may be equal: None and then NaN last."""
    names, gaps = values.tolist(), []
    if {type(name) for name in names} != {str}:
        gaps = [None] * any(name is None for name in names)
        gaps += [np.nan] * any(is_nan(name) for name in names)
        names = [name for name in names if not (name is None or is_nan(name))]
    try:
        names = sorted(set(names))
    except TypeError:
        raise not_uniform(values) from None
    categories = np.empty(len(names) + len(gaps), object)
    categories[:] = names + gaps
    return categories, Finder(categories).of_values(values.tolist())


class Finder:
    """The numbers of values among categories: −1 for a value that is none of them."""

    def __init__(self, categories):
        self.categories = categories
        self.numbers = self.table = None
        self.nan_at = -1

    def __call__(self, column):
        """The number of every entry of a column."""
        if not isinstance(column, Coded):
            if column.dtype.kind in "mM" and self.categories.dtype.kind == column.dtype.kind:
                return self.of_words(column.astype(self.categories.dtype))
            if len(column) <= SMALL:
                return self.of_values(column.tolist())
            if self.has_words_of(column.dtype):
                return self.of_words(column)
            column = coded(column)
        return self.of_values(column.values.tolist())[column.codes]

    def has_words_of(self, dtype):
        """Whether values of a dtype and the categories have equal words where they are equal."""
        kinds = self.categories.dtype.kind + dtype.kind
        return kinds in ("UU", "uu", "bb", "bi", "ib", "ii") or (
            kinds == "ff" and max(dtype.itemsize, self.categories.dtype.itemsize) <= 8
        )

    def of_words(self, column):
        """The same by a kernel, over columns of the categories' kind."""
        if self.table is None:
            known = words_of(self.categories)
            table = np.full(1 << (2 * len(known)).bit_length(), -1)
            rows = np.empty_like(known)
            first, codes = np.empty((2, len(known)), np.int64)
            number_keys(known, table, rows, first, 0, True, codes)
            self.table = table, rows, first
        table, rows, first = self.table
        words, too_long = words_of(column), None
        if words.shape[1] < rows.shape[1]:
            words = words_of(column.astype(f"U{2 * rows.shape[1]}"))
        elif words.shape[1] > rows.shape[1]:
            too_long = words[:, rows.shape[1] :].any(axis=1)
            words = np.ascontiguousarray(words[:, : rows.shape[1]])
        codes = np.empty(len(words), np.int64)
        number_keys(words, table, rows, first, len(rows), False, codes)
        if too_long is not None:
            codes[too_long] = -1
        return codes

    def of_values(self, values):
        """The numbers of a list of Python objects."""
        if self.numbers is None:
            names = self.categories.tolist()
            self.numbers = {name: c for c, name in enumerate(names)}
            if names and is_nan(names[-1]):
                self.nan_at = len(names) - 1
        if self.categories.dtype.kind == "S":
            values = [v.encode() if isinstance(v, str) else v for v in values]
        get = self.numbers.get
        try:
            codes = np.array([get(value, -1) for value in values], np.int64)
        except TypeError:
            raise not_uniform(values) from None
        if self.nan_at >= 0:
            for i in np.flatnonzero(codes < 0).tolist():
                if is_nan(values[i]):
                    codes[i] = self.nan_at
        return codes
