r"""Ridge regression: least squares with a penalty on the length of w

    minimise over w, b:   P(w, b) = Σ_i s_i (y_i − x_iᵀw − b)² + α ‖w‖²,    α ≥ 0            (1)

Let A, c be the rows √s_i [x_i − x̄, y_i − ȳ] about the weighted means; then b = ȳ − x̄ᵀw as in least
squares. (If the offset is penalised too, + α b², then A = √s [1 X], c = √s y, and b is a weight
like the others.) Half the gradient of P, with the sign changed, is

    g(w) = Aᵀ(c − A w) − α w,       g = 0   ⇔   (AᵀA + αI) w = Aᵀc.                          (2)

So w is a combination of the rows, w = Aᵀβ, and if there are fewer rows than columns the smaller
system is the one in β,

    (AAᵀ + αI) β = c,     w = Aᵀβ        (the dual).                                         (3)

Ridge regression is least squares on p more rows, √α times the unit vectors with target 0,

    P = ‖[c; 0] − [A; √αI] w‖²,                                                              (4)

so what `linear_model/least_squares/direct.py` says about digits holds for it, with κ² = (σ₁² + α) /
(σ_p² + α): normal equations where an estimate of κ and a correction step prove them right,
otherwise the triangle of (4), refined. With A = U Σ Vᵀ, each direction v_j of the columns is shrunk
by its own factor,

    w = Σ_j v_j · σ_j / (σ_j² + α) · u_jᵀc.                                                  (5)

How far is the minimum? g(w) = −(AᵀA + αI)(w − w*) since g is linear, and P is quadratic, so

    P(w) − P(w*) = (w − w*)ᵀ(AᵀA + αI)(w − w*) = gᵀ(AᵀA + αI)⁻¹g ≤ ‖g‖²/(σ_p² + α) ≤ ‖g‖²/α, (6)

where the last bound is also the gap to the dual objective 2θᵀc − ‖θ‖² − ‖Aᵀθ‖²/α at θ = c − A w.
A direct solver leaves a g of the size of rounding, (p + √n) ε ‖A‖ (‖c‖ + ‖A‖ ‖w‖).

Conjugate gradients (Hestenes, Stiefel 1952) need only products of G = AᵀA + αI with a vector:

    t = gᵀz/dᵀGd,   w ← w + t d,   g ← g − t G d,   d ← z + (gᵀz/g_oldᵀz_old) d,              (7)

with z = g, or z = g / diag(G), which makes columns of very different lengths equal.

Hoerl, Kennard, Ridge regression: biased estimation for nonorthogonal problems (1970);
Björck, Numerical Methods for Least Squares Problems (1996), sections 2.7 and 7.4.
"""

import math
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import minimize

from mlreplica.core.compile.threads import one_blas_thread
from mlreplica.core.linalg import EPS, cholesky, power_of_two
from mlreplica.core.rows.moments import Moments
from mlreplica.linear_model.least_squares.descent import gap
from mlreplica.linear_model.least_squares.direct import (
    GOOD,
    DesignRows,
    DesignTriangle,
    centred,
    from_triangle,
    good,
    small,
)

NEAR = 30.0  # length² of a column over that about its mean up to which it need not be centred first


class RidgeSolution(NamedTuple):
    """What a direct solver finds: w (p, q), b (q,), a bound on P − P*, and its name."""

    w: np.ndarray
    b: np.ndarray
    gap: float
    solver: str


def by_normal_equations(X, y, alpha, intercept):
    """Solve (2) on a small copy of [X y], α > 0 a number; None unless ε (κ² + ‖c‖/‖w‖) is small.

    As in least squares, but κ² ≤ 1 + trace(AᵀA) / α is known beforehand: nothing to estimate.
    """
    (n, p), (_, mean, M, lengths_sq, _) = X.shape, Moments.of_few(X, y, intercept)
    lengths_sq = lengths_sq.tolist()
    most, G = sum(lengths_sq[:p]) + alpha, M[:p, :p]
    if not most + sum(lengths_sq[p:]) < 1e280:  # overflow, or an entry is NaN or infinite
        return None
    M.T.ravel()[: p * len(M) : len(M) + 1] += alpha  # a view: M is contiguous by columns
    w = lapack.dposv(G, M[:p, p:])[1]
    error, gap, share = EPS * most / alpha, 0.0, (p + math.sqrt(n)) * EPS
    for w_k, c_sq in zip(w.T.tolist(), lengths_sq[p:], strict=True):
        size, c = math.hypot(*w_k) * math.sqrt(most), math.sqrt(c_sq)
        if not error * (size + c) <= GOOD * size and c > 0.0:
            return None
        gap += (share * (size + c)) ** 2 * most / alpha  # (6)
    b = mean[p:] - mean[:p].dot(w) if intercept else np.zeros(y.shape[1])
    return RidgeSolution(w, b, gap, "cholesky")


def groups(alpha):
    """(α, the targets that have it) for every different α."""
    return [(float(a), np.flatnonzero(alpha == a)) for a in np.unique(alpha)]


def rounding(rows, rcond, c, v):
    """(6) for a direct solver, at ‖A‖ ≈ 1; rcond, an estimate, is taken for a third of itself."""
    k, n = len(v), rows.X.shape[0]
    share = (k + math.sqrt(n)) * EPS * (np.linalg.norm(v, axis=0) + c)
    return float((share**2).sum() * 3.0 / rcond)


def unpacked(rows, v, gap, solver):
    """The RidgeSolution from v = (offset, w), in the user's coordinates."""
    if not rows.intercept:
        return RidgeSolution(v, np.zeros(v.shape[1]), gap, solver)
    w = v[1:]
    return RidgeSolution(w, rows.y0 + (v[0] - rows.x0 @ w), gap, solver)


def normal_equations(rows):
    """The Normal of the rows, and by what its rounding is larger than if they were centred."""
    plain = not rows.sparse and rows.root is None and rows.X.dtype == np.float64
    if plain and rows.y.shape[1] > 1:
        normal, cost = rows.products()
        if normal.finite() and cost <= NEAR:
            return normal, cost
    return rows.normal(), 1.0


def by_cholesky(rows, alpha, normal=None):
    """Solve (2), corrected by the gradient of the rows unless good; None if digits are lost."""
    if rows.uneven:
        return None
    normal, cost = (normal, 1.0) if normal else normal_equations(rows)
    v, gap = np.empty_like(normal.b), 0.0
    if not normal.finite():
        return None
    for a, targets in groups(alpha):
        price = rows.penalty(a)
        factor = cholesky(normal.G + np.diag(price))
        if factor is None:
            return None
        c, found = np.sqrt(normal.c_sq[targets]), factor.solve(normal.b[:, targets])
        scaled = found / factor.d[:, None]
        if not good(factor.rcond / cost, c, scaled) and c.any():
            some = rows.targets(targets)
            if not corrected(some, factor, found, price[:, None]):
                return None
        v[:, targets] = found
        gap += cost**2 * rounding(rows, factor.rcond, c, found / factor.d[:, None])
    return unpacked(rows, v, gap, "cholesky")


def corrected(rows, factor, v, price):
    """v ← v + (AᵀA + αI)⁻¹ g(v) in place until a step is small; False if it does not become so."""
    for _ in range(3):
        step = factor.solve(rows.gradient(v) - price * v)
        v += step
        if small(step / factor.d[:, None], v / factor.d[:, None]):
            return True
    return False


def with_penalty(tri, alpha):
    """The triangle of (4) from the triangle of A; a free offset has no part in it."""
    p, i = len(tri.d), tri.R.shape[1] - len(tri.d)
    below = np.hstack([math.sqrt(alpha) * np.eye(p), np.zeros((p, tri.uc.shape[1]))])
    T = np.linalg.qr(np.vstack([np.hstack([tri.Rc, tri.uc]), below]), mode="r")
    Rc, uc, rest = T[:p, :p], T[:p, p:], np.linalg.norm(T[p:, p:], axis=0)
    R, u = np.zeros((p + i, p + i)), np.vstack([tri.u[:i], uc])
    R[:i], R[i:, i:] = tri.R[:i], Rc
    d = power_of_two(np.abs(Rc).max(axis=0))
    return DesignTriangle(R, u, Rc, uc, d, np.hypot(rest, tri.rest))


def by_qr(rows, alpha):
    """Solve (4) by orthogonal transformations, refined where κ asks for it."""
    whole = DesignTriangle.of(rows)
    v, gap = np.empty((whole.R.shape[1], len(alpha))), 0.0
    for a, targets in groups(alpha):
        some = rows.targets(targets)
        tri = whole._replace(
            u=whole.u[:, targets], uc=whole.uc[:, targets], rest=whole.rest[targets]
        )
        tri = with_penalty(tri, a) if a > 0 else tri
        v[:, targets], _ = from_triangle(some, tri, rows.penalty(a))
        R = tri.Rc * tri.d
        rcond = lapack.dtrcon(R)[0] ** 2 if len(R) == len(tri.d) else 0.0
        scaled = v[-len(tri.d) :, targets] / tri.d[:, None]
        c = np.linalg.norm(np.vstack([tri.uc, tri.rest]), axis=0)
        gap += rounding(rows, rcond, c, scaled) if rcond > 0 else math.inf
    return unpacked(rows, v, gap, "qr")


def by_svd(rows, alpha):
    """Solve by (5), from the singular values of the triangle of A; α > 0."""
    _, _, Rc, uc, *_ = tri = DesignTriangle.of(rows)
    U, sigma, Vt = np.linalg.svd(Rc, full_matrices=False)
    v = shrunk(U, sigma, Vt, uc, alpha)
    c = np.linalg.norm(np.vstack([uc, tri.rest]), axis=0)
    gap = svd_rounding(rows, sigma, c, v, alpha)
    return unpacked(rows, tri.with_intercept(v), gap, "svd")


def shrunk(U, sigma, Vt, c, alpha):
    """(5) for every target."""
    return Vt.T @ ((sigma[:, None] / (sigma[:, None] ** 2 + alpha)) * (U.T @ c))


def svd_rounding(rows, sigma, c, w, alpha):
    """(6) with the largest and smallest singular value in place of an estimate of κ."""
    top = sigma[0] if len(sigma) else 0.0
    rcond = alpha.min() / (alpha.min() + top**2)
    return rounding(rows, rcond, c, math.sqrt(alpha.max() + top**2) * w)


class Frame(NamedTuple):
    """The way from the weights of A back to w and b."""

    x_mean: np.ndarray
    y_mean: np.ndarray
    offset: bool  # the first weight is b itself

    def __call__(self, w):
        """w and b in the user's coordinates."""
        return (w[1:], w[0]) if self.offset else (w, self.y_mean - self.x_mean @ w)


def as_arrays(rows):
    """A, c of (2) as arrays, and their Frame."""
    if rows.free or not rows.intercept:
        A, c, x_mean, y_mean = centred(rows)
        return A, c, Frame(x_mean, y_mean, False)
    A, c = np.hstack([np.ones((len(rows.X), 1)), rows.X]), rows.y.astype(float)
    if rows.root is not None:
        A, c = rows.root[:, None] * A, rows.root[:, None] * c
    return A, c, Frame(np.zeros(A.shape[1]), np.zeros(c.shape[1]), True)


def by_dual(rows, alpha, solver="cholesky"):
    """Solve by (3) for n < p and α > 0; by QR or SVD of A if asked for or if digits are lost."""
    if solver == "cholesky" and rows.free and (found := uncopied(rows, alpha)):
        return found
    A, c, frame = as_arrays(rows)
    if solver == "cholesky" and not rows.uneven and (found := dual(rows, A, c, alpha)):
        return RidgeSolution(*frame(found[0]), found[1], "cholesky")
    size = np.linalg.norm(c, axis=0)
    if solver == "svd":
        w = shrunk(*np.linalg.svd(A, full_matrices=False), c, alpha)
        top = math.sqrt(float(np.einsum("ij,ij->", A, A)))
        gap = svd_rounding(rows, np.array([top]), size, w, alpha)
        return RidgeSolution(*frame(w), gap, "svd")
    Q, L = np.linalg.qr(A.T)  # the rows of A lie in the span of Q: w = Q z
    x0, y0 = np.zeros(len(A)), np.zeros(len(size))
    found = by_qr(DesignRows(np.ascontiguousarray(L.T), x0, False, c, y0), alpha)
    return RidgeSolution(*frame(Q @ found.w), found.gap, "qr")


def uncopied(rows, alpha):
    """The same without a copy of X: XXᵀ is centred afterwards; None where means are too large.

    With t = X x̄ the entries of (X − 1x̄ᵀ)(X − 1x̄ᵀ)ᵀ are those of XXᵀ − t1ᵀ − 1tᵀ + x̄ᵀx̄.
    """
    X, n = rows.X, len(rows.X)
    if rows.uneven or X.dtype != np.float64:
        return None
    root = np.ones(n) if rows.root is None else rows.root
    share = root**2 / (root @ root)
    y = rows.y - rows.y0
    y_mean = share @ y if rows.intercept else np.zeros(y.shape[1])
    c, K = root[:, None] * (y - y_mean), X @ X.T
    if rows.root is not None:
        K *= np.outer(root, root)
    norm = float(np.abs(K).sum(axis=0).max())
    if rows.intercept:
        one = root / math.sqrt(root @ root)
        t = K @ one
        K -= np.outer(t - 0.5 * (one @ t) * one, one)
        K -= np.outer(one, t - 0.5 * (one @ t) * one)
        K += np.outer(one, one * (K.trace() / n))  # 1ᵀc = 0: β has none of a filled direction
    beta = np.empty_like(c)
    # NumPy's threads still spin after X Xᵀ; those of SciPy's own BLAS would wait for them
    with one_blas_thread() if n <= 2000 else nullcontext():
        for a, targets in groups(alpha):
            H = K.copy()
            H.flat[:: n + 1] += a
            factor = cholesky(H)
            if factor is None:
                return None
            beta[:, targets] = factor.solve(c[:, targets])
    w, x_mean = X.T @ (root[:, None] * beta), np.zeros(X.shape[1])
    if rows.intercept:
        x_mean = share @ X
        w -= np.outer(x_mean, root @ beta)
    error = EPS * (norm + alpha) / (2 * np.sqrt(alpha)) * np.linalg.norm(beta, axis=0)
    if not (error <= 10 * GOOD * np.linalg.norm(w, axis=0)).all():
        return None
    size = np.linalg.norm(c, axis=0)
    gap = rounding(rows, float((alpha / (norm + alpha)).min()), size, math.sqrt(norm) * w)
    return RidgeSolution(w, y_mean + rows.y0 - x_mean @ w, gap, "cholesky")


def dual(rows, A, c, alpha):
    """w of (3) by Cholesky and the bound (6), corrected unless good; None if digits are lost."""
    n, q = c.shape
    K = A @ A.T
    if rows.intercept and rows.free:  # 1ᵀA = 0 and 1ᵀc = 0: β has none of a filled direction
        one = np.ones(n) if rows.root is None else rows.root
        K += np.outer(one, one * (K.trace() / (n * (one @ one))))
    beta, factors = np.empty((n, q)), []
    for a, targets in groups(alpha):
        H = K.copy()
        H.flat[:: n + 1] += a
        factor = cholesky(H)
        if factor is None:
            return None
        beta[:, targets] = factor.solve(c[:, targets])
        factors.append((targets, factor))
    w = A.T @ beta
    top, size = float(np.abs(K).sum(axis=0).max()) + alpha, np.linalg.norm(c, axis=0)
    # β is off by at most (K + α)⁻¹ · ε top β, and Aᵀ(K + α)⁻¹ is nowhere longer than 1 / 2√α
    error = EPS * top / (2 * np.sqrt(alpha)) * np.linalg.norm(beta, axis=0)
    exact = error <= 10 * GOOD * np.linalg.norm(w, axis=0)
    for t, factor in factors:
        if not (exact[t].all() or settled(A, c, alpha, beta, w, t, factor)):
            return None
    return w, rounding(rows, float((alpha / top).min()), size, np.sqrt(top) * w)


def settled(A, c, alpha, beta, w, targets, factor):
    """Correct β and w in place; False if three corrections do not settle them."""
    for _ in range(3):
        r = c[:, targets] - A @ w[:, targets] - alpha[targets] * beta[:, targets]
        step = factor.solve(r)
        beta[:, targets] += step
        step = A.T @ step
        w[:, targets] += step
        if small(step, w[:, targets]):
            return True
    return False


class RidgeState(NamedTuple):
    """Where conjugate gradients are: w (p, q), b (q,), P, the bound (6) on P − P*, what is left."""

    w: np.ndarray
    b: np.ndarray
    objective: float
    gap: float
    rest: float  # the largest of ‖g‖ / ‖g(0)‖ and of gap / P(0), over all targets


def inner(a, b):
    """aᵀb of every column."""
    return np.einsum("ij,ij->j", a, b)


class DenseProducts(NamedTuple):
    """The products with a dense A that (7) asks for."""

    A: np.ndarray

    @property
    def shape(self):
        """(n, p)"""
        return self.A.shape

    def gradient(self, c, w):
        """Aᵀ(c − A w), and ‖c − A w‖² of every target."""
        r = c - self.A @ w
        return (r.T @ self.A).T, inner(r, r)

    def diagonal(self):
        """The diagonal of AᵀA."""
        return np.einsum("ij,ij->j", self.A, self.A)

    def normal(self, d):
        """AᵀA d"""
        return ((self.A @ d).T @ self.A).T


def conjugate_gradients(products, c, alpha, tol, frame):
    """Yield the RidgeState after each step (7) of all targets; end where rounding stops progress.

    Where g seems small enough it is computed afresh and the directions start anew, so that the last
    bound does not rest on the recursion. With next to no penalty z = g: then w stays in the span of
    the rows, where its limit is. A direction with no more curvature than rounding makes is not
    followed: it leads anywhere. Arrays (p, q) are in Fortran order: what is of one target lies
    together.
    """
    w = np.zeros((products.shape[1], c.shape[1]), order="F")
    first, c_sq = products.gradient(c, w)
    D = np.add(products.diagonal()[:, None], alpha, order="F")
    D[:, alpha <= 1e-10 * D.max(axis=0, initial=0.0)] = 1.0
    g, before, size = first, np.inf, np.sqrt(inner(first, first))

    def state():
        """The RidgeState, and what is left of each target."""
        g_sq = inner(g, g)
        P = float((c_sq - inner(w, first) - inner(w, g)).sum())
        gaps = np.where(g_sq > 0, g_sq / alpha, 0.0)
        share = np.where(alpha > 0, gaps / c_sq, 0.0)
        rest = np.nan_to_num(np.maximum(np.sqrt(g_sq) / size, share))
        return RidgeState(*frame(w), P, float(gaps.sum()), float(rest.max())), rest

    with np.errstate(divide="ignore", invalid="ignore"):
        d, rest = g / D, np.full(len(alpha), np.inf)
        gz, top = inner(g, d), np.zeros(len(alpha))
        while True:
            Gd = products.normal(d) + alpha * d
            curved, d_sq = inner(d, Gd), inner(d, d)
            top = np.fmax(top, curved / d_sq)
            far = (gz > 0) & (rest > tol / 2)  # a target that has arrived waits for the others
            far &= curved > 8 * EPS * top * d_sq
            step = np.where(far, gz / curved, 0.0)
            w, g, old = w + step * d, g - step * Gd, gz
            (now, rest), fresh = state(), False
            if not (now.rest > tol / 2 and far.any()):
                g, fresh = products.gradient(c, w)[0] - alpha * w, True
                now, rest = state()
            yield now
            if fresh and not now.rest < before / 2:
                return
            z = g / D
            gz = inner(g, z)
            d = z if fresh else z + np.where(old > 0, gz / old, 0.0) * d
            before = now.rest if fresh else before


def projected(products, c, alpha, tol, frame):
    """Yield the RidgeState once, at the minimum over w ≥ 0 by L-BFGS-B: for many columns, α > 0."""
    w = np.zeros((products.shape[1], c.shape[1]))
    for k, a in enumerate(alpha):

        def objective(v, k=k, a=a):
            g, r_sq = products.gradient(c[:, k : k + 1], v[:, None])
            return float(r_sq[0] + a * v @ v), 2 * (a * v - g[:, 0])

        limits = {"maxiter": 15_000, "maxfun": 30_000, "ftol": 0.0, "maxcor": 30}
        limits["gtol"] = tol * float(np.abs(objective(w[:, k])[1]).max())
        free = {"jac": True, "bounds": [(0, None)] * len(w), "method": "L-BFGS-B"}
        w[:, k] = minimize(objective, w[:, k], **free, options=limits).x
    g, r_sq = products.gradient(c, w)
    bound = gap(w, 2 * (alpha * w - g), 2 * alpha, lower=0.0)
    P = float((r_sq + alpha * (w * w).sum(axis=0)).sum())
    yield RidgeState(*frame(w), P, bound, bound / max(float((c * c).sum()), 1e-300))
