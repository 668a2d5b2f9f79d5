"""Scalers, ours and scikit-learn's, before a model and round its target"""

import numpy as np
from sklearn import preprocessing as theirs

from mlreplica import preprocessing as ours

from ._graph import convert, converter, no_graph

STANDARD = (ours.StandardScaler, theirs.StandardScaler)
ROBUST = (ours.RobustScaler, theirs.RobustScaler)
MAX_ABS = (ours.MaxAbsScaler, theirs.MaxAbsScaler)
MIN_MAX = (ours.MinMaxScaler, theirs.MinMaxScaler)


def scaled(graph, x, step):
    """(x − a) b of a scaler; x itself if the step passes it through."""
    if step in ("passthrough", None):
        return x
    a, b = shift_and_factor(step)
    return graph.add("Mul", graph.add("Sub", x, a), b)


def shift_and_factor(step):
    """The a and b of (x − a) b."""
    if not isinstance(step, STANDARD + ROBUST + MAX_ABS + MIN_MAX):
        raise no_graph(type(step).__name__)
    if getattr(step, "clip", False):
        raise no_graph(f"a {type(step).__name__} that clips")
    p = step.n_features_in_
    zero, one = np.zeros(p), np.ones(p)
    if isinstance(step, STANDARD):
        a = step.mean_ if step.with_mean else zero
        return a, 1.0 / step.scale_ if step.with_std else one
    if isinstance(step, ROBUST):
        a = step.center_ if step.with_centering else zero
        return a, 1.0 / step.scale_ if step.with_scaling else one
    if isinstance(step, MAX_ABS):
        return zero, 1.0 / step.scale_
    return -step.min_ / step.scale_, step.scale_


@converter
def scaled_target(model, graph, x):
    """The prediction f of the scaled target, scaled back: f / b + a."""
    if model.transformer is None:
        raise no_graph("TransformedTargetRegressor with functions instead of a scaler")
    a, b = shift_and_factor(model.transformer_)
    f, shape = convert(model.regressor_, graph, x)["prediction"]
    return {"prediction": (graph.add("Add", graph.add("Div", f, b), a), shape)}
