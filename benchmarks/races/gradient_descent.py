"""Gradient descent: the same minimum as a plain NumPy loop and SciPy's minimisers reach

Quality is the objective above the best known one, relative to it: whoever stops early is worse.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from benchmarks.race import Race

ALPHA = 1e-3
EXCESS = 1e-7


def make(n, p, kind):
    """Columns of different scales, correlated; a target with noise, or labels."""

    def data():
        rng = np.random.default_rng(0)
        X = (rng.normal(size=(n, p)) + rng.normal(size=(n, 1))) * np.geomspace(1, 0.2, p)
        f = X @ rng.normal(size=p) + 0.5 + rng.normal(size=n)
        y = f if kind == "squared_error" else np.where(f > 0, 1.0, -1.0)
        F = objective(X, y, kind)
        v = np.zeros(p + 1)
        best = minimize(F, v, jac=True, method="L-BFGS-B", options=PRECISE).fun
        return X, y, kind, best

    return data


PRECISE = {"maxiter": 10_000, "ftol": 1e-16, "gtol": 1e-11, "maxcor": 30}


def objective(X, y, kind):
    """v ↦ (P, ∇P) as one writes it in NumPy, the offset last."""
    n = len(y)

    def value(v):
        f = X @ v[:-1] + v[-1]
        if kind == "squared_error":
            g = f - y
            P = g @ g / (2 * n)
        else:
            g = -y * expit(-y * f)
            P = np.logaddexp(0, -y * f).mean()
        G = np.append(X.T @ g / n + ALPHA * v[:-1], g.mean())
        return P + ALPHA / 2 * v[:-1] @ v[:-1], G

    return value


def largest_curvature(X, kind):
    A = np.column_stack([X, np.ones(len(X))])
    top = np.linalg.eigvalsh(A.T @ A)[-1] / len(X)
    return top * (1.0 if kind == "squared_error" else 0.25) + ALPHA


def ours(**how):
    def prepare(data):
        from mlreplica.linear_model import gradient_descent

        X, y, kind, best = data
        enough = lambda state: state.objective <= best * (1 + EXCESS)

        def call():
            found = gradient_descent(
                X, y, kind, penalty="l2", alpha=ALPHA, **how, callback=enough, tol=0.0,
                max_iter=100_000,
            )  # fmt: skip
            return found.objective

        return call

    return prepare


def numpy_loop(data):
    """Nesterov's method with steps of 1/L until the objective is as low as everybody's."""
    X, y, kind, best = data

    def call():
        F, eta = objective(X, y, kind), 1 / largest_curvature(X, kind)
        v = old = np.zeros(X.shape[1] + 1)
        t = 1.0
        while True:
            t_old, t = t, (1 + np.sqrt(1 + 4 * t * t)) / 2
            u = v + (t_old - 1) / t * (v - old)
            P, G = F(u)
            if best * (1 + EXCESS) >= P:
                return P
            old, v = v, u - eta * G
            if G @ (v - old) > 0:
                t = 1.0

    return call


def scipy(method):
    def prepare(data):
        X, y, kind, best = data

        def call():
            F = objective(X, y, kind)

            def enough(intermediate_result):
                if intermediate_result.fun <= best * (1 + EXCESS):
                    raise StopIteration

            return minimize(
                F, np.zeros(X.shape[1] + 1), jac=True, method=method, callback=enough,
                options={"maxiter": 10_000},
            ).fun  # fmt: skip

        return call

    return prepare


def excess(data, P):
    """(P − best) / best"""
    return float(P / data[-1] - 1)


def race(name, what, data):
    return Race(
        name=f"gradient-descent-{name}",
        what=what,
        make_data=data,
        contestants={
            "mlreplica": ours(step="1/H", momentum="nesterov"),
            "mlreplica, Nesterov with 1/L": ours(momentum="nesterov"),
            "numpy, Nesterov in a loop": numpy_loop,
            "scipy, L-BFGS-B": scipy("L-BFGS-B"),
            "scipy, CG": scipy("CG"),
        },
        quality=excess,
        quality_name="objective above the best",
        atol=2 * EXCESS,
        start=False,
    )


RACES = [
    race("squares", "ridge objective, 100,000 × 50", make(100_000, 50, "squared_error")),
    race("logistic", "logistic objective, 100,000 × 50", make(100_000, 50, "logistic")),
]
