"""Linear models: Xw + b, and what each makes of it"""

import inspect

import numpy as np
from sklearn.base import is_classifier

from mlreplica import linear_model, svm
from mlreplica.core import formulas

from ._graph import convert, label, parted, predicted, probabilities

STEEPNESS = {"log_loss": 1.0, "logistic": 1.0, "exponential": 2.0}  # SGDClassifier's losses


def linear(model, graph, x):
    """Xw + b, and what the model makes of it."""
    coef = np.asarray(model.coef_, dtype=float)
    W = np.atleast_2d(coef)
    b = np.broadcast_to(np.asarray(model.intercept_, dtype=float), len(W))
    f = graph.add("Add", graph.add("MatMul", x, np.ascontiguousarray(W.T)), b.copy())
    if is_classifier(model):
        return classified(model, graph, f)
    if isinstance(model, linear_model.PoissonRegressor):
        f = graph.add("Exp", f)
    return predicted(graph, f, None if coef.ndim == 1 else len(W))


def classified(model, graph, f):
    """`label`, `scores` and, of a logistic model, `probabilities` from scores (n, 1 or K)."""
    K = len(model.classes_)
    if K == 2:
        f = graph.add("Squeeze", f, np.array([1]))
    outputs = {**label(model, graph, f), "scores": (f, ["n"] if K == 2 else ["n", K])}
    if isinstance(model, linear_model.LogisticRegression | linear_model.LogisticRegressionCV):
        outputs["probabilities"] = probabilities(graph, f, formulas.softmax, K), ["n", K]
    elif factor := STEEPNESS.get(getattr(model, "loss", None)):
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


for name in linear_model.__all__:
    if inspect.isclass(cls := getattr(linear_model, name)):
        convert.register(cls, linear)
for cls in (svm.LinearSVC, svm.LinearSVR):
    convert.register(cls, linear)
