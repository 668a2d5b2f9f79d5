"""Private names of scikit-learn stand in core/compat.py alone, and all of them exist"""

import ast
from pathlib import Path

import pytest

import mlreplica
from mlreplica.core import compat
from mlreplica.discovery import all_estimators

PACKAGE = Path(mlreplica.__file__).parent


def private_imports(text):
    """The names with an underscore in front that a file imports from scikit-learn."""
    for node in ast.walk(ast.parse(text)):
        names = []
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "sklearn":
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.startswith("sklearn")]
        yield from (name for name in names if "._" in name)


def test_no_other_file_imports_a_private_name():
    assert list(private_imports("from sklearn.utils._param_validation import Interval"))
    assert list(private_imports("from sklearn.base import _fit_context, clone"))
    found = {
        path.relative_to(PACKAGE).as_posix(): names
        for path in PACKAGE.rglob("*.py")
        if (names := list(private_imports(path.read_text(encoding="utf-8"))))
    }
    assert found == {}


@pytest.mark.parametrize("name", compat.HOME)
def test_every_private_name_is_there(name):
    assert getattr(compat, name) is not None


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="no attribute '_unknown'"):
        getattr(compat, "_unknown")  # noqa: B009


CONCRETE = "voting", "stacking", "bagging"  # administration of other models


def test_no_other_algorithm_subclasses_one_of_scikit_learn():
    for name, estimator in all_estimators():
        theirs = [base for base in estimator.__mro__ if is_model(base)]
        if not name.lower().startswith(CONCRETE):
            assert theirs == [], name


def is_model(base):
    """Whether a class is an estimator of scikit-learn that users call by its name."""
    public = base.__module__.startswith("sklearn.") and not base.__name__.startswith("_")
    return public and base.__module__.split(".")[1] != "base" and hasattr(base, "fit")
