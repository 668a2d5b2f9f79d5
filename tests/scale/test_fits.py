"""Fits on blocks give the model of memory, however the rows are cut."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from mlreplica.cluster import KMeans, MiniBatchKMeans
from mlreplica.covariance import OAS, EmpiricalCovariance, LedoitWolf, ShrunkCovariance
from mlreplica.decomposition import PCA, IncrementalPCA
from mlreplica.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from mlreplica.linear_model import (
    ElasticNet,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    SGDClassifier,
    SGDRegressor,
)
from mlreplica.mixture import GaussianMixture
from mlreplica.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from mlreplica.preprocessing import MaxAbsScaler, MinMaxScaler, PowerTransformer, StandardScaler
from mlreplica.scale import Rows, _sample
from mlreplica.svm import SVC

N, P = 90, 4
rng = np.random.default_rng(5)
X = rng.normal(size=(N, P)) @ rng.normal(size=(P, P)) + 3.0
NUMBER = X @ rng.normal(size=P) + rng.normal(size=N)
NUMBERS = np.column_stack([NUMBER, X[:, 0] ** 2])
COUNT = rng.poisson(np.exp(0.2 * (X - X.mean(axis=0))[:, 0]))
CLASS = np.array(["ant", "bee", "cow"])[np.argmax(X[:, :3] + rng.normal(size=(N, 3)), axis=1)]
PAIR = (np.median(NUMBER) < NUMBER).astype(int)
S = rng.integers(0, 4, N).astype(float)

EXACT = [
    (LinearRegression(), NUMBER),
    (LinearRegression(), NUMBERS),
    (LinearRegression(fit_intercept=False), NUMBER),
    (LinearRegression(positive=True), NUMBER),
    (LinearRegression(solver="svd"), NUMBER),
    (Ridge(0.7), NUMBER),
    (Ridge(0.7, fit_intercept=False), NUMBERS),
    (Lasso(0.05, tol=1e-14), NUMBER),
    (ElasticNet(0.1, tol=1e-14), NUMBER),
    (PCA(), None),
    (PCA(2, svd_solver="full"), None),
    (EmpiricalCovariance(), None),
    (EmpiricalCovariance(assume_centered=True), None),
    (ShrunkCovariance(), None),
    (OAS(), None),
    (LinearDiscriminantAnalysis(), CLASS),
    (LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.2), CLASS),
    (QuadraticDiscriminantAnalysis(), CLASS),
    (LogisticRegression(tol=1e-10), PAIR),
    (LogisticRegression(tol=1e-10, fit_intercept=False, C=3.0), CLASS),
    (LogisticRegression(tol=1e-10, class_weight="balanced"), CLASS),
    (PoissonRegressor(tol=1e-9), COUNT),
    (PoissonRegressor(tol=1e-9, alpha=0.1, fit_intercept=False), COUNT),
    (HuberRegressor(tol=1e-9), NUMBER),
    (KMeans(3, random_state=0), None),
    (KMeans(3, init=X[[3, 40, 41]], tol=0.0), None),
    (GaussianMixture(2, random_state=0), None),
    (GaussianMixture(2, covariance_type="tied", random_state=0), None),
    (GaussianMixture(2, covariance_type="diag", random_state=1), None),
    (GaussianNB(), CLASS),
    (BernoulliNB(), CLASS),
    (StandardScaler(), None),
]
UNWEIGHTED = [(MinMaxScaler(), None), (MaxAbsScaler(), None), (IncrementalPCA(), None)]
LEARNT = [
    "coef_",
    "intercept_",
    "rank_",
    "singular_",
    "scale_",
    "mean_",
    "var_",
    "components_",
    "explained_variance_",
    "singular_values_",
    "noise_variance_",
    "location_",
    "covariance_",
    "precision_",
    "shrinkage_",
    "means_",
    "priors_",
    "covariances_",
    "weights_",
    "lower_bound_",
    "cluster_centers_",
    "inertia_",
    "n_iter_",
    "classes_",
    "theta_",
    "class_count_",
    "feature_log_prob_",
    "n_samples_seen_",
    "data_min_",
    "data_max_",
    "max_abs_",
    "n_samples_",
    "n_features_in_",
    "xbar_",
]


def cut(at, y=None, s=None):
    """Rows in blocks that begin at `at`."""
    bounds = [0, *sorted(at), N]
    arrays = (
        X,
        *((y,) if y is not None or s is not None else ()),
        *((s,) if s is not None else ()),
    )

    def blocks():
        for start, stop in pairwise(bounds):
            yield tuple(None if a is None else a[start:stop] for a in arrays)

    return Rows.from_iter(blocks)


def assert_same(found, wanted, rtol=1e-10):
    checked = 0
    for name in LEARNT:
        if not hasattr(wanted, name) or getattr(wanted, name) is None:
            continue
        if name == "n_iter_" and not isinstance(wanted, KMeans | GaussianMixture):
            continue  # another solver may have been faster
        a, b = np.asarray(getattr(found, name)), np.asarray(getattr(wanted, name))
        assert a.shape == b.shape, name
        if b.dtype.kind in "US":
            np.testing.assert_array_equal(a, b, err_msg=name)
        else:
            size = np.abs(b).max(initial=1e-300)
            np.testing.assert_allclose(a, b, rtol=0, atol=rtol * size, err_msg=name)
        checked += 1
    assert checked > 1


cuts = st.one_of(
    st.lists(st.integers(0, N), max_size=6),
    st.just(list(range(1, N))),  # one row a block
    st.just([0, 0, 30, 30, N]),  # empty blocks
)


@pytest.mark.parametrize(("model", "y"), EXACT + UNWEIGHTED, ids=lambda a: str(a)[:60])
@settings(max_examples=6)
@given(at=cuts)
def test_blocks_give_the_model_of_memory(model, y, at):
    if isinstance(model, IncrementalPCA):
        at = [20, 50]  # a batch has more rows than components
    whole = clone(model).fit(X, *([] if y is None else [y]))
    assert_same(clone(model).fit(cut(at, y)), whole)


@pytest.mark.parametrize(("model", "y"), EXACT, ids=lambda a: str(a)[:60])
def test_weights_count_rows(model, y):
    whole = clone(model).fit(X, *([] if y is None else [y]), sample_weight=S)
    assert_same(clone(model).fit(cut([1, 2, 50], y, S)), whole)


@given(at=cuts)
@settings(max_examples=5)
def test_least_squares_keeps_digits_that_normal_equations_lose(at):
    """Condition 1e8, and columns a million deviations from zero."""
    generator = np.random.default_rng(0)
    U = np.linalg.qr(generator.normal(size=(N, 3)))[0]
    A = U * [1.0, 1e-4, 1e-8] @ np.linalg.qr(generator.normal(size=(3, 3)))[0]
    y = A @ [1.0, -2.0, 3.0] + 1e-12 * generator.normal(size=N)
    bounds = [0, *sorted(at), N]
    pairs = list(pairwise(bounds))
    rows = Rows.from_iter(lambda: ((A[a:b], y[a:b]) for a, b in pairs))
    found = LinearRegression(fit_intercept=False).fit(rows).coef_
    wanted = LinearRegression(fit_intercept=False).fit(A, y).coef_
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    gram = np.linalg.solve(A.T @ A, A.T @ y)
    assert np.abs(gram - wanted).max() > 1e3 * np.abs(found - wanted).max()
    far = A[:, :1] * 1e2 + 1e6
    rows = Rows.from_iter(lambda: ((far[a:b], y[a:b]) for a, b in pairs))
    np.testing.assert_allclose(
        LinearRegression().fit(rows).coef_, LinearRegression().fit(far, y).coef_, rtol=1e-8
    )


def test_few_rows_and_constant_columns():
    few = Rows.from_iter(lambda: iter([(X[:2], NUMBER[:2]), (X[2:3], NUMBER[2:3])]))
    assert_same(LinearRegression().fit(few), LinearRegression().fit(X[:3], NUMBER[:3]))
    flat = np.column_stack([X, np.full(N, 1e5 / 3)])
    rows = Rows.from_iter(lambda: iter([(flat[:40], NUMBER[:40]), (flat[40:], NUMBER[40:])]))
    found, wanted = LinearRegression().fit(rows), LinearRegression().fit(flat, NUMBER)
    assert_same(found, wanted)
    assert found.rank_ == P


def test_a_cluster_without_rows_gets_the_farthest_row():
    init = np.vstack([X[:2], X[:1] + 1e3])
    model = KMeans(3, init=init, n_init=1)
    assert_same(clone(model).fit(cut([7, 60])), clone(model).fit(X))


def test_a_start_from_a_sample_ends_at_the_same_minimum(monkeypatch):
    monkeypatch.setattr(_sample, "SAMPLE", 25)
    for model, y in [(LogisticRegression(tol=1e-10), PAIR), (LogisticRegression(tol=1e-10), CLASS)]:
        assert_same(clone(model).fit(cut([7, 60], y)), clone(model).fit(X, y))
    model = KMeans(3, random_state=0).fit(cut([7, 60]))
    assert model.inertia_ < 1.5 * KMeans(3, random_state=0).fit(X).inertia_


def test_streams_are_batches_in_their_order():
    at = [20, 50, 71]
    bounds = [0, *at, N]
    for model, y, classes in [
        (SGDClassifier(random_state=0), CLASS, True),
        (SGDRegressor(random_state=0), NUMBER, False),
        (MiniBatchKMeans(3, random_state=0), None, False),
    ]:
        wanted = clone(model)
        for k, (a, b) in enumerate(pairwise(bounds)):
            first = {"classes": np.unique(CLASS)} if classes and k == 0 else {}
            wanted.partial_fit(X[a:b], *([] if y is None else [y[a:b]]), **first)
        assert_same(clone(model).fit(cut(at, y)), wanted)
        again = clone(model).partial_fit(cut(at, y)).partial_fit(cut(at, y))
        assert not np.allclose(
            getattr(again, "coef_", getattr(again, "cluster_centers_", 0)),
            getattr(wanted, "coef_", getattr(wanted, "cluster_centers_", 0)),
        )
    counts = Rows.from_iter(
        lambda: iter([(np.abs(X[:30]), CLASS[:30]), (np.abs(X[30:]), CLASS[30:])])
    )
    assert_same(MultinomialNB().fit(counts), MultinomialNB().fit(np.abs(X), CLASS))


def test_answers_come_block_by_block():
    rows, model = cut([5, 5, 40], NUMBER), LinearRegression().fit(X, NUMBER)
    answers = model.predict(rows)
    assert iter(answers) is answers
    parts = list(answers)
    assert [len(part) for part in parts] == [5, 35, 50]
    np.testing.assert_array_equal(np.concatenate(parts), model.predict(X))
    proba = LogisticRegression().fit(X, CLASS)
    np.testing.assert_allclose(
        np.concatenate(list(proba.predict_proba(rows))), proba.predict_proba(X), rtol=1e-12
    )
    scaled = StandardScaler().fit(rows).transform(rows)
    assert isinstance(scaled, Rows)
    np.testing.assert_allclose(scaled.gathered().X.std(axis=0), 1.0, rtol=1e-12)


@pytest.mark.parametrize(
    ("model", "y", "s"),
    [
        (LinearRegression(), NUMBER, None),
        (LinearRegression(), NUMBERS, S),
        (LogisticRegression(), CLASS, None),
        (LogisticRegression(), CLASS, S),
    ],
)
def test_score(model, y, s):
    model.fit(X, y)
    np.testing.assert_allclose(
        model.score(cut([3, 50], y, s)), model.score(X, y, sample_weight=s), rtol=1e-12
    )


@pytest.mark.parametrize(
    ("model", "s"),
    [
        (KMeans(3, random_state=0), S),
        (GaussianMixture(2, random_state=0), None),
        (PCA(2), None),
    ],
    ids=lambda a: str(a)[:30],
)
def test_score_without_targets(model, s):
    model.fit(X)
    weight = {} if s is None else {"sample_weight": s}
    found = model.score(cut([3, 50], None, s))
    np.testing.assert_allclose(found, model.score(X, **weight), rtol=1e-12)


def test_pipelines():
    model = make_pipeline(StandardScaler(), PCA(3), Ridge(0.1))
    whole = clone(model).fit(X, NUMBER)
    found = model.fit(cut([30, 31], NUMBER))
    np.testing.assert_allclose(found[-1].coef_, whole[-1].coef_, rtol=1e-9)
    np.testing.assert_allclose(
        np.concatenate(list(found.predict(cut([8])))), whole.predict(X), rtol=1e-9
    )


def test_what_cannot_be_done_says_what_can():
    for model, message in [
        (SVC(), "SVC needs all rows in memory at once.*Nystroem.*LinearRegression"),
        (LedoitWolf(), "LedoitWolf needs all rows.*EmpiricalCovariance"),
        (PowerTransformer(), "PowerTransformer needs all rows.*StandardScaler"),
    ]:
        with pytest.raises(TypeError, match=message):
            model.fit(cut([4], PAIR))
    for model, y, message in [
        (LogisticRegression(l1_ratio=1.0, solver="saga"), PAIR, "an L1 penalty.*SGDClassifier"),
        (Ridge(penalize_intercept=True), NUMBER, "penalize_intercept=True needs"),
        (LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"), CLASS, "as a number"),
        (LinearRegression(), None, "block 0: no targets: name them"),
        (LogisticRegression(), NUMBER, "block 0: Unknown label type"),
        (PoissonRegressor(), -NUMBER, "block 0: Some value"),
        (LogisticRegression(), np.zeros(N, dtype=int), "at least 2 classes"),
        (KMeans(100), None, "n_samples=90"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.fit(cut([4], y))
    with pytest.raises(TypeError, match="targets and weights are part of them"):
        LinearRegression().fit(cut([4], NUMBER), NUMBER)
    with pytest.raises(ValueError, match="all sample_weight are zero"):
        LinearRegression().fit(cut([4], NUMBER, 0 * S))
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        LinearRegression().fit(Rows.from_iter(lambda: iter([(X[:0], NUMBER[:0])])))
    gap = X.copy()
    gap[50, 2] = np.nan
    for model in (LinearRegression(), LogisticRegression(), GaussianNB()):
        rows = Rows.from_iter(lambda: iter([(X[:40], PAIR[:40]), (gap[40:], PAIR[40:])]))
        with pytest.raises(ValueError, match=r"block 1: .*NaN"):
            model.fit(rows)


def test_names_of_columns_are_kept_and_compared(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=NUMBER)
    frame.to_parquet(tmp_path / "t.parquet")
    rows = Rows.from_parquet(tmp_path / "t.parquet", target="y")
    model = LinearRegression().fit(rows)
    assert list(model.feature_names_in_) == list("abcd")
    wanted = model.predict(frame[list("abcd")])
    np.testing.assert_allclose(next(model.predict(rows)), wanted, rtol=1e-12)
    other = Rows.from_parquet(tmp_path / "t.parquet", columns=list("abdc"))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(other)


def test_methods_are_untouched_until_blocks_are_there_and_after():
    from mlreplica import scale

    scale.uninstall()
    plain = vars(LinearRegression)["fit"]
    assert not hasattr(plain, "takes_blocks")
    assert "score" not in vars(LinearRegression)
    scale.install()
    assert vars(LinearRegression)["fit"].__wrapped__ is plain
    scale.install()
    assert vars(LinearRegression)["fit"].__wrapped__ is plain
    scale.uninstall()
    assert vars(LinearRegression)["fit"] is plain
    assert "score" not in vars(LinearRegression)
