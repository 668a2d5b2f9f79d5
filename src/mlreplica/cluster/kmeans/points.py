r"""Points: what k-means asks of rows, dense or sparse, in single or double precision

The nearest of k centres is the one with the largest score, since ‖x‖² is the same for all:

    ‖x − c‖² = ‖x‖² − 2 (xᵀc − ½‖c‖²)                                                      (10)

Scores are computed in single precision, twice as fast, and their rounding is bounded: with unit
roundoff ε, p columns and C the longest centre, 2(xᵀc − ½‖c‖²) is wrong by at most

    e = (p + 5) ε (‖x‖² + ‖C‖²).                                                            (11)

Where the two best scores differ by more, the nearest centre is certain; the few other rows are
compared again by differences in double precision. So labels are those of double precision.

Dense rows go through `score_lanes`, 64 rows side by side in SIMD registers with four centres at a
time; sparse rows are multiplied with all centres at once. Rows are never copied: a block of them is
moved to the origin `shift`, near their mean, when it is read.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mlreplica.core.compile.intrinsics import (
    multiply_tile,
    prefetch_vector,
    smaller,
    squared_distances,
)
from mlreplica.core.compile.jit import SAFE, kernel
from mlreplica.core.compile.threads import run, split

LANES = 64
BLOCK = 1 << 16  # entries of a product that stay in cache
LEAST = 1 << 18  # entries that are worth a task: threads wait for each other between tasks
SUMMED = 1024  # rows whose w D² are added up together
FAR = 2.0**120  # ½‖c‖² of a centre that pads the table, the same in either precision
RARE = 0.05  # share of rows in doubt above which single precision does not pay
FINITE = SAFE | {"nnan"}  # rows have been checked, and scaled so that no score overflows


@kernel(fastmath=FINITE)
def score_lanes(X, rows, shift, tiles, half, name, eps, drift, near, gap, x, S, lanes, doubt):
    """Label each row by (10) and bound its gap; list the rows in doubt, by (11)."""
    n, p, doubts, longest = len(rows), X.shape[1], 0, 0.0
    first, second, x_sq, label = lanes[0], lanes[1], lanes[2], lanes[3]
    least, error = lanes[4], lanes[5]
    s0, s1, s2, s3 = S[0], S[1], S[2], S[3]
    for c in range(len(name)):
        longest = max(longest, 2.0 * half[c] if half[c] < FAR else 0.0)
    scattered = rows[n - 1] - rows[0] > n + n // 8  # else the machine guesses what comes next
    for start in range(0, n, LANES):
        size = min(LANES, n - start)
        for lane in range(LANES):
            if scattered:
                prefetch_vector(X[rows[min(start + lane + LANES, n - 1)]])
            x_i = X[rows[start + min(lane, size - 1)]]
            for j in range(p):
                x[j, lane] = x_i[j] - shift[j]
        for lane in range(LANES):
            first[lane] = second[lane] = -half[len(name)]
            x_sq[lane] = label[lane] = name[0]
        for j in range(p):
            y = x[j]
            for lane in range(LANES):
                x_sq[lane] += y[lane] * y[lane]
        for t in range(len(tiles)):
            multiply_tile(tiles[t], x, S)
            c = 4 * t
            h0, h1, h2, h3 = half[c], half[c + 1], half[c + 2], half[c + 3]
            name0, name1, name2, name3 = name[c], name[c + 1], name[c + 2], name[c + 3]
            for lane in range(LANES):
                best, runner, g = first[lane], second[lane], label[lane]
                v = s0[lane] - h0
                runner = max(runner, min(v, best))
                g = name0 if v > best else g
                best = max(best, v)
                v = s1[lane] - h1
                runner = max(runner, min(v, best))
                g = name1 if v > best else g
                best = max(best, v)
                v = s2[lane] - h2
                runner = max(runner, min(v, best))
                g = name2 if v > best else g
                best = max(best, v)
                v = s3[lane] - h3
                second[lane] = max(runner, min(v, best))
                label[lane] = name3 if v > best else g
                first[lane] = max(best, v)
        for lane in range(LANES):
            sq, v, w = np.float64(x_sq[lane]), np.float64(first[lane]), np.float64(second[lane])
            e = 2.0 * eps * (p + 5) * (sq + longest)
            own = np.sqrt(max(sq - 2.0 * v, 0.0) + e)
            least[lane] = np.sqrt(max(sq - 2.0 * w - e, 0.0)) - own
            error[lane] = 0.5 * e
        for lane in range(size):
            i, g = rows[start + lane], np.int32(label[lane])
            near[i], gap[i] = g, least[lane] + drift[g]
            doubt[doubts] = i
            doubts += first[lane] - second[lane] <= error[lane]
    return doubts


@kernel
def compare(X, rows, shift, C, drift, near, gap):
    """The same by differences in double precision, a row at a time."""
    k, p = C.shape
    for r in range(len(rows)):
        i = rows[r]
        x_i, first, second, g = X[i], np.inf, np.inf, 0
        for c in range(k):
            d = 0.0
            for j in range(p):
                v = (x_i[j] - shift[j]) - C[c, j]
                d += v * v
            if d < first:
                first, second, g = d, first, c
            elif d < second:
                second = d
        near[i], gap[i] = g, np.sqrt(second) - np.sqrt(first) + drift[g]


@kernel(fastmath=FINITE)
def settle_scores(S, x_sq, half, longest, eps, rows, drift, near, gap):
    """The labels and gaps that the products xᵀc in S lead to; S is overwritten."""
    k = S.shape[1]
    for r in range(len(rows)):
        s, i, least = S[r], rows[r], -half[k]
        best = runner = least
        for c in range(k):
            s[c] -= half[c]
            best = max(best, s[c])
        g = np.int32(0)
        while s[g] != best:
            g += np.int32(1)
        s[g] = least
        for c in range(k):
            runner = max(runner, s[c])
        near[i] = g
        e = eps * (x_sq[r] + longest)
        own = np.sqrt(max(x_sq[r] - 2.0 * best, 0.0) + 2.0 * e)
        gap[i] = np.sqrt(max(x_sq[r] - 2.0 * runner - 2.0 * e, 0.0)) - own + drift[g]


@kernel
def multiply_sparse(start, columns, data, rows, CT, S):
    """S ← xᵀc for each row and centre: every entry of a row meets all centres at once."""
    k = CT.shape[1]
    for r in range(len(rows)):
        s = S[r]
        for c in range(k):
            s[c] = 0.0
        for t in range(start[rows[r]], start[rows[r] + 1]):
            v, row = np.float64(data[t]), CT[columns[t]]
            for c in range(k):
                s[c] += v * row[c]


@kernel
def distances_dense(X, rows, shift, C, labels, out):
    """out[i] ← ‖x_i − c‖² with the centre that `labels` names."""
    for r in range(len(rows)):
        i = rows[r]
        x_i, c, s = X[i], C[labels[i]], 0.0
        for j in range(len(shift)):
            v = (x_i[j] - shift[j]) - c[j]
            s += v * v
        out[i] = s


@kernel
def potentials_dense(X, rows, w, closest, C, blocks, d, left):
    """`Points.potentials`; the columns of C are the centres, the newest one last."""
    m = C.shape[1]
    for q in range(len(blocks)):
        s = left[q]
        for r in range(blocks[q] * SUMMED, min((blocks[q] + 1) * SUMMED, len(rows))):
            squared_distances(X[rows[r]], C, d)
            closest[r] = least = smaller(closest[r], d[m - 1])
            for t in range(m):
                s[t] += w[r] * smaller(least, d[t])


@kernel
def distances_sparse(start, columns, data, x_sq, rows, C, c_sq, labels, out):
    """The same of sparse rows, by (10)."""
    for r in range(len(rows)):
        i = rows[r]
        c, s = C[labels[i]], 0.0
        for t in range(start[i], start[i + 1]):
            s += data[t] * c[columns[t]]
        out[i] = max(x_sq[i] - 2.0 * s + c_sq[labels[i]], 0.0)


@kernel
def transfer_dense(X, rows, shift, w, near, labels, sums, total, count):
    """Move the rows whose label changes from one sum to another; how many, now first in `rows`."""
    moved = 0
    for r in range(len(rows)):
        i = rows[r]
        rows[moved] = i
        moved += near[i] != labels[i]
    for r in range(moved):
        i = rows[r]
        new, old = near[i], labels[i]
        labels[i] = new
        if w[i] == 0.0:
            continue
        x_i = X[i]
        for j in range(len(shift)):
            sums[new, j] += w[i] * (x_i[j] - shift[j])
        total[new] += w[i]
        count[new] += 1
        if old >= 0:
            for j in range(len(shift)):
                sums[old, j] -= w[i] * (x_i[j] - shift[j])
            total[old] -= w[i]
            count[old] -= 1
    return moved


@kernel
def transfer_sparse(start, columns, data, rows, w, near, labels, sums, total, count):
    """The same of sparse rows."""
    moved = 0
    for r in range(len(rows)):
        i = rows[r]
        new, old = near[i], labels[i]
        if new == old:
            continue
        moved += 1
        labels[i] = new
        if w[i] == 0.0:
            continue
        for t in range(start[i], start[i + 1]):
            sums[new, columns[t]] += w[i] * data[t]
            if old >= 0:
                sums[old, columns[t]] -= w[i] * data[t]
        total[new] += w[i]
        count[new] += 1
        if old >= 0:
            total[old] -= w[i]
            count[old] -= 1
    return moved


def column_sums(X: Any) -> Any:
    """Σ x_i in double precision; as a product it takes a quarter of the time."""
    if X.dtype == np.float64:
        return np.ones(len(X)) @ X
    return X.sum(axis=0, dtype=np.float64)


class Table(NamedTuple):
    """Centres as the kernels read them."""

    C: Any  # (k, p)
    c_sq: Any  # ‖c‖²
    CT: Any  # (p, k) in the precision of scores
    tiles: Any  # (k/4, p, 4): four centres side by side, in the same
    half: Any  # ½‖c‖² of `tiles` and a number that is larger than all
    name: Any  # 0, 1, 2 … in the same


def table_of(C: Any, dtype: Any = np.float32) -> Table:
    """The table of centres (k, p)."""
    C = np.ascontiguousarray(C, dtype=np.float64)
    k, p = C.shape
    full = k + -k % 4
    tiles, half = np.zeros((full // 4, p, 4), dtype), np.full(full + 1, FAR, dtype)
    for c in range(4):
        tiles[: len(C[c::4]), :, c] = C[c::4]
    c_sq = np.einsum("ij,ij->i", C, C)
    half[:k] = 0.5 * c_sq
    CT = np.ascontiguousarray(C.T, dtype=dtype)
    return Table(C, c_sq, CT, tiles, half, np.arange(full, dtype=dtype))


class Points:
    """Rows and the origin from which centres are measured.

    Parameters
    ----------
    X : ndarray or CSR matrix (n, p)
        Read only.
    centred : bool, default=True
        Whether the origin of dense rows is near their mean; else it is 0.
    """

    def __init__(self, X: Any, centred: bool = True) -> None:
        self.X, (self.n, self.p) = X, X.shape
        self.sparse = sp.issparse(X)
        self.shift = np.zeros(self.p)
        if centred and not self.sparse:
            sums = run(lambda part: column_sums(X[part]), self.parts())
            self.shift = sum(sums) / self.n
        if self.sparse:
            self.triple = X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data
            squares = np.asarray(X.data, dtype=np.float64) ** 2
            row = np.repeat(np.arange(self.n), np.diff(X.indptr))
            self.x_sq = np.bincount(row, squares, minlength=self.n)
        self.all, self.dtype = np.arange(self.n), np.float64 if self.sparse else np.float32

    def parts(self) -> list[slice]:
        """Parts for threads, 1, 2, 4 … 32 of them; where they begin depends on the shape alone."""
        parts = (1 << (self.n * self.p // LEAST).bit_length()) >> 1
        return split(self.n, min(parts, 32), least=1024)

    @cached_property
    def norms(self) -> Any:
        """‖x_i‖² of every row, about the origin."""
        if self.sparse:
            return self.x_sq
        return self.squares(np.zeros((1, self.p)), np.zeros(self.n, np.int32))

    def row(self, i: Any) -> Any:
        """Rows i as an array, about the origin."""
        rows = self.X[i].toarray() if self.sparse else self.X[i]
        return np.asarray(rows, dtype=np.float64) - self.shift

    def mean(self, w: Any) -> Any:
        """The weighted mean of the rows, about the origin."""
        sums = run(lambda part: w[part] @ self.X[part], self.parts())
        return sum(sums) / w.sum() - self.shift

    def nearest(self, table: Table, rows: Any, near: Any, gap: Any, drift: Any = None) -> None:
        """Set near and gap of these rows: the nearest centre, and how much farther others are.

        The gap is a lower bound, to which `drift` of the nearest centre is added.
        """
        drift = np.zeros(len(table.C)) if drift is None else drift
        if not self.sparse and len(rows) * len(table.C) < 64:
            compare(self.X, rows, self.shift, table.C, drift, near, gap)
            return
        kind = table.half.dtype
        eps = float(np.finfo(kind).eps) / 2
        if self.sparse:
            self._by_products(table, rows, eps, drift, near, gap)
            return
        if len(rows) == 0:
            return
        x, S, lanes = (np.empty((size, LANES), kind) for size in (self.p, 4, 6))
        doubt, scores = np.empty(len(rows) + 1, np.int64), (table.tiles, table.half, table.name)
        doubts = score_lanes(
            self.X, rows, self.shift, *scores, eps, drift, near, gap, x, S, lanes, doubt
        )
        if doubts:
            compare(self.X, doubt[:doubts], self.shift, table.C, drift, near, gap)
        if doubts > RARE * len(rows) + 100:
            self.dtype = np.float64

    def _by_products(self, table, rows, eps, drift, near, gap):
        """`nearest` for sparse rows."""
        size = max(16, min(len(rows), BLOCK // len(table.C)))
        S, longest = np.empty((size, len(table.C)), table.CT.dtype), table.c_sq.max()
        for first in range(0, len(rows), size):
            some = rows[first : first + size]
            multiply_sparse(*self.triple, some, table.CT, S)
            error = longest, eps * (self.p + 5)
            settle_scores(S, self.x_sq[some], table.half, *error, some, drift, near, gap)

    def potentials(
        self, centres: Any, newest: int, rows: Any, w: Any, closest: Any, blocks: Any
    ) -> Any:
        """Σ w D² of each block if one of these rows were a centre, too: (blocks, centres).

        `closest`, the D² of `rows`, is brought up to date with the row `newest`.
        """
        named = np.full(len(centres) + 8 - len(centres) % 8, newest)
        named[: len(centres)] = centres
        left, d = np.zeros((len(blocks), len(named))), np.empty(len(named))
        if not self.sparse:
            C = np.ascontiguousarray(self.X[named].T, dtype=np.float64)
            potentials_dense(self.X, rows, w, closest, C, blocks, d, left)
            return left[:, : len(centres)]
        CT = np.ascontiguousarray(self.row(named).T)
        for total, b in zip(left, blocks, strict=True):
            block = slice(b * SUMMED, (b + 1) * SUMMED)
            some = rows[block]
            D = np.empty((len(some), len(named)))
            multiply_sparse(*self.triple, some, CT, D)
            D = np.maximum(self.x_sq[some, None] - 2.0 * D + self.x_sq[named], 0.0)
            np.minimum(closest[block], D[:, -1], out=closest[block])
            total[:] = w[block] @ np.minimum(D, closest[block, None])
        return left[:, : len(centres)]

    def table(self, C: Any) -> Table:
        """The table of centres in the precision that suits these rows."""
        return table_of(C, self.dtype)

    def own_distances(self, table: Table, rows: Any, labels: Any, out: Any) -> None:
        """Set out[i] = ‖x_i − c‖² for these rows, c being the centre that `labels` names."""
        if self.sparse:
            distances_sparse(*self.triple, self.x_sq, rows, table.C, table.c_sq, labels, out)
        else:
            distances_dense(self.X, rows, self.shift, table.C, labels, out)

    def transfer(self, rows: Any, w: Any, near: Any, labels: Any, sums: Any) -> int:
        """Bring labels and sums up to date with `near`; return how many labels changed.

        `rows` may be overwritten.
        """
        if self.sparse:
            return int(transfer_sparse(*self.triple, rows, w, near, labels, *sums))
        return int(transfer_dense(self.X, rows, self.shift, w, near, labels, *sums))

    def labels(self, C: Any) -> Any:
        """The nearest centre of every row, int32."""
        near, gap = np.empty(self.n, np.int32), np.empty(self.n, np.float32)
        table = self.table(C)
        run(lambda part: self.nearest(table, self.all[part], near, gap), self.parts())
        return near

    def squares(self, C: Any, labels: Any) -> Any:
        """‖x_i − c‖² of every row with its own centre."""
        out, table = np.empty(self.n), self.table(C)
        run(lambda part: self.own_distances(table, self.all[part], labels, out), self.parts())
        return out
