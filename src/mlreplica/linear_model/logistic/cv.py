"""Logistic regression with C and the share of L1 chosen by cross-validation"""

from __future__ import annotations

import inspect
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import get_scorer, get_scorer_names, make_scorer
from sklearn.model_selection import check_cv
from sklearn.utils import metadata_routing
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)

from mlreplica.core.compat import (
    Hidden,
    Interval,
    StrOptions,
    _check_method_params,
    _check_sample_weight,
    _deprecate_positional_args,
    _fit_context,
    _raise_for_params,
    _routing_enabled,
    route_by_hand,
)
from mlreplica.core.compile.threads import run
from mlreplica.core.iterate import say, speaks

from .regression import LogisticRegression
from .training import LogisticData, check_solver, row_weights, solve


class LogisticRegressionCV(LogisticRegression):
    """Logistic regression with the C and `l1_ratio` that predict held-out rows best.

    For every fold and `l1_ratio` one path along C, each fit starting from the one before; folds
    run on threads. The objective is that of :class:`LogisticRegression`.

    Parameters
    ----------
    Cs : int or list of floats, default=10
        The values of C; an integer means so many on a logarithmic scale from 1e-4 to 1e4.
    l1_ratios : array-like of floats, default=None
        The shares of L1 in the penalty.
    fit_intercept, dual, penalty, solver, tol, max_iter, class_weight, verbose, intercept_scaling, \
random_state
        As in :class:`LogisticRegression`; "balanced" weighs the classes as in all of y.
    cv : int, cross-validation generator or iterable, default=None
        The folds; None means five, stratified.
    scoring : str, callable or None, default=None
        What to choose by; None means accuracy.
    n_jobs : int, default=None
        Threads; None means all.
    refit : bool, default=True
        Fit all rows with the best C and `l1_ratio`. Otherwise the weights and the C are means over
        the folds of what is best in each.
    use_legacy_attributes : bool, default=True
        Whether `C_`, `l1_ratio_`, `coefs_paths_`, `scores_` and `n_iter_` have the shapes of
        scikit-learn before 1.10.

    Attributes
    ----------
    classes_, coef_, intercept_, n_features_in_, feature_names_in_
        As in :class:`LogisticRegression`.
    certificate_ : float
        Of the last fit, if `refit`.
    Cs_ : ndarray of shape (n_cs,)
    l1_ratios_ : ndarray of shape (n_l1_ratios,)
    coefs_paths_ : ndarray of shape (n_folds, n_l1_ratios, n_cs, n_classes or 1, n_features + 1)
        Weights and intercepts of all fits; legacy: a dict of arrays (n_folds, n_cs, n_l1_ratios,
        n_features + 1) by class.
    scores_ : ndarray of shape (n_folds, n_l1_ratios, n_cs)
        Their scores; legacy: a dict of arrays (n_folds, n_cs, n_l1_ratios) by class.
    C_, l1_ratio_ : float
        The best; legacy: arrays with an entry a class.
    n_iter_ : ndarray of shape (n_folds, n_l1_ratios, n_cs)
        Iterations; legacy: (1, n_folds, n_cs, n_l1_ratios).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mlreplica.linear_model import LogisticRegressionCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegressionCV(
    ...     Cs=5, l1_ratios=(0,), scoring="neg_log_loss", use_legacy_attributes=False
    ... ).fit(X, y)
    >>> model.C_, model.scores_.shape
    (100.0, (5, 1, 5))
    """

    card = LogisticRegression.card.but(
        good="chooses C by cross-validation; calibrated probabilities",
        time="as LogisticRegression, times the folds and the values of C",
        instead="LogisticRegression with a known C, HistGradientBoostingClassifier for curves",
    )

    _parameter_constraints: dict = {
        name: options
        for name, options in LogisticRegression._parameter_constraints.items()
        if name not in ("C", "warm_start", "l1_ratio")
    } | {
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "l1_ratios": ["array-like", None, Hidden(StrOptions({"warn"}))],
        "cv": ["cv_object"],
        "scoring": [
            StrOptions(set(get_scorer_names())),
            callable,
            None,
            Hidden(StrOptions({"warn"})),
        ],
        "refit": ["boolean"],
        "penalty": [
            StrOptions({"l1", "l2", "elasticnet"}),
            Hidden(StrOptions({"deprecated"})),
        ],
        "use_legacy_attributes": ["boolean", Hidden(StrOptions({"warn"}))],
    }

    def __init__(
        self,
        *,
        Cs: Any = 10,
        l1_ratios: Any = "warn",
        fit_intercept=True,
        cv=None,
        dual=False,
        penalty: Any = "deprecated",
        scoring: Any = "warn",
        solver="lbfgs",
        tol=1e-4,
        max_iter=100,
        class_weight=None,
        n_jobs=None,
        verbose=0,
        refit=True,
        intercept_scaling=1.0,
        random_state=None,
        use_legacy_attributes: Any = "warn",
    ):
        self.Cs = Cs
        self.l1_ratios = l1_ratios
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.dual = dual
        self.penalty = penalty
        self.scoring = scoring
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.refit = refit
        self.intercept_scaling = intercept_scaling
        self.random_state = random_state
        self.use_legacy_attributes = use_legacy_attributes

    __metadata_request__score: ClassVar[dict] = {"sample_weight": metadata_routing.UNUSED}

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, **params):
        """Choose C and `l1_ratio`, and fit W and b.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
        **params : dict
            For the splitter and the scorer.

        Returns
        -------
        self : LogisticRegressionCV
        """
        _raise_for_params(params, self, "fit")
        ratios, legacy = self._choices()
        X, y, codes = self._training_set(X, y, np.float64)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        s = row_weights(X, y, self.classes_, codes, sample_weight, self._class_weight())
        if _routing_enabled():
            routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
        else:
            for_score = (
                params if sample_weight is None else {**params, "sample_weight": sample_weight}
            )
            routed = route_by_hand(splitter={"split": {}}, scorer={"score": for_score})
        folds = list(check_cv(self.cv, y, classifier=True).split(X, y, **routed.splitter.split))
        Cs = np.logspace(-4, 4, self.Cs) if isinstance(self.Cs, Integral) else np.asarray(self.Cs)
        if not (Cs > 0).all():
            raise ValueError(f"Cs must be > 0, got {Cs.min()}; np.inf is no penalty.")
        scorer = self._fold_scorer()

        def path(fold, ratio):
            train, test = fold
            model = self._model()
            weights, scores, steps, start = [], [], [], None
            weight = None if s is None else s[train]
            data = LogisticData(X[train], codes[train], weight, len(self.classes_), model)
            told = _check_method_params(X, routed.scorer.score, indices=test)
            for C in Cs:
                W, b, _ = solve(model, data, C, ratio, start)
                start = model.coef_, model.intercept_ = W, b
                weights.append(np.column_stack([W, b]))
                scores.append(scorer(model, X[test], y[test], **told))
                steps.append(model.n_iter_[0])
            return np.array(weights), scores, steps

        tasks = [(fold, ratio) for fold in folds for ratio in ratios]
        paths, scores, steps = zip(
            *run(path, *zip(*tasks, strict=True), n_jobs=self.n_jobs), strict=True
        )
        shape = len(folds), len(ratios), len(Cs)
        paths = np.reshape(paths, (*shape, -1, X.shape[1] + 1))
        scores, steps = np.reshape(scores, shape), np.reshape(steps, shape).astype(np.int32)
        self.Cs_, self.l1_ratios_, self.scores_ = Cs, np.asarray(ratios), scores
        self.coefs_paths_ = paths if self.fit_intercept else paths[..., :-1]
        if self.refit:
            i, j = np.unravel_index(scores.sum(axis=0).T.argmax(), shape[:0:-1])  # C, ratio
            self.C_, self.l1_ratio_ = float(Cs[i]), float(ratios[j])
            near = paths[:, j, i].mean(axis=0)
            data = LogisticData(X, codes, s, len(self.classes_), self)
            start = near[:, :-1], near[:, -1]
            W, b, self.certificate_ = solve(self, data, self.C_, self.l1_ratio_, start)
        else:
            best = [np.unravel_index(a.T.argmax(), shape[:0:-1]) for a in scores]
            self.C_ = float(np.mean([Cs[i] for i, _ in best]))
            self.l1_ratio_ = float(np.mean([ratios[j] for _, j in best]))
            mean = np.mean([a[j, i] for a, (i, j) in zip(paths, best, strict=True)], axis=0)
            W, b = mean[:, :-1], mean[:, -1]
        self.coef_, self.intercept_ = W, b
        self.n_iter_ = steps
        if speaks(self):
            say(self, f"C {self.C_:.4g}: {len(folds)} folds, at most {steps.max()} iterations each")
        if legacy:
            self._legacy_attributes(one_ratio=self._no_ratios())
        return self

    def _model(self):
        """A LogisticRegression with the parameters of this one, on one thread."""
        names = ("tol", "max_iter", "fit_intercept", "intercept_scaling", "solver", "random_state")
        model = LogisticRegression(n_jobs=1, **{name: getattr(self, name) for name in names})
        model.classes_, model.n_features_in_ = self.classes_, self.n_features_in_
        return model

    def _no_ratios(self):
        return self.l1_ratios is None or isinstance(self.l1_ratios, str)

    def _choices(self):
        """The L1 shares to try, and whether to publish in the old shapes; warn of old defaults."""
        ratios = None if self._no_ratios() else list(self.l1_ratios)
        if isinstance(self.l1_ratios, str):
            warnings.warn(
                "The default value for l1_ratios will change from None to (0.0,) in version 1.10. "
                "From version 1.10 onwards, only array-like with values in [0, 1] will be "
                "allowed, None will be forbidden. To avoid this warning, explicitly set a value, "
                "e.g. l1_ratios=(0,).",
                FutureWarning,
                stacklevel=4,
            )
        elif ratios is None and self.penalty == "deprecated":
            warnings.warn(
                "'l1_ratios=None' was deprecated in version 1.8 and will trigger an error in 1.10. "
                "Use an array-like with valuesin [0, 1] instead.",
                FutureWarning,
                stacklevel=4,
            )
        penalty = self.penalty
        if penalty == "deprecated":
            if ratios is None or all(ratio == 0 for ratio in ratios):
                penalty = "l2"
            else:
                penalty = "l1" if all(ratio == 1 for ratio in ratios) else "elasticnet"
        else:
            warnings.warn(
                "'penalty' was deprecated in version 1.8 and will be removed in 1.10. To avoid "
                "this warning, leave 'penalty' set to its default value and use 'l1_ratios' and "
                "'Cs' instead. Use l1_ratios=(0,) instead of penalty='l2', l1_ratios=(1,) instead "
                "of penalty='l1', l1_ratios set to floats between 0 and 1 instead of "
                "penalty='elasticnet', and Cs=(np.inf,) instead of penalty=None.",
                FutureWarning,
                stacklevel=4,
            )
        if self.scoring == "warn":
            warnings.warn(
                "The default value of the parameter 'scoring' will change from None, i.e. "
                "accuracy, to 'neg_log_loss' in version 1.11. To silence this warning, explicitly "
                "set the scoring parameter: scoring='neg_log_loss' for the new, "
                "scoring='accuracy' or scoring=None for the old default.",
                FutureWarning,
                stacklevel=4,
            )
        legacy = self.use_legacy_attributes
        if legacy == "warn":
            warnings.warn(
                f"The fitted attributes of {type(self).__name__} will be simplified in "
                "scikit-learn 1.10 to remove redundancy. Set`use_legacy_attributes=False` to "
                "enable the new behavior now, or set it to `True` to silence this warning during "
                "the transition period while keeping the deprecated behavior for the time being. "
                "The default value of use_legacy_attributes will change from True to False in "
                f"scikit-learn 1.10. See the docstring of {type(self).__name__} for more details.",
                FutureWarning,
                stacklevel=4,
            )
            legacy = True
        check_solver(self.solver, penalty, 1.0, self.dual)
        if penalty == "elasticnet":
            right = ratios and all(isinstance(r, Real) and 0 <= r <= 1 for r in ratios)
            if not right:
                raise ValueError(
                    "l1_ratios must be an array-like of numbers between 0 and 1; got "
                    f"(l1_ratios={ratios!r})"
                )
            return ratios, legacy
        if ratios is not None and self.penalty != "deprecated":
            warnings.warn(
                "l1_ratios parameter is only used when penalty is 'elasticnet'. Got "
                f"(penalty={penalty})",
                stacklevel=4,
            )
        return [float(penalty == "l1")] * (1 if ratios is None else len(ratios)), legacy

    def _class_weight(self):
        """`class_weight`, if it knows the classes."""
        if isinstance(self.class_weight, dict) and not set(self.class_weight) <= set(self.classes_):
            raise ValueError(
                "The given class_weight dict must have the class labels as keys; "
                f"classes={self.classes_} but key={self.class_weight.keys()}"
            )
        return self.class_weight

    def _legacy_attributes(self, one_ratio):
        """The fitted attributes in the shapes of scikit-learn before 1.10."""
        labels = self.classes_ if len(self.classes_) > 2 else self.classes_[1:]
        paths = np.moveaxis(self.coefs_paths_, (3, 0, 2, 1), (0, 1, 2, 3))
        scores, steps = np.swapaxes(self.scores_, 1, 2), np.swapaxes(self.n_iter_, 1, 2)[None]
        if one_ratio:
            paths, scores, steps = paths[:, :, :, 0], scores[..., 0], steps[..., 0]
        self.coefs_paths_ = dict(zip(labels, paths, strict=True))
        self.scores_ = dict.fromkeys(labels, scores)
        self.n_iter_ = steps
        self.C_ = np.full(len(labels), self.C_)
        self.l1_ratio_ = np.full(len(labels), self.l1_ratio_)
        if one_ratio:
            self.l1_ratio_ = np.full(len(labels), None if self.refit else 0.0)
            self.l1_ratios_ = np.array([None])

    def _fold_scorer(self):
        """The scorer, told of all classes: a fold may lack some."""
        scorer = self._get_scorer()
        known = (
            inspect.signature(scorer._score_func).parameters
            if hasattr(scorer, "_score_func")
            else {}
        )
        if "labels" not in known:
            return scorer
        more = {"labels": self.classes_}
        if len(self.classes_) == 2 and "pos_label" in known:
            more["pos_label"] = self.classes_[1]
        return make_scorer(
            scorer._score_func,
            greater_is_better=scorer._sign == 1,
            response_method=scorer._response_method,
            **{**more, **scorer._kwargs},
        )

    @_deprecate_positional_args(version="1.11")
    def score(self, X, y, *, sample_weight=None, **score_params):
        """Score by the `scoring` of this model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
        **score_params : dict
            For the scorer.

        Returns
        -------
        score : float
        """
        _raise_for_params(score_params, self, "score")
        if sample_weight is not None:
            score_params["sample_weight"] = sample_weight
        if _routing_enabled():
            routed = process_routing(self, "score", **score_params)
        else:
            routed = route_by_hand(scorer={"score": score_params})
        return self._get_scorer()(self, X, y, **routed.scorer.score)

    def get_metadata_routing(self):
        """What scikit-learn's metadata routing asks: who gets which parameter of `fit`, `score`."""
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                splitter=self.cv,
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
            .add(
                scorer=self._get_scorer(),
                method_mapping=MethodMapping()
                .add(caller="score", callee="score")
                .add(caller="fit", callee="score"),
            )
        )

    def _get_scorer(self):
        default = self.scoring is None or (isinstance(self.scoring, str) and self.scoring == "warn")
        return get_scorer("accuracy" if default else self.scoring)
