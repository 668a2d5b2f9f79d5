"""Trees and what is made of them: forests, boosting, AdaBoost, isolation"""

import numpy as np
from sklearn.base import is_classifier

from mlreplica.core.formulas import loss_formulas as formulas
from mlreplica.core.growth.tree import LEAF
from mlreplica.ensemble.isolation.trees import average_path

from ._graph import applied, converter, label, named, no_graph, predicted, probabilities


def ensemble_of(graph, x, trees, width, base=None):
    """The sum of trees: (feature, threshold, left, right, missing_left, values (nodes, ·), first).

    A leaf adds its values to the outputs `first`, `first` + 1 …; `left` is LEAF at a leaf.
    """
    nodes, targets, weights, cuts = [], [], [], []
    for t, (feature, threshold, left, right, missing, values, first) in enumerate(trees):
        leaf = left == LEAF
        zero, number = np.zeros(len(left), dtype=np.int64), np.arange(len(left))
        rows = [zero + t, number, *(np.where(leaf, 0, a) for a in (feature, left, right, missing))]
        nodes.append(np.array([*rows, leaf], dtype=np.int64))
        cuts.append(np.where(leaf, 0.0, threshold))
        at, k = np.nonzero(np.repeat(leaf[:, None], values.shape[1], axis=1))
        targets.append(np.array([np.full(len(at), t), at, first + k], dtype=np.int64))
        weights.append(values[at, k])
    tree, node, feature, left, right, missing, leaf = np.concatenate(nodes, axis=1)
    target_tree, target_node, target = np.concatenate(targets, axis=1)
    tensor = graph.onnx.numpy_helper.from_array
    options = {} if base is None else {"base_values_as_tensor": tensor(np.array(base, dtype=float))}
    out = graph.add(
        "TreeEnsembleRegressor",
        x,
        domain="ai.onnx.ml",
        n_targets=width,
        nodes_treeids=tree.tolist(),
        nodes_nodeids=node.tolist(),
        nodes_featureids=feature.tolist(),
        nodes_values_as_tensor=tensor(np.concatenate(cuts)),
        nodes_modes=[("BRANCH_LEQ", "LEAF")[k] for k in leaf],
        nodes_truenodeids=left.tolist(),
        nodes_falsenodeids=right.tolist(),
        nodes_missing_value_tracks_true=missing.tolist(),
        target_treeids=target_tree.tolist(),
        target_nodeids=target_node.tolist(),
        target_ids=target.tolist(),
        target_weights_as_tensor=tensor(np.concatenate(weights)),
        **options,
    )
    return graph.add("Cast", out, to=graph.onnx.TensorProto.DOUBLE)


def parts(tree, factor=1.0, first=0, values=None):
    """A `Tree` as `ensemble_of` takes it; its values, or others (nodes, ·), times a factor."""
    if tree.categories is not None:
        raise no_graph("trees with categorical features")
    values = factor * (tree.value.reshape(tree.node_count, -1) if values is None else values)
    return (
        tree.feature, tree.threshold, tree.children_left, tree.children_right,
        tree.missing_go_to_left, values, first,
    )  # fmt: skip


@converter
def trees(model, graph, x):
    """The mean of the trees of a forest, or the values of one tree."""
    trees = model._trees if hasattr(model, "_trees") else [model.tree_]
    if is_classifier(model) and model.n_outputs_ > 1:
        raise no_graph("a classifier with several outputs")
    K = model.n_outputs_ * trees[0].max_n_classes
    f = ensemble_of(graph, x, [parts(t, 1.0 / len(trees)) for t in trees], int(K))
    if not is_classifier(model):
        return predicted(graph, f, None if model.n_outputs_ == 1 else int(K))
    codes = graph.add("ArgMax", f, axis=1, keepdims=0)
    return {**named(model.classes_, graph, codes), "probabilities": (f, ["n", int(K)])}


@converter
def gradient_boosting(model, graph, x):
    """The sum of the trees of all stages."""
    if model._baseline is None:
        raise no_graph("boosting that begins with an estimator (init=)")
    trees = [
        parts(estimator.tree_, model.learning_rate, k)
        for stage in model.estimators_
        for k, estimator in enumerate(stage)
    ]
    f = ensemble_of(graph, x, trees, len(model._baseline), model._baseline)
    return boosted(model, graph, f, model._objective.loss)


@converter
def histogram_boosting(model, graph, x):
    """The sum of the trees of all rounds."""
    trees = []
    for trees_of_round in model._predictors:
        for k, t in enumerate(trees_of_round):
            if (t.table >= 0).any() or model.is_categorical_ is not None:
                raise no_graph("trees with categorical features")
            left = np.where(t.column < 0, LEAF, t.left)
            nodes = t.column, t.threshold, left, t.left + 1, t.missing_left
            trees.append((*nodes, t.value[:, None], k))
    base = model._baseline_prediction[0]
    return boosted(model, graph, ensemble_of(graph, x, trees, len(base), base), model._loss)


def boosted(model, graph, f, loss):
    """The outputs of boosting from scores (n, 1 or K)."""
    if not is_classifier(model):
        return predicted(graph, applied(graph, f, loss.inverse_link), None)
    K = len(model.classes_)
    if K == 2:
        f = graph.add("Squeeze", f, np.array([1]))
    outputs = {**label(model, graph, f), "scores": (f, ["n"] if K == 2 else ["n", K])}
    if loss.inverse_link is not None:
        outputs["probabilities"] = probabilities(graph, f, loss.inverse_link, K), ["n", K]
    return outputs


@converter
def adaboost_votes(model, graph, x):
    """The class with the largest sum of weights."""
    K, alpha = len(model.classes_), model.estimator_weights_
    votes = [np.eye(K)[t.value[:, 0].argmax(axis=1)] for t in learners(model)]
    trees = [
        parts(t, values=a * vote) for t, a, vote in zip(learners(model), alpha, votes, strict=False)
    ]
    shares = graph.add("Div", ensemble_of(graph, x, trees, K), alpha.sum())
    if K == 2:
        f = graph.add(
            "Squeeze", graph.add("MatMul", shares, np.array([[-2.0], [2.0]])), np.array([1])
        )
    else:  # votes for a class less those against it
        f = graph.add("Sub", graph.add("Mul", shares, K / (K - 1)), 1.0 / (K - 1))
    p = probabilities(graph, f if K == 2 else graph.add("Div", f, K - 1.0), formulas.softmax, K)
    return {
        **label(model, graph, f),
        "scores": (f, ["n"] if K == 2 else ["n", K]),
        "probabilities": (p, ["n", K]),
    }


@converter
def adaboost_median(model, graph, x):
    """The weighted median: the first prediction, from below, at which half of the weight is."""
    trees = [parts(t, first=k) for k, t in enumerate(learners(model))]
    f = ensemble_of(graph, x, trees, len(trees))
    order = graph.order(f, len(trees))
    upto = graph.add("CumSum", graph.add("Gather", model.estimator_weights_, order), np.array(1))
    half = 0.5 * model.estimator_weights_.sum()
    short = graph.add("Cast", graph.add("Less", upto, half), to=graph.onnx.TensorProto.INT64)
    middle = graph.add("ReduceSum", short, np.array([1]), keepdims=1)
    which = graph.add("GatherElements", order, middle, axis=1)
    return predicted(graph, graph.add("GatherElements", f, which, axis=1), None)


def learners(model):
    """The trees of AdaBoost."""
    if model._packed is None:
        raise no_graph(f"AdaBoost of {type(model.estimators_[0]).__name__}")
    return [estimator.tree_ for estimator in model.estimators_]


@converter
def isolation(model, graph, x):
    """2 to the mean path; its features are counted among the columns drawn for a tree."""
    trees = []
    for estimator, drawn in zip(model.estimators_, model.estimators_features_, strict=True):
        feature, *rest = parts(estimator.tree_)
        trees.append((np.asarray(drawn)[np.maximum(feature, 0)], *rest))
    scale = len(trees) * float(average_path(model.max_samples_))
    paths = graph.add("Squeeze", ensemble_of(graph, x, trees, 1), np.array([1]))
    s = graph.add("Pow", 2.0, graph.add("Div", paths, -scale)) if scale else 0.5
    f = graph.add("Sub", -model.offset_, s)
    inside = graph.add("Cast", graph.add("GreaterOrEqual", f, 0.0), to=graph.onnx.TensorProto.INT64)
    return {**named(np.array([-1, 1]), graph, inside), "scores": (f, ["n"])}
