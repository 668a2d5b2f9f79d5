r"""Boosting on blocks: rows are binned once, and their bytes grow the trees of memory

The thresholds are those of a fit in memory: of all rows, or of the same random rows if there are
more than 200,000. Three walks over the source give all that is needed:

    1   how many rows there are, their targets and weights, the values of categorical columns
    2   the rows that choose the thresholds
    3   the code of every number: one byte

The rest is the fit in memory itself, on the same bytes: the same trees, bit for bit. The bytes stay
in memory; more than `IN_MEMORY` of them go to a temporary file that is mapped into it.
"""

from __future__ import annotations

import tempfile
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from mlreplica.core.compat import _check_categorical_features
from mlreplica.core.compile.threads import n_threads
from mlreplica.core.inputs import Inputs
from mlreplica.ensemble.histogram.binning import Binnable, Codes, blocks_of, encode

from ._blocks import Block, dense
from ._rows import Rows
from ._sample import OTHER, present, taken

IN_MEMORY = 1 << 30  # bytes


def fit_boosting(model: Any, rows: Rows) -> None:
    """HistGradientBoostingRegressor and HistGradientBoostingClassifier."""
    if model.warm_start and model.__sklearn_is_fitted__():
        raise ValueError("warm_start=True needs all rows in memory; fit more rounds at once.")
    if rows.width is None:
        next(iter(rows), None)  # the first block tells
    source = Source(rows, categorical_columns(model, rows))
    model._inputs = source.inputs_of(model).named(rows.names)
    model.n_features_in_ = rows.width
    if rows.names is not None:
        model.feature_names_in_ = np.array(rows.names, dtype=object)
    model._learn(BlockRows(source, np.arange(len(source.y))), source.y, source.s, None, None, None)


def categorical_columns(model: Any, rows: Rows) -> Any:
    """Which columns are categorical; None if none is."""
    chosen = model.categorical_features
    if chosen is not None and not isinstance(chosen, str) and rows.names is not None:
        chosen = [rows.names.index(c) if c in rows.names else c for c in chosen]
    return _check_categorical_features(np.empty((0, rows.width or 0)), chosen)


class Source:
    """A source of rows, and what the first walk tells."""

    def __init__(self, rows: Rows, categorical: Any) -> None:
        self.rows, self.categorical = rows, categorical
        columns = [] if categorical is None else np.flatnonzero(categorical).tolist()
        self.first: dict[int, int] = {}  # number of the first row of each block
        self.values = [np.empty(0) for _ in columns]
        self.other: Any = None
        n, ys, weights = 0, [], []
        for number, size, y, s, values in present(rows.map(survey, columns)):
            self.first[number], n = n, n + size
            ys.append(y)
            weights.append(s)
            self.values = [np.union1d(*pair) for pair in zip(self.values, values, strict=True)]
        if not n:
            raise ValueError("Found array with 0 sample(s): no block has a row.")
        self.y = np.concatenate(ys)
        self.s = None if weights[0] is None else np.concatenate(weights)
        self.as_numbers: Any = None  # a function, where columns are categorical

    def inputs_of(self, model: Any) -> Inputs:
        """What turns categories into numbers."""
        p = self.rows.width or 0
        if self.categorical is None:
            return Inputs(SimpleNamespace(categorical_features=None), np.empty((0, p)))
        few = np.zeros((max(map(len, self.values)), p))
        for j, known in zip(np.flatnonzero(self.categorical), self.values, strict=True):
            few[:, j] = np.resize(known, len(few))
        owner = SimpleNamespace(categorical_features=self.categorical)
        inputs = Inputs(owner, few, most=model.max_bins)
        self.as_numbers = partial(inputs.rows, owner, reset=False)
        return inputs

    def encoded(self, which: Any, bins: Any) -> Codes:
        """The codes of the rows of these numbers, which rise; those of the others are kept.

        A fit that stops early asks for both, and files are read once.
        """
        kept, self.other = self.other, None
        if kept is not None and kept[0] is bins and len(which) and not kept[1][which[0]]:
            return kept[2]
        here = np.zeros(len(self.y), dtype=bool)
        here[which] = True
        threads = n_threads()
        p, inside = len(bins.low), int(here.sum())
        both = room_for(inside, p, threads), room_for(len(here) - inside, p, threads)
        filled = [0, 0]
        for number, size, codes in present(self.rows.map(coded, bins, threads, self.as_numbers)):
            first = self.first.get(number, len(here))
            rows_here = here[first : first + size]
            for k, rows in enumerate((rows_here, ~rows_here)):
                put(both[k], filled[k], codes, rows)
                filled[k] += int(rows.sum())
        if sum(filled) != len(here):
            raise ValueError(OTHER)
        self.other = (bins, here, both[1]) if filled[1] else None
        return both[0]


class BlockRows(Binnable):
    """Rows of a source by their numbers."""

    def __init__(self, source: Source, which: Any) -> None:
        self.source, self.which = source, which
        self.shape = len(which), source.rows.width

    def __getitem__(self, rows: Any) -> BlockRows:
        return BlockRows(self.source, self.which[rows])

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        source = self.source
        return taken(source.rows, source.first, self.which, source.as_numbers)

    def codes(self, bins: Any) -> Codes:
        return self.source.encoded(self.which, bins)


def survey(block: Block, columns: list[int]) -> tuple[Any, ...]:
    """Number and size of a block, its targets and weights, and the values of some columns."""
    X, y, s = dense(block, target=True, gaps=True)
    return block.number, len(X), y, s, [np.unique(X[:, j]) for j in columns]


def coded(block: Block, bins: Any, threads: int, work: Any) -> tuple[int, int, Codes]:
    """Number and size of a block, and its codes."""
    X, _, _ = dense(block, gaps=True)
    X = X if work is None else work(X)
    return block.number, len(X), encode(X, bins, threads)


def room_for(n: int, p: int, threads: int) -> Codes:
    """Codes of n rows, to be filled."""
    width, blocks, place = blocks_of(n, p, threads)
    if 4 * n * width <= IN_MEMORY:
        words = np.zeros(n * width, dtype=np.uint32)
    else:
        with tempfile.TemporaryFile(prefix="mlreplica-") as file:  # gone when nobody maps it
            words = np.memmap(file, np.uint32, "w+", shape=(n * width,)).view(np.ndarray)
    return Codes(words, blocks, place, np.zeros(p, dtype=bool))


def put(codes: Codes, at: int, some: Codes, rows: Any) -> None:
    """Copy the codes of some rows of a block; they become the rows from `at` on."""
    for (start, wide, low, high), (first, *_) in zip(codes.blocks, some.blocks, strict=True):
        words = some.words[first : first + len(rows) * wide].reshape(len(rows), wide)
        words = words if rows.all() else words[rows]
        codes.words[start + at * wide :][: words.size] = words.ravel()
        if some.gaps[low:high].any():
            found = words.reshape(-1, wide).view(np.uint8)[:, : high - low] == 0
            codes.gaps[low:high] |= found.any(axis=0)
