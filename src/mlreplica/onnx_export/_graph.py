"""A graph under construction, and the outputs that models have in common"""

import numpy as np
import scipy.sparse as sp
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline

import mlreplica
from mlreplica.core.formulas import loss_formulas as formulas

OPSETS = {"": 17, "ai.onnx.ml": 3}
IR = 8  # readable since onnx 1.10
LINKS = {
    formulas.identity: (),
    formulas.sigmoid: ("Sigmoid",),
    formulas.exp_value: ("Exp",),
    formulas.softmax: ("Softmax",),
    formulas.sigmoid_of_twice: ("Twice", "Sigmoid"),
}
SUPPORTED = (
    "linear models, support vector machines, kernel ridge, trees and boosting without categories, "
    "forests and AdaBoost of our trees; bagging, voting, stacking and RANSAC of these; alone or "
    "behind scalers"
)


def no_graph(of):
    """The error that names what cannot be exported, and what can."""
    return TypeError(f"there is no ONNX graph of {of}; there are graphs of {SUPPORTED}.")


CONVERTERS = {}  # by the names on cards


def converter(function):
    """Register a function (model, graph, x) under its own name."""
    CONVERTERS[function.__name__] = function
    return function


def convert(model, graph, x):
    """Return the outputs of a model: names to (tensor, shape) or (tensor, shape, dtype)."""
    from ._scaling import scaled

    if isinstance(model, Pipeline):
        for _, step in model.steps[:-1]:
            x = scaled(graph, x, step)
        return convert(model.steps[-1][1], graph, x)
    if sp.issparse(getattr(model, "coef_", None)):
        raise TypeError("coef_ is sparse: call densify() first.")
    scaled_target = "scaled_target" if isinstance(model, TransformedTargetRegressor) else None
    way = getattr(getattr(model, "card", None), "onnx", scaled_target)
    if way is None:
        raise no_graph(type(model).__name__)
    found = (CONVERTERS[way] if isinstance(way, str) else way)(model, graph, x)
    if hasattr(model, "predict_proba") and "probabilities" not in found:
        raise no_graph(f"the probabilities of {model}")
    return found


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

    def order(self, tensor, width):
        """The places (n, width) of the values of each row, the smallest first."""
        self.add("TopK", tensor, np.array([width]), axis=1, largest=0)
        self.nodes[-1].output.append(out := f"order{len(self.nodes)}")
        return out

    def slice(self, tensor, axis, i):
        """The i-th part along an axis, which stays, of length 1."""
        return self.add("Slice", tensor, *(np.array([v]) for v in (i, i + 1, axis)))

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


def predicted(graph, f, width):
    """`prediction`, of one target if `width` is None."""
    if width is None:
        return {"prediction": (graph.add("Squeeze", f, np.array([1])), ["n"])}
    return {"prediction": (f, ["n", width])}


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


def parted(graph, shares):
    """Shares (n, K) over their sum."""
    return graph.add("Div", shares, graph.add("ReduceSum", shares, np.array([1]), keepdims=1))


def applied(graph, f, link):
    """The inverse link of scores."""
    if link not in LINKS:
        raise no_graph(f"the link {link!r}")
    for operator in LINKS[link]:
        if operator == "Twice":
            f = graph.add("Mul", f, 2.0)
        else:
            f = graph.add(operator, f, **({"axis": 1} if operator == "Softmax" else {}))
    return f
