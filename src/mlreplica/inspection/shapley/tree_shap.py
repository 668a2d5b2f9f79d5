r"""TreeSHAP: the Shapley values of trees, box by box

A tree is a sum over its leaves, each a box (`boxes.py`) with a value v. If only the columns in S
are known, the value of a box with d sides at a row x is

    g(S) = v Π_{j ∈ S} o_j Π_{j ∉ S} z_j,       o_j = 1 if x_j ∈ I_j, else 0                 (1)

where z_j is the share of training rows that pass (path-dependent), or whether a row of a background
passes (interventional). The Shapley value of column i is the mean of g(S ∪ i) − g(S) over orders in
which columns become known. Let every column become known at a time drawn from [0, 1]: if i does at
time t, each other one is known with probability t, independently, so that

    φ_i = v (o_i − z_i) ∫₀¹ Π_{j ≠ i} (z_j (1 − t) + o_j t) dt                               (2)

The integrand is a polynomial of degree d − 1. Gauss's rule with ⌈d/2⌉ nodes integrates it exactly,
and all its terms are positive: nothing cancels. Two columns interact by

    Φ_ij = ½ v (o_i − z_i)(o_j − z_j) ∫₀¹ Π_{k ≠ i, j} (z_k (1 − t) + o_k t) dt              (3)

and Φ_ii = φ_i − Σ_{j ≠ i} Φ_ij. If z_j ∈ {0, 1}, let a columns have (o, z) = (1, 0) and b columns
(0, 1). With a column (0, 0) all is 0, else (2) is a beta function:

    φ_i = v (a − 1)! b! / (a + b)!  for (1, 0),    −v a! (b − 1)! / (a + b)!  for (0, 1)     (4)

References
----------
Lundberg et al.: From local explanations to global understanding with explainable AI for trees.
Nature Machine Intelligence 2 (2020), 56–67.
Owen: Multilinear extensions of games. Management Science 18 (1972), 64–79.
"""

from math import factorial
from typing import Any

import numpy as np

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run, split

from .boxes import Boxes

BLOCK = 512  # rows that are looked at side by side


@kernel
def mark_inside(XT, boxes, e, inside):
    """Fill `inside` with o of side e for the rows of XT (columns, rows)."""
    x = XT[boxes.column[e]]
    if boxes.table[e] >= 0:
        allowed = boxes.tables[boxes.table[e]]
        unknown = len(allowed) - 1
        for r in range(len(x)):
            code = 0
            if not np.isnan(x[r]):
                code = np.int64(x[r]) + 1 if 0.0 <= x[r] < unknown - 1 else unknown
            inside[r] = np.float64(allowed[code])
        return
    low, high, missing = boxes.low[e], boxes.high[e], boxes.missing[e]
    for r in range(len(x)):
        inside[r] = missing if np.isnan(x[r]) else np.float64((x[r] > low) & (x[r] <= high))


@kernel
def multiply_factors(t, weight, share, inside, product):
    """product = weight Π_j (z_j (1 − t) + o_j t): the integrand of (2) with all columns."""
    product[:] = weight
    for e in range(len(share)):
        z, o = share[e] * (1.0 - t), inside[e]
        for r in range(len(product)):
            product[r] *= z + o[r] * t


@kernel
def add_values(XT, boxes, nodes, weights, inside, product, total, phi):
    """Add (2) of every box to phi (output, column, row)."""
    for l in range(len(boxes.start) - 1):
        first = boxes.start[l]
        d = boxes.start[l + 1] - first
        share = boxes.share[first : first + d]
        for e in range(d):
            mark_inside(XT, boxes, first + e, inside[e])
            total[e, :] = 0.0
        m = (d + 1) // 2
        for q in range(m):
            t = nodes[m - 1, q]
            multiply_factors(t, weights[m - 1, q], share, inside[:d], product)
            for e in range(d):
                z, o, s = share[e] * (1.0 - t), inside[e], total[e]
                out, within = 1.0 / z if z > 0.0 else 0.0, 1.0 / (z + t)
                for r in range(len(product)):
                    s[r] += product[r] * (out + o[r] * (within - out))  # product / factor of e
        for k in range(len(phi)):
            v = boxes.value[l, k]
            for e in range(d):
                o, s, into = inside[e], total[e], phi[k, boxes.column[first + e]]
                for r in range(len(product)):
                    into[r] += v * (o[r] - share[e]) * s[r]


@kernel
def add_interactions(XT, boxes, nodes, weights, inside, product, total, phi):
    """Add (3) for i ≠ j of every box to phi (output, column, column, row)."""
    rows = len(product)
    for l in range(len(boxes.start) - 1):
        first = boxes.start[l]
        d = boxes.start[l + 1] - first
        share = boxes.share[first : first + d]
        for e in range(d):
            mark_inside(XT, boxes, first + e, inside[e])
        m = max(d // 2, 1)
        for i in range(d):
            for j in range(i):
                total[:] = 0.0
                for q in range(m):
                    t = nodes[m - 1, q]
                    product[:] = weights[m - 1, q]
                    for e in range(d):
                        if e not in (i, j):
                            z, o = share[e] * (1.0 - t), inside[e]
                            for r in range(rows):
                                product[r] *= z + o[r] * t
                    for r in range(rows):
                        total[r] += product[r]
                a, b = boxes.column[first + i], boxes.column[first + j]
                for k in range(len(phi)):
                    half = 0.5 * boxes.value[l, k]
                    for r in range(rows):
                        change = (inside[i, r] - share[i]) * (inside[j, r] - share[j])
                        phi[k, a, b, r] += half * change * total[r]
                        phi[k, b, a, r] += half * change * total[r]


@kernel
def count_patterns(known, pattern, count):
    """Count background rows that pass the same sides: count_i at the first such row, else 0."""
    d, m = known.shape
    for i in range(m):
        pattern[i] = -1 - i if d > 62 else 0
        for e in range(min(d, 62)):
            pattern[i] |= np.int64(known[e, i]) << e
        count[i] = 0.0
        first = 0
        while pattern[first] != pattern[i]:
            first += 1
        count[first] += 1.0


@kernel
def add_against(XT, BT, boxes, weights, inside, known, pattern, count, lost, alive, phi):
    """Add (4) of every box, the mean over the rows of BT as background, to phi.

    weights[a, b] = a! b! / (a + b + 1)!.
    """
    rows, m = XT.shape[1], BT.shape[1]
    for l in range(len(boxes.start) - 1):
        first = boxes.start[l]
        d = boxes.start[l + 1] - first
        for e in range(d):
            mark_inside(XT, boxes, first + e, inside[e])
            mark_inside(BT, boxes, first + e, known[e])
        count_patterns(known[:d], pattern, count)
        for i in range(m):
            if count[i] == 0.0:
                continue
            a = 0
            lost[:] = 0
            alive[:] = 1.0
            for e in range(d):
                if known[e, i] > 0.0:
                    for r in range(rows):
                        lost[r] += np.int64(inside[e, r] == 0.0)
                else:
                    a += 1
                    for r in range(rows):
                        alive[r] *= inside[e, r]
            for e in range(d):
                z, o = known[e, i], inside[e]
                for k in range(len(phi)):
                    v, into = boxes.value[l, k] * count[i] / m, phi[k, boxes.column[first + e]]
                    if z > 0.0:
                        for r in range(rows):
                            if o[r] == 0.0:
                                into[r] -= v * alive[r] * weights[a, lost[r] - 1]
                    else:
                        for r in range(rows):
                            into[r] += v * alive[r] * weights[a - 1, lost[r]]


def gauss_rules(most: int) -> tuple[Any, Any]:
    """Return nodes and weights on [0, 1]: row m − 1 has the rule of m nodes."""
    nodes, weights = np.zeros((most, most)), np.zeros((most, most))
    for m in range(1, most + 1):
        t, w = np.polynomial.legendre.leggauss(m)
        nodes[m - 1, :m], weights[m - 1, :m] = (1.0 + t) / 2.0, w / 2.0
    return nodes, weights


def tree_shap(boxes: Boxes, X: Any, background: Any = None) -> tuple[Any, Any]:
    """Return the values (2) or, against a background, (4): (row, column, output), and the base."""
    d, K = widest(boxes), boxes.value.shape[1]
    phi = np.zeros((K, X.shape[1], len(X)))
    if background is None:
        rules = gauss_rules((d + 1) // 2)
        base = expected_value(boxes)
    else:
        BT = np.ascontiguousarray(background.T, dtype=float)
        beta = [[factorial(a) * factorial(b) / factorial(a + b + 1) for b in range(d + 1)]
                for a in range(d + 1)]  # fmt: skip
        weights, base = np.array(beta), box_sums(boxes, background).mean(axis=0)

    def block(rows: slice) -> None:
        XT, into = (
            np.ascontiguousarray(X[rows].T, dtype=float),
            np.zeros((K, X.shape[1], width(rows))),
        )
        inside, row = np.empty((d, width(rows))), np.empty(width(rows))
        if background is None:
            add_values(XT, boxes, *rules, inside, row, np.empty_like(inside), into)
        else:
            known, count = np.empty((d, len(background))), np.empty(len(background))
            pattern, lost = np.empty(len(background), np.int64), np.empty(width(rows), np.int64)
            add_against(XT, BT, boxes, weights, inside, known, pattern, count, lost, row, into)
        phi[:, :, rows] = into

    run(block, blocks_of(len(X)))
    return phi.transpose(2, 1, 0), base


def tree_interactions(boxes: Boxes, X: Any) -> tuple[Any, Any]:
    """Return the interactions (3): (row, column, column, output), and the base."""
    values, base = tree_shap(boxes, X)
    d, K, p = widest(boxes), boxes.value.shape[1], X.shape[1]
    rules = gauss_rules(max(d // 2, 1))
    phi = np.zeros((len(X), p, p, K))

    def block(rows: slice) -> None:
        XT, into = np.ascontiguousarray(X[rows].T, dtype=float), np.zeros((K, p, p, width(rows)))
        inside, row = np.empty((d, width(rows))), np.empty(width(rows))
        add_interactions(XT, boxes, *rules, inside, row, np.empty_like(row), into)
        phi[rows] = into.transpose(3, 1, 2, 0)

    run(block, blocks_of(len(X)))
    j = np.arange(p)
    phi[:, j, j] = values - phi.sum(axis=2)
    return phi, base


def box_sums(boxes: Boxes, X: Any) -> Any:
    """Return the sum of the values of the boxes that each row lies in: (row, output)."""
    XT, out = np.ascontiguousarray(X.T, dtype=float), np.zeros((len(X), boxes.value.shape[1]))
    inside = np.empty(len(X))
    for l, (first, end) in enumerate(zip(boxes.start, boxes.start[1:], strict=False)):
        within = np.ones(len(X))
        for e in range(first, end):
            mark_inside(XT, boxes, e, inside)
            within *= inside
        out += np.outer(within, boxes.value[l])
    return out


def expected_value(boxes: Boxes) -> Any:
    """Return the mean of all trees over their training rows: v Π z_j, summed over boxes."""
    shares = np.append(boxes.share, 1.0)
    products = np.multiply.reduceat(shares, boxes.start[:-1])
    return np.where(np.diff(boxes.start) > 0, products, 1.0) @ boxes.value


def widest(boxes: Boxes) -> int:
    """Return the most sides of a box, at least 1."""
    return max(1, int(np.diff(boxes.start).max()))


def width(rows: slice) -> int:
    """Return how many rows a slice has."""
    return rows.stop - rows.start


def blocks_of(n: int) -> list[slice]:
    """Return slices of at most BLOCK rows, as many as there are threads for few rows."""
    return split(n, max(-(-n // BLOCK), n_threads() if n >= 2 * 32 else 1))
