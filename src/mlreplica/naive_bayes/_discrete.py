r"""Naive Bayes for counts, and for yes or no

With N_kj the sum of column j over the rows of class k and a smoothing α, which counts every word as
if it had been seen α times more often, *multinomial* naive Bayes takes a row for a bag of words
drawn from the dictionary of its class:

    θ_kj = (N_kj + α) / (Σ_l N_kl + αp),    log p(x | k) = Σ_j x_j log θ_kj                (4)

*Complement* naive Bayes estimates from the rows of all *other* classes, which are more, and takes
the class that fits its complement worst (Rennie and others, 2003):

    φ_kj = (Σ_{l≠k} N_lj + α) / Σ_j (…),    score_k = −Σ_j x_j log φ_kj                    (5)

*Bernoulli* naive Bayes asks only whether a word occurs, with b_j ∈ {0, 1}; absence counts, too:

    θ_kj = (N_kj + α) / (n_k + 2α),                                                        (6)
    log p(b | k) = Σ_j b_j log θ_kj + (1 − b_j) log(1 − θ_kj)

All three are linear in x, so a prediction is one product.
"""

import math
import warnings
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_non_negative

from mlreplica.core.compat import Interval
from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import n_threads, run, split
from mlreplica.core.rows.walk import is_sparse
from mlreplica.core.validation import FLOATS, refuse_overflow, validate_data

from ._posterior import CARD, NaiveBayes

LEAST = 1e-10  # α below which a word that was never seen is as good as impossible
LOWEST = -1e5  # in place of log 0, where x log 0 would be NaN
SHARE = 1 << 16  # entries of X that are worth a thread


@kernel
def add_dense(X, code, s, cut, sums, notes):
    """sums_k ← sums_k + s_i x_i for each row of class k, or s_i [x_i > cut] unless cut is NaN.

    notes ← how many entries are negative, and the sum of all, which shows whether all are finite.
    """
    negative, total, binary = 0, 0.0, not np.isnan(cut)
    for i in range(len(X)):
        x, t, w = X[i], sums[code[i]], s[i]
        for j in range(len(x)):
            negative += x[j] < 0.0
            total += x[j]
            if binary:
                t[j] += w if x[j] > cut else 0.0
            else:
                t[j] += w * x[j]
    notes[0], notes[1] = negative, total


@kernel
def add_sparse(start, columns, data, code, s, cut, sums, notes, first, last):
    """The same for the rows first … last − 1 of a CSR matrix."""
    negative, total, binary = 0, 0.0, not np.isnan(cut)
    for i in range(first, last):
        t, w = sums[code[i]], s[i]
        for k in range(start[i], start[i + 1]):
            x = data[k]
            negative += x < 0.0
            total += x
            if binary:
                t[columns[k]] += w if x > cut else 0.0
            else:
                t[columns[k]] += w * x
    notes[0], notes[1] = negative, total


def no_infinity(logs):
    """Logarithms, of which those of 0 are so low that they decide; 0 times one of them is 0."""
    return logs if math.isfinite(logs.sum()) else np.clip(logs, LOWEST, -LOWEST)


def class_sums(X, code, s, K, cut=None):
    """N_kj on threads, of entries or of whether they are above `cut`; negative entries, Σ x."""
    n, p = X.shape
    s, cut = np.ones(n) if s is None else s, np.nan if cut is None else float(cut)
    entries = X.nnz if is_sparse(X) else X.size
    parts = split(n, n_threads(), 1 + SHARE * n // max(1, entries))
    sums, notes = np.zeros((len(parts), K, p)), np.zeros((len(parts), 2))
    if is_sparse(X):
        columns = X.indices.astype(np.int32, copy=False).view(np.uint32)
        rows = X.indptr.astype(np.uint64), columns, X.data.astype(np.float64, copy=False), code, s
        work = lambda r, t, u: add_sparse(*rows, cut, t, u, np.uint64(r.start), np.uint64(r.stop))
    else:
        work = lambda r, t, u: add_dense(
            np.ascontiguousarray(X[r], dtype=np.float64), code[r], s[r], cut, t, u
        )
    run(work, parts, sums, notes)
    return (sums[0] if len(parts) == 1 else sums.sum(axis=0)), *notes.sum(axis=0).tolist()


class DiscreteNB(NaiveBayes):
    """Classes described by sums of columns."""

    _parameter_constraints = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "fit_prior": ["boolean"],
        "class_prior": ["array-like", None],
        "force_alpha": ["boolean"],
    }

    def __init__(self, alpha: Any = 1.0, fit_prior=True, class_prior=None, force_alpha=True):
        self.alpha = alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.force_alpha = force_alpha

    def _count(self, X, code, s, first):
        """N and n, added to those of earlier batches; then probabilities."""
        K = len(self.classes_)
        n = np.bincount(code, weights=s, minlength=K).astype(np.float64)
        N = self._sums(X, code, s, K)
        self.class_count_ = n if first else self.class_count_ + n
        self.feature_count_ = N if first else self.feature_count_ + N
        self._finish()
        refuse_overflow(
            self,
            feature_count_=self.feature_count_.sum(axis=1),
            feature_log_prob_=np.clip(self.feature_log_prob_, -1.0, 1.0),  # log 0 may be
        )

    def _finish(self):
        """Priors and probabilities from counts; log 0 = −∞ is what it is."""
        K = len(self.classes_)
        alpha = self._smoothing()
        with np.errstate(divide="ignore", invalid="ignore"):
            self._probabilities(alpha)
            if self.class_prior is not None:
                if len(self.class_prior) != K:
                    raise ValueError("Number of priors must match number of classes.")
                self.class_log_prior_ = np.log(self.class_prior)
            elif self.fit_prior:
                self.class_log_prior_ = np.log(self.class_count_) - np.log(self.class_count_.sum())
            else:
                self.class_log_prior_ = np.full(K, -np.log(K))

    def _smoothing(self):
        """α, a number or one per column."""
        alpha = self.alpha if isinstance(self.alpha, Real) else np.asarray(self.alpha)
        if isinstance(alpha, np.ndarray):
            if alpha.shape[0] != self.n_features_in_:
                raise ValueError(
                    "When alpha is an array, it should contains `n_features`. "
                    f"Got {alpha.shape[0]} elements instead of {self.n_features_in_}."
                )
            if alpha.min() < 0:
                raise ValueError("All values in alpha must be greater than 0.")
        if np.min(alpha) < LEAST and not self.force_alpha:
            warnings.warn(
                f"alpha too small will result in numeric errors, setting alpha = {LEAST:.1e}. Use "
                "`force_alpha=True` to keep alpha unchanged.",
                stacklevel=6,
            )
            return np.maximum(alpha, LEAST)
        return alpha

    def _sums(self, X, code, s, K, cut=None):
        """N, of entries that are finite and, unless they are compared with `cut`, not negative."""
        N, negative, total = class_sums(X, code, s, K, cut)
        if not math.isfinite(total):  # an entry, or no more than their sum
            validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)
        if negative and self.__sklearn_tags__().input_tags.positive_only:
            check_non_negative(X, f"{type(self).__name__} (input X)")
        return N

    def _scores(self, X):
        """J of (1), linear in x"""
        return np.asarray(X @ no_infinity(self.feature_log_prob_).T + self.class_log_prior_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True
        return tags


class MultinomialNB(DiscreteNB):
    """Naive Bayes for counts, as of words: (1) with (4).

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Smoothing: how many times more often each word counts as seen.
    force_alpha : bool, default=True
        Use α as it is; False raises it to 1e-10.
    fit_prior : bool, default=True
        Take the shares of the classes for their priors; False: equal priors.
    class_prior : array-like of shape (n_classes,), default=None
        The priors.

    Attributes
    ----------
    feature_count_, feature_log_prob_ : ndarray of shape (n_classes, n_features)
        N and log θ of (4).
    class_count_, class_log_prior_ : ndarray of shape (n_classes,)
        Rows of each class, and log π.
    classes_ : ndarray of shape (n_classes,)
        Names of the classes.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> from mlreplica.naive_bayes import MultinomialNB
    >>> X, y = [[2, 1, 0], [0, 1, 3], [1, 0, 0]], ["a", "b", "a"]
    >>> MultinomialNB().fit(X, y).predict([[1, 1, 0]])
    array(['a'], dtype='<U1')
    """

    card = CARD.but(by_name=True)

    def __init__(self, *, alpha: Any = 1.0, force_alpha=True, fit_prior=True, class_prior=None):
        super().__init__(alpha, fit_prior, class_prior, force_alpha)

    def _probabilities(self, alpha):
        """log θ of (4)"""
        N = self.feature_count_ + alpha
        self.feature_log_prob_ = np.log(N) - np.log(N.sum(axis=1, keepdims=True))


class ComplementNB(DiscreteNB):
    """Naive Bayes by the words of all other classes, for unequal classes: (5).

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Smoothing: how many times more often each word counts as seen.
    force_alpha : bool, default=True
        Use α as it is; False raises it to 1e-10.
    fit_prior : bool, default=True
        Used only if there is but one class.
    class_prior : array-like of shape (n_classes,), default=None
        Not used.
    norm : bool, default=False
        Divide the weights of each class by their sum.

    Attributes
    ----------
    feature_count_, feature_log_prob_ : ndarray of shape (n_classes, n_features)
        N, and the weights of (5).
    feature_all_ : ndarray of shape (n_features,)
        Sums of N over the classes.
    class_count_, class_log_prior_ : ndarray of shape (n_classes,)
        Rows of each class, and log π.
    classes_ : ndarray of shape (n_classes,)
        Names of the classes.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> from mlreplica.naive_bayes import ComplementNB
    >>> X, y = [[2, 1, 0], [0, 1, 3], [1, 0, 0]], ["a", "b", "a"]
    >>> ComplementNB().fit(X, y).predict([[1, 1, 0]])
    array(['a'], dtype='<U1')
    """

    card = CARD.but(by_name=True)
    _parameter_constraints = DiscreteNB._parameter_constraints | {"norm": ["boolean"]}

    def __init__(
        self, *, alpha: Any = 1.0, force_alpha=True, fit_prior=True, class_prior=None, norm=False
    ):
        super().__init__(alpha, fit_prior, class_prior, force_alpha)
        self.norm = norm

    def _probabilities(self, alpha):
        """−log φ of (5)"""
        self.feature_all_ = self.feature_count_.sum(axis=0)
        others = self.feature_all_ + alpha - self.feature_count_
        logs = np.log(others / others.sum(axis=1, keepdims=True))
        self.feature_log_prob_ = logs / logs.sum(axis=1, keepdims=True) if self.norm else -logs

    def _scores(self, X):
        """(5)"""
        f = np.asarray(X @ no_infinity(self.feature_log_prob_).T)
        return f + self.class_log_prior_ if len(self.classes_) == 1 else f


class BernoulliNB(DiscreteNB):
    """Naive Bayes for columns that are yes or no: (1) with (6).

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default=1.0
        Smoothing: how many rows with, and without, each word are added.
    force_alpha : bool, default=True
        Use α as it is; False raises it to 1e-10.
    binarize : float or None, default=0.0
        Larger values count as yes; None: X is binary already.
    fit_prior : bool, default=True
        Take the shares of the classes for their priors; False: equal priors.
    class_prior : array-like of shape (n_classes,), default=None
        The priors.

    Attributes
    ----------
    feature_count_, feature_log_prob_ : ndarray of shape (n_classes, n_features)
        N and log θ of (6).
    class_count_, class_log_prior_ : ndarray of shape (n_classes,)
        Rows of each class, and log π.
    classes_ : ndarray of shape (n_classes,)
        Names of the classes.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> from mlreplica.naive_bayes import BernoulliNB
    >>> X, y = [[1, 1, 0], [0, 1, 1], [1, 0, 0]], ["a", "b", "a"]
    >>> BernoulliNB().fit(X, y).predict([[1, 1, 0]])
    array(['a'], dtype='<U1')
    """

    card = CARD
    _parameter_constraints = DiscreteNB._parameter_constraints | {
        "binarize": [None, Interval(Real, 0, None, closed="left")]
    }

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha=True,
        binarize: float | None = 0.0,
        fit_prior=True,
        class_prior=None,
    ):
        super().__init__(alpha, fit_prior, class_prior, force_alpha)
        self.binarize = binarize

    def _bits(self, X):
        """b of (6)"""
        if self.binarize is None:
            return X
        if is_sparse(X):
            bits = (self.binarize < X.data).astype(np.float64)
            return sp.csr_array((bits, X.indices, X.indptr), shape=X.shape)
        return (self.binarize < X).astype(np.float64)

    def _sums(self, X, code, s, K, cut=None):
        """N of (6)"""
        return super()._sums(X, code, s, K, self.binarize)

    def _probabilities(self, alpha):
        """log θ of (6)"""
        n = np.reshape(self.class_count_, (-1, 1)) + 2 * np.asarray(alpha)
        self.feature_log_prob_ = np.log(self.feature_count_ + alpha) - np.log(n)

    def _scores(self, X):
        """J of (1), linear in b"""
        present = no_infinity(self.feature_log_prob_)
        with np.errstate(divide="ignore"):
            absent = no_infinity(np.log(1.0 - np.exp(self.feature_log_prob_)))
        f = self._bits(X) @ (present - absent).T
        return np.asarray(f + self.class_log_prior_ + absent.sum(axis=1))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = False
        return tags
