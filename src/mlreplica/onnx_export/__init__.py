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

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from . import _kernels, _linear, _members, _scaling, _trees  # noqa: F401  each registers its models
from ._graph import Graph, convert

__all__ = ["to_onnx"]


def to_onnx(model, *, name=None):
    """A fitted model as an ONNX graph.

    Linear models, support vector machines and kernel ridge regression with any kernel of
    `mlreplica.kernels` but the Laplacian and those of your own, trees without categories, forests,
    isolation forests, AdaBoost of our trees, gradient and histogram boosting; bagging, voting,
    stacking and RANSAC of these; alone, behind scalers in a `Pipeline`, or with a target that
    `TransformedTargetRegressor` scales. An error names what has no graph. Needs the extra `onnx`.

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
    x = graph.add("Cast", "X", to=graph.onnx.TensorProto.DOUBLE)
    outputs = {
        name: graph.result(name, *values) for name, values in convert(model, graph, x).items()
    }
    while isinstance(model, Pipeline):
        model = model[-1]
    return graph.model(name or type(model).__name__, model.n_features_in_, outputs)
