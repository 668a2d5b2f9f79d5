"""ONNX: fitted models as graphs that run without Python

A graph takes X, float32 of shape (n, p), and gives what the model's own methods give:

    regressors      prediction       as `predict`
    classifiers     label            as `predict`
                    scores           as `decision_function`, if the model has one
                    probabilities    as `predict_proba`, if the model has one
    outliers        label, scores    as `predict` and `decision_function`

All is computed in double precision, and X is widened first, which is exact. So a row of float32
goes down the same branch at every threshold of a tree as it does here; results are rounded to
float32 once, at the end. Linear models and kernels are products and exponentials of the standard
operators; trees are one `TreeEnsembleRegressor` of ai.onnx.ml.
"""

import scipy.sparse as sp
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from . import _kernels, _linear, _trees  # noqa: F401  each registers its models
from ._graph import Graph, convert, no_graph
from ._scaling import scaled

__all__ = ["to_onnx"]


def to_onnx(model, *, name=None):
    """A fitted model as an ONNX graph.

    Linear models, support vector machines and kernel ridge regression with any kernel of
    `mlreplica.kernels` but the Laplacian and those of your own, trees without categories, forests,
    isolation forests, AdaBoost of our trees, gradient and histogram boosting; alone, behind scalers
    in a `Pipeline`, or with a target that `TransformedTargetRegressor` scales. An error names what
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
    found = convert(last, graph, x)
    if hasattr(last, "predict_proba") and "probabilities" not in found:
        raise no_graph(f"the probabilities of {last}")
    outputs = {name: graph.result(name, *values) for name, values in found.items()}
    return graph.model(name or type(last).__name__, last.n_features_in_, outputs)
