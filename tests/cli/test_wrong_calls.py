"""Every wrong call ends with one line on what is wrong, a code other than 0, and no traceback."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import mlreplica
from mlreplica.cli.app import app
from mlreplica.linear_model import Ridge

ROWS = "\n".join(f"{i * i % 41},{i % 7},{'ab'[i % 2]}" for i in range(40))
CSV = f"first,second,label\n{ROWS}\n"
NUMBERS = CSV.replace(",a\n", ",1\n").replace(",b\n", ",2\n")
DATES = "x,when\n" + "".join(f"{i % 5},2024-01-{i + 1:02d}\n" for i in range(28))
IDS = "id,y\n" + "".join(f"{i * 7919 % 10007},{i % 2}\n" for i in range(40))
NEAR = "x,y\n" + "".join(f"{1e5 + 1e-10 * (i % 3)!r},{i % 2}\n" for i in range(40))
GARBLED = b"a,b\n\x81\x8d,2\nx,3\n"

BAD = [
    # arguments, file name, its content, exit code, what the line says
    ("compare {}", "gone.csv", None, 1, "no file"),
    ("compare {dir}/tabel.csv", "table.csv", CSV, 1, "did you mean 'table.csv'?"),
    ("compare {}", "empty.csv", "", 1, "is empty"),
    ("compare {}", "blank.csv", "\n \n", 1, "is empty"),
    ("compare {}", "head.csv", "a,b\n", 1, "has a header but no rows"),
    ("compare {}", "table.docx", "x", 1, "must end in .csv, .tsv"),
    ("compare {}", "broken.sqlite", "not a database at all", 1, "not a database"),
    ("compare {}", "empty.sqlite", "", 1, "is empty"),
    ("compare {} --text none", "table.csv", CSV, 1, "no column 'none' for --text"),
    ("compare {} --text first --numeric first", "table.csv", CSV, 1, "cannot be both --numeric"),
    (
        "compare {} --text first",
        "words.csv",
        "first,y\none,1\ntwo,2\n",
        1,
        "no word that some rows",
    ),
    ("compare {}", "quote.csv", 'a,b\n1,2\n3,"4\n5,6\n', 1, "line 3 opens a quote that is never"),
    ("compare {}", "remarks.csv", "# a\n# b\n", 1, "is empty"),
    ("compare {}", "ids.csv", IDS, 1, "an identifier"),
    ("compare {}", "near.csv", NEAR, 1, "constant up to rounding"),
    ("compare {}", "table", "x", 1, "must end in .csv, .tsv"),
    ("compare {}", "broken.parquet", "not parquet at all", 1, "cannot read"),
    ("compare {}", "broken.arrow", "not arrow at all", 1, "cannot read"),
    ("compare {}", "broken.jsonl", "{'a': \n", 1, "cannot read"),
    ("compare {}", "broken.csv.gz", "not packed", 1, "cannot read"),
    ("compare {}", "empty.csv.gz", gzip.compress(b"", mtime=0), 1, "is empty"),
    ("compare {}", "ragged.csv", "a,b\n1,2\n3,4,5\n", 1, "line 3 has 3 fields, the header 2"),
    ("compare {}", "t.csv", GARBLED, 1, "neither UTF-8 nor Windows-1252; give its --encoding"),
    ("compare {}", "t.csv", b"a,b\n\0\0\0,2\n", 1, "it is not text"),
    ("compare {} --encoding klingon", "t.csv", CSV, 1, "no encoding 'klingon'"),
    ("compare {} --encoding utf-8", "t.csv", "a\nö\n".encode("latin-1"), 1, "is not utf-8"),
    ("compare {}", "folder.csv", "FOLDER", 1, "is a folder"),
    ("compare {} --target Labl", "t.csv", CSV, 1, "did you mean 'label'?"),
    ("compare {} --target zzz", "t.csv", CSV, 1, "there are 'first', 'second', 'label'."),
    ("compare {} --drop thrid", "t.csv", CSV, 1, "no column 'thrid' to drop"),
    ("compare {} --drop label --target label", "t.csv", CSV, 1, "no column 'label'"),
    (
        "compare {} --numeric first_",
        "t.csv",
        CSV,
        1,
        "no column 'first_' for --numeric; did you mean",
    ),
    ("compare {} --categorical x", "t.csv", CSV, 1, "no column 'x' for --categorical"),
    ("compare {} --numeric first --categorical first", "t.csv", CSV, 1, "cannot be both"),
    ("compare {} --numeric label --target first", "t.csv", CSV, 1, "holds no numbers, but text"),
    ("compare {} --numeric z", "t.csv", "z,x,y\n,1,2\n,2,3\n", 1, "column 'z' holds no values"),
    ("compare {} --groups grou", "t.csv", CSV, 1, "no column 'grou' for --groups"),
    ("compare {} --groups label", "t.csv", CSV, 1, "cannot be the groups or the time too"),
    ("compare {} --groups first --time second", "t.csv", CSV, 1, "either --groups or --time"),
    ("compare {} --time label --target first", "t.csv", CSV, 1, "neither dates nor numbers"),
    ("compare {}", "t.csv", "x,y\n1,5\n2,5\n3,5\n", 1, "the target 'y' is constant (5"),
    ("compare {}", "t.csv", "x,y\n1,\n2,\n", 1, "the target 'y' holds no values"),
    ("compare {}", "t.csv", DATES, 1, "the target 'when' holds dates"),
    ("compare {}", "t.csv", "y\n1\n2\n", 1, "no column besides the target 'y'"),
    ("compare {}", "t.csv", "x,y\n,a\n,b\n", 1, "no usable column besides the target"),
    ("compare {}", "t.csv", CSV + "7,7,c\n", 1, "class 'c' of 'label' has 1 rows, too few"),
    ("compare {} --folds 21", "t.csv", CSV, 1, "too few for 21 folds"),
    ("compare {} --target first --folds 30", "t.csv", CSV, 1, "40 rows are too few for 30 folds"),
    ("compare {} --task regression", "t.csv", CSV, 1, "--task regression needs numbers"),
    ("compare {} --target first --task classification", "t.csv", CSV, 1, "too many for classes"),
    ("compare {} --metric r2", "t.csv", CSV, 1, "not for classification; use accuracy"),
    ("compare {} --model SCV", "t.csv", CSV, 1, "no model 'SCV'; did you mean 'SVC'"),
    ("compare {} --model Ridge", "t.csv", CSV, 1, "Ridge is not for classification"),
    ("compare {} --report {dir}/no/r.html", "t.csv", CSV, 1, "there is no folder"),
    ("compare {} --report {dir}", "t.csv", CSV, 1, "it is a folder"),
    ("compare {} --data iris", "t.csv", CSV, 1, "give either a file or --data iris"),
    ("compare --target label", None, None, 1, "--target is for a file"),
    ("compare --drop label", None, None, 1, "--drop is for a file"),
    ("compare --folds 1", None, None, 2, "'--folds'"),
    ("compare --folds many", None, None, 2, "'--folds'"),
    ("compare --seconds -1", None, None, 2, "'--seconds'"),
    ("compare --seed -1", None, None, 2, "'--seed'"),
    ("compare --metric beauty", None, None, 2, "'--metric'"),
    ("compare --task sorting", None, None, 2, "'--task'"),
    ("compare --data mnist", None, None, 2, "'--data'"),
    ("compare --fold 3", None, None, 2, "--folds"),
    ("compare {} {}", "t.csv", CSV, 2, "nexpected"),
    ("compare {} --resume=3", "t.csv", CSV, 2, "'--resume'"),
    ("compare {} --seconds long", "t.csv", CSV, 2, "'--seconds'"),
    ("compare {} --seconds", "t.csv", CSV, 2, "'--seconds'"),
    ("compare {} --metric", "t.csv", CSV, 2, "'--metric'"),
    ("compare {} --metric rmse", "t.csv", CSV, 1, "not for classification"),
    ("compare {} --metric brier --target first", "t.csv", CSV, 1, "not for regression"),
    ("compare {} --time day", "t.csv", CSV, 1, "no column 'day' for --time"),
    ("compare {} --drop first --drop first_", "t.csv", CSV, 1, "no column 'first_' to drop"),
    ("predict", None, None, 2, "Missing argument"),
    ("predict {dir}/gone.skops", None, None, 2, "Missing argument"),
    ("explain", None, None, 2, "Missing argument"),
    ("explain {dir}/gone.skops {}", "t.csv", NUMBERS, 1, "no file"),
    ("cluster {}", "gone.csv", None, 1, "no file"),
    ("outliers {}", "gone.csv", None, 1, "no file"),
    ("outliers {}", "head.csv", "a,b\n", 1, "has a header but no rows"),
    ("cluster {}", "head.csv", "a,b\n", 1, "has a header but no rows"),
    ("watch", None, None, 2, "Missing argument"),
    ("watch SVC {} --no-open", "gone.csv", None, 1, "no file"),
    ("fit SVC {} -o {dir}", "t.csv", CSV, 1, "it is a folder"),
    ("fit SVC {} -o {dir}/m --set C=", "t.csv", CSV, 1, "could not be fitted"),
    ("dance", None, None, 2, "No such command 'dance'"),
    ("fit", None, None, 2, "Missing argument 'model'"),
    ("fit Ridge {}", "t.csv", NUMBERS, 2, "Missing option '--output'"),
    ("fit Ridge {} -o m.pkl", "t.csv", NUMBERS, 1, "not as a pickle; name it m.skops"),
    ("fit Ridge {} -o {}", "t.csv", NUMBERS, 1, "name it t.skops"),
    ("fit Ridge {} -o m.onnx", "t.csv", NUMBERS, 1, "name it m.skops"),
    ("fit Rigde {} -o m", "t.csv", NUMBERS, 1, "did you mean 'Ridge'"),
    ("fit KernelPCA {} -o m", "t.csv", NUMBERS, 1, "no model 'KernelPCA'"),
    ("fit Ridge {} -o {dir}/m --set alpha_=1", "t.csv", NUMBERS, 1, "did you mean 'alpha'?"),
    ("fit Ridge {} -o {dir}/m --set alpha", "t.csv", NUMBERS, 1, "--set takes NAME=VALUE"),
    ("fit Ridge {} -o {dir}/m --set alpha=-1", "t.csv", NUMBERS, 1, "could not be fitted"),
    ("fit Ridge {} -o {dir}/m", "t.csv", CSV, 1, "--task regression needs numbers"),
    ("fit Ridge {} -o {dir}/m --task classification", "t.csv", CSV, 1, "is for regression"),
    ("fit Ridge {} -o {dir}/no/m", "t.csv", NUMBERS, 1, "there is no folder"),
    ("predict {dir}/gone.skops {}", "t.csv", NUMBERS, 1, "no file"),
    ("predict {} {}", "t.csv", NUMBERS, 1, "not a model that mlreplica can load"),
    ("predict {dir}/bare.skops {}", "t.csv", NUMBERS, 1, "without the columns it learned from"),
    ("explain {dir}/bare.skops {}", "t.csv", NUMBERS, 1, "without the columns it learned from"),
    ("watch Rigde", None, None, 1, "did you mean 'Ridge'"),
    ("watch KernelRidge --no-open", None, None, 1, "has no steps to watch"),
    ("watch Ridge --no-open", None, None, 1, "found its answer at once"),
    ("models --task dancing", None, None, 2, "'--task'"),
    ("doctor now", None, None, 2, "nexpected"),
    ("warmup Lassie", None, None, 1, "'Lassie'"),
]


@pytest.mark.parametrize(("args", "name", "content", "code", "says"), BAD)
def test_wrong_calls_end_with_one_line(tmp_path, args, name, content, code, says):
    path = tmp_path / (name or "none")
    if content == "FOLDER":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    if "bare" in args:
        mlreplica.save(Ridge().fit([[0.0], [1.0]], [0.0, 1.0]), tmp_path / "bare.skops")
    words = [word.replace("{}", str(path)).replace("{dir}", str(tmp_path)) for word in args.split()]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == code, result.output
    assert isinstance(result.exception, SystemExit)
    assert len(result.output.strip().splitlines()) == 1, result.output
    assert result.output.startswith("mlreplica: ")
    assert says in result.output


def test_no_permission_to_write(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text(CSV)
    monkeypatch.setattr("mlreplica.cli.output.access", lambda *_: False)
    words = ["compare", str(tmp_path / "t.csv"), "--report", str(tmp_path / "r.html")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 1
    assert result.output.strip().endswith("r.html: permission denied.")


def test_a_full_disk(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    (tmp_path / "t.csv").write_text(CSV)
    monkeypatch.setattr(Path, "write_text", full)
    model = ["--model", "RidgeClassifier", "--report", str(tmp_path / "r.html")]
    result = CliRunner().invoke(app, ["compare", str(tmp_path / "t.csv"), *model])
    assert result.exit_code == 1
    assert result.output.strip().endswith("r.html: No space left on device.")


def test_a_report_that_was_not_written_is_not_announced(tmp_path, monkeypatch):
    def fail(*_):
        raise ValueError("singular")

    (tmp_path / "t.csv").write_text(CSV)
    monkeypatch.setattr("mlreplica.linear_model.RidgeClassifier.fit", fail)
    words = ["compare", str(tmp_path / "t.csv"), "--model", "RidgeClassifier"]
    result = CliRunner().invoke(app, [*words, "--report", str(tmp_path / "r.html")])
    assert not (tmp_path / "r.html").exists()
    assert "report: none, as no model could be fitted" in result.output
    assert "r.html" not in result.output


def test_ctrl_c_ends_a_running_comparison_with_one_line():
    program = """
import os, signal, threading, time
from mlreplica.cli.fits import Folds
from mlreplica.cli import main
def fit(self, *_):
    threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT]).start()
    time.sleep(600)  # a fit that no signal reaches
Folds.fit = fit
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program, "compare", "--data", "iris"],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "mlreplica: interrupted\n")


def test_ctrl_c_shows_what_there_is_and_writes_the_report(tmp_path):
    program = """
import os, signal, threading, time
from mlreplica.cli.fits import Folds
from mlreplica.cli import main
fit, done = Folds.fit, []
def some(self, *args):
    if len(done) < 4:
        done.append(args)
        return fit(self, *args)
    threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT]).start()
    time.sleep(600)
Folds.fit = some
main()
"""
    words = ["compare", "--data", "iris", "--report", str(tmp_path / "r.html")]
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False,
        timeout=120, env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (130, "mlreplica: interrupted\n")
    assert "interrupted; the same with --resume goes on" in done.stdout
    assert "AdaBoostClassifier" in done.stdout
    assert "Leaderboard" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_every_number_of_the_table_counts():
    assert len(BAD) >= 100
    assert np.all([code in (1, 2) for *_, code, _ in BAD])
