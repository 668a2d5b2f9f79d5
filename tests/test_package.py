"""The package as a whole: what an import costs, what is public, and that the furniture agrees"""

import re
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

# Imports every module but those whose business is a heavy package; names the first to blame.
LIGHT = """
import pkgutil, sys
import mlreplica

HEAVY = {"numba", "llvmlite", "matplotlib", "pandas", "polars", "dask", "typer", "rich"}
BUSINESS = ("mlreplica.cli", "mlreplica.plotting", "mlreplica.scale")

def look(name):
    if found := HEAVY & set(sys.modules):
        sys.exit(f"import {name} brings {', '.join(sorted(found))}")

look("mlreplica")
assert "sklearn" not in sys.modules, "import mlreplica brings scikit-learn"
for module in pkgutil.walk_packages(mlreplica.__path__, "mlreplica."):
    if not module.name.startswith(BUSINESS):
        __import__(module.name)
        look(module.name)
"""


def test_imports_are_light():
    done = subprocess.run(
        [sys.executable, "-c", LIGHT], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


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


def test_the_readmes_example_runs():
    (example,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(example.splitlines()) <= 12
    exec(compile(example, "README.md", "exec"), {"__name__": "readme"})


def test_the_readmes_links_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)[^)]*\)|src=\"([^\"]+)\"", README)
    local = [a or b for a, b in links if "://" not in (a or b)]
    assert local
    assert [path for path in local if not (ROOT / path).exists()] == []
