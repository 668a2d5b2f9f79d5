r"""The lasso's exact path, and least angle regression

    minimise over w:   P(w) = 1/(2n) ‖y − Xw‖² + α ‖w‖₁                                      (1)

for every α at once. The columns of X and y are centred; G = XᵀX/n, c = Xᵀy/n, and u = c − Gw holds
the covariances of the columns with the residual. Let F be the columns in use and σ the signs of
their covariances. Where w is the minimum,

    u_F = α σ,      |u_j| ≤ α for all other j,      and w_F has the signs σ.                 (2)

The first condition is a linear system, and its solution is linear in α:

    w_F = v − α d,      G_FF v = c_F,      G_FF d = σ                                        (3)
    u = e + α a,        e = c − G_·F v,    a = G_·F d

v is least squares on F; e, what it leaves unexplained, is zero on F. (3) holds until another part
of (2) fails as α falls. A column outside F catches up, u_j = ±α, at

    α_j = |e_j| / (1 − sign(e_j) a_j)                                                        (4)

and enters F with the sign of e_j. A column whose v_k has the wrong sign has the weight zero at

    α_k = v_k / d_k                                                                          (5)

and leaves. The largest of these numbers ends the piece. Entering and leaving are the same change,
one column wide. Let h and g be

    G_FF h = G_Fj,      g = Xᵀ(x_j − X_F h)/n,      so that g_F = 0, g_j = ‖x_j − X_F h‖²/n  (6)

where F is without j; then, with τ and δ such that (3) holds for the new F,

    v_F ← v_F − τ h,   v_j ← v_j + τ,   e ← e − τ g,      τ = e_j/g_j          or −v_j       (7)
    d_F ← d_F − δ h,   d_j ← d_j + δ,   a ← a + δ g,      δ = (σ_j − a_j)/g_j  or −d_j

where j enters or leaves: one product with X, whatever the size of F. h comes from a Cholesky
factor LLᵀ = G_FF, which gains a row or loses one (`lasso/face.py`).

Least angle regression is the same without (5): columns stay, whatever their signs become. With
w ≥ 0 asked for, only columns with e_j > 0 count in (4).

Several events at the same α are taken one after the other, the column of the least index first:
steps of length zero, which by a theorem of Murty end at an F for which (2) holds below α. A column
that depends on those of F has e_j = 0 and never enters.

Osborne, Presnell, Turlach, A new approach to variable selection in least squares problems (2000);
Efron, Hastie, Johnstone, Tibshirani, Least angle regression (2004); Murty, Note on a Bard-type
scheme for solving the complementarity problem (1974).
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from mlreplica.core.compile.jit import formula, kernel
from mlreplica.linear_model.lasso.face import DEPENDENT, leave
from mlreplica.linear_model.lasso.working_set import grown

NOISE = 1e-13  # of ‖x_j‖ max_k |c_k|/‖x_k‖: a smaller e_j is rounding
TIE = 1e-13  # two events as near as this, relative to α, are at the same α


class LarsState(NamedTuple):
    """An end of a piece of the path."""

    alpha: float
    w: np.ndarray
    active: np.ndarray  # the columns of F, in the order in which they came
    column: int  # which enters or leaves here; −1 at the end of the path
    entered: bool
    events: int  # so far
    tied: int  # at the end: columns outside F that share α with it, so that w is not unique


@kernel
def next_event(e, a, v, d, sign, q, noise, alpha, lasso, positive):
    """The largest α at which a column enters (4) or leaves (5), and the least such column."""
    at, best = 0.0, 0
    for j in range(len(e)):
        t = 0.0
        if sign[j] == 0.0:
            size = e[j] if positive else abs(e[j])
            if size > noise[j]:
                t = ratio(size, 1.0 - (a[j] if e[j] > 0.0 else -a[j]), alpha)  # (4)
        elif lasso and -v[j] * sign[j] * q[j] > noise[j]:
            t = ratio(abs(v[j]), abs(d[j]), alpha)  # (5)
        if t > at:
            at, best = t, j
    return at, best


@formula
def ratio(size, slope, alpha):
    """size / slope, which is at most α but for rounding; α itself if it is as near as that."""
    return size / slope if size < (1.0 - TIE) * alpha * slope else alpha


@kernel
def change(e, a, g, v, d, F, h, tau, delta):
    """Update (7) but for v_j and d_j."""
    for j in range(len(e)):
        e[j] -= tau * g[j]  # (7)
        a[j] += delta * g[j]
    for b in range(len(F)):
        v[F[b]] -= tau * h[b]
        d[F[b]] -= delta * h[b]


class GramRows:
    """G, given for all columns."""

    def __init__(self, G):
        self.G, self.q, self.width = G, G.diagonal().copy(), len(G)

    def row(self, j):
        """What is kept of column j while it is in F."""
        return self.G[j]

    def inner(self, Z, z, j):
        """G_Fj from the rows Z of F and the row z of j."""
        return Z[:, j]

    def products(self, left):
        """g of (6) from what is left of a row."""
        return left


class ColumnRows:
    """The columns themselves, as `lasso/columns.py` has them, where G would be too large."""

    def __init__(self, A):
        self.A, self.width = A, A.n
        self.q = np.maximum(np.einsum("ij,ij->j", A.X, A.X) / A.n - A.x_mean**2, 0.0)

    def row(self, j):
        """What is kept of column j while it is in F."""
        return self.A.take([j])[0]

    def inner(self, Z, z, j):
        """G_Fj from the rows Z of F and the row z of j."""
        return Z @ z / self.width

    def products(self, left):
        """g of (6) from what is left of a row, whose sum is zero if columns are centred."""
        return (left / self.width) @ self.A.X


class Active:
    """F with its factor L, and v, d, e, a of (3) for all columns (v and d are zero outside F)."""

    def __init__(self, rows, c):
        self.rows, self.k, p = rows, 0, len(c)
        self.v, self.d, self.a, self.e = np.zeros(p), np.zeros(p), np.zeros(p), c.copy()
        self.sign, self.order = np.zeros(p), np.empty(p, dtype=np.int64)  # σ, and F as it came
        self.L, self.Z = np.empty((8, 8)), np.empty((8, rows.width))

    def enter(self, j, least):
        """Let j in with the sign of e_j; False if F leaves less than √least of it."""
        k, z = self.k, self.rows.row(j)
        row, h, g = self._left(z, self.rows.inner(self.Z[:k], z, j))
        if not g[j] > least:
            return False
        if k == len(self.L):
            self.L, self.Z = grown(self.L, k, (2 * k, 2 * k)), grown(self.Z, k, (2 * k, len(z)))
        self.L[k, :k], self.L[k, k], self.Z[k] = row, math.sqrt(g[j]), z
        self.sign[j] = np.sign(self.e[j])
        self._change(j, h, g, self.e[j] / g[j], (self.sign[j] - self.a[j]) / g[j])
        self.order[k], self.k = j, k + 1
        return True

    def leave(self, j):
        """Take j out."""
        k, i = self.k, self.F.tolist().index(j)
        z = self.Z[i].copy()
        leave(self.L, k, i)
        self.Z[i : k - 1], self.order[i : k - 1] = self.Z[i + 1 : k], self.order[i + 1 : k].copy()
        self.k = k - 1
        _, h, g = self._left(z, self.rows.inner(self.Z[: k - 1], z, j))
        self._change(j, h, g, -self.v[j], -self.d[j])
        self.v[j] = self.d[j] = self.sign[j] = 0.0

    @property
    def F(self):  # noqa: N802  a set
        """The columns inside, in the order of the rows of L."""
        return self.order[: self.k]

    def _left(self, z, products):
        """L⁻¹G_Fj, h and g of (6)."""
        k = self.k
        if k == 0:
            return products, products, self.rows.products(z)
        R = np.asfortranarray(self.L[:k, :k].T)
        row = lapack.dtrtrs(R, products, trans=1)[0]
        h = lapack.dtrtrs(R, row)[0]
        return row, h, self.rows.products(z - h @ self.Z[:k])

    def _change(self, j, h, g, tau, delta):
        """Update (7)."""
        change(self.e, self.a, g, self.v, self.d, self.F, h, tau, delta)
        self.v[j] += tau
        self.d[j] += delta


def homotopy(rows, c, *, lasso=True, positive=False, alpha_min=0.0, max_iter=500, eps=DEPENDENT):
    """Yield the LarsState at the largest α, then at every event down to `alpha_min`.

    Ends early after `max_iter` events. The arrays of a state are not touched again.
    """
    alpha = float(max((c if positive else np.abs(c)).max(initial=0.0), alpha_min))
    active, root_q = Active(rows, c), np.sqrt(rows.q)
    noise = NOISE * root_q * (np.abs(c) / np.where(root_q > 0.0, root_q, np.inf)).max(initial=0.0)
    done, first = 0, True
    while True:
        at, j = next_event(
            *(active.e, active.a, active.v, active.d, active.sign, rows.q, noise),
            *(alpha, lasso, positive),
        )
        last, entering = at <= alpha_min or done >= max_iter, active.sign[j] == 0.0
        if at < alpha or first:
            alpha, first = max(at, alpha_min), False
            w = active.v - alpha * active.d
            if last:
                yield LarsState(
                    alpha, w, active.F.copy(), -1, False, done, shared(active, positive, noise)
                )
            else:
                w[j] = 0.0
                yield LarsState(alpha, w, active.F.copy(), j, bool(entering), done, 0)
        if last:
            return
        if not entering:
            active.leave(j)
        elif not active.enter(j, max(eps, DEPENDENT) * rows.q[j]):
            active.e[j] = 0.0
            continue
        done += 1


def shared(active, positive, noise):
    """How many columns outside F have covariances of size α all along this piece."""
    a = active.a if positive else np.abs(active.a)
    tied = (np.abs(active.e) <= noise) & (a >= 1.0 - 1e-9) & (active.rows.q > 0.0)
    tied[active.F] = False
    return int(np.count_nonzero(tied))
