"""Boosting on blocks grows the trees of memory, bit for bit, however the rows are cut."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from mlreplica.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from mlreplica.ensemble.histogram import base, binning
from mlreplica.scale import Rows, _boosting

N, P = 160, 6
rng = np.random.default_rng(3)
X = rng.normal(size=(N, P)).round(2)
X[:, 1] = rng.integers(0, 3, N)  # few values
X[:, 4] = rng.choice([2.0, 5.0, 7.0, np.nan], N)  # categories
X[rng.random((N, P)) < 0.05] = np.nan
NUMBER = np.nan_to_num(X) @ rng.normal(size=P) + rng.normal(size=N)
CLASS = np.array(["ant", "bee", "cow"])[np.digitize(NUMBER, [-1.0, 1.0])]
S = rng.integers(0, 4, N).astype(float)
FEW = {"max_iter": 4, "max_leaf_nodes": 6, "min_samples_leaf": 5, "random_state": 0}

MODELS = [
    (HistGradientBoostingRegressor(**FEW), NUMBER, None),
    (HistGradientBoostingRegressor(**FEW, early_stopping=True, max_bins=9), NUMBER, S),
    (HistGradientBoostingRegressor(**FEW, loss="absolute_error"), NUMBER, None),
    (HistGradientBoostingClassifier(**FEW, categorical_features=[4]), CLASS == "ant", S),
    (
        HistGradientBoostingClassifier(**FEW, early_stopping=True, class_weight="balanced"),
        CLASS,
        None,
    ),
    (
        HistGradientBoostingClassifier(
            **FEW, early_stopping=True, scoring="accuracy", categorical_features=[1, 4]
        ),
        CLASS,
        None,
    ),
]
cuts = st.one_of(
    st.lists(st.integers(0, N), max_size=6),
    st.just(list(range(1, N))),  # one row a block
    st.just([0, 0, 30, 30, N]),  # empty blocks
)


def cut(at, y, s=None, A=X):
    """Rows in blocks that begin at `at`."""
    pairs = list(pairwise([0, *sorted(at), N]))
    return Rows.from_iter(
        lambda: ((A[a:b], y[a:b], None if s is None else s[a:b]) for a, b in pairs)
    )


def assert_same_trees(found, wanted):
    assert found.n_iter_ == wanted.n_iter_
    for a, b in zip(found._predictors, wanted._predictors, strict=True):
        for one, other in zip(a, b, strict=True):
            for name, x in one._asdict().items():
                np.testing.assert_array_equal(x, getattr(other, name), err_msg=name)
    np.testing.assert_array_equal(found.validation_score_, wanted.validation_score_)
    np.testing.assert_array_equal(found._baseline_prediction, wanted._baseline_prediction)


@pytest.mark.parametrize(("model", "y", "s"), MODELS, ids=range(len(MODELS)))
@given(at=cuts)
@settings(max_examples=5)
def test_blocks_grow_the_trees_of_memory(model, y, s, at):
    wanted = clone(model).fit(X, y, sample_weight=s)
    rows = cut(at, y, s)
    found = clone(model).fit(rows)
    assert_same_trees(found, wanted)
    answers = np.concatenate(list(found.predict(rows)))
    if answers.dtype.kind == "f":  # few rows are summed tree by tree
        np.testing.assert_allclose(answers, wanted.predict(X), rtol=1e-12)
    else:
        np.testing.assert_array_equal(answers, wanted.predict(X))
    assert found.score(rows) == pytest.approx(wanted.score(X, y, sample_weight=s), rel=1e-12)


@pytest.mark.parametrize("s", [None, S])
def test_thresholds_of_a_sample_are_those_of_memory(s, monkeypatch):
    for module in (base, binning):
        monkeypatch.setattr(module, "SAMPLE", 40)
    model = HistGradientBoostingRegressor(**FEW, early_stopping=True)
    wanted = clone(model).fit(X, NUMBER, sample_weight=s)
    assert_same_trees(clone(model).fit(cut([7, 90, 91], NUMBER, s)), wanted)


def test_bytes_may_lie_in_a_file(monkeypatch):
    model = HistGradientBoostingRegressor(**FEW, early_stopping=True)
    wanted = clone(model).fit(X, NUMBER)
    monkeypatch.setattr(_boosting, "IN_MEMORY", 100)
    assert_same_trees(clone(model).fit(cut([7, 90], NUMBER)), wanted)


def test_single_precision_and_names(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    model, A = HistGradientBoostingRegressor(**FEW), X.astype(np.float32)
    assert_same_trees(clone(model).fit(cut([50], NUMBER, A=A)), clone(model).fit(A, NUMBER))
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame.assign(y=NUMBER).to_parquet(tmp_path / "t.parquet")
    rows = Rows.from_parquet(tmp_path / "t.parquet", target="y")
    model.set_params(categorical_features=["e"], monotonic_cst={"a": 1})
    found, wanted = clone(model).fit(rows), clone(model).fit(frame, NUMBER)
    assert_same_trees(found, wanted)
    np.testing.assert_array_equal(found.predict(frame), wanted.predict(frame))


def test_partitions_of_dask():
    da = pytest.importorskip("dask.array")
    model = HistGradientBoostingClassifier(**FEW, early_stopping=True)
    lazy = da.from_array(X, chunks=((1, 100, 59), 3))
    found, wanted = clone(model).fit(lazy, CLASS), clone(model).fit(X, CLASS)
    assert_same_trees(found, wanted)
    np.testing.assert_array_equal(found.predict(lazy).compute(), wanted.predict(X))


def test_messages():
    model = HistGradientBoostingRegressor(**FEW)
    gap = NUMBER.copy()
    gap[100] = np.nan
    with pytest.raises(ValueError, match="block 1: y has NaN or infinity in row 10"):
        model.fit(cut([90], gap))
    with pytest.raises(ValueError, match="no targets: name them"):
        model.fit(Rows.from_iter(lambda: iter([X])))
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        model.fit(Rows.from_iter(lambda: iter([(X[:0], NUMBER[:0])])))
    with pytest.raises(ValueError, match="cardinality <= 3"):
        model.set_params(categorical_features=[0], max_bins=3).fit(cut([90], NUMBER))
    again = HistGradientBoostingRegressor(**FEW, warm_start=True).fit(cut([90], NUMBER))
    with pytest.raises(ValueError, match="warm_start=True needs all rows"):
        again.fit(cut([90], NUMBER))
    for sizes in ([90, 90, 80], [90, 90, 90, 80]):  # walks: of the first block, of targets …
        size = iter(sizes)
        shrinks = Rows.from_iter(lambda size=size: iter([(X[: (m := next(size))], NUMBER[:m])]))
        with pytest.raises(ValueError, match="other rows than in its first walk"):
            HistGradientBoostingRegressor(**FEW).fit(shrinks)
