r"""Target encoding: a category becomes the mean of the target, shrunk to the overall mean

Of the n rows, n_c have category c. Their targets have mean ȳ_c and variance s_c²; all n have mean
ȳ and variance s². The category becomes                                                       (3)

    e_c = λ_c ȳ_c + (1 − λ_c) ȳ,    λ_c = n_c / (n_c + m_c)

With `smooth` a number, m_c = `smooth`: as many rows of mean ȳ are added. If the means of the
categories are drawn from N(ȳ, s²), and targets y_i of category c from N(μ_c, s_c²), the
posterior mean of μ_c is (3) with                                                             (4)

    m_c = s_c² / s²

A row's own target is part of ȳ_c, so a model that trains on e_c sees its answers. `fit_transform`
therefore encodes each of K folds by the rows of the others. With N, S and Q the sums of 1, y and
y² of a category over a fold, those over the other folds need no second pass:                 (5)

    (N, S, Q)_(−k) = Σ_l (N, S, Q)_l − (N, S, Q)_k

A class is a target that is 1 for its rows and 0 for others; more than two classes are as many
targets.

References
----------
Micci-Barreca: A preprocessing scheme for high-cardinality categorical attributes in classification
and prediction problems. SIGKDD Explorations 3 (2001), 27–32.
"""

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from mlreplica.core.compat import (
    Interval,
    StrOptions,
    _check_feature_names_in,
    _check_sample_weight,
    _check_y,
    _fit_context,
    _raise_for_params,
    _routing_enabled,
)

from ._categories import categories_of
from ._encoder import CategoryEncoder
from ._labels import label_column
from ._one_hot import CARD

KINDS = "binary", "multiclass", "continuous"
ROUNDING = 1e-12  # of a sum that is a difference of sums


def small_table():
    """X and y of the warm-up."""
    rng = np.random.default_rng(0)
    return rng.choice(list("abc"), (400, 2)), rng.standard_normal(400)


class TargetEncoder(OneToOneFeatureMixin, CategoryEncoder):
    """Encode each category by the shrunk mean of the target: (3).

    Parameters
    ----------
    categories : "auto" or list of array-like, default="auto"
        The categories of each column; "auto" learns them.
    target_type : {"auto", "continuous", "binary", "multiclass"}, default="auto"
        What the target is; "auto" takes what `type_of_target` says, for which whole numbers are
        classes.
    smooth : "auto" or float, default="auto"
        m of (3); "auto" estimates it by (4).
    cv : int, splitter, iterable or None, default=5
        The folds of `fit_transform`, (5). Each row must be tested once. A number means shuffled
        folds, stratified for classes.
    shuffle, random_state : default="deprecated"
        Deprecated: pass a splitter as `cv`.

    Attributes
    ----------
    encodings_ : list of ndarray
        e of each column; for several classes, of each column and class.
    target_mean_ : float or ndarray of shape (n_classes,)
        ȳ, which unknown categories become.
    target_type_ : str
        What the target is.
    classes_ : ndarray or None
        The classes; None for numbers.
    categories_ : list of ndarray
        The categories of each column.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.

    Examples
    --------
    >>> from mlreplica.preprocessing import TargetEncoder
    >>> X, y = [["a"], ["a"], ["b"], ["b"]], [1.5, 2.5, 4.5, 6.5]
    >>> TargetEncoder(smooth=2.0).fit(X, y).transform([["a"], ["b"], ["c"]])
    array([[2.875],
           [4.625],
           [3.75 ]])
    """

    card = CARD.but(
        checks="encodings",
        input="table",
        data=small_table,
        use="columns with many categories, as one number each",
        good="one column per column; rare categories are shrunk; no leak within fit_transform",
        bad="tells categories of equal mean not apart; fit, then transform, leaks the target",
        time="O(n p)",
        memory="O(n p)",
        instead="OneHotEncoder for few categories",
    )
    _parameter_constraints: dict = {
        "categories": [StrOptions({"auto"}), list],
        "target_type": [StrOptions({"auto", *KINDS})],
        "smooth": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "cv": ["cv_object"],
        "shuffle": ["boolean", StrOptions({"deprecated"})],
        "random_state": ["random_state", StrOptions({"deprecated"})],
    }

    def __init__(
        self,
        categories: Any = "auto",
        target_type="auto",
        smooth: float | str = "auto",
        cv: Any = 5,
        shuffle: bool | str = "deprecated",
        random_state: Any = "deprecated",
    ):
        self.categories = categories
        self.target_type = target_type
        self.smooth = smooth
        self.cv = cv
        self.shuffle = shuffle
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Learn the encodings from all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, texts, any objects; frames, too.
        y : array-like of shape (n_samples,)
            The target.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight 2 is a row twice, 0 no row.

        Returns
        -------
        self : TargetEncoder
        """
        self._fit(X, y, sample_weight)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X, y, sample_weight=None, **params):
        """Learn the encodings, and encode each fold of X by those of the other folds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, texts, any objects; frames, too.
        y : array-like of shape (n_samples,)
            The target.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight 2 is a row twice, 0 no row.
        **params : dict
            Metadata of the splitter, as groups, if routing is enabled.

        Returns
        -------
        X_out : ndarray of shape (n_samples, n_features), or (n_samples, n_features × n_classes)
        """
        _raise_for_params(params, self, "fit_transform")
        split = {}
        if _routing_enabled():
            split = process_routing(self, "fit_transform", **params).splitter.split
        codes, numbers, w = self._fit(X, y, sample_weight)
        fold, K = self._folds(X, y, numbers, split)
        columns = []
        for j, column in enumerate(codes):
            # a last category for unknown values, which has no rows
            C = len(self.categories_[j])
            key = fold * (C + 1) + np.where(column < 0, C, column)
            table = self._sums(key, numbers, w, K * (C + 1)).reshape(K, C + 1, -1, 3)
            others = table.sum(axis=0) - table  # (5)
            others[np.abs(others) <= ROUNDING * np.abs(table).sum(axis=0)] = 0.0
            if not (others[..., 0].sum(axis=1) > 0).all():
                raise ValueError(
                    "A fold of cv leaves no weight to learn from; leave out the rows of weight 0, "
                    "or use fewer folds."
                )
            columns.append(self._shrunk(others)[0].reshape(K * (C + 1), -1)[key])
        return np.concatenate(columns, axis=1)

    def _fit(self, X, y, sample_weight):
        """Learn; return the numbers of categories by column, the target and the weights."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        check_consistent_length(X, y)
        numbers = self._target(y)
        codes = self._learn(X, refuse_unknown=False)
        w = None
        if sample_weight is not None:
            w = _check_sample_weight(
                sample_weight, numbers, dtype=np.float64, ensure_non_negative=True
            )
            w = w / w.max() if w.max() > 1e100 else w
        self.encodings_ = []
        for j, column in enumerate(codes):
            C = len(self.categories_[j])
            key = np.where(column < 0, C, column) if (column < 0).any() else column
            table = self._sums(key, numbers, w, C + 1).reshape(C + 1, -1, 3)
            e, mean = self._shrunk(table)
            self.encodings_ += list(np.ascontiguousarray(e[:-1].T))
        self.target_mean_ = mean if self.target_type_ == "multiclass" else float(mean[0])
        return codes, numbers, w

    def _target(self, y):
        """The target as numbers: y itself less its mean, or the number of the class."""
        kind = "continuous" if is_continuous(y) else type_of_target(y, input_name="y")
        if self.target_type == "auto":
            if kind not in KINDS:
                raise ValueError(
                    f"Unknown label type: Target type was inferred to be {kind!r}. Only {KINDS} "
                    "are supported."
                )
            self.target_type_ = kind
        else:
            self.target_type_ = self.target_type
        if self.target_type_ == "continuous":
            self.classes_ = None
            y = np.asarray(_check_y(y, y_numeric=True, estimator=self), np.float64)
            self._origin = float(y.mean())  # sums of squares lose fewer digits round it
            return y - self._origin
        self._origin = 0.0
        self.classes_, codes = categories_of(label_column(y))
        return codes

    def _sums(self, key, y, w, size):
        """N, S and Q of every key: (size, targets, 3)."""
        if self.target_type_ != "multiclass":
            wy = y if w is None else w * y
            N, S = np.bincount(key, w, size), np.bincount(key, wy, size)
            Q = S if self.target_type_ == "binary" else np.bincount(key, wy * y, size)
            return np.stack([N, S, Q], axis=-1).astype(np.float64)
        K = len(self.classes_)
        S = np.bincount(key * K + y, w, size * K).reshape(size, K)
        N = np.broadcast_to(S.sum(axis=1, keepdims=True), S.shape)
        return np.stack([N, S, S], axis=-1).astype(np.float64)

    def _shrunk(self, table):
        """e of (3) and the overall mean, from N, S, Q (…, categories and unknown, targets, 3)."""
        N, S, Q = table[..., 0], table[..., 1], table[..., 2]
        n, s, q = np.moveaxis(table.sum(axis=-3, keepdims=True), -1, 0)
        mean = s / n
        variance = np.maximum(q / n - mean**2, 0.0)
        N[..., -1, :] = 0.0  # unknown values
        with np.errstate(invalid="ignore", divide="ignore"):
            mean_c = S / N
            if self.smooth == "auto":
                m = np.maximum(Q / N - mean_c**2, 0.0) / variance  # (4)
            else:
                m = float(self.smooth)
            share = N / (N + m)
            e = share * mean_c + (1 - share) * mean
        e = np.where(np.isfinite(e), e, mean)
        return self._origin + e, self._origin + mean[..., 0, :]

    def _folds(self, X, y, numbers, split):
        """The fold of every row, and how many there are."""
        options = {"shuffle": True}
        if self.shuffle != "deprecated" or self.random_state != "deprecated":
            warnings.warn(
                "`TargetEncoder.shuffle` and `TargetEncoder.random_state` are deprecated in "
                "version 1.9 and will be removed in version 1.11. Pass a cross-validation "
                "generator as `cv` argument to specify the shuffling behaviour instead.",
                FutureWarning,
                stacklevel=3,
            )
            options["shuffle"] = self.shuffle == "deprecated" or bool(self.shuffle)
            if self.random_state != "deprecated" and options["shuffle"]:
                options["random_state"] = self.random_state
        is_class = self.target_type_ != "continuous"
        if self.cv is None or isinstance(self.cv, Integral):
            K = 5 if self.cv is None else int(self.cv)
            least = np.bincount(numbers).min() if is_class else len(numbers)
            if options["shuffle"] and 2 <= K <= least:
                rng = check_random_state(options.get("random_state"))
                draw = stratified_folds if is_class else even_folds
                return draw(numbers, K, rng), K
            cv = (StratifiedKFold if is_class else KFold)(K, **options)
        else:
            cv = check_cv(self.cv, y, classifier=is_class)
        fold, K = np.full(len(numbers), -1), 0
        seen = 0
        for _, test in cv.split(X, y, **split):
            fold[test] = K
            seen += len(fold[test])
            K += 1
        if seen != len(fold) or (fold < 0).any():
            raise ValueError(
                "Validation indices from `cv` must cover each sample index exactly once with no "
                "overlap. Pass a splitter with non-overlapping validation folds as `cv` or refer "
                "to the docs for other options."
            )
        return fold, K

    def transform(self, X):
        """Encode rows by what all rows of `fit` say: for new rows, not for those of `fit`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns seen in `fit`.

        Returns
        -------
        X_out : ndarray of shape (n_samples, n_features), or (n_samples, n_features × n_classes)
        """
        check_is_fitted(self)
        codes = self._number(X, refuse_unknown=False)
        means = np.ravel(self.target_mean_)
        out = np.empty((len(codes[0]), len(self.encodings_)))
        for k, e in enumerate(self.encodings_):
            out[:, k] = np.append(e, means[k % len(means)])[codes[k // len(means)]]
        return out

    def get_feature_names_out(self, input_features=None):
        """Return the names of the new columns.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns of X.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self, "n_features_in_")
        given = _check_feature_names_in(self, input_features)
        if self.target_type_ != "multiclass":
            return given
        return np.array([f"{name}_{c}" for name in given for c in self.classes_], dtype=object)

    def get_metadata_routing(self):
        """Where metadata go: to the splitter's `split`.

        Returns
        -------
        routing : MetadataRouter
            What is routed to whom.
        """
        mapping = MethodMapping().add(caller="fit_transform", callee="split")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(splitter=self.cv, method_mapping=mapping)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def is_continuous(y):
    """Whether a look at few numbers shows that y is no class."""
    if type(y) is not np.ndarray or y.ndim != 1 or y.dtype.kind != "f":
        return False
    return bool((y[:100] != np.floor(y[:100])).any()) and bool(np.isfinite(y.sum()))


def even_folds(y, K, rng):
    """A shuffled fold for every row, as scikit-learn's KFold draws them."""
    n = len(y)
    order, fold = np.arange(n), np.empty(n, np.int64)
    rng.shuffle(order)
    sizes = n // K + (np.arange(K) < n % K)
    fold[order] = np.repeat(np.arange(K), sizes)
    return fold


def stratified_folds(y, K, rng):
    """The same with equal shares of the classes, as scikit-learn's StratifiedKFold draws them.

    Classes in order of appearance, one after the other, are dealt out to the folds in turn.
    """
    rows = np.argsort(y.astype(np.min_scalar_type(y.max())), kind="stable")
    ends = np.cumsum(np.bincount(y))
    fold, begin = np.empty(len(y), np.int64), 0
    parts = [part for part in np.split(rows, ends[:-1]) if len(part)]
    for part in sorted(parts, key=lambda part: part[0]):
        deal = np.sort(np.arange(begin, begin + len(part)) % K)
        rng.shuffle(deal)
        fold[part] = deal
        begin += len(part)
    return fold
