r"""Binning: every number becomes one byte

A split "x_j ≤ t" only asks on which side of t a number lies, so that a column can be replaced by
the rank of its values among a few thresholds t_1 < … < t_m chosen beforehand:

    code(x) = 1 + #{k : t_k < x},      code(missing) = 0                                      (1)

and x ≤ t_k  ⇔  code(x) ≤ k, if x is there. With at most 255 values to tell apart every threshold
lies half-way between neighbours and nothing is lost. Otherwise t_k is the k/(m+1) quantile of the
column's values (of 200,000 rows at most): bins of equal weight, whatever the scale of x.

The codes of up to sixteen columns stand side by side (a block), four to a word of 32 bits, row
after row. One cache line holds all that a histogram of these columns needs of a row, and sixteen
histograms of 256 sums fit the first-level cache.
"""

import itertools
from typing import NamedTuple

import numpy as np

from mlreplica.core.jit import kernel
from mlreplica.core.parallel import n_threads, run, split

CODES = 256  # 0 is "missing"
SAMPLE = 200_000  # rows that choose the thresholds
SLAB = 4096  # rows converted at a time


class Codes(NamedTuple):
    """The binned rows, block after block."""

    words: np.ndarray  # (n · words a row,) uint32
    blocks: np.ndarray  # (B, 4): first word, words a row, first column, behind the last column
    place: np.ndarray  # (p, 3): first word of a column, words from row to row, its bits in a word
    gaps: np.ndarray  # (p,) whether a value is missing


class Bins(NamedTuple):
    """What binning has learned about the columns."""

    edges: np.ndarray  # (p, 256) thresholds t_1, t_2 … then +∞
    n_bins: np.ndarray  # (p,) codes in use, "missing" aside


def learn_bins(X, max_bins, levels, weight, rng):
    """Thresholds of every column; `levels[j]` is the number of categories, 0 for a number."""
    n, p = X.shape
    if n > SAMPLE:  # with replacement: a row of weight 2 is two rows
        share = None if weight is None else weight / weight.sum()
        rows = np.sort(rng.choice(n, SAMPLE, p=share, replace=True))
        X, weight = np.take(X, rows, axis=0), None
    edges = np.full((p, CODES), np.inf)
    n_bins = np.empty(p, dtype=np.int64)

    def learn(j):
        if levels[j]:
            found = np.arange(levels[j] - 1) + 0.5
        else:
            found = thresholds(X[:, j], max_bins, weight)
        edges[j, : len(found)] = found
        n_bins[j] = len(found) + 1

    run(learn, range(p), n_jobs=None if X.size > 20_000 else 1)
    return Bins(edges, n_bins)


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


def encode(X, bins):
    """The `Codes` of all rows."""
    n, p = X.shape
    threads = n_threads()
    width, blocks, place = blocks_of(n, p, threads)
    words = np.zeros(n * width, dtype=np.uint32)
    codes = words.view(np.uint8)

    def fill(rows):
        gaps = np.zeros(p, dtype=np.int64)
        for start in range(rows.start, rows.stop, SLAB):
            slab = slice(start, min(start + SLAB, rows.stop))
            encode_rows(
                np.ascontiguousarray(X[slab], dtype=float), start, *bins, place, codes, gaps
            )
        return gaps

    gaps = sum(run(fill, split(n, threads, least=SLAB)))
    return Codes(words, blocks, place, gaps > 0)


@kernel
def encode_rows(X, first, edges, n_bins, place, codes, gaps):
    """Write (1) for the rows `first`, `first` + 1, …; count the gaps of each column."""
    n, p = X.shape
    for j in range(p):
        t, step = edges[j], 4 * place[j, 1]
        at = 4 * place[j, 0] + place[j, 2] // 8 + first * step
        if n_bins[j] <= 16:
            for i in range(n):
                x, k = X[i, j], 0
                k += 8 * (t[7] < x)
                k += 4 * (t[k + 3] < x)
                k += 2 * (t[k + 1] < x)
                k += t[k] < x
                codes[at + i * step] = (k + 1) * (x == x)  # noqa: PLR0124
                gaps[j] += x != x  # noqa: PLR0124
            continue
        for i in range(n):
            x, k = X[i, j], 0
            k += 128 * (t[127] < x)
            k += 64 * (t[k + 63] < x)
            k += 32 * (t[k + 31] < x)
            k += 16 * (t[k + 15] < x)
            k += 8 * (t[k + 7] < x)
            k += 4 * (t[k + 3] < x)
            k += 2 * (t[k + 1] < x)
            k += t[k] < x
            codes[at + i * step] = (k + 1) * (x == x)  # noqa: PLR0124
            gaps[j] += x != x  # noqa: PLR0124
