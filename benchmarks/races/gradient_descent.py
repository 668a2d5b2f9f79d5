"""Gradient descent: the same minimum as a plain NumPy loop and SciPy's minimisers reach

Quality is the objective above the best known one, relative to it: whoever stops early is worse.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from benchmarks.data import Data, Rows, shapes
from benchmarks.race import Race

ALPHA = 1e-3
EXCESS = 1e-7


def prepared(kind):
    """Columns of different scales; `more`: the loss and the least objective."""

    def then(data):
        p = data.X.shape[1]
        X, y = data.X * np.geomspace(1, 0.2, p), data.y
        y = y if kind == "squared_error" else np.where(y > np.median(y), 1.0, -1.0)
        F = objective(X, y, kind)
        best = minimize(F, np.zeros(p + 1), jac=True, method="L-BFGS-B", options=PRECISE).fun
        return Data(X, y, more=(kind, best))

    return then


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

        X, y, *_, (kind, best) = data
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
    X, y, *_, (kind, best) = data

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
        X, y, *_, (kind, best) = data

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
    return float(P / data.more[1] - 1)


def race(name, what, kind):
    rows = Rows(100_000, 50, "correlated"), Rows(10_000, 100), Rows(1000, 20, "skewed")
    return Race(
        name=f"gradient-descent-{name}",
        what=what,
        shapes=shapes(*rows, then=prepared(kind)),
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
    )


RACES = [
    race("squares", "ridge objective", "squared_error"),
    race("logistic", "logistic objective", "logistic"),
]
