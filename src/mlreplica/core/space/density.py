r"""Density: sums over all points by a tree, with a bound on the error

    S(x) = Σ_i w_i K(d(x, x_i) / h)                                                          (3)

where K falls with the distance. For the points of a branch, of weight W, at distances between a and
b, the sum lies between W·K(b/h) and W·K(a/h); taking the middle is wrong by at most half of the
difference. With S₀ ≤ S the sum so far, the middle is taken where

    W (K(a/h) − K(b/h)) / 2  ≤  W/W_all · (atol + rtol S₀/2) + W K(b/h) · rtol/2             (4)

and the branch is opened otherwise, the nearer half first, so that S₀ is soon large. Summed over all
branches, the error is at most atol + rtol·S(x): the weights W add up to W_all, and the lower bounds
W K(b/h) to at most S. Kernels without an end, exp(−z²/2) and exp(−z), are taken relative to their
value at the nearest point, so that logarithms stay finite however far x is from all points.
"""

from __future__ import annotations

from math import lgamma, log, pi
from typing import Any

import numpy as np

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run, split
from mlreplica.core.formulas.distances import L1, L2, LINF, Array
from mlreplica.core.formulas.exp import exp_of

from .index import NeighbourIndex
from .tree import DEPTH, PAD, lean, norm_between, root
from .walk import STRICT, branch_distance, measure_leaf

KERNELS = {
    "gaussian": 0, "tophat": 1, "epanechnikov": 2, "exponential": 3, "linear": 4, "cosine": 5
}  # fmt: skip
ROUNDING = 1e-16  # relative error that a sum has anyway


@lean
def farthest(code: int, power: float, f: Any, x: Array, bounds: Array, radius: Any, i: int) -> Any:
    """No point of branch i is farther from x than this distance."""
    if radius is not None:
        if f is None:
            return root(code, power, norm_between(code, power, x, bounds[i, 0])) + radius[i]
        return f(x, bounds[i, 0]) + radius[i]
    r, low, high = 0.0, bounds[i, 0], bounds[i, 1]
    for j in range(len(x)):
        t = max(abs(low[j] - x[j]), abs(high[j] - x[j]))
        if code == L2:
            r += t * t
        elif code == L1:
            r += t
        elif code == LINF:
            r = max(r, t)
        else:
            r += t**power
    return root(code, power, r)


@kernel(fastmath=STRICT, part=True, borrow=True)
def bump(which: int, d: float, h: float, d0: float) -> Any:
    """K(d/h); of kernels without an end, relative to K(d0/h)."""
    if which == 0:
        return exp_of(-0.5 * ((d - d0) / h) * ((d + d0) / h))
    if which == 3:
        return exp_of((d0 - d) / h)
    if d >= h:
        return 0.0
    if which == 1:
        return 1.0
    z = d / h
    if which == 2:
        return 1.0 - z * z
    return 1.0 - z if which == 4 else np.cos(0.5 * np.pi * z)


@lean
def add_leaf(
    code: int, power: float, f: Any, which: int, h: float, d0: float, w: Array, r: Array
) -> Any:
    """Σ w_k K of the points of a leaf, whose reduced distances are r."""
    s = 0.0
    if which == 0 and f is None and code == L2:
        scale, shift = -0.5 / (h * h), d0 * d0
        for k in range(len(r)):
            s += w[k] * exp_of((r[k] - shift) * scale)
        return s
    if which == 3 and f is None and code == L2:
        for k in range(len(r)):
            s += w[k] * exp_of((d0 - np.sqrt(r[k])) / h)
        return s
    for k in range(len(r)):
        if w[k] > 0.0:
            d = root(code, power, r[k]) if f is None else r[k]
            s += w[k] * bump(which, d, h, d0)
    return s


@kernel
def sums(
    points: Array, index: Array, first: Array, last: Array, bounds: Array, radius: Any, block: int,
    code: int, power: float, f: Any, Q: Array, which: int, h: float, nearest: Array, w: Array,
    upto: Array, atol: float, rtol: float, out: Array,
) -> None:  # fmt: skip
    """out_i = S(Q_i) of (3) within (4), relative to the kernel at the nearest point.

    w: the weight of every point in its leaf; upto: its running sum.
    """
    r, leaves = np.empty(block), len(index) // block
    waiting, least = np.empty(DEPTH, np.int64), np.empty(DEPTH)
    everything, rate = upto[len(upto) - 1], max(rtol, ROUNDING)
    endless = which in (0, 3)
    for q in range(len(Q)):
        x, s, top = Q[q], 0.0, 1
        d0 = nearest[q] if endless else 0.0
        share = atol / everything
        if endless and atol > 0.0:  # the tolerance is meant for K itself
            share = min(1e300, share / max(bump(which, d0, h, 0.0), 1e-300))
        if len(first) == 0:
            for leaf in range(leaves):
                measure_leaf(code, power, f, x, points, index, leaf, r)
                s += add_leaf(code, power, f, which, h, d0, w[leaf * block : (leaf + 1) * block], r)
            out[q] = s
            continue
        waiting[0], least[0] = 0, branch_distance(code, power, f, x, bounds, radius, 0)
        while top > 0:
            top -= 1
            i = waiting[top]
            a, b = first[i], last[i]
            near = root(code, power, least[top]) if f is None else least[top]
            if not endless and near >= h:
                continue
            W = upto[b * block] - upto[a * block]
            sure = max(0.0, s - share * everything) / (1.0 + rate)  # S₀ less its own error
            allowed = share + 0.5 * rate * sure / everything
            high, low = bump(which, max(near, d0), h, d0), 0.0
            if 0.5 * high > allowed:
                low = bump(which, farthest(code, power, f, x, bounds, radius, i), h, d0)
            if 0.5 * (high - low) <= allowed + 0.5 * rate * low:
                s += 0.5 * W * (high + low)
            elif b - a == 1:
                measure_leaf(code, power, f, x, points, index, a, r)
                s += add_leaf(code, power, f, which, h, d0, w[a * block : b * block], r)
            else:
                left, right = i + 1, i + 2 * ((a + b) // 2 - a)
                u = branch_distance(code, power, f, x, bounds, radius, left)
                v = branch_distance(code, power, f, x, bounds, radius, right)
                waiting[top], least[top] = (right, v) if u <= v else (left, u)
                waiting[top + 1], least[top + 1] = (left, u) if u <= v else (right, v)
                top += 2
        out[q] = s


@kernel
def counts(
    points: Array, index: Array, first: Array, last: Array, bounds: Array, radius: Any, block: int,
    code: int, power: float, f: Any, n: int, Q: Array, limit: Array, far: Array, out: Array,
) -> None:  # fmt: skip
    """out_i = the number of points within limit_i (reduced; far_i: not reduced) of Q_i."""
    r, waiting = np.empty(block), np.empty(DEPTH, np.int64)
    for q in range(len(Q)):
        x, c, top = Q[q], 0, 1
        waiting[0] = 0
        if len(first) == 0:
            top = 0
            for leaf in range(len(index) // block):
                measure_leaf(code, power, f, x, points, index, leaf, r)
                for k in range(block):
                    c += r[k] <= limit[q] and index[leaf * block + k] != PAD
        while top > 0:
            top -= 1
            i = waiting[top]
            a, b = first[i], last[i]
            if branch_distance(code, power, f, x, bounds, radius, i) > limit[q]:
                continue
            if farthest(code, power, f, x, bounds, radius, i) < far[q] * (1.0 - 1e-7):
                c += min(b * block, n) - a * block
            elif b - a == 1:
                measure_leaf(code, power, f, x, points, index, a, r)
                for k in range(block):
                    c += r[k] <= limit[q] and index[a * block + k] != PAD
            else:
                waiting[top] = i + 2 * ((a + b) // 2 - a)
                waiting[top + 1] = i + 1
                top += 2
        out[q] = c


def count_within(index: NeighbourIndex, Q: Any, radius: Any, n_jobs: int | None = None) -> Array:
    """How many rows are within a radius of each query."""
    known, Q = index.distance, index._queries(Q)
    if known.python:
        return np.diff(index.within(Q, radius)[0])
    far = np.broadcast_to(np.asarray(radius, dtype=float) / index.unit, (len(Q),)).copy()
    limit = np.array(index.reduced(np.broadcast_to(radius, (len(Q),))))
    out = np.empty(len(Q), np.int64)
    tree = index.tree(index.algorithm)
    rest = (*tree[:7], known.code, known.p, known.address, tree.n)
    parts = split(len(Q), 8 * n_threads(n_jobs), least=16)
    run(lambda s: counts(*rest, Q[s], limit[s], far[s], out[s]), parts, n_jobs=n_jobs)
    return out


def log_sums(
    index: NeighbourIndex,
    Q: Any,
    kernel_name: str,
    h: float,
    weights: Any = None,
    atol: float = 0.0,
    rtol: float = 0.0,
    n_jobs: int | None = None,
) -> Array:
    """log S(x) of (3) for every query, K without its normaliser; −∞ where S = 0."""
    known, kind = index.distance, index.algorithm
    Z, tree, h = index._queries(Q), index.tree(index.algorithm), h / index.unit
    at = np.minimum(tree.number, tree.n - 1)
    w = np.where(tree.number == PAD, 0.0, 1.0 if weights is None else np.asarray(weights)[at])
    out, upto, which = np.empty(len(Z)), np.append(0.0, np.cumsum(w)), KERNELS[kernel_name]
    rest = (*tree[:7], known.code, known.p, known.address)
    near = np.zeros(len(Z))
    if kernel_name in ("gaussian", "exponential") and len(Z):
        D, _ = index._walk(Z, 1, np.full(len(Z), -1), kind, n_jobs)
        near = known.finish(D[:, 0].copy())

    def part(s: slice) -> None:
        sums(*rest, Z[s], which, h, near[s], w, upto, atol, rtol, out[s])

    run(part, split(len(Z), 8 * n_threads(n_jobs), least=8), n_jobs=n_jobs)
    with np.errstate(divide="ignore"):
        found = np.log(out)
    if kernel_name == "gaussian":
        found -= 0.5 * (near / h) ** 2
    elif kernel_name == "exponential":
        found -= near / h
    return np.asarray(found)


def log_normaliser(kernel_name: str, h: float, p: int) -> float:
    """log of 1 / ∫ K(‖x‖/h) dx in p dimensions."""
    ball = 0.5 * p * log(pi) - lgamma(0.5 * p + 1)  # the volume of the unit ball
    sphere = log(2 * pi) + 0.5 * (p - 2) * log(pi) - lgamma(0.5 * p)  # its surface
    if kernel_name == "gaussian":
        whole = 0.5 * p * log(2 * pi)
    elif kernel_name == "tophat":
        whole = ball
    elif kernel_name == "epanechnikov":
        whole = ball + log(2.0 / (p + 2.0))
    elif kernel_name == "exponential":
        whole = sphere + lgamma(p)
    elif kernel_name == "linear":
        whole = ball - log(p + 1.0)
    else:  # ∫ cos(πr/2) r^(p−1) dr by parts, p times
        total, term = 0.0, 2.0 / pi
        for k in range(1, p + 1, 2):
            total += term
            term *= -(p - k) * (p - k - 1) * (2.0 / pi) ** 2
        whole = log(total) + sphere
    return -whole - p * log(h)
