"""`fit`, `predict`, `explain`, `watch`, `models`: a kept model is the one that was fitted."""

import io
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from typer.testing import CliRunner

import mlreplica
from mlreplica.cli.app import app
from mlreplica.cli.explain import pulls as pulls_of
from mlreplica.cli.models import catalogue, core
from mlreplica.discovery import all_estimators

BOOK = Path(__file__).parents[2] / "book"


def call(*args):
    return CliRunner().invoke(app, list(map(str, args)))


def found(*args):
    result = call(*args, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture
def flats():
    """Columns of every kind; the price depends on size, kind and nothing else."""
    rng = np.random.default_rng(0)
    n = 150
    size, kind = rng.normal(80, 20, n), rng.choice(["flat", "house"], n)
    price = 3 * size + 80 * (kind == "house") + rng.normal(0, 5, n)
    return pl.DataFrame(
        {
            "size": [
                None if i % 13 == 0 else f"{s:.1f}".replace(".", ",") for i, s in enumerate(size)
            ],
            "kind": kind,
            "sold": [f"2024-{i % 12 + 1:02d}-{i % 28 + 1:02d}" for i in range(n)],
            "price": price,
            "dear": np.where(price > np.median(price), "yes", "no"),
        }
    )


@pytest.fixture
def files(tmp_path, flats):
    flats.drop("dear").write_csv(tmp_path / "price.csv", separator=";")
    flats.drop("price").write_csv(tmp_path / "dear.csv", separator=";")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "table", "settings"),
    [
        ("Ridge", "price", {"alpha": 0.5}),
        ("DecisionTreeRegressor", "price", {"max_depth": 3}),
        ("LogisticRegression", "dear", {}),
        ("SVC", "dear", {"C": 2.0, "kernel": "linear"}),
        ("SVR", "price", {"C": 2.0}),  # it sees the price standardised
    ],
)
def test_a_kept_model_predicts_what_the_fitted_one_does(files, flats, name, table, settings):
    words = [w for k, v in settings.items() for w in ("--set", f"{k}={v}")]
    model = files / "m.skops"
    said = found("fit", name.lower(), files / f"{table}.csv", "-o", model, *words)
    assert (said["model"], said["rows"], said["parameters"]) == (name, 150, settings)
    result = found("predict", model, files / f"{table}.csv")
    pipeline = mlreplica.load(model)  # takes frames of any make
    expected = pipeline.predict(flats)
    predicted = [row["prediction"] for row in result["predictions"]]
    if table == "price":
        assert_allclose(predicted, expected, rtol=1e-12)
        assert result["score"]["metric"] == "r2"
    else:
        assert predicted == expected.tolist()
    assert result["score"]["score"] > 0.75
    last, _ = core(pipeline.steps[-1][1])
    assert type(last).__name__ == name
    assert {k: last.get_params()[k] for k in settings} == settings


def test_predictions_go_to_stdout_or_into_a_file(files, flats):
    call("fit", "LogisticRegression", files / "dear.csv", "-o", files / "m.skops")
    result = call("predict", files / "m.skops", files / "dear.csv")
    assert result.exit_code == 0
    printed = pl.read_csv(io.StringIO(result.stdout))
    assert printed.columns == ["prediction", "P(no)", "P(yes)"]
    assert "accuracy" in result.stderr
    for suffix in (".csv", ".parquet", ".jsonl"):
        out = files / f"out{suffix}"
        assert call("predict", files / "m.skops", files / "dear.csv", "-o", out).exit_code == 0
    kept = pl.read_parquet(files / "out.parquet")
    assert kept.columns == [*flats.drop("price").columns, *printed.columns]
    assert kept["prediction"].to_list() == printed["prediction"].to_list()
    wrong = call("predict", files / "m.skops", files / "dear.csv", "-o", files / "out.doc")
    assert (wrong.exit_code, "must end in .csv" in wrong.output) == (1, True)


def test_new_data_that_differ_are_spoken_of(files, flats):
    call("fit", "Ridge", files / "price.csv", "-o", files / "m.skops")
    path = files / "new.csv"
    flats.select("size", "sold").write_csv(path)
    result = call("predict", files / "m.skops", path)
    assert result.exit_code == 1
    assert "lacks the column 'kind' that the model learned from" in result.output
    rows = {"size": ["70,5", "big"], "kind": ["flat", "castle"], "sold": ["2024-01-01", None]}
    pl.DataFrame(rows).write_parquet(files / "new.parquet")
    result = found("predict", files / "m.skops", files / "new.parquet")
    assert result["notes"] == [
        "1 values of 'size' are no number ('big'): taken as missing",
        "1 values of 'kind' are not seen in training ('castle'): taken as missing",
    ]
    assert result["score"] is None
    assert len(result["predictions"]) == 2
    pl.DataFrame(rows | {"size": ["big", "small"]}).write_csv(path)
    result = call("predict", files / "m.skops", path)
    assert result.exit_code == 1
    assert "column 'size' held numbers when the model learned; here it holds 'big'" in result.output


# Explain -----------------------------------------------------------------------------------------


def test_explain_finds_the_columns_that_count(files):
    call("fit", "Ridge", files / "price.csv", "-o", files / "m.skops")
    told = found("explain", files / "m.skops", files / "price.csv")
    order = [column["column"] for column in told["columns"]]
    assert order == ["size", "kind", "sold"]
    assert "kind = house" in [c["feature"] for c in told["coefficients"]]
    assert "size is missing" in [c["feature"] for c in told["coefficients"]]
    total = dict.fromkeys(order, 0.0)
    for number in (3, 20, 70, 140):
        row = found("explain", files / "m.skops", files / "price.csv", "--row", number)
        effects = {c["column"]: c["effect"] for c in row["columns"]}
        assert effects.keys() == total.keys()
        assert row["base"] + sum(effects.values()) == pytest.approx(row["output"], rel=1e-9)
        total = {name: total[name] + abs(effects[name]) for name in order}
    assert total["size"] > total["sold"]
    for words in ([], ["--row", 3]):
        shown = call("explain", files / "m.skops", files / "price.csv", *words)
        assert shown.exit_code == 0
        assert "size" in shown.output
    wrong = call("explain", files / "m.skops", files / "price.csv", "--row", 1000)
    assert (wrong.exit_code, "has the rows 0 to 149" in wrong.output) == (1, True)


def test_explanations_are_in_the_unit_of_the_target(files, flats):
    """A machine of the standardised price: slopes and pulls come out in prices."""
    line = [
        "SVR",
        files / "price.csv",
        "--set",
        "kernel=linear",
        "--drop",
        "kind",
        "--drop",
        "sold",
    ]
    assert "target standardised for SVR" in found("fit", *line, "-o", files / "m.skops")["notes"]
    told = found("explain", files / "m.skops", files / "price.csv")
    slopes = {c["feature"]: c["coefficient"] for c in told["coefficients"]}
    model = mlreplica.load(files / "m.skops")
    sizes = flats.head(2).with_columns(size=pl.Series(["80,0", "90,0"]))
    scale = model.steps[1][1].steps[1][1].scale_[0]
    assert_allclose(slopes["size"], np.diff(model.predict(sizes))[0] / 10.0 * scale, rtol=1e-6)
    last, unit = core(model.steps[-1][1])
    pulls = pulls_of(model, model[0].transform(flats[3:4]), most=len(flats))["support_vectors"]
    bias = flats["price"].mean() + unit * last.intercept_[0]
    assert_allclose(sum(v["pull"] for v in pulls) + bias, model.predict(flats[3:4])[0], rtol=1e-9)


def test_explain_shows_the_path_in_a_tree_and_the_support_vectors(files, flats):
    tree = ["DecisionTreeRegressor", files / "price.csv", "--set", "max_depth=2"]
    call("fit", *tree, "-o", files / "t.skops")
    told = found("explain", files / "t.skops", files / "price.csv", "--row", 0)
    assert told["path"][0] == "size is missing  (150 rows)"
    assert told["path"][-1].startswith("leaf of ")
    call("fit", "SVC", files / "dear.csv", "-o", files / "s.skops")
    told = found("explain", files / "s.skops", files / "dear.csv", "--row", 5)
    pulls = told["support_vectors"]
    assert pulls == sorted(pulls, key=lambda v: -abs(v["pull"]))
    model = mlreplica.load(files / "s.skops")
    assert {v["training_row"] for v in pulls} <= set(model.steps[-1][1].support_.tolist())


# Watch and models --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "pane"),
    [
        ("Perceptron", "margins"),
        ("Lasso", "lines"),
        ("SVC", "margins"),
        ("AdaBoostRegressor", "lines"),
    ],
)
def test_watch_records_real_steps(tmp_path, name, pane):
    told = found("watch", name, "-o", tmp_path / "w.html", "--no-open")
    html = (tmp_path / "w.html").read_text(encoding="utf-8")
    recording = json.loads(html.partition('application/json">')[2].partition("</script>")[0])
    assert recording["panes"][0]["type"] == pane
    assert len(recording["runs"][0]) == told["frames"] <= told["steps"]
    assert recording["runs"][0][-1] == told["last"]
    assert told["steps"] >= {"SVC": 10}.get(name, 2)
    for drawn in recording["panes"]:
        assert set(drawn.get("fields", ())) <= set(recording["runs"][0][0])


def test_watch_takes_a_table_and_opens_the_browser(files, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    result = call("watch", "LogisticRegression", files / "dear.csv", "-o", files / "w.html")
    assert result.exit_code == 0, result.output
    assert opened == [(files / "w.html").resolve().as_uri()]


def test_every_model_is_listed_with_a_page_that_exists():
    assert [m["model"] for m in found("models")] == [name for name, _ in all_estimators()]
    for model in catalogue():
        assert model["summary"], model
        assert (BOOK / f"{model['page']}.md").exists(), model
    assert {m["task"] for m in found("models", "--task", "regression")} == {"regression"}
    assert "perceptron" in call("models").output


def test_a_model_of_words_is_kept_with_its_words(tmp_path):
    rng = np.random.default_rng(0)
    good = rng.random(60) < 0.5
    lines = [f"{rng.choice(['film', 'play'])} {'great' if g else 'dull'} end" for g in good]
    frame = pl.DataFrame({"review": lines, "label": np.where(good, "yes", "no")})
    frame.write_csv(tmp_path / "t.csv")
    kept = tmp_path / "m.skops"
    found("fit", "RidgeClassifier", tmp_path / "t.csv", "-o", kept, "--text", "review")
    rows = call("predict", kept, tmp_path / "t.csv").stdout.split()
    assert rows[-60:] == frame["label"].to_list()
    said = found("explain", kept, tmp_path / "t.csv")
    assert [row["column"] for row in said["columns"]] == ["review"]
    assert {row["feature"] for row in said["coefficients"]} >= {"review: great", "review: dull"}


def test_what_the_model_does_not_see_is_said(tmp_path):
    rows = "".join(f"remark no {i} by hand,{i % 7},{i % 3 - i % 7}\n" for i in range(60))
    (tmp_path / "t.csv").write_text(f"remark,x,y\n{rows}")
    said = call("fit", "Ridge", tmp_path / "t.csv", "-o", tmp_path / "m").stdout
    assert "'remark' left out: text, 60 different values" in said
    assert "--text to use its words" in said
