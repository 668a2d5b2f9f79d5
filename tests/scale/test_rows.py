"""Sources: the same rows from every kind of file, errors that name the place, few blocks."""

import threading
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlreplica.scale import Rows, _arrow, _rows
from mlreplica.scale._blocks import AHEAD, read_ahead

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.dataset")


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(50, 3)), columns=["a", "b", "c"])
    frame["count"] = rng.integers(0, 9, 50)
    frame["price"] = rng.normal(size=50)
    frame["weight"] = rng.random(50)
    return frame


def parquet(frame, folder):
    frame[:30].to_parquet(folder / "part-0.parquet", row_group_size=7)
    frame[30:].to_parquet(folder / "part-1.parquet")
    return Rows.from_parquet(folder / "part-*.parquet", target="price", weight="weight")


def csv(frame, folder):
    frame[:30].to_csv(folder / "0.csv", index=False)
    frame[30:].to_csv(folder / "1.csv", index=False)
    files = [folder / "0.csv", folder / "1.csv"]
    return Rows.from_csv(files, target="price", weight="weight")


def arrow(frame, _):
    return Rows.from_arrow(pa.table(frame), target="price", weight="weight")


def dataset(frame, folder):
    import pyarrow.dataset as ds

    parquet(frame, folder)
    return Rows.from_arrow(ds.dataset(folder), target="price", weight="weight")


def reader(frame, _):
    batches = pa.table(frame)
    return Rows.from_arrow(
        lambda: pa.RecordBatchReader.from_batches(batches.schema, batches.to_batches(9)),
        target="price",
        weight="weight",
    )


def npy(frame, folder):
    for name, values in (
        ("X", frame[["a", "b", "c", "count"]]),
        ("y", frame["price"]),
        ("s", frame["weight"]),
    ):
        np.save(folder / f"{name}.npy", values.to_numpy(dtype=float))
    return Rows.from_npy(folder / "X.npy", folder / "y.npy", folder / "s.npy")


def npy_by_columns(frame, folder):
    npy(frame, folder)
    np.save(folder / "X.npy", np.asfortranarray(np.load(folder / "X.npy")))
    return Rows.from_npy(folder / "X.npy", folder / "y.npy", folder / "s.npy")


def frames(frame, _):
    bounds = [0, 17, 17, 40, 50]  # an empty block among them

    def blocks():
        for start, stop in pairwise(bounds):
            part = frame[start:stop]
            yield part[["a", "b", "c", "count"]], part["price"], part["weight"]

    return Rows.from_iter(blocks)


@pytest.mark.parametrize(
    "source", [parquet, csv, arrow, dataset, reader, npy, npy_by_columns, frames]
)
def test_every_source_gives_the_same_rows_twice(source, table, tmp_path, monkeypatch):
    for module in (_arrow, _rows):
        monkeypatch.setattr(module, "BYTES", 11 * 4 * 8)
    rows = source(table, tmp_path)
    for _ in range(2):
        X, y, s, *_ = rows.gathered()
        np.testing.assert_allclose(X, table[["a", "b", "c", "count"]], rtol=1e-15)
        np.testing.assert_allclose(y, table["price"], rtol=1e-15)
        np.testing.assert_allclose(s, table["weight"], rtol=1e-15)
    assert rows.width == 4
    assert rows.names in (["a", "b", "c", "count"], None)


def test_columns_and_several_targets(table, tmp_path):
    table.to_parquet(tmp_path / "all.parquet")
    rows = Rows.from_parquet(
        str(tmp_path / "all.parquet"), columns=["c", "a"], target=["price", "b"]
    )
    X, y, s, *_ = rows.gathered()
    np.testing.assert_array_equal(X, table[["c", "a"]])
    np.testing.assert_array_equal(y, table[["price", "b"]])
    assert s is None
    assert rows.names == ["c", "a"]


def test_text_may_be_a_target_but_not_a_column(table, tmp_path):
    table["kind"] = np.where(table["a"] > 0, "high", "low")
    table.to_parquet(tmp_path / "t.parquet")
    rows = Rows.from_parquet(tmp_path / "t.parquet", columns=["a"], target="kind")
    assert set(rows.gathered().y) == {"high", "low"}
    with pytest.raises(ValueError, match=r"t\.parquet, rows 0 to 49: column 'kind' holds"):
        Rows.from_parquet(tmp_path / "t.parquet", target="price").gathered()


def test_integers_that_become_fractions_further_down_a_csv_file(tmp_path):
    lines = ["x,y", *("1,2" for _ in range(50_000)), "1.5,2"]
    (tmp_path / "long.csv").write_text("\n".join(lines))
    assert Rows.from_csv(tmp_path / "long.csv", target="y").gathered().X[-1, 0] == 1.5


def test_messages_name_the_place(table, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none-\*"):
        Rows.from_parquet(tmp_path / "none-*").gathered()
    table.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"t\.parquet: no column is named 'cost'; there are a, b"):
        Rows.from_parquet(tmp_path / "t.parquet", target="cost").gathered()
    (tmp_path / "bad.csv").write_text("x,y\n1,2\n1,2,3\n")
    with pytest.raises(ValueError, match=r"bad\.csv"):
        Rows.from_csv(tmp_path / "bad.csv").gathered()
    X = np.ones((4, 2))
    for block, message in [
        ((X[0],), "block 1: a block must be a matrix"),
        ((X, np.ones(3)), "block 1: 4 rows but 3 entries of y"),
        ((X, np.ones(4), -np.ones(4)), "block 1: sample_weight must be"),
        ((np.array([["u", "v"]]),), "block 1: could not convert"),
        ((np.ones((4, 3)), np.ones(4)), "block 1: 3 columns, 2 in blocks before"),
    ]:
        with pytest.raises(ValueError, match=message):
            Rows.from_iter(lambda block=block: iter([(X, np.ones(4)), block])).gathered()


def test_what_can_be_walked_once_is_refused(table):
    with pytest.raises(TypeError, match="a function that returns a new iterator"):
        Rows.from_iter(iter([np.ones((2, 2))]))
    batches = pa.table(table)
    once = pa.RecordBatchReader.from_batches(batches.schema, batches.to_batches())
    with pytest.raises(TypeError, match="can be read once"):
        Rows.from_arrow(once)
    with pytest.raises(ValueError, match="X has 4 rows and y 3"):
        Rows.from_npy(np.ones((4, 2)), np.ones(3))
    with pytest.raises(TypeError, match="never in memory at once"):
        np.asarray(Rows.from_npy(np.ones((4, 2))))


@given(st.integers(0, 9), st.integers(0, 9))
def test_reading_ahead_stays_few_blocks_ahead_and_ends(n, used):
    read = []

    def blocks():
        for k in range(n):
            read.append(k)
            yield k

    walk = read_ahead(blocks())
    got = [k for k, _ in zip(walk, range(used), strict=False)]
    assert got == list(range(min(n, used)))
    assert len(read) <= min(n, used) + AHEAD + 2
    walk.close()
    assert not any(thread.name == "mlreplica-read-ahead" for thread in threading.enumerate())


def test_an_error_of_the_reader_is_raised_by_the_walk():
    def blocks():
        yield np.ones((2, 1))
        raise OSError("disk on fire")

    with pytest.raises(OSError, match="disk on fire"):
        Rows.from_iter(blocks).gathered()
