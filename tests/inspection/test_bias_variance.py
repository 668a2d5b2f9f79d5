"""The decomposition: exact as algebra, right on average, and its standard errors are its errors"""

import re
import subprocess
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.tree import DecisionTreeRegressor

from mlreplica.datasets import Sample, make_linear_regression, make_polynomial_regression
from mlreplica.inspection import bias_variance
from mlreplica.inspection._bias_variance import decompose
from mlreplica.linear_model import LinearRegression

SE = 5  # standard errors
CUBIC = partial(make_polynomial_regression, 25, coef=[0.2, -1.0, 0.5, 2.0], noise=0.4)


def curve(degree=3):
    return make_pipeline(PolynomialFeatures(degree, include_bias=False), LinearRegression())


class PlainRidge(RegressorMixin, BaseEstimator):
    """Ridge without an offset, in microseconds."""

    def __init__(self, alpha=1.0):
        self.alpha = alpha

    def fit(self, X, y):
        self.coef_ = np.linalg.solve(X.T @ X + self.alpha * np.eye(X.shape[1]), X.T @ y)
        return self

    def predict(self, X):
        return X @ self.coef_


class Mean(RegressorMixin, BaseEstimator):
    """The mean of y, in microseconds."""

    def fit(self, X, y):
        self.mean_ = y.mean()
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


class Truth:
    """The line X w with normal noise."""

    def __init__(self, w, noise):
        self.w, self.noise = w, noise

    def predict(self, X):
        return X @ self.w


def fixed_design(n=12, p=3, noise=0.7):
    """X is the same in every draw, so that ridge is a linear smoother with known moments."""
    rng = np.random.default_rng(1)
    X, truth = rng.standard_normal((n, p)), Truth(rng.standard_normal(p), noise)

    def source(random_state):
        draw = np.random.default_rng(random_state)
        return Sample(X, truth.predict(X) + noise * draw.standard_normal(n), truth)

    return X, truth, source


# ------------------------------------------------------------------------------------ the algebra


@pytest.mark.parametrize("known", [True, False], ids=["truth", "target"])
def test_the_terms_are_the_textbooks_sums(known):
    rng = np.random.default_rng(0)
    F, target = rng.standard_normal((7, 4)), rng.standard_normal(4)
    at, _ = decompose(F, target, 0.3 if known else np.nan)
    assert_allclose(at.variance, F.var(axis=0, ddof=1), rtol=1e-13)
    error = ((F - target) ** 2).mean(axis=0) + (0.3 if known else 0.0)
    assert_allclose(at.error, error, rtol=1e-13)
    assert_array_equal(at.noise, np.full(4, 0.3 if known else np.nan))
    if known:
        assert_allclose(at.noise + at.bias2 + at.variance, at.error, rtol=1e-13)
        assert_allclose(at.bias2, (F.mean(axis=0) - target) ** 2 - at.variance / 7, rtol=1e-12)
    else:
        assert np.isnan(at.bias2).all()


@pytest.mark.parametrize("holes", [False, True])
def test_standard_errors_are_the_jackknifes(holes):
    rng = np.random.default_rng(2)
    F, target = rng.standard_normal((9, 5)), rng.standard_normal(5)
    if holes:
        F[rng.uniform(size=F.shape) < 0.3] = np.nan
    _, se = decompose(F, target, 0.3)
    without = [decompose(np.delete(F, r, axis=0), target, 0.3)[0] for r in range(9)]
    for name in ("bias2", "variance", "error"):
        t = np.array([getattr(at, name).mean() for at in without])
        assert_allclose(getattr(se, name), np.sqrt(8 / 9 * ((t - t.mean()) ** 2).sum()), rtol=1e-9)
    assert se.noise == 0.0


def test_terms_are_unbiased_and_their_errors_calibrated():
    rng = np.random.default_rng(3)
    points, R, times = 6, 12, 3000
    L, bias = rng.standard_normal((points, points)), rng.uniform(-1, 1, points)
    exact = {"bias2": np.mean(bias**2), "variance": np.mean((L**2).sum(axis=1))}
    exact["error"] = sum(exact.values())
    runs = [
        decompose(bias + rng.standard_normal((R, points)) @ L.T, np.zeros(points), 0.0)
        for _ in range(times)
    ]
    for name, value in exact.items():
        found = np.array([getattr(at, name).mean() for at, _ in runs])
        errors = np.array([getattr(se, name) for _, se in runs])
        assert abs(found.mean() - value) < SE * found.std() / np.sqrt(times), name
        ratio = np.sqrt(np.mean(errors**2)) / found.std()
        assert 0.95 < ratio < (1.5 if name == "bias2" else 1.15), name


# ------------------------------------------------------------------------- generators with a truth


@pytest.mark.parametrize("alpha", [0.0, 3.0])
def test_ridge_on_a_fixed_design_in_closed_form(alpha):
    X, truth, source = fixed_design()
    X_test = np.random.default_rng(5).standard_normal((8, 3))
    found = bias_variance(PlainRidge(alpha), source, X_test=X_test, n_draws=1200, random_state=0)
    smoother = X_test @ np.linalg.solve(X.T @ X + alpha * np.eye(3), X.T)  # f̂ = smoother · y
    bias2 = np.mean((smoother @ X @ truth.w - X_test @ truth.w) ** 2)
    variance = truth.noise**2 * np.mean((smoother**2).sum(axis=1))
    se = found.standard_errors
    assert found.noise == truth.noise**2
    assert abs(found.bias2 - bias2) < SE * se.bias2
    assert abs(found.variance - variance) < SE * se.variance
    assert abs(found.error - (truth.noise**2 + bias2 + variance)) < SE * se.error
    assert 0 < se.variance < 0.1 * variance
    if alpha:
        assert found.bias2 > SE * se.bias2


def test_the_sum_is_the_error_on_fresh_targets():
    X_test = np.linspace(-1, 1, 15)[:, None]
    found = bias_variance(curve(2), CUBIC, X_test=X_test, n_draws=300, random_state=0)
    errors = []
    for seed in range(100_000, 100_300):  # other draws, and noise that no term has seen
        X, y, truth = CUBIC(random_state=seed)
        noise = truth.noise * np.random.default_rng(seed).standard_normal(15)
        fresh = truth.predict(X_test) + noise
        errors.append(np.mean((fresh - curve(2).fit(X, y).predict(X_test)) ** 2))
    se = np.hypot(np.std(errors) / np.sqrt(len(errors)), found.standard_errors.error)
    assert abs(np.mean(errors) - found.error) < SE * se
    assert found.bias2 > SE * found.standard_errors.bias2  # a parabola is not a cubic
    assert_allclose(found.noise + found.bias2 + found.variance, found.error, rtol=1e-12)


def test_least_squares_on_a_true_model_is_unbiased():
    found = bias_variance(curve(3), CUBIC, random_state=1)
    assert abs(found.bias2) < SE * found.standard_errors.bias2
    assert found.X_test.shape == (1000, 1)
    assert_allclose(found.at.bias2.mean(), found.bias2, rtol=1e-13)
    assert_allclose(found.mean_prediction, found.predictions.mean(axis=0), rtol=1e-13)
    assert_array_equal(found.target, CUBIC(random_state=0).truth.predict(found.X_test))


def test_a_sweep_is_its_single_values_on_the_same_draws():
    measure = partial(bias_variance, source=CUBIC, n_draws=20, random_state=0)
    name = "polynomialfeatures__degree"
    swept = measure(curve(), param_name=name, param_range=[1, 4])
    assert swept.bias2.shape == swept.standard_errors.error.shape == (2,)
    assert swept.at.variance.shape == (2, 1000)
    assert swept.predictions.shape == (2, 20, 1000)
    assert swept.mean_prediction.shape == (2, 1000)
    for k, degree in enumerate((1, 4)):
        single = measure(curve(degree))
        for term in ("noise", "bias2", "variance", "error"):
            assert_allclose(getattr(swept, term)[k], getattr(single, term), rtol=1e-12)
            ours, theirs = swept.standard_errors, single.standard_errors
            assert_allclose(getattr(ours, term)[k], getattr(theirs, term), rtol=1e-10)
    assert swept.bias2[0] > swept.bias2[1]
    assert swept.variance[0] < swept.variance[1]


def test_seeds_and_threads():
    forest = DecisionTreeRegressor(max_features=1, splitter="random")
    source = partial(make_linear_regression, 30, 3, coef=[1.0, 2.0, 3.0])
    one = bias_variance(forest, source, n_draws=15, random_state=4, n_jobs=1)
    two = bias_variance(forest, source, n_draws=15, random_state=4, n_jobs=2)
    other = bias_variance(forest, source, n_draws=15, random_state=5, n_jobs=2)
    assert_array_equal(one.predictions, two.predictions)
    assert (one.error, one.standard_errors) == (two.error, two.standard_errors)
    assert one.error != other.error
    assert forest.random_state is None
    assert not hasattr(forest, "tree_")


def test_least_squares_gives_the_same_numbers_on_any_number_of_threads():
    one, two = (bias_variance(curve(), CUBIC, random_state=0, n_jobs=k) for k in (1, 2))
    assert_array_equal(one.predictions, two.predictions)


class Settings(RegressorMixin, BaseEstimator):
    """Predicts one of scikit-learn's settings."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.full(len(X), float(get_config()["assume_finite"]))


def test_scikit_learns_settings_reach_the_threads():
    with config_context(assume_finite=True):
        found = bias_variance(Settings(), CUBIC, n_draws=4, n_jobs=2, random_state=0)
    assert_array_equal(found.predictions, 1.0)


def test_a_models_own_randomness_counts_unless_it_has_a_seed():
    tree = DecisionTreeRegressor(max_features=1, splitter="random")
    X, y, _ = make_linear_regression(30, 4, random_state=0)
    same = lambda random_state: Sample(X, y, Truth(np.ones(4), 1.0))
    options = {"X_test": X[:, ::-1], "n_draws": 10, "random_state": 0}
    assert bias_variance(tree, same, **options).variance > 0.1
    tree.set_params(random_state=7)
    assert bias_variance(tree, same, **options).variance < 1e-20


# ----------------------------------------------------------------------------------------- data


@pytest.mark.parametrize("resampling", ["bootstrap", "half"])
def test_the_mean_on_resampled_data_in_closed_form(resampling):
    n = 14
    X, y = np.zeros((n, 1)), np.random.default_rng(0).exponential(size=n)
    found = bias_variance(Mean(), X, y, resampling=resampling, n_draws=1500, random_state=0)
    others = np.array([np.delete(y, i) for i in range(n)])
    m = n // 2
    if resampling == "half":  # m of n − 1 rows without repetition
        variance = others.var(axis=1, ddof=1) / m * (1 - m / (n - 1))
    else:
        variance = others.var(axis=1) / n
    rest = (y - others.mean(axis=1)) ** 2
    se = found.standard_errors
    assert abs(found.variance - variance.mean()) < SE * se.variance
    assert abs(found.noise_and_bias2 - rest.mean()) < SE * se.bias2
    assert abs(found.error - (variance + rest).mean()) < SE * se.error
    assert np.isnan([found.noise, found.bias2, se.noise]).all()
    assert_array_equal(found.target, y)


class Memory(RegressorMixin, BaseEstimator):
    """Predicts whether it has seen a row: 1 if so."""

    def fit(self, X, y):
        self.seen_ = set(np.ravel(X).tolist())
        return self

    def predict(self, X):
        return np.array([float(v in self.seen_) for v in np.ravel(X)])


@pytest.mark.parametrize(("resampling", "share"), [("bootstrap", np.exp(-1)), ("half", 0.5)])
def test_rows_are_predicted_out_of_bag_only(resampling, share):
    X = np.arange(60.0)[:, None]
    found = bias_variance(Memory(), X, X[:, 0], resampling=resampling, random_state=0)
    out = ~np.isnan(found.predictions)
    assert_array_equal(found.predictions[out], 0.0)
    assert_allclose(out.mean(), share, atol=0.02)
    if resampling == "half":
        assert (out.sum(axis=1) == 30).all()


@pytest.mark.parametrize("kind", [pd.DataFrame, sp.csr_array, np.asfortranarray, np.ndarray.tolist])
def test_kinds_of_data_give_the_same_numbers(kind):
    X, y, _ = make_linear_regression(30, 3, random_state=0)
    X = X if kind is not pd.DataFrame else pd.DataFrame(X, columns=list("abc"), index=range(5, 35))
    plain = bias_variance(Ridge(), np.asarray(X), y, n_draws=30, random_state=0)
    data = X if kind is pd.DataFrame else kind(X)
    found = bias_variance(Ridge(), data, y.tolist(), n_draws=30, random_state=0)
    assert_allclose(found.error, plain.error, rtol=1e-7)
    assert_allclose(found.variance, plain.variance, rtol=1e-7)


# ----------------------------------------------------------------------------------------- errors


class Broken(RegressorMixin, BaseEstimator):
    """Predicts a constant of any shape."""

    def __init__(self, constant=0.0):
        self.constant = constant

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.repeat(self.constant, len(X), axis=0)


X, Y = np.arange(20.0)[:, None], np.arange(20.0)
BAD = {
    "classifier": (LogisticRegression(), CUBIC, {}, "squared error; LogisticRegression is a class"),
    "no y": (Ridge(), X, {}, "source is data, so y is required"),
    "y and a generator": (Ridge(), CUBIC, {"y": Y}, "draws its own"),
    "points for data": (Ridge(), X, {"y": Y, "X_test": X}, "X_test needs a generator"),
    "lengths": (Ridge(), X, {"y": Y[1:]}, "inconsistent numbers of samples"),
    "two targets": (Ridge(), X, {"y": np.c_[Y, Y]}, "y should be a 1d array"),
    "nan": (Ridge(), X * np.nan, {"y": Y}, "contains NaN"),
    "one row": (Ridge(), X[:1], {"y": Y[:1]}, "raise n_draws|minimum of 1"),
    "too few draws": (Ridge(), X, {"y": Y, "n_draws": 3}, "and 3 are needed; raise n_draws"),
    "range alone": (Ridge(), CUBIC, {"param_range": [1]}, "go together"),
    "empty range": (Ridge(), CUBIC, {"param_name": "alpha", "param_range": []}, "at least one"),
    "no such parameter": (
        Ridge(),
        CUBIC,
        {"param_name": "beta", "param_range": [1]},
        "Invalid parameter 'beta'",
    ),
    "moving truth": (
        Ridge(),
        partial(make_polynomial_regression, 20),
        {},
        "truth changes from draw to draw",
    ),
    "points of other width": (Ridge(), CUBIC, {"X_test": np.ones((4, 2))}, "features|shape"),
    "nan at a point": (Ridge(), CUBIC, {"X_test": [[np.nan]]}, "contains NaN"),
    "infinite predictions": (Broken(np.inf), CUBIC, {}, "predicted nan or infinity"),
    "a column of predictions": (Broken([[1.0]]), CUBIC, {}, "one number a row, got shape"),
    "parameters of the model": (Ridge(alpha=-1.0), CUBIC, {"n_jobs": 1}, "'alpha' parameter"),
    "n_draws": (Ridge(), CUBIC, {"n_draws": 2}, "'n_draws' parameter"),
    "n_jobs": (Ridge(), CUBIC, {"n_jobs": 0}, "n_jobs must not be 0"),
    "resampling": (Ridge(), X, {"y": Y, "resampling": "jackknife"}, "'resampling' parameter"),
}


@pytest.mark.parametrize(("model", "source", "options", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_named(model, source, options, message):
    with pytest.raises(ValueError, match=message):
        bias_variance(model, source, **({"random_state": 0} | options))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (lambda random_state: (X, Y), "must return (X, y, truth)"),
        (lambda random_state: (X, Y, np.ones(3)), "must have predict(X) and noise"),
    ],
)
def test_what_a_generator_must_return(source, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        bias_variance(Ridge(), source)


# --------------------------------------------------------------------------------------- the plot


def test_the_plot():
    import matplotlib as mpl

    with mpl.rc_context({"backend": "Agg"}):
        import matplotlib.pyplot as plt

        figure, (a, b, c, d) = plt.subplots(4)
        name = "polynomialfeatures__degree"
        sweep = {"param_name": name, "param_range": [1, 2], "n_draws": 20, "random_state": 0}
        found = bias_variance(curve(), CUBIC, **sweep)
        assert found.plot(ax=a) is a
        assert [line.get_label() for line in a.lines] == ["error", "variance", "bias²", "noise"]
        assert_array_equal(a.lines[0].get_ydata(), found.error)
        assert a.get_xlabel() == name
        bias_variance(Ridge(), X, Y, param_name="alpha", param_range=[1.0, 9.0]).plot(ax=b)
        assert [line.get_label() for line in b.lines] == ["error", "variance", "noise + bias²"]
        single = bias_variance(curve(), CUBIC, n_draws=20, random_state=0)
        assert len(single.plot(ax=c).patches) == 4
        words = {"param_name": "strategy", "param_range": ["mean", "median"], "n_draws": 20}
        bias_variance(DummyRegressor(), CUBIC, **words).plot(ax=d)
        assert [tick.get_text() for tick in d.get_xticklabels()] == ["mean", "median"]
        plt.close(figure)


def test_nothing_but_the_plot_imports_matplotlib():
    program = (
        "import sys; from mlreplica.inspection import bias_variance; "
        "assert 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
