r"""Forests: trees that differ, and their mean

Tree f_t is grown on its own draw of the rows, and at every node it may only use columns drawn anew.
The forest answers with the mean

    f(x) = 1/T Σ_t f_t(x)                                                                     (1)

of numbers, or of the shares of classes in the leaves. If one tree has variance σ² and two have
correlation ρ (over the draws),

    Var f = ρ σ² + (1 − ρ) σ² / T                                                             (2)

so more trees never harm, and what is left is ρσ²: drawing columns lowers ρ at the cost of a bias.
A row is left out of a draw of n from n with probability (1 − 1/n)ⁿ ≈ e⁻¹ = 0.37. The mean over only
those trees that have not seen row i,

    f^oob(x_i) = Σ_t [i not in draw t] f_t(x_i) / Σ_t [i not in draw t]                       (3)

is a prediction as good as on new data: the out-of-bag score costs no second data set.

The columns are put in order once for all trees (`core/growth/columns.py`), trees grow on threads,
each from a seed of its own, and all trees answer together (`core/growth/tree.py`). Seeds are drawn
and used as in scikit-learn, so that a forest does not depend on the number of threads, and is
scikit-learn's wherever float32 can hold the values of X.
"""

from itertools import chain
from numbers import Integral
from warnings import warn

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, MultiOutputMixin, is_classifier
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.compat import (
    Interval,
    RealNotInt,
    _check_sample_weight,
    _fit_context,
    _get_n_samples_bootstrap,
)
from mlreplica.core.compile.threads import n_threads, run, split
from mlreplica.core.formulas.draws import LARGEST, draws, seeded
from mlreplica.core.growth.columns import Columns
from mlreplica.core.growth.grow import grow
from mlreplica.core.growth.options import columns_drawn, least_rows, monotonic_signs
from mlreplica.core.growth.pruning import prune
from mlreplica.core.growth.tree import Packed
from mlreplica.core.iterate import timed
from mlreplica.core.validation import FLOATS, ValidatedOnce, refuse_heavy_share, validate_data

from .answers import Made
from .trees import packable, plain_data, plain_trees

AT_ONCE = 1 << 14  # rows of small trees that are grown in one go: some milliseconds
NO_MISSING = "{} does not learn from missing values with these parameters; impute them first."


class Forest(ValidatedOnce, MultiOutputMixin, BaseEstimator):
    """What all forests share."""

    _splitter = "best"
    _parameter_constraints: dict = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "bootstrap": ["boolean"],
        "oob_score": ["boolean", callable],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
        "max_samples": [
            None,
            Interval(RealNotInt, 0.0, None, closed="neither"),
            Interval(Integral, 1, None, closed="left"),
        ],
    }
    estimator_params = (  # that a tree has as well
        "criterion", "max_depth", "min_samples_split", "min_samples_leaf",
        "min_weight_fraction_leaf", "max_features", "max_leaf_nodes", "min_impurity_decrease",
        "random_state", "ccp_alpha", "monotonic_cst",
    )  # fmt: skip

    def _keep(self, parameters):
        """Keep what a constructor was given, its locals()."""
        for name, value in parameters.items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    @property
    def estimator(self):
        """An unfitted tree of the kind that the forest is made of."""
        return self._tree_class()()

    @property
    def estimators_(self):
        """The trees as estimators, made when first asked for."""
        if not hasattr(self, "_trees"):
            raise AttributeError(f"This {type(self).__name__} has no attribute 'estimators_'")
        known = self._made.estimators
        for tree, seed in zip(self._trees[len(known) :], self._seeds[len(known) :], strict=True):
            parameters = {name: getattr(self, name) for name in self.estimator_params}
            made = self._tree_class()(**parameters | {"random_state": int(seed)})
            made.n_features_in_, made.n_outputs_ = self.n_features_in_, self.n_outputs_
            made.tree_ = tree
            made.max_features_ = self._limits["max_features"]
            if is_classifier(self):
                made.n_classes_ = self.n_classes_
                single = self.n_outputs_ == 1
                made.classes_ = np.arange(self.n_classes_) if single else self.classes_
            known.append(made)
        return known

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Grow the trees.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to learn from; NaN where a value is missing.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows: with bootstrap, how likely each is drawn.

        Returns
        -------
        self : object
            The fitted forest.
        """
        if sp.issparse(y):
            raise ValueError("sparse multilabel-indicator for y is not supported.")
        X, y = validate_data(
            self,
            X,
            y,
            multi_output=True,
            accept_sparse="csr",
            dtype=FLOATS,
            ensure_all_finite=False,
        )
        X = X.toarray() if sp.issparse(X) else X
        self._check_finite(X)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        y = self._targets(y)
        n, self.n_outputs_ = y.shape
        self._n_samples = n
        y, class_weight = self._encoded(y, sample_weight)
        if class_weight is not None:
            sample_weight = class_weight if sample_weight is None else sample_weight * class_weight
        self._sample_weight = sample_weight
        self._n_samples_bootstrap = self._rows_a_tree(n, sample_weight)
        self._limits = self._tree_limits(n, X.shape[1])

        known = len(self._trees) if self.warm_start and hasattr(self, "_trees") else 0
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
            seeds = seeded(self.random_state).randint(LARGEST, size=self.n_estimators)
            if not known:
                self._trees, self._seeds = [], seeds[:0]
            self._seeds = np.concatenate([self._seeds, seeds[known:]])
            with timed(self, f"{len(seeds) - known} trees"):
                self._trees = self._trees + self._grow(X, y, seeds[known:])
            self._made = Made()
        if self.oob_score and (known < self.n_estimators or not hasattr(self, "oob_score_")):
            kind = type_of_target(y)
            if kind == "unknown" or (is_classifier(self) and kind == "multiclass-multioutput"):
                raise ValueError(
                    "The type of target cannot be used to compute OOB estimates. Got "
                    f"{kind} while only the following are supported: continuous, "
                    "continuous-multioutput, binary, multiclass, multilabel-indicator."
                )
            score = self.oob_score if callable(self.oob_score) else None
            self._publish_oob(self._out_of_bag(X), y, score)
        if hasattr(self, "classes_") and self.n_outputs_ == 1:
            self.n_classes_, self.classes_ = self.n_classes_[0], self.classes_[0]
        return self

    def _check_finite(self, X):
        """Refuse infinity, and NaN where the trees cannot learn from it."""
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(X.sum()):
                return
        missing = np.isnan(X).any()
        if np.isinf(X).any():
            raise ValueError("Input X contains infinity or a value too large for dtype('float32').")
        if missing and not self.__sklearn_tags__().input_tags.allow_nan:
            raise ValueError("Input X contains NaN.\n" + NO_MISSING.format(type(self).__name__))

    def _targets(self, y):
        """y with an axis of outputs, as the criterion allows it."""
        y = np.atleast_1d(y)
        if y.ndim == 2 and y.shape[1] == 1:
            warn(
                "A column-vector y was passed when a 1d array was expected. Please change the "
                "shape of y to (n_samples,), for example using ravel().",
                DataConversionWarning,
                stacklevel=3,
            )
        if self.criterion == "poisson":
            if np.any(y < 0):
                raise ValueError(
                    "Some value(s) of y are negative which is not allowed for Poisson regression."
                )
            if np.sum(y) <= 0:
                raise ValueError(
                    "Sum of y is not strictly positive which is necessary for Poisson regression."
                )
        return y.reshape(len(y), -1)

    def _rows_a_tree(self, n, weight):
        """How many rows are drawn for a tree; None: it takes all."""
        if self.bootstrap:
            refuse_heavy_share(weight, self.max_samples)
            return _get_n_samples_bootstrap(n, self.max_samples, weight)
        if self.max_samples is not None:
            raise ValueError(
                "`max_sample` cannot be set if `bootstrap=False`. Either switch to "
                "`bootstrap=True` or set `max_sample=None`."
            )
        if self.oob_score:
            raise ValueError("Out of bag estimation only available if bootstrap=True")
        return None

    def _draw(self, seeds):
        """The rows that the trees of some seeds are grown on, (trees, m)."""
        n, m, weight = self._n_samples, self._n_samples_bootstrap, self._sample_weight
        if not self.bootstrap:
            return np.repeat(np.arange(n, dtype=np.int32)[None], len(seeds), axis=0)
        if weight is None:
            return draws(seeds, n, m)[0]
        share = weight / weight.sum()
        return np.array([seeded(s).choice(n, m, p=share) for s in seeds], dtype=np.int32)

    def _weights(self, seeds, y):
        """The weights of the rows in the trees of some seeds, (trees, n); None if all are 1."""
        if not self.bootstrap:
            weight = self._sample_weight
            return None if weight is None else np.repeat(weight[None], len(seeds), axis=0)
        rows, n = self._draw(seeds), len(y)
        place = rows + n * np.arange(len(rows))[:, None]
        weights = np.bincount(place.ravel(), minlength=len(rows) * n).reshape(-1, n).astype(float)
        if getattr(self, "class_weight", None) == "balanced_subsample":
            weights *= [compute_sample_weight("balanced", y, indices=drawn) for drawn in rows]
        return weights

    def _grow(self, X, y, seeds):
        """One tree a seed, on threads; X is put in order once."""
        columns, options = Columns(X, n_jobs=self.n_jobs), dict(self._limits)
        fraction, random = options.pop("min_weight_fraction"), self._splitter == "random"
        if not random:
            columns.keys  # noqa: B018  in order before the threads ask for it
        classes = self.n_classes_ if is_classifier(self) else None
        K = 0 if classes is None else int(classes[0])
        data = plain_data(columns, X, random) if self._is_plain(X, classes) else None
        target = y[:, 0] if self.n_outputs_ == 1 else y
        target = target.astype(np.float64 if classes is None or data else np.int32)

        def some(part):
            weights, trees = self._weights(seeds[part], y), []
            own = draws(seeds[part], 1, 0)[1]
            if data and (K == 0 or packable(weights, K, columns.levels)):
                return plain_trees(data, target, weights, own, K, random, fraction, options)
            codes = target if classes is None else target.astype(np.int32)
            for t, seed in enumerate(own):
                weight = None if weights is None else weights[t]
                least = fraction * (len(X) if weight is None else weight.sum())
                chosen = options | {"min_weight_leaf": least, "seed": int(seed)}
                trees.append(grow(columns, codes, weight, n_classes=classes, **chosen)[0])
            return trees

        rows, threads = len(seeds) * len(X), n_threads(self.n_jobs)
        parts = max(rows // AT_ONCE // threads * threads, min(4 * rows // AT_ONCE, threads))
        parts = split(len(seeds), parts)
        trees = list(chain.from_iterable(run(some, parts, n_jobs=self.n_jobs)))
        return [prune(tree, self.ccp_alpha) for tree in trees] if self.ccp_alpha > 0.0 else trees

    def _is_plain(self, X, classes):
        """Whether `trees.py` grows these trees; it is made for few columns of many."""
        limits = self._limits
        few = self._splitter == "random" or 3 * limits["max_features"] < 2 * X.shape[1]
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(
                few
                and self.n_outputs_ == 1
                and (classes is None or 1 < classes[0] <= 128)
                and self.criterion in ("gini", "squared_error")
                and limits["max_leaf_nodes"] is None
                and limits["monotonic_cst"] is None
                and not np.isnan(X.sum())
            )

    def _tree_limits(self, n, p):
        """The parameters of a tree as numbers of rows and columns."""
        classes = self.n_classes_ if is_classifier(self) else None
        return {
            "criterion": self.criterion,
            "splitter": self._splitter,
            "max_depth": self.max_depth,
            **least_rows(self.min_samples_split, self.min_samples_leaf, n),
            "min_weight_fraction": self.min_weight_fraction_leaf,
            "max_features": columns_drawn(self.max_features, p),
            "max_leaf_nodes": self.max_leaf_nodes,
            "min_impurity_decrease": self.min_impurity_decrease,
            "monotonic_cst": monotonic_signs(self.monotonic_cst, p, self.n_outputs_, classes),
        }

    def _rows(self, X):
        """New rows, dense; a plain array of finite floats is taken as it is."""
        if (
            type(X) is np.ndarray
            and X.ndim == 2
            and X.dtype in FLOATS
            and X.shape[1] == getattr(self, "n_features_in_", None)
            and len(X) > 0
            and not hasattr(self, "feature_names_in_")
        ):
            with np.errstate(over="ignore", invalid="ignore"):
                if np.isfinite(X.sum()):
                    return X
        check_is_fitted(self)
        missing = self.__sklearn_tags__().input_tags.allow_nan and self.monotonic_cst is None
        finite = "allow-nan" if missing else True
        X = validate_data(
            self, X, reset=False, accept_sparse="csr", dtype=FLOATS, ensure_all_finite=finite
        )
        return X.toarray() if sp.issparse(X) else X

    @property
    def _answers(self):
        """All trees together, made when first asked for; of two classes the second."""
        if self._made.packed is None:
            values = None
            if is_classifier(self) and self.n_outputs_ == 1 and self.n_classes_ == 2:
                values = [np.ascontiguousarray(tree.value[:, 0, 1:]) for tree in self._trees]
            self._made.packed = Packed(self._trees, values)
        return self._made.packed

    def _means(self, X):
        """(1) for every row, (n, outputs × classes)."""
        means = self._answers.sums(self._rows(X), n_jobs=self.n_jobs)
        means /= len(self._trees)
        return means

    def apply(self, X):
        """The leaf of every row in every tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_estimators)
            Numbers of nodes.
        """
        check_is_fitted(self)
        return self._answers.apply(self._rows(X), n_jobs=self.n_jobs)

    def decision_path(self, X):
        """The nodes that rows come by.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        indicator : csr_matrix of shape (n_samples, n_nodes)
            1 where a row comes by a node; the nodes of all trees stand side by side.
        n_nodes_ptr : ndarray of shape (n_estimators + 1,)
            Where the nodes of each tree begin.
        """
        check_is_fitted(self)
        X = self._rows(X)
        paths = run(lambda tree: tree.decision_path(X), self._trees, n_jobs=self.n_jobs)
        starts = np.cumsum([0, *(path.shape[1] for path in paths)])
        return sp.hstack(paths).tocsr(), starts

    def _out_of_bag(self, X):
        """(3) as (n, classes or 1, outputs)."""
        K = int(self.n_classes_[0]) if is_classifier(self) else 1
        total, times = np.zeros((len(X), K, self.n_outputs_)), np.zeros(len(X), np.int64)

        def one(tree, rows):
            out = np.flatnonzero(np.bincount(rows, minlength=len(X)) == 0)
            values = tree.value[:, :, :K].take(tree.apply(X[out]), axis=0)
            return out, values.transpose(0, 2, 1)

        for part in split(len(self._trees), -(-len(self._trees) // 8)):  # eight trees in memory
            trees, rows = self._trees[part], self._draw(self._seeds[part])
            for out, values in run(one, trees, rows, n_jobs=self.n_jobs):
                total[out] += values
                times[out] += 1
        if (times == 0).any():
            warn(
                "Some inputs do not have OOB scores. This probably means too few trees were used "
                "to compute any reliable OOB estimates.",
                UserWarning,
                stacklevel=3,
            )
        return total / np.maximum(times, 1)[:, None, None]

    @property
    def feature_importances_(self):
        """How much each column lowers the impurity, in the mean over the trees; they sum to 1."""
        check_is_fitted(self)
        shares = [tree.compute_feature_importances() for tree in self._trees if tree.node_count > 1]
        if not shares:
            return np.zeros(self.n_features_in_)
        mean = np.mean(shares, axis=0)
        return mean / mean.sum()

    @property
    def estimators_samples_(self):
        """The rows that each tree was grown on, drawn again from its seed."""
        return list(self._draw(self._seeds))

    def __len__(self):
        """Number of trees."""
        return len(self._trees)

    def __getitem__(self, t):
        """Tree t, as an estimator."""
        return self.estimators_[t]

    def __iter__(self):
        """The trees, as estimators."""
        return iter(self.estimators_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
