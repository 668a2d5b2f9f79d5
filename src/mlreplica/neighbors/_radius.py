"""Votes of all rows within a radius: as many as there are, which may be none"""

import warnings
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from mlreplica.core.compat import _fit_context

from ._ask import RadiusNeighboursMixin
from ._search import NeighboursBase, constraints
from ._vote import (
    CARD,
    OF_CLASSES,
    OF_VOTES,
    PARAMETERS,
    WEIGHTED,
    WEIGHTS,
    ClassVote,
    NumberVote,
)


class RadiusNeighborsRegressor(NumberVote, RadiusNeighboursMixin, RegressorMixin, NeighboursBase):
    __doc__ = f"""The mean target of the rows within a radius.

    Parameters
    ----------
    radius : float, default=1.0
        Rows at most so far away count.
    {WEIGHTED}{PARAMETERS}

    Attributes
    ----------
    {OF_VOTES}

    Examples
    --------
    >>> from mlreplica.neighbors import RadiusNeighborsRegressor
    >>> model = RadiusNeighborsRegressor(radius=1.0).fit([[0], [1], [2], [3]], [0, 0, 1, 1])
    >>> model.predict([[1.5]])
    array([0.5])
    """

    card = CARD.but(by_name=True)
    _parameter_constraints: dict = constraints("n_neighbors", weights=WEIGHTS)

    def __init__(
        self,
        radius: float | None = 1.0,
        *,
        weights: Any = "uniform",
        algorithm="auto",
        leaf_size=30,
        p: float | None = 2,
        metric: Any = "minkowski",
        metric_params=None,
        n_jobs=None,
    ):
        NeighboursBase.__init__(
            self,
            radius=radius,
            algorithm=algorithm,
            leaf_size=leaf_size,
            metric=metric,
            p=p,
            metric_params=metric_params,
            n_jobs=n_jobs,
        )
        self.weights = weights


class RadiusNeighborsClassifier(ClassVote, RadiusNeighboursMixin, ClassifierMixin, NeighboursBase):
    __doc__ = f"""The most frequent class among the rows within a radius.

    Parameters
    ----------
    radius : float, default=1.0
        Rows at most so far away vote.
    {WEIGHTED}{PARAMETERS}
    outlier_label : label, list of labels, "most_frequent" or None, default=None
        The class of a row without neighbours; None raises an error.

    Attributes
    ----------
    {OF_CLASSES}
    outlier_label_ : list
        The class of a row without neighbours, for each target.

    Examples
    --------
    >>> from mlreplica.neighbors import RadiusNeighborsClassifier
    >>> model = RadiusNeighborsClassifier(radius=1.0).fit([[0], [1], [2], [3]], [0, 0, 1, 1])
    >>> model.predict([[1.5]])
    array([0])
    """

    card = CARD.but(by_name=True, cheap=lambda: {"radius": 10.0})
    _parameter_constraints: dict = constraints(
        "n_neighbors", weights=WEIGHTS, outlier_label=[Integral, str, "array-like", None]
    )

    def __init__(
        self,
        radius: float | None = 1.0,
        *,
        weights: Any = "uniform",
        algorithm="auto",
        leaf_size=30,
        p: float | None = 2,
        metric: Any = "minkowski",
        outlier_label=None,
        metric_params=None,
        n_jobs=None,
    ):
        RadiusNeighborsRegressor.__init__(
            self,
            radius,
            weights=weights,
            algorithm=algorithm,
            leaf_size=leaf_size,
            p=p,
            metric=metric,
            metric_params=metric_params,
            n_jobs=n_jobs,
        )
        self.outlier_label = outlier_label

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y):
        """Keep the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, or distances if `metric="precomputed"`.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes.

        Returns
        -------
        self : RadiusNeighborsClassifier
        """
        self._fit(X, y)
        classes, label = self._all_classes(), self.outlier_label
        if label is None:
            self.outlier_label_ = None
            return self
        if isinstance(label, str) and label == "most_frequent":
            codes = self._targets().T
            label = [c[np.bincount(k).argmax()] for c, k in zip(classes, codes, strict=True)]
        elif np.ndim(label) > 0:
            if len(label) != len(classes):
                raise ValueError(
                    f"The length of outlier_label: {label} is inconsistent with the output "
                    f"length: {len(classes)}"
                )
        else:
            label = [label] * len(classes)
        for c, one in zip(classes, label, strict=True):
            if np.ndim(one) > 0:
                raise TypeError(
                    f"The outlier_label of classes {c} is supposed to be a scalar, got {one}."
                )
            if np.append(c, one).dtype != c.dtype:
                raise TypeError(
                    f"The dtype of outlier_label {one} is inconsistent with classes {c} in y."
                )
        self.outlier_label_ = label
        return self

    def _checked_votes(self, X):
        """The votes; of a row without neighbours, one for the class of outliers."""
        votes, start = self._votes(X)
        alone = start[1:] == start[:-1]
        if not alone.any():
            return votes
        if self.outlier_label_ is None:
            raise ValueError(
                f"No neighbors found for test samples {np.flatnonzero(alone)!r}, you can try using "
                "larger radius, giving a label for outliers, or considering removing them from "
                "your dataset."
            )
        for v, classes, label in zip(votes, self._all_classes(), self.outlier_label_, strict=True):
            known = np.flatnonzero(classes == label)
            if len(known) == 1:
                v[alone, known[0]] = 1.0
            else:
                warnings.warn(
                    f"Outlier label {label} is not in training classes. All class probabilities "
                    "of outliers will be assigned with 0.",
                    stacklevel=3,
                )
        return votes

    def _named(self, best, votes):
        """The classes of given numbers; of a row without votes, the class of outliers."""
        y = super()._named(best, votes)
        for k, v in enumerate(votes):
            nobody = ~v.any(axis=1)
            if nobody.any() and self.outlier_label_ is not None:
                y[(nobody, k) if self.outputs_2d_ else nobody] = self.outlier_label_[k]
        return y
