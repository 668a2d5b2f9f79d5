"""After a warm-up, nothing that users typically do compiles anything in a new process."""

import itertools
import json
import os
import subprocess
import sys
from numbers import Integral
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Hidden, Interval, StrOptions

from mlreplica.warmup import (
    Report,
    attempt,
    fit_pairs,
    options,
    required,
    sentence,
    settings,
    warmup,
)

TYPICAL = """
import sys, warnings
import numpy as np
import pandas as pd
import polars as pl
from numba.core import event
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

class Compilations(event.Listener):
    def on_start(self, event): heard.append(event.data["dispatcher"].__name__)
    def on_end(self, event): pass

heard = []
event.register("numba:compile", Compilations())

from mlreplica import metrics
from mlreplica.datasets import load_breast_cancer, load_diabetes, load_iris, make_linear_regression
from mlreplica.linear_model import LinearRegression, Perceptron

warnings.simplefilter("ignore", UserWarning)
X, y = load_diabetes(return_X_y=True)
for data in (X, X[::2], X.astype("f4"), np.asfortranarray(X), pd.DataFrame(X), pl.DataFrame(X)):
    target = y[: len(data)]
    model = LinearRegression().fit(data, target)
    metrics.r2_score(target, model.predict(data))
    LinearRegression().fit(data, target, sample_weight=np.arange(1.0, len(target) + 1))
for solver in ("auto", "qr", "cholesky", "svd", "gd", "sgd"):
    LinearRegression(solver=solver).fit(X, y)
LinearRegression(positive=True).fit(X, y)
LinearRegression(fit_intercept=False).fit(X[:5], y[:5])
LinearRegression().fit(*make_linear_regression(20_000, 30, random_state=0)[:2])
iris = load_iris(as_frame=True)
names = iris.target_names[iris.target]
for labels in (iris.target, names, names == "setosa"):
    for penalty in (None, "l1", "l2", "elasticnet"):
        Perceptron(penalty=penalty).fit(iris.data, labels).predict(iris.data)
model = make_pipeline(StandardScaler(), Perceptron())
X, y = load_breast_cancer(return_X_y=True)
GridSearchCV(model, {"perceptron__alpha": [1e-4, 1e-2]}, n_jobs=2).fit(X, y)
model.fit(X, y)
metrics.confusion_matrix(y, model.predict(X))
metrics.roc_auc_score(y, model.decision_function(X))
rng = np.random.default_rng(0)
for n in (100, 200_000):
    y, f, w = rng.integers(0, 2, n), rng.standard_normal(n), rng.uniform(size=n)
    for truth in (y, y.astype(bool), np.array(["no", "yes"])[y]):
        metrics.accuracy_score(truth, truth)
        metrics.accuracy_score(truth, truth, sample_weight=w)
        metrics.roc_auc_score(truth, f)
        metrics.classification_report(truth, truth)
    metrics.f1_score(y, f > 0, sample_weight=w)
    metrics.log_loss(y, 1 / (1 + np.exp(-f)))
    metrics.mean_squared_error(f, w)
    metrics.median_absolute_error(f, w)
    metrics.r2_score(f.astype("f4"), w.astype("f4"))
sys.exit(f"compiled {heard}" if heard else 0)
"""


def run(*args, **env):
    env = {**os.environ, **env}
    return subprocess.run(
        [sys.executable, *args], capture_output=True, text=True, check=False, env=env
    )


# They run inside of kernels that the user writes, or take a function that the user wrote.
# Those of mcmc.parameters are compiled inside of a C function, as one unit.
FOR_OTHERS = {
    "mlreplica.core.formulas.loss_formulas.gradient_at",
    "mlreplica.core.formulas.kernel_loops.pairwise",
    "mlreplica.core.formulas.log.exp_to_zero",
    "mlreplica.core.formulas.log.log1p_of",
    "mlreplica.core.formulas.log.log_of",
    "mlreplica.core.formulas.log.log_sum_of",
    "mlreplica.core.compile.intrinsics.prefetch_vector",
    "mlreplica.mcmc.parameters.constrain",
    "mlreplica.mcmc.parameters.log_sigmoid",
    "mlreplica.mcmc.parameters.pull_back",
    "mlreplica.mcmc.parameters.sigmoid",
}


ALL = """
import importlib, json, pkgutil
import mlreplica
from mlreplica.core.compile.jit import CompiledFunction
from mlreplica.warmup import all_kernels, signatures, warmup

for module in pkgutil.walk_packages(mlreplica.__path__, "mlreplica."):
    if not module.name.startswith(("mlreplica.__main__", "mlreplica.cli")):
        importlib.import_module(module.name)
report = warmup()
reached = [kernel for kernel in all_kernels() if signatures(kernel)]
for kernel in reached:  # grows: what a cached kernel calls is inside of it
    function = kernel.py_func
    called = map(function.__globals__.get, function.__code__.co_names)
    reached += [k for k in called if isinstance(k, CompiledFunction) and k not in reached]
unreached = [f"{k.__module__}.{k.__name__}" for k in all_kernels() if k not in reached]
print(json.dumps([unreached, report.failures]))
"""
SOME = ["metrics", "LinearRegression", "SVC", "DecisionTreeClassifier", "RandomForestClassifier"]
AGAIN = f"""
import json
from numba.core import event
from mlreplica.core.compile.jit import import_numba
from mlreplica.warmup import warmup

class Compilations(event.Listener):
    def on_start(self, event): heard.append(event.data["dispatcher"].__name__)
    def on_end(self, event): pass

heard, seen = [], []
import_numba()
event.register("numba:compile", Compilations())
again = warmup(lambda done, total, name: seen.append((done, total, name)), only={SOME})
print(json.dumps([heard, again.kernels, again.variants, again.failures, str(again.folder), seen]))
"""


@pytest.mark.slow
def test_a_warm_up_reaches_every_kernel_and_leaves_nothing_to_compile(tmp_path):
    # A folder of its own: tests that run meanwhile keep kernels, too.
    own = {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = run("-c", ALL, **own)
    assert done.returncode == 0, done.stderr
    unreached, failures = json.loads(done.stdout)
    assert failures == []
    assert set(unreached) <= FOR_OTHERS

    again = run("-c", AGAIN, **own)
    assert again.returncode == 0, again.stderr
    heard, kernels, variants, failures, folder, seen = json.loads(again.stdout)
    assert (heard, kernels, variants, failures) == ([], 0, 0, [])
    assert Path(folder) == tmp_path / "mlreplica"
    assert [done for done, _, _ in seen] == list(range(seen[0][1] + 1))
    assert {"r2_score", "log_loss", *SOME[1:]} <= {name for _, _, name in seen}
    assert "Lasso" not in {name for _, _, name in seen}

    typical = run("-c", TYPICAL, **own)
    assert typical.returncode == 0, typical.stderr


def test_only_known_names_are_warmed_up():
    with pytest.raises(ValueError, match="function is named 'Lassie'"):
        warmup(only=["Lasso", "Lassie"])


class Chooser(BaseEstimator):
    """Options of every kind of constraint."""

    _parameter_constraints = {
        "solver": [StrOptions({"a", "b"}), Hidden(StrOptions({"secret"}))],
        "penalty": [StrOptions({"l1"}), None],
        "flag": ["boolean"],
        "depth": [Interval(Integral, 1, None, closed="left"), None],
        "copy": ["boolean"],
        "free": "no_validation",
    }

    def __init__(self, solver="a", penalty=None, flag=True, depth=1, copy=True, max_iter=100):
        self.solver, self.penalty, self.flag = solver, penalty, flag
        self.depth, self.copy, self.max_iter = depth, copy, max_iter

    def fit(self, X, y=None):
        return self


def test_options_come_from_the_constraints():
    assert options(Chooser) == {
        "solver": ["a", "b"],
        "penalty": ["l1", None],
        "flag": [False, True],
    }
    single, several = settings(Chooser)
    assert all(kw["max_iter"] == 5 for kw in single + several)
    assert len(single) == 1 + 6
    assert len(several) < 3 * 4
    for (a, i), (b, j) in itertools.combinations(options(Chooser).items(), 2):
        for pair in itertools.product(i, j):
            assert any((kw.get(a, i), kw.get(b, j)) == pair for kw in several)


def test_options_refused_together_are_tried_two_at_a_time():
    tried = []

    class Strict(Chooser):
        def fit(self, X, y=None):
            kw = {k: v for k, v in self.get_params().items() if k in ("solver", "penalty", "flag")}
            tried.append(kw)
            if kw["solver"] == "b" and kw["penalty"] == "l1" and not kw["flag"]:
                raise ValueError
            return self

    fit_pairs(Strict, {"max_iter": 5}, {"solver": "b", "penalty": "l1", "flag": False}, None, None)
    assert tried[1:] == [
        {"solver": "b", "penalty": "l1", "flag": True},
        {"solver": "b", "penalty": None, "flag": False},
        {"solver": "a", "penalty": "l1", "flag": False},
    ]


def test_required_arguments_by_name():
    assert required(lambda a, b, c=1, *args, d, **kw: None) == ["a", "b"]


def test_refused_calls_pass_and_bugs_do_not():
    attempt(int, "x")
    attempt(len, 3)
    with pytest.raises(KeyError):
        attempt({}.__getitem__, "x")


def test_the_sentence():
    assert sentence(Report(3, 5, 1.25)) == "3 kernels compiled, in 5 variants (1.2 s)"
    assert sentence(Report(0, 0, 0.5)).startswith("nothing to compile: every kernel")


def test_plain_python_has_nothing_to_compile():
    program = """
from mlreplica.warmup import Report, all_kernels, folder, sentence
print(all_kernels(), folder(), sentence(Report(0, 0, 0.0)))
"""
    env = os.environ | {"MLREPLICA_PURE_PYTHON": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("[] None nothing to compile: kernels run as plain Python")
