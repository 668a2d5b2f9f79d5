"""Items of sequences as a sparse matrix: dictionaries, lists of words, arrays or matrices

An item is a dictionary of attributes. A number is the attribute's value, True is 1, a string is
part of the attribute's name, as in "word:dog", and lists, sets and dictionaries hold several.
"""

from itertools import chain, compress, repeat
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp


class Items(NamedTuple):
    """A row per item, a column per attribute; sequence s has rows offsets[s] to offsets[s + 1]."""

    matrix: sp.csr_matrix
    offsets: np.ndarray


def attributes_of(item, prefix=""):
    """(name, value) of every attribute of an item."""
    if isinstance(item, str | bytes):
        yield prefix + as_text(item), 1.0
    elif hasattr(item, "items"):
        for name, value in ((as_text(name), value) for name, value in item.items()):
            if isinstance(value, str | bytes):
                yield f"{prefix}{name}:{as_text(value)}", 1.0
            elif hasattr(value, "items") or isinstance(value, list | tuple | set | frozenset):
                yield from attributes_of(value, f"{prefix}{name}:")
            else:
                yield f"{prefix}{name}", float(value)
    else:
        for name in item:
            yield prefix + as_text(name), 1.0


def as_text(name):
    """A name as a string; bytes are UTF-8."""
    return name.decode() if isinstance(name, bytes) else str(name)


class Vocabulary:
    """Numbers of attributes by name.

    What a pair (name, value) of a dictionary stands for is kept under the pair itself, so that
    dictionaries become rows without a loop in Python.
    """

    def __init__(self, names=()):
        self.numbers = {name: k for k, name in enumerate(names)}
        self.codes, self.columns, self.values = {}, [], []

    def encode(self, X, grow):
        """Items of all sequences; unknown attributes are added, or left out."""
        X = [x if hasattr(x, "__len__") else list(x) for x in X]
        lengths, items = list(map(len, X)), list(chain.from_iterable(X))
        if set(map(type, items)) <= {dict}:
            try:
                rows = self.by_pairs(items, grow)
            except TypeError:  # a value is a list, a set or a dictionary
                rows = self.one_by_one(items, grow)
        else:
            rows = self.one_by_one(items, grow)
        columns, values, indptr = rows
        if not np.isfinite(values).all():
            raise ValueError("X has a value that is not finite.")
        matrix = sp.csr_matrix((values, columns, indptr), shape=(len(items), len(self.numbers)))
        return Items(matrix, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))

    def by_pairs(self, items, grow):
        """Columns, values and row ends of dictionaries whose values can be looked up."""
        ends = np.concatenate([[0], np.cumsum(list(map(len, items)), dtype=np.int64)])
        pairs = lambda: chain.from_iterable(map(dict.items, items))
        found = map(self.codes.get, pairs(), repeat(-1))
        codes = np.fromiter(found, dtype=np.int64, count=ends[-1])
        if (codes < 0).any():
            for pair in dict.fromkeys(compress(pairs(), (codes < 0).tolist())):
                self.add(pair, grow)
            found = map(self.codes.__getitem__, pairs())
            codes = np.fromiter(found, dtype=np.int64, count=ends[-1])
        columns = np.array(self.columns, dtype=np.int64)[codes]
        values, kept = np.array(self.values, dtype=np.float64)[codes], columns >= 0
        if len(self.codes) > 2 * len(self.numbers) + 100_000:  # new words, or numbers: forget them
            self.codes, self.columns, self.values = {}, [], []
        indptr = np.concatenate([[0], np.cumsum(kept)])[ends]
        return columns[kept], values[kept], indptr

    def add(self, pair, grow):
        """Note the column and value that a pair stands for; −1 if it stands for nothing."""
        found = list(attributes_of(dict([pair])))
        if len(found) != 1:
            raise TypeError("the value is a collection.")
        name, value = found[0]
        column = self.number(name, grow)
        self.codes[pair] = len(self.columns)
        self.columns.append(column if value else -1)
        self.values.append(value)

    def one_by_one(self, items, grow):
        """Columns, values and row ends of items of any kind."""
        columns, values, indptr = [], [], [0]
        for item in items:
            for name, value in attributes_of(item):
                column = self.number(name, grow)
                if column >= 0:
                    columns.append(column)
                    values.append(value)
            indptr.append(len(columns))
        return np.array(columns, dtype=np.int64), np.array(values, dtype=np.float64), indptr

    def number(self, name, grow):
        """The attribute's number; −1 if there is none."""
        numbers = self.numbers
        return numbers.setdefault(name, len(numbers)) if grow else numbers.get(name, -1)


def stacked(X, width=None):
    """Sequences that are arrays or sparse matrices, one below the other; None if X is not such."""
    if not len(X) or not all(
        sp.issparse(x) or (isinstance(x, np.ndarray) and x.ndim == 2) for x in X
    ):
        return None
    if not all(x.dtype.kind in "bifu" for x in X):
        return None
    widths = {x.shape[1] for x in X} | ({width} if width is not None else set())
    if len(widths) > 1:
        raise ValueError(f"Every sequence needs the same columns, got widths {sorted(widths)}.")
    matrix = sp.vstack([sp.csr_matrix(x, dtype=np.float64) for x in X], format="csr")
    if not np.isfinite(matrix.data).all():
        raise ValueError("X has a value that is not finite.")
    parts = matrix.data, matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum([x.shape[0] for x in X])]).astype(np.int64)
    return Items(sp.csr_matrix(parts, shape=matrix.shape), offsets)


def encoded_labels(y, offsets):
    """All labels, sorted, and the number of each item's label; raises if lengths differ."""
    lengths = np.diff(offsets)
    if len(y) != len(lengths):
        raise ValueError(f"X has {len(lengths)} sequences, y has {len(y)}.")
    for s, (labels, n) in enumerate(zip(y, lengths.tolist(), strict=True)):
        if len(labels) != n:
            raise ValueError(f"Sequence {s} has {n} items and {len(labels)} labels.")
    flat = [label for labels in y for label in labels]
    if not flat:
        raise ValueError("There is no item to learn from.")
    found = {}
    for label in flat:
        found.setdefault(label, len(found))
    classes = list(found)
    return classes, np.array([found[label] for label in flat], dtype=np.int64)
