"""Certificates: wherever an estimator publishes one, it bounds the true distance at every step

The same test for all of them: record a run of each solver, take the least objective that any of
them found for the minimum, and hold every recorded gap against the distance from it.
"""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import is_classifier

from mlreplica import kernel_ridge
from mlreplica.callbacks import Trace
from mlreplica.datasets import make_linear_regression
from mlreplica.discovery import all_estimators
from mlreplica.kernel_ridge import KernelRidge
from mlreplica.linear_model import Ridge

X, y, _ = make_linear_regression(60, 5, noise=1.0, random_state=0)
X[:, 1] += 2.0 * X[:, 0]  # correlated columns
TARGETS = {
    "regression": [np.abs(y).round()],  # counts, which every regressor takes
    "classification": [(y > 0).astype(int), (y > -1).astype(int) + (y > 1)],
}
EXACT = {"tol": 1e-12, "max_iter": 3000}


def options(estimator, name):
    """The strings that a parameter takes."""
    for constraint in estimator._parameter_constraints.get(name, []):
        if hasattr(constraint, "options"):
            yield from sorted(map(str, constraint.options))


def variants(estimator):
    """Parameters of every problem that an estimator solves: penalties, bounds, intercept or not."""
    names = estimator._parameter_constraints
    yield {}
    if "fit_intercept" in names:
        yield {"fit_intercept": False}
    if "l1_ratio" in names:
        yield {"l1_ratio": 0.5}
        yield {"l1_ratio": 1.0}
    if "positive" in names:
        yield {"positive": True}


def runs(estimator, target, problem):
    """(solver, certificate, states) of each solver that takes the problem."""
    names = estimator._parameter_constraints
    exact = {name: value for name, value in EXACT.items() if name in names}
    for solver in list(options(estimator, "solver")) or [None]:
        parameters = {**exact, **problem, **({"solver": solver} if solver else {})}
        model, trace = estimator(**parameters), Trace()
        if hasattr(model, "set_callbacks"):
            model.set_callbacks(trace)
        try:
            model.fit(X, target)
        except ValueError:  # not every solver takes every problem
            continue
        if hasattr(model, "certificate_"):
            yield solver, model.certificate_, trace.states


CERTIFIED = [
    pytest.param(estimator, problem, id=f"{name}-{'-'.join(map(str, problem.values())) or 'plain'}")
    for name, estimator in all_estimators()
    if "certificate_" in (estimator.__doc__ or "") and not name.endswith("CV")  # refit = plain fit
    for problem in variants(estimator)
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("estimator", "problem"), CERTIFIED)
def test_certificate_bounds_the_distance_from_the_minimum(estimator, problem):
    kind = "classification" if is_classifier(estimator()) else "regression"
    for target in TARGETS[kind]:
        positive = estimator.__name__ == "GammaRegressor"  # its density is 0 at 0
        found = list(runs(estimator, target + 1.0 if positive else target, problem))
        assert found, "no solver published a certificate"
        for solver, certificate, states in found:
            # liblinear penalises the intercept: another problem, with a minimum of its own
            same = [s for name, _, s in found if (name == "liblinear") == (solver == "liblinear")]
            best = min((s["objective"] for run in same for s in run), default=np.nan)
            assert np.all(np.asarray(certificate) >= 0.0), solver
            for k, state in enumerate(states):
                distance = state["objective"] - best
                assert distance <= state["gap"] + 1e-12 * abs(best), (solver, k)


def exact_distance(X, y, alpha, w):
    """P(w) − P* of ridge regression in rational numbers: (w − w*)ᵀ(XᵀX + αI)(w − w*)."""
    p = X.shape[1]
    X = [[Fraction(v) for v in row] for row in X.tolist()]
    target, w = [Fraction(v) for v in y.tolist()], [Fraction(v) for v in w.tolist()]
    A = [[sum(row[i] * row[j] for row in X) for j in range(p)] for i in range(p)]
    for i in range(p):
        A[i][i] += Fraction(alpha)
    g = [sum(a * b for a, b in zip(A[i], w, strict=True)) for i in range(p)]
    g = [g[i] - sum(row[i] * t for row, t in zip(X, target, strict=True)) for i in range(p)]
    rows, d = [[*A[i], g[i]] for i in range(p)], [Fraction(0)] * p
    for i in range(p):  # Gauss, exactly: A d = g
        for k in range(i + 1, p):
            ratio = rows[k][i] / rows[i][i]
            rows[k] = [a - ratio * b for a, b in zip(rows[k], rows[i], strict=True)]
    for i in reversed(range(p)):
        d[i] = (rows[i][p] - sum(rows[i][j] * d[j] for j in range(i + 1, p))) / rows[i][i]
    return float(sum(a * b for a, b in zip(g, d, strict=True)))


@pytest.mark.parametrize("solver", ["auto", "qr", "cholesky", "svd"])
@pytest.mark.parametrize("closeness", [1.0, 1e-3, 1e-6])
@pytest.mark.parametrize("alpha", [1e-8, 1e-2, 10.0])
def test_direct_solvers_are_as_close_as_they_claim(solver, closeness, alpha):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 4))
    X[:, 3] = X[:, 0] + closeness * X[:, 3]
    y = rng.standard_normal(12)
    model = Ridge(alpha, solver=solver, fit_intercept=False).fit(X, y)
    assert exact_distance(X, y, alpha, model.coef_) <= model.certificate_
    assert model.certificate_ <= 1e-8 * (y @ y)


@pytest.mark.parametrize("size", [1e-9, 1e-4, 1.0])
def test_the_bound_of_kernel_ridge_follows_a_wrong_answer(monkeypatch, size):
    K, target = X @ X.T + np.eye(len(X)), y - y.mean()

    def objective(c):
        return np.sum((target - K @ c) ** 2) + c @ K @ c

    exact = KernelRidge(kernel="precomputed").fit(K, target)
    solve, noise = kernel_ridge.lapack.dpotrs, np.random.default_rng(0).standard_normal((len(X), 1))

    def wrong(L, b, **options):
        c, info = solve(L, b, **options)
        return c + size * noise, info

    monkeypatch.setattr(kernel_ridge.lapack, "dpotrs", wrong)
    model = KernelRidge(kernel="precomputed").fit(K, target)
    distance = objective(model.dual_coef_) - objective(exact.dual_coef_)
    assert model.certificate_ >= distance * (1 - 1e-6) - 1e-12 * objective(exact.dual_coef_)
    assert model.certificate_ > exact.certificate_
