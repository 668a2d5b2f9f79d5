"""What onnxruntime makes of a model's graph is what the model itself predicts"""

import builtins

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

import mlreplica
from mlreplica import ensemble, kernels, linear_model, losses, svm, tree
from mlreplica.datasets import load_diabetes, load_iris
from mlreplica.kernel_ridge import KernelRidge

IRIS, SPECIES = load_iris(return_X_y=True)
DIABETES, PROGRESS = load_diabetes(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
COUNTS = np.round(PROGRESS / 50)
FEW = {"n_estimators": 7, "random_state": 0}
METHODS = {
    "prediction": "predict",
    "label": "predict",
    "scores": "decision_function",
    "probabilities": "predict_proba",
}


def run(model, X):
    """All outputs of the graph, by name."""
    session = onnxruntime.InferenceSession(
        mlreplica.to_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": X.astype(np.float32)}), strict=True))


def assert_same(model, X, outputs=None):
    X = X.astype(np.float32).astype(float)
    found = run(model, X)
    assert outputs is None or list(found) == outputs
    for name, values in found.items():
        expected = getattr(model, METHODS[name])(X)
        assert values.shape == expected.shape
        if name == "label":
            assert_array_equal(values, expected)
        else:
            assert_allclose(values, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


def numbered(cases, place):
    """Names of cases that differ."""
    return [f"{k} {case[place]}" for k, case in enumerate(cases)]


CUSTOM = 0.5 * kernels.RBF(0.3) + kernels.Linear() * kernels.Polynomial(2, 0.1, 1.0) + 2.0
NUMBERS = [
    ("line", make_pipeline(StandardScaler(), linear_model.Ridge())),
    ("tree", tree.DecisionTreeRegressor(max_depth=3, random_state=0)),
]
CLASSES = [
    ("line", make_pipeline(StandardScaler(), linear_model.LogisticRegression())),
    ("tree", tree.DecisionTreeClassifier(max_depth=2, random_state=0)),
]
HARD = [*CLASSES, ("margin", svm.SVC()), ("ridge", linear_model.RidgeClassifier())]
REGRESSORS = [
    linear_model.LinearRegression(),
    linear_model.Ridge(fit_intercept=False),
    linear_model.LassoCV(cv=3, alphas=10),
    linear_model.HuberRegressor(max_iter=1000),
    linear_model.QuantileRegressor(quantile=0.8, alpha=0.01),
    linear_model.PoissonRegressor(),
    svm.LinearSVR(C=10.0, random_state=0),
    svm.SVR(C=100.0),
    svm.NuSVR(kernel="poly", degree=2, coef0=1.0),
    svm.SVR(kernel=CUSTOM),
    KernelRidge(kernel="rbf", gamma=0.5),
    KernelRidge(kernel="sigmoid", gamma=0.01),
    tree.DecisionTreeRegressor(max_depth=5, random_state=0),
    tree.ExtraTreeRegressor(max_depth=1, random_state=0),
    ensemble.RandomForestRegressor(**FEW),
    ensemble.ExtraTreesRegressor(**FEW),
    ensemble.GradientBoostingRegressor(**FEW),
    ensemble.GradientBoostingRegressor(loss="quantile", **FEW),
    ensemble.GradientBoostingRegressor(init="zero", loss=losses.poisson, **FEW),
    ensemble.HistGradientBoostingRegressor(max_iter=7),
    ensemble.HistGradientBoostingRegressor(max_iter=7, loss="poisson"),
    ensemble.AdaBoostRegressor(**FEW),
    linear_model.RANSACRegressor(residual_threshold=1.0, random_state=0),
    ensemble.BaggingRegressor(**FEW),
    ensemble.BaggingRegressor(linear_model.Ridge(), max_features=0.5, **FEW),
    ensemble.VotingRegressor(NUMBERS),
    ensemble.VotingRegressor([*NUMBERS, ("no", "drop")], weights=[1, 3, 0]),
    ensemble.StackingRegressor(NUMBERS, cv=3),
    ensemble.StackingRegressor([*NUMBERS, ("no", "drop")], svm.SVR(), cv=3, passthrough=True),
    TransformedTargetRegressor(svm.SVR(), transformer=StandardScaler()),
    TransformedTargetRegressor(tree.DecisionTreeRegressor(max_depth=3), transformer=MinMaxScaler()),
]


@pytest.mark.parametrize("model", REGRESSORS, ids=str)
def test_regressors(model):
    assert_same(model.fit(DIABETES, COUNTS), DIABETES, ["prediction"])


def test_gamma_regression():
    model = linear_model.GammaRegressor().fit(DIABETES, COUNTS + 1)
    assert_same(model, DIABETES, ["prediction"])


MEAN = ["label", "probabilities", "scores"]
LINEAR, BOTH, SHARES = ["label", "scores"], ["label", "scores", "probabilities"], "probabilities"
CLASSIFIERS = [
    (linear_model.LogisticRegression(C=10.0), BOTH),
    (linear_model.RidgeClassifier(), LINEAR),
    (linear_model.SGDClassifier(random_state=0), LINEAR),
    (linear_model.SGDClassifier(loss="log_loss", random_state=0), BOTH),
    (linear_model.Perceptron(random_state=0), LINEAR),
    (svm.LinearSVC(random_state=0), LINEAR),
    (svm.SVC(C=5.0), LINEAR),
    (svm.SVC(kernel="linear", decision_function_shape="ovo"), LINEAR),
    (svm.SVC(kernel="sigmoid", gamma=0.01, break_ties=True), LINEAR),
    (svm.SVC(multi_class="ovr"), LINEAR),
    (svm.NuSVC(nu=0.2, gamma=0.5), LINEAR),
    (svm.SVC(probability=True, random_state=0), BOTH),
    (svm.SVC(probability=True, multi_class="ovr", random_state=0), BOTH),
    (tree.DecisionTreeClassifier(max_depth=3, random_state=0), ["label", SHARES]),
    (ensemble.RandomForestClassifier(**FEW), ["label", SHARES]),
    (ensemble.ExtraTreesClassifier(**FEW), ["label", SHARES]),
    (ensemble.GradientBoostingClassifier(**FEW), BOTH),
    (ensemble.HistGradientBoostingClassifier(max_iter=7), BOTH),
    (ensemble.AdaBoostClassifier(**FEW), BOTH),
    (ensemble.BaggingClassifier(max_samples=10, **FEW), ["label", SHARES]),
    (ensemble.BaggingClassifier(linear_model.LogisticRegression(), max_features=2, **FEW), MEAN),
    (ensemble.BaggingClassifier(svm.SVC(), **FEW), MEAN),
    (ensemble.VotingClassifier(HARD), ["label"]),
    (ensemble.VotingClassifier(HARD, weights=[1, 1, 1, 5]), ["label"]),
    (ensemble.VotingClassifier(CLASSES, voting="soft", weights=[1, 2]), ["label", SHARES]),
    (ensemble.StackingClassifier(HARD, cv=3), BOTH),
    (
        ensemble.StackingClassifier(HARD, svm.SVC(), stack_method="predict", passthrough=True),
        LINEAR,
    ),
]


@pytest.mark.parametrize("target", [NAMES, SPECIES == 1], ids=["three", "two"])
@pytest.mark.parametrize(("model", "outputs"), CLASSIFIERS, ids=numbered(CLASSIFIERS, 0))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
def test_classifiers(model, outputs, target):
    assert_same(model.fit(IRIS, target), IRIS, outputs)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_exponential_loss_and_outliers():
    model = ensemble.GradientBoostingClassifier(loss="exponential", **FEW)
    assert_same(model.fit(IRIS, SPECIES == 1), IRIS, BOTH)
    assert_same(svm.OneClassSVM(nu=0.2).fit(IRIS), IRIS, LINEAR)
    boosted_line = linear_model.SGDClassifier(loss="exponential", alpha=0.1, random_state=0)
    assert_same(make_pipeline(StandardScaler(), boosted_line).fit(IRIS, SPECIES), IRIS, BOTH)
    assert_same(boosted_line.fit(IRIS, SPECIES), IRIS, BOTH)  # no class will have some rows
    some = {"contamination": 0.1, "max_features": 0.5, **FEW}
    assert_same(ensemble.IsolationForest(**some).fit(IRIS), IRIS, LINEAR)
    holes = np.where(np.random.default_rng(0).random(IRIS.shape) < 0.2, np.nan, IRIS)
    assert_same(ensemble.IsolationForest(**FEW).fit(holes), holes, LINEAR)


def test_several_targets():
    both = np.column_stack([PROGRESS, COUNTS])
    for model in (linear_model.Ridge(), tree.DecisionTreeRegressor(max_depth=3), KernelRidge()):
        assert_same(model.fit(DIABETES, both), DIABETES)


def test_every_float_goes_down_the_same_branch():
    """Rows on the thresholds themselves, and the floats next to them, take the model's way."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = rng.normal(size=300)
    model = tree.DecisionTreeRegressor().fit(X, y)
    at = model.tree_.children_left != -1
    near = model.tree_.threshold[at].astype(np.float32)
    steps = (np.nextafter(near, np.float32(s)) for s in (-np.inf, np.inf))
    rows = np.repeat(X[:1], 3 * len(near), axis=0).astype(np.float32)
    rows[np.arange(len(rows)), np.tile(model.tree_.feature[at], 3)] = np.concatenate([near, *steps])
    found = run(model, rows)["prediction"]
    assert_array_equal(found, model.predict(rows.astype(float)).astype(np.float32))


@pytest.mark.parametrize(
    "model",
    [
        tree.DecisionTreeClassifier(max_depth=4, random_state=0),
        ensemble.RandomForestClassifier(**FEW),
        ensemble.HistGradientBoostingClassifier(max_iter=5),
    ],
    ids=str,
)
def test_missing_values_take_their_side(model):
    X = np.where(np.random.default_rng(0).random(IRIS.shape) < 0.3, np.nan, IRIS)
    assert_same(model.fit(X, SPECIES), X)


@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        MinMaxScaler((-1, 2)),
        RobustScaler(),
        MaxAbsScaler(),
        "passthrough",
    ],
    ids=str,
)
def test_pipelines_of_scalers(scaler):
    model = make_pipeline(scaler, StandardScaler(with_std=False), svm.SVC())
    assert_same(model.fit(IRIS, NAMES), IRIS, LINEAR)


def test_a_graph_says_what_it_is():
    graph = mlreplica.to_onnx(linear_model.Ridge().fit(DIABETES, PROGRESS), name="diabetes")
    assert graph.producer_name == "mlreplica"
    assert graph.producer_version == mlreplica.__version__
    assert graph.graph.name == "diabetes"
    assert graph.graph.input[0].type.tensor_type.shape.dim[1].dim_value == 10


def mine(u, v):
    return u @ v.T


frame = pd.DataFrame({"a": pd.Categorical(list("abc") * 20), "b": np.arange(60.0)})
BAD = [
    (
        ensemble.BaggingRegressor(DummyRegressor(), **FEW),
        IRIS,
        SPECIES,
        "DummyRegressor; .* linear",
    ),
    (ensemble.AdaBoostRegressor(linear_model.Ridge(), **FEW), IRIS, SPECIES, "AdaBoost of Ridge"),
    (
        linear_model.SGDClassifier(loss="modified_huber", random_state=0),
        IRIS,
        SPECIES,
        "the probabilities of SGDClassifier",
    ),
    (
        TransformedTargetRegressor(linear_model.Ridge(), func=np.log1p, inverse_func=np.expm1),
        DIABETES,
        PROGRESS,
        "functions instead of a scaler",
    ),
    (make_pipeline(MinMaxScaler(clip=True), linear_model.Ridge()), IRIS, SPECIES, "that clips"),
    (KernelRidge(kernel="laplacian"), IRIS, SPECIES, r"kernel Laplacian"),
    (svm.SVC(kernel=mine), IRIS, SPECIES, "kernel Precomputed"),
    (
        tree.DecisionTreeRegressor(categorical_features="from_dtype"),
        frame,
        frame["b"],
        "categorical features",
    ),
    (
        ensemble.HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=2),
        frame,
        frame["b"],
        "categorical features",
    ),
    (
        ensemble.GradientBoostingRegressor(init=linear_model.Ridge(), **FEW),
        DIABETES,
        PROGRESS,
        "begins with an estimator",
    ),
    (
        tree.DecisionTreeClassifier(),
        IRIS,
        np.column_stack([SPECIES, SPECIES]),
        "several outputs",
    ),
    (
        make_pipeline(OneHotEncoder(), linear_model.Ridge()),
        np.round(IRIS),
        SPECIES,
        "OneHotEncoder",
    ),
]


@pytest.mark.parametrize(("model", "X", "y", "message"), BAD, ids=numbered(BAD, 3))
def test_what_has_no_graph_is_named(model, X, y, message):
    with pytest.raises(TypeError, match=message):
        mlreplica.to_onnx(model.fit(X, y))


def test_sparse_weights_and_a_missing_extra(monkeypatch):
    model = linear_model.LogisticRegression().fit(IRIS, SPECIES)
    plain_import = builtins.__import__
    with pytest.raises(TypeError, match=r"densify\(\) first"):
        mlreplica.to_onnx(model.sparsify())

    def without(name, *rest):
        if name == "onnx":
            raise ImportError(name)
        return plain_import(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'mlreplica\[onnx\]'"):
        mlreplica.to_onnx(model)
