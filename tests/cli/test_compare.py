"""`mlreplica compare`: the leaderboard is right, fair, and says what it did."""

import io
import json
import subprocess
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from rich.console import Console
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

from mlreplica.cli import models as suitable_models
from mlreplica.cli.app import app
from mlreplica.cli.budget import Cost, promise
from mlreplica.cli.console import with_error
from mlreplica.cli.contest import Contest
from mlreplica.cli.fits import Fit, Folds
from mlreplica.cli.metrics import METRICS
from mlreplica.cli.models import core, model_for
from mlreplica.cli.options import Metric
from mlreplica.cli.report import plain
from mlreplica.cli.show import show_leaderboard
from mlreplica.cli.table import read_shipped
from mlreplica.cli.winner import choose, winner_of
from mlreplica.discovery import all_estimators

QUICK = ["--model", "LogisticRegression", "--model", "DecisionTreeClassifier"]
QUICK_NUMBERS = ["--model", "Ridge", "--model", "DecisionTreeRegressor"]


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
        frame.write_csv(path)
    return path


def name_of(case):
    """The name of a test's case: that of the model, once."""
    return case if isinstance(case, str) else ""


def use(monkeypatch, **models):
    """Let the package have only these models."""
    monkeypatch.setattr(suitable_models, "all_estimators", lambda *_: list(models.items()))


# The leaderboard ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "data", "task", "metric"),
    [
        (["--data", "wine"], "wine", "classification", "accuracy"),
        (["--data", "diabetes"], "diabetes", "regression", "r2"),
    ],
)
def test_embedded_sets_rank_every_estimator(args, data, task, metric):
    result = board(*args)
    assert (result["data"], result["task"], result["metric"]) == (data, task, metric)
    rows = {row["model"]: row for row in result["leaderboard"]}
    kind = {"classification": "classifier", "regression": "regressor"}[task]
    ours = {name for name, cls in all_estimators(kind) if not cls.card.by_name}
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
        assert row["predict_seconds"] > 0
        assert not row["cut"]


def test_scores_are_those_of_a_cross_validated_pipeline(monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    use(monkeypatch, LR=LogisticRegression)
    folds = StratifiedKFold(4, shuffle=True, random_state=3)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    for metric, judge in METRICS.items():
        if judge.task == "regression":
            continue
        result = board("--folds", 4, "--seed", 3, "--metric", metric)
        expected = judge.sign * cross_val_score(model, X, y, cv=folds, scoring=judge.scoring)
        assert result["leaderboard"][0]["model"] == "LR"
        assert_allclose(result["leaderboard"][0]["scores"], expected, rtol=1e-6)


@pytest.mark.parametrize("metric", ["r2", "rmse", "mae"])
def test_regression_metrics_put_the_mean_last(metric):
    result = board("--data", "diabetes", "--metric", metric, "--model", "Ridge")
    assert [row["model"] for row in result["leaderboard"]] == ["Ridge", "mean"]


def test_same_seed_same_scores():
    def scores(seed):
        rows = board("--data", "wine", "--seed", seed, *QUICK)["leaderboard"]
        return {row["model"]: row["scores"] for row in rows}

    assert scores(1) == scores(1)
    assert scores(1) != scores(2)


class Certified(ClassifierMixin, BaseEstimator):
    """Certifies less for more rows, and warns."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.certificate_ = len(X) / 1000
        warnings.warn("stopped early", ConvergenceWarning, stacklevel=1)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[:1], len(X))


class Broken(DummyClassifier):
    """Fails, with a message of two lines."""

    def fit(self, X, y):
        raise ValueError("cannot do that\nand more")


def test_certificates_warnings_and_failures_are_rows(monkeypatch):
    use(monkeypatch, Broken=Broken, Certified=Certified)
    result = board("--folds", 3)
    rows = {row["model"]: row for row in result["leaderboard"]}
    assert rows["Certified"]["certificate"] == 0.38  # the largest of 379, 379 and 380 rows
    assert rows["Certified"]["note"] == "not converged in 3 of 3 folds"
    assert result["leaderboard"][-1]["model"] == "Broken"
    assert (rows["Broken"]["score"], rows["Broken"]["note"]) == (None, "cannot do that")
    shown = call("--folds", 3)
    assert shown.exit_code == 0
    for piece in ("certificate", "3.8e-01", "not converged", "cannot do that", "accuracy ↑"):
        assert piece in shown.output


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_leaderboard_breaks_no_word(width):
    row = {
        "model": "HistGradientBoostingClassifier", "baseline": False, "score": 0.9123, "sd": 0.01,
        "fit_seconds": 0.123, "predict_seconds": 1e-3, "certificate": 1e-5, "cut": False,
        "metrics": {}, "training_rows": 79,
        "note": "not converged in 3 of 5 folds",
    }  # fmt: skip
    rows = [row, {**row, "model": "majority class", "baseline": True, "note": "baseline"}]
    result = {
        "notes": [], "columns": [], "warnings": [], "data": "t.csv", "rows": 99, "features": 3,
        "task": "classification", "folds": 5, "split": "stratified", "seconds": 1.0,
        "metric": "accuracy", "leaderboard": rows, "training_rows": 79,
        "compile_seconds": 0.0, "winner": None, "verdict": "",
    }  # fmt: skip
    console = Console(width=width, file=io.StringIO())
    show_leaderboard(result, console)
    text = console.file.getvalue()
    words = text.split()
    for word in ("baseline", "converged", "HistGradientBoostingClassifier", "0.9123", "folds"):
        assert word in words
    table = text.splitlines()[1:]
    assert max(map(len, table)) <= width
    assert [name in words for name in ("fit", "certificate", "predict")] == {
        60: [False, False, False], 80: [True, True, False], 120: [True, True, True],
    }[width]  # fmt: skip


def test_metric_names_agree_with_the_table_of_metrics():
    assert [metric.value for metric in Metric] == list(METRICS)


# Preparation -------------------------------------------------------------------------------------


UNIT = 2.0**17  # prices in cents; a power of two rounds nothing


@pytest.mark.parametrize(("name", "cls"), all_estimators("regressor"), ids=name_of)
def test_no_unit_and_no_origin_of_the_target_changes_a_fit(name, cls):
    """2¹⁷ y and y + 4096 are learned as y is; by themselves, all but those on the list are."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = X @ [2, -1, 0, 0] + 0.3 * rng.standard_normal(60)

    def moves(model):
        plain, larger, higher = (clone(model).fit(X, t).predict(X) for t in (y, UNIT * y, y + 4096))
        unit, origin = larger / UNIT - plain, higher - 4096 - plain
        return np.abs(unit).max() > 1e-5 or np.sqrt(np.mean(origin**2)) > 0.5  # sums round

    model = model_for(cls, read_shipped("diabetes"), seed=0)
    if name in ("Lasso", "LassoLars", "ElasticNet", "PoissonRegressor", "GammaRegressor"):
        assert core(model)[0] is model  # they keep the target, for the reasons given there
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert not moves(model)
        assert moves(core(model)[0]) == cls.card.scale_target


# Groups and time ---------------------------------------------------------------------------------


@pytest.fixture
def visits(tmp_path):
    """Many rows of few patients, each of whom has an outcome; a column that names the patient."""
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(30), 8)
    fever = rng.standard_normal(30)[patient] + 1e-3 * rng.standard_normal(240)
    ill = rng.integers(0, 2, 30)[patient]
    day = rng.permutation(240)
    file = tmp_path / "visits.csv"
    return write(file, patient=[f"p{i}" for i in patient], fever=fever, day=day, ill=ill)


def test_groups_stay_together(visits):
    tree = ["--model", "DecisionTreeClassifier", "--drop", "day"]
    alone = board(visits, *tree, "--drop", "patient")
    grouped = board(visits, *tree, "--groups", "patient")
    assert alone["leaderboard"][0]["score"] > 0.9  # it recognises the patients
    assert max(row["score"] for row in grouped["leaderboard"]) < 0.75
    assert grouped["split"] == "by group"
    assert [c["name"] for c in grouped["columns"]] == ["fever"]


def test_time_learns_from_the_past_only(tmp_path):
    n = 120
    order = np.random.default_rng(0).permutation(n)
    days = pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 12, 31), eager=True)[:n][order]
    file = write(tmp_path / "t.parquet", day=days, y=(np.arange(n) * 1.5)[order])
    forest = ["--model", "DecisionTreeRegressor"]
    assert board(file, *forest)["leaderboard"][0]["score"] > 0.99
    ahead = board(file, *forest, "--time", "day")  # a tree cannot go on with a trend
    assert max(row["score"] for row in ahead["leaderboard"]) < 0
    assert ahead["split"] == "in the order of 'day'"


# The budget --------------------------------------------------------------------------------------


def test_a_curve_promises_shrinking_gains():
    assert promise([500], [0.7], 8000) == 0.7
    assert promise([500, 2000], [0.7, 0.7], 8000) == 0.7
    assert promise([500, 2000], [0.7, 0.6], 8000) == 0.6
    assert_allclose(promise([500, 2000], [0.6, 0.7], 32_000), 0.7 + 0.08 + 0.064, rtol=1e-12)


def test_cost_follows_a_power_law():
    cost = Cost([(500, 1.0, 1e-6), (2000, 16.0, 4e-6)])  # n² to fit, n a row to predict
    assert_allclose(cost(8000, 1000), 256.0 + 0.016, rtol=1e-12)
    assert cost.rows(300.0, 8000, 1000) == 8000
    assert cost.rows(64.01, 8000, 10) == pytest.approx(4000, rel=0.05)
    assert cost.rows(0.0, 8000, 10) == 500


def test_who_needs_too_long_gets_fewer_rows_and_is_marked(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60_000, 3))  # a forest takes seconds on any machine
    file = write(tmp_path / "t.csv", a=X[:, 0], b=X[:, 1], y=(X @ [1, 1, 1] > 0).astype(int))
    models = ["--model", "RidgeClassifier", "--model", "RandomForestClassifier"]
    result = board(file, *models, "--seconds", 0.5)
    rows = {row["model"]: row for row in result["leaderboard"]}
    assert rows["RandomForestClassifier"]["cut"]
    assert "cut: " in rows["RandomForestClassifier"]["note"]
    assert "for want of time" in call(file, *models, "--seconds", 0.5).output


@pytest.fixture
def curved(tmp_path):
    """Two classes that only a curved model tells apart, once it has seen enough rows."""
    X = np.random.default_rng(0).standard_normal((12_000, 4))
    y = (0.7 * X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    return write(tmp_path / "t.csv", **{f"x{j}": X[:, j] for j in range(4)}, y=y)


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("mlreplica.cli.kept.user_folder", lambda: tmp_path / "cache")


class Fake:
    """Folds whose fits take no time: the learning curves are given, costs are n times a factor."""

    n_test, parts = 50_000, range(5)

    def __init__(self, full, **models):
        self.full, self.models, self.asked = full, models, []
        self.table, self.judge = SimpleNamespace(X=np.empty((full, 1))), METRICS["accuracy"]
        self.now = 0.0

    def __len__(self):
        return 5

    def fit(self, k, name, rows=None, tests=None):
        limit, slope, cost = self.models[name]
        self.asked.append((name, k, rows))
        self.now += cost * rows
        score = limit - slope * rows**-0.5
        return Fit(score, cost * rows, 0.0, rows, (cost * rows, 0.0), tests=tests or 50_000,
                   blocks=tuple(score + 0.001 * np.arange(10)))  # fmt: skip


@pytest.mark.parametrize("seconds", [3.0, 6.0, 600.0])
def test_a_late_starter_gets_the_time(monkeypatch, seconds):
    """At 500 rows the line leads; on all rows the curve does, and is confirmed there."""
    monkeypatch.setattr("mlreplica.core.compile.threads.n_threads", lambda *_: 1)
    slow = {f"slow{j}": (0.6, 1.0, 1e-4) for j in range(8)}
    folds = Fake(320_000, line=(0.73, 0.1, 1e-8), curve=(0.82, 3.5, 1e-6), **slow)
    clock = Ticking(lambda: folds.now)
    contest = Contest(folds, clock, seconds)
    contest.run({name: name for name in folds.models})
    found = contest.found(folds.models)
    assert folds.models["line"][0] - 0.1 * 500**-0.5 > 0.82 - 3.5 * 500**-0.5
    assert found["curve"][0] == max(rows for rows, _ in found.values()) == 320_000
    assert found["slow0"][0] < 320_000 or seconds == 600.0
    assert clock() < 1.3 * seconds


class Ticking:
    """A clock that is told the time; nothing is ever compiled."""

    compiled = 0.0

    def __init__(self, now):
        self.now = now

    def __call__(self):
        return self.now()


def row_of(model, scores, seconds=1.0, rows=100, blocks=()):
    return {
        "model": model, "baseline": False, "score": np.mean(scores), "scores": scores,
        "fit_seconds": seconds, "predict_seconds": 0.0, "training_rows": rows, "cut": False,
        "blocks": list(blocks),
    }  # fmt: skip


def test_ties_go_to_the_simplest_and_are_said():
    models = dict(all_estimators("classifier"))
    good = [0.80, 0.82, 0.81, 0.79]
    forest = row_of("RandomForestClassifier", good, 9.0)
    line = row_of("RidgeClassifier", [0.81, 0.80, 0.82, 0.785], 1.0)
    tree = row_of("DecisionTreeClassifier", [0.805, 0.81, 0.81, 0.79], 0.1)
    worse = row_of("GaussianNB", [0.70, 0.72, 0.71, 0.69], 0.01)
    fewer = row_of("BernoulliNB", good, 0.01, rows=50)
    found = choose([forest, line, tree, worse, fewer], models, 1.0)
    assert found["winner"] == "RidgeClassifier"
    assert found["tied"] == ["RandomForestClassifier", "RidgeClassifier", "DecisionTreeClassifier"]
    assert found["verdict"] == (
        "3 models are within one standard error of the best: RidgeClassifier is the simplest of "
        "them, DecisionTreeClassifier the fastest"
    )
    alone = choose([forest, worse, fewer], models, 1.0)
    assert alone["winner"] == "RandomForestClassifier"
    assert "best by more than one standard error" in alone["verdict"]
    one = [row_of(m, [s], blocks=[s, s + 0.1]) for m, s in (("SVC", 0.8), ("GaussianNB", 0.7))]
    assert choose(one, models, 1.0)["tied"] == ["SVC"]


def test_further_metrics_are_told(curved, own_cache):
    result = board(curved, "--model", "LogisticRegression", "--seconds", 0)
    (row,) = (r for r in result["leaderboard"] if r["model"] == "LogisticRegression")
    others = set(METRICS) - {"r2", "rmse", "mae"}
    assert set(row["metrics"]) == others
    assert_allclose(row["metrics"]["accuracy"], row["score"], rtol=1e-12)


def test_resume_repeats_no_fit(curved, own_cache, monkeypatch):
    models = ["--model", "RidgeClassifier", "--model", "DecisionTreeClassifier"]
    call(curved, *models, "--seconds", 0.05)  # reading takes longer, so all are cut
    before = len(fits := [])
    fit = Folds.fit
    monkeypatch.setattr(Folds, "fit", lambda self, *a: (fits.append(a[:3]), fit(self, *a))[1])
    result = board(curved, *models, "--seconds", 60, "--resume")
    assert not any(row["cut"] for row in result["leaderboard"])
    assert all(rows > 500 for _, _, rows in fits[before:])  # the first step was kept


@pytest.mark.parametrize(
    ("value", "sd", "text"),
    [
        (-0.00001, 0.0, "0.0000 ± 0.0000"),
        (1e59, 1e58, "1.000e+59 ± 1.0e+58"),
        (12.3456, None, "12.35"),
    ],
)
def test_scores_are_short(value, sd, text):
    assert with_error(value, sd) == text


def test_the_report_says_nothing_of_the_command_line():
    assert plain("target: 'y', the last column (--target to change)") == (
        "target: 'y', the last column"
    )
    assert plain("'a' alone predicts 'y': is it known before? If not, --drop 'a'") == (
        "'a' alone predicts 'y': is it known before?"
    )
    assert plain("-200 stands apart: if it means missing, --missing -200") == "-200 stands apart"


# Warnings ----------------------------------------------------------------------------------------


def test_leaks_copies_and_imbalance_are_warned_of(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal(300).round(9), (rng.random(300) < 0.1).astype(int)
    leak = np.where(y == 1, "paid", "open")
    rows = {"x": np.r_[x, x[:60]], "leak": np.r_[leak, leak[:60]], "y": np.r_[y, y[:60]]}
    file = write(tmp_path / "t.csv", **rows)
    said = board(file, *QUICK)["warnings"]
    assert said[0].startswith("'leak' alone predicts 'y'")
    assert "are copies of rows learned from" in said[1]
    assert "of the rows are '0', so accuracy says little" in said[2]
    fixed = board(file, *QUICK, "--drop", "leak", "--distinct", "--metric", "roc_auc")
    assert fixed["warnings"] == []
    assert "60 rows that are copies left out" in fixed["notes"]


# The report --------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_report_is_whole_and_its_program_repeats_the_score(tmp_path, task):
    rng = np.random.default_rng(0)
    n = 160
    size, colour = rng.standard_normal(n), rng.choice(["red <b>", "green"], n)
    y = size + (colour == "green") + 0.3 * rng.standard_normal(n)
    file = write(
        tmp_path / "t.csv",
        size=[None if i % 9 == 0 else s for i, s in enumerate(size)],
        colour=colour,
        y=np.where(y > 0.5, "yes", "no") if task == "classification" else y,
    )
    quick = QUICK if task == "classification" else QUICK_NUMBERS
    result = board(file, *quick, "--report", tmp_path / "r.html")
    html = (tmp_path / "r.html").read_text(encoding="utf-8")
    for part in ("Leaderboard", "Which columns count", "Would more rows help?", "The data"):
        assert part in html
    drawn = {"classification": ["roc", "pr", "calibration"], "regression": ["truth", "residuals"]}
    for name in drawn[task]:
        assert f'id="{name}"' in html
    assert "red <b>" not in html  # names of the data are escaped
    assert "http://" not in html.replace("http://www.w3.org", "")
    from html import unescape

    code = unescape(html.partition('<pre tabindex="0">')[2].partition("</pre>")[0])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    score = float(done.stdout.split()[0])
    assert_allclose(score, winner_of(result)["score"], rtol=1e-9)
