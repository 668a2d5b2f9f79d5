"""How models are judged: score(model, X, y)"""

from typing import NamedTuple

import numpy as np

from mlreplica import metrics

from .console import CommandError


class Metric(NamedTuple):
    """A score, the task it is for, and whether more of it is better."""

    task: str
    score: object
    best: object  # max or min
    scoring: str  # scikit-learn's name for it

    @property
    def arrow(self):
        """Which way is better."""
        return "↑" if self.best is max else "↓"

    @property
    def sign(self):
        """What turns a score into one that should be large."""
        return 1.0 if self.best is max else -1.0


def by_prediction(function, **options):
    """Judge what `predict` says."""
    return lambda model, X, y: function(y, model.predict(X), **options)


def by_probability(model, X, y):
    """Log-loss of `predict_proba`."""
    return metrics.log_loss(y, model.predict_proba(X), labels=model.classes_)


def by_ranking(model, X, y):
    """Area under the ROC curve; for several classes, the mean of each against the rest."""
    if len(model.classes_) > 2:
        return metrics.roc_auc_score(y, model.predict_proba(X), multi_class="ovr")
    if hasattr(model, "decision_function"):
        return metrics.roc_auc_score(y, model.decision_function(X))
    return metrics.roc_auc_score(y, model.predict_proba(X)[:, 1])


def by_square(model, X, y):
    """Brier score of `predict_proba`, from 0 to 1 for two classes and to 2 for more."""
    wrong = model.predict_proba(X) - (np.asarray(y)[:, None] == model.classes_)
    return float(np.sum(wrong**2) / len(y)) / (2 if len(model.classes_) == 2 else 1)


METRICS = {
    "accuracy": Metric("classification", by_prediction(metrics.accuracy_score), max, "accuracy"),
    "balanced_accuracy": Metric(
        "classification", by_prediction(metrics.balanced_accuracy_score), max, "balanced_accuracy"
    ),
    "f1": Metric(
        "classification", by_prediction(metrics.f1_score, average="macro"), max, "f1_macro"
    ),
    "log_loss": Metric("classification", by_probability, min, "neg_log_loss"),
    "brier": Metric("classification", by_square, min, "neg_brier_score"),
    "roc_auc": Metric("classification", by_ranking, max, "roc_auc_ovr"),
    "r2": Metric("regression", by_prediction(metrics.r2_score), max, "r2"),
    "rmse": Metric(
        "regression",
        by_prediction(metrics.root_mean_squared_error),
        min,
        "neg_root_mean_squared_error",
    ),
    "mae": Metric(
        "regression",
        by_prediction(metrics.mean_absolute_error),
        min,
        "neg_mean_absolute_error",
    ),
}
DEFAULT = {"classification": "accuracy", "regression": "r2"}


def metric_for(task, name=None):
    """The name and Metric asked for, if it suits the task."""
    name = str(name or DEFAULT[task])
    if METRICS[name].task != task:
        fit = [other for other, m in METRICS.items() if m.task == task]
        raise CommandError(f"--metric {name} is not for {task}; use {', '.join(fit)}.")
    return name, METRICS[name]
