"""Scalers: weights are repetitions, batches merge, and scikit-learn agrees"""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.preprocessing as theirs
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks

import mlreplica.preprocessing as ours
from mlreplica.preprocessing._columns import ColumnMoments, plain_moments

ALL = [
    ours.StandardScaler(),
    ours.MinMaxScaler(),
    ours.MaxAbsScaler(),
    ours.RobustScaler(),
    ours.Normalizer(),
    ours.QuantileTransformer(n_quantiles=5),
    ours.PowerTransformer(),
    ours.Winsorizer(),
    ours.Winsorizer("iqr"),
    ours.Binarizer(),
    ours.KernelCenterer(),
    ours.FunctionTransformer(),
    ours.PolynomialFeatures(),
    ours.SplineTransformer(),
    ours.SplineTransformer(extrapolation="natural"),
    ours.KBinsDiscretizer(n_bins=3),
    ours.KBinsDiscretizer(n_bins=3, strategy="tree"),
]
WEIGHTED = [
    ours.StandardScaler(),
    ours.RobustScaler(),
    ours.Winsorizer(quantiles=(0.1, 0.9)),
    ours.QuantileTransformer(n_quantiles=5),
    ours.PowerTransformer(),
    ours.KBinsDiscretizer(n_bins=3, encode="ordinal"),
    ours.KBinsDiscretizer(n_bins=3, encode="ordinal", strategy="kmeans"),
    ours.SplineTransformer(n_knots=3, knots="quantile"),
]
NAMED = dict.fromkeys(["StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"])


def table(seed=0, n=60, p=4, gaps=False):
    X = np.random.default_rng(seed).gamma(2.0, size=(n, p)) + 0.01
    if gaps:
        X[np.random.default_rng(seed + 1).random(X.shape) < 0.15] = np.nan
    return X


@pytest.mark.parametrize("model", WEIGHTED, ids=str)
def test_weight_counts_repetitions(model):
    X, w = table(3), np.random.default_rng(4).integers(0, 4, 60)
    if isinstance(model, ours.SplineTransformer):  # unweighted knots interpolate, as scikit-learn's
        repeated = model.fit(np.repeat(X, w, axis=0), sample_weight=np.ones(w.sum()))
    else:
        repeated = model.fit(np.repeat(X, w, axis=0))
    expected = repeated.transform(X)
    assert_allclose(model.fit(X, sample_weight=w).transform(X), expected, rtol=1e-6, atol=1e-9)


@given(seed=st.integers(0, 10_000), cut=st.integers(1, 59), gaps=st.booleans())
def test_batches_merge_to_the_whole(seed, cut, gaps):
    X = table(seed, gaps=gaps)
    for name in ("StandardScaler", "MinMaxScaler", "MaxAbsScaler"):
        whole = getattr(ours, name)().fit(X)
        parts = getattr(ours, name)().partial_fit(X[:cut]).partial_fit(X[cut:])
        assert_allclose(parts.scale_, whole.scale_, rtol=1e-12)
        assert_array_equal(parts.n_samples_seen_, whole.n_samples_seen_)


@given(seed=st.integers(0, 10_000), offset=st.sampled_from([0.0, 1e3, 1e8, -1e12]))
def test_moments_agree_with_exact_sums(seed, offset):
    X = np.random.default_rng(seed).normal(size=(5000, 3)) + offset
    m = plain_moments(X)
    exact = X.astype(np.longdouble)
    assert_allclose(m.mean, exact.mean(axis=0).astype(float), rtol=1e-15, atol=1e-15)
    assert_allclose(m.variance(), exact.var(axis=0).astype(float), rtol=1e-9)


def test_moments_of_blocks_equal_the_naive_ones():
    X, w = table(1, 7000, 5, gaps=True), np.random.default_rng(0).random(7000)
    there = ~np.isnan(X)
    n = w @ there
    mean = w @ np.where(there, X, 0) / n
    var = w @ np.where(there, X - mean, 0) ** 2 / n
    m = ColumnMoments.of(X, w)
    assert_allclose(m.n, n, rtol=1e-12)
    assert_allclose(m.mean, mean, rtol=1e-12)
    assert_allclose(m.variance(), var, rtol=1e-12)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n", [50, 3001])
@pytest.mark.parametrize("name", NAMED)
def test_agrees_with_scikit_learn(name, n, order, dtype, gaps):
    X = np.asarray(table(2, n, 5, gaps), dtype=dtype, order=order)
    mine, reference = (getattr(module, name)().fit(X) for module in (ours, theirs))
    rtol = 1e-9 if dtype == np.float64 else 2e-4
    Z, expected = mine.transform(X), reference.transform(X)
    assert Z.dtype == expected.dtype == dtype
    assert_allclose(Z, expected, rtol=rtol, atol=rtol)
    assert_allclose(mine.inverse_transform(Z), X, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("StandardScaler", {"with_mean": False}),
        ("MaxAbsScaler", {}),
        ("RobustScaler", {"with_centering": False}),
        ("Normalizer", {}),
        ("Normalizer", {"norm": "max"}),
        ("Binarizer", {"threshold": 0.3}),
        ("QuantileTransformer", {"n_quantiles": 20}),
        ("QuantileTransformer", {"n_quantiles": 20, "ignore_implicit_zeros": True}),
    ],
)
def test_sparse_rows_agree_with_scikit_learn(name, options, form):
    X = sp.random_array((80, 6), density=0.6, rng=0, format=form)
    mine, reference = (getattr(module, name)(**options).fit(X) for module in (ours, theirs))
    Z = mine.transform(X)
    assert sp.issparse(Z)
    assert_allclose(Z.toarray(), reference.transform(X).toarray(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("output", ["uniform", "normal"])
@pytest.mark.parametrize("ties", [False, True])
def test_quantile_transformer_agrees_with_scikit_learn(output, ties):
    X = table(5, 800, 3, gaps=True)
    X = np.round(X, 1) if ties else X
    options = {"n_quantiles": 50, "output_distribution": output}
    mine, reference = (m.QuantileTransformer(**options).fit(X) for m in (ours, theirs))
    assert_allclose(mine.quantiles_, reference.quantiles_, rtol=1e-12)
    Z = mine.transform(X)
    assert_allclose(Z, reference.transform(X), rtol=1e-7, atol=1e-9)
    assert_allclose(mine.inverse_transform(Z), reference.inverse_transform(Z), rtol=1e-7)


@given(seed=st.integers(0, 10_000), method=st.sampled_from(["box-cox", "yeo-johnson"]))
def test_no_other_power_is_more_likely(seed, method):
    from mlreplica.preprocessing import _power

    x = table(seed, 40, 1)[:, 0] - (0.0 if method == "box-cox" else 1.5)
    f = _power.box_cox if method == "box-cox" else _power.yeo_johnson
    sign = np.log(x) if method == "box-cox" else np.sign(x) * np.log1p(np.abs(x))

    def likelihood(lam):
        return -0.5 * np.log(np.var(f(x, lam))) + (lam - 1) * sign.mean()

    best = ours.PowerTransformer(method).fit(x[:, None]).lambdas_[0]
    others = best + np.array([-0.5, -0.01, -1e-4, 1e-4, 0.01, 0.5])
    assert all(likelihood(best) >= likelihood(lam) - 1e-12 for lam in others)


@pytest.mark.parametrize("method", ["box-cox", "yeo-johnson"])
def test_power_transformer_agrees_with_scikit_learn(method):
    X = table(6, 300, 3, gaps=True)
    mine, reference = (m.PowerTransformer(method).fit(X) for m in (ours, theirs))
    assert_allclose(mine.lambdas_, reference.lambdas_, rtol=1e-5)
    assert_allclose(mine.transform(X), reference.transform(X), rtol=1e-5, atol=1e-6)
    assert_allclose(mine.inverse_transform(mine.transform(X)), X, rtol=1e-7)


def test_winsorizer_reports_what_it_cuts():
    X = np.r_[np.arange(99.0), 1000.0][:, None]
    model = ours.Winsorizer(quantiles=(0.05, 0.95)).fit(X)
    assert_allclose([model.lower_[0], model.upper_[0]], np.quantile(X, [0.05, 0.95]))
    assert_allclose(model.clipped_.ravel(), [0.05, 0.05])
    Z = model.transform(X)
    assert [Z.min(), Z.max()] == [model.lower_[0], model.upper_[0]]


@pytest.mark.parametrize("name", NAMED)
def test_infinity_is_refused_and_x_is_left_as_it_was(name):
    X = table()
    model = getattr(ours, name)(copy=False).fit(X)
    bad = X.copy()
    bad[3, 1] = np.inf
    before = bad.copy()
    with pytest.raises(ValueError, match="infinity"):
        model.transform(bad)
    assert_array_equal(bad, before)


def test_frames_go_in_and_out():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(table(), columns=list("abcd"))
    Z = ours.StandardScaler().set_output(transform="pandas").fit_transform(frame)
    assert list(Z.columns) == list("abcd")
    assert_allclose(Z.to_numpy(), theirs.StandardScaler().fit_transform(frame), rtol=1e-12)


@pytest.mark.parametrize("call", ["scale", "minmax_scale", "maxabs_scale", "robust_scale"])
@pytest.mark.parametrize("axis", [0, 1])
def test_functions_agree_with_scikit_learn(call, axis):
    X = table(7)
    found, expected = (getattr(m, call)(X, axis=axis) for m in (ours, theirs))
    assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert_allclose(X, table(7))


@pytest.mark.filterwarnings("ignore:Bins whose width", "ignore:n_quantiles")
@parametrize_with_checks(ALL)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
