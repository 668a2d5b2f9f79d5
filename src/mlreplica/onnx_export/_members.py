"""Models made of models: bagging, voting, stacking, and RANSAC, which keeps one"""

import numpy as np
from sklearn.base import is_classifier

from ._graph import convert, converter, named, no_graph


@converter
def consensus(model, graph, x):
    """The model that was fitted to the inliers."""
    return convert(model.estimator_, graph, x)


@converter
def bagging(model, graph, x):
    """The mean of the members, each on its columns; votes count where none has probabilities."""
    every = np.arange(model.n_features_in_)
    found = [
        convert(m, graph, x if np.array_equal(j, every) else graph.add("Gather", x, j, axis=1))
        for m, j in zip(model.estimators_, map(np.asarray, model.estimators_features_), strict=True)
    ]
    a = np.full(len(found), 1.0 / len(found))
    if not is_classifier(model):
        return {"prediction": (mean(graph, [number(one) for one in found], a), ["n"])}
    K, soft = len(model.classes_), hasattr(model.estimators_[0], "predict_proba")
    shares = [
        graph.add("MatMul", one["probabilities"][0] if soft else votes(graph, one, m), at)
        for one, m in zip(found, model.estimators_, strict=True)
        for at in [np.eye(K)[np.asarray(m.classes_, dtype=int)]]  # its classes among all
    ]
    outputs = elected(model, graph, mean(graph, shares, a))
    if all("scores" in one for one in found):
        scores = [one["scores"][0] for one in found]
        outputs["scores"] = mean(graph, scores, a), found[0]["scores"][1]
    return outputs


@converter
def voting(model, graph, x):
    """The weighted mean of predictions or of probabilities, or the class with most votes."""
    found, a = [convert(m, graph, x) for m in model.estimators_], model._weights_not_none
    a = np.ones(len(found)) if a is None else np.asarray(a, dtype=float)
    a = a / a.sum()
    if not is_classifier(model):
        return {"prediction": (mean(graph, [number(one) for one in found], a), ["n"])}
    if model.voting == "soft":
        return elected(model, graph, mean(graph, [one["probabilities"][0] for one in found], a))
    shares = [votes(graph, one, m) for one, m in zip(found, model.estimators_, strict=True)]
    return {"label": elected(model, graph, mean(graph, shares, a))["label"]}


@converter
def stacking(model, graph, x):
    """The final model on what the others say, and on X too if it is passed through."""
    columns = []
    members = zip(
        (m for m in model.estimators_ if not isinstance(m, str)), model.stack_method_, strict=True
    )
    for m, method in members:
        found = convert(m, graph, x)
        if method == "predict_proba":
            f, K = found["probabilities"][0], len(m.classes_)
            columns.append(graph.slice(f, 1, 1) if K == 2 else f)
        elif method == "decision_function":
            f, shape = found["scores"]
            columns.append(column(graph, f) if len(shape) == 1 else f)
        elif is_classifier(m):
            codes = graph.add("Cast", found["label"][0], to=graph.onnx.TensorProto.DOUBLE)
            columns.append(column(graph, codes))
        else:
            columns.append(column(graph, number(found)))
    columns += [x] if model.passthrough else []
    found = convert(model.final_estimator_, graph, graph.add("Concat", *columns, axis=1))
    if is_classifier(model):
        found |= named(model.classes_, graph, found["label"][0])
    return found


def number(found):
    """The prediction of one target."""
    f, shape = found["prediction"]
    if len(shape) != 1:
        raise no_graph("members with several targets")
    return f


def column(graph, f):
    """A vector as (n, 1)."""
    return graph.add("Unsqueeze", f, np.array([1]))


def mean(graph, tensors, weights):
    """Σ a_m f_m."""
    return graph.add(
        "Sum", *(graph.add("Mul", f, a) for f, a in zip(tensors, weights, strict=True))
    )


def votes(graph, found, member):
    """One vote per row, (n, K): the members' classes are numbers."""
    label = column(graph, found["label"][0])
    same = graph.add("Equal", label, np.asarray(member.classes_, dtype=np.int64))
    return graph.add("Cast", same, to=graph.onnx.TensorProto.DOUBLE)


def elected(model, graph, shares):
    """The class with the largest share, and the shares as probabilities."""
    codes = graph.add("ArgMax", shares, axis=1, keepdims=0)
    K = len(model.classes_)
    return {**named(model.classes_, graph, codes), "probabilities": (shares, ["n", K])}
