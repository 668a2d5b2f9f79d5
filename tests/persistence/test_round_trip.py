"""Every estimator comes back from a file, in this process and in another, and predicts the same"""

import json
import re
import subprocess
import sys
from copy import copy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import skops.io
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import mlreplica
from mlreplica import ensemble, kernels, linear_model, losses, svm, tree
from mlreplica.callbacks import Trace
from mlreplica.datasets import load_iris
from mlreplica.decomposition import KernelPCA
from mlreplica.discovery import all_estimators
from mlreplica.kernel_approximation import Nystroem
from mlreplica.kernel_ridge import KernelRidge
from mlreplica.persistence import FORMAT, read_header

METHODS = (
    "predict", "predict_proba", "decision_function", "transform", "score_samples", "kneighbors"
)  # fmt: skip
LEARNED = ("labels_", "covariance_")  # of models that answer nothing about new rows
X, y = (a[::3] for a in load_iris(return_X_y=True))
FEW = {"n_estimators": 4, "max_iter": 200, "random_state": 0}


def small(cls):
    """An estimator with few members, so that it is fitted in no time."""
    known = cls().get_params()
    few = {name: value for name, value in FEW.items() if name in known}
    return cls(**few | ({"max_iter": 4} if cls.__name__.startswith("Hist") else {}))


def answers(model, rows):
    found = {name: getattr(model, name)(rows) for name in METHODS if hasattr(model, name)}
    found = found or {name: getattr(model, name) for name in LEARNED if hasattr(model, name)}
    return {name: v.toarray() if sp.issparse(v) else v for name, v in found.items()}


def assert_same(model, again, rows):
    rows = copy(rows)  # NumPy multiplies rows by themselves, which a model may keep, in another way
    expected = answers(model, rows)
    assert expected
    for name, values in answers(again, rows).items():
        assert_array_equal(values, expected[name])
    assert vars(again).keys() == vars(model).keys() - {"_skl_callbacks", "_last_fit"}
    assert type(again) is type(model)
    assert again.get_params(deep=False).keys() == model.get_params(deep=False).keys()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A file for every estimator of the package."""
    folder = tmp_path_factory.mktemp("models")
    models = {}
    for name, cls in all_estimators():
        with np.errstate(all="ignore"):
            models[name] = small(cls).fit(X, y + 1 if name == "GammaRegressor" else y)
        mlreplica.save(models[name], folder / name)
    return folder, models


@pytest.mark.parametrize("name", [name for name, _ in all_estimators()])
@pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::RuntimeWarning", "ignore::FutureWarning"
)
def test_every_estimator_predicts_the_same(files, name):
    folder, models = files
    assert_same(models[name], mlreplica.load(folder / name), X)


@pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::RuntimeWarning", "ignore::FutureWarning"
)
def test_another_process_predicts_the_same(files):
    folder, models = files
    code = f"""
import numpy as np, mlreplica
from pathlib import Path
X = np.load("rows.npy")
for path in Path().glob("[A-Z]*"):
    model = mlreplica.load(path)
    found = {{n: getattr(model, n)(X) for n in {METHODS} if hasattr(model, n)}}
    learned = {{n: getattr(model, n) for n in {LEARNED} if hasattr(model, n)}}
    found = found or learned
    dense = {{n: v.toarray() if hasattr(v, "toarray") else v for n, v in found.items()}}
    np.savez(f"answers-{{path.name}}.npz", **dense)
"""
    np.save(folder / "rows.npy", X)
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True)
    for name, model in models.items():
        with np.load(folder / f"answers-{name}.npz") as found:
            for method, values in answers(model, X).items():
                assert_array_equal(found[method], values)


gaps = np.where(np.arange(X.size).reshape(X.shape) % 7 == 0, np.nan, X)
counts = np.round(X).astype(float)
custom = 0.5 * kernels.RBF(gamma=2.0) + kernels.Linear() * kernels.Constant(2.0)
CASES = {
    "sparse svc": (svm.SVC(), sp.csr_array(X), y),
    "precomputed": (svm.SVC(kernel="precomputed"), X @ X.T, y),
    "kernel algebra": (svm.SVC(kernel=custom), X, y),
    "binary svc": (svm.SVC(probability=True, random_state=0), X, y == 0),
    "warm svc": (svm.SVC(warm_start=True), X, y),
    "cosine": (KernelRidge(kernel="cosine"), X, y),
    "chi2": (Nystroem(kernel="chi2", n_components=5, random_state=0), X, y),
    "inverse": (KernelPCA(2, fit_inverse_transform=True), X, y),
    "labels": (linear_model.LogisticRegression(), X, np.array(["a", "bb", "ccc"])[y]),
    "objects": (linear_model.RidgeClassifier(), X, np.array(["a", "bb", "ccc"], object)[y]),
    "two targets": (tree.DecisionTreeRegressor(), X, np.column_stack([y, X[:, 0]])),
    "categories": (tree.DecisionTreeClassifier(categorical_features=[0, 1]), counts, y),
    "gaps": (ensemble.RandomForestClassifier(3, random_state=0), gaps, y == 1),
    "hist": (
        ensemble.HistGradientBoostingClassifier(max_iter=3, categorical_features=[0]),
        np.column_stack([counts[:, 0] - 4, gaps]),
        y,
    ),
    "loss": (ensemble.GradientBoostingRegressor(n_estimators=3, loss=losses.huber(0.7)), X, y),
    "huber": (ensemble.GradientBoostingRegressor(n_estimators=3, loss="huber"), X, y),
    "init": (
        ensemble.GradientBoostingClassifier(n_estimators=3, init=linear_model.LogisticRegression()),
        X,
        y,
    ),
    "random state": (
        ensemble.AdaBoostClassifier(
            linear_model.SGDClassifier(random_state=0),
            n_estimators=3,
            random_state=np.random.RandomState(3),
        ),
        X,
        y,
    ),
    "vote": (
        ensemble.VotingClassifier(
            [("a", linear_model.RidgeClassifier()), ("b", tree.DecisionTreeClassifier())]
        ),
        X,
        y,
    ),
    "stack": (
        ensemble.StackingRegressor(
            [("a", linear_model.Ridge()), ("b", tree.DecisionTreeRegressor(max_depth=2))],
            final_estimator=linear_model.LinearRegression(),
            cv=2,
        ),
        X,
        y,
    ),
    "averaged": (linear_model.SGDClassifier(average=True, random_state=0), X, y),
    "path": (linear_model.LassoCV(cv=3, alphas=5), X, y),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::RuntimeWarning", "ignore::FutureWarning"
)
def test_options_that_change_the_state(case, tmp_path):
    model, rows, target = CASES[case]
    model.fit(rows, target)
    again = mlreplica.load(mlreplica.save(model, tmp_path / "model"))
    assert_same(model, again, rows)
    again.fit(rows, target)  # and it can learn again


@pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::RuntimeWarning", "ignore::FutureWarning"
)
def test_a_sparse_w_and_a_warm_start_go_on(tmp_path):
    model = linear_model.SGDClassifier(random_state=0).fit(X, y).sparsify()
    again = mlreplica.load(mlreplica.save(model, tmp_path / "model"))
    assert sp.issparse(again.coef_)
    for each in (model, again):
        each.densify().partial_fit(X, y)
    assert_array_equal(model.coef_, again.coef_)


def test_a_pipeline_over_a_frame(tmp_path):
    frame = pd.DataFrame({"x": X[:, 0], "gap": gaps[:, 1], "colour": np.array(["r", "g"])[y % 2]})
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = ColumnTransformer(
        [("n", numbers, ["x", "gap"]), ("c", OneHotEncoder(), ["colour"])], remainder="passthrough"
    )
    union = FeatureUnion([("same", "passthrough"), ("kernel", Nystroem(n_components=3))])
    model = make_pipeline(columns, union, svm.SVC(), memory=str(tmp_path / "cache"))
    model.fit(frame, y)
    again = mlreplica.load(mlreplica.save(model, tmp_path / "model"))
    assert_array_equal(again.predict(frame), model.predict(frame))
    assert list(again.feature_names_in_) == list(frame)
    assert again.memory is None
    with pytest.raises(ValueError, match="columns are missing"):
        again.predict(frame[["x"]])
    table = make_pipeline(
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        tree.DecisionTreeClassifier(),
    ).fit(frame[["colour"]], y)
    again = mlreplica.load(mlreplica.save(table, tmp_path / "model"))
    assert_array_equal(again.predict(frame[["colour"]]), table.predict(frame[["colour"]]))


def test_a_new_model_and_one_that_was_watched(tmp_path):
    assert repr(mlreplica.load(mlreplica.save(svm.SVC(C=3.0), tmp_path / "m"))) == "SVC(C=3.0)"
    model = linear_model.Lasso(alpha=0.1).set_callbacks(Trace()).fit(X, y)
    assert_array_equal(mlreplica.load(mlreplica.save(model, tmp_path / "m")).coef_, model.coef_)


def test_layout_of_arrays_is_kept(tmp_path):
    model = linear_model.Ridge().fit(X, np.column_stack([y, y]))
    model.coef_ = np.asfortranarray(np.arange(8.0).reshape(2, 4))
    model.note_ = {1: (True, None), "two": {3}, 2.5: frozenset("a"), "s": slice(1, None)}
    again = mlreplica.load(mlreplica.save(model, tmp_path / "m"))
    assert again.coef_.flags.f_contiguous
    assert_array_equal(again.coef_, model.coef_)
    assert again.note_ == model.note_


def test_skops_reads_the_file_and_need_not_trust_it(files):
    folder, _ = files
    assert skops.io.get_untrusted_types(file=folder / "SVC") == []
    content = skops.io.load(folder / "SVC")
    assert content["format"] == FORMAT
    assert content["estimator"] == "mlreplica.svm.SVC"
    assert read_header(folder / "SVC") == (FORMAT, mlreplica.__version__, "mlreplica.svm.SVC")


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = mlreplica.save(svm.SVC(), tmp_path / "m")
    before = path.read_bytes()
    with pytest.raises(TypeError, match=r"SVC\.kernel is the function .*; code is not saved"):
        mlreplica.save(svm.SVC(kernel=lambda A, B: A @ B.T), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


class Mine(svm.SVC):
    """A class that no list has."""


Rbf = type("Rbf", (kernels.RBF,), {"__module__": __name__})  # a kernel that no list has
Rbf.__name__ = "RBF"


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Mine(), "Mine, which is not saved: mlreplica saves its own"),
        (ensemble.BaggingClassifier(Mine()), r"BaggingClassifier\.estimator is a .*Mine"),
        (
            ensemble.GradientBoostingRegressor(loss=losses.Loss(np.add, np.add)),
            "loss is a loss of yours",
        ),
        (
            ensemble.RandomForestRegressor(random_state=np.random.Generator(np.random.MT19937(0))),
            r"random_state is of type numpy\.random",
        ),
        (KernelRidge(kernel=Rbf()), "kernel is the function Rbf; code is not saved"),
        (svm.SVC(class_weight={0: 1j}), r"class_weight\[0\] is of type builtins\.complex"),
        (linear_model.Ridge(alpha=np.zeros(2, dtype="M8[s]")), "dtype datetime64"),
        ("a string", "str, which is not saved"),
    ],
)
def test_what_is_not_saved_is_named(model, message, tmp_path):
    with pytest.raises(TypeError, match=message):
        mlreplica.save(model, tmp_path / "m")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["missing/m.skops", "folder"])
def test_a_file_that_cannot_be_written_is_named_as_given(name, tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match=re.escape(str(tmp_path / name))) as caught:
        mlreplica.save(linear_model.Ridge(), tmp_path / name)
    assert caught.value.filename == str(tmp_path / name)
    assert ".part" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


SAVED = Path(__file__).parent / "saved"


@pytest.mark.filterwarnings("ignore:.* was written by mlreplica")
@pytest.mark.parametrize("path", sorted(SAVED.glob("*.skops")), ids=lambda path: path.stem)
def test_files_of_earlier_versions_are_read(path):
    answers = json.loads((SAVED / "answers.json").read_text(encoding="utf-8"))
    X = np.random.default_rng(0).standard_normal((40, 3)).round(3)
    model = mlreplica.load(path)
    assert_allclose(model.predict(X[:10]), answers[path.stem], rtol=1e-10)
