"""Loadings: what principal components are made of, as a table"""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted


@dataclass(frozen=True)
class Loadings:
    """Variances, shares and loadings of components; `print` it, or take its numbers.

    Attributes
    ----------
    names : tuple of str
        Columns.
    variance, share, cumulative : ndarray of shape (n_components,)
        λ_j, its share of the total variance, and the sum of the shares so far.
    loadings : ndarray of shape (n_features, n_components)
        √λ_j v_j: of standardised columns, their correlation with the components.
    communality : ndarray of shape (n_features,)
        The share of each column's variance that the components keep.
    """

    names: tuple
    variance: np.ndarray
    share: np.ndarray
    cumulative: np.ndarray
    loadings: np.ndarray
    communality: np.ndarray

    @classmethod
    def of(cls, model, feature_names=None):
        """The table of a fitted PCA."""
        check_is_fitted(model)
        p = model.components_.shape[1]
        if feature_names is None:
            feature_names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(p)])
        if len(feature_names) != p:
            raise ValueError(f"feature_names must be {p} names, got {len(feature_names)}.")
        L = model.components_.T * np.sqrt(model.explained_variance_)
        kept = (L**2).sum(axis=1)
        rest = model.get_covariance().diagonal()
        rest = rest if model.scale_ is None else rest / model.scale_**2
        whole = np.where(rest > 0, rest, 1.0)
        share = model.explained_variance_ratio_
        return cls(
            tuple(map(str, feature_names)),
            model.explained_variance_,
            share,
            np.cumsum(share),
            L,
            np.minimum(kept / whole, 1.0),
        )

    def __str__(self):
        k = min(len(self.variance), 6)
        wide = max(10, *(len(name) for name in self.names))
        head = " " * wide + "".join(f"{f'PC{j + 1}':>9}" for j in range(k)) + f"{'kept':>8}"
        lines = [head, "-" * len(head)]
        for title, row in (("variance", self.variance), ("share", self.share)):
            lines.append(f"{title:<{wide}}" + "".join(f"{v:9.3g}" for v in row[:k]))
        lines.append(f"{'so far':<{wide}}" + "".join(f"{v:9.3g}" for v in self.cumulative[:k]))
        lines.append("-" * len(head))
        for name, row, kept in zip(self.names, self.loadings, self.communality, strict=True):
            lines.append(f"{name:<{wide}}" + "".join(f"{v:9.3f}" for v in row[:k]) + f"{kept:8.3f}")
        if len(self.variance) > k:
            lines.append(f"{len(self.variance) - k} more components are not shown.")
        return "\n".join(lines)
