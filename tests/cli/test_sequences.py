"""mlreplica fit, on sequences"""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import mlreplica
from mlreplica.cli.app import app
from mlreplica.datasets import load_alice


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_hidden_markov_model_of_a_table(tmp_path):
    rng, z = np.random.default_rng(0), np.tile(np.repeat([0, 1], 20), 3)
    rows = [f"{k // 40},{x:.3f}" for k, x in enumerate(4 * z + rng.normal(size=120))]
    (tmp_path / "d.csv").write_text("\n".join(["who,x", *rows]))
    out = tmp_path / "m.skops"
    args = "fit", "GaussianHMM", tmp_path / "d.csv", "-o", out, "--sequence", "who"
    result = call(*args, "--set", "n_components=2", "--json")
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert (said["sequences"], said["rows"], said["features"]) == (3, 120, ["x"])
    assert np.ptp(mlreplica.load(out).means_) == pytest.approx(4, abs=0.6)
    result = call("predict", out, tmp_path / "d.csv", "--sequence", "who", "--json")
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)["predictions"]
    states = np.array([row["prediction"] for row in rows])
    model, X = mlreplica.load(out), pl.DataFrame({"x": [float(row["x"]) for row in rows]})
    assert (states == model.predict(X, [40, 40, 40])).all()
    assert (states != states[0]).tolist() == (z != z[0]).tolist()
    assert rows[0]["P(0)"] + rows[0]["P(1)"] == pytest.approx(1)
    result = call("explain", out, tmp_path / "d.csv", "--sequence", "who", "--json")
    said = json.loads(result.stdout)
    total = sum(item["terms"]["transition"] + item["terms"]["emission"] for item in said)
    assert total == pytest.approx(model.decode(X, [40, 40, 40])[0])
    shown = call("explain", out, tmp_path / "d.csv", "--sequence", "who", "--row", 3)
    assert "emission" in shown.output
    assert "no row 120" in call("explain", out, tmp_path / "d.csv", "--row", 120).output
    (tmp_path / "e.csv").write_text("who,y\n0,1\n")
    assert "no column 'x'" in call("predict", out, tmp_path / "e.csv").output
    wrong = call("fit", "gaussianhmm", tmp_path / "d.csv", "-o", out, "--sequence", "whom")
    assert wrong.exit_code != 0
    assert "no column 'whom'" in wrong.output


def test_a_random_field_of_a_conll_file(tmp_path):
    words, tags = load_alice()
    lines = [
        "\n".join(map("\t".join, zip(w, t, strict=True))) for w, t in zip(words, tags, strict=True)
    ]
    (tmp_path / "alice.conll").write_text("\n\n".join(lines))
    out = tmp_path / "m.skops"
    result = call("fit", "CRF", tmp_path / "alice.conll", "-o", out, "--set", "c2=0.5")
    assert result.exit_code == 0, result.output
    assert "26 sequences, 408 rows" in result.output
    model = mlreplica.load(out)
    assert model.steps[-1][1].c2 == 0.5
    result = call("predict", out, tmp_path / "alice.conll", "-o", tmp_path / "found.csv")
    assert result.exit_code == 0, result.output
    assert "on 408 rows" in result.output
    (tmp_path / "new.conll").write_text("The\nrabbit\nran\n.\n\nDown\n")
    result = call("predict", out, tmp_path / "new.conll")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == "sentence,word,prediction,probability"
    labels = [line.split(",")[2] for line in result.stdout.splitlines()[1:5]]
    sentence = [("The",), ("rabbit",), ("ran",), (".",)]
    assert labels == list(model.predict([sentence])[0])
    assert labels[:2] == ["DET", "NOUN"]
    said = json.loads(call("explain", out, tmp_path / "new.conll", "--row", 1, "--json").stdout)
    terms = model[:-1].transform([sentence])[0]
    expected = model.steps[-1][1].explain(terms)[1]
    assert said[0]["terms"] == pytest.approx(
        {"transition": expected["transition"]} | expected["attributes"]
    )
    (tmp_path / "wide.conll").write_text("a b c d\n")
    assert "has 4 columns" in call("predict", out, tmp_path / "wide.conll").output
    signs = "# text = by # 100\nby X\n# Y\n100 Y\n\n\n# sent_id 2\nso X\n"
    (tmp_path / "signs.conll").write_text(signs)
    result = call("fit", "CRF", tmp_path / "signs.conll", "-o", out, "--json")
    assert (json.loads(result.stdout)["sequences"], json.loads(result.stdout)["rows"]) == (2, 4)
    (tmp_path / "bad.conll").write_text("one two\nthree\n")
    assert call("fit", "CRF", tmp_path / "bad.conll", "-o", out).exit_code != 0


def test_a_field_knows_its_columns_whatever_kept_a_weight(tmp_path):
    file, out = tmp_path / "tagged.conll", tmp_path / "m.skops"
    file.write_text("a P X\nb Q Y\n\na P X\n")
    call("fit", "CRF", file, "-o", out, "--set", "c1=50", "--set", "c2=0")
    assert not mlreplica.load(out).steps[-1][1].attributes_
    result = call("predict", out, file, "-o", tmp_path / "found.csv")
    assert result.exit_code == 0, result.output
    assert "on 3 rows" in result.output
