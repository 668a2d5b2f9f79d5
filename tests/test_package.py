"""The package as a whole: what an import costs, what is public, and that the furniture agrees"""

import re
import runpy
import subprocess
import sys
import tomllib
from importlib import import_module, metadata
from pathlib import Path

import pytest
import yaml

import mlreplica

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

# Imports every module but those whose business is a heavy package, and names the first to blame.
# scikit-learn itself brings some of them where they are installed; we may not ask for any.
LIGHT = """
import builtins, pkgutil, sys
import mlreplica

HEAVY = {"numba", "llvmlite", "matplotlib", "pandas", "polars", "dask", "typer", "rich"}
OWN = "cli", "plotting", "scale", "core.compile.cache", "core.compile.parts"  # where they are used
OWN += "core.compile.ahead.build", "core.compile.ahead.describe"
BUSINESS = tuple(f"mlreplica.{name}" for name in OWN)
plain_import = builtins.__import__

def watched_import(name, globals=None, *rest):
    package, who = name.partition(".")[0], (globals or {}).get("__name__", "")
    if package in HEAVY and who.startswith("mlreplica"):
        sys.exit(f"{who} imports {name}")
    return plain_import(name, globals, *rest)

assert not {"sklearn", *HEAVY} & set(sys.modules), "import mlreplica is not light"
builtins.__import__ = watched_import
import sklearn.callback, sklearn.linear_model, sklearn.metrics
theirs = HEAVY & set(sys.modules)
for module in pkgutil.walk_packages(mlreplica.__path__, "mlreplica."):
    if not module.name.startswith(BUSINESS) and not module.name.endswith("__main__"):
        __import__(module.name)
        if found := (HEAVY & set(sys.modules)) - theirs:
            sys.exit(f"import {module.name} brings {', '.join(sorted(found))}")
print(sum(name.startswith("mlreplica.") for name in sys.modules))
"""


def test_imports_are_light():
    done = subprocess.run(
        [sys.executable, "-c", LIGHT], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20


@pytest.mark.parametrize("chapter", mlreplica.__all__)
def test_every_public_name_is_there(chapter):
    module = getattr(mlreplica, chapter)
    assert module is import_module(f"mlreplica.{chapter}")
    missing = [name for name in module.__all__ if not hasattr(module, name)]
    assert module.__all__
    assert not missing


def test_an_unknown_chapter_is_an_attribute_error():
    assert set(mlreplica.__all__) <= set(dir(mlreplica))
    with pytest.raises(AttributeError, match="no attribute 'deep_learning'"):
        _ = mlreplica.deep_learning


def test_one_version_everywhere():
    version = mlreplica.__version__
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert metadata.version("mlreplica") == version
    assert citation["version"] == version
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_types_are_shipped():
    assert (Path(mlreplica.__file__).parent / "py.typed").is_file()


def test_oldest_versions_are_the_lower_bounds():
    lines = (ROOT / ".github/oldest.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    extras = [e for name, some in PROJECT["optional-dependencies"].items() for e in some]
    for requirement in [*PROJECT["dependencies"], *extras]:
        name, _, bound = re.sub(r"\[.*\]", "", requirement).partition(">=")
        if name != "mlreplica":
            assert (pins[name] + ".").startswith(bound + "."), requirement


def test_the_readmes_example_runs_on_what_pip_installs(monkeypatch):
    for extra in ("pandas", "polars", "matplotlib"):
        monkeypatch.setitem(sys.modules, extra, None)
    (example,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(example.splitlines()) <= 12
    exec(compile(example, "README.md", "exec"), {"__name__": "readme"})


def test_nothing_public_is_lost_or_changed_unsaid():
    path = ROOT / "tests" / "references" / "public_api.py"
    script = runpy.run_path(str(path))
    before, now = path.with_suffix(".txt").read_text("utf-8").splitlines(), script["public_api"]()
    assert set(now) == set(before), "run tests/references/public_api.py; see its first lines"


def test_the_readmes_links_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)[^)]*\)|src=\"([^\"]+)\"", README)
    local = [a or b for a, b in links if "://" not in (a or b)]
    assert local
    assert [path for path in local if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("command", ["main job", "tests"])
def test_the_readmes_commands_are_single_lines(command):
    (block,) = re.findall(rf"<!-- {command} -->\n```bash\n(.*?)```", README, flags=re.DOTALL)
    assert block.startswith("python3 -m venv ")
    assert len(block.splitlines()) == 1
