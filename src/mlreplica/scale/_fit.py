"""Fit and score on blocks of rows: which model by which sums, and what is refused"""

from __future__ import annotations

from copy import copy
from importlib import import_module
from inspect import getattr_static
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, ClusterMixin, RegressorMixin, clone, is_classifier
from sklearn.utils import get_tags

from mlreplica.core.card import card_of
from mlreplica.core.rows.moments import Moments
from mlreplica.core.rows.walk import Sums

from ._blocks import Block, dense
from ._rows import Rows

FITS = {
    "LinearRegression": "_second_moments.fit_linear",
    "Ridge": "_second_moments.fit_linear",
    "Lasso": "_second_moments.fit_linear",
    "ElasticNet": "_second_moments.fit_linear",
    "PCA": "_second_moments.fit_axes",
    "EmpiricalCovariance": "_second_moments.fit_covariance",
    "ShrunkCovariance": "_second_moments.fit_covariance",
    "OAS": "_second_moments.fit_covariance",
    "LinearDiscriminantAnalysis": "_second_moments.fit_discriminant",
    "QuadraticDiscriminantAnalysis": "_second_moments.fit_discriminant",
    "LogisticRegression": "_logistic.fit_logistic",
    "PoissonRegressor": "_poisson.fit_poisson",
    "HuberRegressor": "_huber.fit_huber",
    "KMeans": "_clusters.fit_kmeans",
    "GaussianMixture": "_clusters.fit_mixture",
    "HistGradientBoostingRegressor": "_boosting.fit_boosting",
    "HistGradientBoostingClassifier": "_boosting.fit_boosting",
    "RobustScaler": "_columns.fit_robust",
    "QuantileTransformer": "_columns.fit_quantiles",
    "SimpleImputer": "_columns.fit_imputer",
    "OneHotEncoder": "_columns.fit_encoder",
    "OrdinalEncoder": "_columns.fit_encoder",
}
STREAMED = (
    "SGDClassifier, SGDRegressor, Perceptron, MiniBatchKMeans, IncrementalPCA, StandardScaler, "
    "MinMaxScaler, MaxAbsScaler and naive Bayes"
)
INSTEAD = {  # what to use, by chapter
    "svm": "Nystroem, fitted on some rows, then SGDClassifier or SGDRegressor",
    "kernel_ridge": "Nystroem, fitted on some rows, then Ridge",
    "cluster": "KMeans or MiniBatchKMeans",
    "decomposition": "PCA or IncrementalPCA",
    "mixture": "GaussianMixture",
    "ensemble": "HistGradientBoostingRegressor or HistGradientBoostingClassifier",
    "tree": "HistGradientBoostingRegressor or HistGradientBoostingClassifier",
    "preprocessing": "StandardScaler, RobustScaler or QuantileTransformer",
    "impute": "SimpleImputer",
    "covariance": "EmpiricalCovariance, ShrunkCovariance or OAS",
}


def fit(model: Any, rows: Rows, *, anew: bool = True) -> Any:
    """Fit a model on blocks of rows; not `anew`: go on by `partial_fit`."""
    home, card = FITS.get(type(model).__name__) if anew else None, card_of(type(model))
    if home is None and (
        not hasattr(model, "partial_fit") or (card and card.input not in ("table", "rows"))
    ):
        refuse(model)
    model._validate_params()
    if home is None:
        by_batches(model, rows, anew)
    else:
        file, function = home.split(".")
        getattr(import_module(f".{file}", __package__), function)(model, rows)
    model.n_features_in_ = rows.width
    vars(model).pop("feature_names_in_", None)
    if rows.names is not None:
        model.feature_names_in_ = np.array(rows.names, dtype=object)
    return model


def refuse(model: Any) -> None:
    """Say what cannot be fitted on blocks, and what can."""
    chapter = type(model).__module__.split(".")[1]
    instead = f" Use {INSTEAD[chapter]}." if chapter in INSTEAD else ""
    raise TypeError(
        f"{type(model).__name__} needs all rows in memory at once, and cannot be fitted on blocks."
        f"{instead} Blocks fit {', '.join(FITS)}; one pass of partial_fit fits {STREAMED}."
    )


class Distinct(frozenset[Any]):
    """The values in two sets of rows are the union."""

    def __add__(self, other: Any) -> Distinct:
        return Distinct(self | other)


def labels_of(block: Block) -> Distinct:
    """The classes of a block."""
    return Distinct(np.unique(dense(block, target=True)[1]).tolist())


def by_batches(model: Any, rows: Rows, anew: bool) -> None:
    """One walk of `partial_fit`: exact for scalers and naive Bayes, one epoch for SGD."""
    student = clone(model) if anew else model
    student.__dict__.pop("feature_names_in_", None)
    first: dict[str, Any] = {}
    if is_classifier(model) and not hasattr(student, "classes_"):
        first["classes"] = np.array(sorted(rows.sum(labels_of)))
    student, _ = rows.fold(learn, (student, first))
    vars(model).update(vars(student))


def learn(block: Block, state: tuple[Any, dict[str, Any]]) -> tuple[Any, dict[str, Any]]:
    """The model after one more block; classes are told with the first."""
    model, first = state
    weight = {} if block.s is None else {"sample_weight": block.s}
    targets = () if block.y is None else (block.y,)
    model.partial_fit(block.X, *targets, **first, **weight)
    return model, {}


def score(model: Any, rows: Rows) -> float:
    """What the model's own `score` gives in memory: R², right classes, a density, an inertia."""
    own = getattr_static(type(model), "score")
    own, bare = getattr(own, "__wrapped__", own), nameless(model, rows)
    if own is ClassifierMixin.score:
        weight, hits = rows.sum(hits_of, bare)
        return float(hits / weight)
    if own is RegressorMixin.score:
        m, rss = rows.sum(squares_of, bare)
        constant = m.squares <= 0.0
        share = 1.0 - rss / np.where(constant, 1.0, m.squares)
        return float(np.mean(np.where(constant, 1.0 * (rss <= 0.0), share)))
    if isinstance(model, ClusterMixin):
        return float(rows.sum(cluster_score, bare))
    if hasattr(model, "score_samples"):
        n, total = rows.sum(densities_of, bare)
        return float(total / n)
    raise TypeError(f"{type(model).__name__}.score needs all rows in memory at once.")


def cluster_score(block: Block, model: Any) -> float:
    """Minus the inertia of a block."""
    X, _, s = dense(block)
    return float(model.score(X, sample_weight=s))


def densities_of(block: Block, model: Any) -> Sums:
    """How many rows, and the sum of `score_samples`; weights do not count, as in memory."""
    X, _, _ = dense(block)
    return Sums((len(X), model.score_samples(X).sum()))


def takes_gaps(model: Any) -> bool:
    """Whether a model answers for rows with missing values."""
    return bool(get_tags(model).input_tags.allow_nan)


def squares_of(block: Block, model: Any) -> Sums:
    """The moments of y, and the residual sums of squares."""
    X, y, s = dense(block, target=True, gaps=takes_gaps(model))
    y = np.asarray(y, dtype=np.float64).reshape(len(X), -1)
    e = (y - model.predict(X).reshape(y.shape)) ** 2
    return Sums((Moments.of(y, s), e.sum(axis=0) if s is None else s @ e))


def hits_of(block: Block, model: Any) -> Sums:
    """The weight of all rows, and of those whose class is right."""
    X, y, s = dense(block, target=True, gaps=takes_gaps(model))
    hit = model.predict(X) == y
    return Sums((float(len(X)), float(hit.sum())) if s is None else (s.sum(), s[hit].sum()))


def nameless(model: Any, rows: Rows) -> Any:
    """The model without names of columns, as blocks are arrays; refuses rows with other names."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return model
    if rows.width is None:
        next(iter(rows), None)  # the first block tells
    if rows.names is not None and list(names) != rows.names:
        raise ValueError(
            f"The feature names should match those that were passed during fit: {list(names)}, "
            f"got {rows.names}."
        )
    bare = copy(model)
    del bare.feature_names_in_
    if hasattr(bare, "_inputs"):
        bare._inputs = bare._inputs.named(None)
    return bare
