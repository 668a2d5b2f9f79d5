"""The compiled steps of stochastic gradient descent (equations of `epochs.py`)

Rows, dense or sparse, lie one after the other in `data`: row t is data[begin[t]:end[t]]. Entry i
belongs to column indices[i], or to column i − begin[t] where there are no indices.
"""

import numpy as np

from mlreplica.core.compile.intrinsics import prefetch_item
from mlreplica.core.compile.jit import kernel
from mlreplica.core.formulas.loss_formulas import slope

AHEAD = 6  # rows between asking for one and using it
NUMBERS, INDICES = np.uint64(8), np.uint64(16)  # of 8 and 4 bytes, in a line of the cache
CACHE = 1 << 16  # numbers that stay near the processor, so that asking ahead is wasted
LARGEST = 1e12  # of |g|: keeps a step finite

piece = kernel(part=True, borrow=True, inline=True)


@piece
def pull(r, u, q, inverse):
    """(4) for one weight r of v = w/scale, inverse = 1/scale; as |q| ≤ u, a term or both are 0."""
    down, up = r - (u + q) * inverse, r + (u - q) * inverse
    down = down if down > 0.0 else 0.0  # noqa: FURB136  max and min would keep the loop scalar
    up = up if up < 0.0 else 0.0  # noqa: FURB136
    return down + up


@piece
def prefetch_row(data, indices, first, last):
    """Ask for a row that is needed soon."""
    for i in range(first, last, NUMBERS):
        prefetch_item(data, i)
    if indices is not None:
        for i in range(first, last, INDICES):
            prefetch_item(indices, i)


@piece
def product(data, indices, first, last, v):
    """vᵀx of the row x = data[first:last]; without `indices`, its entries are all columns."""
    f = 0.0
    if indices is None:  # loops of one length for all rows: a tenth faster than first … last
        for j in range(np.uint64(len(v))):
            f += data[first + j] * v[j]
    else:
        for i in range(first, last):
            f += data[i] * v[indices[i]]
    return f


@piece
def slope_of_row(code, y, f, a, cap, half, step, size):
    """∂L/∂f, bounded, times the ratio of the step (7) to `step` if cap > 0."""
    if code <= 2:  # a branch is twice as fast as a call
        g = -y if y * f <= a else 0.0
    else:
        g = min(max(slope(code, y, f, a), -LARGEST), LARGEST)
    if cap > 0.0 and g != 0.0:  # (7)
        loss = a - y * f if code == 2 else abs(y - f) - a
        g *= min(cap, loss / (step * size + half))
    return g


@piece
def move(data, indices, first, last, d, v, s, A):
    """v ← v + d x of (3), and s so that s + A v of (6) stays as it is."""
    if indices is None:
        for j in range(np.uint64(len(v))):
            v[j] += d * data[first + j]
            if s is not None:
                s[j] -= A * d * data[first + j]
    else:
        for i in range(first, last):
            v[indices[i]] += d * data[i]
            if s is not None:
                s[indices[i]] -= A * d * data[i]


@piece
def move_and_pull(data, indices, first, last, d, v, s, A, u, q, scale):
    """`move`, then (4); returns by how much ‖v‖² and ‖v‖₁ grow."""
    square, absolute, inverse = 0.0, 0.0, 1.0 / scale
    for i in range(first, last):
        j = i - first if indices is None else indices[i]
        v_old = v[j]
        r = v_old + d * data[i]
        v_new = pull(r, u, q[j], inverse)
        v[j] = v_new
        q[j] += scale * (v_new - r)
        square += v_new * v_new - v_old * v_old
        absolute += abs(v_new) - abs(v_old)
        if s is not None:
            s[j] -= A * (v_new - v_old)
    return square, absolute


@piece
def unscale(v, scale, s, A):
    """v ← scale·v and s ← s + A v, so that scale = 1 and A = 0 say the same."""
    for j in range(len(v)):
        if s is not None:
            s[j] += A * v[j]
        v[j] *= scale


@kernel(borrow=True)
def descend(
    times, data, indices, begin, end, y, c, x_sq, g, scores, batch, eta, code, a, cap, half,
    v, b, rate, l2, l1, u, q, s, s_b, k,
):  # fmt: skip
    """Steps (3) over the rows data[begin[t]:end[t]], t = 0 … m − 1; v changes in place.

    The rows are `times` epochs of equally many, at whose ends v = w. Dense rows have no `indices`:
    None. So is batch for steps of one row, q without l1 > 0, s without an average, and c for a loss
    of the user's own: Numba leaves out what None would need, and so compiles only the steps that
    are asked for. begin and end are unsigned, so that no index can be negative and no loop checks.
    g[t] = −cₜ·∂L/∂f is written, or read if there is no c. `scores`, if not empty, receives f as
    each row met it, and ‖w‖² and ‖w‖₁ are summed over the steps. s is the sum of w over the steps
    with k > 0 (6), s_b that of b. Returns b, u, s_b and the two sums. Costs 4 operations a number,
    no allocation.
    """
    scale, inverse, A, m = 1.0, 1.0, 0.0, len(begin)
    watched, normed, every = len(scores) > 0, len(x_sq) > 0, m // times
    square, absolute, sum_square, sum_absolute = 0.0, 0.0, 0.0, 0.0
    for j in range(len(v)):
        square += v[j] * v[j]
        absolute += abs(v[j])
    ahead = AHEAD if data.size > CACHE else m
    first, number, rest = 0, 0, every
    for t in range(m):
        if t + ahead < m:
            prefetch_row(data, indices, begin[t + ahead], end[t + ahead])
        f, size, rest = product(data, indices, begin[t], end[t], v), 0.0, rest - 1
        step = eta[t] if batch is None else eta[number]
        if normed:
            size = x_sq[t]
        elif indices is not None and (watched or cap > 0.0):
            for i in range(begin[t], end[t]):
                size += data[i] * data[i]
        score = scale * f + b
        if watched:
            scores[t] = score
        g_t = g[t]
        if c is not None:
            g_t = -c[t] * slope_of_row(code, y[t], score, a, cap, half, step, size)
            g[t] = g_t
        if batch is not None and t + 1 < first + batch and rest > 0:
            continue
        sum_square += scale * scale * square
        if q is not None:
            sum_absolute += scale * absolute
        if l2 > 0.0:
            scale *= max(0.0, 1.0 - step * l2)
            if scale < 1e-9:
                unscale(v, scale, s, A)
                square, absolute = square * scale * scale, absolute * scale
                A, scale = 0.0, 1.0
            inverse = 1.0 / scale
        if batch is not None or q is not None:
            u += step * l1
            step /= t + 1 - first
            for i in range(first, t + 1):
                b += rate * step * g[i]
                d = step * inverse * g[i]
                if q is not None:
                    change = move_and_pull(data, indices, begin[i], end[i], d, v, s, A, u, q, scale)
                    square += change[0]
                    absolute += change[1]
                elif d != 0.0:
                    move(data, indices, begin[i], end[i], d, v, s, A)
        elif g_t != 0.0:
            b += rate * step * g_t
            d = step * inverse * g_t
            move(data, indices, begin[t], end[t], d, v, s, A)
            square += d * (2.0 * f + d * size)  # ‖v + d x‖²
        if s is not None:
            k += 1.0
            if k > 0.0:
                A += scale
                s_b += b
        first, number = t + 1, number + 1
        if rest == 0:
            unscale(v, scale, s, A)
            square, absolute = square * scale * scale, absolute * scale
            A, scale, inverse, rest = 0.0, 1.0, 1.0, every
    return b, u, s_b, sum_square, sum_absolute


@kernel
def shuffled(order, seed):
    """Fisher and Yates's permutation in place, from the xorshift generator of scikit-learn."""
    n = len(order)
    for i in range(n - 1):
        seed ^= (seed << 13) & 0xFFFFFFFF
        seed ^= seed >> 17
        seed ^= (seed << 5) & 0xFFFFFFFF
        j = i + (seed & 0x7FFFFFFF) % (n - i)
        order[i], order[j] = order[j], order[i]
    return order
