r"""Coalitions: Shapley values of any model, by asking it

If only the columns in S of a row x are known, the others are those of a background row b:

    g(S) = mean over b of f(x_S, b_{S̄})                                                      (5)

With few columns all 2ᵖ coalitions are asked, and the Shapley value is its definition

    φ_i = Σ_{S ∌ i} |S|! (p − |S| − 1)! / p!  (g(S ∪ i) − g(S))                              (6)

With more, columns become known in a random order and then in the reverse one; the gains of a column
are averaged over orders. Whatever the orders, the gains of one order add up to f(x) − g(∅), so the
contributions add up too; for models without interactions of three columns one pair is exact.

Kernel SHAP fits (6) instead: among all additive functions of the coalition, the Shapley values
minimise the squared error with weights

    (p − 1) / (C(p, |S|) |S| (p − |S|)),                                                     (7)

and samples of coalitions, each with its complement, approximate the minimum.

References
----------
Štrumbelj, Kononenko: Explaining prediction models and individual predictions with feature
contributions. Knowledge and Information Systems 41 (2014), 647–665.
Lundberg, Lee: A unified approach to interpreting model predictions. NeurIPS (2017).
"""

from collections.abc import Callable
from math import comb, factorial
from typing import Any

import numpy as np

MOST_ASKED = 1 << 16  # rows in one call of the model


def value_of(
    f: Callable[[Any], Any], x: Any, background: Any, coalitions: Any, groups: Any = None
) -> Any:
    """Return g(S) of (5) for every row of `coalitions` (·, column), (·, output).

    With `groups`, the number of its group for every column, coalitions are of groups.
    """
    m, found = len(background), []
    step = max(1, MOST_ASKED // m)
    for first in range(0, len(coalitions), step):
        known = coalitions[first : first + step]
        known = known if groups is None else known[:, groups]
        asked = np.where(known[:, None], x, background[None]).reshape(-1, background.shape[1])
        found.append(f(asked).reshape(len(known), m, -1).mean(axis=1))
    return np.concatenate(found)


def all_coalitions(p: int) -> Any:
    """Return the 2ᵖ subsets of p columns: bit j of the row number is column j."""
    return (np.arange(1 << p)[:, None] >> np.arange(p)) & 1 == 1


def exact(f: Callable[[Any], Any], x: Any, background: Any, groups: Any = None) -> tuple[Any, Any]:
    """Return (6), (column or group, output), and g(∅)."""
    p = background.shape[1] if groups is None else int(max(groups)) + 1
    subsets, number = all_coalitions(p), np.arange(1 << p)
    g, sizes = value_of(f, x, background, subsets, groups), subsets.sum(axis=1)
    weight = np.array([factorial(s) * factorial(p - s - 1) / factorial(p) for s in range(p)])
    phi = np.empty((p, g.shape[1]))
    for i in range(p):
        without = number[~subsets[:, i]]
        phi[i] = weight[sizes[without]] @ (g[without | 1 << i] - g[without])
    return phi, g[0]


def by_permutations(
    f: Callable[[Any], Any],
    x: Any,
    background: Any,
    orders: int,
    rng: np.random.Generator,
    groups: Any = None,
) -> tuple[Any, Any]:
    """Return mean gains over orders and their reverses, (column or group, output), and g(∅)."""
    p = background.shape[1] if groups is None else int(max(groups)) + 1
    total = 0.0
    for _ in range(orders):
        order = rng.permutation(p)
        for walk in (order, order[::-1]):
            place = np.empty(p, np.int64)
            place[walk] = np.arange(p)
            g = value_of(f, x, background, place < np.arange(p + 1)[:, None], groups)
            total = total + np.diff(g, axis=0)[place]
    return total / (2 * orders), g[0]


def by_kernel(
    f: Callable[[Any], Any], x: Any, background: Any, count: int, rng: np.random.Generator
) -> tuple[Any, Any]:
    """Return the minimum over `count` coalitions of the error weighted by (7), and g(∅)."""
    p = background.shape[1]
    if p == 1 or count >= 2**p - 2:
        return exact(f, x, background)
    sizes = np.arange(1, p)
    chance = np.array([(p - 1) / (s * (p - s)) for s in sizes])  # of a size: C(p, s) times (7)
    drawn = rng.choice(sizes, size=-(-count // 2), p=chance / chance.sum())
    Z = np.argsort(np.argsort(rng.random((len(drawn), p)), axis=1), axis=1) < drawn[:, None]
    Z = np.concatenate([Z, ~Z])
    ends = value_of(f, x, background, np.array([[False] * p, [True] * p]))
    gain = value_of(f, x, background, Z) - ends[0]
    # φ_p = f(x) − g(∅) − the others: the constraint is built in.
    A = Z[:, :-1].astype(float) - Z[:, -1:]
    phi = np.linalg.lstsq(A, gain - np.outer(Z[:, -1], ends[1] - ends[0]), rcond=None)[0]
    return np.vstack([phi, ends[1] - ends[0] - phi.sum(axis=0)]), ends[0]


def kernel_weight(p: int, size: int) -> float:
    """Return (7).

    >>> kernel_weight(4, 1), kernel_weight(4, 2)
    (0.25, 0.125)
    """
    return (p - 1) / (comb(p, size) * size * (p - size))
