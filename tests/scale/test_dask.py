"""Dask collections: sums where the blocks lie, lazy answers, and a worker that dies."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from mlreplica.cluster import KMeans
from mlreplica.linear_model import LinearRegression, LogisticRegression, Ridge, SGDClassifier
from mlreplica.mixture import GaussianMixture
from mlreplica.naive_bayes import GaussianNB
from mlreplica.preprocessing import StandardScaler
from mlreplica.scale import Rows

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

N, P = 120, 3
rng = np.random.default_rng(1)
X = rng.normal(size=(N, P)) + 2.0
NUMBER = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=N)
CLASS = (np.median(NUMBER) < NUMBER).astype(int)
S = rng.integers(0, 3, N).astype(float)
CHUNKS = (1, 50, 29, 40)
FRAME = pd.DataFrame(X, columns=["u", "v", "w"]).assign(number=NUMBER, row=np.arange(N))


MODELS = [
    (LinearRegression(), NUMBER, "coef_"),
    (Ridge(2.0), NUMBER, "coef_"),
    (LogisticRegression(tol=1e-10), CLASS, "coef_"),
    (GaussianNB(), CLASS, "theta_"),
    (KMeans(2, random_state=0), None, "cluster_centers_"),
    (GaussianMixture(2, random_state=0), None, "means_"),
    (StandardScaler(), None, "scale_"),
]


@pytest.mark.parametrize(("model", "y", "name"), MODELS, ids=lambda a: str(a)[:40])
def test_arrays_give_the_model_of_memory(model, y, name):
    lazy = da.from_array(X, chunks=(CHUNKS, 2))  # columns in two chunks, too
    targets = [] if y is None else [da.from_array(y, chunks=N)]
    whole = clone(model).fit(X, *([] if y is None else [y]))
    found = clone(model).fit(lazy, *targets)
    np.testing.assert_allclose(getattr(found, name), getattr(whole, name), rtol=1e-10)


def test_weights_and_targets_in_memory():
    lazy = da.from_array(X, chunks=(CHUNKS, P))
    whole = LinearRegression().fit(X, NUMBER, sample_weight=S)
    for s in (S, da.from_array(S, chunks=17)):
        found = LinearRegression().fit(lazy, NUMBER, sample_weight=s)
        np.testing.assert_allclose(found.coef_, whole.coef_, rtol=1e-10)
    np.testing.assert_allclose(whole.score(lazy, NUMBER), whole.score(X, NUMBER), rtol=1e-12)


def test_frames_of_unknown_sizes_and_empty_partitions():
    frame = dd.from_pandas(FRAME, npartitions=5)
    frame = frame[frame["u"] > 1.5]
    kept = FRAME[FRAME["u"] > 1.5]
    columns = ["u", "v", "w"]
    whole = LinearRegression().fit(kept[columns], kept["number"])
    found = LinearRegression().fit(frame[columns], frame["number"])
    np.testing.assert_allclose(found.coef_, whole.coef_, rtol=1e-10)
    assert list(found.feature_names_in_) == columns
    answers = found.predict(frame[columns])
    assert isinstance(answers, da.Array)
    np.testing.assert_allclose(answers.compute(), whole.predict(kept[columns]), rtol=1e-10)
    none = dd.from_pandas(FRAME, npartitions=4)
    none = none[none["row"] > 90]
    fitted = LinearRegression().fit(none[columns], none["number"])
    few = FRAME[FRAME["row"] > 90]
    wanted = LinearRegression().fit(few[columns], few["number"])
    np.testing.assert_allclose(fitted.coef_, wanted.coef_, rtol=1e-10)
    assert len(fitted.predict(none[columns]).compute()) == len(few)
    with pytest.raises(ValueError, match="sizes of the partitions of X are unknown"):
        LinearRegression().fit(frame[columns], kept["number"].to_numpy())


def test_answers_are_lazy():
    asked = []

    def ask(block):
        asked.append(len(block))
        return block

    lazy = da.from_array(X, chunks=(CHUNKS, P)).map_blocks(ask, dtype=float, meta=np.empty((0, 0)))
    model = LogisticRegression().fit(X, CLASS)
    asked.clear()
    classes, proba = model.predict(lazy), model.predict_proba(lazy)
    assert asked == []
    assert classes.chunks[0] == CHUNKS
    assert proba.shape == (N, 2)
    np.testing.assert_array_equal(classes.compute(), model.predict(X))
    np.testing.assert_allclose(proba.compute(), model.predict_proba(X), rtol=1e-12)
    scaled = StandardScaler().fit_transform(da.from_array(X, chunks=(CHUNKS, P)))
    np.testing.assert_allclose(scaled.compute(), StandardScaler().fit_transform(X), rtol=1e-10)


def test_streams_go_from_partition_to_partition():
    lazy = da.from_array(X, chunks=(CHUNKS, P))
    found = SGDClassifier(random_state=0).fit(lazy, da.from_array(CLASS, chunks=(CHUNKS,)))
    wanted = SGDClassifier(random_state=0)
    for part in np.split(np.arange(N), np.cumsum(CHUNKS)[:-1]):
        wanted.partial_fit(X[part], CLASS[part], classes=[0, 1])
    np.testing.assert_allclose(found.coef_, wanted.coef_, rtol=1e-12)


def test_rows_of_dask_can_be_transformed_and_fitted():
    rows = Rows.from_dask(da.from_array(X, chunks=(CHUNKS, P)), NUMBER)
    found = Ridge(1.0).fit(StandardScaler().fit(rows).transform(rows))
    wanted = Ridge(1.0).fit(StandardScaler().fit_transform(X), NUMBER)
    np.testing.assert_allclose(found.coef_, wanted.coef_, rtol=1e-10)


def test_messages_name_the_partition():
    gap = X.copy()
    gap[60, 1] = np.inf
    lazy = da.from_array(gap, chunks=(CHUNKS, P))
    with pytest.raises(ValueError, match="partition 2: X has NaN or infinity in row 9"):
        LinearRegression().fit(lazy, NUMBER)
    with pytest.raises(ValueError, match="partition them alike"):
        LinearRegression().fit(
            dd.from_pandas(FRAME[["u"]], npartitions=3), dd.from_pandas(FRAME["v"], npartitions=4)
        )


def dies_once(block, flag):
    """The block; the first time, the worker that reads it is killed."""
    if len(block) and not Path(flag).exists():
        Path(flag).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return block


@pytest.mark.filterwarnings("ignore")  # what a cluster says of its own processes
def test_a_killed_worker_costs_time_but_no_digit(tmp_path):
    distributed = pytest.importorskip("distributed")
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with (
        distributed.LocalCluster(**settings, dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        for k, (model, y, name) in enumerate(
            [(LinearRegression(), NUMBER, "coef_"), (GaussianNB(), CLASS, "theta_")]
        ):
            flag = str(tmp_path / f"died-{k}")
            lazy = da.from_array(X, chunks=(20, P)).map_blocks(
                dies_once, flag, dtype=float, meta=np.empty((0, 0))
            )
            found = clone(model).fit(lazy, y)
            assert Path(flag).exists()
            whole = clone(model).fit(X, y)
            np.testing.assert_allclose(getattr(found, name), getattr(whole, name), rtol=1e-10)
