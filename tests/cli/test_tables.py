"""Files as people have them: what is in their columns is found out, said, and done again."""

import io
import json
import sqlite3
import sys
from contextlib import closing
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_equal
from sklearn.feature_extraction.text import TfidfVectorizer
from typer.testing import CliRunner

from mlreplica.cli.app import app
from mlreplica.cli.checks import apart
from mlreplica.cli.columns import MOST_WORDS, OTHER, Columns
from mlreplica.cli.console import CommandError
from mlreplica.cli.data import read_frame, titles
from mlreplica.cli.table import Choices, read_file
from mlreplica.cli.understand import understand
from mlreplica.cli.values import as_numbers, tidy


def kinds(frame, **options):
    return {column.name: column.kind for column in understand(frame, **options)}


# Numbers, dates, categories ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("decimal", "text", "value"),
    [
        (".", "1234.5", 1234.5),
        (".", "1,234.5", 1234.5),
        (".", "1,234,567", 1234567.0),
        (".", "1,5", None),
        (".", "12 %", 12.0),
        (".", "€ 3.20", 3.2),
        (".", "-1e-3", -0.001),
        (".", "inf", None),
        (".", "12a", None),
        (",", "1234,5", 1234.5),
        (",", "1.234,5", 1234.5),
        (",", "1.234", 1234.0),
        (",", "1.5", None),
        (",", "7", 7.0),
    ],
)
def test_numbers_written_as_text(decimal, text, value):
    assert as_numbers(pl.Series([text]), decimal).to_list() == [value]


def test_each_column_is_taken_as_what_it_holds():
    n = 60
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "count": [str(i % 7) for i in range(n)],
            "mixed": ["unknown" if i % 20 == 0 else f"{i / 8}" for i in range(n)],
            "day": [f"{i % 28 + 1:02d}.{i % 12 + 1:02d}.2024" for i in range(n)],
            "american": [f"{i % 12 + 1:02d}/{i % 28 + 1:02d}/2024" for i in range(n)],
            "moment": [f"2024-01-{i % 28 + 1:02d}T{i % 24:02d}:30:00Z" for i in range(n)],
            "colour": [["red", "green", None][i % 3] for i in range(n)],
            "flag": [["yes", "no"][i % 2] for i in range(n)],
            "number of the row": [str(i) for i in range(n)],
            "remark": [f"remark {k}" for k in rng.permutation(n)],
            "constant": ["x"] * n,
            "nothing": ["NA"] * n,
            "typed": pl.Series(rng.standard_normal(n)),
            "true": pl.Series(np.arange(n) % 2 == 0),
            "list": pl.Series([[1, 2]] * n),
        }
    )
    assert kinds(frame) == {
        "count": "number",
        "mixed": "number",
        "day": "date",
        "american": "date",
        "moment": "date",
        "colour": "category",
        "flag": "category",
        "number of the row": "left out",
        "remark": "left out",
        "constant": "left out",
        "nothing": "left out",
        "typed": "number",
        "true": "category",
        "list": "left out",
    }
    columns = {column.name: column for column in understand(frame)}
    assert columns["mixed"].why == "3 values that are no numbers taken as missing: 'unknown'"
    assert columns["day"].date == "%d.%m.%Y"
    assert columns["american"].date == "%m/%d/%Y"
    assert columns["moment"].hours
    assert columns["colour"].missing == 20
    forced = kinds(frame, numeric=["number of the row"], categorical=["count", "remark"])
    assert forced["number of the row"] == "number"
    assert (forced["count"], forced["remark"]) == ("category", "category")


def test_dates_become_parts():
    frame = pl.DataFrame({"when": ["1970-01-02 06:00", "2024-02-29 23:00", None]})
    (column,) = understand(frame)
    assert column.features == [
        "when (days)",
        "when (month)",
        "when (day)",
        "when (weekday)",
        "when (hour)",
    ]
    X = column.encode(frame["when"])
    assert_allclose(X[0], [1.25, 1, 2, 5, 6])
    assert_allclose(X[1, 1:], [2, 29, 4, 23])
    assert np.isnan(X[2]).all()


def test_times_of_day_become_hours():
    frame = pl.DataFrame({"at": ["06.30.00", "18.00.00", None], "on": ["6:30", "23:45", "0:00"]})
    at, on = understand(frame)
    assert (at.kind, at.date, on.kind, on.date) == ("time", "%H.%M.%S", "time", "%H:%M")
    assert_equal(at.encode(frame["at"])[:, 0], [6.5, 18.0, np.nan])
    assert_equal(on.encode(frame["on"])[:, 0], [6.5, 23.75, 0.0])


def test_what_means_missing():
    text = pl.Series([" a ", "?", ",,", ";", "N/A", "-", "-9", "-9,0", "-99"])
    assert tidy(text).to_list() == ["a", *[None] * 5, "-9", "-9,0", "-99"]
    assert tidy(text, ["-9"]).to_list() == ["a", *[None] * 7, "-99"]
    assert tidy(pl.Series([1, -9, 3]), ["-9", "x"]).to_list() == [1, None, 3]
    assert tidy(pl.Series([1.5, np.nan, -9.0]), ["-9"]).to_list() == [1.5, None, None]
    assert tidy(pl.Series(["+", "-", "?"])).to_list() == ["+", "-", None]
    assert tidy(pl.Series(["-", "?"]), levels=("+", "-")).to_list() == ["-", None]


def test_a_mark_for_missing_is_pointed_out_taken_and_kept(tmp_path):
    rng = np.random.default_rng(0)
    x = np.where(np.arange(200) % 10 == 0, -200, rng.normal(20, 5, 200).round(1))
    y = np.where(np.arange(200) % 20 == 0, -200, rng.normal(20, 5, 200).round(1))
    path = tmp_path / "t.csv"
    pl.DataFrame({"x": x, "y": y}).write_csv(path)
    assert "--missing -200" in next(apart(read_file(path)))
    table = read_file(path, Choices(missing=("-200",)))
    assert list(apart(table)) == []
    assert (len(table.y), table.columns[0].missing) == (190, 10)
    call = lambda *words: CliRunner().invoke(app, [*map(str, words)])
    model = tmp_path / "m.skops"
    done = call("fit", "Ridge", path, "--missing", "-200", "-o", model)
    assert done.exit_code == 0, done.output
    found = json.loads(call("predict", model, path, "--json").stdout)
    assert found["score"]["rows"] == 190
    assert found["predictions"][0] == found["predictions"][10]  # both take the median for -200


def test_columns_without_a_name_or_with_the_same():
    path = "a,,a,,b_duplicated_0\n1,2,3,4,5\n"
    assert list(titles(pl.read_csv(path.encode()).columns)) == [
        "a", "column 2", "a (2)", "column 4", "b (2)",
    ]  # fmt: skip


def test_rare_categories_share_a_level():
    frame = pl.DataFrame({"city": [f"c{i % 70 if i < 1400 else i % 7}" for i in range(2000)]})
    (column,) = understand(frame)
    assert len(column.levels) == 51
    assert column.levels[-1] == OTHER
    codes = column.encode(pl.Series(["c0", "elsewhere", None]))[:, 0]
    assert column.levels[int(codes[0])] == "c0"
    assert codes[1] == 50.0
    assert np.isnan(codes[2])


def test_frames_of_any_make_give_the_same_matrix():
    frame = pl.DataFrame({"a": ["1,5", "2", None] * 8, "b": ["x", "y", "z"] * 8})
    columns = Columns.of(understand(frame))
    expected = columns.transform(frame)
    assert_equal(columns.transform(frame.to_pandas()), expected)
    assert_equal(columns.transform(frame.to_dict(as_series=False)), expected)
    assert columns.get_feature_names_out().tolist() == ["a", "b"]


# Files -------------------------------------------------------------------------------------------


def messy(seed):
    """Five tables of different mess, each a pair of name and bytes; the target is the last."""
    rng = np.random.default_rng(seed)
    n = 120
    x, k = rng.standard_normal(n), rng.integers(0, 3, n)
    y = 2.0 * x + k + 0.3 * rng.standard_normal(n)
    label = np.where(y > 1.0, "ja", "nein")
    comma = lambda v: f"{1000 * v:,.2f}".translate(str.maketrans(",.", ".,"))
    rows = range(n)
    german = ["Nr;Größe;Straße;Datum;Preis"] + [
        f"{i};{'' if i % 11 == 0 else comma(x[i])};{'ABC'[k[i]]}-Weg;"
        f"{i % 28 + 1:02d}.03.2024;{comma(y[i])}"
        for i in rows
    ]
    latin = ["ville\tâge\treçu"] + [
        f"{['Nîmes', 'Orléans', 'Sète'][k[i]]}\t{x[i]}\t{label[i]}" for i in rows
    ]
    mixed = ["id,value,group,remark,label"] + [
        f'a{i},{"broken" if i % 15 == 0 else x[i]},{k[i]},"a, ""b"" {i}",{label[i]}' for i in rows
    ]
    lines = [
        json.dumps(
            {
                "x": x[i] if i % 7 else None,
                "時": f"2024-05-{i % 28 + 1:02d}",
                "k": f"g{k[i]}",
                "y": y[i],
            }
        )
        for i in rows
    ]
    wide = [",".join(["y", *(f"w{j}" for j in range(60)), "klass"])] + [
        ",".join([f"{x[i]:.4f}", *(f"{v:.3f}" for v in rng.standard_normal(60)), label[i]])
        for i in rows
    ]
    return [
        ("german.csv", b"\xef\xbb\xbf" + "\r\n".join(german).encode()),
        ("latin.tsv", "\n".join(latin).encode("cp1252")),
        ("mixed.csv", "\n".join(mixed).encode()),
        ("lines.jsonl", "\n".join(lines).encode()),
        ("wide.csv", "\n".join(wide).encode("utf-16")),
    ]


@pytest.mark.parametrize("which", range(5))
def test_messy_files_are_learned_from(tmp_path, which):
    name, content = messy(0)[which]
    (tmp_path / name).write_bytes(content)
    models = ["Ridge", "DecisionTreeRegressor"]
    if name in ("latin.tsv", "mixed.csv", "wide.csv"):
        models = ["LogisticRegression", "DecisionTreeClassifier"]
    words = [w for model in models for w in ("--model", model)]
    result = CliRunner().invoke(app, ["compare", str(tmp_path / name), "--json", *words])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    best, worst = found["leaderboard"][0], found["leaderboard"][-1]
    assert not best["baseline"]
    assert best["score"] > worst["score"] + 0.15


def test_what_a_text_file_says_of_itself_is_said(tmp_path):
    files = dict(messy(0))
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    _, notes = read_frame(tmp_path / "german.csv")
    assert notes == ["a byte-order mark says utf-8", "separated by semicolons"]
    frame, notes = read_frame(tmp_path / "latin.tsv")
    assert notes == ["not UTF-8: read as Windows-1252 (--encoding to change)"]
    assert frame.columns == ["ville", "âge", "reçu"]
    assert read_frame(tmp_path / "latin.tsv", "latin-1")[1] == []
    assert read_frame(tmp_path / "wide.csv")[1] == ["a byte-order mark says utf-16"]
    table = read_file(tmp_path / "german.csv", Choices())
    assert [c.kind for c in table.columns] == ["left out", "number", "category", "date"]
    assert table.columns[1].why == "decimal commas"
    assert abs(table.y).max() > 1000


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather", ".jsonl", ".csv", ".json"])
def test_all_formats_give_the_same_table(tmp_path, suffix):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"x": rng.standard_normal(40), "c": ["a", "b", None, "c"] * 10, "y": rng.integers(0, 2, 40)}
    )
    path = tmp_path / f"t{suffix}"
    {
        ".parquet": frame.write_parquet,
        ".arrow": frame.write_ipc,
        ".feather": frame.write_ipc,
        ".jsonl": frame.write_ndjson,
        ".csv": frame.write_csv,
        ".json": frame.write_json,
    }[suffix](path)
    table = read_file(path, Choices())
    assert table.task == "classification"
    assert [c.kind for c in table.columns] == ["number", "category"]
    assert_allclose(table.X[:, 0], frame["x"].to_numpy(), rtol=1e-12)
    assert_equal(table.X[:4, 1], [0.0, 1.0, np.nan, 2.0])
    assert_equal(table.y, frame["y"].to_numpy())


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("5.1,3.5,setosa\n4.9,3.0,setosa\n", ["column 1", "column 2", "column 3"]),
        ("39, State-gov,77516\n50, Private,83311\n", ["column 1", "column 2", "column 3"]),
        ("land,2019,2020,2021\na,1,2,3\nb,2,3,4\n", ["land", "2019", "2020", "2021"]),
        ("a,7\nx,y\nx,z\n", ["a", "7"]),
        ("# made by hand\n# in May\na,b\n1,2\n#3,4\n5,6\n", ["a", "b"]),
    ],
)
def test_headers_are_guessed_and_remarks_left_out(tmp_path, text, names):
    (tmp_path / "t.csv").write_text(text)
    frame, notes = read_frame(tmp_path / "t.csv")
    assert frame.columns == names
    assert frame.height == 2
    said = " ".join(notes)
    assert ("no header" in said) == names[0].startswith("column")
    assert ("#" in said) == text.startswith("#")


def test_whether_there_is_a_header_can_be_told(tmp_path):
    (tmp_path / "words.csv").write_text("red,yes\nblue,no\n" * 20)
    (tmp_path / "years.csv").write_text("7,1\n" + "1.5,0\n2.5,1\n" * 20)
    frame, notes = read_frame(tmp_path / "words.csv", header=False)
    assert (frame.columns, frame.height) == (["column 1", "column 2"], 40)
    assert notes == ["no header: columns are named by their place"]
    frame, notes = read_frame(tmp_path / "years.csv", header=True)
    assert (frame.columns, frame.height, notes) == (["7", "1"], 40, [])
    kept = str(tmp_path / "m.skops")
    words = ["RidgeClassifier", str(tmp_path / "words.csv"), "--no-header", "-o", kept]
    assert "by 1 features, 40 rows" in CliRunner().invoke(app, ["fit", *words]).output
    words = [kept, str(tmp_path / "words.csv"), "--no-header"]
    told = CliRunner().invoke(app, ["predict", *words])
    assert "accuracy 1.000 on 40 rows" in told.stderr
    wrong = CliRunner().invoke(app, ["compare", "--data", "iris", "--no-header"])
    assert "--header is for a file" in wrong.output


def test_other_sources(tmp_path, monkeypatch):
    frame = pl.DataFrame({"x": [1.5, 2.5, 3.5], "c": ["a", "b", "c"]})
    (tmp_path / "folder").mkdir()
    frame[:2].write_parquet(tmp_path / "folder" / "1.parquet")
    frame[2:].write_parquet(tmp_path / "folder" / "2.parquet")
    found, notes = read_frame(tmp_path / "folder")
    assert found.equals(frame)
    assert notes == ["2 Parquet files as one table"]
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as database, database:
        database.execute("CREATE TABLE some (x REAL, c TEXT)")
        database.executemany("INSERT INTO some VALUES (?, ?)", frame.rows())
    assert read_frame(tmp_path / "t.sqlite")[0].equals(frame)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(frame.write_csv().encode())))
    assert read_frame("-")[0].rows() == frame.cast(pl.String).rows()


def test_a_duckdb_file_is_read_by_its_package(tmp_path, monkeypatch):
    """SQLite stands in for it: same calls, same answers."""

    class Connection:
        def __init__(self, path, read_only):
            assert read_only
            self.inner = sqlite3.connect(path)
            self.close = self.inner.close

        def execute(self, asked):
            tables = "SELECT name FROM sqlite_master"
            return self.inner.execute(tables if asked == "SHOW TABLES" else asked)

    def fails(*_, **__):
        raise sqlite3.DatabaseError("not a valid DuckDB file")

    with closing(sqlite3.connect(tmp_path / "t.duckdb")) as database, database:
        database.execute("CREATE TABLE some (x REAL, c TEXT)")
        database.execute("INSERT INTO some VALUES (1.5, 'a')")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(CommandError, match=r"pip install duckdb; or export .* as Parquet"):
        read_frame(tmp_path / "t.duckdb")
    stands_in = SimpleNamespace(connect=Connection, Error=sqlite3.Error)
    monkeypatch.setitem(sys.modules, "duckdb", stands_in)
    assert read_frame(tmp_path / "t.duckdb")[0].rows() == [(1.5, "a")]
    stands_in.connect = fails
    with pytest.raises(CommandError, match=r"cannot read .* not a valid DuckDB file"):
        read_frame(tmp_path / "t.duckdb")


def test_text_as_words_has_the_weights_of_scikit_learn():
    said = ["Good film, GOOD music", "a bad film", None, "bad music; film", "?", "once"]
    frame = pl.DataFrame({"said": said})
    (column,) = understand(frame, text=["said"])
    assert (column.kind, column.missing) == ("words", 2)
    assert column.levels == ("bad", "film", "music")
    assert column.features == ["said: bad", "said: film", "said: music"]
    encoder = Columns.of([column])
    found = encoder.transform(frame)
    theirs = TfidfVectorizer(vocabulary=column.levels).fit(
        ["" if t == "?" else t or "" for t in said]
    )
    expected = theirs.transform(["" if t in (None, "?") else t for t in said])
    assert_allclose(found, expected.toarray(), rtol=1e-12)
    assert list(encoder.complaints(pl.DataFrame({"said": ["new words", None]}))) == []
    assert_equal(encoder.transform(pl.DataFrame({"said": ["unheard of", None]})), np.zeros((2, 3)))


def test_only_the_most_frequent_words_are_kept():
    said = [" ".join(f"w{i}" for i in range(400) if i % (k + 2)) for k in range(9)]
    (column,) = understand(pl.DataFrame({"said": said}), text=["said"])
    assert len(column.levels) == MOST_WORDS
    assert "300 most frequent" in column.why


def test_numbers_that_say_nothing_are_left_out():
    n = 40
    frame = pl.DataFrame(
        {
            "nearly": 0.1 + 1e-17 * np.arange(n) + np.where(np.arange(n) % 2, 2e-16, 0),
            "account": [10**17 + 37 * (i * i % 41) + i for i in range(n)],
            "text account": [str(10**17 + 37 * (i * i % 41) + i) for i in range(n)],
            "user_id": [(i * 7919) % 10007 for i in range(n)],
            "userId": [(i * 7919) % 10007 for i in range(n)],
            "humid": [(i * 7919) % 10007 for i in range(n)],
            "large": [10**17 * (i % 5) for i in range(n)],
        }
    )
    found = kinds(frame)
    assert [name for name, kind in found.items() if kind == "number"] == ["humid", "large"]
    assert set(found.values()) == {"number", "left out"}
    assert kinds(frame, numeric=["user_id"])["user_id"] == "number"


@pytest.mark.parametrize(
    ("values", "task", "why"),
    [
        (["a", "b"], "classification", "holds text"),
        ([True, False], "classification", "holds text"),
        ([1, 2, 3], "classification", "3 distinct whole numbers"),
        ([1.0, 0.0], "classification", "2 distinct whole numbers"),
        ([0.5, 1.5], "regression", "2 distinct numbers"),
        (range(30), "regression", "30 distinct numbers"),
    ],
)
def test_task_is_guessed_and_said(tmp_path, values, task, why):
    y = (list(values) * 40)[:60]
    x = np.random.default_rng(0).standard_normal(60)
    pl.DataFrame({"x": x, "y": y}).write_csv(tmp_path / "t.csv")
    table = read_file(tmp_path / "t.csv", Choices())
    assert table.task == task
    assert any(note.startswith(f"{task}, since 'y' holds") and why in note for note in table.notes)
    assert table.notes[0] == "target: 'y', the last column (--target to change)"


def test_rows_without_a_target_are_left_out(tmp_path):
    (tmp_path / "t.csv").write_text(
        "x,y\n" + "".join(f"{i % 5},{i % 2}\n" for i in range(20)) + "3,\n4,NA\n"
    )
    table = read_file(tmp_path / "t.csv", Choices())
    assert "2 rows without a target left out" in table.notes
    assert len(table.y) == len(table.X) == table.frame.height == 20
