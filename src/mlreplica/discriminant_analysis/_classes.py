"""What discriminants ask of their rows: classes, weights, priors, covariances"""

import warnings
from numbers import Real

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from mlreplica.core.linear import checked_weights, forget_names
from mlreplica.core.rows.axes import inverse_deviations, moments_of
from mlreplica.core.validation import FLOATS, distinct, is_plain, validate_data
from mlreplica.covariance import LedoitWolf, ShrunkCovariance


def class_rows(model, X, y, sample_weight):
    """X, the class of each row by its number, weights or None; sets `classes_`."""
    if is_plain(X, y, "iu", contiguous=False) and len(X) > 1:
        forget_names(model, X)
    else:
        X, y = validate_data(model, X, y, dtype=FLOATS, ensure_min_samples=2)
        check_classification_targets(y)
    s = None if sample_weight is None else checked_weights(sample_weight, X)
    if s is not None and not s.all():
        X, y, s = X[s > 0], y[s > 0], s[s > 0]
        if not len(y):
            raise ValueError("all sample_weight are zero; give some row a positive weight.")
    model.classes_, code = distinct(y)
    return X, np.asarray(code, dtype=np.int64), s


def prior_of(priors, counts, dtype):
    """Priors as given, or the shares of the classes."""
    found = counts / counts.sum() if priors is None else np.asarray(priors, dtype=np.float64)
    if len(found) != len(counts):
        raise ValueError(f"priors must be {len(counts)} numbers, one per class, got {len(found)}.")
    if (found < 0).any():
        raise ValueError("priors must be non-negative")
    if abs(found.sum() - 1.0) > 1e-5:
        warnings.warn("The priors do not sum to 1. Renormalizing", UserWarning, stacklevel=4)
        found = found / found.sum()
    return found.astype(dtype)


def covariance_of(X, s=None, shrinkage=None, estimator=None):
    """The covariance of some rows: empirical, shrunk, or by another estimator."""
    if estimator is not None:
        if shrinkage is not None and shrinkage != 0:
            raise ValueError(
                "covariance_estimator and shrinkage parameters are not None. Only one of the two "
                "can be set."
            )
        if s is not None:
            raise ValueError("sample_weight is not supported with a covariance_estimator.")
        estimator.fit(X)
        if not hasattr(estimator, "covariance_"):
            raise ValueError(f"{type(estimator).__name__} does not have a covariance_ attribute")
        return np.atleast_2d(estimator.covariance_)
    if len(X) == 1:
        return np.zeros((X.shape[1], X.shape[1]))
    if isinstance(shrinkage, Real):
        model = ShrunkCovariance(shrinkage=shrinkage, store_precision=False)
        return model.fit(X, sample_weight=s).covariance_
    m = moments_of(X, s)
    if shrinkage is None:
        return (np.triu(m.G) + np.triu(m.G, 1).T) / m.n
    d = inverse_deviations(m)
    d = np.where(d > 0, d, 1.0)
    model = LedoitWolf(store_precision=False).fit((X - m.mean) * d, sample_weight=s)
    return model.covariance_ / d / d[:, None]
