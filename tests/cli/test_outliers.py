"""`mlreplica outliers`: rows that were made unusual are found, and the reasons are right"""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from mlreplica.cli.app import app
from mlreplica.cli.cluster import shipped_rows
from mlreplica.cli.outliers import expected, explore


def call(*args):
    return CliRunner().invoke(app, ["outliers", *map(str, args)])


@pytest.fixture(scope="module")
def animals(tmp_path_factory):
    """Weights and heights that go together, but for three rows; a gap; a rare food."""
    rng, path = np.random.default_rng(0), tmp_path_factory.mktemp("o") / "animals.csv"
    height = rng.normal(50, 8, 120)
    weight = 0.5 * height + rng.normal(0, 1, 120)
    age = rng.normal(6, 2, 120)
    weight[17] = 480.0  # a comma that was forgotten
    height[40], weight[40] = 65.0, 16.0  # each usual, together not
    food = np.where(rng.random(120) < 0.5, "fish", "meat").astype(object)
    food[80], age[80] = "grass", 25.0
    lines = ["name,weight,height,age,food"]
    for i in range(120):
        years = "" if i == 7 else f"{age[i]:.1f}"
        lines.append(f"animal {i},{weight[i]:.2f},{height[i]:.2f},{years},{food[i]}")
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_unusual_rows_are_found_and_explained(animals, tmp_path):
    report, scores = tmp_path / "r.html", tmp_path / "s.csv"
    before = animals.read_bytes()
    result = call(animals, "--report", report, "--scores", scores)
    assert result.exit_code == 0, result.output
    assert "weight = 480" in result.output
    assert "food = grass: 1 of 120 rows" in result.output
    assert "does not go with the other columns" in result.output
    table = np.genfromtxt(scores, delimiter=",", names=True)
    assert sorted(table["row"]) == list(range(120))
    assert {17, 80} == set(table["row"][:2])
    assert 40 in table["row"][:10]
    assert (np.diff(table["votes"]) <= 0).all()
    page = report.read_text(encoding="utf-8")
    assert page.count("<svg") == 2
    assert "Row 17:" in page
    assert animals.read_bytes() == before


def test_json_is_plain(animals):
    found = json.loads(call(animals, "--columns", "weight", "--most", 2, "--json").output)
    assert found["unusual"][0]["row"] == 17
    assert len(found["unusual"]) <= 2
    assert [d["name"] for d in found["detectors"]][:2] == ["ZScore", "IQR"]


def test_even_rows_are_left_alone():
    rows = shipped_rows("iris")
    even = rows._replace(X=np.random.default_rng(1).uniform(size=(150, 4)))
    found = explore(even)
    assert found["verdict"].startswith("No row is unusual")


def test_categories_alone(tmp_path):
    path = tmp_path / "c.csv"
    path.write_text("a,b\n" + "x,u\ny,v\n" * 30 + "z,u\n", encoding="utf-8")
    result = call(path)
    assert result.exit_code == 0, result.output
    assert "a = z: 1 of 61 rows" in result.output


def test_expectations_of_a_line():
    x = np.random.default_rng(0).normal(size=200)
    X = np.column_stack([x, 2 * x + 0.1 * np.random.default_rng(1).normal(size=200)])
    X[3] = 1.0, -2.0
    value, size = expected(X)
    assert abs(value[3, 1] - 2.0) < 0.2
    assert np.abs(size).max(axis=1).argmax() == 3


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--columns", "weigh"), "did you mean 'weight' or 'height'?"),
        (("--data", "iris"), "either a file or --data"),
        (("--scores", "/no/folder/x.csv"), "there is no folder"),
    ],
)
def test_wrong_calls_are_one_line(animals, args, said):
    result = call(animals, *args)
    assert result.exit_code == 1
    assert said in result.output


def test_too_few_rows(tmp_path):
    (tmp_path / "t.csv").write_text("a\n" + "1.5\n2.5\n" * 5, encoding="utf-8")
    assert "need 20 at least" in call(tmp_path / "t.csv").output
