"""Ctrl-C: the last state is on the estimator, and the interrupt is raised again, in every fit"""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, cross_val_score

from mlreplica.callbacks import Callback
from mlreplica.core.iterate import CallbackSupport
from mlreplica.datasets import make_linear_regression
from mlreplica.discovery import all_estimators

X, y, _ = make_linear_regression(600, 5, noise=1.0, random_state=0)
X[:, 1] += 2.0 * X[:, 0]  # correlated columns
WIDE = X @ np.random.default_rng(1).normal(size=(5, 520)) + y[:, None]  # more than LAPACK takes
WIDE += np.random.default_rng(2).normal(size=WIDE.shape)
ROWS = {"NMF": np.abs(X), "PCA": WIDE, "TruncatedSVD": WIDE}
TARGETS = {True: (y > -1).astype(int) + (y > 1), False: np.abs(y).round()}  # classes, counts
MANY = {  # parameters that make a fit of several states
    "ElasticNet": {"alpha": 0.01, "solver": "cd", "tol": 1e-12},
    "Lasso": {"alpha": 0.01, "solver": "cd", "tol": 1e-12},
    "KernelPCA": {"n_components": 2, "kernel": "rbf", "eigen_solver": "arpack", "tol": 1e-12},
    "LinearRegression": {"solver": "gd"},
    "NMF": {"n_components": 2, "tol": 1e-2},
    "PCA": {"n_components": 2, "svd_solver": "randomized", "iterated_power": 3},
    "TruncatedSVD": {"random_state": 0},
    "LogisticRegressionCV": {
        "Cs": 2, "cv": 2, "l1_ratios": (0.0,), "use_legacy_attributes": False,
        "scoring": "accuracy",
    },
    "LassoLars": {"alpha": 1e-3},
    "Ridge": {"solver": "sparse_cg"},
    "RidgeClassifier": {"solver": "sparse_cg"},
}  # fmt: skip
FEW = {"n_estimators": 4, "max_depth": 2}
ITERATIVE = [(name, cls) for name, cls in all_estimators() if issubclass(cls, CallbackSupport)]
AFTERWARDS = {"rank_", "singular_"}  # of X, not of a state
each = pytest.mark.parametrize(("name", "cls"), ITERATIVE, ids=[name for name, _ in ITERATIVE])


class CtrlC(Callback):
    """Interrupts at a state, the second unless told."""

    def __init__(self, at=2):
        self.at, self.fits, self.seen = at, 0, 0

    def setup(self, estimator, context):
        self.fits, self.seen = self.fits + 1, 0

    def on_fit_task_end(self, estimator, context):
        self.seen += hasattr(context, "state")
        if self.seen == self.at and hasattr(context, "state"):
            raise KeyboardInterrupt


def small(name, cls):
    known = cls().get_params()
    return cls(**{k: v for k, v in FEW.items() if k in known} | MANY.get(name, {}))


def fitted(model):
    """The names of the public fitted attributes."""
    return {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}


def target_of(name, model):
    """Classes or counts; none is 0 for gamma regression, which refuses it."""
    return TARGETS[is_classifier(model)] + (name == "GammaRegressor")


@each
def test_an_interrupt_leaves_the_last_state_and_is_raised_again(name, cls):
    model, rows = small(name, cls), ROWS.get(name, X)
    target = target_of(name, model)
    whole = clone(model).fit(rows, target)
    with pytest.raises(KeyboardInterrupt) as interrupt:
        model.set_callbacks(CtrlC()).fit(rows, target)
    assert fitted(whole) - fitted(model) <= AFTERWARDS
    method = "predict" if hasattr(whole, "predict") else "transform"
    answer, expected = getattr(model, method)(rows), getattr(whole, method)(rows)
    assert answer.shape == expected.shape
    assert np.isfinite(answer).all()
    if "Tree" not in name:  # a tree is grown before its nodes are shown
        (note,) = interrupt.value.__notes__
        assert "fit was interrupted; the estimator is as it was after 2 " in note


@each
def test_an_interrupt_ends_cross_validation(name, cls):
    model, ctrl_c = small(name, cls), CtrlC()
    model.set_callbacks(ctrl_c)
    rows, target = ROWS.get(name, X), target_of(name, model)
    with pytest.raises(KeyboardInterrupt):
        cross_val_score(model, rows, target, cv=3, scoring=lambda *_: 0.0)
    assert ctrl_c.fits == 1


def test_an_interrupt_ends_a_grid_search():
    name, cls = next(pair for pair in ITERATIVE if pair[0] == "HistGradientBoostingRegressor")
    ctrl_c = CtrlC()
    search = GridSearchCV(small(name, cls).set_callbacks(ctrl_c), {"max_depth": [1, 2]}, cv=2)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert ctrl_c.fits == 1
    assert not hasattr(search, "best_estimator_")
