"""Scalers, imputers and encoders learn from blocks what they learn in memory."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from mlreplica.impute import SimpleImputer
from mlreplica.linear_model import Ridge
from mlreplica.preprocessing import (
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from mlreplica.scale import Rows
from mlreplica.scale._columns import floats_of, keys_of

N, P = 90, 5
rng = np.random.default_rng(8)
X = rng.standard_t(1, size=(N, P)) * [1.0, 1e-300, 1e200, 3.0, 1.0]
X[:, 3] = rng.integers(-2, 3, N)
GAPS = np.where(rng.random((N, P)) < 0.2, np.nan, X)
GAPS[:, 4] = np.nan
WHOLE = rng.integers(0, 4, (N, P)).astype(float)
NUMBER = rng.normal(size=N)
S = rng.integers(0, 4, N).astype(float)

MODELS = [
    (RobustScaler(), X, None),
    (RobustScaler(quantile_range=(0.0, 90.0), unit_variance=False), GAPS[:, :4], S),
    (RobustScaler(with_centering=False, unit_variance=True), WHOLE, S),
    (QuantileTransformer(n_quantiles=10, random_state=0), GAPS[:, :4], None),
    (QuantileTransformer(n_quantiles=10, subsample=20, random_state=3), X, None),
    (SimpleImputer(add_indicator=True), GAPS, None),
    (SimpleImputer(keep_empty_features=True), GAPS, S),
    (SimpleImputer(missing_values=0.0), WHOLE, S),
    (SimpleImputer(strategy="median"), GAPS, None),
    (SimpleImputer(strategy="median", missing_values=1.0), WHOLE, None),
    (SimpleImputer(strategy="most_frequent"), GAPS, S),
    (SimpleImputer(strategy="constant", fill_value=7.0), GAPS, None),
    (OneHotEncoder(handle_unknown="ignore"), WHOLE, None),
    (OneHotEncoder(drop="first", sparse_output=False), GAPS[:, 3:], None),
    (OrdinalEncoder(), GAPS[:, 2:], None),
]
cuts = st.one_of(
    st.lists(st.integers(0, N), max_size=6),
    st.just(list(range(1, N))),  # one row a block
    st.just([0, 0, 30, 30, N]),  # empty blocks
)


def cut(at, A, s=None, y=None):
    """Rows in blocks that begin at `at`."""
    pairs = list(pairwise([0, *sorted(at), N]))
    return Rows.from_iter(
        lambda: ((A[a:b], *(None if c is None else c[a:b] for c in (y, s))) for a, b in pairs)
    )


def as_array(A):
    return A.toarray() if hasattr(A, "toarray") else A


@pytest.mark.filterwarnings("ignore:Skipping features")
@pytest.mark.parametrize(("model", "A", "s"), MODELS, ids=lambda a: str(a)[:50])
@given(at=cuts)
@settings(max_examples=4)
def test_blocks_give_the_transformer_of_memory(model, A, s, at):
    weight = {} if s is None else {"sample_weight": s}
    wanted = clone(model).fit(A, **weight)
    found = clone(model).fit(cut(at, A, s))
    np.testing.assert_allclose(
        as_array(found.transform(A)), as_array(wanted.transform(A)), rtol=1e-12, atol=1e-14
    )
    assert found.n_features_in_ == A.shape[1]
    assert list(found.get_feature_names_out()) == list(wanted.get_feature_names_out())


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 40), st.just(2)),
        elements=st.floats(-1e300, 1e300) | st.sampled_from([np.nan, 0.0, -0.0, 1.0]),
    )
)
@settings(max_examples=20)
def test_digits_find_the_quantiles_exactly(A):
    order = np.argsort(A[:, 0], kind="stable")
    there = ~np.isnan(A[:, 0])
    assert (np.diff(keys_of(A[order, 0])[: there.sum()].astype(object)) >= 0).all()
    np.testing.assert_array_equal(floats_of(keys_of(A[there, 0])), A[there, 0])
    rows = Rows.from_iter(lambda: iter(np.array_split(A, 3)))
    found, wanted = RobustScaler().fit(rows), RobustScaler().fit(A)
    np.testing.assert_array_equal(found.center_, wanted.center_)
    np.testing.assert_array_equal(found.scale_, wanted.scale_)


def test_pipeline():
    A = np.where(np.isnan(GAPS), np.nan, np.arctan(X))[:, :4]
    model = make_pipeline(
        SimpleImputer(strategy="median"), RobustScaler(), StandardScaler(), Ridge()
    )
    wanted = clone(model).fit(A, NUMBER)
    found = model.fit(cut([4, 50], A, y=NUMBER))
    np.testing.assert_allclose(found[-1].coef_, wanted[-1].coef_, rtol=1e-9)


def test_partitions_of_dask():
    da = pytest.importorskip("dask.array")
    lazy = da.from_array(X, chunks=((1, 50, 39), 2))
    for model in (
        RobustScaler(),
        QuantileTransformer(n_quantiles=10, subsample=20, random_state=3),
    ):
        np.testing.assert_array_equal(
            clone(model).fit(lazy).transform(lazy).compute(), clone(model).fit_transform(X)
        )


@pytest.mark.parametrize(
    ("model", "s", "message"),
    [
        (QuantileTransformer(subsample=None), None, "subsample=None needs all rows"),
        (QuantileTransformer(), S, "without sample_weight"),
        (SimpleImputer(strategy="median"), S, "without sample_weight"),
        (SimpleImputer(strategy=np.ptp), None, "a function as strategy"),
        (SimpleImputer(missing_values=1.0), None, "block 1: X has NaN"),
        (OneHotEncoder(max_categories=2), None, "max_categories need all rows"),
        (RobustScaler(), None, "block 1: X has infinity in row 1"),
    ],
    ids=lambda a: str(a)[:30],
)
def test_messages(model, s, message):
    A = X.copy()
    A[41, 1] = np.inf if isinstance(model, RobustScaler) else np.nan
    with pytest.raises(ValueError, match=message):
        model.fit(cut([40], A, s))
