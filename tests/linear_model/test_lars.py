"""Least angle regression and the lasso by its path"""

import warnings

import numpy as np
import pytest
import sklearn.linear_model
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import mlreplica
from mlreplica.callbacks import Trace
from mlreplica.linear_model import (
    Lars,
    LarsCV,
    Lasso,
    LassoLars,
    LassoLarsCV,
    LassoLarsIC,
    lars_path,
    lars_path_gram,
)
from mlreplica.linear_model.lars.cv import errors
from mlreplica.linear_model.lars.homotopy import Active, ColumnRows, GramRows
from mlreplica.linear_model.lasso.problem import LassoProblem

ALL = [Lars(), LassoLars(alpha=0.1), LarsCV(), LassoLarsCV(), LassoLarsIC(noise_variance=1.0)]


def problem(seed=0, n=30, p=8, few=3):
    """Centred rows with correlated columns of different lengths."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, p)) + rng.normal(size=(n, 1))) * 10 ** rng.uniform(-1, 1, size=p)
    y = X[:, :few] @ rng.normal(size=few) + rng.normal(size=n)
    return X - X.mean(axis=0), y - y.mean()


def tied(seed, n=12, p=8):
    """Columns of few integers, some of them equal or opposite: events come several at once."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, size=(n, p)).astype(float)
    X[:, -1], X[:, -2] = X[:, 0], -X[:, 1]
    return X, rng.integers(-2, 3, size=n).astype(float)


def misses(X, y, w, alpha, positive=False):
    """By how much w misses the optimality conditions of the lasso."""
    u = X.T @ (y - X @ w) / len(y)
    most = np.maximum((u if positive else np.abs(u)) - alpha, 0.0).max()
    return max(most, np.abs(u - alpha * np.sign(w))[w != 0].max(initial=0.0))


# (a) properties


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.sampled_from([(30, 8), (8, 30)]), st.booleans(), st.booleans())
def test_every_point_of_the_path_and_every_mean_of_two_is_optimal(seed, shape, positive, gram):
    X, y = problem(seed, *shape)
    alphas, _, W = lars_path(X, y, method="lasso", positive=positive, Gram=gram)
    assert (np.diff(alphas) < 0).all()
    assert alphas[-1] == 0.0
    assert W.min() >= 0 or not positive
    top = np.abs(X.T @ y).max() / len(y)
    for k in range(len(alphas) - 1):
        for t in (0.0, 0.5, 1.0):
            w, alpha = W[:, k : k + 2] @ [1 - t, t], alphas[k : k + 2] @ [1 - t, t]
            assert misses(X, y, w, alpha, positive) <= 1e-11 * top


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 10_000), st.booleans(), st.booleans())
def test_the_path_is_optimal_where_columns_tie_or_are_equal(seed, positive, gram):
    X, y = tied(seed)
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        found = lars_path(X, y, method="lasso", positive=positive, Gram=gram, return_n_iter=True)
    alphas, _, W, events = found
    assert alphas[-1] == 0.0
    assert (alphas[1:] < (1 - 1e-13) * alphas[:-1]).all()  # events at one α are one point
    assert events < 100
    for alpha, w in zip(alphas, W.T, strict=True):
        assert misses(X, y, w, alpha, positive) <= 1e-12 * max(1.0, alphas[0])


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.sampled_from([(30, 8), (8, 30)]))
def test_columns_in_use_keep_equal_covariances_whatever_their_signs(seed, shape):
    X, y = problem(seed, *shape)
    alphas, active, W = lars_path(X, y, method="lar")
    assert len(alphas) == len(active) + 1
    for k, (alpha, w) in enumerate(zip(alphas, W.T, strict=True)):
        u = np.abs(X.T @ (y - X @ w) / len(y))
        assert_allclose(u[active[: k + 1]], alpha, atol=1e-11 * alphas[0])
        assert u.max() <= alpha + 1e-11 * alphas[0]
    assert_allclose(X @ W[:, -1], X @ np.linalg.lstsq(X, y)[0], atol=1e-8 * np.abs(y).max())


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000), st.integers(0, 12), st.floats(0.001, 1.0))
def test_the_certificate_bounds_the_gap_even_if_the_path_ends_early(seed, events, depth):
    X, y = problem(seed, 20, 10)
    alpha = depth * np.abs(X.T @ y).max() / len(y)

    def value(model):
        r = y - model.predict(X)
        return r @ r / (2 * len(y)) + alpha * np.abs(model.coef_).sum()

    model, exact = LassoLars(alpha, max_iter=events).fit(X, y), LassoLars(alpha).fit(X, y)
    assert exact.certificate_ <= 1e-12 * (y @ y)
    assert value(model) - value(exact) <= model.certificate_ + 1e-14 * (y @ y)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10_000))
def test_a_column_that_enters_and_leaves_changes_nothing(seed):
    X, y = problem(seed)
    prepared = LassoProblem(X, y[:, None], None, False, True)
    for rows in (GramRows(prepared.G), ColumnRows(prepared.A)):
        active = Active(rows, prepared.c[0])
        for j in (3, 1, 6):
            active.enter(j, 0.0)
        F = [3, 1, 6]
        sigma = active.sign[F]
        assert_allclose(active.v[F], np.linalg.solve(prepared.G[np.ix_(F, F)], prepared.c[0][F]))
        assert_allclose(active.d[F], np.linalg.solve(prepared.G[np.ix_(F, F)], sigma))
        assert_allclose(active.a, prepared.G[:, F] @ active.d[F], atol=1e-10)
        before = [x.copy() for x in (active.v, active.d, active.e, active.a)]
        active.enter(0, 0.0)
        active.enter(5, 0.0)
        active.leave(0)
        active.leave(5)
        assert_array_equal(active.F, F)
        after = (active.v, active.d, active.e, active.a)
        for x, z in zip(before, after, strict=True):
            assert_allclose(x, z, atol=1e-9 * np.abs(x).max())


def test_rows_in_another_order_and_other_units():
    X, y = problem(n=60)
    model = LassoLars(alpha=0.05).fit(X, y)
    order = np.random.default_rng(1).permutation(60)
    assert_allclose(LassoLars(alpha=0.05).fit(X[order], y[order]).coef_, model.coef_, rtol=1e-9)
    scaled = LassoLars(alpha=0.5 * 1e6).fit(10.0 * X, 1e6 * y)
    assert_allclose(scaled.coef_, 1e5 * model.coef_, rtol=1e-9)


# (b) the naive version


def naive_path(X, y):
    """The lasso's points by inverting G_FF anew for every piece; events one at a time."""
    G, c, F, sigma = X.T @ X / len(y), X.T @ y / len(y), [], []
    j = int(np.abs(c).argmax())
    alpha, points, s = abs(c[j]), [], np.sign(c[j])
    points.append((alpha, np.zeros(len(c))))
    while True:
        if j in F:
            del sigma[F.index(j)]
            F.remove(j)
        else:
            F.append(j)
            sigma.append(s)
        v, d = np.linalg.solve(G[np.ix_(F, F)], np.array([c[F], sigma]).T).T
        e, a, at = c - G[:, F] @ v, G[:, F] @ d, np.zeros(len(c))
        for k in range(len(c)):
            if k not in F:
                at[k] = abs(e[k]) / (1 - np.sign(e[k]) * a[k])
        at[F] = np.where(v * sigma < 0, v / d, 0.0)
        j = int(at.argmax())
        alpha, s = at[j] if at[j] > 1e-12 else 0.0, np.sign(e[j])
        w = np.zeros(len(c))
        w[F] = v - alpha * d
        points.append((alpha, w))
        if alpha == 0.0:
            return points


@pytest.mark.parametrize("seed", range(5))
def test_the_naive_version_agrees(seed):
    X, y = problem(seed, p=12)
    expected = naive_path(X, y)
    for gram in (True, False):
        alphas, _, W = lars_path(X, y, method="lasso", Gram=gram)
        assert_allclose(alphas, [alpha for alpha, _ in expected], atol=1e-12 * alphas[0])
        assert_allclose(W.T, [w for _, w in expected], atol=1e-9 * np.abs(W).max())


def test_errors_between_the_points_of_a_path_are_those_of_residuals_in_between():
    rng = np.random.default_rng(0)
    alphas, R = np.sort(rng.random(6)), rng.normal(size=(6, 9))
    wanted = np.linspace(-0.1, 1.1, 50)
    between = np.array([np.interp(wanted, alphas, r) for r in R.T])
    assert_allclose(errors(alphas, R, wanted), (between**2).mean(axis=0))
    assert_allclose(errors(alphas[:1], R[:1], wanted), (R[0] ** 2).mean())


# (c) references


def test_the_lasso_agrees_at_any_alpha():
    X, y = load_diabetes(return_X_y=True)
    for alpha in (1.5, 0.3, 0.02):
        ours, reference = LassoLars(alpha).fit(X, y), Lasso(alpha, tol=1e-13).fit(X, y)
        assert_allclose(ours.coef_, reference.coef_, atol=1e-6)
        assert_allclose(ours.intercept_, reference.intercept_)


@pytest.mark.parametrize("name", ["Lars", "LassoLars", "LassoLarsCV", "LassoLarsIC"])
@pytest.mark.parametrize("intercept", [True, False])
def test_scikit_learn_agrees(name, intercept):
    X, y = load_diabetes(return_X_y=True)
    given = {"fit_intercept": intercept} | ({"alpha": 0.05} if name == "LassoLars" else {})
    ours = getattr(mlreplica.linear_model, name)(**given).fit(X, y)
    reference = getattr(sklearn.linear_model, name)(**given).fit(X, y)
    for attribute in ("coef_", "intercept_", "alphas_", "coef_path_", "mse_path_", "cv_alphas_"):
        if hasattr(reference, attribute):
            found, expected = getattr(ours, attribute), getattr(reference, attribute)
            assert_allclose(found, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())
    for attribute in ("alpha_", "criterion_", "noise_variance_"):
        if hasattr(reference, attribute):
            assert_allclose(getattr(ours, attribute), getattr(reference, attribute), rtol=1e-9)
    assert ours.n_iter_ == reference.n_iter_
    assert isinstance(ours, getattr(sklearn.linear_model, name))


def test_gram_functions_and_dtypes():
    X, y = problem(n=40)
    expected = lars_path(X, y, method="lasso", alpha_min=0.01)
    found = lars_path_gram(X.T @ y, X.T @ X, n_samples=40, method="lasso", alpha_min=0.01)
    for a, b in zip(expected, found, strict=True):
        assert_allclose(a, b, atol=1e-9)
    single = lars_path(X.astype(np.float32), y.astype(np.float32), method="lasso")
    assert single[0].dtype == single[2].dtype == np.float32
    last = lars_path(X, y, method="lasso", alpha_min=0.01, return_path=False)
    assert_array_equal(last[2], expected[2][:, -1])


# (d) scikit-learn's checks


@parametrize_with_checks(ALL)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# (e) events, targets, ends, errors, bugs


def test_least_angle_regression_goes_on_where_a_weight_changes_its_sign():
    """scikit-learn turns the sign of the covariance with it, and loses the equal angles."""
    X, y = problem(3, n=200, p=30)
    alphas, _, W = lars_path(X, y, method="lar")
    turned = [(np.diff(np.sign(w[w != 0])) != 0).any() for w in W]
    assert any(turned)
    w = W[:, -2]
    assert_allclose(np.abs(X.T @ (y - X @ w)) / 200, alphas[-2], atol=1e-9 * alphas[0])


def test_equal_events_need_no_jitter():
    X, y = np.array([[0, 0, 0, -1.0, 0], [0, -1.0, 0, 0, 0]]), np.array([-2.5, -2.5])
    for model in (Lars(fit_intercept=False), LassoLars(alpha=1e-3, fit_intercept=False)):
        assert_allclose(model.fit(X, y).coef_, [0, 2.5, 0, 2.5, 0], atol=2.1e-3)


def test_equal_columns_are_told_of_and_harmless():
    X, y = problem(n=50, p=4)
    X = np.c_[X, X[:, 0]]
    with pytest.warns(ConvergenceWarning, match="1 columns beside the 4 in use"):
        model = LassoLars(alpha=1e-3).fit(X, y)
    assert model.certificate_ < 1e-12 * (y @ y)


def test_the_path_ends_at_full_rank_in_silence():
    X, y = problem(n=10, p=40)
    with warnings.catch_warnings(action="error"):
        model = Lars().fit(X, y)
    assert model.n_iter_ == len(model.active_) == 9
    assert_allclose(model.predict(X), y, atol=1e-9 * np.abs(y).max())


def test_columns_enter_in_order_and_n_nonzero_coefs_counts_them():
    X, y = load_diabetes(return_X_y=True)
    model = Lars(n_nonzero_coefs=4).fit(X, y)
    assert model.active_ == [2, 8, 3, 6]
    assert model.coef_path_.shape == (10, 5)
    assert np.count_nonzero(model.coef_) == 4
    assert_array_equal(model.coef_path_[:, -1], model.coef_)


def test_several_targets_have_a_path_each():
    X, y = problem(n=40)
    Y = np.c_[y, np.roll(y, 7)]
    model = LassoLars(alpha=0.01).fit(X, Y)
    for k in range(2):
        one = LassoLars(alpha=0.01).fit(X, Y[:, k])
        assert_allclose(model.coef_[k], one.coef_, rtol=1e-9)
        assert_allclose(model.alphas_[k], one.alphas_, rtol=1e-9)
        assert model.active_[k] == one.active_
        assert model.n_iter_[k] == one.n_iter_
    assert_allclose(model.certificate_, model.dual_gap_.sum())


def test_above_the_largest_alpha_and_for_a_constant_target_nothing_enters():
    X, y = problem()
    for model in (LassoLars(alpha=1e9).fit(X, y), LassoLars().fit(X, np.ones(30))):
        assert not model.coef_.any()
        assert model.n_iter_ == 0
        assert len(model.alphas_) == 1


def test_x_is_centred_in_place_only_if_asked():
    X, y = problem()
    for copy in (True, False):
        Z = X + 1.0
        LassoLars(alpha=0.1, copy_X=copy).fit(Z, y)
        assert_allclose(Z.mean(axis=0), 1.0 if copy else 0.0, atol=1e-12)


def test_a_trace_shows_the_events():
    X, y = load_diabetes(return_X_y=True)
    model = LassoLars(alpha=0.0).set_callbacks(trace := Trace())
    model.fit(X, y)
    states = trace.states
    assert_allclose([s["alpha"] for s in states], model.alphas_)
    assert [s["column"] for s in states if s["entered"]] == [2, 8, 3, 6, 1, 9, 4, 7, 5, 0, 6]
    assert [s["column"] for s in states[:-1] if not s["entered"]] == [6]


def test_interrupted_fits_publish_the_path_so_far():
    class Stop:
        def __init__(self):
            self.calls = 0

        def setup(self, *args, **kwargs):
            pass

        def teardown(self, *args, **kwargs):
            pass

        def on_fit_task_begin(self, *args, **kwargs):
            pass

        def on_fit_task_end(self, *args, **kwargs):
            self.calls += 1
            if self.calls == 4:
                raise KeyboardInterrupt

    X, y = load_diabetes(return_X_y=True)
    model = LassoLars(alpha=0.0).set_callbacks(Stop())
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, np.c_[y, y])
    assert model.coef_.shape == (2, 10)
    assert model.coef_[0].any()
    assert not model.coef_[1].any()


def test_wrong_calls_say_what_to_do():
    X, y = problem()
    with pytest.raises(ValueError, match="X and Gram cannot both be unspecified"):
        lars_path(None, y, Gram=None)
    with pytest.raises(ValueError, match="not supported for 'lar'"):
        lars_path(X, y, positive=True)
    with pytest.raises(ValueError, match="shapes of the inputs Gram and Xy"):
        lars_path_gram(X.T @ y, np.eye(3), n_samples=30)
    with pytest.raises(ValueError, match="smaller than the number of features"):
        LassoLarsIC().fit(X[:5], y[:5])
    with pytest.warns(UserWarning, match="cannot be an array in LarsCV"):
        LarsCV(precompute=X.T @ X).fit(X, y)


@pytest.mark.parametrize("model", ALL, ids=lambda model: type(model).__name__)
def test_files_and_graphs(model, tmp_path):
    X, y = load_diabetes(return_X_y=True)
    model.fit(X, y)
    again = mlreplica.load(mlreplica.save(model, tmp_path / "m.skops"))
    assert_array_equal(again.predict(X), model.predict(X))
    assert_array_equal(again.alphas_, model.alphas_)
    assert [out.name for out in mlreplica.to_onnx(model).graph.output] == ["prediction"]
