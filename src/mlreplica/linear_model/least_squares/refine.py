r"""Refinement: an answer as good as if all had been computed in twice the precision

Let v be an approximate solution of least squares and t an approximate weighted residual. Both are
right when the two residuals of the system (7) of `direct.py` vanish,

    f = y − A v − t / s,        g = a v − Aᵀt,                                               (1)

where a = 0, or a penalty on v² in ridge regression. With RᵀR = AᵀS A + diag(a) and Q = √s A R⁻¹
the correction (dt, dv) that makes them vanish is

    h = R⁻ᵀ g,   e = Qᵀ√s f − h,   dv = R⁻¹ e,   dt = √s (√s f − Q e).                       (2)

(2) may be done in plain arithmetic and with Q = √s A R⁻¹, never stored: what it gets wrong, the
next step corrects. (1) decides where that ends, so (1) is summed in pairs hi + lo: a sum and a
product of two numbers are such pairs exactly, by (6) of Knuth and (7) of Dekker (numbers of the
book's page on polynomial regression). The error that remains is ε + (κ ε)², in place of κ² ε.
"""

import numpy as np
from scipy.linalg import solve_triangular

from mlreplica.core.compile.jit import kernel
from mlreplica.core.linalg import EPS

TILE = 32
EXACT = frozenset()  # no flag that lets the compiler reorder: the rounding errors are the point


@kernel(fastmath=EXACT)
def two_sum(a, b):
    """(6): s = fl(a + b) and its rounding error."""
    s = a + b
    z = s - a
    return s, (a - (s - z)) + (b - z)


@kernel(fastmath=EXACT)
def two_product(a, b):
    """(7): p = fl(a · b) and its rounding error, by splitting a and b into halves of 26 bits."""
    p = a * b
    t = 134217729.0 * a
    a_hi = t - (t - a)
    t = 134217729.0 * b
    b_hi = t - (t - b)
    a_lo, b_lo = a - a_hi, b - b_hi
    return p, a_lo * b_lo - (((p - a_hi * b_hi) - a_lo * b_hi) - a_hi * b_lo)


@kernel(fastmath=EXACT)
def residuals(X, y, s, x0, y0, v0, w, t, t_lo, f, hi, lo):
    """(1) for a block of rows: f in place; Aᵀt is added to hi + lo, the intercept's entry first."""
    n, p = X.shape
    f_lo = np.zeros(n)
    for i in range(n):
        f[i], f_lo[i] = two_sum(y[i], -y0)
        f[i], e = two_sum(f[i], -v0)
        f_lo[i] += e
        hi[0], e = two_sum(hi[0], t[i])
        lo[0] += e + t_lo[i]
        for j in range(p):  # sums in p lanes
            x, x_lo = two_sum(X[i, j], -x0[j])
            m, m_lo = two_product(x, t[i])
            hi[j + 1], e = two_sum(hi[j + 1], m)
            lo[j + 1] += e + (m_lo + x_lo * t[i] + x * t_lo[i])
    for start in range(0, n, TILE):  # a tile of rows stays in cache, its rows are the lanes
        stop = min(start + TILE, n)
        for j in range(p):
            for i in range(start, stop):
                x, x_lo = two_sum(X[i, j], -x0[j])
                m, m_lo = two_product(x, w[j])
                f[i], e = two_sum(f[i], -m)
                f_lo[i] += e - (m_lo + x_lo * w[j])
    for i in range(n):
        if s[i] == 0.0:
            f[i] = 0.0
            continue
        u = t[i] / s[i]  # t / s = u + u_lo
        m, m_lo = two_product(u, s[i])
        u_lo = (((t[i] - m) - m_lo) + t_lo[i]) / s[i]
        r, e = two_sum(f[i], -u)
        f[i] = r + (f_lo[i] + (e - u_lo))


@kernel(fastmath=EXACT)
def right_side(hi, lo, a, v):
    """−g of (1): the parts hi + lo (parts, k) of Aᵀt added up, less a v, all in pairs."""
    found = np.empty(len(v))
    for j in range(len(v)):
        s, m_lo = two_product(-a[j], v[j])
        rest = m_lo
        for part in range(len(hi)):
            s, e = two_sum(s, hi[part, j])
            rest += e + lo[part, j]
        found[j] = s + rest
    return found


def refine(rows, R, d, v, penalty=0.0, steps=10):
    """Correct v (k, q) in place by (2) until its last digits; R is that of the columns d_j A_j."""
    k, p = len(d), rows.X.shape[1]
    a = np.full(k, penalty) if np.ndim(penalty) == 0 else penalty
    T = d[:, None] * solve_triangular(R, np.eye(k))  # A T = Q / √s
    one = np.ones(len(rows.X))
    s, root = (one, one) if rows.s is None else (rows.s, rows.root)

    def residual(blocks):
        hi, lo, Af = np.zeros(p + 1), np.zeros(p + 1), np.zeros(k)
        for b, Z, *_ in blocks:
            X, y = (np.ascontiguousarray(x[b], dtype=float) for x in (rows.X, rows.y[:, c]))
            residuals(X, y, s[b], rows.x0, rows.y0[c], v0, w, t[b], t_lo[b], f[b], hi, lo)
            Af += (root[b] * f[b]) @ Z[:, :k]
        return Af, hi[-k:], lo[-k:]

    def update(blocks):
        for b, Z, *_ in blocks:
            dt, old = root[b] * (root[b] * f[b] - Z[:, :k] @ (T @ e)), t[b].copy()
            t[b] += dt
            t_lo[b] += dt - (t[b] - old)

    for c in range(v.shape[1]):
        t, t_lo, f = np.zeros((3, len(one)))
        start = v[:, c].copy()
        sizes = [8.0]  # of the steps relative to v, which may be wrong in its first digit
        for step in range(steps):
            w, v0 = np.ascontiguousarray(v[-p:, c]), v[0, c] if rows.intercept else 0.0
            Af, hi, lo = (np.array(parts) for parts in zip(*rows.map(residual), strict=True))
            h = right_side(hi, lo, a, np.ascontiguousarray(v[:, c]))
            e = Af.sum(axis=0) @ T + solve_triangular(R, d * h, trans="T")
            if step == 0:
                e[:] = 0.0  # v stays, t becomes its residual
            dv = T @ e
            size = np.abs(dv / d).max() / max(np.abs(v[:, c] / d).max(), 1e-300)
            if not size < sizes[-1] / 2:
                if size > 0.1:
                    v[:, c] = start  # κ ε ≥ 1: no step can improve v
                break  # at the level of rounding
            rows.map(update)
            v[:, c] += dv
            if step:
                sizes.append(size)
                if size <= EPS:
                    break
