"""What both estimators of histogram boosting share: parameters, the loop of rounds, prediction"""

from copy import copy
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.base import (
    BaseEstimator,
    clone,
    is_classifier,
)
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
)

from mlreplica.core.compat import (
    Interval,
    RealNotInt,
    StrOptions,
    _check_monotonic_cst,
    _check_sample_weight,
    _check_y,
    _fit_context,
)
from mlreplica.core.inputs import Inputs
from mlreplica.core.iterate import CallbackSupport, iterate, speaks
from mlreplica.core.validation import validation_rows

from .binning import SAMPLE, codes_of, learn_bins
from .early_stopping import BinnedRows, mean_loss, watch_scores
from .interactions import group_matrix, interaction_groups
from .predict import add_trees, forest_of, masks_of
from .rounds import Booster, BoostingProblem, Options, best_constant

AUTO = 10_000  # rows beyond which early_stopping="auto" is True


class BoostingRound(NamedTuple):
    """One round: losses after it, and its trees (those of all classes behind each other)."""

    train_loss: float
    validation_loss: float  # NaN without validation rows
    gain: float  # Σ of all splits
    n_leaves: int
    columns: np.ndarray  # of every node, −1 for a leaf
    lefts: np.ndarray  # left child of every node, from its tree's root on (the right one is next)
    thresholds: np.ndarray
    gains: np.ndarray
    counts: np.ndarray  # rows of every node
    values: np.ndarray  # of the leaves, η included; others as they were before their split
    candidates: np.ndarray  # (nodes, columns, 256) gain of "code ≤ k goes left", if asked for


class HistGradientBoosting(CallbackSupport, BaseEstimator):
    """Base of both estimators."""

    _parameter_constraints: dict = {
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "l2_regularization": [Interval(Real, 0, None, closed="left")],
        "max_features": [Interval(RealNotInt, 0, 1, closed="right")],
        "monotonic_cst": ["array-like", dict, None],
        "interaction_cst": [list, tuple, StrOptions({"pairwise", "no_interactions"}), None],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "validation_fraction": [
            Interval(RealNotInt, 0, 1, closed="neither"),
            Interval(Integral, 1, None, closed="left"),
            None,
        ],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_bins": [Interval(Integral, 2, 255, closed="both")],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "warm_start": ["boolean"],
        "early_stopping": [StrOptions({"auto"}), "boolean"],
        "scoring": [str, callable, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "min_split_gain": [Interval(Real, 0, None, closed="left")],
        "growth": [StrOptions({"leaf", "depth"})],
        "keep_candidates": ["boolean"],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X,
        y,
        sample_weight=None,
        *,
        X_val=None,
        y_val=None,
        sample_weight_val=None,
        eval_set=None,
    ):
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN is a missing value.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.
        X_val, y_val, sample_weight_val : array-like, optional
            Rows for early stopping; otherwise a part of X (`validation_fraction`).
        eval_set : pair (X_val, y_val) or list of such pairs, optional
            Another way to give X_val and y_val: the last pair.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X_val, y_val = validation_rows(X_val, y_val, eval_set)
        self._inputs = Inputs(self, X, most=self.max_bins)
        X = self._inputs.rows(self, X, reset=True)
        return self._learn(X, y, sample_weight, X_val, y_val, sample_weight_val)

    def _learn(self, X, y, sample_weight, *validation):
        """Fit on an array, or on a `Binnable`."""
        again = self.warm_start and self.__sklearn_is_fitted__()
        self.is_categorical_ = self._inputs.categorical
        y = self._targets(_check_y(y, estimator=self))
        check_consistent_length(X, y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        train = BinnedRows(X, y, self._weights(sample_weight, y))
        given = self._given_validation(*validation)
        rng = check_random_state(self.random_state)
        if not again:
            self._seed, second = rng.randint(np.iinfo(np.uint32).max, size=2, dtype="u8")
            self._column_rng = np.random.default_rng(second)
        if self.monotonic_cst is not None and self.n_trees_per_iteration_ != 1:
            raise ValueError(
                "monotonic constraints are not supported for multiclass classification."
            )
        monotone = _check_monotonic_cst(self, self.monotonic_cst)
        if self.is_categorical_ is not None and (monotone[self.is_categorical_] != 0).any():
            raise ValueError("Categorical features cannot have monotonic constraints.")
        groups = group_matrix(interaction_groups(self.interaction_cst, X.shape[1]), X.shape[1])
        self._loss = self._make_loss()
        auto = self.early_stopping == "auto"
        asked = len(X) > AUTO or given is not None
        self.do_early_stopping_ = asked if auto else bool(self.early_stopping)
        train, valid = self._split(train, given)
        if not again:
            base = np.atleast_1d(best_constant(self._loss, train.y, train.weight))
            self._baseline_prediction = base.reshape(1, -1).astype(float)
            self._predictors, self._forest_of = [], (0, None)
            self.train_score_, self.validation_score_ = np.zeros(0), np.zeros(0)
        elif self.max_iter < self.n_iter_:
            raise ValueError(
                f"max_iter={self.max_iter} must be larger than or equal to "
                f"n_iter_={self.n_iter_} when warm_start==True"
            )
        booster, bins = self._booster(train, monotone, groups)
        done = len(self._predictors)
        if done < self.max_iter:
            iterate(
                self,
                self._rounds(booster, bins, train, valid),
                max_iter=self.max_iter - done,
                unit="rounds",
                advice=None,
                publish=lambda _: self._so_far(),
                X=X,
                y=y,
            )
        vars(self).update(self._so_far())
        self._assembled()
        return self

    def _so_far(self):
        """The attributes that change from round to round."""
        return {
            "_predictors": list(self._predictors),
            "n_iter_": len(self._predictors),
            "train_score_": np.array(self.train_score_),
            "validation_score_": np.array(self.validation_score_),
        }

    def _given_validation(self, X_val, y_val, sample_weight_val):
        """The user's validation rows, or None."""
        if X_val is None and y_val is None:
            return None
        if y_val is None:
            raise ValueError("X_val is provided, but y_val was not provided.")
        if X_val is None:
            raise ValueError("y_val is provided, but X_val was not provided.")
        if self.early_stopping is False:
            raise ValueError(
                "X_val and y_val are passed to fit while at the same time early_stopping is False. "
                "When passing X_val and y_val to fit, early_stopping should be set to either "
                "'auto' or True."
            )
        X_val = self._inputs.rows(self, X_val, reset=False)
        y_val = self._new_targets(_check_y(y_val, estimator=self))
        check_consistent_length(X_val, y_val)
        if sample_weight_val is not None:
            sample_weight_val = _check_sample_weight(sample_weight_val, X_val, dtype=np.float64)
        return BinnedRows(X_val, y_val, sample_weight_val)

    def _split(self, train, given):
        """Rows to learn from and rows to validate on (None: validate on the former)."""
        if not self.do_early_stopping_ or given is not None or self.validation_fraction is None:
            return train, given if self.do_early_stopping_ else None
        parts = train_test_split(
            np.arange(len(train.y)),
            test_size=self.validation_fraction,
            stratify=train.y if is_classifier(self) else None,
            random_state=self._seed,
        )
        for rows in parts:
            rows.sort()  # of what lies in files, too
        return [BinnedRows(*(None if a is None else a[rows] for a in train)) for rows in parts]

    def _booster(self, train, monotone, groups):
        """Bin the rows and make all memory; the bins, too."""
        X, y, weight = train
        p = X.shape[1]
        levels = self._inputs.n_levels(p)
        bins, codes = self._binned(X, weight, levels)
        columns = np.zeros((p, 7), dtype=np.int64)
        columns[:, 0], columns[:, 2], columns[:, 3] = bins.n_bins, levels > 0, monotone
        columns[:, 1], columns[:, 4:] = codes.gaps, codes.place
        problem = BoostingProblem(codes[:3], columns, bins.edges, y, weight, self._loss)
        options = Options(
            self.learning_rate, self.max_leaf_nodes, self.max_depth, self.min_samples_leaf,
            self.l2_regularization, self.min_split_gain, self.max_features, self.growth, groups,
            self.keep_candidates,
        )  # fmt: skip
        f = np.repeat(self._baseline_prediction, len(y), axis=0)
        if self._predictors:
            f = self._raw(np.ascontiguousarray(X, dtype=float))
        return Booster(problem, options, f, self._column_rng), bins

    def _binned(self, X, weight, levels):
        """The bins of the columns and the codes of the rows, kept for a search's other settings."""
        kept = getattr(self, "_kept_bins", {})
        whole = len(X) <= SAMPLE and not self.do_early_stopping_  # else they depend on the seed
        key = self.max_bins, None if whole else self._seed
        if key not in kept:
            bins = learn_bins(X, self.max_bins, levels, weight, np.random.RandomState(self._seed))
            kept[key] = bins, codes_of(X, bins)
        return kept[key]

    _varied = frozenset(
        {"learning_rate", "max_iter", "max_leaf_nodes", "max_depth", "min_samples_leaf"}
        | {"l2_regularization", "max_features", "min_split_gain", "growth"}
    )  # a search fits them together

    def _fit_settings(self, fold, settings):
        """Yield (k, model, fold): bins are shared, and fewer rounds are the first ones of more."""
        if self.warm_start:
            return None
        return self._on_bins(fold, settings)

    def _on_bins(self, fold, settings):
        bins, alike = {}, {}
        for k, setting in enumerate(settings):
            rest = tuple(sorted((n, v) for n, v in setting.items() if n != "max_iter"))
            alike.setdefault(rest, []).append(k)
        rounds = [setting.get("max_iter", self.max_iter) for setting in settings]
        for some in alike.values():
            model = clone(self).set_params(**settings[some[0]])
            model.max_iter = max(rounds[k] for k in some)
            model._kept_bins = bins
            model.fit(fold.X_train, fold.y_train, **fold.fit_params)
            for k in some:
                yield k, model._first_rounds(rounds[k]), fold

    def _first_rounds(self, m):
        """The model that would have had `max_iter` m."""
        model = copy(self)
        model.max_iter = m
        if m >= self.n_iter_:
            return model
        model._predictors, model.n_iter_ = self._predictors[:m], m
        model._forest_of = 0, None
        model.train_score_ = self.train_score_[: m + 1]
        model.validation_score_ = self.validation_score_[: m + 1]
        model._assembled()
        return model

    def _rounds(self, booster, bins, train, valid):
        """Yield a `BoostingRound` indefinitely, or until the scores no longer rise."""
        score = watch_scores(self, booster, bins, train, valid) if self.do_early_stopping_ else None
        self.train_score_, self.validation_score_ = (
            list(self.train_score_), list(self.validation_score_),
        )  # fmt: skip
        if score and not self._predictors:
            score()
        watched = bool(getattr(self, "_skl_callbacks", None)) or speaks(self)
        while True:
            trees, notes = zip(*booster.round(), strict=True)
            self._predictors.append(list(trees))
            stop = score() if score else False
            yield self._describe(trees, notes, booster, watched)
            if stop:
                return

    def _describe(self, trees, notes, booster, watched):
        """The `BoostingRound`; the loss of the training rows only if somebody looks."""
        train_loss = -self.train_score_[-1] if self.train_score_ else np.nan
        if watched and not (self.train_score_ and self.scoring == "loss"):
            train_loss = mean_loss(self._loss, booster.problem.y, booster.f, booster.problem.weight)
        valid = -self.validation_score_[-1] if self.validation_score_ else np.nan

        def join(name):
            return np.concatenate([getattr(tree, name) for tree in trees])

        gains = join("gain")
        return BoostingRound(
            train_loss, valid, float(gains.sum()), sum(tree.n_leaves for tree in trees),
            join("column"), join("left"), join("threshold"), gains, join("count"), join("value"),
            np.concatenate(notes),
        )  # fmt: skip

    def _labels(self, y):
        """Targets as the user gave them."""
        return y

    def __sklearn_is_fitted__(self):
        return len(getattr(self, "_predictors", ())) > 0

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _assembled(self):
        """All trees as prediction takes them; made again only if some were added."""
        count, forest = self._forest_of
        if count != len(self._predictors):
            forest = forest_of([tree for trees in self._predictors for tree in trees])
            forest = forest, masks_of(forest, len(self._predictors[0]))
            self._forest_of = len(self._predictors), forest
        return forest

    def _raw(self, X):
        """Scores (n, K) of rows that are contiguous and of float64."""
        out = np.repeat(self._baseline_prediction, len(X), axis=0)
        if self._predictors:
            add_trees(X, *self._assembled(), out)
        return out

    def _checked(self, X):
        """X as kernels take it; a plain array needs no look at its values, which may be NaN."""
        given = getattr(self, "_given_scores", None)
        if given is not None and X is given[0]:
            return X
        if not (
            type(X) is np.ndarray
            and X.ndim == 2
            and X.dtype == np.float64
            and getattr(self, "is_categorical_", True) is None
            and X.shape[1] == self.n_features_in_
            and len(X) > 0
            and not hasattr(self, "feature_names_in_")
        ):
            check_is_fitted(self)
            X = self._inputs.rows(self, X, reset=False)
        return np.ascontiguousarray(X, dtype=float)

    def _raw_predict(self, X):
        """Scores (n, K) of new rows."""
        X = self._checked(X)
        given = getattr(self, "_given_scores", None)
        if given is not None and X is given[0] and given[1] is not None:
            return given[1]
        return self._raw(X)

    def _staged_raw_predict(self, X):
        """Scores after each round."""
        X = self._checked(X)
        out = np.repeat(self._baseline_prediction, len(X), axis=0)
        for trees in self._predictors:
            add_trees(X, forest_of(trees), None, out)
            yield out.copy()
