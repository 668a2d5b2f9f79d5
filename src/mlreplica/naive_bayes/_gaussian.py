r"""Gaussian naive Bayes: a mean and a variance for every column and class

    log p(x_j | k) = −½ log(2π v_kj) − (x_j − m_kj)² / 2v_kj                                (3)

with the mean m and variance v of column j over the rows of class k. A constant column would have
v = 0, so a small share of the largest variance is added to all: v ← v + ε. The moments of batches
merge (`core/rows/classes.py`), and so does the variance that ε is a share of.
"""

from numbers import Real

import numpy as np

from mlreplica.core.compat import Interval
from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run, split
from mlreplica.core.rows.classes import ClassMoments
from mlreplica.core.validation import FLOATS, new_rows, refuse_overflow, validate_data

from ._posterior import CARD, NaiveBayes

LEAST = 1 << 16  # entries of X times classes that are worth a thread


@kernel
def gaussian_scores(X, mean, half, constant, out):
    """out_ik ← constant_k − Σ_j half_kj (x_ij − m_kj)², half = 1 / 2v: (3)"""
    for i in range(len(X)):
        x = X[i]
        for k in range(len(mean)):
            m, h, t = mean[k], half[k], 0.0
            for j in range(len(x)):
                d = x[j] - m[j]
                t += h[j] * d * d
            out[i, k] = constant[k] - t


class GaussianNB(NaiveBayes):
    """Naive Bayes for numbers: a Gaussian for every column and class, (1) with (3).

    Parameters
    ----------
    priors : array-like of shape (n_classes,), default=None
        π; the shares of the classes by default.
    var_smoothing : float, default=1e-9
        Share of the largest variance of a column that is added to every variance.

    Attributes
    ----------
    theta_, var_ : ndarray of shape (n_classes, n_features)
        m and v of (3).
    epsilon_ : float
        What was added to the variances.
    class_count_, class_prior_ : ndarray of shape (n_classes,)
        Rows of each class, and π.
    classes_ : ndarray of shape (n_classes,)
        Names of the classes.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> GaussianNB().fit(X, y).score(X, y)
    0.96
    """

    card = CARD
    _parameter_constraints = {
        "priors": ["array-like", None],
        "var_smoothing": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, *, priors=None, var_smoothing=1e-9):
        self.priors = priors
        self.var_smoothing = var_smoothing

    def _checked(self, X, y, first):
        return validate_data(self, X, y, dtype=FLOATS, reset=first)

    def _rows(self, X):
        return new_rows(self, X)

    def _count(self, X, code, s, first):
        """Moments of the classes, merged with those of earlier batches."""
        K = len(self.classes_)
        prior = None if self.priors is None else np.asarray(self.priors, dtype=X.dtype)
        if prior is not None:
            if len(prior) != K:
                raise ValueError("Number of priors must match number of classes.")
            if not np.isclose(prior.sum(), 1.0):
                raise ValueError("The sum of the priors should be 1.")
            if (prior < 0).any():
                raise ValueError("Priors must be non-negative.")
        m = ClassMoments.of(X, code, K, s)
        if not first:
            m = ClassMoments(*self._moments) + m
        refuse_overflow(self, var_=m.squares)
        if not m.n.any():
            raise ValueError("all sample_weight are zero; give some row a positive weight.")
        self._moments = [m.n, m.mean, m.squares]  # in float64, for the next batch
        self.epsilon_ = float(self.var_smoothing * m.variance().max())
        n = np.where(m.n > 0, m.n, 1.0)
        self.theta_ = m.mean.astype(X.dtype)
        self.var_ = (m.squares / n[:, None] + self.epsilon_).astype(X.dtype)
        refuse_overflow(self, var_=self.var_)
        self.class_count_ = m.n.astype(X.dtype)
        self.class_prior_ = (m.n / m.n.sum()).astype(X.dtype) if prior is None else prior

    def _scores(self, X):
        """J of (1)"""
        mean, var = self.theta_.astype(np.float64), self.var_.astype(np.float64)
        var[var == 0.0] = 1e-200  # constant and not smoothed: as narrow as squares of numbers allow
        half = 0.5 / var
        with np.errstate(divide="ignore"):  # a class whose prior is 0
            constant = np.log(self.class_prior_) - 0.5 * np.log(2.0 * np.pi * var).sum(axis=1)
        X = np.ascontiguousarray(X, dtype=np.float64)
        out = np.empty((len(X), len(mean)))
        rows = split(len(X), 2 * n_threads(), 1 + LEAST // max(1, mean.size))
        if len(rows) == 1:
            gaussian_scores(X, mean, half, constant, out)
        else:
            run(lambda r: gaussian_scores(X[r], mean, half, constant, out[r]), rows)
        return out
