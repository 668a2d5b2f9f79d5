r"""Bayesian ridge: a linear regression that chooses its own penalty, from sums over rows

    y ~ N(b + Xw, 1/α),   w ~ N(0, I/λ),    α and λ of largest evidence                         (2)

With V and l the eigenvectors and eigenvalues of the centred XᵀX, c = VᵀXᵀy and v = Vᵀw, one step is

    v_i = c_i / (l_i + λ/α),     γ = Σ_i αl_i / (αl_i + λ),                                     (3)
    λ ← (γ + 2ε) / (‖v‖² + 2ε),     α ← (n − γ + 2ε) / (‖y − Xw‖² + 2ε),     ε = 10⁻⁶

until w moves by less than `tol`. It needs only XᵀX, Xᵀy and yᵀy, O(p²) numbers, so the rows are
read once, and those of one column's regression are the others' minus the rows with a gap there.

References
----------
MacKay: Bayesian interpolation. Neural Computation 4 (1992), 415–447.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack
from scipy.special import log_ndtr, ndtri, ndtri_exp

from mlreplica.core.compile.jit import kernel

EPS = 1e-6
SPREAD = 1e-9  # ratio of eigenvalues below which the rows themselves are looked at


@kernel
def maximise_evidence(length, c, V, y_sq, n, max_iter, tol, w, numbers):
    """Steps (3) until w rests; numbers ← α, λ. V (p, p) holds eigenvectors in columns."""
    p = len(length)
    alpha, lam = n / (y_sq + 2.220446049250313e-16 * n), 1.0
    v, w_old = np.zeros(p), np.zeros(p)
    for step in range(max_iter + 1):
        gamma, v_sq, rss = 0.0, 0.0, y_sq
        for i in range(p):
            v[i] = c[i] / (length[i] + lam / alpha)
            gamma += alpha * length[i] / (lam + alpha * length[i])
            v_sq += v[i] * v[i]
            rss += v[i] * (length[i] * v[i] - 2.0 * c[i])
        moved = 0.0
        for j in range(p):
            w[j] = 0.0
            for i in range(p):
                w[j] += V[j, i] * v[i]
            moved += abs(w[j] - w_old[j])
            w_old[j] = w[j]
        if step == max_iter or (step > 0 and numbers[0] < 0.0):
            break  # the last step only finds w for the last α and λ
        lam = (gamma + 2.0 * EPS) / (v_sq + 2.0 * EPS)
        alpha = (n - gamma + 2.0 * EPS) / (max(rss, 0.0) + 2.0 * EPS)
        numbers[0] = -1.0 if step > 0 and moved < tol else 1.0
    numbers[0], numbers[1] = alpha, lam


class RidgeFit(NamedTuple):
    """A fitted Bayesian ridge: y = b + xᵀw, and what is needed for its uncertainty."""

    coef: np.ndarray
    intercept: float
    alpha: float  # 1/α is the variance of the noise
    lam: float
    x_mean: np.ndarray
    length: np.ndarray  # eigenvalues l
    V: np.ndarray
    n: float

    def predict(self, X, return_std=False):
        """The mean of y at each row, and the deviation of a new y."""
        mean = X @ self.coef + self.intercept
        if not return_std:
            return mean
        Z = (X - self.x_mean) @ self.V
        return mean, np.sqrt(Z**2 @ (1.0 / (self.alpha * self.length + self.lam)) + 1 / self.alpha)

    def draw(self, X, rng):
        """y at each row from one draw of σ², w and b, and noise: what proper imputation needs."""
        shrunk = self.length + self.lam / self.alpha
        freedom = max(self.n - float((self.length / shrunk).sum()), 1.0)
        sigma = np.sqrt(freedom / self.alpha / rng.chisquare(freedom))
        v = sigma * rng.standard_normal(len(shrunk)) / np.sqrt(shrunk)
        w = self.coef + self.V @ v
        b = self.intercept + (self.coef - w) @ self.x_mean
        b += sigma / np.sqrt(self.n) * rng.standard_normal()
        return X @ w + b + sigma * rng.standard_normal(len(X))


def truncated_normal(mean, deviation, low, high, rng):
    """A draw from each normal distribution, given that it lies between its limits."""
    u = rng.uniform(size=len(mean))
    if np.isneginf(low) and np.isposinf(high):
        return mean + deviation * ndtri(u)
    a, b = (low - mean) / deviation, (high - mean) / deviation
    upper = a > 0  # the tail in which logarithms keep their digits
    a, b = np.where(upper, -b, a), np.where(upper, -a, b)
    u = np.where(upper, 1.0 - u, u)
    log_a, log_b = log_ndtr(a), log_ndtr(b)
    with np.errstate(divide="ignore"):
        mass = log_b + np.log1p(-np.exp(log_a - log_b))
        z = ndtri_exp(np.minimum(np.logaddexp(log_a, np.log(u) + mass), -1e-300))
    return np.clip(mean + deviation * np.where(upper, -z, z), low, high)


class RowSums:
    """Σ z and Σ zzᵀ of rows z = x − origin, kept up to date as gaps are filled anew."""

    def __init__(self, X):
        self.X, self.origin = X, X.mean(axis=0)
        self.refresh()

    def refresh(self):
        """Sum anew, which takes off what updates rounded."""
        Z = self.X - self.origin
        self.total, self.products = Z.sum(axis=0), Z.T @ Z

    def update(self, rows, j, values):
        """Write values of column j into some rows."""
        Z = self.X[rows] - self.origin
        change = values - self.X[rows, j]
        cross = change @ Z
        self.products[j] += cross
        self.products[:, j] += cross
        self.products[j, j] += change @ change
        self.total[j] += change.sum()
        self.X[rows, j] = values

    def without(self, gap):
        """n, mean and centred products of the rows that are not in `gap`."""
        n = len(self.X) - np.count_nonzero(gap)
        if 2 * n < len(gap):
            Z = self.X[~gap] - self.origin
            total, products = Z.sum(axis=0), Z.T @ Z
        elif n < len(gap):
            Z = self.X[gap] - self.origin
            total, products = self.total - Z.sum(axis=0), self.products - Z.T @ Z
        else:
            total, products = self.total, self.products
        mean = total / n
        return n, self.origin + mean, products - n * np.outer(mean, mean)

    def regress(self, gap, j, others, max_iter=300, tol=1e-3):
        """The Bayesian ridge of column j on others, over the rows that have column j."""
        n, mean, C = self.without(gap)
        G, b, y_sq = C[np.ix_(others, others)], C[others, j], max(C[j, j], 0.0)
        length, V, failed = lapack.dsyevd(G, overwrite_a=1)
        if failed or not length[0] > SPREAD * length[-1]:
            length, V, c = from_rows(self.X[~gap], mean, j, others)
        else:
            c = V.T @ b
        w, numbers = np.empty(len(others)), np.ones(2)
        V = np.ascontiguousarray(V)
        maximise_evidence(length, c, V, y_sq, float(n), max_iter, tol, w, numbers)
        alpha, lam = numbers.tolist()
        offset = float(mean[j] - mean[others] @ w)
        return RidgeFit(w, offset, alpha, lam, mean[others], length, V, float(n))


def from_rows(X, mean, j, others):
    """Eigenvalues, eigenvectors and c of (3) where sums lose too many digits: by QR and SVD."""
    A = X[:, [*others, j]] - mean[[*others, j]]
    p = len(others)
    R = np.linalg.qr(A, mode="r") if len(A) > p else A
    U, s, Vt = np.linalg.svd(R[:, :p], full_matrices=False)
    length, V, c = np.zeros(p), np.zeros((p, p)), np.zeros(p)
    length[: len(s)], V[:, : len(s)], c[: len(s)] = s * s, Vt.T, s * (U.T @ R[:, p])
    if len(s) < p:
        V[:, len(s) :] = np.linalg.svd(Vt, full_matrices=True)[2][len(s) :].T
    return length, V, c
