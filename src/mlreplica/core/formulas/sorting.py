"""Sorting: the keys of a node's rows by digits"""

from __future__ import annotations

from typing import Any

from mlreplica.core.growth.columns import RANK, scatter
from mlreplica.core.growth.splits import lean

SMALL = 24  # rows that insertion sorts faster than digits


@lean
def sort_keys(a: Any, b: Any, m: int, levels: int, count: Any) -> Any:
    """Sort a[:m] by rank, which is at most `levels`; the result is in b if True, else in a."""
    if m <= SMALL:
        for i in range(1, m):
            key, j = a[i], i - 1
            while j >= 0 and a[j] > key:
                a[j + 1] = a[j]
                j -= 1
            a[j + 1] = key
        return False
    bits = 1
    while levels >> bits:
        bits += 1
    digit = 9 if m > 1500 else 6
    passes = (bits + digit - 1) // digit
    digit = (bits + passes - 1) // passes
    mask = (1 << digit) - 1
    for step in range(passes):
        shift = RANK + step * digit
        for k in range(mask + 1):
            count[k] = 0
        for i in range(m):
            count[(a[i] >> shift) & mask] += 1
        scatter(a, b, m, shift, mask, count)
        a, b = b, a
    return passes % 2 == 1
