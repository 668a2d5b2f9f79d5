r"""Isolation forest: points that few random cuts set apart are outliers

With the path h_t(x) of a point in tree t of T, grown on ψ rows each (`trees.py`), the
score is a number between 0 and 1,

    s(x) = 2^(−h̄(x) / c(ψ)),      h̄(x) = 1/T Σ_t h_t(x)                                       (3)

½ where the path is as long as on average, near 1 where the first cuts already isolate x. As in
scikit-learn the score is turned round, −s(x), so that small means abnormal, and

    d(x) = −s(x) − offset,     x is an outlier if d(x) < 0                                    (4)

where the offset is −½, or the quantile of −s over the training rows that leaves a given share out.
A tree needs only few rows: with more of them, outliers that are many hide each other (masking), and
the cost of a fit does not depend on n at all: T ψ log ψ.

Liu, Ting, Zhou, Isolation forest (2008).
"""

from functools import lru_cache
from numbers import Integral, Real
from warnings import warn

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import UNSCALED, Card
from mlreplica.core.compat import (
    Interval,
    RealNotInt,
    StrOptions,
    _check_sample_weight,
)
from mlreplica.core.compile.threads import n_threads, run, share, split
from mlreplica.core.formulas.draws import LARGEST, seeded
from mlreplica.core.iterate import timed
from mlreplica.core.validation import FLOATS, ValidatedOnce, validate_data
from mlreplica.ensemble.forest.answers import Made
from mlreplica.tree import ExtraTreeRegressor

from .members import as_trees
from .trees import Forest, add_paths, average_path, draw, isolate, together

GOLDEN = 0x9E3779B1  # multiples of it modulo LARGEST keep far apart
BATCH = 1 << 20  # entries of X, or rows drawn, at a time
LATE = 2560  # rows that the first thread is ahead when another one has woken up: 0.05 ms


def numbers(random_state, k):
    """k seeds, one after the other: their streams differ; where they begin, `random_state` says."""
    if isinstance(random_state, Integral):  # NumPy's generator takes longer than many trees
        start = (int(random_state) + 1) * GOLDEN % LARGEST
    else:
        start = check_random_state(random_state).randint(LARGEST)
    return np.arange(start, start + k)


@lru_cache(maxsize=8)
def average_paths(m):
    """c(0), …, c(m)."""
    return average_path(np.arange(m + 1))


def none(n):
    """A bit for each number below n, all 0."""
    return np.zeros(n // 64 + 1, np.uint64)


class IsolationForest(OutlierMixin, ValidatedOnce, BaseEstimator):
    """Outliers are points that few random cuts set apart: scores (3), decision (4).

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    max_samples : "auto", int or float, default="auto"
        Rows ψ a tree takes: "auto" for 256 or all if there are fewer; a float for a share.
    contamination : "auto" or float, default="auto"
        The share of outliers among the training rows, at most ½; "auto" for an offset of −½.
    max_features : int or float, default=1.0
        Columns a tree takes; a float for a share.
    bootstrap : bool, default=False
        Draw rows with replacement.
    n_jobs : int, default=None
        Threads; None for all. The trees and the scores do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws rows, columns and thresholds.
    verbose : int, default=0
        Above 0, write how many trees were grown, and the seconds, on standard output.
    warm_start : bool, default=False
        Keep the trees of the last fit and add more.

    Attributes
    ----------
    estimators_ : list of ExtraTreeRegressor
        The trees, as estimators that predict the path (1) in the columns of each.
    estimators_features_ : list of ndarray
        The columns of each tree.
    estimators_samples_ : list of ndarray
        The rows of each tree.
    max_samples_ : int
        ψ.
    offset_ : float
        The offset of (4).
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.

    Notes
    -----
    Values may be missing (NaN): at a cut that saw some, they go to a side drawn at random,
    otherwise to the side of the many. Sparse rows are made dense, some at a time.

    References
    ----------
    Liu, Ting, Zhou, Isolation forest, IEEE International Conference on Data Mining (2008).

    Examples
    --------
    >>> from mlreplica.ensemble import IsolationForest
    >>> X = [[-1.1], [0.3], [0.5], [100]]
    >>> IsolationForest(random_state=0).fit(X).predict([[0.1], [0], [90]])
    array([ 1,  1, -1])
    """

    card = Card(
        page="isolation-forest",
        checks="isolation",
        onnx="isolation",
        input="rows",
        use="which rows are unlike the rest, from many rows and columns",
        good="subsamples, so time hardly grows with n; no distances; few settings",
        bad="borders are parallel to the axes; scores are not probabilities",
        time="O(t s log s) to fit t trees of s rows",
        memory="O(t s)",
        rescaling=UNSCALED,
        missing="accepted: they go to a random side of each split",
        instead="OneClassSVM for curved borders and few rows",
    )

    _parameter_constraints: dict = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_samples": [
            StrOptions({"auto"}),
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
        ],
        "contamination": [StrOptions({"auto"}), Interval(Real, 0, 0.5, closed="right")],
        "max_features": [Integral, Interval(Real, 0, 1, closed="right")],
        "bootstrap": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        *,
        n_estimators=100,
        max_samples: float | str = "auto",
        contamination: float | str = "auto",
        max_features=1.0,
        bootstrap=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
    ):
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.contamination = contamination
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def fit(self, X, y=None, sample_weight=None):
        """Grow the trees.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : Ignored
            Not used, present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            How likely a row is drawn; None for all alike.

        Returns
        -------
        IsolationForest
            The fitted forest.
        """
        self._validate_params()
        X = self._rows(X, reset=True)
        n, p = X.shape
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
            sample_weight = sample_weight / sample_weight.sum()
        self.max_samples_ = self._rows_a_tree(n)
        columns = self.max_features
        self._max_features = columns if isinstance(columns, Integral) else int(columns * p)
        if self._max_features > p:
            raise ValueError("max_features must be <= n_features")
        self._max_features = max(1, self._max_features)
        self._n, self._sample_weight = n, sample_weight

        known = len(self) if self.warm_start and hasattr(self, "_forests") else 0
        if known > self.n_estimators:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={known} when warm_start==True"
            )
        if known == self.n_estimators:
            warn(
                "Warm-start fitting without increasing n_estimators does not fit new trees.",
                stacklevel=2,
            )
        else:
            seeds = numbers(self.random_state, self.n_estimators)
            self._seeds = np.concatenate([self._seeds, seeds[known:]]) if known else seeds
            self._made = self._made if known else Made()
            with timed(self, f"{len(seeds) - known} trees"):
                forests = self._grow(X, seeds[known:])
            self._forests = self._forests + forests if known else forests
        if self.contamination == "auto":
            self.offset_ = -0.5
        else:
            self.offset_ = np.percentile(self._scores(X), 100.0 * self.contamination)
        return self

    def _rows_a_tree(self, n):
        """ψ for n rows."""
        if isinstance(self.max_samples, str):
            return min(256, n)
        if not isinstance(self.max_samples, Integral):
            return max(1, int(self.max_samples * n))
        if self.max_samples > n:
            warn(
                f"max_samples ({self.max_samples}) is greater than the total number of samples "
                f"({n}). max_samples will be set to n_samples for estimation.",
                stacklevel=3,
            )
        return min(self.max_samples, n)

    def _drawn(self, seeds):
        """The rows of the trees of these seeds, (T, ψ)."""
        drawn = np.empty((len(seeds), self.max_samples_), np.int32)
        if self._sample_weight is None:
            draw(seeds, self._n, bool(self.bootstrap), drawn, none(self._n))
            return drawn
        for t, seed in enumerate(seeds):
            drawn[t] = seeded(seed).choice(
                self._n, self.max_samples_, replace=self.bootstrap, p=self._sample_weight
            )
        return drawn

    def _drawn_columns(self, seeds):
        """The columns of the trees of these seeds, (T, columns a tree)."""
        drawn = np.empty((len(seeds), self._max_features), np.int32)
        if self._max_features == self.n_features_in_:
            drawn[:] = np.arange(self._max_features)
        else:
            draw(~seeds, self.n_features_in_, False, drawn, none(self.n_features_in_))
        return drawn

    def _grow(self, X, seeds):
        """One tree a seed, in batches on threads: a forest each."""
        T, m, (n, p) = len(seeds), self.max_samples_, X.shape
        max_depth = int(np.ceil(np.log2(max(m, 2))))
        N = min(2 * m - 1, 2 ** (max_depth + 1) - 1)
        c = average_paths(m)
        known = self._sample_weight is not None or sp.issparse(X)

        def memory(T):
            """What a batch of T trees fills, and works with."""
            types = (np.float64, np.int64, np.float64, np.int32)
            nodes = tuple(np.empty(T * N, dtype) for dtype in types)
            trees = np.empty(T, np.int64), np.empty(T, np.int64)
            columns, queue = np.empty(self._max_features, np.uint64), np.empty((2 * m, 3), np.int32)
            return nodes, trees, (np.empty((2, m), np.uint64), np.empty(m), columns, queue, none(n))

        def batch(seeds):
            drawn = self._drawn(seeds) if known else np.empty((len(seeds), m), np.int32)
            rows = X
            if sp.issparse(X):
                some, place = np.unique(drawn, return_inverse=True)
                rows = np.ascontiguousarray(X[some].toarray(), dtype=np.float64)
                drawn = place.reshape(drawn.shape).astype(np.int32)
            return (
                *(rows.ravel(), len(rows), seeds, known, bool(self.bootstrap), max_depth, c),
                *(drawn, self._drawn_columns(seeds), *memory(len(seeds))),
            )

        def grow(*batch):
            isolate(*batch)
            nodes, (size, depth), _ = batch[-3:]
            N = size.sum()
            return Forest(*(a[:N] for a in nodes), size, depth)

        threads = n_threads(self.n_jobs) if T * m > 1 << 14 else 1
        batches = T * m * (p if sp.issparse(X) else 1) // BATCH
        if batches > threads:
            parts = [seeds[some] for some in split(T, batches)]
            return run(lambda part: grow(*batch(part)), parts, n_jobs=self.n_jobs)
        each = max(T - LATE // m, 0) // threads  # trees of a thread that wakes up late
        ends = [T - k * each for k in range(threads)]
        parts = [seeds[: ends[-1]], *(seeds[end - each : end] for end in reversed(ends[:-1]))]
        return share(grow, [batch(part) for part in parts])

    def _rows(self, X, reset=False):
        """X as an array of float64 by rows, or as CSR; a plain one is taken as it is."""
        if (
            type(X) is np.ndarray
            and X.dtype == np.float64
            and X.ndim == 2
            and X.flags.c_contiguous
            and X.size > 0
            and not hasattr(self, "feature_names_in_")
            and (reset or X.shape[1] == getattr(self, "n_features_in_", None))
        ):
            self.n_features_in_ = X.shape[1]
            return X
        X = validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=FLOATS, ensure_all_finite=False
        )
        return X if sp.issparse(X) else np.ascontiguousarray(X, dtype=np.float64)

    def _scores(self, X):
        """−s of (3)."""
        T, paths = len(self), np.zeros(X.shape[0])

        def walk(rows):
            block = X[rows]
            if sp.issparse(block):
                block = np.ascontiguousarray(block.toarray(), dtype=np.float64)
            missing = bool(np.isnan(block).any()) if len(block) > 1 else True
            for forest in self._forests:
                nodes = forest.threshold, forest.link, forest.path
                add_paths(block, *nodes, forest.size, forest.depth, missing, paths[rows])

        n, p = X.shape
        threads = n_threads(self.n_jobs) if n * T > 1 << 14 else 1
        parts = max(threads, n * p // BATCH) if sp.issparse(X) else threads
        run(walk, split(n, parts), n_jobs=self.n_jobs)
        scale = T * float(average_path(self.max_samples_))
        return -np.exp2(-paths / scale) if scale else -np.full(n, 0.5)

    def score_samples(self, X):
        """Score: the smaller, the more abnormal.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            −s(x) of (3), between −1 and 0.
        """
        check_is_fitted(self)
        return self._scores(self._rows(X))

    def decision_function(self, X):
        """Score less the offset: negative for outliers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            d(x) of (4).
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X):
        """Tell outliers from others.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            −1 for an outlier, +1 otherwise.
        """
        return np.where(self.decision_function(X) < 0, -1, 1)

    @property
    def estimators_(self):
        """The trees as estimators, made when first asked for."""
        if not hasattr(self, "_forests"):
            raise AttributeError(f"This {type(self).__name__} has no attribute 'estimators_'")
        known = self._made.estimators
        new = slice(len(known), None)
        trees = as_trees(together(self._forests), self._drawn_columns(self._seeds), new)
        for tree, seed in zip(trees, self._seeds[new], strict=True):
            max_depth = int(np.ceil(np.log2(max(self.max_samples_, 2))))
            made = ExtraTreeRegressor(max_depth=max_depth, max_features=1, random_state=int(seed))
            made.n_features_in_, made.n_outputs_, made.tree_ = self._max_features, 1, tree
            made.max_features_ = 1
            known.append(made)
        return known

    @property
    def estimators_samples_(self):
        """The rows of each tree, drawn again from its seed."""
        return list(self._drawn(self._seeds))

    @property
    def estimators_features_(self):
        """The columns of each tree, drawn again from its seed."""
        return list(self._drawn_columns(self._seeds))

    def __len__(self):
        """Number of trees."""
        return len(self._seeds)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags
