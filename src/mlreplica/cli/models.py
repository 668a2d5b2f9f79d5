"""The models that suit a table, each with the preparation that it needs

takes categories   the matrix as it is: codes and NaN are understood
takes NaN          numbers as they are; a column of 0 and 1 for each category
neither            medians for missing numbers, marked as such; mean 0 and variance 1

Regressors whose fit depends on the unit or the origin of the target learn it standardised and
give it back as it was.
"""

import inspect
from functools import cache

import numpy as np
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.pipeline import Pipeline, make_pipeline

from mlreplica.core.card import card_of
from mlreplica.discovery import TABLES, all_estimators, cards
from mlreplica.impute import SimpleImputer
from mlreplica.preprocessing import OneHotEncoder, StandardScaler

from .console import CommandError, did_you_mean

BASELINES = {
    "classification": ("majority class", DummyClassifier),
    "regression": ("mean", DummyRegressor),
}
MOST_INDICATORS = 1000  # columns of 0 and 1 in all


def catalogue(task=None):
    """[{model, module, task, summary, page}] of what the command can fit, by name."""
    return [
        {
            "model": card.name,
            "module": card.chapter,
            "task": card.task,
            "summary": card.summary,
            "page": card.page,
        }
        for card in cards(task)
        if card.input in TABLES
    ]


def suitable(table, only=()):
    """[(name, class)] of the estimators for a table's task, or of those named."""
    models = dict(all_estimators(table.task))
    for name in only:
        if name not in models:
            other = dict(all_estimators())
            if name in other:
                raise CommandError(f"{name} is not for {table.task}; see: mlreplica models")
            raise CommandError(f"no model {name!r}; {did_you_mean(name, models)}")
    if only:
        return [(name, models[name]) for name in dict.fromkeys(only)]
    models = {n: cls for n, cls in models.items() if not getattr(card_of(cls), "by_name", False)}
    if table.task == "regression" and table.y.min() < 0:
        models = {n: cls for n, cls in models.items() if not tags(cls).target_tags.positive_only}
    return list(models.items())


@cache
def tags(cls):
    """What an estimator says of itself."""
    return cls().__sklearn_tags__()


def needs(cls):
    """Which preparation: "none", "indicators" or "all"."""
    if cls in (DummyClassifier, DummyRegressor):
        return "none"
    if "categorical_features" in inspect.signature(cls).parameters:
        return "none"
    return "indicators" if tags(cls).input_tags.allow_nan else "all"


def preparation(need, table):
    """The transformer of the matrix, or None where there is nothing to do."""
    numbers, categories = np.flatnonzero(~table.categorical), np.flatnonzero(table.categorical)
    if need == "none" or (need == "indicators" and not len(categories)):
        return None
    most = int(np.clip(MOST_INDICATORS // max(len(categories), 1), 3, 51))
    indicators = OneHotEncoder(
        drop="if_binary",
        max_categories=most,
        handle_unknown="infrequent_if_exist",
        sparse_output=False,
    )
    as_they_are = "passthrough"
    if need == "all":
        filled = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
        as_they_are = make_pipeline(filled, StandardScaler())
        if not np.isnan(table.X[:, numbers]).any():
            as_they_are = StandardScaler()
    if not len(categories):
        return as_they_are
    parts = [("numbers", as_they_are, numbers.tolist())] * (len(numbers) > 0)
    parts += [("categories", indicators, categories.tolist())] * (len(categories) > 0)
    return ColumnTransformer(parts)


def model_for(cls, table, seed=None, **parameters):
    """The estimator, told of its seed and of the categories; its target scaled if need be."""
    model = cls(**parameters)
    known = model.get_params()
    if seed is not None and known.get("random_state", 0) is None:
        model.set_params(random_state=seed)
    if "categorical_features" in known and "categorical_features" not in parameters:
        where = np.flatnonzero(table.categorical).tolist()
        model.set_params(categorical_features=where or None)
    if (card := card_of(cls)) and card.scale_target:
        return TransformedTargetRegressor(model, transformer=StandardScaler())
    return model


def core(model):
    """The estimator itself, and the unit in which it sees the target."""
    if not isinstance(model, TransformedTargetRegressor):
        return model, 1.0
    if not hasattr(model, "regressor_"):
        return model.regressor, 1.0
    return model.regressor_, float(model.transformer_.scale_[0])


def note_on_target(names):
    """A sentence if some of the models see the target standardised."""
    scaled = [card.name for card in cards() if card.scale_target and card.name in names]
    return [f"target standardised for {', '.join(scaled)}"] * (len(scaled) > 0)


def pipeline_for(cls, table, seed=None, **parameters):
    """Preparation and model as one, to be fitted on the matrix."""
    steps = [("prepare", preparation(needs(cls), table))]
    return Pipeline(
        [(name, step) for name, step in steps if step is not None]
        + [("model", model_for(cls, table, seed, **parameters))]
    )
