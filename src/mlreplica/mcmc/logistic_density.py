r"""The log-posterior of logistic regression, for samplers

Two classes have one score z_i = x_iᵀw + b, with labels y_i = ±1, and with w ~ N(0, I/α) and
b ~ N(0, s²) the log-posterior                                                                   (1)

    −Σ c_i log(1 + e^{−y_i z_i}) − ½α ‖w‖² − b²/2s²,   gradient Σ c_i y_i σ(−y_i z_i) x_i − αw

with weights c_i. The logarithms are taken of products of up to 500 factors 1 + e^−|z| ≤ 2: one
logarithm per 500 rows, and the loop over rows becomes vector instructions.                      (2)

K classes have a score z_ik = x_iᵀw_k + b_k each, and P(y_i = k) = e^{z_ik} / Σ_j e^{z_ij}.      (3)
"""

import math

import numpy as np

from mlreplica.core.formulas.exp import power_of_two

LOG2_E = 1.4426950408889634


def logistic_log_density(X, y, alpha=1.0, sample_weight=None, intercept_scale=None, gradient=True):
    """The log-posterior (1) of binary logistic regression, as a function that samplers compile.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        −1 or +1.
    alpha : float, default=1.0
        Precision of the prior of the weights.
    sample_weight : ndarray of shape (n_samples,), optional
    intercept_scale : float, optional
        Standard deviation s of the intercept's prior; the intercept is then the last number.
    gradient : bool, default=True
        Whether the function returns the gradient, too: for HMC and NUTS with `gradient=True`.

    Returns
    -------
    log_density : callable
        Of the vector of weights; returns (value, gradient), or the value alone.
    """
    X, y = np.ascontiguousarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    (n, p), alpha = X.shape, float(alpha)
    c = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    even = bool((c == 1.0).all())
    s2 = math.inf if intercept_scale is None else float(intercept_scale) ** 2
    has_offset = intercept_scale is not None
    XT = np.ascontiguousarray(X.T)

    def value_alone(w):
        f, offset = np.empty(n), w[p] if has_offset else 0.0
        for i in range(n):
            f[i] = offset
        for j in range(p):
            w_j, x_j = w[j], XT[j]
            for i in range(n):
                f[i] += w_j * x_j[i]
        value, start = 0.0, 0
        while start < n:
            stop = min(start + 500, n)
            product, f_b, y_b, c_b = 1.0, f[start:stop], y[start:stop], c[start:stop]
            for i in range(len(f_b)):
                z = y_b[i] * f_b[i]
                e = power_of_two(-LOG2_E * abs(z))
                value += c_b[i] * min(z, 0.0)
                if even:
                    product *= 1.0 + e  # (2)
                else:
                    value -= c_b[i] * math.log1p(e)
            value -= math.log(product)
            start = stop
        for j in range(p):
            value -= 0.5 * alpha * w[j] * w[j]
        return value - 0.5 * w[p] * w[p] / s2 if has_offset else value

    def value_and_gradient(w):
        r, offset = np.empty(n), w[p] if has_offset else 0.0
        for i in range(n):
            r[i] = offset
        for j in range(p):
            w_j, x_j = w[j], XT[j]
            for i in range(n):
                r[i] += w_j * x_j[i]
        value, start = 0.0, 0
        while start < n:
            stop = min(start + 500, n)
            product, r_b, y_b, c_b = 1.0, r[start:stop], y[start:stop], c[start:stop]
            for i in range(len(r_b)):
                z = y_b[i] * r_b[i]
                e = power_of_two(-LOG2_E * abs(z))
                value += c_b[i] * min(z, 0.0)
                if even:
                    product *= 1.0 + e  # (2)
                else:
                    value -= c_b[i] * math.log1p(e)
                share = 1.0 / (1.0 + e)
                r_b[i] = c_b[i] * y_b[i] * (e * share if z > 0.0 else share)  # (1)
            value -= math.log(product)
            start = stop
        g = np.empty(len(w))
        total = 0.0
        for i in range(n):
            total += r[i]
        for j in range(p):
            x_j, s = XT[j], 0.0
            for i in range(n):
                s += r[i] * x_j[i]
            g[j] = s - alpha * w[j]
            value -= 0.5 * alpha * w[j] * w[j]
        if has_offset:
            g[p] = total - w[p] / s2
            value -= 0.5 * w[p] * w[p] / s2
        return value, g

    return value_and_gradient if gradient else value_alone


def multinomial_log_density(X, codes, K, alpha, c, s):
    """The log-posterior (3) of K classes, with its gradient; W is (K, p + 1), intercepts last."""
    (n, p), alpha, s2 = X.shape, float(alpha), float(s) ** 2

    def value_and_gradient(x):
        W = x.reshape(K, p + 1)
        g, value, f = np.empty(K * (p + 1)), 0.0, np.empty(K)
        for k in range(K):
            for j in range(p):
                g[k * (p + 1) + j] = -alpha * W[k, j]
                value -= 0.5 * alpha * W[k, j] ** 2
            g[k * (p + 1) + p] = -W[k, p] / s2
            value -= 0.5 * W[k, p] ** 2 / s2
        for i in range(n):
            high, total = -np.inf, 0.0
            for k in range(K):
                z = W[k, p]
                for j in range(p):
                    z += W[k, j] * X[i, j]
                f[k] = z
                high = max(high, z)
            value += c[i] * (f[codes[i]] - high)
            for k in range(K):
                f[k] = math.exp(f[k] - high)
                total += f[k]
            value -= c[i] * math.log(total)
            for k in range(K):
                r = c[i] * ((1.0 if k == codes[i] else 0.0) - f[k] / total)
                for j in range(p):
                    g[k * (p + 1) + j] += r * X[i, j]
                g[k * (p + 1) + p] += r
        return value, g

    return value_and_gradient
