import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
import sklearn.svm
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_blobs, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import estimator_checks_generator

from mlreplica import kernels
from mlreplica.callbacks import Trace
from mlreplica.svm import SVC, NuSVC
from mlreplica.svm._hulls import nearest_points
from mlreplica.svm._rows import KernelRows
from mlreplica.svm._smo import problem, smo
from mlreplica.svm._svc import in_new_box

EXACT = {"gamma": 0.5, "tol": 1e-12}


def checks(*estimators):
    """scikit-learn's checks, less that of NuSVC's class weights, which it leaves out itself."""
    for estimator in estimators:
        for k, (model, check) in enumerate(estimator_checks_generator(estimator)):
            name = check.func.__name__
            if (type(estimator), name) != (NuSVC, "check_class_weight_classifiers"):
                yield pytest.param(model, check, id=f"{name}-{k}-{estimator}")


@pytest.mark.parametrize(
    ("estimator", "check"),
    checks(SVC(), NuSVC(), SVC(kernel="precomputed"), SVC(multi_class="ovr")),
)
def test_estimators_behave_as_scikit_learn_asks(estimator, check):
    name, estimator = check.func.__name__, clone(estimator)
    # At the default tolerance equal problems have solutions that agree to three digits only, and
    # gamma="scale" is a property of the rows without their weights.
    if name.startswith("check_sample_weight_equivalence"):
        estimator.set_params(**EXACT)
        if isinstance(estimator, NuSVC):
            estimator.set_params(nu=0.1)  # more is infeasible for classes so unequal
    if name == "check_classifiers_train":  # the largest score wins; scikit-learn excepts its SVC
        estimator.set_params(break_ties=True)
    check(estimator)


KERNELS = [
    {"kernel": "linear"},
    {"kernel": "rbf", "gamma": 0.3},
    {"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.0},
    {"kernel": "sigmoid", "gamma": 0.05, "coef0": -0.5},
]


def sample(n=60, p=3, seed=0, flip=0.1):
    """Two overlapping classes."""
    return make_classification(
        n, p, n_informative=2, n_redundant=0, flip_y=flip, class_sep=1.0, random_state=seed
    )


def all_beta(model, n):
    """β of a model of two classes, with zeros for all other rows"""
    beta = np.zeros(n)
    beta[model.support_] = model.dual_coef_[0]
    return beta


def dual_objective(beta, K):
    return 0.5 * beta @ K @ beta - np.abs(beta).sum()


def violation(beta, s, K, C):
    """(5) by two lines of NumPy"""
    f = K @ beta - s
    low, high = np.where(s > 0, 0.0, -C), np.where(s > 0, C, 0.0)
    return f[beta > low].max() - f[beta < high].min()


def naive(K, s, C, steps=20_000, tol=1e-9):
    """Ten lines: the worst pair of (5), the step (7), all of f anew"""
    beta = np.zeros(len(s))
    low, high = np.where(s > 0, 0.0, -C), np.where(s > 0, C, 0.0)
    for _ in range(steps):
        f = K @ beta - s
        i = np.argmin(np.where(beta < high, f, np.inf))
        j = np.argmax(np.where(beta > low, f, -np.inf))
        if f[j] - f[i] <= tol:
            break
        t = (f[j] - f[i]) / max(K[i, i] + K[j, j] - 2.0 * K[i, j], 1e-12)
        t = min(t, high[i] - beta[i], beta[j] - low[j])
        beta[i] += t
        beta[j] -= t
    return beta


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(6, 40),
    C=st.sampled_from([0.1, 1.0, 30.0]),
    gamma=st.sampled_from([0.1, 1.0, 10.0]),
)
def test_the_naive_loop_finds_the_same_optimum(seed, n, C, gamma):
    rng = np.random.default_rng(seed)
    X, s = rng.normal(size=(n, 2)), np.where(np.arange(n) % 2 > 0, 1.0, -1.0)
    K = kernels.RBF(gamma)(X)
    model = SVC(C=C, gamma=gamma, tol=1e-9).fit(X, s)
    beta = all_beta(model, n)
    best = dual_objective(naive(K, s, C), K)
    assert_allclose(dual_objective(beta, K), best, rtol=1e-8, atol=1e-8)
    assert abs(beta.sum()) < 1e-10 * (1.0 + np.abs(beta).sum())
    assert violation(beta, s, K, C) <= 1e-8


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k["kernel"])
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("tol", [0.1, 1e-3])
def test_dual_objective_is_never_worse_than_libsvm_at_the_same_tolerance(kernel, C, tol):
    X, y = sample(300)
    ours = SVC(C=C, tol=tol, **kernel).fit(X, y)
    theirs = sklearn.svm.SVC(C=C, tol=tol, **kernel).fit(X, y)
    K = ours._kernel(X)
    found, known = (dual_objective(all_beta(m, 300), K) for m in (ours, theirs))
    slack = 1e-3 if kernel["kernel"] == "sigmoid" else 1e-7  # not convex: other local minima
    assert found <= known + slack * abs(known)
    assert violation(all_beta(ours, 300), np.where(y > 0, 1.0, -1.0), K, C) <= tol * (1.0 + 1e-9)
    assert ours.kkt_residual_ <= tol


def test_memory_is_the_cache_and_little_more():
    """Of the 200 MB of the whole kernel matrix"""
    X, y = sample(5000)
    tracemalloc.start()
    SVC(cache_size=10.0).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6


@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize("shrinking", [True, False])
@pytest.mark.parametrize("cache_size", [200, 1])
def test_many_rows_end_within_tol_in_double_precision(C, shrinking, cache_size):
    X, y = make_classification(3000, 6, n_informative=4, flip_y=0.05, random_state=0)
    model = SVC(C=C, gamma=0.2, shrinking=shrinking, cache_size=cache_size).fit(X, y)
    K = kernels.RBF(0.2)(X)
    beta, s = all_beta(model, 3000), np.where(y > 0, 1.0, -1.0)
    assert violation(beta, s, K, C) <= 1.001e-3
    assert_allclose(model.kkt_residual_, violation(beta, s, K, C), rtol=1e-6, atol=1e-9)
    theirs = sklearn.svm.SVC(C=C, gamma=0.2).fit(X, y)
    assert dual_objective(beta, K) <= dual_objective(all_beta(theirs, 3000), K) + 1e-6 * len(y) * C
    score = K @ beta + model.intercept_
    primal = 0.5 * beta @ K @ beta + C * np.maximum(0.0, 1.0 - s * score).sum()
    assert_allclose(model.certificate_, primal + dual_objective(beta, K), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("load", [load_iris, load_digits])
@pytest.mark.parametrize("options", [{}, {"kernel": "linear"}, {"class_weight": "balanced"}])
@pytest.mark.parametrize("estimator", ["SVC", "NuSVC"])
def test_attributes_of_several_classes_are_laid_out_as_scikit_learn_does(load, options, estimator):
    X, y = load(return_X_y=True)
    X = X[::3] / X.max()
    y = np.array([f"class {k}" for k in range(10)])[y[::3]]
    nu = {"nu": 0.2} if estimator == "NuSVC" else {"C": 3.0}
    ours = {"SVC": SVC, "NuSVC": NuSVC}[estimator](tol=1e-7, **nu, **options).fit(X, y)
    theirs = getattr(sklearn.svm, estimator)(tol=1e-7, **nu, **options).fit(X, y)
    assert_array_equal(ours.classes_, theirs.classes_)
    assert ours.dual_coef_.shape[0] == theirs.dual_coef_.shape[0]
    assert ours.n_support_.dtype == theirs.n_support_.dtype == np.int32
    assert_allclose(ours.class_weight_, theirs.class_weight_)
    scores, known = (m.set_params(decision_function_shape="ovo") for m in (ours, theirs))
    assert_allclose(scores.decision_function(X), known.decision_function(X), atol=2e-3)
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.995
    if "kernel" in options:
        assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)
        assert not ours.coef_.flags.writeable


def test_one_machine_a_class():
    X, y = load_iris(return_X_y=True)
    model = SVC(multi_class="ovr", tol=1e-8).fit(X, y)
    assert model.dual_coef_.shape == (3, len(model.support_))
    scores = model.decision_function(X)
    for c in range(3):
        single = sklearn.svm.SVC(tol=1e-8).fit(X, y == c)
        assert_allclose(scores[:, c], single.decision_function(X), atol=1e-5)
    assert_array_equal(model.predict(X), scores.argmax(axis=1))


@numba.njit
def rbf_of_rows(u, v):
    d = 0.0
    for k in range(len(u)):
        d += (u[k] - v[k]) ** 2
    return np.exp(-0.3 * d)


@pytest.mark.parametrize("estimator", [SVC, NuSVC])
def test_a_kernel_may_come_in_any_form(estimator):
    X, y = sample(80)
    new = X[:7] + 0.1
    K = kernels.RBF(0.3)
    known = estimator(gamma=0.3, tol=1e-8).fit(X, y).decision_function(new)
    forms = [K, K.__call__, rbf_of_rows, 0.5 * K + 0.5 * K]
    for kernel in forms:
        model = estimator(kernel=kernel, tol=1e-8).fit(X, y)
        assert_allclose(model.decision_function(new), known, atol=1e-6)
    model = estimator(kernel="precomputed", tol=1e-8).fit(K(X), y)
    assert_allclose(model.decision_function(K(new, X)), known, atol=1e-6)
    assert model.support_vectors_.shape == (0, 0)
    sparse = estimator(gamma=0.3, tol=1e-8).fit(sp.csr_array(X), y)
    assert sp.issparse(sparse.support_vectors_)
    assert sp.issparse(sparse.dual_coef_)
    assert_allclose(sparse.decision_function(sp.csr_array(new)), known, atol=1e-6)
    assert_allclose(sparse.decision_function(new), known, atol=1e-6)


def test_rows_that_are_no_numbers_suit_a_function():
    words = ["a", "ab", "abb", "b", "ba", "bba"]
    y = [0, 0, 0, 1, 1, 1]

    def same_start(A, B):
        return np.array([[float(a[0] == b[0]) for b in B] for a in A])

    model = SVC(kernel=same_start).fit(words, y)
    assert_array_equal(model.predict(["axx", "bxx"]), [0, 1])


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 1000))
def test_weights_are_repetitions_and_weight_zero_is_absence(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(25, 2)), np.arange(25) % 3
    w = rng.integers(0, 3, size=25)
    w[:3] = 1
    weighted = SVC(gamma=0.5, tol=1e-10).fit(X, y, sample_weight=w)
    repeated = SVC(gamma=0.5, tol=1e-10).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-6, rtol=1e-6
    )


def test_hard_margin_is_that_of_a_quadratic_programme():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 2))
    s = np.sign(X @ [1.0, -2.0] + 0.3)
    X += 0.3 * s[:, None] * np.array([1.0, -2.0])
    model = SVC(C=np.inf, kernel="linear", tol=1e-8).fit(X, s)
    known = scipy.optimize.minimize(
        lambda v: 0.5 * v[:2] @ v[:2],
        np.r_[10.0 * np.array([1.0, -2.0]), 0.0],
        constraints={"type": "ineq", "fun": lambda v: s * (X @ v[:2] + v[2]) - 1.0},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    ).x
    assert_allclose(model.coef_[0], known[:2], rtol=1e-5)
    assert_allclose(model.intercept_, known[2], rtol=1e-4, atol=1e-5)
    assert_allclose(model.margin_, 1.0 / np.linalg.norm(known[:2]), rtol=1e-5)
    distance = s * model.decision_function(X) / np.linalg.norm(model.coef_)
    assert_allclose(distance.min(), model.margin_, rtol=1e-5)
    assert_allclose(distance[model.support_], model.margin_, rtol=1e-5)
    assert model.on_margin_.all()
    assert not model.at_bound_.any()
    assert model.certificate_ < 1e-5 * known[:2] @ known[:2]


def test_on_and_off_the_margin():
    X, y = sample(200)
    model = SVC(tol=1e-8).fit(X, y)
    margins = np.where(y > 0, 1, -1)[model.support_] * model.decision_function(X[model.support_])
    assert_allclose(margins[model.on_margin_], 1.0, atol=1e-6)
    assert (margins[model.at_bound_] <= 1.0 + 1e-6).all()
    assert_array_equal(model.on_margin_, ~model.at_bound_)
    assert_allclose(np.abs(model.dual_coef_[0][model.at_bound_]), 1.0)


@pytest.mark.parametrize("nu", [0.1, 0.3, 0.6])
def test_nu_bounds_errors_and_support_vectors(nu):
    X, y = sample(200)
    model = NuSVC(nu=nu, tol=1e-8).fit(X, y)
    margins = np.where(y > 0, 1, -1) * model.decision_function(X)
    assert np.mean(margins < 1.0 - 1e-6) <= nu
    assert len(model.support_) >= nu * len(y)


DUPLICATES = (np.repeat(np.eye(3), 4, axis=0), np.arange(12) % 2)
CONSTANT = (np.ones((20, 3)), np.arange(20) % 2)


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (DUPLICATES, {"C": 10.0}),
        (DUPLICATES, {"kernel": "linear", "C": 1e6}),
        (CONSTANT, {}),
        (CONSTANT, {"kernel": "linear"}),
        (sample(100), {"gamma": 0.0}),
        (sample(100), {"gamma": 1e12}),
        (sample(100), {"kernel": "sigmoid", "gamma": 3.0, "coef0": 2.0, "C": 1e3}),
        (sample(100), {"kernel": lambda A, B: -(A @ B.T)}),
        (sample(100), {"kernel": "poly", "degree": 0}),
        (sample(100), {"kernel": "poly", "degree": 7, "C": 1e4}),
        (sample(1500), {"kernel": "sigmoid", "gamma": 3.0, "C": 100.0}),
    ],
)
def test_awkward_problems_end_where_no_pair_gains(data, options):
    X, y = data
    others = {name: value for name, value in options.items() if name != "C"}
    for model in (SVC(**options), NuSVC(**others)):
        with ThreadPoolExecutor(1) as pool, np.errstate(over="raise"):
            pool.submit(model.fit, X, y).result(timeout=60)
        assert np.isfinite(model.decision_function(X)).all()
        assert model.kkt_residual_ <= 1e-3
        assert model.fit_status_ == 0


@pytest.mark.parametrize(
    "data", [DUPLICATES, CONSTANT, (np.arange(6.0)[:, None], np.array([0, 1, 0, 1, 0, 1]))]
)
def test_hard_margin_of_what_cannot_be_separated_is_refused(data):
    with pytest.raises(ValueError, match="cannot be separated"):
        SVC(C=np.inf, kernel="linear").fit(*data)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_equal_rows_of_two_classes_are_refused_before_anything_is_solved(kernel, monkeypatch):
    X, y = sample(500)
    X, y = np.vstack([X, X[:1]]), np.append(y, 1 - y[0])
    monkeypatch.setattr(SVC, "_begin", None)
    if kernel == "precomputed":
        X = np.einsum("ij,kj->ik", X, X)  # BLAS may round the products of equal rows differently
    with pytest.raises(ValueError, match="cannot be separated: a row of one"):
        SVC(C=np.inf, kernel=kernel).fit(X, y)


def hard_margin(gamma, **options):
    """A fit with C=inf of labels without rhyme or reason, and its rows; a minute at most."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 2)), rng.integers(0, 2, 500)
    with ThreadPoolExecutor(1) as pool:
        model = SVC(C=np.inf, gamma=gamma, **options)
        return pool.submit(lambda: model.fit(X, y)).result(timeout=60), X, y


def test_a_hard_margin_that_rounding_hides_is_refused():
    with pytest.raises(ValueError, match=r"cannot be separated by more than \d\.\de-06"):
        hard_margin(gamma=1.0)


def test_a_hard_margin_is_found_even_if_it_is_minute():
    """A margin of 9e-5, where φ(x) has the length 1: pair steps alone would need many millions."""
    model, X, y = hard_margin(gamma=10.0)
    s, f = np.where(y == 1, 1.0, -1.0), model.decision_function(X)
    assert (s * f).min() > 0.99
    assert model.kkt_residual_ <= model.tol
    assert model.fit_status_ == 0
    K = rbf_kernel(X[model.support_], gamma=10.0)
    length = np.sqrt(model.dual_coef_[0] @ K @ model.dual_coef_[0])
    assert length / np.abs(model.dual_coef_).sum() == pytest.approx(model.margin_, rel=1e-3)  # (2)


def test_a_hard_margin_that_steps_do_not_decide_is_not_called_inseparable():
    with pytest.warns(ConvergenceWarning, match=r"violated by .* > tol") as said:
        model, _, _ = hard_margin(gamma=10.0, max_iter=2000)
    assert f"{model.kkt_residual_:.1e}" in str(said[0].message)
    assert model.kkt_residual_ > model.tol
    assert model.fit_status_ == 1


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.0, 3.0))
def test_nearest_points_of_hulls_bound_their_distance(seed, shift):
    rng = np.random.default_rng(seed)
    X, s = rng.normal(size=(20, 3)), np.repeat([1.0, -1.0], [8, 12])
    X[s > 0.0] += shift
    steps = list(nearest_points(s[:, None] * s * (X @ X.T), s))
    above = np.sqrt(max(min(square for _, square, _ in steps), 0.0))
    for alpha, square, strip in steps:
        assert_allclose([alpha[:8].sum(), alpha[8:].sum()], 1.0, rtol=1e-9)
        assert (alpha >= 0.0).all()
        w = X.T @ (s * alpha)
        assert_allclose(square, w @ w, atol=1e-10)
        assert_allclose(strip, (X @ w)[:8].min() - (X @ w)[8:].max(), atol=1e-10)
        assert strip <= np.sqrt(max(square, 0.0)) * above + 1e-10
    assert square - max(strip, 0.0) <= 1e-8


@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_signs_by_single_precision_are_those_of_double(shift, monkeypatch):
    X, y = make_blobs(400, centers=3, n_features=4, cluster_std=4.0, random_state=0)
    model = SVC(C=10.0, decision_function_shape="ovo").fit(X + shift, y)
    support, coef, b = model._support, model._dual_coef_, model._intercept_
    near, far = X[y == 0][:40] + shift, X[y == 1][:40] + shift

    def score(rows):
        return support.scores(rows, coef, 3)[:, :1] + b[0]

    differ = (score(near) > 0.0) & (score(far) < 0.0)
    near, far = near[differ[:, 0]], far[differ[:, 0]]
    for _ in range(50):  # rows on the boundary, to the last digit
        middle = (near + far) / 2
        inside = score(middle) > 0.0
        near, far = np.where(inside, middle, near), np.where(inside, far, middle)
    rows = np.vstack([X + shift, near, far])
    monkeypatch.setattr("mlreplica.svm._scores.FEW", 0)
    expected = support.scores(rows, coef, 3) + b > 0.0
    np.testing.assert_array_equal(support.signs(rows, coef, b)[: len(X)], expected[: len(X)])
    computed = []
    exact = support.scores
    monkeypatch.setattr(support, "scores", lambda *a: computed.append(len(a[0])) or exact(*a))
    support.signs(rows, coef, b)
    assert len(near) + len(far) <= computed[0] < len(rows) // 2  # the boundary, not much more


def test_the_budget_is_kept_and_the_violation_told():
    X, y = sample(200)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=7\).*violated by .* > tol"):
        model = SVC(max_iter=7).fit(X, y)
    assert model.n_iter_.tolist() == [7]
    assert model.fit_status_ == 1
    assert model.kkt_residual_ > 1e-3


def test_warm_start_goes_on_from_the_last_solution():
    X, y = sample(400)
    model = SVC(C=1.0, warm_start=True).fit(X, y)
    first = model.n_iter_[0]
    assert model.fit(X, y).n_iter_[0] == 0
    again = model.set_params(C=1.3).fit(X, y)
    cold = SVC(C=1.3).fit(X, y)
    assert again.n_iter_[0] < min(first, cold.n_iter_[0])
    assert_allclose(again.decision_function(X), cold.decision_function(X), atol=5e-3)
    assert SVC(warm_start=True).fit(X, y).fit(X[:50], y[:50]).fit_status_ == 0


@pytest.mark.parametrize("factor", [0.25, 0.9, 1.0, 1.1, 8.0])
@pytest.mark.parametrize("free", [0, 5, 40])
def test_a_start_in_another_box_keeps_bounds_and_sum(factor, free):
    rng = np.random.default_rng(free)
    s, old = np.repeat([1.0, -1.0], 30), rng.uniform(0.5, 2.0, 60)
    old[30:] *= old[:30].sum() / old[30:].sum()  # all at their bounds: the sum is 0
    beta = s * old
    beta[rng.choice(30, free // 2, replace=False)] *= 0.5
    beta[30:] *= beta[:30].sum() / -beta[30:].sum()
    start = in_new_box(beta, old, factor * old)
    assert_allclose(start.sum(), 0.0, atol=1e-12)
    assert (np.abs(start) <= factor * old * (1 + 1e-15)).all()
    assert (start * s >= 0).all()
    if free == 0:
        assert_allclose(start, factor * beta, rtol=1e-12)


def test_callbacks_see_every_block_of_all_machines():
    X, y = make_classification(
        1300, 4, n_informative=3, n_redundant=0, n_clusters_per_class=1, n_classes=3, random_state=0
    )
    trace = Trace()
    model = SVC().set_callbacks(trace).fit(X, y)
    plain = SVC().fit(X, y)
    assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-9)
    assert len(trace.states) >= 2
    assert trace.states[-1]["gap"] == pytest.approx(model.certificate_)
    assert trace.states[-1]["violation"] == pytest.approx(model.kkt_residual_)
    assert all(a["dual"] <= b["dual"] for a, b in zip(trace.states, trace.states[1:], strict=False))


@pytest.mark.parametrize("C", [1.0, 1e4])
def test_one_block_is_watched_pair_by_pair_and_ends_as_unwatched(C):
    X, y = sample(100)
    trace, plain = Trace(), SVC(C=C).fit(X, y)
    model = SVC(C=C).set_callbacks(trace).fit(X, y)
    assert model.n_iter_.tolist() == plain.n_iter_.tolist()
    assert_allclose(model.decision_function(X), plain.decision_function(X), rtol=1e-9)
    pairs = [state["pairs"] for state in trace.states]
    assert pairs[:8] == list(range(8))
    assert pairs[-1] == plain.n_iter_[0]
    assert len(pairs) < 100
    assert all(a["dual"] <= b["dual"] for a, b in zip(trace.states, trace.states[1:], strict=False))


@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
@pytest.mark.parametrize("load", [load_iris, lambda **_: sample(200)])
def test_probabilities_are_close_to_scikit_learn(load):
    X, y = load(return_X_y=True)
    ours = SVC(probability=True, random_state=0).fit(X, y)
    theirs = sklearn.svm.SVC(probability=True, random_state=0).fit(X, y)
    p = ours.predict_proba(X)
    assert_allclose(p.sum(axis=1), 1.0)
    assert np.abs(p - theirs.predict_proba(X)).mean() < 0.05
    assert_allclose(ours.predict_log_proba(X), np.log(p))
    again = SVC(probability=True, random_state=0).fit(X, y)
    assert_array_equal(p, again.predict_proba(X))


@pytest.mark.parametrize("kernel", KERNELS[:3], ids=lambda k: k["kernel"])
def test_signs_in_single_precision_are_those_of_double(kernel):
    X, y = sample(1500, seed=1)
    model = SVC(C=100.0, tol=1e-2, **kernel).fit(X, y)
    rng = np.random.default_rng(0)
    new = rng.normal(size=(4000, 3))
    a, b = (X[model.predict(X) == c][0] for c in (0, 1))
    for _ in range(60):  # to where the decision changes
        middle = 0.5 * (a + b)
        a, b = (middle, b) if model.decision_function([middle])[0] < 0.0 else (a, middle)
    new[:100] = a + 1e-10 * rng.normal(size=(100, 3))  # single precision cannot tell
    assert len(np.unique(model.predict(new[:100]))) == 2
    assert_array_equal(model.predict(new), (model.decision_function(new) > 0.0).astype(int))


def test_copies_and_threads_give_the_same_model():
    X, y = sample(1500)
    model = SVC().fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert_array_equal(copy.decision_function(X), model.decision_function(X))
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda _: SVC().fit(X, y).dual_coef_, range(3)))
    for coef in found:
        assert_array_equal(coef, model.dual_coef_)


def test_a_warning_if_columns_are_not_on_one_scale():
    X, y = sample(50)
    with pytest.warns(UserWarning, match="column 2 varies .* times as much as column"):
        SVC().fit(X * [1.0, 1.0, 1e6], y)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"C": -1.0}, ValueError, "'C' parameter"),
        ({"kernel": "nope"}, ValueError, "'kernel' parameter"),
        ({"solver": "nope"}, ValueError, "'solver' parameter"),
        ({"y": np.zeros(20)}, ValueError, "number of classes has to be greater than one"),
        ({"y": np.linspace(0, 1, 20)}, ValueError, "Unknown label type"),
        ({"sample_weight": np.zeros(20)}, ValueError, "zero or negative weights"),
        ({"sample_weight": np.arange(20) % 2}, ValueError, "belong to the same class"),
        ({"sample_weight": np.ones(3)}, ValueError, "incompatible shapes"),
        ({"kernel": "precomputed"}, ValueError, "square matrix"),
        ({"X": np.full((20, 2), np.nan)}, ValueError, "NaN"),
    ],
)
def test_bad_input_is_named(change, error, message):
    fit = {"X": np.random.default_rng(0).normal(size=(20, 2)), "y": np.arange(20) % 2}
    fit |= {k: v for k, v in change.items() if k in ("X", "y", "sample_weight")}
    options = {k: v for k, v in change.items() if k not in fit}
    with pytest.raises(error, match=message):
        SVC(**options).fit(**fit)


def test_nu_too_large_for_the_smaller_class_is_refused():
    X, _ = sample(40)
    with pytest.raises(ValueError, match="nu is infeasible"):
        NuSVC(nu=0.9).fit(X[:30], np.arange(30) < 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", [kernels.RBF(0.4), kernels.Linear(), kernels.Precomputed()])
def test_rows_are_those_of_the_matrix_however_few_are_kept(dtype, kernel):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    K = kernel(X) if not isinstance(kernel, kernels.Precomputed) else X @ X.T
    X = K if isinstance(kernel, kernels.Precomputed) else X
    rows = KernelRows(kernel, X, cache_size=0.003, least=12, dtype=dtype)
    for _ in range(20):
        asked = rng.permutation(50)[:12]
        square, slots = rows.square(asked)
        square[slots >= 0] = rows.kept[slots[slots >= 0]][:, asked]
        assert_allclose(square, K[asked][:, asked], rtol=2e-5, atol=2e-6)
        assert_allclose(rows.kept[rows.fetch(asked)], K[asked], rtol=2e-5, atol=2e-6)
    keep = np.flatnonzero(rng.random(50) < 0.5)
    rows.drop(keep)
    for _ in range(5):
        asked = rng.permutation(50)[:12]
        assert_allclose(rows.kept[rows.fetch(asked)], K[asked][:, keep], rtol=2e-5, atol=2e-6)
    beta = rng.normal(size=50) * (rng.random(50) < 0.5)
    assert_allclose(rows.times(beta), K @ beta, rtol=1e-10, atol=1e-10)


def test_two_sums_are_both_kept():
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(30, 2)), np.arange(30) % 2
    beta = np.full(30, 0.3)
    P = problem(rng.normal(size=30), np.zeros(30), np.ones(30), group=group)
    *_, state = smo(KernelRows(kernels.RBF(1.0), X), P, beta, tol=1e-10)
    for g in (0, 1):
        assert_allclose(state.beta[group == g].sum(), 4.5)
    assert state.gap < 1e-8
    assert len(state.b) == 2
