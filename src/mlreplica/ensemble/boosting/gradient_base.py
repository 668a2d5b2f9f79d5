"""What GradientBoostingClassifier and GradientBoostingRegressor share: reading, stages, predicting

The algorithm and its equations are in `stages.py`. X is held as columns that were sorted once
(`core/growth/columns.py`), 16 bytes an entry; a sparse X becomes dense.
"""

import sys
import time
import warnings
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.ensemble import BaseEnsemble
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.compat import (
    HasMethods,
    Hidden,
    Interval,
    RealNotInt,
    StrOptions,
    _check_sample_weight,
    _fit_context,
)
from mlreplica.core.formulas.losses import Loss
from mlreplica.core.growth.grow import Columns
from mlreplica.core.growth.options import columns_drawn, least_rows
from mlreplica.core.growth.tree import Packed
from mlreplica.core.iterate import CallbackSupport, iterate
from mlreplica.core.validation import FLOATS, validate_data, validation_rows
from mlreplica.tree import DecisionTreeRegressor

from .stages import describe, fit_stage, sample

EPS = float(np.finfo(np.float64).eps)
SEEDS = 2**31 - 1  # trees are seeded by numbers below this
TREE = ("min_samples_split", "min_samples_leaf", "min_weight_fraction_leaf", "max_depth")
TREE += ("min_impurity_decrease", "max_features", "max_leaf_nodes", "ccp_alpha")


class GradientBoosting(CallbackSupport, BaseEnsemble):
    """Base of both estimators."""

    _parameter_constraints: dict = {
        "learning_rate": [Interval(Real, 0.0, None, closed="left")],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "criterion": [
            StrOptions({"squared_error"}),
            Hidden(StrOptions({"deprecated", "friedman_mse"})),
        ],
        "subsample": [Interval(Real, 0.0, 1.0, closed="right")],
        "min_samples_split": [
            Interval(Integral, 2, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="right"),
        ],
        "min_samples_leaf": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="neither"),
        ],
        "min_weight_fraction_leaf": [Interval(Real, 0.0, 0.5, closed="both")],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_impurity_decrease": [Interval(Real, 0.0, None, closed="left")],
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="right"),
            StrOptions({"sqrt", "log2"}),
            None,
        ],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "ccp_alpha": [Interval(Real, 0.0, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
        "validation_fraction": [Interval(Real, 0.0, 1.0, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "init": [StrOptions({"zero"}), None, HasMethods(["fit", "predict"])],
    }

    @_fit_context(prefer_skip_nested_validation=False)  # `init` checks its own parameters
    def fit(
        self,
        X,
        y,
        sample_weight=None,
        monitor=None,
        *,
        X_val=None,
        y_val=None,
        sample_weight_val=None,
        eval_set=None,
    ):
        """Fit one stage after the other.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Targets: labels in classification, numbers in regression.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, not negative.
        monitor : callable, default=None
            Called after each stage as `monitor(i, self, locals())`; True stops the fit.
        X_val, y_val, sample_weight_val : array-like, default=None
            Rows that are not trained on, whose loss after each stage becomes `validation_score_`
            and, with `n_iter_no_change`, decides when to stop instead of a part of X.
        eval_set : pair (X_val, y_val) or list of such pairs, default=None
            Another way to give X_val and y_val: the last pair.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if not self.warm_start:
            self._forget()
        if self.criterion != "deprecated":
            warnings.warn(
                "The parameter `criterion` is deprecated and will be removed in 1.11. It has no "
                "effect. Leave it to its default value to avoid this warning.",
                FutureWarning,
                stacklevel=3,
            )
        X, y = validate_data(
            self, X, y, accept_sparse=["csr", "csc", "coo"], dtype=FLOATS, multi_output=True
        )
        w = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not w.any():
            raise ValueError("All sample weights are zero; at least one row must count.")
        y = column_or_1d(y, warn=True)
        y = self._encode(y, None if sample_weight is None else w)
        X_val, y_val = validation_rows(X_val, y_val, eval_set)
        held_out = self._held_out(X_val, y_val, sample_weight_val)
        if held_out is None and self.n_iter_no_change is not None:
            X, y, w, held_out = self._split(X, y, w)
        X = dense(X)
        self.max_features_ = columns_drawn(self.max_features, self.n_features_in_)
        self._objective = self._make_objective()
        begin, f = self._begin(X, y, w if sample_weight is not None else None)
        if begin < self.n_estimators:
            iterate(
                self,
                self._stages(begin, X, y, f, w, held_out, monitor),
                max_iter=self.n_estimators - begin,
                advice=None,
                unit="stages",
                verbose=0,  # `StageReport` has a table
                publish=self._published,
                X=X,
                y=y,
            )
            self._trim(begin + self.n_iter_)
        self.n_iter_ = self.n_estimators_ = len(self.estimators_)
        self._packed = self._pack(self.estimators_)
        return self

    def _forget(self):
        """Take back an earlier fit."""
        for name in ("oob_improvement_", "oob_scores_", "oob_score_", "validation_score_"):
            vars(self).pop(name, None)
        self.estimators_ = np.empty((0, 0), dtype=object)

    def _held_out(self, X_val, y_val, w_val):
        """The user's validation rows, checked as the others are."""
        if X_val is None and y_val is None:
            if w_val is not None:
                raise ValueError("sample_weight_val needs X_val and y_val.")
            return None
        if X_val is None or y_val is None:
            raise ValueError("X_val and y_val must be given together.")
        X_val, y_val = validate_data(
            self, X_val, y_val, accept_sparse="csr", dtype=FLOATS, reset=False
        )
        w_val = _check_sample_weight(w_val, X_val, dtype=np.float64, ensure_non_negative=True)
        return dense(X_val), self._encode_more(y_val), w_val

    def _split(self, X, y, w):
        """Set a part of the rows aside."""
        X, X_val, y, y_val, w, w_val = train_test_split(
            X,
            y,
            w,
            random_state=self.random_state,
            test_size=self.validation_fraction,
            stratify=y if is_classifier(self) else None,
        )
        if is_classifier(self) and len(np.unique(y)) != self.n_classes_:
            raise ValueError(
                "The training data after the early stopping split is missing some classes. Try "
                "using another random seed."
            )
        return X, y, w, (dense(X_val), y_val, w_val)

    def _begin(self, X, y, w):
        """The first stage to fit, and f so far: from `init`, or from the trees there are."""
        shape = (self.n_estimators, self._objective.n_scores)
        before = len(self.estimators_) if hasattr(self, "estimators_") else 0
        if before:
            if self.n_estimators < before:
                raise ValueError(
                    f"n_estimators={self.n_estimators} must be larger or equal to "
                    f"estimators_.shape[0]={before} when warm_start==True"
                )
            f = self._raw(X)
        else:
            self._rng = check_random_state(self.random_state)
            self._fit_init(X, y, w)
            f = self._raw_init(X)
        old = vars(self).copy()
        self.estimators_ = np.empty(shape, dtype=object)
        self.estimators_[:before] = old["estimators_"][:before] if before else None
        names = ["train_score_"]
        if self.subsample < 1.0 or hasattr(self, "oob_improvement_"):
            names += ["oob_improvement_", "oob_scores_"]
        for name in names:
            setattr(self, name, np.zeros(self.n_estimators))
            getattr(self, name)[:before] = old.get(name, np.zeros(before))[:before]
        return before, np.asfortranarray(f)

    def _fit_init(self, X, y, w):
        """Fit what boosting starts from: `init_`, and the constant it is if it is one."""
        self._baseline = None
        self.init_ = self._default_init(y, w) if self.init is None else self.init
        if isinstance(self.init_, str):
            self._baseline = np.zeros(self._objective.n_scores)
            return
        target = self._init_target(y)
        try:
            self.init_.fit(X, target, **({} if w is None else {"sample_weight": w}))
        except (TypeError, ValueError) as error:
            unknown = "unexpected keyword argument 'sample_weight'" in str(error)
            in_pipeline = "pass parameters to specific steps" in str(error)
            if w is None or not (unknown or in_pipeline):
                raise
            name = type(self.init_).__name__
            raise ValueError(
                f"The initial estimator {name} does not support sample weights."
            ) from error
        if self.init is None and isinstance(self.loss, Loss):
            self._baseline = np.atleast_1d(self.loss.best_constant(y, w))
        elif self.init is None:
            self._baseline = self._init_scores(X[:1])[0]

    def _raw_init(self, X):
        """f_0 of new rows, (n_samples, n_scores)."""
        if self._baseline is not None:
            return np.tile(self._baseline, (X.shape[0], 1))
        return np.array(self._init_scores(X), dtype=np.float64)

    def _options(self, n):
        """The limits of a tree, as `grow` takes them."""
        return {
            "max_depth": self.max_depth,
            **least_rows(self.min_samples_split, self.min_samples_leaf, n),
            "max_features": self.max_features_,
            "max_leaf_nodes": self.max_leaf_nodes,
            "min_impurity_decrease": float(self.min_impurity_decrease),
        }

    def _stages(self, begin, X, y, f, w, held_out, monitor):
        """Yield a Stage for every stage, until a monitor or the validation rows say enough."""
        n, K, rng, objective = len(y), self._objective.n_scores, self._rng, self._objective
        columns, options, rate = Columns(X), self._options(n), self.learning_rate
        fit_tree = self._fit_pruned(X) if self.ccp_alpha > 0.0 else None
        report = StageReport(self, begin) if self.verbose else None
        if held_out is not None:
            X_val, y_val, w_val = held_out
            f_val = self._raw(X_val) if begin else self._raw_init(X_val)
            scores = np.full(self.n_estimators, np.nan)
            earlier = getattr(self, "validation_score_", np.empty(0))[:begin]
            scores[: len(earlier)] = earlier
            self.validation_score_ = scores
            recent = np.full(self.n_iter_no_change or 1, np.inf)
        previous, inside, w_stage = 0.0, np.ones(n, dtype=bool), w
        seen = inside if self.subsample < 1.0 else slice(None)  # which copies nothing
        for i in range(begin, self.n_estimators):
            if self.subsample < 1.0:
                sample(rng.uniform(size=n), max(1, int(self.subsample * n)), inside)
                w_stage = w * inside
                if i == 0:
                    previous = objective.mean(y[~inside], f[~inside], w[~inside])
            seeds = [rng.randint(SEEDS) for _ in range(K)]
            options["min_weight_leaf"] = self.min_weight_fraction_leaf * w_stage.sum()
            trees = fit_stage(columns, y, f, w_stage, objective, rate, options, seeds, fit_tree)
            for k, (tree, _) in enumerate(trees):
                self.estimators_[i, k] = self._tree(seeds[k], tree)
            loss, validation = objective.mean(y[seen], f[seen], w[seen]), np.nan
            self.train_score_[i] = loss
            if self.subsample < 1.0:
                unseen = objective.mean(y[~inside], f[~inside], w[~inside])
                self.oob_scores_[i] = self.oob_score_ = unseen
                before = self.oob_scores_[i - 1] if i else previous
                self.oob_improvement_[i] = before - unseen
            if held_out is not None:
                for k, (tree, _) in enumerate(trees):
                    f_val[:, k] += rate * tree.predict(X_val)[:, 0]
                validation = self.validation_score_[i] = objective.mean(y_val, f_val, w_val)
            if report is not None:
                report.stage(i)
            yield describe(trees, rate, loss, validation)
            if monitor is not None and monitor(i, self, locals()):
                return
            if held_out is not None and self.n_iter_no_change is not None:
                if not (validation + self.tol < recent).any():
                    return
                recent[i % len(recent)] = validation

    def _tree(self, seed, tree=None):
        """A DecisionTreeRegressor with these limits, fitted if there is a tree."""
        limits = {name: getattr(self, name) for name in TREE}
        estimator = DecisionTreeRegressor(random_state=seed, **limits)
        if tree is not None:
            estimator.tree_, estimator.n_outputs_ = tree, 1
            estimator.n_features_in_ = self.n_features_in_
            estimator.max_features_ = self.max_features_
        return estimator

    def _fit_pruned(self, X):
        """How a tree is fitted that is pruned afterwards: it, and the leaf of every row."""

        def fit(r, weight, seed):
            estimator = self._tree(seed).fit(X, r, sample_weight=weight)
            return estimator.tree_, estimator.apply(X)

        return fit

    def _trim(self, n):
        """Leave out stages that were not needed."""
        names = ("estimators_", "train_score_", "oob_improvement_", "oob_scores_")
        for name in (*names, "validation_score_"):
            if hasattr(self, name):
                setattr(self, name, getattr(self, name)[:n])

    def _published(self, state):
        """The fitted attributes after the complete stages so far."""
        n = sum(None not in stage for stage in self.estimators_.tolist())
        names = ("init_", "max_features_", "classes_", "n_classes_", "_baseline", "_objective")
        found = {name: getattr(self, name) for name in names if hasattr(self, name)}
        names = ("train_score_", "oob_improvement_", "oob_scores_", "validation_score_")
        scores = {name: getattr(self, name)[:n] for name in names if hasattr(self, name)}
        trees, counts = self.estimators_[:n], {"n_estimators_": n, "n_iter_": n}
        return {**found, **scores, **counts, "estimators_": trees, "_packed": self._pack(trees)}

    def _pack(self, estimators):
        """The trees of each score in one structure, with ν γ at their leaves."""
        packs = []
        for column in estimators.T:
            trees = [estimator.tree_ for estimator in column]
            packs.append(Packed(trees, [self.learning_rate * t.value[:, 0] for t in trees]))
        return packs

    def _new_rows(self, X):
        """New rows, dense."""
        check_is_fitted(self)
        return dense(validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False))

    def _raw(self, X):
        """f of new rows, (n_samples, n_scores)."""
        sums = [pack.sums(X) for pack in self._packed]
        return self._raw_init(X) + np.concatenate(sums, axis=1)

    def _staged_raw(self, X):
        """f after each stage."""
        X = self._new_rows(X)
        f = self._raw_init(X)
        for trees in self.estimators_:
            steps = [estimator.tree_.predict(X) for estimator in trees]
            f = f + self.learning_rate * np.concatenate(steps, axis=1)
            yield f

    def __sklearn_is_fitted__(self):
        return len(getattr(self, "estimators_", ())) > 0

    @property
    def feature_importances_(self):
        """By how much cuts of each feature lowered the sums of squares; they add up to 1."""
        check_is_fitted(self)
        trees = [estimator.tree_ for estimator in self.estimators_.ravel()]
        rows = [t.compute_feature_importances(normalize=False) for t in trees if t.node_count > 1]
        if not rows:
            return np.zeros(self.n_features_in_)
        mean = np.mean(rows, axis=0)
        return mean / mean.sum()

    def apply(self, X):
        """The leaf of every row in every tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_estimators, n_classes)
            n_classes is 1 in regression and for two classes.
        """
        X = self._new_rows(X)
        return np.stack([pack.apply(X) for pack in self._packed], axis=2).astype(np.float64)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class StageReport:
    """The table that `verbose` asks for, on standard output: ten lines, then every tenth …"""

    def __init__(self, estimator, begin):
        self.estimator, self.begin, self.every = estimator, begin, 1
        self.since = time.perf_counter()
        self.oob = ["OOB Improve"] if estimator.subsample < 1.0 else []
        names = ["Train Loss", *self.oob, "Remaining Time"]
        self.line(f"{'Iter':>10} " + " ".join(f"{name:>16}" for name in names))

    def line(self, text):
        """Write one line."""
        sys.stdout.write(text + "\n")

    def stage(self, i):
        """One line, if it is its turn."""
        model, done = self.estimator, i - self.begin + 1
        if done % self.every:
            return
        seconds = (model.n_estimators - i - 1) * (time.perf_counter() - self.since) / done
        left = f"{seconds / 60:.2f}m" if seconds > 60 else f"{seconds:.2f}s"
        oob = f"{model.oob_improvement_[i]:>16.4f} " if self.oob else ""
        self.line(f"{i + 1:>10} {model.train_score_[i]:>16.4f} {oob}{left:>16}")
        if model.verbose == 1 and done // (self.every * 10) > 0:
            self.every *= 10


def dense(X):
    """X as an array."""
    return X.toarray() if sp.issparse(X) else X
