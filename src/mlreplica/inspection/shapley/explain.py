"""Explain: contributions of the columns that add up to what a model answers"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.utils.validation import check_array, check_is_fitted

from mlreplica.core.growth.categories import BIT, WORD
from mlreplica.core.growth.tree import LEAF

from . import coalitions
from .boxes import TreeNodes, boxes_of
from .tree_shap import tree_interactions, tree_shap

METHODS = ("auto", "tree", "linear", "exact", "permutation", "kernel")
FEW = 10  # columns whose coalitions are all asked


@dataclass
class Explanation:
    """Contributions of the columns to the answers for rows: base + contributions = answer.

    The names are those of the package shap, whose plots can draw it.

    Attributes
    ----------
    values : ndarray of shape (rows, columns), or (rows, columns, outputs)
        Contributions; with `interactions=True` another axis of columns stands behind the first.
    base_values : ndarray of shape (rows,), or (rows, outputs)
        The answer when no column is known, the same for every row.
    data : ndarray of shape (rows, columns)
        The rows.
    feature_names : list of str
    output_names : list of str or None
        The classes, or None for a single output.
    output : str
        What is explained: "prediction", "probability", "score" or "raw score".
    method : str
        How: "tree", "linear", "exact", "permutation" or "kernel".
    """

    values: Any
    base_values: Any
    data: Any
    feature_names: list[str]
    output_names: list[str] | None
    output: str
    method: str

    @property
    def answers(self) -> Any:
        """What the contributions add up to: (rows,), or (rows, outputs)."""
        axes = tuple(range(1, self.values.ndim - (self.base_values.ndim - 1)))
        return self.base_values + self.values.sum(axis=axes)

    def importance(self) -> dict[str, float]:
        """Return the mean absolute contribution of every column, the largest first."""
        if self.values.ndim - self.base_values.ndim > 1:
            raise ValueError("importance() needs contributions of columns, not interactions.")
        size = np.abs(self.values).reshape(*self.values.shape[:2], -1).sum(axis=2).mean(axis=0)
        order = np.argsort(-size, kind="stable")
        return {self.feature_names[j]: float(size[j]) for j in order}

    def __len__(self) -> int:
        return len(self.values)


def explain(
    model: Any,
    X: Any,
    *,
    background: Any = None,
    interactions: bool = False,
    method: str = "auto",
    n_permutations: int = 10,
    n_coalitions: int = 2048,
    random_state: int | np.random.Generator | None = 0,
) -> Explanation:
    """Split the answers of a fitted model into contributions of the columns.

    Contributions are Shapley values: exact for trees, forests and boosting (TreeSHAP), for linear
    models, and for any model of up to ten columns; estimated from random orders of the columns for
    the rest. In each case a row's contributions and the base add up to the model's answer.

    Parameters
    ----------
    model : fitted estimator or Pipeline
        Trees and boosting are explained on the scale on which they add up: shares of classes, or
        raw scores (log-odds) of boosting. Linear models by their decision function, other
        classifiers by their probabilities if they have some. Of a pipeline, the last step is
        explained by the columns that it sees.
    X : array-like of shape (rows, columns)
        The rows to explain.
    background : array-like of shape (m, columns), default=None
        What a column is when it is not known: one of these rows. By default trees use the shares of
        their training rows, and other models (a hundred of) the rows of X.
    interactions : bool, default=False
        Contributions of pairs of columns, for trees without a background.
    method : {"auto", "tree", "linear", "exact", "permutation", "kernel"}, default="auto"
        How contributions are found.
    n_permutations : int, default=10
        Pairs of an order of the columns and its reverse, for "permutation".
    n_coalitions : int, default=2048
        Sets of columns that are asked for a row, for "kernel".
    random_state : int, Generator or None, default=0
        Draws orders, coalitions and background rows.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> from mlreplica.datasets import load_diabetes
    >>> from mlreplica.ensemble import HistGradientBoostingRegressor
    >>> from mlreplica.inspection import explain
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = HistGradientBoostingRegressor(max_iter=20).fit(X, y)
    >>> found = explain(model, X)
    >>> bool(abs(found.answers - model.predict(X)).max() < 1e-9)
    True
    >>> list(found.importance())[:3]
    ['s5', 'bmi', 'bp']
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
    check_is_fitted(model)
    if hasattr(model, "steps"):
        if len(model.steps) > 1:
            X = model[:-1].transform(X)
            background = None if background is None else model[:-1].transform(background)
        model = model.steps[-1][1]
    names = names_of(model, X)
    X, background = rows_of(X), None if background is None else rows_of(background)
    for rows, what in ((X, "X"), (background, "background")):
        if rows is not None and rows.shape[1] != len(names):
            raise ValueError(f"{what} has {rows.shape[1]} columns, the model {len(names)}.")
    trees = trees_of(model) if method in ("auto", "tree") else None
    if trees is None and (method == "tree" or interactions):
        what = "interactions need" if interactions else "method='tree' needs"
        raise ValueError(f"{what} a tree, a forest or gradient boosting of mlreplica.")
    if interactions and background is not None:
        raise ValueError("interactions are those of the training rows; leave out background.")
    if trees is not None:
        nodes, start, output = trees
        boxes, used = boxes_of(nodes), "tree"
        found = tree_interactions(boxes, X) if interactions else tree_shap(boxes, X, background)
        values, base = found[0], found[1] + start
    else:
        with warnings.catch_warnings():  # columns are asked without their names
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            values, base, output, used = ask(
                model, X, background, method, n_permutations, n_coalitions, random_state
            )
    several = values.shape[-1] > 1
    values, base = (values, base) if several else (values[..., 0], base[0])
    base = np.broadcast_to(base, (len(X), *np.shape(base))).copy()
    return Explanation(values, base, X, names, outputs_of(model, base), output, used)


def rows_of(X: Any) -> Any:
    """Return rows as a dense array of floats; gaps may stay."""
    X = X.toarray() if sp.issparse(X) else X
    return check_array(X, dtype=np.float64, ensure_all_finite="allow-nan")


def names_of(model: Any, X: Any) -> list[str]:
    """Return the names of the columns, those seen in fit or x0, x1, …"""
    seen = getattr(model, "feature_names_in_", getattr(X, "columns", None))
    p = getattr(model, "n_features_in_", np.shape(X)[1])
    return [f"x{j}" for j in range(p)] if seen is None else [str(name) for name in seen]


def outputs_of(model: Any, base: Any) -> list[str] | None:
    """Return names of several outputs: classes, or numbers."""
    if base.ndim == 1:
        return None
    classes = getattr(model, "classes_", None)
    if classes is None or len(classes) != base.shape[1]:
        classes = range(base.shape[1])
    return [str(c) for c in classes]


def trees_of(model: Any) -> tuple[list[TreeNodes], Any, str] | None:
    """Return the trees whose sum a model is, what is added to them, and what the sum is."""
    if not type(model).__module__.startswith("mlreplica."):
        return None
    if hasattr(model, "_predictors"):
        rounds = model._predictors
        K = model._baseline_prediction.shape[1]
        nodes = [from_histograms(t, k, K) for trees in rounds for k, t in enumerate(trees)]
        start, output = model._baseline_prediction[0], "raw score"
    elif getattr(model, "_baseline", None) is not None and hasattr(model, "estimators_"):
        start, output = np.asarray(model._baseline, dtype=float), "raw score"
        nodes = [
            from_tree(e.tree_, model.learning_rate, k, len(start))
            for stage in model.estimators_
            for k, e in enumerate(stage)
        ]
    elif hasattr(model, "_trees") or hasattr(model, "tree_"):
        trees = model._trees if hasattr(model, "_trees") else [model.tree_]
        if is_classifier(model) and model.n_outputs_ > 1:
            return None
        nodes = [from_tree(t, 1.0 / len(trees)) for t in trees]
        start = np.zeros(nodes[0].value.shape[1])
        output = "probability" if is_classifier(model) else "prediction"
    else:
        return None
    if output == "raw score" and not is_classifier(model) and has_identity_link(model):
        output = "prediction"
    return nodes, start, output


def has_identity_link(model: Any) -> bool:
    """Return whether a boosted regressor predicts its raw score."""
    loss = model._loss if hasattr(model, "_loss") else model._objective.loss
    return loss.inverse_link is None


def from_tree(tree: Any, factor: float, k: int = 0, K: int = 0) -> TreeNodes:
    """Return the nodes of a `Tree`; its values times a factor, as output k of K if K is given."""
    value = factor * tree.value.reshape(tree.node_count, -1)
    if K > 1:
        value = value * np.eye(K)[k]
    table, tables = np.full(tree.node_count, -1), np.zeros((1, 2), np.uint8)
    if tree.categories is not None:
        at = np.flatnonzero((tree.children_left != LEAF) & np.isnan(tree.threshold))
        c = np.arange(tree.categories.shape[1] << WORD)
        words = tree.categories[at][:, c >> WORD]
        left = (words >> (c & BIT).astype(np.uint64)) & np.uint64(1)
        missing = tree.missing_go_to_left[at, None]
        tables = np.hstack([missing, left, 0 * missing]).astype(np.uint8)
        table[at] = np.arange(len(at))
    column = np.where(tree.children_left == LEAF, -1, tree.feature)
    return TreeNodes(
        column, tree.threshold, tree.children_left, tree.children_right,
        tree.missing_go_to_left, tree.weighted_n_node_samples, value, table,
        tables if len(tables) else np.zeros((1, 2), np.uint8),
    )  # fmt: skip


def from_histograms(tree: Any, k: int, K: int) -> TreeNodes:
    """Return the nodes of a tree of histogram boosting as output k of K."""
    tables = np.zeros((1, 2), np.uint8)
    if len(tree.tables):
        tables = np.hstack([tree.tables, tree.tables[:, :1]])  # unknown as missing
    value = tree.value[:, None] * np.eye(K)[k]
    return TreeNodes(
        tree.column, tree.threshold, tree.left, tree.left + 1, tree.missing_left, tree.count,
        value, tree.table, tables,
    )  # fmt: skip


def ask(
    model: Any, X: Any, background: Any, method: str, orders: int, count: int, random_state: Any
) -> tuple[Any, Any, str, str]:
    """Explain a model that is linear or must be asked: values, base, output, method."""
    rng = np.random.default_rng(random_state)
    weights = linear_weights(model, X) if method in ("auto", "linear") else None
    if weights is not None:
        W, b, output = weights
        center = (X if background is None else background).mean(axis=0)
        return (X - center)[:, :, None] * W, center @ W + b, output, "linear"
    if method == "linear":
        raise ValueError("method='linear' needs a model whose answer is a line of its columns.")
    if background is None:
        background = X[np.sort(rng.permutation(len(X))[:100])]
    f, output = answer_of(model)
    if method == "auto":
        method = "exact" if X.shape[1] <= FEW else "permutation"
    if method == "exact":
        found = [coalitions.exact(f, x, background) for x in X]
    elif method == "kernel":
        found = [coalitions.by_kernel(f, x, background, count, rng) for x in X]
    else:
        found = [coalitions.by_permutations(f, x, background, orders, rng) for x in X]
    return np.array([phi for phi, _ in found]), found[0][1], output, method


def linear_weights(model: Any, rows: Any) -> tuple[Any, Any, str] | None:
    """Return W (column, output), b and what they give, if X W + b is the model's answer."""
    coef = getattr(model, "coef_", None)
    if coef is None or sp.issparse(coef):
        return None
    W = np.atleast_2d(np.asarray(coef, dtype=float)).T
    b = np.asarray(getattr(model, "intercept_", 0.0), dtype=float).ravel()
    score = getattr(model, "decision_function", getattr(model, "predict", None))
    if score is None or len(W) != rows.shape[1]:
        return None
    answers = np.asarray(score(rows), dtype=float).reshape(len(rows), -1)
    line = rows @ W + b
    if answers.shape != line.shape or not np.allclose(answers, line, rtol=1e-6, atol=1e-9):
        return None
    return W, np.broadcast_to(b, W.shape[1]), "score" if is_classifier(model) else "prediction"


def answer_of(model: Any) -> tuple[Any, str]:
    """Return the function that is explained, (rows, outputs), and what it gives."""
    outputs = {
        "predict_proba": "probability",
        "decision_function": "score",
        "predict": "prediction",
        "score_samples": "score",
    }
    name = next((name for name in outputs if hasattr(model, name)), None)
    if name is None:
        raise TypeError(f"{type(model).__name__} predicts nothing that could be explained.")
    method = getattr(model, name)
    return lambda rows: np.asarray(method(rows), dtype=float).reshape(len(rows), -1), outputs[name]
