"""Data: scikit-learn's shipped sets, and generators that return their truth

The loaders and scikit-learn's generators are scikit-learn's own objects under one door. The other
generators return a `Sample(X, y, truth)`, where `truth` says what made the data (weights, noise,
margin, class densities …) and how well the best possible model does on it:

>>> from mlreplica.datasets import make_linear_regression
>>> X, y, truth = make_linear_regression(500, 3, noise=0.1, random_state=0)
>>> truth.coef.round(1), round(truth.best_r2, 3)
(array([ 1. ,  1.6, -1.1]), 0.998)
"""

from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_linnerud,
    load_wine,
    make_blobs,
    make_circles,
    make_classification,
    make_moons,
    make_regression,
)

from mlreplica.datasets.classification import make_linear_classification, make_separable
from mlreplica.datasets.gaussian import make_gaussian_classes
from mlreplica.datasets.plane import TOYS, toy
from mlreplica.datasets.regression import make_linear_regression, make_polynomial_regression
from mlreplica.datasets.sample import Sample

__all__ = [
    "TOYS",
    "Sample",
    "load_breast_cancer",
    "load_diabetes",
    "load_digits",
    "load_iris",
    "load_linnerud",
    "load_wine",
    "make_blobs",
    "make_circles",
    "make_classification",
    "make_gaussian_classes",
    "make_linear_classification",
    "make_linear_regression",
    "make_moons",
    "make_polynomial_regression",
    "make_regression",
    "make_separable",
    "toy",
]
