"""Linear models: Xw + b, and what each makes of it"""

import numpy as np
from sklearn.base import is_classifier

from mlreplica.core.formulas import loss_formulas as formulas

from ._graph import converter, label, parted, predicted, probabilities

STEEPNESS = {"log_loss": 1.0, "logistic": 1.0, "exponential": 2.0}  # of losses with a link


@converter
def linear(model, graph, x):
    """Xw + b as the prediction, or as scores of classes."""
    f, width = scores(model, graph, x)
    return classified(model, graph, f) if is_classifier(model) else predicted(graph, f, width)


@converter
def log_linear(model, graph, x):
    """exp(Xw + b)."""
    f, width = scores(model, graph, x)
    return predicted(graph, graph.add("Exp", f), width)


@converter
def logistic(model, graph, x):
    """The softmax of Xw + b."""
    outputs, K = linear(model, graph, x), len(model.classes_)
    p = probabilities(graph, outputs["scores"][0], formulas.softmax, K)
    return outputs | {"probabilities": (p, ["n", K])}


def scores(model, graph, x):
    """Xw + b as (n, 1 or more), and the number of targets, None for a plain vector."""
    coef = np.asarray(model.coef_, dtype=float)
    W = np.atleast_2d(coef)
    b = np.broadcast_to(np.asarray(model.intercept_, dtype=float), len(W))
    f = graph.add("Add", graph.add("MatMul", x, np.ascontiguousarray(W.T)), b.copy())
    return f, None if coef.ndim == 1 else len(W)


def classified(model, graph, f):
    """`label`, `scores` and, of a loss with a link, `probabilities` from scores (n, 1 or K)."""
    K = len(model.classes_)
    if K == 2:
        f = graph.add("Squeeze", f, np.array([1]))
    outputs = {**label(model, graph, f), "scores": (f, ["n"] if K == 2 else ["n", K])}
    if factor := STEEPNESS.get(getattr(model, "loss", None)):
        outputs["probabilities"] = against_the_rest(graph, f, factor, K), ["n", K]
    return outputs


def against_the_rest(graph, f, factor, K):
    """Each class's sigmoid(factor f) over their sum; all the same if no class will have it."""
    z = graph.add("Mul", f, factor)
    if K == 2:
        return probabilities(graph, z, formulas.sigmoid, K)
    p = graph.add("Sigmoid", z)
    none = graph.add("Equal", graph.add("ReduceSum", p, np.array([1]), keepdims=1), 0.0)
    return parted(
        graph, graph.add("Add", p, graph.add("Cast", none, to=graph.onnx.TensorProto.DOUBLE))
    )
