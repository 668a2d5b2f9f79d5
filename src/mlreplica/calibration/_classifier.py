"""CalibratedClassifierCV: probabilities that match frequencies

Curves (`_curves.py`) are fitted to scores of rows that the classifier was not trained on. A
calibrated classifier averages the probabilities of one classifier and curve per fold, or has one
classifier trained on all rows with the curves of cross-validated scores.
"""

import warnings
from inspect import signature
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import LeaveOneOut, check_cv, cross_val_predict
from sklearn.utils import (
    assert_all_finite,
    column_or_1d,
    get_tags,
    indexable,
)
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    HasMethods,
    StrOptions,
    _check_method_params,
    _check_sample_weight,
    _fit_context,
    _routing_enabled,
    _safe_indexing,
    route_by_hand,
)
from mlreplica.isotonic import IsotonicRegression
from mlreplica.svm import LinearSVC

from ._curves import Sigmoid, Temperature

LEAST = 1e-12  # added to a probability before its logarithm is taken


def method_of(classifier):
    """The name of the method that gives scores."""
    return "decision_function" if hasattr(classifier, "decision_function") else "predict_proba"


def column_scores(f, classes, method):
    """Scores with a column per class; two classes have a single column, the second's score."""
    f = np.asarray(f)
    f = f.astype(np.float64 if f.dtype.kind != "f" else f.dtype, copy=False)
    if f.ndim == 2 and len(classes) == 2:
        f = f[:, -1]
    f = f.reshape(len(f), -1)
    if f.shape[1] != (1 if len(classes) <= 2 else len(classes)):
        raise ValueError(
            f"{method} gave {f.shape[1]} columns for {len(classes)} classes; calibration needs a "
            "score per class, as decision_function_shape='ovr' gives."
        )
    if not np.isfinite(f).all():
        raise ValueError(f"{method} gave scores that are not finite; scale X.")
    return f


class CalibratedMember:
    """A fitted classifier with the curves that turn its scores into probabilities.

    `column` are the positions of the classifier's classes among `classes`: a fold may lack one.
    """

    def __init__(self, estimator, classes, method):
        self.estimator, self.classes, self.method = estimator, classes, method
        self.calibrators = []

    @property
    def column(self):
        """The positions of the classifier's classes among all."""
        return np.searchsorted(self.classes, self.estimator.classes_)

    def scores(self, X):
        """Scores of rows, as `column_scores` arranges them."""
        name = method_of(self.estimator)
        return column_scores(getattr(self.estimator, name)(X), self.estimator.classes_, name)

    def logits(self, f):
        """What (6) multiplies: a column for each class that the classifier knows."""
        if method_of(self.estimator) == "predict_proba":
            f = np.hstack([1.0 - f, f]) if len(self.column) == 2 else f
            return np.log(f + LEAST)
        return np.hstack([-f, f]) if len(self.column) == 2 else f

    def curves(self, f):
        """(k, scores of class k) for each class that has a curve: the second of two has."""
        if len(self.column) == 2:
            yield self.column[1], f[:, 0]
            if len(self.classes) > 2:
                yield self.column[0], -f[:, 0]
        else:
            yield from zip(self.column, f.T, strict=True)

    def fit(self, f, y, w=None):
        """Fit the curves to scores f of rows of the classes numbered y."""
        if self.method == "temperature":
            known = np.isin(y, self.column)
            f, y, w = f[known], y[known], None if w is None else w[known]
            if len(f) == 0:
                raise ValueError("A fold holds no row of a class that it was trained on; shuffle.")
            y = np.searchsorted(self.column, y)
            self.calibrators = [Temperature().fit(self.logits(f), y, w)]
            return self
        isotonic = self.method == "isotonic"
        for k, f_k in self.curves(f):
            curve = IsotonicRegression(out_of_bounds="clip") if isotonic else Sigmoid()
            self.calibrators.append(curve.fit(f_k, (y == k).astype(f.dtype), w))
        return self

    def predict_proba(self, X):
        """Calibrated probabilities, shape (n, K)."""
        f, K = self.scores(X), len(self.classes)
        p = np.zeros((len(f), K))
        if self.method == "temperature":
            p[:, self.column] = self.calibrators[0].predict(self.logits(f))
            return p
        for (k, f_k), curve in zip(self.curves(f), self.calibrators, strict=True):
            p[:, k] = curve.predict(f_k)
        if K == 2 and len(self.calibrators) == 1:
            k = self.column[-1]
            p[:, 1 - k] = 1.0 - p[:, k]
            return p
        total = p.sum(axis=1, keepdims=True)
        return np.divide(p, total, out=np.full_like(p, 1.0 / K), where=total > 0.0)


def fit_fold(estimator, X, y, codes, classes, fold, method, w, params):
    """A member whose classifier is trained on one half of a fold and calibrated on the other."""
    train, test = fold
    params = _check_method_params(X, params=params, indices=train)
    estimator.fit(_safe_indexing(X, train), y[train], **params)
    member = CalibratedMember(estimator, classes, method)
    f = member.scores(_safe_indexing(X, test))
    return member.fit(f, codes[test], None if w is None else w[test])


class CalibratedClassifierCV(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier whose probabilities match frequencies: sigmoid, isotonic curve or temperature.

    Curves are learned from the scores of rows that the classifier was not trained on: each fold of
    `cv`, or all rows for a classifier that is fitted already, in a `FrozenEstimator`. The scores
    are those of `decision_function`, or of `predict_proba` where there is none.

    Parameters
    ----------
    estimator : estimator, default=None
        The classifier; None for `LinearSVC`.
    method : {"sigmoid", "isotonic", "temperature"}, default="sigmoid"
        A logistic curve, for few rows; a staircase, for a thousand or more; or one temperature for
        all scores, for several classes.
    cv : int, cross-validation generator or iterable, default=None
        Folds; None for five.
    n_jobs : int, default=None
        How many folds are fitted at once, on threads; None for one after the other.
    ensemble : bool or "auto", default="auto"
        True averages a classifier and curve per fold. False trains one classifier on all rows and
        its curves on cross-validated scores. "auto" is False for a `FrozenEstimator`, else True.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    calibrated_classifiers_ : list
        The fitted classifiers (`estimator`) with their curves (`calibrators`), one or one per fold.
    n_features_in_ : int
        Number of columns of X, if the classifier says so.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if the classifier has them.

    Examples
    --------
    >>> from mlreplica.calibration import CalibratedClassifierCV
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CalibratedClassifierCV(GaussianNB(), cv=3).fit(X, y)
    >>> model.predict_proba(X[::60]).round(2)
    array([[0.9 , 0.05, 0.05],
           [0.03, 0.92, 0.05],
           [0.03, 0.05, 0.92]])
    """

    card = Card(
        page="calibration",
        checks="calibrated",
        cheap=lambda: {"cv": 2},
        by_name=True,
        use="probabilities that match frequencies, from any classifier",
        good="repairs overconfident and timid classifiers; hardly changes the ranking",
        bad="needs rows that the classifier was not trained on; fits a classifier per fold",
        time="the fits of all folds, and a sort of the scores",
        memory="a classifier per fold",
        rescaling="as the classifier needs",
        missing="refused by LinearSVC, the default; else as the classifier does",
        instead="LogisticRegression, whose probabilities are usually calibrated",
    )

    _parameter_constraints = {
        "estimator": [
            HasMethods(["fit", "predict_proba"]),
            HasMethods(["fit", "decision_function"]),
            None,
        ],
        "method": [StrOptions({"isotonic", "sigmoid", "temperature"})],
        "cv": ["cv_object"],
        "n_jobs": [Integral, None],
        "ensemble": ["boolean", StrOptions({"auto"})],
    }

    def __init__(
        self,
        estimator=None,
        *,
        method="sigmoid",
        cv=None,
        n_jobs=None,
        ensemble: bool | str = "auto",
    ):
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.n_jobs = n_jobs
        self.ensemble = ensemble

    def _classifier(self):
        """The classifier to calibrate."""
        if self.estimator is not None:
            return self.estimator
        default = LinearSVC(random_state=0)
        return default.set_fit_request(sample_weight=True) if _routing_enabled() else default

    @_fit_context(prefer_skip_nested_validation=False)  # the classifier's are not validated yet
    def fit(self, X, y, sample_weight=None, **fit_params):
        """Fit classifiers and curves.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to learn from.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for the classifier if it takes them, and for the curves.
        **fit_params : dict
            What else the classifier's `fit` takes.

        Returns
        -------
        self : CalibratedClassifierCV
            The fitted estimator.
        """
        X, y = indexable(X, y)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        y = column_or_1d(y, warn=True)
        classifier = self._classifier()
        w = sample_weight
        if w is not None:
            w = _check_sample_weight(w, X, dtype=np.float64, ensure_non_negative=True)
        routed = self._routed(classifier, sample_weight, fit_params)
        classes, codes = np.unique(y, return_inverse=True)
        cv = self._folds(y, codes)
        frozen = isinstance(classifier, FrozenEstimator)
        if self.ensemble is True or (self.ensemble == "auto" and not frozen):
            self.calibrated_classifiers_ = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(fit_fold)(
                    clone(classifier), X, y, codes, classes, fold, self.method, w,
                    routed.estimator.fit,
                )
                for fold in cv.split(X, y, **routed.splitter.split)
            )  # fmt: skip
        else:
            whole, name = clone(classifier), method_of(classifier)
            if not frozen:
                f = cross_val_predict(
                    clone(classifier), X, y, cv=list(cv.split(X, y, **routed.splitter.split)),
                    method=name, n_jobs=self.n_jobs, params=routed.estimator.fit,
                )  # fmt: skip
            whole.fit(X, y, **routed.estimator.fit)
            member = CalibratedMember(whole, classes, self.method)
            f = member.scores(X) if frozen else column_scores(f, classes, name)
            self.calibrated_classifiers_ = [member.fit(f, codes, w)]
        self.classes_ = classes
        first = self.calibrated_classifiers_[0].estimator
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(first, name):
                setattr(self, name, getattr(first, name))
        return self

    def _routed(self, classifier, sample_weight, fit_params):
        """What the classifier's `fit` and the splitter are given."""
        if _routing_enabled():
            return process_routing(self, "fit", sample_weight=sample_weight, **fit_params)
        given = dict(fit_params)
        if sample_weight is not None:
            if "sample_weight" in signature(classifier.fit).parameters:
                given["sample_weight"] = sample_weight
            else:
                warnings.warn(
                    f"Since {type(classifier).__name__} does not appear to accept sample_weight, "
                    "sample weights will only be used for the calibration itself. The "
                    "probabilities are those of a classifier that ignores the weights.",
                    stacklevel=5,
                )
        return route_by_hand(splitter={"split": {}}, estimator={"fit": given})

    def _folds(self, y, codes):
        """The splitter, if every class is large enough for it."""
        if isinstance(self.cv, LeaveOneOut):
            raise ValueError(
                "LeaveOneOut cross-validation does not allow all classes to be present in test "
                "splits; use cv=5, or a splitter whose test rows are of all classes."
            )
        folds = self.cv if isinstance(self.cv, Integral) else getattr(self.cv, "n_splits", 0)
        if folds and np.bincount(codes).min() < folds:
            raise ValueError(
                f"Requesting {folds}-fold cross-validation but provided less than {folds} "
                "examples for at least one class; use fewer folds."
            )
        return check_cv(self.cv, y, classifier=True)

    def predict_proba(self, X):
        """Calibrated probabilities of the classes, the mean of all members'.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A row of probabilities per row of X.
        """
        check_is_fitted(self)
        return np.mean([member.predict_proba(X) for member in self.calibrated_classifiers_], axis=0)

    def predict(self, X):
        """The most probable class, which need not be the one that the classifier predicts.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            A class per row.
        """
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def get_metadata_routing(self):
        """Which parameters go to the classifier and to the splitter.

        Returns
        -------
        MetadataRouter
            The routes.
        """
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        to_split = MethodMapping().add(caller="fit", callee="split")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(estimator=self._classifier(), method_mapping=to_fit)
            .add(splitter=self.cv, method_mapping=to_split)
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inside = get_tags(self._classifier()).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inside.sparse, inside.allow_nan
        return tags
