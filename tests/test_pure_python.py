"""MLREPLICA_PURE_PYTHON=1 runs every kernel as plain Python: same numbers, no Numba"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mlreplica.core.card import card_of
from mlreplica.warmup import chosen

SCRIPT = """
import json, sys, warnings
import numpy as np, scipy.sparse as sp
from mlreplica import kernels, losses, metrics
from mlreplica.linear_model import LinearRegression, Ridge, lasso_path, perceptron

warnings.simplefilter("ignore", UserWarning)
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=60)
label = (y > 0).astype(int) + (y > 2)
found = {}

hard = LinearRegression().fit(np.vander(np.linspace(-8.8, -3.1, 60), 11), y)
found["LinearRegression, ill-conditioned"] = hard.predict(np.vander([-5.0, -4.0], 11)).tolist()
tiny = np.column_stack([X, X[:, 0] + X[:, 1]])
found["Ridge, ill-conditioned"] = Ridge(1e-12).fit(tiny, y).coef_.tolist()
wide = np.column_stack([X, rng.normal(size=(60, 5)), X[:, :2] + X[:, 1:]])
for data in (wide, sp.csc_array(wide)):
    found[f"lasso_path {type(data).__name__}"] = lasso_path(data, y, alphas=9)[1].ravel().tolist()
found["perceptron"] = perceptron(X, np.sign(y), max_updates=50).w.tolist()
for name in ("linear", "polynomial", "rbf", "sigmoid", "laplacian"):
    found[f"kernel {name}"] = kernels.get(name)(X, X[:4]).ravel().tolist()
single = kernels.RBF(0.5).multiplier(X, single=True)(X, y)
found["RBF, sums in single precision"] = single.round(3).tolist()
for name in ("logistic", "huber", "poisson"):
    target = {"logistic": np.sign(y), "huber": y, "poisson": label}[name]
    found[f"loss {name}"] = losses.get(name).gradient(target, X[:, 0]).tolist()
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


CARDS = [thing for _, thing in chosen([]) if card_of(thing)]
SCRIPTED = Path(__file__).with_name("every_setting.py")
AMBIGUOUS = {  # settings that rounding decides, or no seed
    "BayesianLogisticRegression(": "chains are chaotic",
    "StackingClassifier(": "the trees of its card have no seed",
    "SGDClassifier(max_iter=5, random_state=0, loss='squared": "runs away, to 1e13",
    "SVC(random_state=0, solver='platt')": "stops at a gap of 1e-3, along another path",
    "NuSVC(random_state=0, kernel='linear')": "several intercepts are optimal",
    "NuSVC(random_state=0, kernel='sigmoid')": "the kernel is indefinite",
}


def numbers_of(chapter, folder, pure):
    """What `every_setting` finds in a process of its own."""
    env, path = {**os.environ, "MLREPLICA_PURE_PYTHON": str(int(pure))}, folder / f"{pure}.npz"
    command = [sys.executable, str(SCRIPTED), str(path), chapter]
    subprocess.run(command, check=True, env=env, timeout=1200)
    with np.load(path) as file:
        return dict(file)


def agree(a, b):
    """Whether arrays are equal but for rounding, relative to their largest entry."""
    if a.shape != b.shape:
        return False
    finite = np.abs(b[np.isfinite(b)].astype(float))
    atol = 1e-9 * finite.max(initial=1.0)
    return np.allclose(a.astype(float), b.astype(float), rtol=1e-7, atol=atol, equal_nan=True)


@pytest.mark.slow
@pytest.mark.parametrize("chapter", sorted({card_of(t).chapter.partition(".")[2] for t in CARDS}))
def test_every_option_of_every_estimator_finds_the_same_in_plain_python(chapter, tmp_path):
    plain, compiled = (numbers_of(chapter, tmp_path, pure) for pure in (True, False))
    assert plain.keys() == compiled.keys()
    differ = [key for key in plain if not agree(plain[key], compiled[key])]
    assert not [key for key in differ if not key.startswith(tuple(AMBIGUOUS))]


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
def test_functions_give_the_same_numbers_in_plain_python_without_numba():
    plain, compiled = run(pure=True), run(pure=False)
    assert compiled["numba"]
    assert not plain["numba"]
    assert plain["found"].keys() == compiled["found"].keys()
    for name, numbers in plain["found"].items():
        np.testing.assert_allclose(
            numbers, compiled["found"][name], rtol=1e-9, atol=1e-12, err_msg=name
        )
