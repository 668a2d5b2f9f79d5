"""Certificates: wherever an estimator publishes one, it bounds the true distance at every step

The same test for all of them: record a run of each solver, take the least objective that any of
them found for the minimum, and hold every recorded gap against the distance from it.
"""

import numpy as np
import pytest
from sklearn.base import is_classifier

from mlreplica.callbacks import Trace
from mlreplica.datasets import make_linear_regression
from mlreplica.discovery import all_estimators

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
        found = list(runs(estimator, target, problem))
        assert found, "no solver published a certificate"
        for solver, certificate, states in found:
            # liblinear penalises the intercept: another problem, with a minimum of its own
            same = [s for name, _, s in found if (name == "liblinear") == (solver == "liblinear")]
            best = min((s["objective"] for run in same for s in run), default=np.nan)
            assert np.all(np.asarray(certificate) >= 0.0), solver
            for k, state in enumerate(states):
                distance = state["objective"] - best
                assert distance <= state["gap"] + 1e-12 * abs(best), (solver, k)
