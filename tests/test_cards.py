"""Every estimator has a card, every tool reads it, and a newcomer needs nothing else."""

import json
import sys
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from typer.testing import CliRunner

import mlreplica
from mlreplica import linear_model
from mlreplica.cli.app import app
from mlreplica.cli.models import suitable
from mlreplica.cli.table import read_shipped
from mlreplica.core.card import Card, card_of
from mlreplica.discovery import all_estimators, cards, overview, public
from mlreplica.onnx_export._graph import CONVERTERS
from mlreplica.persistence.checks import FAMILIES
from mlreplica.warmup import all_calls

ROOT = Path(__file__).parent.parent
NAME = "CoordinateRidge"
FACTS = {"page": "ridge", **dict.fromkeys(["use", "good", "bad", "time", "memory", "instead"], "…")}


def test_every_public_estimator_has_a_card_of_its_own():
    estimators = public(lambda t: isinstance(t, type) and issubclass(t, BaseEstimator))
    assert [card.name for card in cards()] == [name for name, _ in estimators]


@pytest.mark.parametrize("card", cards(), ids=lambda card: card.name)
def test_a_card_is_complete_and_its_names_are_known(card):
    assert (ROOT / "book" / f"{card.page}.md").exists()
    assert card.checks in FAMILIES
    assert card.onnx in (None, *CONVERTERS)
    assert all(card.facts().values())
    assert getattr(import_module(card.chapter), card.name) is card.estimator
    assert card.summary
    if card.input != "members":
        accepts_nan = card.estimator().__sklearn_tags__().input_tags.allow_nan
        assert accepts_nan == (not card.missing.startswith("refused"))


def test_the_readmes_table_is_what_the_cards_say():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    begin = "<!-- models: written by `mlreplica models --markdown` -->\n"
    assert readme.partition(begin)[2].partition("<!-- /models -->")[0] == overview("book/{page}.md")


def test_a_task_is_on_the_card_or_in_the_mixin():
    class Sampler(BaseEstimator):
        card = Card(task="sampling", input="log-density", **FACTS)

    class Nameless(BaseEstimator):
        card = Card(**FACTS)

    assert card_of(Sampler).task == "sampling"
    with pytest.raises(TypeError, match=r"Nameless has no mixin .* give Card\(task=…\)"):
        card_of(Nameless)


@pytest.mark.parametrize("card", [None, linear_model.Ridge.card.but(checks=None)])
def test_a_file_of_a_model_without_checks_is_refused(tmp_path, monkeypatch, card):
    path = mlreplica.save(linear_model.Ridge().fit([[0.0], [1.0]], [0, 1]), tmp_path / "m.skops")
    monkeypatch.setattr(linear_model.Ridge, "card", card)
    mlreplica.persistence._types.class_of.cache_clear()
    with pytest.raises(ValueError, match="no checks of its file" if card else "not on the list"):
        mlreplica.load(path)


def test_a_file_must_have_what_the_checks_look_at(tmp_path):
    model = linear_model.Ridge().fit([[0.0], [1.0]], [0, 1])
    del model.coef_
    with pytest.raises(ValueError, match="Ridge: a model without coef_ is not"):
        mlreplica.load(mlreplica.save(model, tmp_path / "m.skops"))


@pytest.fixture
def newcomer(monkeypatch):
    """The skeleton's file in the folder of linear_model, its class among the public names."""
    with monkeypatch.context() as patch:
        patch.setattr(linear_model, "__path__", [*linear_model.__path__, str(ROOT / "skeleton")])
        cls = import_module("mlreplica.linear_model._ridge").CoordinateRidge
        patch.setattr(linear_model, NAME, cls, raising=False)
        patch.setattr(linear_model, "__all__", [*linear_model.__all__, NAME])
        yield cls
    del sys.modules["mlreplica.linear_model._ridge"], linear_model._ridge
    mlreplica.persistence._types.class_of.cache_clear()


def test_discovery_and_models_find_a_newcomer(newcomer):
    assert (NAME, newcomer) in all_estimators("regressor")
    assert f"`{NAME}`" in overview()
    listed = json.loads(CliRunner().invoke(app, ["models", "--json"]).stdout)
    (found,) = [model for model in listed if model["model"] == NAME]
    assert (found["task"], found["page"]) == ("regression", "ridge")


def test_compare_fits_a_newcomer(newcomer):
    assert (NAME, newcomer) in suitable(read_shipped("diabetes"))
    result = CliRunner().invoke(app, ["compare", "--data", "diabetes", "--model", NAME, "--json"])
    assert json.loads(result.stdout)["leaderboard"][0]["model"] == NAME


def test_the_warm_up_fits_a_newcomer(newcomer):
    calls = [call for name, call in all_calls([NAME])]
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        calls[0]()
    assert len(calls) > 5


def test_files_and_graphs_hold_a_newcomer(newcomer, tmp_path):
    X, y = np.random.default_rng(0).standard_normal((20, 3)), np.arange(20.0)
    model = newcomer().fit(X, y)
    again = mlreplica.load(mlreplica.save(model, tmp_path / "m.skops"))
    assert type(again) is newcomer
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert [out.name for out in mlreplica.to_onnx(model).graph.output] == ["prediction"]
    model.coef_ = model.coef_[:2]
    with pytest.raises(ValueError, match=f"{NAME}: .*coef_"):
        mlreplica.load(mlreplica.save(model, tmp_path / "m.skops"))


@pytest.mark.book
def test_the_api_reference_lists_a_newcomer(newcomer, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "book" / "_ext")
    api = import_module("bookkit.api")
    modules = {name: import_module(f"mlreplica.{name}") for name in api.order()}
    assert f"<mlreplica.linear_model.{NAME}>`" in api.module_page("linear_model", modules)
    assert f".. py:class:: {NAME}(" in api.entry(modules["linear_model"], NAME)
    assert sorted(api.order()) == sorted(mlreplica.__all__)
