"""Naive Bayes: columns that are independent within each class

Read `_posterior.py` first (Bayes's rule, the same for all), then `_gaussian.py` for numbers,
`_discrete.py` for counts and yes or no, `_categorical.py` for categories.
"""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from ._categorical import CategoricalNB as CategoricalNB
    from ._discrete import BernoulliNB as BernoulliNB
    from ._discrete import ComplementNB as ComplementNB
    from ._discrete import MultinomialNB as MultinomialNB
    from ._gaussian import GaussianNB as GaussianNB

__all__, __getattr__, __dir__ = lazy(__name__)
