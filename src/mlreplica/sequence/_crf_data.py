"""Items of sequences as a sparse matrix: dictionaries, lists of words, arrays or matrices

An item is a dictionary of attributes. A number is the attribute's value, True is 1, a string is
part of the attribute's name, as in "word:dog", and lists, sets and dictionaries hold several.
"""

from itertools import chain
from operator import getitem
from struct import pack
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from mlreplica.core.compile.ahead.library import from_caller


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


RECORD = np.dtype([("column", np.int64), ("value", np.float64)])


class ValueTable(dict):
    """What the values of one key stand for: the bytes of a `RECORD`, made for joining.

    The column is −1 where a value has none.
    """

    __slots__ = ("key", "number")

    def __init__(self, key, number):
        self.key, self.number = key, number

    def __missing__(self, value):
        found = list(attributes_of({self.key: value}))
        if len(found) != 1:
            raise TypeError("the value is a collection.")
        name, amount = found[0]
        column = self.number(name)
        return self.setdefault(value, pack("=qd", column if amount else -1, amount))


class KeyTable(dict):
    """The `ValueTable` of every key of a dictionary."""

    __slots__ = ("number", "size")

    def __init__(self, number):
        self.number, self.size = number, 0

    def __missing__(self, key):
        return self.setdefault(key, ValueTable(key, self.counted))

    def counted(self, name):
        """The number of an attribute that was not looked up before."""
        self.size += 1
        return self.number(name)


class Vocabulary:
    """Numbers of attributes by name.

    What a value stands for is kept under its key and the value itself, so that dictionaries become
    rows without a loop in Python, and without building names such as "word:dog".
    """

    def __init__(self, names=(), grow=False):
        self.numbers, self.grow = {name: k for k, name in enumerate(names)}, grow
        self.tables = KeyTable(self.number)

    def encode(self, X):
        """Items of all sequences; unknown attributes are added if `grow`, or left out."""
        X = [x if hasattr(x, "__len__") else list(x) for x in X]
        lengths, items = list(map(len, X)), list(chain.from_iterable(X))
        try:
            columns, values, indptr = self.by_tables(items)
        except TypeError:  # no dictionary, or its value is a list, a set or a dictionary
            columns, values, indptr = self.one_by_one(items)
        if not np.isfinite(values).all():
            raise ValueError("X has a value that is not finite.")
        matrix = sp.csr_matrix((values, columns, indptr), shape=(len(items), len(self.numbers)))
        return Items(matrix, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))

    def by_tables(self, items):
        """Columns, values and row ends of dictionaries whose values can be looked up."""
        tables = self.tables
        if tables.size > 2 * len(self.numbers) + 100_000:  # new words, or numbers: forget them
            tables = self.tables = KeyTable(self.number)
        if (gather := from_caller("gather")) is not None:
            return gather(items, tables)
        ends = np.zeros(len(items) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, items), np.int64, len(items)), out=ends[1:])
        tables = map(tables.__getitem__, chain.from_iterable(items))
        entries = map(getitem, tables, chain.from_iterable(map(dict.values, items)))
        found = np.frombuffer(b"".join(entries), RECORD)
        kept = found["column"] >= 0
        if not kept.all():
            found, ends = found[kept], np.concatenate([[0], np.cumsum(kept)])[ends]
        return found["column"].copy(), found["value"].copy(), ends

    def one_by_one(self, items):
        """Columns, values and row ends of items of any kind."""
        columns, values, indptr = [], [], [0]
        for item in items:
            for name, value in attributes_of(item):
                column = self.number(name)
                if column >= 0:
                    columns.append(column)
                    values.append(value)
            indptr.append(len(columns))
        return np.array(columns, dtype=np.int64), np.array(values, dtype=np.float64), indptr

    def number(self, name):
        """The attribute's number; −1 if there is none."""
        numbers = self.numbers
        return numbers.setdefault(name, len(numbers)) if self.grow else numbers.get(name, -1)


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
