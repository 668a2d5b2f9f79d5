"""`mlreplica compare`: the leaderboard is right, and every wrong call says so in one line."""

import json
import warnings

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

from mlreplica.cli import compare as module
from mlreplica.cli.app import Metric, app
from mlreplica.discovery import all_estimators


def call(*args):
    return CliRunner().invoke(app, ["compare", *map(str, args)])


def board(*args):
    result = call(*args, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def write(path, **columns):
    frame = pl.DataFrame(columns)
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    else:
        frame.write_csv(path, separator="\t" if path.suffix == ".tsv" else ",")
    return path


@pytest.fixture
def mixed():
    """Columns of every kind, with holes; `class` depends on `size` and `colour`."""
    rng = np.random.default_rng(0)
    n = 90
    size, colour = rng.standard_normal(n), rng.choice(["red", "green", None], n)
    label = np.where(size + 2.0 * (colour == "red") > 0.7, "yes", "no")
    size[::7] = np.nan
    return {
        "name": [f"row {i}" for i in range(n)],
        "size": [None if np.isnan(s) else s for s in size],
        "count": rng.integers(0, 5, n),
        "flag": rng.integers(0, 2, n).astype(bool),
        "colour": colour.tolist(),
        "class": label.tolist(),
    }


# The leaderboard ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "data", "task", "metric"),
    [
        ([], "breast_cancer", "classification", "accuracy"),
        (["--data", "diabetes"], "diabetes", "regression", "r2"),
    ],
)
def test_embedded_sets_rank_every_estimator(args, data, task, metric):
    result = board(*args)
    assert (result["data"], result["task"], result["metric"]) == (data, task, metric)
    rows = {row["model"]: row for row in result["leaderboard"]}
    kind = {"classification": "classifier", "regression": "regressor"}[task]
    ours = {name for name, _ in all_estimators(kind)}
    (baseline,) = rows.keys() - ours
    assert ours < rows.keys()
    scores = [row["score"] for row in result["leaderboard"]]
    assert scores == sorted(scores, reverse=True)
    assert rows[baseline]["baseline"]
    assert max(scores) > rows[baseline]["score"] + 0.3
    for row in rows.values():
        assert len(row["scores"]) == 5
        assert_allclose(row["score"], np.mean(row["scores"]), rtol=1e-12)
        assert_allclose(row["sd"], np.std(row["scores"], ddof=1), rtol=1e-12)
        assert row["fit_seconds"] > 0


def test_scores_are_those_of_a_cross_validated_pipeline(monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    monkeypatch.setattr(module, "all_estimators", lambda _: [("LR", LogisticRegression)])
    folds = StratifiedKFold(4, shuffle=True, random_state=3)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    for metric, scoring, sign in [
        ("accuracy", "accuracy", 1),
        ("balanced_accuracy", "balanced_accuracy", 1),
        ("f1", "f1_macro", 1),
        ("roc_auc", "roc_auc", 1),
        ("log_loss", "neg_log_loss", -1),
    ]:
        result = board("--folds", 4, "--seed", 3, "--metric", metric)
        expected = sign * cross_val_score(model, X, y, cv=folds, scoring=scoring)
        assert result["leaderboard"][0]["model"] == "LR"
        assert_allclose(result["leaderboard"][0]["scores"], expected, rtol=1e-6)


def test_multiclass_ranking_by_log_loss_and_auc(monkeypatch):
    monkeypatch.setattr(module, "all_estimators", lambda _: [("LR", LogisticRegression)])
    for metric in ("log_loss", "roc_auc"):
        first, second = board("--data", "iris", "--metric", metric)["leaderboard"]
        assert (first["model"], second["model"]) == ("LR", "majority class")


def test_regression_metrics(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "all_estimators", lambda _: [("OLS", LinearRegression)])
    X, y = load_diabetes(return_X_y=True)
    file = write(tmp_path / "d.csv", **{f"x{j}": X[:, j] for j in range(10)}, y=y)
    by = {m: board(file, "--metric", m)["leaderboard"] for m in ("r2", "rmse", "mae")}
    for metric, rows in by.items():
        assert rows[-1]["model"] == "mean", metric
    mean = by["rmse"][-1]
    assert_allclose(mean["score"], np.std(y), rtol=0.02)


def test_same_seed_same_scores():
    def scores(seed):
        rows = board("--data", "wine", "--seed", seed)["leaderboard"]
        return {row["model"]: row["scores"] for row in rows}

    assert scores(1) == scores(1)
    assert scores(1) != scores(2)


class Certified(ClassifierMixin, BaseEstimator):
    """Certifies more with every fold, and warns."""

    fits = 0

    def fit(self, X, y):
        type(self).fits += 1
        self.classes_ = np.unique(y)
        self.certificate_ = 10.0 ** -type(self).fits
        warnings.warn("stopped early", ConvergenceWarning, stacklevel=1)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[:1], len(X))


class Broken(DummyClassifier):
    """Fails, with a message of two lines."""

    def fit(self, X, y):
        raise ValueError("cannot do that\nand more")


def test_certificates_warnings_and_failures_are_rows(monkeypatch):
    models = [("Broken", Broken), ("Certified", Certified)]
    monkeypatch.setattr(module, "all_estimators", lambda _: models)
    monkeypatch.setattr(Certified, "fits", 0)
    result = board("--folds", 3)
    rows = {row["model"]: row for row in result["leaderboard"]}
    assert rows["Certified"]["certificate"] == 0.1
    assert rows["Certified"]["note"] == "not converged in 3 of 3 folds"
    assert result["leaderboard"][-1]["model"] == "Broken"
    assert (rows["Broken"]["score"], rows["Broken"]["note"]) == (None, "cannot do that")
    shown = call("--folds", 3)
    assert shown.exit_code == 0
    for piece in ("certificate", "1.0e-04", "not converged", "cannot do that", "accuracy ↑"):
        assert piece in shown.output


# Files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".CSV"])
def test_files_with_columns_of_every_kind(tmp_path, mixed, suffix):
    result = board(write(tmp_path / f"t{suffix}", **mixed), "--target", "class")
    assert (result["rows"], result["columns"], result["task"]) == (90, 4, "classification")
    assert "ignored, neither numbers nor categories: name" in result["notes"]
    best, baseline = result["leaderboard"][0], result["leaderboard"][-1]
    assert baseline["baseline"]
    assert best["score"] > baseline["score"] + 0.1


def test_target_defaults_to_the_last_column_and_is_said(tmp_path, mixed):
    result = board(write(tmp_path / "t.csv", **mixed))
    assert result["target"] == "class"
    assert "target: 'class', the last column (--target to change)" in result["notes"]


def test_dropped_columns_and_rows_without_a_target(tmp_path, mixed):
    mixed["class"][:4] = [None] * 4
    result = board(write(tmp_path / "t.csv", **mixed), "--drop", "flag", "--drop", "name")
    assert (result["rows"], result["columns"]) == (86, 3)
    assert "4 rows without a target left out" in result["notes"]


def test_dates_are_numbers_and_lists_are_ignored(tmp_path):
    days = pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 2, 19), eager=True)
    y = np.arange(50) * 2.5
    file = write(tmp_path / "t.parquet", day=days, pairs=[[1, 2]] * 50, y=y)
    result = board(file)
    assert result["columns"] == 1
    assert result["leaderboard"][0]["score"] > 0.99


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
    result = board(write(tmp_path / "t.csv", x=x, y=y))
    assert result["task"] == task
    assert any(why in note and note.startswith(task) for note in result["notes"])


def test_task_can_be_set(tmp_path):
    rng = np.random.default_rng(0)
    file = write(tmp_path / "t.csv", x=rng.standard_normal(60), y=np.arange(60) % 3)
    assert board(file, "--task", "regression")["metric"] == "r2"


def test_plain_output_names_data_task_and_models():
    result = call("--data", "iris")
    assert result.exit_code == 0
    assert "iris: 150 rows, 4 columns, classification, 5 folds" in result.output
    assert "majority class" in result.output
    assert "baseline" in result.output


def test_metric_names_agree_with_the_table_of_metrics():
    assert [metric.value for metric in Metric] == list(module.METRICS)


# Wrong calls -------------------------------------------------------------------------------------

ROWS = "\n".join(f"{i},{i % 7},{'ab'[i % 2]}" for i in range(40))
CSV = f"first,second,label\n{ROWS}\n"

BAD = [
    # arguments, file name, its text, exit code, what the line says
    ("{}", "gone.csv", None, 1, "no file"),
    ("{dir}/tabel.csv", "table.csv", CSV, 1, "did you mean 'table.csv'?"),
    ("{}", "empty.csv", "", 1, "is empty"),
    ("{}", "head.csv", "a,b\n", 1, "has a header but no rows"),
    ("{}", "table.xlsx", "x", 1, "must end in .csv, .tsv, .parquet"),
    ("{}", "table", "x", 1, "must end in .csv, .tsv, .parquet"),
    ("{}", "broken.parquet", "not parquet at all", 1, "cannot read"),
    ("{}", "ragged.csv", "a,b\n1,2\n3,4,5\n", 1, "cannot read"),
    ("{}", "latin.csv", "a,b\nö,2\nx,3\n".encode("latin-1"), 1, "cannot read"),
    ("{}", "folder.csv", "FOLDER", 1, "is a folder"),
    ("{} --target Labl", "t.csv", CSV, 1, "did you mean 'label'?"),
    ("{} --target zzz", "t.csv", CSV, 1, "there are 'first', 'second', 'label'."),
    ("{} --drop thrid", "t.csv", CSV, 1, "no column 'thrid' to drop"),
    ("{} --drop label --target label", "t.csv", CSV, 1, "no column 'label'"),
    ("{}", "t.csv", "x,y\n1,5\n2,5\n3,5\n", 1, "the target 'y' is constant (5)"),
    ("{}", "t.csv", "x,y\n1,\n2,\n", 1, "column 'y' holds no values"),
    ("{}", "t.csv", "y\n1\n2\n", 1, "no column besides the target 'y'"),
    ("{}", "t.csv", "x,z,y\n1,,a\n2,,b\n", 1, "column 'z' holds no values; leave it out by --drop"),
    ("{}", "t.csv", CSV + "7,7,c\n", 1, "class 'c' of 'label' has 1 rows, too few for 5 folds"),
    ("{} --folds 21", "t.csv", CSV, 1, "too few for 21 folds"),
    ("{} --target first --folds 30", "t.csv", CSV, 1, "40 rows are too few for 30 folds"),
    ("{} --task regression", "t.csv", CSV, 1, "needs numbers"),
    ("{} --metric r2", "t.csv", CSV, 1, "not for classification; use accuracy"),
    ("{}", "t.csv", CSV.replace("39,", "inf,"), 1, "column 'first' holds infinite values"),
    (
        "{} --target first --task regression",
        "t.csv",
        CSV.replace("39,", "inf,"),
        1,
        "the target 'first' holds infinite values",
    ),
    (
        "{} --target y",
        "t.csv",
        "id,y\n" + "\n".join(f"name{i},{i % 2}" for i in range(50)),
        1,
        "no usable column besides the target 'y'",
    ),
    ("{} --data iris", "t.csv", CSV, 1, "give either a file or --data iris"),
    ("--target label", None, None, 1, "--target is for a file"),
    ("--drop label", None, None, 1, "--drop is for a file"),
    ("--folds 1", None, None, 2, "'--folds'"),
    ("--folds many", None, None, 2, "'--folds'"),
    ("--seed -1", None, None, 2, "'--seed'"),
    ("--metric beauty", None, None, 2, "'--metric'"),
    ("--task sorting", None, None, 2, "'--task'"),
    ("--data mnist", None, None, 2, "'--data'"),
    ("--fold 3", None, None, 2, "--folds"),
    ("{} {}", "t.csv", CSV, 2, "nexpected"),
]


@pytest.mark.parametrize(("args", "name", "text", "code", "says"), BAD)
def test_wrong_calls_end_with_one_line(tmp_path, args, name, text, code, says):
    path = tmp_path / (name or "none")
    if text == "FOLDER":
        path.mkdir()
    elif text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    words = [word.replace("{}", str(path)).replace("{dir}", str(tmp_path)) for word in args.split()]
    result = call(*words)
    assert result.exit_code == code, result.output
    assert len(result.output.strip().splitlines()) == 1, result.output
    assert result.output.startswith("mlreplica: ")
    assert says in result.output


def test_ctrl_c_ends_with_one_line(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "fit_one", interrupted)
    result = call()
    assert result.exit_code == 130
    assert result.output.strip() == "mlreplica: interrupted"
