r"""Calibration: probabilities that match frequencies, learned from rows that a classifier never saw

Let f_k(x) be the score of class k. A curve is fitted to scores of rows that the classifier was not
trained on, by one of three methods. Platt's sigmoid, one per class,

    p_k = 1/(1 + exp(A_k f_k + B_k))                                                         (1)

is in `core/formulas/platt.py`. The isotonic curve, one per class,

    p_k = g_k(f_k),      g_k the best curve that never falls                                 (2)

is in `isotonic.py`. For more than two classes, both are divided by Σ_k p_k. The temperature T = 1/β
is one number for all classes,

    p = softmax(β f),      minimise over β:   L(β) = −Σ_i w_i log p_{y_i}(x_i)               (3)

L is convex: its slope is Σ_i w_i (E_p[f] − f_{y_i}) and its curvature Σ_i w_i Var_p[f] ≥ 0.
Newton's method finds the root of the slope inside a bracket, which halves where Newton would leave
it. If no root exists, because every row is right, β stops at e¹⁰.

A calibrated classifier averages the probabilities of one classifier and curve per fold, or has one
classifier trained on all rows with the curves of cross-validated scores.

Platt, Probabilistic outputs for support vector machines (1999); Zadrozny, Elkan, Transforming
classifier scores into accurate multiclass probability estimates (2002); Guo, Pleiss, Sun,
Weinberger, On calibration of modern neural networks (2017).
"""

import warnings
from inspect import signature
from numbers import Integral, Real

import numpy as np
from scipy.special import logsumexp, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import LeaveOneOut, check_cv, cross_val_predict
from sklearn.utils import (
    assert_all_finite,
    check_consistent_length,
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
    Interval,
    StrOptions,
    _check_method_params,
    _check_pos_label_consistency,
    _check_sample_weight,
    _fit_context,
    _manual_routing,
    _routing_enabled,
    _safe_indexing,
    validate_params,
)
from mlreplica.core.formulas.platt import fit_sigmoid, sigmoid
from mlreplica.isotonic import IsotonicRegression
from mlreplica.svm import LinearSVC

__all__ = ["CalibratedClassifierCV", "calibration_curve"]

LOG_BETA = 10.0  # |log β| is at most this
LEAST = 1e-12  # added to a probability before its logarithm is taken


class Sigmoid:
    """The curve (1) of one class."""

    def fit(self, f, y, w=None):
        """Fit A and B to scores f of rows that are of the class (y = 1) or not (y = 0)."""
        scale = max(np.abs(f).max(), np.finfo(float).tiny)  # Newton meets scores in [−1, 1]
        total = float(len(f) if w is None else w.sum())
        A, self.b_ = fit_sigmoid(f / scale, 2.0 * y - 1.0, w, tol=1e-10 * max(total, 1.0))
        self.a_ = A / scale
        return self

    def predict(self, f):
        """The probability of each score."""
        return sigmoid(f, self.a_, self.b_)


class Temperature:
    """The inverse temperature (3) of all classes."""

    def fit(self, f, y, w=None):
        """Fit β to scores f, one column per class, of rows whose columns are y."""
        f = f - f.max(axis=1, keepdims=True)  # softmax is unchanged
        w = np.ones(len(f)) if w is None else w
        right = f[np.arange(len(f)), y]
        low, high = -LOG_BETA, LOG_BETA
        if slope(f, right, w, np.exp(low))[0] >= 0.0:
            self.beta_ = float(np.exp(low))
            return self
        if slope(f, right, w, np.exp(high))[0] <= 0.0:
            self.beta_ = float(np.exp(high))
            return self
        u = 0.0  # log β, between low and high
        for _ in range(200):
            beta = np.exp(u)
            first, second = slope(f, right, w, beta)
            low, high = (u, high) if first < 0.0 else (low, u)
            new = beta - first / second if second > 0.0 else 0.0
            new = np.log(new) if new > 0.0 else low
            new = new if low < new < high else (low + high) / 2.0
            if abs(new - u) <= 1e-13:
                break
            u = new
        self.beta_ = float(np.exp(u))
        return self

    def predict(self, f):
        """The probabilities of each row of scores."""
        return softmax(self.beta_ * f, axis=1)


def slope(f, right, w, beta):
    """The first and second derivative of (3)."""
    p = np.exp(beta * f - logsumexp(beta * f, axis=1, keepdims=True))
    mean = np.einsum("ik,ik->i", p, f)
    variance = np.einsum("ik,ik->i", p, (f - mean[:, None]) ** 2)
    return float(w @ (mean - right)), float(w @ variance)


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
        """What (3) multiplies: a column for each class that the classifier knows."""
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
        The curve (1), for few rows; (2), for a thousand or more; or (3), for several classes.
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

    def __init__(self, estimator=None, *, method="sigmoid", cv=None, n_jobs=None, ensemble="auto"):
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
        return _manual_routing({"splitter": {"split": {}}, "estimator": {"fit": given}})

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


@validate_params(
    {
        "y_true": ["array-like"],
        "y_prob": ["array-like"],
        "pos_label": [Real, str, "boolean", None],
        "n_bins": [Interval(Integral, 1, None, closed="left")],
        "strategy": [StrOptions({"uniform", "quantile"})],
    },
    prefer_skip_nested_validation=True,
)
def calibration_curve(y_true, y_prob, *, pos_label=None, n_bins=5, strategy="uniform"):
    """Observed shares and predicted probabilities of bins of rows: the reliability curve.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels, of at most two classes.
    y_prob : array-like of shape (n_samples,)
        Predicted probabilities of the positive class.
    pos_label : int, float, bool or str, default=None
        The positive class; None for 1.
    n_bins : int, default=5
        Number of bins. Those that hold no row are left out.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of the same width, or of the same number of rows.

    Returns
    -------
    prob_true : ndarray of shape (n_bins,) or smaller
        The share of positives in each bin.
    prob_pred : ndarray of shape (n_bins,) or smaller
        The mean predicted probability in each bin.

    Examples
    --------
    >>> from mlreplica.calibration import calibration_curve
    >>> share, mean = calibration_curve([0, 0, 1, 1], [0.1, 0.3, 0.6, 0.9], n_bins=2)
    >>> share, mean
    (array([0., 1.]), array([0.2 , 0.75]))
    """
    y, p = column_or_1d(y_true), column_or_1d(y_prob)
    check_consistent_length(y, p)
    positive = _check_pos_label_consistency(pos_label, y)
    classes = np.unique(y)
    if len(classes) > 2:
        raise ValueError(f"Only binary classification is supported. Provided labels {classes}.")
    if not (p.min() >= 0 and p.max() <= 1):
        raise ValueError("y_prob has values outside [0, 1].")
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    if strategy == "quantile":
        edges = np.quantile(p, edges)
    bins = np.searchsorted(edges[1:-1], p)  # a probability on an edge belongs below it
    size = np.bincount(bins, minlength=n_bins)
    some = size > 0
    positives = np.bincount(bins, weights=y == positive, minlength=n_bins)
    total = np.bincount(bins, weights=p, minlength=n_bins)
    return positives[some] / size[some], total[some] / size[some]
