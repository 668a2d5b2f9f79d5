"""Discriminant analysis: a Gaussian for every class, and Bayes's rule

Read `_linear.py` first (one covariance for all classes, hence straight boundaries), then
`_quadratic.py` (one for each). `_classes.py` has what both ask of their rows.
"""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from ._linear import LinearDiscriminantAnalysis as LinearDiscriminantAnalysis
    from ._quadratic import QuadraticDiscriminantAnalysis as QuadraticDiscriminantAnalysis

__all__, __getattr__, __dir__ = lazy(__name__)
