"""Every public estimator is found, and nothing else."""

import inspect

import pytest
from sklearn.base import BaseEstimator, is_classifier, is_regressor

import mlreplica
from mlreplica.discovery import all_estimators, chapters, public


def test_all_chapters_are_there_and_public():
    assert [chapter.__name__ for chapter in chapters()] == [
        f"mlreplica.{name}" for name in sorted(mlreplica.__all__)
    ]
    for chapter in chapters():
        assert all(hasattr(chapter, name) for name in chapter.__all__)


def test_estimators_are_ours_and_sorted():
    found = all_estimators()
    names = [name for name, _ in found]
    assert names == sorted(set(names))
    assert {"LinearRegression", "Perceptron"} <= set(names)
    for name, estimator in found:
        assert issubclass(estimator, BaseEstimator), name
        assert estimator.__module__.startswith("mlreplica."), name
        estimator()


def test_kinds():
    for kind, test in (("classifier", is_classifier), ("regressor", is_regressor)):
        of_kind = all_estimators(kind)
        assert of_kind == [(name, cls) for name, cls in all_estimators() if test(cls())]
        assert of_kind
    with pytest.raises(ValueError, match="type_filter must be one of classifier, regressor"):
        all_estimators("oracle")


def test_functions_of_ours_are_listed_by_name():
    found = public(inspect.isfunction)
    names = [name for name, _ in found]
    assert names == sorted(names)
    assert {"perceptron", "accuracy_score", "toy"} <= set(names)
    assert "load_iris" not in names
