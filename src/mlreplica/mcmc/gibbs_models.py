r"""Ready conditionals: four models whose blocks can be drawn exactly

Linear regression, y ~ N(Xw, σ²), w ~ N(0, I/α), σ² ~ InvGamma(a, b):                            (3)

    w | σ²  ~ N(m, S),   S⁻¹ = XᵀX/σ² + αI,   m = S Xᵀy/σ²
    σ² | w  ~ InvGamma(a + n/2, b + ½ ‖y − Xw‖²)

Gaussian mixture with weights ~ Dirichlet(1), means ~ N(m₀, s₀²), variances ~ InvGamma(a, b):    (4)

    z_i     ~ k with probability ∝ weight_k N(x_i | mean_k, variance_k)
    weights ~ Dirichlet(1 + n_k),  mean_k ~ N,  variance_k ~ InvGamma(a + n_k/2, b + ½ Σ (x_i −
    mean_k)²)

Hierarchical normal, y_j ~ N(θ_j, s_j²), θ_j ~ N(μ, τ²), flat priors on μ and τ:                 (5)

    θ_j ~ N((y_j/s_j² + μ/τ²) v_j, v_j),  1/v_j = 1/s_j² + 1/τ²
    μ   ~ N(mean θ, τ²/J),               τ² ~ InvGamma((J − 1)/2, ½ Σ (θ_j − μ)²)

Probit regression, P(y_i = 1) = Φ(x_iᵀw), with w ~ N(0, I/α), by latent normal numbers:          (6)

    z_i ~ N(x_iᵀw, 1) cut off at 0 on the side of y_i,   w ~ N(B Xᵀz, B),  B⁻¹ = XᵀX + αI

In (4) and (6) the latent z are drawn within the step and not kept.

References
----------
Albert, Chib: Bayesian analysis of binary and polychotomous response data. JASA 88 (1993), 669–679.
Robert: Simulation of truncated normal variables. Statistics and Computing 5 (1995), 121–125.
"""

import math

import numpy as np

from .parameters import positive, real, simplex


def normal_above(low, rng):
    """A standard normal number above `low`: by trial, or in the tail by exponential proposals."""
    if low < 0.5:
        while True:
            z = rng.standard_normal()
            if z > low:
                return z
    rate = 0.5 * (low + math.sqrt(low * low + 4.0))
    while True:
        z = low + rng.standard_exponential() / rate
        if rng.random() < math.exp(-0.5 * (z - rate) ** 2):
            return z


def linear_regression(cls, X, y, *, alpha=1.0, shape=0.01, rate=0.01):
    """Bayesian linear regression (3): blocks `w` and `sigma2`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Add a column of ones for an offset.
    y : array-like of shape (n_samples,)
    alpha : float, default=1.0
        Precision of the prior of w.
    shape, rate : float, default=0.01
        a and b of the prior of σ².
    """
    from sklearn.utils import check_X_y

    X, y = check_X_y(X, y, dtype=np.float64, y_numeric=True)
    n, p = X.shape
    eigenvalues, V = np.linalg.eigh(X.T @ X)
    eigenvalues, V = np.maximum(eigenvalues, 0.0), np.ascontiguousarray(V)
    c, y_sq = V.T @ (X.T @ y), float(y @ y)  # in the basis of V, XᵀX is diagonal
    alpha, shape, rate = float(alpha), float(shape), float(rate)

    def draw_w(sigma2, rng):
        b = np.empty(p)
        for i in range(p):
            precision = eigenvalues[i] / sigma2 + alpha
            b[i] = c[i] / sigma2 / precision + rng.standard_normal() / math.sqrt(precision)
        return V @ b

    def draw_sigma2(w, rng):
        b = np.ascontiguousarray(w) @ V
        left = y_sq
        for i in range(p):
            left += b[i] * (eigenvalues[i] * b[i] - 2.0 * c[i])  # ‖y − Xw‖²
        return (rate + 0.5 * max(left, 0.0)) / rng.standard_gamma(shape + 0.5 * n)

    start = np.append(V @ (c / (eigenvalues + alpha)), max(float(y.var()), 1e-12))
    blocks = {"w": real(p), "sigma2": positive()}
    return cls({"w": draw_w, "sigma2": draw_sigma2}, parameters=blocks, start=start)


def gaussian_mixture(cls, X, n_components, *, shape=2.0, rate=None, random_state=None):
    """Gaussian mixture with diagonal covariances (4): blocks `weights`, `means`, `variances`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    n_components : int
    shape, rate : float, default=2.0 and the variance of X over n_components²
        a and b of the prior of the variances.
    random_state : int or None, default=None
        Chooses the rows at which the means start.
    """
    from sklearn.utils import check_array

    X = check_array(X, dtype=np.float64, ensure_min_samples=2)
    (n, p), K = X.shape, int(n_components)
    if not 2 <= K <= n:
        raise ValueError(f"n_components must lie between 2 and {n} rows, got {n_components!r}.")
    center, spread = X.mean(axis=0), np.maximum(X.var(axis=0), 1e-300)
    rates = spread / K**2 if rate is None else np.full(p, float(rate))
    shape = float(shape)

    def draw_all(x, rng):
        weights, means = x[:K], x[K : K + K * p].reshape(K, p)
        variances = x[K + K * p :].reshape(K, p)
        counts, sums, squares = np.zeros(K), np.zeros((K, p)), np.zeros((K, p))
        logs = np.empty(K)
        for i in range(n):
            high = -np.inf
            for k in range(K):
                s = math.log(weights[k] + 1e-300)
                for j in range(p):
                    r = X[i, j] - means[k, j]
                    s -= 0.5 * (r * r / variances[k, j] + math.log(variances[k, j]))
                logs[k] = s
                high = max(high, s)
            total = 0.0
            for k in range(K):
                logs[k] = math.exp(logs[k] - high)
                total += logs[k]
            left, z = rng.random() * total, 0
            while z < K - 1 and left > logs[z]:
                left -= logs[z]
                z += 1
            counts[z] += 1.0
            for j in range(p):
                sums[z, j] += X[i, j]
                squares[z, j] += X[i, j] * X[i, j]
        new, total = np.empty(K + 2 * K * p), 0.0
        for k in range(K):
            new[k] = rng.standard_gamma(1.0 + counts[k])
            total += new[k]
        for k in range(K):
            new[k] /= total
            for j in range(p):
                at = K + k * p + j
                precision = counts[k] / variances[k, j] + 1.0 / spread[j]
                middle = (sums[k, j] / variances[k, j] + center[j] / spread[j]) / precision
                m = middle + rng.standard_normal() / math.sqrt(precision)
                left = squares[k, j] - 2.0 * m * sums[k, j] + counts[k] * m * m
                new[at] = m
                new[at + K * p] = (rates[j] + 0.5 * max(left, 0.0)) / rng.standard_gamma(
                    shape + 0.5 * counts[k]
                )
        return new

    rows = X[np.random.default_rng(random_state).choice(n, K, replace=False)]
    start = np.concatenate([np.full(K, 1.0 / K), rows.ravel(), np.tile(spread, K)])
    return cls.whole(
        draw_all,
        {"weights": simplex(K), "means": real((K, p)), "variances": positive((K, p))},
        start,
    )


def hierarchical_normal(cls, y, sigma):
    """Means of groups that share a normal distribution (5): blocks `theta`, `mu`, `tau`.

    Parameters
    ----------
    y : array-like of shape (n_groups,)
        An estimate per group; at least 3.
    sigma : float or array-like of shape (n_groups,)
        Their known standard errors.
    """
    from sklearn.utils import check_array

    y = check_array(np.reshape(y, (-1, 1)), dtype=np.float64)[:, 0]
    J = len(y)
    s = np.array(np.broadcast_to(np.asarray(sigma, dtype=np.float64), (J,)))
    if J < 3 or not (np.isfinite(s) & (s > 0.0)).all():
        raise ValueError("hierarchical_normal needs at least 3 groups and positive sigma.")

    def draw_theta(mu, tau, rng):
        theta = np.empty(J)
        for j in range(J):
            v = 1.0 / (1.0 / s[j] ** 2 + 1.0 / tau**2)
            theta[j] = (y[j] / s[j] ** 2 + mu / tau**2) * v + math.sqrt(v) * rng.standard_normal()
        return theta

    def draw_mu(theta, tau, rng):
        return theta.mean() + tau / math.sqrt(J) * rng.standard_normal()

    def draw_tau(theta, mu, rng):
        return math.sqrt(0.5 * ((theta - mu) ** 2).sum() / rng.standard_gamma(0.5 * (J - 1)))

    blocks = {"theta": real(J), "mu": real(), "tau": positive()}
    start = np.concatenate([y, [y.mean(), max(y.std(), 1e-3)]])
    return cls(
        {"theta": draw_theta, "mu": draw_mu, "tau": draw_tau}, parameters=blocks, start=start
    )


def probit(cls, X, y, *, alpha=1.0):
    """Probit regression by data augmentation (6): block `w`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Add a column of ones for an offset.
    y : array-like of shape (n_samples,)
        0 or 1.
    alpha : float, default=1.0
        Precision of the prior of w.
    """
    from sklearn.utils import check_X_y

    X, y = check_X_y(X, y, dtype=np.float64)
    if not np.isin(y, (0, 1)).all():
        raise ValueError("probit needs labels 0 and 1.")
    n, p = X.shape
    sign = np.where(y == 1, 1.0, -1.0)
    B = np.linalg.inv(X.T @ X + float(alpha) * np.eye(p))
    L, hat = np.linalg.cholesky(B), np.ascontiguousarray(B @ X.T)

    def draw_w(w, rng):
        f = X @ np.ascontiguousarray(w)
        z, noise = np.empty(n), np.empty(p)
        for i in range(n):
            z[i] = f[i] + sign[i] * normal_above(-sign[i] * f[i], rng)
        for j in range(p):
            noise[j] = rng.standard_normal()
        return hat @ z + L @ noise

    return cls({"w": draw_w}, parameters={"w": real(p)}, start=np.zeros(p))
