"""Distances that are functions of two rows, `f(x, y)`, each formula once"""

from __future__ import annotations

from collections.abc import Callable
from math import asin, cos, sin, sqrt
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]


def cosine(x: Array, y: Array) -> float:
    """1 − cosine, for rows of length 1; the last number of a row is 1 if the row is zero."""
    s, last = 0.0, len(x) - 1
    for j in range(len(x)):
        s += (x[j] - y[j]) ** 2
    return float(s / 2.0 + x[last] * y[last])


def haversine(x: Array, y: Array) -> float:
    """The angle between two points on a sphere, given by latitude and longitude in radians."""
    a, b = sin((x[0] - y[0]) / 2.0), sin((x[1] - y[1]) / 2.0)
    return 2.0 * asin(min(1.0, sqrt(a * a + cos(x[0]) * cos(y[0]) * b * b)))


def hamming(x: Array, y: Array) -> float:
    """The share of positions where x and y differ."""
    k = 0
    for j in range(len(x)):
        k += x[j] != y[j]
    return k / len(x)


def canberra(x: Array, y: Array) -> float:
    """Σ |x − y| / (|x| + |y|), where 0/0 = 0."""
    s = 0.0
    for j in range(len(x)):
        size = abs(x[j]) + abs(y[j])
        if size > 0.0:
            s += abs(x[j] - y[j]) / size
    return s


def braycurtis(x: Array, y: Array) -> float:
    """Σ |x − y| / Σ |x + y|; 0/0 = 0"""
    a, b = 0.0, 0.0
    for j in range(len(x)):
        a += abs(x[j] - y[j])
        b += abs(x[j] + y[j])
    return a / b if b > 0.0 else 0.0


def nan_euclidean(x: Array, y: Array) -> float:
    """√(p/q Σ (x − y)²) over the q of p positions that are NaN in neither row; NaN if q = 0."""
    s, q = 0.0, 0
    for j in range(len(x)):
        t = x[j] - y[j]
        if not np.isnan(t):
            s += t * t
            q += 1
    return sqrt(s * (len(x) / q)) if q > 0 else np.nan


def jaccard(x: Array, y: Array) -> float:
    """Of the positions true in x or y, the share true in one only."""
    either, one = 0, 0
    for j in range(len(x)):
        a, b = x[j] != 0.0, y[j] != 0.0
        either += a or b
        one += a != b
    return one / either if either > 0 else 0.0


def dice(x: Array, y: Array) -> float:
    """Positions true in one only, by that plus twice the positions true in both."""
    both, one = 0, 0
    for j in range(len(x)):
        a, b = x[j] != 0.0, y[j] != 0.0
        both += a and b
        one += a != b
    return one / (2 * both + one) if both + one > 0 else 0.0


def rogerstanimoto(x: Array, y: Array) -> float:
    """2d / (p + d), d the number of positions true in one only."""
    one = 0
    for j in range(len(x)):
        one += (x[j] != 0.0) != (y[j] != 0.0)
    return 2.0 * one / (len(x) + one)


def russellrao(x: Array, y: Array) -> float:
    """The share of positions not true in both."""
    both = 0
    for j in range(len(x)):
        both += x[j] != 0.0 and y[j] != 0.0
    return (len(x) - both) / len(x)


def sokalsneath(x: Array, y: Array) -> float:
    """d / (d + t/2): d positions true in one only, t in both."""
    both, one = 0, 0
    for j in range(len(x)):
        a, b = x[j] != 0.0, y[j] != 0.0
        both += a and b
        one += a != b
    return one / (one + 0.5 * both) if both + one > 0 else 0.0


def yule(x: Array, y: Array) -> float:
    """2bc / (ad + bc) of the table (a, b; c, d) of two rows of truths."""
    n11, n10, n01 = 0, 0, 0
    for j in range(len(x)):
        a, b = x[j] != 0.0, y[j] != 0.0
        n11 += a and b
        n10 += a and not b
        n01 += b and not a
    n00 = len(x) - n11 - n10 - n01
    return 2.0 * n10 * n01 / (n11 * n00 + n10 * n01) if n10 * n01 > 0 else 0.0


# Names, and whether the triangle inequality holds, on which a ball tree relies.
ROW_FUNCTIONS: dict[str, tuple[Callable[[Array, Array], float], bool]] = {
    "cosine": (cosine, False),
    "correlation": (cosine, False),
    "haversine": (haversine, True),
    "hamming": (hamming, True),
    "matching": (hamming, True),
    "canberra": (canberra, True),
    "braycurtis": (braycurtis, False),
    "nan_euclidean": (nan_euclidean, False),
    "jaccard": (jaccard, True),
    "dice": (dice, False),
    "rogerstanimoto": (rogerstanimoto, True),
    "sokalmichener": (rogerstanimoto, True),
    "russellrao": (russellrao, False),
    "sokalsneath": (sokalsneath, True),
    "yule": (yule, False),
}
BOOLEAN = {
    "jaccard", "dice", "rogerstanimoto", "sokalmichener", "russellrao", "sokalsneath", "yule",
}  # fmt: skip
