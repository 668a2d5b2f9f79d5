"""Learning vector quantisation: the estimator; the rules and the cost are in `_lvq_steps`"""

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, StrOptions, _check_sample_weight, _fit_context
from mlreplica.core.iterate import CallbackSupport, iterate
from mlreplica.core.validation import new_rows, refuse_overflow, validate_data

from ._lvq_steps import ALGORITHMS, cost_and_gradient, epoch

MOST = 1e7  # visits in an epoch


class LVQState(NamedTuple):
    """What a `Trace` records once per epoch."""

    prototypes: Any
    omega: Any
    errors: float  # share of rows of another class than their nearest prototype
    learning_rate: float


class LVQClassifier(CallbackSupport, ClassifierMixin, BaseEstimator):
    """The class of the nearest prototype, learned by (1)–(4) or by minimising (5).

    Parameters
    ----------
    algorithm : {"lvq1", "olvq1", "lvq2.1", "lvq3", "glvq", "gmlvq"}, default="glvq"
        How prototypes move.
    prototypes_per_class : int or array-like of shape (n_classes,), default=1
        How many prototypes each class has.
    init : {"auto", "mean", "k-means++"}, default="auto"
        Where they start: at the class mean, or at rows of the class far from each other; "auto" is
        the mean for one prototype.
    learning_rate : float, default=None
        α at the start. For GLVQ and GMLVQ in units of the mean squared distance of a row to its
        prototype. None for 0.02 in LVQ2.1 and LVQ3, whose prototypes larger steps drive out of
        their classes, and for 0.1 in the others.
    schedule : {"linear", "inverse", "constant"}, default="linear"
        α falls to 0 at the last epoch, falls as 1/(1 + epoch), or stays.
    max_iter : int, default=30
        Epochs.
    window : float, default=0.2
        s of (3).
    epsilon : float, default=0.3
        ε of (4).
    beta : float, default=2.0
        Steepness of φ in (5).
    random_state : int, RandomState instance or None, default=None
        Draws the order of rows and first prototypes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes.
    prototypes_ : ndarray of shape (n_prototypes, n_features)
        Prototypes.
    prototypes_labels_ : ndarray of shape (n_prototypes,)
        Their classes.
    omega_ : ndarray of shape (n_features, n_features)
        Ω; the identity unless learned.
    lambda_ : ndarray of shape (n_features, n_features)
        The relevance matrix Λ = ΩᵀΩ.
    n_iter_ : int
        Epochs done.

    Examples
    --------
    >>> from mlreplica.neighbors import LVQClassifier
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [4.0, 4.0], [5.0, 4.0]], [0, 0, 1, 1]
    >>> model = LVQClassifier("lvq1", random_state=0).fit(X, y)
    >>> model.predict([[0.5, 1.0], [4.0, 5.0]])
    array([0, 1])
    """

    card = Card(
        page="learning-vector-quantisation",
        checks="prototypes",
        use="a classifier of a few rows that people can look at",
        good="tiny and fast to ask; learns from streams; GMLVQ says which columns matter",
        bad="depends on its start and its learning rate; borders are made of straight pieces",
        time="O(n p) per prototype and epoch; GMLVQ O(n p²)",
        memory="O(p) per prototype; GMLVQ O(p²)",
        rescaling="needed, unless GMLVQ learns it",
        instead="KNeighborsClassifier if all rows can be kept",
    )
    _parameter_constraints: dict = {
        "algorithm": [StrOptions(set(ALGORITHMS))],
        "prototypes_per_class": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "init": [StrOptions({"auto", "mean", "k-means++"})],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), None],
        "schedule": [StrOptions({"linear", "inverse", "constant"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "window": [Interval(Real, 0, 1, closed="neither")],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "beta": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        algorithm="glvq",
        *,
        prototypes_per_class: Any = 1,
        init="auto",
        learning_rate=None,
        schedule="linear",
        max_iter=30,
        window=0.2,
        epsilon=0.3,
        beta=2.0,
        random_state=None,
    ):
        self.algorithm = algorithm
        self.prototypes_per_class = prototypes_per_class
        self.init = init
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.max_iter = max_iter
        self.window = window
        self.epsilon = epsilon
        self.beta = beta
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Place the prototypes and move them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts; 0 leaves it out.

        Returns
        -------
        self : LVQClassifier
        """
        X, y, s = self._checked(X, y, sample_weight)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        rng, rows = check_random_state(self.random_state), merged(X, codes, s)
        self._start(*rows, rng)
        state = iterate(
            self,
            self._epochs(*rows, rng),
            max_iter=self.max_iter,
            unit="epochs",
            advice=None,
            publish=self._published,
            X=X,
            y=y,
        )
        vars(self).update(self._published(state))
        with np.errstate(over="ignore"):
            refuse_overflow(self, squared_lengths=(self._W**2).sum(axis=1))
        return self

    def _checked(self, X, y, sample_weight, reset=True):
        """Rows, classes and weights, without rows of weight 0."""
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", reset=reset)
        s = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        keep = s > 0.0
        return (X, y, s) if keep.all() else (X[keep], y[keep], s[keep])

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Move the prototypes by one pass over some rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.
        classes : array-like of shape (n_classes,), default=None
            All classes; needed in the first call unless y has them all.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts; 0 leaves it out.

        Returns
        -------
        self : LVQClassifier
        """
        first = not hasattr(self, "prototypes_")
        X, y, s = self._checked(X, y, sample_weight, reset=first)
        rng = check_random_state(self.random_state)
        if first:
            self.classes_ = np.unique(y if classes is None else classes)
        codes = np.searchsorted(self.classes_, y)
        codes = np.minimum(codes, len(self.classes_) - 1)
        if (self.classes_[codes] != y).any():
            raise ValueError("y has classes that were not in the first call of partial_fit.")
        rows = merged(X, codes, s)
        if first:
            self._start(*rows, rng)
            self.n_iter_ = 0
        state = next(self._epochs(*rows, rng, start=self.n_iter_))
        self.n_iter_ += 1
        vars(self).update(self._published(state))
        return self

    def _start(self, X, codes, s, rng):
        """Prototypes at the start, in units in which squares neither overflow nor vanish."""
        C = len(self.classes_)
        if C < 2:
            raise ValueError(f"LVQClassifier needs at least two classes; y has {C} class.")
        self._centre = np.average(X, axis=0, weights=s)
        self._unit = max(float(np.abs(X - self._centre).max()), np.finfo(float).tiny)
        Z = (X - self._centre) / self._unit
        each = np.broadcast_to(np.asarray(self.prototypes_per_class, dtype=np.int64), (C,))
        if (each < 1).any():
            raise ValueError("prototypes_per_class must be >= 1 for every class.")
        W = []
        for c in range(C):
            own = codes == c if (codes == c).any() else slice(None)  # a class not seen yet
            rows, weights = Z[own], s[own]
            if self.init == "k-means++" or (self.init == "auto" and each[c] > 1):
                W.append(far_rows(rows, weights, int(each[c]), rng))
            else:
                mean = np.average(rows, axis=0, weights=weights)
                deviation = np.sqrt(np.average((rows - mean) ** 2, axis=0, weights=weights))
                noise = rng.normal(size=(each[c], Z.shape[1])) * deviation
                W.append(mean + 0.1 * noise * (each[c] > 1))
        self._W = np.ascontiguousarray(np.vstack(W))
        self._codes = np.repeat(np.arange(C), each)
        learned = self.algorithm == "gmlvq"
        self._Omega = np.eye(Z.shape[1]) / np.sqrt(Z.shape[1]) if learned else np.empty((0, 1))
        own = self._W[np.searchsorted(self._codes, codes)]  # the first of its class
        spread = float(np.average(((Z - own) ** 2).sum(axis=1), weights=s))
        self._scale = max(spread, np.finfo(float).tiny)
        self._rates = np.full(len(self._W), min(self._rate(), 0.999))

    def _rate(self):
        """α at the start."""
        if self.learning_rate is None:
            return 0.02 if self.algorithm in ("lvq2.1", "lvq3") else 0.1
        return float(self.learning_rate)

    def _epochs(self, X, codes, s, rng, start=0):
        """Yield an `LVQState` once per epoch, indefinitely."""
        Z, which = (X - self._centre) / self._unit, ALGORITHMS[self.algorithm]
        Z, t = np.ascontiguousarray(Z), start
        visits = np.ceil(s / max(1.0, s.sum() / MOST)).astype(np.int64)
        each, s_visit = np.repeat(np.arange(len(Z)), visits), s / visits
        while True:
            alpha = self._rate()
            if self.schedule == "linear":
                alpha *= max(1.0 - t / self.max_iter, 1.0 / self.max_iter)
            elif self.schedule == "inverse":
                alpha /= 1.0 + t
            step = alpha * self._scale if which >= 4 else min(alpha, 0.999)
            epoch(
                which, Z, codes, s_visit, rng.permutation(each), self._W, self._codes,
                self._Omega, self._rates, step, 0.1 * alpha, float(self.window),
                float(self.epsilon), float(self.beta),
            )  # fmt: skip
            if not np.isfinite(self._W).all():
                raise ValueError("prototypes overflowed; use a smaller learning_rate.")
            missed = self._codes[self._distances(Z).argmin(axis=1)] != codes
            t += 1
            yield LVQState(
                self._W * self._unit + self._centre,
                self._Omega.copy(),
                float(np.average(missed, weights=s)),
                alpha,
            )

    def _published(self, state):
        """The fitted attributes that a state stands for."""
        omega = state.omega if len(state.omega) else np.eye(self._W.shape[1])
        return {
            "prototypes_": state.prototypes,
            "prototypes_labels_": self.classes_[self._codes],
            "omega_": omega,
            "lambda_": omega.T @ omega,
        }

    def _distances(self, Z):
        """Squared distances of rows to all prototypes."""
        D = np.empty((len(Z), len(self._W)))
        for k, w in enumerate(self._W):
            V = Z - w
            V = V @ self._Omega.T if len(self._Omega) else V
            D[:, k] = np.einsum("ij,ij->i", V, V)
        return D

    def cost(self, X, y, sample_weight=None):
        """Return E of (5) for some rows, and its gradients with respect to prototypes and Ω.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.

        Returns
        -------
        E : float
        gradient : ndarray of shape (n_prototypes, n_features)
        gradient_omega : ndarray of shape (n_features, n_features)
        """
        check_is_fitted(self)
        X, y, s = self._checked(X, y, sample_weight, reset=False)
        GW, GO = np.zeros_like(self.prototypes_), np.zeros_like(self.omega_)
        codes = np.searchsorted(self.classes_, y)
        E = cost_and_gradient(
            X, codes, s, self.prototypes_, self._codes, self.omega_, float(self.beta), GW, GO
        )
        return E, GW, GO

    def predict(self, X):
        """Return the class of the nearest prototype.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        X = np.asarray(new_rows(self, X), dtype=np.float64)
        nearest = self._distances((X - self._centre) / self._unit).argmin(axis=1)
        return self.classes_[self._codes[nearest]]

    def decision_function(self, X):
        """Return (d₋ − d₊)/(d₋ + d₊) of each class, between −1 and 1; of the second of two.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        X = np.asarray(new_rows(self, X), dtype=np.float64)
        D = self._distances((X - self._centre) / self._unit)
        C = len(self.classes_)
        own = np.stack([D[:, self._codes == c].min(axis=1) for c in range(C)], axis=1)
        other = np.stack([np.delete(own, c, axis=1).min(axis=1) for c in range(C)], axis=1)
        scores = (other - own) / np.maximum(other + own, 1e-300)
        return scores[:, 1] if C == 2 else scores


def merged(X, codes, s):
    """Rows, codes and weights with equal rows of a class as one; sorted, so their order is gone."""
    rows, place = np.unique(np.column_stack([X, codes]), axis=0, return_inverse=True)
    weights = np.bincount(place.ravel(), s)
    return np.ascontiguousarray(rows[:, :-1]), rows[:, -1].astype(np.int64), weights


def far_rows(rows, weights, k, rng):
    """k rows drawn one by one, likelier the farther they are from those drawn before."""
    found = [rows[rng.choice(len(rows), p=weights / weights.sum())]]
    d = ((rows - found[0]) ** 2).sum(axis=1)
    while len(found) < k:
        chance = d * weights if d.any() else weights
        i = rng.choice(len(rows), p=chance / chance.sum())
        found.append(rows[i])
        d = np.minimum(d, ((rows - rows[i]) ** 2).sum(axis=1))
    return np.array(found)
