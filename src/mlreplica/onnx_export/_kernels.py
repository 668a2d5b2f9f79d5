"""Kernel machines: Σ β K(x, x_i) + b, votes of pairs, and their probabilities"""

import functools
from itertools import combinations

import numpy as np
import scipy.sparse as sp

from mlreplica import kernels
from mlreplica.svm._calibration import LEAST

from ._graph import converter, label, named, no_graph, parted, predicted


def gram(graph, x, K, Y):
    """The matrix K(x, Y)."""
    p = Y.shape[1]
    if isinstance(K, kernels.RBF):
        centre = Y.mean(axis=0)
        z, Y = graph.add("Sub", x, centre), Y - centre
        z_sq = graph.add("ReduceSum", graph.add("Mul", z, z), np.array([1]), keepdims=1)
        inner = graph.add("MatMul", z, np.ascontiguousarray(-2.0 * Y.T))
        square = graph.add("Add", graph.add("Add", inner, z_sq), np.einsum("ij,ij->i", Y, Y))
        gamma = kernels.resolve_gamma(K.gamma, Y)
        return graph.add("Exp", graph.add("Mul", graph.add("Max", square, 0.0), -gamma))
    if isinstance(K, kernels.Linear | kernels.Polynomial | kernels.Sigmoid):
        inner = graph.add("MatMul", x, np.ascontiguousarray(Y.T))
        if isinstance(K, kernels.Linear):
            return inner
        gamma = 1.0 / p if K.gamma in (None, "auto") else float(K.gamma)
        inner = graph.add("Add", graph.add("Mul", inner, gamma), float(K.coef0))
        if isinstance(K, kernels.Sigmoid):
            return graph.add("Tanh", inner)
        return graph.add("Pow", inner, float(K.degree))
    if isinstance(K, kernels.Constant):
        zero = graph.add("Mul", graph.add("MatMul", x, np.zeros((p, len(Y)))), 0.0)
        return graph.add("Add", zero, float(K.c))
    if isinstance(K, kernels.Scaled):
        return graph.add("Mul", gram(graph, x, K.K, Y), float(K.c))
    if isinstance(K, kernels.Sum | kernels.Product):
        operator = "Add" if isinstance(K, kernels.Sum) else "Mul"
        return graph.add(operator, gram(graph, x, K.K1, Y), gram(graph, x, K.K2, Y))
    raise no_graph(f"the kernel {K!r}")


def machine_scores(model, graph, x):
    """Σ_j β_j K(x, x_j) + b of every machine, (n, machines)."""
    rows, coef = model.support_vectors_, model._dual_coef_
    rows, coef = (a.toarray() if sp.issparse(a) else np.asarray(a) for a in (rows, coef))
    K = gram(graph, x, model._kernel, rows)
    C = np.zeros((len(rows), len(model._intercept_)))
    for mine, machines in model._parts():
        C[mine, machines] = coef[:, mine].T
    return graph.add("Add", graph.add("MatMul", K, C), np.asarray(model._intercept_, dtype=float))


@converter
def kernel_scores(model, graph, x):
    """The score of one machine is its prediction."""
    return predicted(graph, machine_scores(model, graph, x), None)


@converter
def one_class(model, graph, x):
    """Inside where the score is not negative."""
    f = graph.add("Squeeze", machine_scores(model, graph, x), np.array([1]))
    inside = graph.add("Cast", graph.add("GreaterOrEqual", f, 0.0), to=graph.onnx.TensorProto.INT64)
    return {**named(np.array([-1, 1]), graph, inside), "scores": (f, ["n"])}


@converter
def kernel_votes(model, graph, x):
    """The class that wins most of its duels."""
    f, k = machine_scores(model, graph, x), len(model.classes_)
    if k == 2:
        score = graph.add("Squeeze", graph.add("Neg", f), np.array([1]))  # the first class is +1
        outputs = {**label(model, graph, score), "scores": (score, ["n"])}
    elif model._one_vs_rest:
        outputs = {**label(model, graph, f), "scores": (f, ["n", k])}
    else:
        outputs = voted(model, graph, f, k)
    if hasattr(model, "predict_proba"):
        z = graph.add("Add", graph.add("Mul", f, -model._probA), -model._probB)
        p = graph.add("Sigmoid", z)
        if k == 2:
            p = graph.add("Concat", p, graph.add("Sub", 1.0, p), axis=1)
        else:
            p = parted(graph, p if model._one_vs_rest else coupled(graph, p, k))
        outputs["probabilities"] = p, ["n", k]
    return outputs


def voted(model, graph, f, k):
    """`label` and `scores` from the machines of all pairs."""
    first, second = sides(k)
    wins = graph.add("Cast", graph.add("Greater", f, 0.0), to=graph.onnx.TensorProto.DOUBLE)
    votes = graph.add("Add", graph.add("MatMul", wins, first - second), second.sum(axis=0))
    if model.decision_function_shape == "ovo":
        outputs = {"scores": (f, ["n", len(first)])}
    else:  # votes, and below one the sum of what they were won by
        sums = graph.add("MatMul", f, first - second)
        room = graph.add("Mul", graph.add("Add", graph.add("Abs", sums), 1.0), 3.0)
        scores = graph.add("Add", votes, graph.add("Div", sums, room))
        outputs = {"scores": (scores, ["n", k])}
    best = scores if model.break_ties else votes
    codes = graph.add("ArgMax", best, axis=1, keepdims=0)
    return {**named(model.classes_, graph, codes), **outputs}


def sides(k):
    """The first and the second class of every pair, as rows of 0 and 1."""
    return (np.eye(k)[list(side)] for side in zip(*combinations(range(k), 2), strict=True))


def coupled(graph, r, k):
    """M p = 1 of svm's `coupled`, solved up to a factor; r is the first's share of each pair."""
    first, second = sides(k)
    r = graph.add("Clip", r, LEAST, 1.0 - LEAST)
    rest = graph.add("Sub", 1.0, r)
    entries = lambda a, b: np.einsum("mi,mj->mij", a, np.pad(b, ((0, 0), (0, 1)))).reshape(
        len(a), k * (k + 1)
    )
    terms = [
        graph.add("MatMul", graph.add("Mul", rest, rest), entries(first, first)),
        graph.add("MatMul", graph.add("Mul", r, r), entries(second, second)),
        graph.add(
            "MatMul", graph.add("Mul", r, rest), -entries(first, second) - entries(second, first)
        ),
        np.hstack([1e-12 * np.eye(k), np.ones((k, 1))]).ravel(),
    ]
    M = functools.reduce(lambda a, b: graph.add("Add", a, b), terms)
    M = graph.add("Reshape", M, np.array([-1, k, k + 1]))  # (M | 1)
    for i in range(k):  # Gauss and Jordan; M is positive definite, so no rows are exchanged
        unit = np.eye(k)[:, [i]]
        row = graph.slice(M, 1, i)
        row = graph.add("Div", row, graph.slice(row, 2, i))
        column = graph.add("Sub", graph.add("Mul", graph.slice(M, 2, i), 1.0 - unit), unit)
        M = graph.add("Sub", graph.add("Mul", M, 1.0 - unit), graph.add("Mul", column, row))
    p = graph.add("Squeeze", graph.slice(M, 2, k), np.array([2]))
    return graph.add("Max", p, 0.0)


@converter
def kernel_ridge(model, graph, x):
    """K(x, X) times the dual coefficients."""
    coef = np.asarray(model.dual_coef_, dtype=float)
    C = coef.reshape(len(coef), -1)
    b = np.broadcast_to(np.asarray(model.intercept_, dtype=float), C.shape[1]).copy()
    f = graph.add("MatMul", gram(graph, x, model.kernel_, np.asarray(model.X_fit_)), C)
    return predicted(graph, graph.add("Add", f, b), None if coef.ndim == 1 else C.shape[1])
