"""The commands as processes, `doctor`, `warmup`, and what is there without the extra."""

import json
import os
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

import mlreplica
from mlreplica.cli.app import app
from mlreplica.cli.doctor import examine
from mlreplica.warmup import Report

QUICK = ("--model", "RidgeClassifier")


def python(*args, **env):
    """Run Python; the exit code and what it wrote."""
    done = subprocess.run(
        [sys.executable, *args], env=os.environ | env, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def call(*args):
    return CliRunner().invoke(app, args)


COMMANDS = (
    "compare", "fit", "predict", "explain", "watch", "cluster", "models", "book", "doctor",
    "warmup",
)  # fmt: skip


def test_version_and_help():
    assert python("-m", "mlreplica", "--version") == (0, f"mlreplica {mlreplica.__version__}\n", "")
    for args in ((), ("--help",), ("-h",)):
        result = call(*args)
        assert result.exit_code == 0
        assert set(COMMANDS) <= set(result.output.split())
    for command in COMMANDS:
        assert "Usage:" in call(command, "--help").output


def test_a_process_prints_json_on_stdout_and_nothing_else():
    code, out, _ = python("-m", "mlreplica", "compare", "--data", "wine", "--json", *QUICK)
    assert code == 0
    assert json.loads(out)["data"] == "wine"


def test_a_wrong_call_of_a_process():
    code, out, err = python("-m", "mlreplica", "compare", "gone.csv")
    assert (code, out, err) == (1, "", "mlreplica: no file gone.csv.\n")


WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == "{0}":
            raise ModuleNotFoundError("No module named '{0}'", name=name)
sys.meta_path.insert(0, Missing())
from mlreplica.cli import main
main()
"""


def test_without_the_extra_one_line_says_what_to_install():
    code, out, err = python("-c", WITHOUT.format("typer"), "compare")
    assert (code, out) == (1, "")
    assert len(err.splitlines()) == 1
    assert "needs typer" in err
    assert 'pip install "mlreplica[cli]"' in err


def test_without_polars_shipped_sets_work_and_files_say_what_to_install(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,2\n")
    program = WITHOUT.format("polars")
    code, _, err = python("-c", program, "compare", str(tmp_path / "t.csv"))
    assert code == 1
    assert err.startswith("mlreplica: reading files needs polars")
    assert python("-c", program, "compare", "--data", "iris", *QUICK)[0] == 0


# Doctor ------------------------------------------------------------------------------------------


def test_doctor_reports_versions_threads_and_cache(tmp_path):
    found = json.loads(call("doctor", "--json").stdout)
    assert found["versions"]["mlreplica"] == mlreplica.__version__
    assert all(found["versions"].values())
    assert found["extras"]["typer"]
    assert 1 <= found["machine"]["threads mlreplica uses"] <= found["machine"]["cores"]
    assert found["machine"]["python"].endswith(sys.version.split()[0])
    assert any("blas" in name or "mkl" in name for name in found["threads of libraries"])
    assert found["kernels"]["kept in"] == str(Path(os.environ["NUMBA_CACHE_DIR"], "mlreplica"))
    assert found["kernels"]["kernels"] > 0
    assert found["variables"]["NUMBA_CACHE_DIR"] == os.environ["NUMBA_CACHE_DIR"]


def test_doctor_prints_all_sections():
    result = call("doctor")
    assert result.exit_code == 0
    for section in ("versions", "extras", "machine", "threads of libraries", "kernels"):
        assert section in result.output


def test_doctor_sees_threads_and_plain_python():
    code, out, _ = python(
        "-m", "mlreplica", "doctor", "--json", OMP_NUM_THREADS="1", MLREPLICA_PURE_PYTHON="1"
    )
    assert code == 0
    found = json.loads(out)
    assert found["machine"]["threads mlreplica uses"] == 1
    assert found["kernels"] == {"run as": "plain Python"}
    assert found["variables"]["OMP_NUM_THREADS"] == "1"


def test_doctor_names_what_is_not_installed(monkeypatch):
    monkeypatch.setattr("mlreplica.cli.doctor.EXTRAS", ["no-such-distribution"])
    assert examine()["extras"] == {"no-such-distribution": None}
    assert "not installed" in call("doctor").output


# Warm-up: tests/test_warmup.py has the thing itself --------------------------------------------


def test_warmup_says_what_it_did_and_where(monkeypatch):
    def compile_all(progress, only):
        assert only == ["Lasso", "tree"]
        progress(0, 1, "Lasso")
        return Report(3, 7, 2.5, Path("there"))

    monkeypatch.setattr("mlreplica.warmup.warmup", compile_all)
    result = call("warmup", "Lasso", "tree")
    assert result.exit_code == 0
    assert result.output == "3 kernels compiled, in 7 variants (2.5 s)\nkept in there\n"


def test_warmup_knows_its_names():
    result = call("warmup", "Lasso", "Lassie")
    assert result.exit_code == 1
    assert "no chapter, estimator or function is named 'Lassie'." in result.output


def test_warmup_reports_failures(monkeypatch):
    report = Report(0, 0, 2.5, Path("there"), ("Lasso: KeyError('w')", "Ridge: KeyError('w')"))
    monkeypatch.setattr("mlreplica.warmup.warmup", lambda progress, only: report)
    result = call("warmup")
    assert result.exit_code == 1
    assert "nothing to compile: every kernel was there (2.5 s)" in result.output
    assert "mlreplica: 2 calls failed" in result.output
    assert "the first: Lasso: KeyError('w')" in result.output


def test_warmup_builds_a_library(monkeypatch, tmp_path):
    from mlreplica.core.compile.ahead import levels, library

    def build(only):
        assert only == ["Lasso"]
        (tmp_path / "x86-64-v3.so").write_bytes(b"0" * 1_200_000)

    monkeypatch.setattr(levels, "build", build)
    monkeypatch.setattr(levels, "has_compiler", lambda: True)
    monkeypatch.setattr(library, "FOLDER", tmp_path)
    result = call("warmup", "--ahead", "Lasso")
    assert result.output == f"{tmp_path / 'x86-64-v3.so'}: 1.2 MB\n"
    found = json.loads(call("warmup", "--ahead", "Lasso", "--json").output)
    assert found == {"folder": str(tmp_path), "bytes": {"x86-64-v3.so": 1_200_000}}
    monkeypatch.setattr(levels, "has_compiler", lambda: False)
    result = call("warmup", "--ahead")
    assert result.exit_code == 1
    assert "a library needs a C compiler" in result.output


def test_doctor_tells_which_way_kernels_run(monkeypatch):
    from mlreplica.core.compile.ahead import library

    class Held:
        def about(self):
            return {"kernels": 3, "variants": 5, "made_by": "Numba 0.68.1"}

    monkeypatch.setattr(library, "opened", lambda: ("x86-64-v3", Held()))
    found = json.loads(call("doctor", "--json").stdout)["kernels"]["library"]
    assert found == "3 kernels in 5 variants for x86-64-v3 (Numba 0.68.1)"
    monkeypatch.setattr(library, "opened", lambda: None)
    found = json.loads(call("doctor", "--json").stdout)["kernels"]["library"]
    assert found.startswith("none: Numba compiles")


def test_the_book_of_a_wheel_or_of_a_clone(monkeypatch, tmp_path):
    """The shipped copy comes first; a model's name finds its page; what is missing is said."""
    from mlreplica.cli import book

    shipped, built = tmp_path / "shipped", tmp_path / "built"
    for folder in (shipped, built):
        folder.mkdir()
        for page in ("index", "soft-margin"):
            (folder / f"{page}.html").touch()
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr(book, "SHIPPED", shipped)
    monkeypatch.setattr(book, "BUILT", built)
    assert call("book").output == f"{shipped / 'index.html'}\n"
    assert opened == [(shipped / "index.html").as_uri()]
    assert json.loads(call("book", "SVC", "--json").output) == {
        "page": str(shipped / "soft-margin.html")
    }
    wrong = call("book", "soft-marign", "--no-browser")
    assert (wrong.exit_code, len(opened)) == (1, 1)
    assert "did you mean 'soft-margin'?" in str(wrong.exception) + wrong.output
    (shipped / "index.html").unlink()
    assert call("book", "--no-browser").output == f"{built / 'index.html'}\n"
    (built / "index.html").unlink()
    monkeypatch.setattr(book, "CHECKOUT", tmp_path)
    none = call("book")
    assert none.exit_code == 1
    assert "this installation has no book" in str(none.exception) + none.output
