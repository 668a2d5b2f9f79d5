"""Data: scikit-learn's shipped sets, and generators that return their truth

The loaders and scikit-learn's generators are scikit-learn's own objects under one door. The other
generators return a `Sample(X, y, truth)`, where `truth` says what made the data (weights, noise,
margin, class densities …) and how well the best possible model does on it:

>>> from mlreplica.datasets import make_linear_regression
>>> X, y, truth = make_linear_regression(500, 3, noise=0.1, random_state=0)
>>> truth.coef.round(1), round(truth.best_r2, 3)
(array([ 1. ,  1.6, -1.1]), 0.998)
"""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from sklearn.datasets import load_breast_cancer as load_breast_cancer
    from sklearn.datasets import load_diabetes as load_diabetes
    from sklearn.datasets import load_digits as load_digits
    from sklearn.datasets import load_iris as load_iris
    from sklearn.datasets import load_linnerud as load_linnerud
    from sklearn.datasets import load_wine as load_wine
    from sklearn.datasets import make_blobs as make_blobs
    from sklearn.datasets import make_circles as make_circles
    from sklearn.datasets import make_classification as make_classification
    from sklearn.datasets import make_moons as make_moons
    from sklearn.datasets import make_regression as make_regression

    from .classification import make_linear_classification as make_linear_classification
    from .classification import make_separable as make_separable
    from .gaussian import make_gaussian_classes as make_gaussian_classes
    from .plane import TOYS as TOYS
    from .plane import toy as toy
    from .regression import make_linear_regression as make_linear_regression
    from .regression import make_polynomial_regression as make_polynomial_regression
    from .sample import Sample as Sample
    from .sequences import load_alice as load_alice
    from .sequences import load_earthquakes as load_earthquakes

__all__, __getattr__, __dir__ = lazy(__name__)
