r"""Binning: every number becomes one byte (equations go on from `rounds.py`)

A split "x_j ≤ t" only asks on which side of t a number lies, so that a column can be replaced by
the rank of its values among a few thresholds t_1 < … < t_m chosen beforehand:

    code(x) = 1 + #{k : t_k < x},      code(missing) = 0                                      (6)

and x ≤ t_k  ⇔  code(x) ≤ k, if x is there. With at most 255 values to tell apart every threshold
lies half-way between neighbours and nothing is lost. Otherwise t_k is the k/(m+1) quantile of the
column's values (of 200,000 rows at most): bins of equal weight, whatever the scale of x.

The rank is found in a table. The span of the thresholds is cut into 512 cells of equal width, each
knowing how many thresholds lie in earlier ones; t_k < x whenever t_k lies in an earlier cell than
x. What is left is a binary search among the thresholds of one cell: mostly one comparison, and
eight if the scale of x puts all thresholds in one cell. 256 rows take each step side by side.

The codes of up to sixteen columns stand side by side (a block), four to a word of 32 bits, row
after row. One cache line holds all that a histogram of these columns needs of a row, and sixteen
histograms of 256 sums fit the first-level cache.
"""

import itertools
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from mlreplica.core.compile.intrinsics import larger, smaller
from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run, split

CODES = 256  # 0 is "missing"
SAMPLE = 200_000  # rows that choose the thresholds
SLAB = 4096  # rows converted at a time
LANES = 256  # rows side by side
CELLS = 512  # of a column's span; also room for a search to look behind 254 thresholds


class Codes(NamedTuple):
    """The binned rows, block after block."""

    words: np.ndarray  # (n · words a row,) uint32
    blocks: np.ndarray  # (B, 4): first word, words a row, first column, behind the last column
    place: np.ndarray  # (p, 3): first word of a column, words from row to row, its bits in a word
    gaps: np.ndarray  # (p,) whether a value is missing


class Bins(NamedTuple):
    """What binning has learned about the columns."""

    edges: np.ndarray  # (p, 512) thresholds t_1, t_2 … at most 254, then +∞
    low: np.ndarray  # (p,) t_1
    scale: np.ndarray  # (p,) cells by unit of x
    earlier: np.ndarray  # (p, 512) thresholds in earlier cells
    half: np.ndarray  # (p,) first step of the search in a cell
    n_bins: np.ndarray  # (p,) codes in use, "missing" aside


def bins_of(columns):
    """`Bins` of columns whose thresholds, rising, are given."""
    p = len(columns)
    edges, earlier = np.full((p, CELLS), np.inf), np.zeros((p, CELLS), dtype=np.uint8)
    low, scale, half = np.zeros(p), np.zeros(p), np.zeros(p, dtype=np.int64)
    for j, t in enumerate(columns):
        if len(t) == 0:
            continue
        edges[j, : len(t)], low[j] = t, t[0]
        with np.errstate(over="ignore"):
            wanted = CELLS / (t[-1] - t[0]) if t[-1] > t[0] else 0.0
        scale[j] = wanted if np.isfinite(wanted) else 0.0  # 0: all lie in one cell
        cell = np.minimum((t - t[0]) * scale[j], CELLS - 1) if scale[j] else np.zeros(len(t))
        count = np.bincount(cell.astype(np.int64), minlength=CELLS)
        earlier[j] = np.cumsum(count) - count
        half[j] = 1 << (int(count.max()).bit_length() - 1)
    return Bins(edges, low, scale, earlier, half, np.array([len(t) + 1 for t in columns]))


def learn_bins(X, max_bins, levels, weight, rng):
    """Thresholds of every column; `levels[j]` is the number of categories, 0 for a number."""
    n, p = X.shape
    if n > SAMPLE:  # with replacement: a row of weight 2 is two rows
        share = None if weight is None else weight / weight.sum()
        rows = np.sort(rng.choice(n, SAMPLE, p=share, replace=True))
        X, weight = X[rows], None
    X = np.asarray(X)

    def learn(j):
        if levels[j]:
            return np.arange(levels[j] - 1) + 0.5
        return thresholds(X[:, j], max_bins, weight)

    return bins_of(run(learn, range(p), n_jobs=None if X.size > 20_000 else 1))


def thresholds(x, max_bins, weight=None):
    """The thresholds of one column: midpoints of few values, or quantiles of many."""
    known = ~np.isnan(x)
    if weight is None:
        x = np.sort(x[known].astype(float, copy=False))
    else:
        known &= weight > 0
        x, weight = x[known].astype(float, copy=False), weight[known]
        order = np.argsort(x, kind="stable")
        x, weight = x[order], weight[order]
    if len(x) == 0:
        return x
    last = np.append(np.flatnonzero(x[1:] != x[:-1]), len(x) - 1)  # of every distinct value
    values = x[last]
    if len(values) <= max_bins:
        with np.errstate(invalid="ignore", over="ignore"):
            found = 0.5 * values[:-1] + 0.5 * values[1:]
    else:
        upto = last + 1 if weight is None else np.cumsum(weight)[last]
        # the weight k/m of the whole: compared times m, so that whole numbers stay exact
        k = np.arange(1, max_bins)
        scaled, wanted = upto * max_bins, k * upto[-1]
        low = np.searchsorted(scaled, wanted, side="left")
        high = np.searchsorted(scaled, wanted, side="right")  # the next value if met exactly
        found = np.unique(0.5 * values[low] + 0.5 * values[np.minimum(high, len(values) - 1)])
    return np.minimum(found, np.finfo(float).max)  # an infinite value still lies above


def blocks_of(n, p, threads):
    """How words are dealt to blocks: at most four a block, and a block for every thread."""
    width = -(-p // 4)
    count = max(-(-width // 4), min(threads, width))
    ends = [width * b // count for b in range(count + 1)]
    blocks = [[n * a, b - a, 4 * a, min(4 * b, p)] for a, b in itertools.pairwise(ends)]
    place = [
        [first + (j - start) // 4, wide, 8 * ((j - start) % 4)]
        for first, wide, start, stop in blocks
        for j in range(start, stop)
    ]
    return width, np.array(blocks, dtype=np.int64), np.array(place, dtype=np.int64)


class Binnable(ABC):
    """Rows that are not in memory: what a fit asks of X that is no array."""

    shape: tuple[int, int]

    def __len__(self):
        return self.shape[0]

    @abstractmethod
    def __getitem__(self, rows):
        """Some of the rows, by their numbers."""

    @abstractmethod
    def __array__(self, dtype=None, copy=None):
        """The rows as an array; asked of few rows only."""

    @abstractmethod
    def codes(self, bins):
        """The `Codes` of all rows."""


def codes_of(X, bins):
    """The `Codes` of an array, or of a `Binnable`."""
    return X.codes(bins) if isinstance(X, Binnable) else encode(X, bins)


def encode(X, bins, threads=None):
    """The `Codes` of all rows, as they are dealt to so many threads."""
    n, p = X.shape
    threads = threads or n_threads()
    width, blocks, place = blocks_of(n, p, threads)
    words = np.zeros(n * width, dtype=np.uint32)
    codes = words.view(np.uint8)

    def fill(rows):
        gaps = np.zeros(p, dtype=np.int64)
        room = np.empty(LANES), np.empty(LANES, np.int32), np.empty(LANES, np.uint8)
        for start in range(rows.start, rows.stop, SLAB):
            slab = slice(start, min(start + SLAB, rows.stop))
            rows_of_slab = np.ascontiguousarray(X[slab], dtype=float)
            encode_rows(rows_of_slab, start, *bins[:5], place, *room, codes, gaps)
        return gaps

    gaps = sum(run(fill, split(n, threads, least=SLAB)))
    return Codes(words, blocks, place, gaps > 0)


@kernel(borrow=True)
def encode_rows(X, first, edges, low, scale, earlier, half, place, x, k, c, codes, gaps):
    """Write (6) for the rows `first`, `first` + 1, …; count the gaps of each column.

    x, k, c: room for as many rows as go side by side.
    """
    n, p = X.shape
    for start in range(0, n, LANES):
        m = smaller(LANES, n - start)
        for j in range(p):
            for i in range(m):
                x[i] = X[start + i, j]
            rank(x, edges[j], low[j], scale[j], earlier[j], half[j], k, c)
            step = 4 * place[j, 1]
            at = 4 * place[j, 0] + place[j, 2] // 8 + (first + start) * step
            for i in range(m):
                codes[at + i * step] = c[i]
                gaps[j] += c[i] == 0


@kernel(fastmath=frozenset(), part=True, borrow=True)  # cells must not fall where x rises
def rank(x, t, low, scale, earlier, half, k, c):
    """c ← (6) for the values of one column, side by side; k is room to work."""
    for i in range(len(c)):
        cell = (x[i] - low) * scale
        cell = larger(0.0, cell)  # if x is missing, too
        k[i] = np.int32(cell if cell < CELLS - 1 else CELLS - 1.0)
    for i in range(len(c)):
        k[i] = earlier[k[i]]
    while half > 0:
        for i in range(len(c)):
            k[i] += half if t[k[i] + half - 1] < x[i] else 0
        half //= 2
    for i in range(len(c)):
        c[i] = k[i] + 1 if x[i] == x[i] else 0
