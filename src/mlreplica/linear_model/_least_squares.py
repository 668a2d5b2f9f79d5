r"""Least squares: the fastest way that keeps the digits

    minimise over w, b:   P(w, b) = 1/(2S) Σ_i s_i (y_i − x_iᵀw − b)²,    S = Σ_i s_i        (1)

A weight s_i counts row i as if it stood there s_i times. Write a row as

    z_i = √s_i · [1, x_i − x₀, y_i − y₀] = [a_i, c_i]                                        (2)

for any fixed x₀, y₀: moving the origin changes b and nothing else, and an origin near the mean
keeps the digits that a large mean would cost. The rows z_i exist one block at a time; X is never
copied. With A = [a_i], c = [c_i] and the unknown v = (b + x₀ᵀw − y₀, w), the gradient of (1) is
zero when the residual is orthogonal to every column:

    AᵀA v = Aᵀc        (the normal equations)                                                (3)

Two ways to a triangle R with AᵀA = RᵀR and to u = Qᵀc, after which R v = u:

    Cholesky:   M = Σ_blocks ZᵀZ, then RᵀR = M                   error ≈ κ² ε                (4)
    QR:         R ← triangle of QR([R; Z]) for every block Z     error ≈ κ ε + κ² ε tan θ    (5)

with κ the condition number of A, its columns scaled to length one (by powers of two, which is
exact), and θ the angle between c and the columns of A. (4) is several times faster. "auto"
starts with it, estimates κ, and where κ² ε is not negligible corrects the answer by

    v ← v + (RᵀR)⁻¹ Aᵀ(c − A v),                                                             (6)

which takes the error from e to κ² ε · e a step and shows by the size of the step how large it was.
If κ is too large for that, (5) takes over and its answer is refined by Newton's method on

    S⁻¹ t + A v = y,    Aᵀt = 0        (t = S r, the weighted residual)                      (7)

with the two left-hand sides evaluated in twice the working precision: what remains is the rounding
of w itself. When columns are dependent, of all w that minimise (1) the one with least ‖w‖ is given.

When there are fewer rows than columns (wide X), w = Aᵀα with (A Aᵀ) α = c is that one.      (8)

Björck, Numerical Methods for Least Squares Problems (1996), sections 2.4.4, 2.7 and 2.9;
Demmel, Grigori, Hoemmen, Langou, Communication-optimal parallel and sequential QR (2012);
Dekker, A floating-point technique for extending the available precision (1971).
"""

import math
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
from scipy.linalg import blas, lapack, solve_triangular

from mlreplica.core.parallel import n_threads, one_blas_thread, run, split

from ._refine import refine

EPS = float(np.finfo(float).eps)
TINY = float(np.finfo(float).tiny)
GOOD = 1e-11  # estimated relative error of w that needs no more work
USABLE = 1e-11  # 1/κ² down to which the correction (6) converges
ENOUGH = 1e-10  # relative size of a last correction: what is left is rounding, a few times as large
BLOCK = 1 << 17  # entries of a block: 1 MB, so that a block stays in cache
UNEVEN = 1e6  # largest over smallest weight up to which errors are those of equal weights
SMALL = 1 << 15  # entries of [X y] up to which a copy of it is the fastest start
ONES = np.ones(SMALL)


class Rows(NamedTuple):
    """The rows (2), made block by block; the column of ones is left out without an intercept."""

    X: np.ndarray  # (n, p)
    y: np.ndarray  # (n, q)
    s: np.ndarray | None  # (n,), None: all ones
    root: np.ndarray | None  # √s
    intercept: bool
    x0: np.ndarray  # (p,)
    y0: np.ndarray  # (q,)
    n_jobs: int | None
    free: bool = True  # False: the offset is one more weight, as in ridge with a penalised offset

    @property
    def width(self):
        """Columns of a block."""
        return self.intercept + self.X.shape[1] + self.y.shape[1]

    @property
    def uneven(self):
        """Whether a few weights dwarf the others: rounding of those rows then hides what these say,
        and no condition number tells."""
        if self.s is None:
            return False
        return bool(self.s.max() > UNEVEN * self.s.min(initial=np.inf, where=self.s > 0))

    def block(self, rows, buffer):
        """Z of (2) for a slice of rows, written over the buffer."""
        X, y, p = self.X[rows], self.y[rows], self.X.shape[1]
        Z, i = buffer[: len(X)], int(self.intercept)
        if i:
            Z[:, 0] = 1.0
        np.subtract(X, self.x0, out=Z[:, i : i + p])
        np.subtract(y, self.y0, out=Z[:, i + p :])
        if self.root is not None:
            Z *= self.root[rows, None]
        return Z

    def map(self, work):
        """[work(blocks of one part)] for every part of the rows, one part a thread."""
        n, k = len(self.X), self.width
        if n * k <= BLOCK:
            return [work([(slice(0, n), self.block(slice(0, n), np.empty((n, k))))])]
        size = max(BLOCK // k, 2 * k)
        order = "F" if self.X.flags.f_contiguous else "C"

        @np.errstate(over="ignore", invalid="ignore")  # a thread has its own; by_… look at the sums
        def part(rows):
            buffer = np.empty((min(size, rows.stop - rows.start), k), order=order)
            cuts = range(rows.start, rows.stop, size)
            blocks = (slice(i, min(i + size, rows.stop)) for i in cuts)
            return work((b, self.block(b, buffer)) for b in blocks)

        if k > 512:  # keeps BLAS's own threads busy, and M once per thread would be large
            return [part(slice(0, n))]
        with one_blas_thread():
            return run(part, split(n, n_threads(self.n_jobs), size), n_jobs=self.n_jobs)

    def normal(self):
        """The two sides of (3), from M of (4); if targets are many, without its last corner."""
        k = self.width - self.y.shape[1]
        if k >= self.y.shape[1]:  # M is symmetric, so that BLAS makes half of it only
            M = sum(self.map(lambda blocks: sum(Z.T @ Z for _, Z in blocks)))
            return Normal(M[:k, :k], M[:k, k:], M.diagonal()[k:])

        def work(blocks):
            return sum(np.vstack([Z[:, :k].T @ Z, (Z * Z).sum(axis=0)]) for _, Z in blocks)

        M = sum(self.map(work))
        return Normal(M[:k, :k], M[:k, k:], M[k, k:])

    def products(self):
        """`normal` from X and y as they lie, moved to x₀ and y₀ afterwards, and what that costs.

        It spares the blocks; BLAS has threads of its own for two large products. An entry is off by
        ε times what it was before it moved: the cost is the largest length² of a column before,
        over the one about its mean.
        """
        X, y, n = self.X, self.y, len(self.X)
        one = np.ones(n)
        G, b, x, t, c_sq = X.T @ X, X.T @ y, one @ X, one @ y, np.einsum("ij,ij->j", y, y)
        before = np.concatenate([G.diagonal(), c_sq])
        if self.intercept:
            dx, dt = x - n * self.x0, t - n * self.y0
            G = G - np.outer(self.x0, x) - np.outer(dx, self.x0)
            b = b - np.outer(self.x0, t) - np.outer(dx, self.y0)
            c_sq = c_sq - self.y0 * (t + dt)
            about = np.concatenate([G.diagonal() - dx * dx / n, c_sq - dt * dt / n])
            G = np.block([[np.full((1, 1), float(n)), dx], [dx[:, None], G]])
            b = np.vstack([dt, b])
        else:
            about = before
        cost = np.max(before / np.maximum(about, TINY), initial=1.0, where=before > 0.0)
        return Normal(G, b, c_sq), float(cost)

    def gradient(self, v):
        """Aᵀ(c − A v) of (6), summed over the blocks."""
        k = len(v)

        def work(blocks):
            return sum(Z[:, :k].T @ (Z[:, k:] - Z[:, :k] @ v) for _, Z in blocks)

        return sum(self.map(work))


class Normal(NamedTuple):
    """The normal equations (3), and how long each target is."""

    G: np.ndarray  # AᵀA (k, k)
    b: np.ndarray  # Aᵀc (k, q)
    c_sq: np.ndarray  # (q,): squared lengths of the columns of c

    def finite(self):
        """Whether no sum overflowed, and no entry was NaN."""
        return bool(np.isfinite(self.G.sum() + self.b.sum() + self.c_sq.sum()))

    def centred(self):
        """(3) about the means, without the offset, and how far the means are from x₀ and y₀."""
        S, a = self.G[0, 0], self.G[0, 1:]
        dx, dy = a / S, self.b[0] / S
        about = self.G[1:, 1:] - np.outer(a, dx), self.b[1:] - np.outer(a, dy)
        return Normal(*about, self.c_sq - S * dy**2), dx, dy


class Solution(NamedTuple):
    """What a solver finds: w (p, q), the intercept b (q,), and what it learnt about X."""

    w: np.ndarray
    b: np.ndarray
    rank: int
    singular: np.ndarray
    solver: str


def by_normal_equations(X, y, intercept):
    """Solve (3) on a small, centred copy of [X y]; None unless κ² ε (1 + ‖c‖ / ‖v‖) is small.

    The textbook's way, with an eye on microseconds: SciPy's BLAS and LAPACK are called with the
    least ceremony, never warn, and use the upper triangle of a symmetric matrix only.
    """
    n, p = X.shape
    Z = np.empty((n, p + y.shape[1]), order="F")  # long columns: half the cost of short rows
    Z[:, :p], Z[:, p:] = X, y
    one = ONES[:n]
    mean = blas.dgemv(1.0 / n, Z, one, trans=1)
    if intercept:
        Z = blas.dger(-1.0, one, mean, a=Z, overwrite_a=1)  # Z − 1·meanᵀ
    M = blas.dsyrk(1.0, Z, trans=1)  # ZᵀZ
    G, lengths_sq = M[:p, :p], M.diagonal().tolist()
    if not math.isfinite(sum(lengths_sq)):  # an entry is NaN or infinite, or they overflow
        return None
    values = lapack.dsyev(G, compute_v=0)[0]  # squares of the singular values
    least, most = float(values[0]), float(values[-1])
    if not least > max(EPS * most, 1e-280):
        return None
    w = lapack.dposv(G, M[:p, p:])[1]
    root, share = math.sqrt(most), GOOD * least / (EPS * most)
    for w_k, c_sq in zip(w.T.tolist(), lengths_sq[p:], strict=True):
        size = root * math.hypot(*w_k)
        if not size + math.sqrt(c_sq) <= share * size:
            return None
    b = mean[p:] - mean[:p].dot(w) if intercept else np.zeros(y.shape[1])
    return Solution(w, b, p, np.sqrt(values[::-1]), "cholesky")


class Factor(NamedTuple):
    """A symmetric matrix G, scaled to a unit diagonal: RᵀR = D G D, D = diag(d)."""

    R: np.ndarray
    d: np.ndarray
    rcond: float  # about 1/κ(DGD)

    def solve(self, B):
        """G⁻¹B"""
        scaled = self.d[:, None] * B
        # threads of BLAS would cost more than they save, and wait for NumPy's that still spin
        with one_blas_thread() if B.size * len(B) < 1 << 23 else nullcontext():
            return self.d[:, None] * lapack.dpotrs(self.R, scaled)[0]


def origin(X, y, most=1024):
    """x₀, y₀ of (2): means over at most about `most` rows spread evenly."""
    step = max(1, len(X) // most)
    X, y = X[::step], y[::step]
    one = np.full(len(X), 1.0 / len(X))  # a product with ones: half the cost of mean(axis=0)
    return one @ X, one @ y


def power_of_two(length):
    """d with 1/2 ≤ d · length < 1, a power of two: scaling by it is exact. 1 where length is 0."""
    return np.ldexp(1.0, -np.frexp(length)[1])


def cholesky(G):
    """The Factor of G, or None: not finite, a zero on the diagonal, or too ill-conditioned."""
    sq = G.diagonal()
    if not (sq.min() > 1e-280 and np.isfinite(G.sum())):  # false for NaN, overflow, underflow
        return None
    d = power_of_two(np.sqrt(sq))
    G = G * d * d[:, None]
    norm = np.abs(G).sum(axis=0).max()
    R, failed = lapack.dpotrf(G.T, clean=1, overwrite_a=1)
    if failed:
        return None
    rcond = lapack.dpocon(R, norm)[0]
    return Factor(R, d, rcond) if rcond > USABLE else None


def good(rcond, c, v):
    """Is (3), solved with c at ‖A‖ ≈ 1, right to GOOD? Its error is κ² ε (1 + ‖c‖ / ‖v‖)."""
    size = np.linalg.norm(v, axis=0)
    return bool((EPS * (size + c) <= GOOD * rcond * size).all())


def small(step, w):
    """Is the step so small, for every weight that matters, that w needs no other?"""
    size = np.abs(w)
    return bool((np.abs(step) <= ENOUGH * (size + 1e-4 * size.max(axis=0))).all())


def by_cholesky(rows):
    """Solve by (4), corrected by (6) unless good; None if that cannot keep the digits."""
    if rows.uneven:
        return None
    normal = rows.normal()
    factor = cholesky(normal.G) if normal.finite() else None
    if factor is None:
        return None
    v, c = factor.solve(normal.b), np.sqrt(normal.c_sq)
    if not good(factor.rcond, c, v / factor.d[:, None]) and not corrected(rows, factor, v):
        return None
    return published(rows, v, factor.R / factor.d, len(v) - rows.intercept, "cholesky")


def corrected(rows, factor, v):
    """Apply (6) to v in place until a step is small, and the next; False if they do not become so.

    One that is small may be so by chance: where residuals are large, their rounding moves v.
    """
    was_small = False
    for _ in range(4):
        step = factor.solve(rows.gradient(v))
        v += step
        is_small = small(step / factor.d[:, None], v / factor.d[:, None])
        if is_small and was_small:
            return True
        was_small = is_small
    return False


def published(rows, v, R, rank, solver):
    """The solution in the user's coordinates, from v and from the triangle R of A."""
    if not rows.intercept:
        return Solution(v, np.zeros(v.shape[1]), rank, singular_values(R), solver)
    w = v[1:]
    b = rows.y0 + (v[0] - rows.x0 @ w)
    sigma = singular_values(R[1:, 1:])  # of the centred columns
    if len(sigma) < min(rows.X.shape):  # not more rows than columns: centring costs a dimension
        sigma = np.append(sigma, 0.0)
    return Solution(w, b, rank, sigma, solver)


def singular_values(A):
    """The singular values of A, the largest first."""
    return lapack.dgesdd(A, compute_uv=0)[1] if A.size else np.zeros(0)


def triangle(rows):
    """R of (5): the triangle of [A c], one block after another, then of the parts' triangles."""

    def work(blocks):
        R = np.empty((0, rows.width))
        for _, Z in blocks:
            R = np.linalg.qr(np.vstack([R, Z]), mode="r")
        return R

    parts = rows.map(work)
    return parts[0] if len(parts) == 1 else np.linalg.qr(np.vstack(parts), mode="r")


class Triangle(NamedTuple):
    """R and u of (5), and the same for centred columns: no row and column for a free offset."""

    R: np.ndarray
    u: np.ndarray
    Rc: np.ndarray
    uc: np.ndarray
    d: np.ndarray  # makes the columns of Rc about equally long
    rest: np.ndarray  # (q,): the length of that part of c which no v reaches

    @classmethod
    def of(cls, rows):
        """From all rows."""
        T, k = triangle(rows), rows.width - rows.y.shape[1]
        R, u, i = T[:k, :k], T[:k, k:], int(rows.intercept and rows.free)
        Rc, uc = R[i:, i:], u[i:]
        length = np.abs(Rc).max(axis=0, initial=0.0)  # never under- or overflows
        if i:  # what centring leaves of a constant column is rounding: take it as zero
            size = np.abs(rows.x0 * R[0, 0] + R[0, 1:])  # |mean of the column| · √S
            Rc[:, length <= 4 * EPS * size] = 0.0
        d = power_of_two(np.where(Rc.any(axis=0), length, 1.0))
        if not len(Rc):  # a single row, centred
            Rc, uc = np.zeros((1, k - 1)), np.zeros((1, u.shape[1]))
        return cls(R, u, Rc, uc, d, np.linalg.norm(T[k:, k:], axis=0))

    def with_intercept(self, w):
        """v = (v₀, w), with v₀ from the first row of R v = u."""
        if len(self.d) == self.R.shape[1]:
            return w
        return np.vstack([(self.u[:1] - self.R[:1, 1:] @ w) / self.R[0, 0], w])


def least_norm(T, u, d, Rc, uc):
    """The w = d v of least ‖w‖ with T v = u, where T has independent rows: T/d spans it.

    T may lack a rest of Rc that rounding could have made. Where columns are of very unequal lengths
    and not quite dependent, the shortest w may need so long a v that this rest spoils the fit. Then
    the w of least ‖v‖ is given: every weight is measured by the length of its column.
    """
    found, lacks = [], len(T) < len(Rc)
    for scale in (d, np.ones_like(d)) if lacks else (d,):
        Q, L = np.linalg.qr((T / scale).T)
        with np.errstate(over="ignore", invalid="ignore"):
            found.append((d / scale)[:, None] * (Q @ solve_triangular(L, u, trans="T")))
    misfit = [np.linalg.norm(Rc @ w - uc) for w in found]
    spoilt = not misfit[0] <= misfit[-1] + 1e-9 * np.linalg.norm(uc)
    return found[spoilt]


def by_qr(rows):
    """Solve by (5); refined by (7) where κ asks for it, of minimum norm where rank is lost."""
    tri = Triangle.of(rows)
    v, rank = from_triangle(rows, tri)
    return published(rows, v, tri.R, rank, "qr")


def from_triangle(rows, tri, penalty=0.0):
    """v and the rank; RᵀR may be AᵀA + diag(penalty), with penalty 0 for a free offset."""
    R, _, Rc, uc, d, rest = tri
    p = len(d)
    T, pivot, tau, *_ = lapack.dgeqp3(Rc * d)  # rank is judged on columns of equal length
    rank = numerical_rank(np.abs(T.diagonal()))
    u = lapack.dormqr("L", "T", T[:, : len(tau)], tau, uc, lwork=64 * uc.shape[1])[0][:rank]
    w, pivot, T = np.zeros((p, uc.shape[1])), pivot - 1, np.triu(T[:rank])
    if rank == p:
        w[pivot] = d[pivot, None] * solve_triangular(T, u)
    elif rank:
        w[pivot] = least_norm(T, u, d[pivot], Rc[:, pivot], uc)
    v = tri.with_intercept(w)
    if rank == p and (rows.uneven or not stable(lapack.dtrcon(T)[0], rest, w / d[:, None])):
        d = np.append(power_of_two(np.abs(R[:1, 0])), d)[-len(v) :]
        refine(rows, R * d, d, v, penalty)
    return v, rank


def stable(rcond, r, v):
    """Is (5) right to GOOD? Its error is ε (κ + κ² ‖r‖ / ‖v‖) for ‖A‖ ≈ 1."""
    size = np.linalg.norm(v, axis=0)
    return bool((EPS * (size + r / rcond) <= GOOD * rcond * size).all())


def by_svd(rows):
    """Solve by R = U Σ Vᵀ of the triangle: w = V Σ⁻¹ Uᵀu over the singular values that count."""
    R, _, Rc, uc, d, _ = tri = Triangle.of(rows)
    U, sigma, Vt = np.linalg.svd(Rc * d, full_matrices=False)
    rank = numerical_rank(sigma)
    u, sigma, Vt = U[:, :rank].T @ uc, sigma[:rank, None], Vt[:rank]
    full = rank == len(d)
    w = d[:, None] * (Vt.T @ (u / sigma)) if full else least_norm(sigma * Vt, u, d, Rc, uc)
    return published(rows, tri.with_intercept(w), R, rank, "svd")


def numerical_rank(sizes):
    """How many of the sizes (largest first) stand above what rounding makes of the first."""
    noise = 10 * EPS * max(len(sizes), 10)
    return int((sizes > noise * sizes[0]).sum()) if len(sizes) and sizes[0] > 0 else 0


def centred(rows, overwrite=False):
    """√s(X − x̄), √s(y − ȳ), x̄, ȳ: the rows about their weighted means."""
    A = np.subtract(rows.X, rows.x0, out=rows.X if overwrite else None, dtype=float)
    c = rows.y - rows.y0
    x_mean, y_mean = rows.x0, rows.y0
    if rows.intercept:  # x₀ is near the mean already, so little is lost in what is left of it
        share = np.full(len(A), 1.0 / len(A)) if rows.s is None else rows.s / rows.s.sum()
        dx, dy = share @ A, share @ c
        A -= dx
        c -= dy
        x_mean, y_mean = x_mean + dx, y_mean + dy
    if rows.root is not None:
        A *= rows.root[:, None]
        c *= rows.root[:, None]
    return A, c, x_mean, y_mean


def by_wide(rows, overwrite=False):
    """Solve by (8), corrected as by (6) unless κ² ε is small; by QR if that loses digits."""
    A, c, x_mean, y_mean = centred(rows, overwrite)
    K = A @ A.T
    w, n, filled = None, len(K), K
    if rows.intercept:  # 1ᵀA = 0 and 1ᵀc = 0: fill this direction, and α will have none of it
        one = np.full(n, n**-0.5) if rows.root is None else rows.root / np.linalg.norm(rows.root)
        filled = K + np.outer(one, one * (K.trace() / n))
    if factor := cholesky(filled):
        w = A.T @ factor.solve(c)
        step = 0.0 if GOOD * factor.rcond >= EPS else w
        for _ in range(3):
            if small(step, w):
                break
            step = A.T @ factor.solve(c - A @ w)
            w = w + step
        w = w if small(step, w) else None
    if w is None:
        x0, y0 = np.zeros_like(x_mean), np.zeros_like(y_mean)
        found = by_qr(Rows(A, c, None, None, False, x0, y0, rows.n_jobs))
        return found._replace(b=y_mean - x_mean @ found.w)
    sigma = np.sqrt(np.maximum(np.linalg.eigvalsh(K)[::-1], 0.0))
    if rows.intercept:
        sigma[-1] = 0.0
    return Solution(w, y_mean - x_mean @ w, n - rows.intercept, sigma, "cholesky")
