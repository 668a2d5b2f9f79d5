"""Sorting: the keys of a node's rows by digits"""

from __future__ import annotations

from typing import Any

from .columns import RANK
from .splits import strict

SMALL = 24  # rows that insertion sorts faster than digits


@strict
def sort_keys(a: Any, b: Any, m: int, levels: int, count: Any) -> Any:
    """a[:m] sorted by rank, which is at most `levels`; the result is a or b."""
    if m <= SMALL:
        for i in range(1, m):
            key, j = a[i], i - 1
            while j >= 0 and a[j] > key:
                a[j + 1] = a[j]
                j -= 1
            a[j + 1] = key
        return a
    bits = 1
    while levels >> bits:
        bits += 1
    digit = 9 if m > 1500 else 6
    passes = (bits + digit - 1) // digit
    digit = (bits + passes - 1) // passes
    size, mask = 1 << digit, (1 << digit) - 1
    for step in range(passes):
        shift = RANK + step * digit
        for k in range(size):
            count[k] = 0
        for i in range(m):
            count[(a[i] >> shift) & mask] += 1
        total = 0
        for k in range(size):
            c = count[k]
            count[k] = total
            total += c
        for i in range(m):
            k = (a[i] >> shift) & mask
            b[count[k]] = a[i]
            count[k] += 1
        a, b = b, a
    return a
