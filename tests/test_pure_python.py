"""MLREPLICA_PURE_PYTHON=1 runs every kernel as plain Python: same numbers, no Numba"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

SCRIPT = """
import json, sys, warnings
import numpy as np, scipy.sparse as sp
from mlreplica import kernels, losses, metrics
from mlreplica.linear_model import LinearRegression, Perceptron, Ridge, perceptron
from mlreplica.linear_model import SGDClassifier, SGDRegressor

warnings.simplefilter("ignore", UserWarning)
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
w = rng.uniform(0.5, 2.0, size=60)
y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=60)
label = (y > 0).astype(int) + (y > 2)
found = {}

for solver in ("auto", "qr", "cholesky", "svd", "gd", "sgd"):
    model = LinearRegression(solver=solver, random_state=0).fit(X, y, sample_weight=w)
    found[f"LinearRegression {solver}"] = [*model.coef_, model.intercept_]
hard = LinearRegression().fit(np.vander(np.linspace(-8.8, -3.1, 60), 11), y)
found["LinearRegression, ill-conditioned"] = hard.predict(np.vander([-5.0, -4.0], 11)).tolist()
for solver in ("auto", "qr", "sgd", "lsqr"):
    found[f"Ridge {solver}"] = Ridge(solver=solver, random_state=0).fit(X, y, w).coef_.tolist()
tiny = np.column_stack([X, X[:, 0] + X[:, 1]])
found["Ridge, ill-conditioned"] = Ridge(1e-12).fit(tiny, y).coef_.tolist()
found["Ridge sparse"] = Ridge(solver="sparse_cg").fit(sp.csr_array(X), y, w).coef_.tolist()
found["LinearRegression positive"] = LinearRegression(positive=True).fit(X, y).coef_.tolist()
from mlreplica.linear_model import LogisticRegression

for target in (label, label > 0):
    for solver in ("lbfgs", "newton-cg", "cd"):
        model = LogisticRegression(solver=solver).fit(X, target, sample_weight=w)
        found[f"LogisticRegression {solver} {len(model.classes_)}"] = model.coef_.ravel().tolist()
for data in (X, sp.csr_array(X)):
    for target in (label > 0, label):
        for solver, ratio in (("cd", 1.0), ("saga", 0.5), ("newton-cg", 0.0)):
            model = LogisticRegression(solver=solver, l1_ratio=ratio, random_state=0, max_iter=20)
            name = f"LogisticRegression {solver} {ratio} {type(data).__name__} {target.dtype}"
            found[name] = model.fit(data, target).coef_.ravel().tolist()
for penalty in (None, "l1", "l2", "elasticnet"):
    for data in (X, sp.csr_array(X)):
        model = Perceptron(penalty=penalty, max_iter=5).fit(data, label, sample_weight=w)
        found[f"Perceptron {penalty} {type(data).__name__}"] = model.coef_.ravel().tolist()
from mlreplica.svm import SVR, LinearSVC, LinearSVR, OneClassSVM

for data in (X, sp.csr_array(X)):
    for solver in ("newton", "dcd"):
        kind = f"{solver} {type(data).__name__}"
        for loss in ("hinge", "squared_hinge"):
            model = LinearSVC(loss=loss, solver=solver, random_state=0, max_iter=3)
            found[f"LinearSVC {loss} {kind}"] = model.fit(data, label, w).coef_.ravel().tolist()
        model = LinearSVR(epsilon=0.1, solver=solver, random_state=0, max_iter=3).fit(data, y, w)
        found[f"LinearSVR {kind}"] = model.coef_.tolist()
    for options in ({"penalty": "l1"}, {"multi_class": "crammer_singer"}):
        model = LinearSVC(**options, random_state=0, max_iter=3).fit(data, label, w)
        found[f"LinearSVC {options} {type(data).__name__}"] = model.coef_.ravel().tolist()
found["SVR"] = SVR(gamma=0.5, tol=1e-9).fit(X, y, w).predict(X).tolist()
found["OneClassSVM"] = OneClassSVM(gamma=0.5, tol=1e-9).fit(X).score_samples(X).tolist()
from mlreplica.linear_model import HuberRegressor, PoissonRegressor, QuantileRegressor

for model, target in (
    (HuberRegressor(), y),
    (PoissonRegressor(), label),
    (QuantileRegressor(alpha=0.01), y),
):
    model.fit(X, target, sample_weight=w)
    found[type(model).__name__] = [*model.coef_, model.intercept_]
from mlreplica.linear_model import ElasticNet, lasso_path

wide = np.column_stack([X, rng.normal(size=(60, 5)), X[:, :2] + X[:, 1:]])
for data in (wide, sp.csc_array(wide)):
    for solver in ("auto", "cd"):
        model = ElasticNet(0.02, l1_ratio=0.9, solver=solver, tol=1e-12).fit(data, y, w)
        found[f"ElasticNet {solver} {type(data).__name__}"] = [*model.coef_, model.intercept_]
    found[f"lasso_path {type(data).__name__}"] = lasso_path(data, y, alphas=9)[1].ravel().tolist()
for options in ({}, {"penalty": "l1"}, {"average": 20}, {"batch_size": 7}):
    for data in (X, sp.csr_array(X)):
        model = SGDClassifier("log_loss", random_state=0, max_iter=5, eta0=0.1, **options)
        model.set_params(learning_rate="constant").fit(data, label, sample_weight=w)
        found[f"SGDClassifier {options} {type(data).__name__}"] = model.coef_.ravel().tolist()
found["SGDRegressor"] = SGDRegressor("huber", random_state=0, max_iter=5).fit(X, y).coef_.tolist()
from mlreplica.svm import SVC, NuSVC

for model in (SVC(gamma=0.3, tol=1e-10), NuSVC(nu=0.2, gamma=0.3, tol=1e-10)):
    found[type(model).__name__] = model.fit(X, label > 0).decision_function(X).tolist()
found["SVC, several classes"] = SVC(kernel="poly", tol=1e-10).fit(X, label).intercept_.tolist()
found["perceptron"] = perceptron(X, np.sign(y), max_updates=50).w.tolist()
for name in ("linear", "polynomial", "rbf", "sigmoid", "laplacian"):
    found[f"kernel {name}"] = kernels.get(name)(X, X[:4]).ravel().tolist()
single = kernels.RBF(0.5).multiplier(X, single=True)(X, y)
found["RBF, sums in single precision"] = single.round(3).tolist()
from mlreplica.decomposition import KernelPCA
from mlreplica.kernel_approximation import Nystroem, RBFSampler
from mlreplica.kernel_ridge import KernelRidge

maps = KernelPCA(2, kernel="rbf"), Nystroem(n_components=9, random_state=0)
for model in (*maps, RBFSampler(random_state=0)):
    found[type(model).__name__] = model.fit(X).transform(X[:5]).ravel().tolist()
found["KernelRidge"] = KernelRidge(kernel="rbf").fit(X, y, w).predict(X).tolist()
for name in ("logistic", "huber", "poisson"):
    target = {"logistic": np.sign(y), "huber": y, "poisson": label}[name]
    found[f"loss {name}"] = losses.get(name).gradient(target, X[:, 0]).tolist()
from mlreplica.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor

names = np.column_stack([label, wide])
missing = np.where(rng.random(wide.shape) < 0.1, np.nan, wide)
for model, rows, target in (
    (DecisionTreeRegressor(max_depth=3), missing, y),
    (DecisionTreeRegressor(max_depth=2, monotonic_cst=[1, -1, 0]), X, y),
    (DecisionTreeRegressor(criterion="absolute_error", max_depth=3), missing, y),
    (DecisionTreeRegressor(criterion="poisson", max_depth=3), X, label + 1),
    (DecisionTreeClassifier(criterion="entropy", max_leaf_nodes=5), X, label),
    (DecisionTreeClassifier(max_features=1), missing, label),
    (DecisionTreeClassifier(max_depth=2, categorical_features=[0]), names, label),
    (ExtraTreeRegressor(max_depth=3), X, np.column_stack([y, label])),
):
    tree = model.set_params(random_state=0).fit(rows, target, sample_weight=w).tree_
    numbers = [*tree.feature, *tree.impurity, *tree.predict(rows).ravel()]
    found[f"{model} {rows.shape}"] = [float(v) for v in numbers]
many = np.tile(label, 400)
score = rng.normal(size=len(many)) + many
found["confusion"] = metrics.confusion_matrix(many, many[::-1]).ravel().tolist()
for f in (metrics.roc_auc_score, metrics.average_precision_score):
    found[f.__name__] = [f(many > 0, score)]
for f in (metrics.r2_score, metrics.mean_absolute_error):
    found[f.__name__] = [f(score, score[::-1])]
found["silhouette"] = [metrics.silhouette_score(X, label)]
found["rand"] = [metrics.adjusted_rand_score(many, many[::-1])]
print(json.dumps({"numba": "numba" in sys.modules, "found": found}))
"""


def run(pure):
    env = {**os.environ, "MLREPLICA_PURE_PYTHON": str(int(pure))}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        check=False,
        env=env,
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_plain_python_gives_the_same_numbers_without_numba():
    plain, compiled = run(pure=True), run(pure=False)
    assert compiled["numba"]
    assert not plain["numba"]
    assert plain["found"].keys() == compiled["found"].keys()
    for name, numbers in plain["found"].items():
        np.testing.assert_allclose(
            numbers, compiled["found"][name], rtol=1e-9, atol=1e-12, err_msg=name
        )
