"""ONNX: fitted models as graphs that run without Python

A graph takes X, float32 of shape (n, p), and gives what the model's own methods give:

    regressors      prediction       as `predict`
    classifiers     label            as `predict`
                    scores           as `decision_function`, if the model has one
                    probabilities    as `predict_proba`, if the model has one
    OneClassSVM     label, scores    as `predict` and `decision_function`

All is computed in double precision, and X is widened first, which is exact. So a row of float32
goes down the same branch at every threshold of a tree as it does here; results are rounded to
float32 once, at the end. Linear models and kernels are products and exponentials of the standard
operators; trees are one `TreeEnsembleRegressor` of ai.onnx.ml.
"""

import functools

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

import mlreplica
from mlreplica import ensemble, kernels, linear_model, svm, tree
from mlreplica.core import formulas
from mlreplica.core.tree import LEAF
from mlreplica.kernel_ridge import KernelRidge

__all__ = ["to_onnx"]

OPSETS = {"": 17, "ai.onnx.ml": 3}
IR = 8  # readable since onnx 1.10
LINKS = {
    formulas.identity: (),
    formulas.sigmoid: ("Sigmoid",),
    formulas.exp_value: ("Exp",),
    formulas.softmax: ("Softmax",),
    formulas.sigmoid_of_twice: ("Twice", "Sigmoid"),
}


def to_onnx(model, *, name=None):
    """A fitted model as an ONNX graph.

    Linear models, support vector machines and kernel ridge regression with any kernel of
    `mlreplica.kernels` but the Laplacian and those of your own, trees without categories, forests,
    gradient and histogram boosting; alone or behind scalers in a `Pipeline`. An error names what
    has no graph. Needs the extra `onnx`.

    Parameters
    ----------
    model : estimator
        Fitted.
    name : str, default=None
        The graph's name; the class's by default.

    Returns
    -------
    onnx.ModelProto
        `SerializeToString()` gives the bytes of a file.

    Examples
    --------
    >>> import mlreplica
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> graph = mlreplica.to_onnx(SVC().fit(X, y)).graph
    >>> [output.name for output in graph.output]
    ['label', 'scores']
    """
    check_is_fitted(model)
    graph = Graph()
    x, last = graph.add("Cast", "X", to=graph.onnx.TensorProto.DOUBLE), model
    while isinstance(last, Pipeline):
        *before, (_, last) = last.steps
        for _, step in before:
            x = scaled(graph, x, step)
    if sp.issparse(getattr(last, "coef_", None)):
        raise TypeError("coef_ is sparse: call densify() first.")
    outputs = {name: graph.result(name, *found) for name, found in convert(last, graph, x).items()}
    return graph.model(name or type(last).__name__, last.n_features_in_, outputs)


class Graph:
    """Nodes and constants, in the order in which they are computed."""

    def __init__(self):
        try:
            import onnx
        except ImportError as error:
            raise ImportError("to_onnx needs onnx: pip install 'mlreplica[onnx]'.") from error
        self.onnx, self.nodes, self.constants = onnx, [], []

    def add(self, operator, *inputs, domain="", **attributes):
        """The output of a new node; arrays among the inputs become constants."""
        names = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        out = f"t{len(self.nodes)}"
        make = self.onnx.helper.make_node
        self.nodes.append(make(operator, names, [out], domain=domain, **attributes))
        return out

    def constant(self, value):
        """A constant tensor; numbers become float64, or stay whole or strings."""
        value, name = np.asarray(value), f"c{len(self.constants)}"
        if value.dtype.kind in "OU":
            data, kind = [str(v).encode() for v in value.ravel()], self.onnx.TensorProto.STRING
            tensor = self.onnx.helper.make_tensor(name, kind, value.shape, data)
        else:
            tensor = self.onnx.numpy_helper.from_array(np.ascontiguousarray(value), name)
        self.constants.append(tensor)
        return name

    def result(self, name, tensor, shape, kind=np.float32):
        """Call a tensor by its public name, with its type."""
        kind = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        if kind == self.onnx.TensorProto.FLOAT:
            self.nodes.append(self.onnx.helper.make_node("Cast", [tensor], [name], to=kind))
        else:
            self.nodes.append(self.onnx.helper.make_node("Identity", [tensor], [name]))
        return self.onnx.helper.make_tensor_value_info(name, kind, shape)

    def model(self, name, p, outputs):
        """The finished model, checked."""
        helper = self.onnx.helper
        X = helper.make_tensor_value_info("X", self.onnx.TensorProto.FLOAT, ["n", p])
        graph = helper.make_graph(self.nodes, name, [X], list(outputs.values()), self.constants)
        opsets = [helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]
        model = helper.make_model(
            graph, opset_imports=opsets, ir_version=IR, producer_name="mlreplica",
            producer_version=mlreplica.__version__,
        )  # fmt: skip
        self.onnx.checker.check_model(model)
        return model


@functools.singledispatch
def convert(model, graph, x):
    """The outputs of a model: names to (tensor, shape) or (tensor, shape, dtype)."""
    if hasattr(model, "coef_") and type(model).__module__.startswith("mlreplica.linear_model"):
        return linear(model, graph, x)
    raise TypeError(f"there is no ONNX graph of {type(model).__name__}.")


def scaled(graph, x, step):
    """A scaler of scikit-learn: (x − a) b."""
    if step in ("passthrough", None):
        return x
    p = step.n_features_in_
    zero, one = np.zeros(p), np.ones(p)
    if isinstance(step, StandardScaler):
        a = step.mean_ if step.with_mean else zero
        b = 1.0 / step.scale_ if step.with_std else one
    elif isinstance(step, RobustScaler):
        a = step.center_ if step.with_centering else zero
        b = 1.0 / step.scale_ if step.with_scaling else one
    elif isinstance(step, MaxAbsScaler) and not getattr(step, "clip", False):
        a, b = zero, 1.0 / step.scale_
    elif isinstance(step, MinMaxScaler) and not step.clip:
        a, b = -step.min_ / step.scale_, step.scale_
    else:
        raise TypeError(f"there is no ONNX graph of {type(step).__name__} with these parameters.")
    return graph.add("Mul", graph.add("Sub", x, a), b)


# ---------------------------------------------------------------------------------- linear models


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


@convert.register
def _(model: svm.LinearSVC, graph, x):
    return linear(model, graph, x)


@convert.register
def _(model: svm.LinearSVR, graph, x):
    return linear(model, graph, x)


def predicted(graph, f, width):
    """`prediction`, of one target if `width` is None."""
    if width is None:
        return {"prediction": (graph.add("Squeeze", f, np.array([1])), ["n"])}
    return {"prediction": (f, ["n", width])}


def classified(model, graph, f):
    """`label`, `scores` and, of a logistic model, `probabilities` from scores (n, 1 or K)."""
    K = len(model.classes_)
    if K == 2:
        f = graph.add("Squeeze", f, np.array([1]))
    outputs = label(model, graph, f)
    outputs["scores"] = f, ["n"] if K == 2 else ["n", K]
    if isinstance(model, linear_model.LogisticRegression | linear_model.LogisticRegressionCV):
        outputs["probabilities"] = probabilities(graph, f, formulas.softmax, K), ["n", K]
    return outputs


def label(model, graph, f):
    """The class with the largest score; of two classes (n,), the second if the score is > 0."""
    if len(model.classes_) == 2:
        codes = graph.add("Cast", graph.add("Greater", f, 0.0), to=graph.onnx.TensorProto.INT64)
    else:
        codes = graph.add("ArgMax", f, axis=1, keepdims=0)
    return named(model.classes_, graph, codes)


def named(classes, graph, codes):
    """Classes by their numbers, in a type that ONNX has."""
    classes = np.asarray(classes)
    kind = {"i": np.int64, "u": np.int64, "b": np.bool_, "f": np.float64}.get(classes.dtype.kind)
    classes = classes.astype(str) if kind is None else classes.astype(kind)
    tensor = graph.add("Gather", classes, codes)
    return {"label": (tensor, ["n"], classes.dtype if kind else object)}


def probabilities(graph, f, link, K):
    """Columns of probabilities from scores (n,) of two classes or (n, K)."""
    if K > 2:
        return applied(graph, f, link)
    p = applied(graph, f, formulas.sigmoid if link is formulas.softmax else link)
    p = graph.add("Unsqueeze", p, np.array([1]))
    return graph.add("Concat", graph.add("Sub", 1.0, p), p, axis=1)


def applied(graph, f, link):
    """The inverse link of scores."""
    if link not in LINKS:
        raise TypeError(f"there is no ONNX graph of the link {link!r}.")
    for operator in LINKS[link]:
        if operator == "Twice":
            f = graph.add("Mul", f, 2.0)
        else:
            f = graph.add(operator, f, **({"axis": 1} if operator == "Softmax" else {}))
    return f


# ---------------------------------------------------------------------------------------- kernels


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
    raise TypeError(f"there is no ONNX graph of the kernel {K!r}.")


def machine_scores(model, graph, x):
    """Σ_j β_j K(x, x_j) + b of every machine, (n, machines)."""
    rows, coef = model.support_vectors_, model._dual_coef_
    rows, coef = (a.toarray() if sp.issparse(a) else np.asarray(a) for a in (rows, coef))
    K = gram(graph, x, model._kernel, rows)
    C = np.zeros((len(rows), len(model._intercept_)))
    for mine, machines in model._parts():
        C[mine, machines] = coef[:, mine].T
    return graph.add("Add", graph.add("MatMul", K, C), np.asarray(model._intercept_, dtype=float))


@convert.register(svm.SVR)
@convert.register(svm.NuSVR)
def _(model, graph, x):
    return predicted(graph, machine_scores(model, graph, x), None)


@convert.register
def _(model: svm.OneClassSVM, graph, x):
    f = graph.add("Squeeze", machine_scores(model, graph, x), np.array([1]))
    inside = graph.add("Cast", graph.add("GreaterOrEqual", f, 0.0), to=graph.onnx.TensorProto.INT64)
    return {**named(np.array([-1, 1]), graph, inside), "scores": (f, ["n"])}


@convert.register(svm.SVC)
@convert.register(svm.NuSVC)
def _(model, graph, x):
    f, k = machine_scores(model, graph, x), len(model.classes_)
    if k == 2:  # inside, the first class is +1
        return classified(model, graph, graph.add("Neg", f))
    if model._one_vs_rest:
        return classified(model, graph, f)
    pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
    first, second = (np.eye(k)[[pair[side] for pair in pairs]] for side in (0, 1))
    wins = graph.add("Cast", graph.add("Greater", f, 0.0), to=graph.onnx.TensorProto.DOUBLE)
    votes = graph.add("Add", graph.add("MatMul", wins, first - second), second.sum(axis=0))
    if model.decision_function_shape == "ovo":
        outputs = {"scores": (f, ["n", len(pairs)])}
    else:  # votes, and below one the sum of what they were won by
        sums = graph.add("MatMul", f, first - second)
        room = graph.add("Mul", graph.add("Add", graph.add("Abs", sums), 1.0), 3.0)
        scores = graph.add("Add", votes, graph.add("Div", sums, room))
        outputs = {"scores": (scores, ["n", k])}
    best = scores if model.break_ties else votes
    codes = graph.add("ArgMax", best, axis=1, keepdims=0)
    return {**named(model.classes_, graph, codes), **outputs}


@convert.register
def _(model: KernelRidge, graph, x):
    coef = np.asarray(model.dual_coef_, dtype=float)
    C = coef.reshape(len(coef), -1)
    b = np.broadcast_to(np.asarray(model.intercept_, dtype=float), C.shape[1]).copy()
    f = graph.add("MatMul", gram(graph, x, model.kernel_, np.asarray(model.X_fit_)), C)
    return predicted(graph, graph.add("Add", f, b), None if coef.ndim == 1 else C.shape[1])


# ------------------------------------------------------------------------------------------ trees


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


def parts(tree, factor=1.0, first=0):
    """A `Tree` as `ensemble_of` takes it, its values times a factor."""
    if tree.categories is not None:
        raise TypeError("there is no ONNX graph of trees with categorical features.")
    values = factor * tree.value.reshape(tree.node_count, -1)
    return (
        tree.feature, tree.threshold, tree.children_left, tree.children_right,
        tree.missing_go_to_left, values, first,
    )  # fmt: skip


@convert.register(tree.DecisionTreeClassifier)
@convert.register(tree.DecisionTreeRegressor)
@convert.register(ensemble.RandomForestClassifier)
@convert.register(ensemble.RandomForestRegressor)
@convert.register(ensemble.ExtraTreesClassifier)
@convert.register(ensemble.ExtraTreesRegressor)
def _(model, graph, x):
    trees = model._trees if hasattr(model, "_trees") else [model.tree_]
    if is_classifier(model) and model.n_outputs_ > 1:
        raise TypeError("there is no ONNX graph of a classifier with several outputs.")
    K = model.n_outputs_ * trees[0].max_n_classes
    f = ensemble_of(graph, x, [parts(t, 1.0 / len(trees)) for t in trees], int(K))
    if not is_classifier(model):
        return predicted(graph, f, None if model.n_outputs_ == 1 else int(K))
    codes = graph.add("ArgMax", f, axis=1, keepdims=0)
    return {**named(model.classes_, graph, codes), "probabilities": (f, ["n", int(K)])}


@convert.register(ensemble.GradientBoostingClassifier)
@convert.register(ensemble.GradientBoostingRegressor)
def _(model, graph, x):
    if model._baseline is None:
        raise TypeError("there is no ONNX graph of boosting that begins with an estimator (init=).")
    trees = [
        parts(estimator.tree_, model.learning_rate, k)
        for stage in model.estimators_
        for k, estimator in enumerate(stage)
    ]
    f = ensemble_of(graph, x, trees, len(model._baseline), model._baseline)
    return boosted(model, graph, f, model._objective.loss)


@convert.register(ensemble.HistGradientBoostingClassifier)
@convert.register(ensemble.HistGradientBoostingRegressor)
def _(model, graph, x):
    trees = []
    for trees_of_round in model._predictors:
        for k, t in enumerate(trees_of_round):
            if (t.table >= 0).any() or model.is_categorical_ is not None:
                raise TypeError("there is no ONNX graph of trees with categorical features.")
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
