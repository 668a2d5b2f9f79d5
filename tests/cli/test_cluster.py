"""`mlreplica cluster`: groups that are there, rows without any, and wrong calls"""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from mlreplica.cli.app import app
from mlreplica.cli.cluster import coordinates, explore, read_rows, shipped_rows
from mlreplica.cli.table import Choices


def call(*args):
    return CliRunner().invoke(app, ["cluster", *map(str, args)])


@pytest.fixture(scope="module")
def animals(tmp_path_factory):
    """Cats and dogs by weight, a gap, and a category that tells them apart."""
    rng, path = np.random.default_rng(0), tmp_path_factory.mktemp("c") / "animals.csv"
    lines = ["name,weight,length,food"]
    for i in range(80):
        dog = i % 2
        weight = rng.normal(30 if dog else 4, 1)
        length = "" if i == 7 else f"{rng.normal(90 if dog else 45, 3):.2f}"
        lines.append(f"animal {i},{weight:.2f},{length},{'bone' if dog else 'fish'}")
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_groups_are_found_described_and_written(animals, tmp_path):
    report, labels = tmp_path / "r.html", tmp_path / "l.csv"
    result = call(animals, "--report", report, "--labels", labels)
    assert result.exit_code == 0, result.output
    assert "2 clusters by" in result.output
    assert "come back on resampled rows" in result.output
    assert "weight high" in result.output
    assert "food = " in result.output
    found = np.loadtxt(labels, delimiter=",", skiprows=1, dtype=int)
    assert (found[:, 0] == np.arange(80)).all()
    assert len(set(found[::2, 1])) == len(set(found[1::2, 1])) == 1
    page = report.read_text(encoding="utf-8")
    assert page.count("<svg") == 2
    assert "Cluster 1: 40 rows" in page


def test_json_is_plain(animals):
    found = json.loads(call(animals, "--k", 2, "--columns", "weight", "--json").output)
    assert found["k"] == 2
    assert found["votes"] == {}
    assert [column["name"] for column in found["columns"]] == ["weight"]
    assert found["methods"][0]["stability"] > 0.99


def test_rows_without_groups_are_called_so():
    rows = shipped_rows("iris")
    rng = np.random.default_rng(1)
    noise = rows._replace(X=rng.normal(size=(150, 4)))
    found = explore(noise, seed=0)
    assert not found["stable"]
    assert found["votes"]["gap"] == 1


def test_coordinates_are_standard_and_whole(animals):
    Z = coordinates(read_rows(animals, Choices()))
    assert np.isfinite(Z).all()
    assert Z.shape == (80, 4)
    np.testing.assert_allclose(Z[:, :2].std(axis=0), 1.0)
    assert np.isclose(np.linalg.norm(Z[0, 2:] - Z[1, 2:]), 1.0)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_the_size_of_the_numbers_does_not_matter(tmp_path, scale):
    rng, path = np.random.default_rng(0), tmp_path / "far.csv"
    X = np.r_[rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + 9]
    lines = [f"{a * scale},{b * scale}" for a, b in X]
    path.write_text("\n".join(["a,b", *lines]), encoding="utf-8")
    found = explore(read_rows(path, Choices(None, None, (), ("a", "b"))))
    assert found["k"] == found["methods"][0]["clusters"] == 2
    assert all(len(profile["traits"]) == 2 for profile in found["profiles"])
    assert f"{X[30:, 0].mean() * scale:.4g}" in "".join(found["profiles"][1]["traits"])


def test_profiles_have_the_digits_that_tell_groups_apart(animals):
    rows = read_rows(animals, Choices(None, None, (), ("weight",)), ("weight",))
    far = explore(rows._replace(X=rows.X + 1e9), k=2)
    said = " ".join(trait for profile in far["profiles"] for trait in profile["traits"])
    assert "1000000030" in said
    assert "1000000004" in said


def test_few_different_rows_are_no_stream_of_warnings(tmp_path, recwarn):
    path = tmp_path / "two.csv"
    path.write_text("\n".join(["a,b", *(f"{9 * (i % 2)},{i % 2}" for i in range(60))]))
    result = call(path)
    assert result.exit_code == 0
    assert "2 clusters by" in result.output
    assert not recwarn.list


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--k", "many"), "--k must be auto or a number above 1"),
        (("--k", "60"), "too many for 80 rows"),
        (("--columns", "weigh"), "did you mean 'weight'?"),
        (("--data", "iris"), "either a file or --data"),
        (("--labels", "/no/folder/x.csv"), "there is no folder"),
        (("--columns", "name"), "no usable column"),
    ],
)
def test_wrong_calls_are_one_line(animals, args, said):
    result = call(animals, *args)
    assert result.exit_code == 1
    assert said in result.output
