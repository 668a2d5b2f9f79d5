r"""Linear-chain conditional random field: labels of a whole sequence at once

    minimise over w:   F(w) = −Σ_s log p(y_s | x_s) + c₁ ‖w‖₁ + c₂ ‖w‖²                       (1)

where p comes from scores of attributes and of transitions (`_crf_chain.py`). F is convex. The
default algorithm is L-BFGS, or OWL-QN if c₁ > 0 (`_minimise.py`); the rest learn one sequence at a
time (`_crf_online.py`).

References
----------
Lafferty, McCallum, Pereira: Conditional random fields. ICML 2001.
Okazaki: CRFsuite, a fast implementation of conditional random fields. 2007.
"""

from numbers import Integral, Real
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, StrOptions, _fit_context
from mlreplica.core.compile.threads import one_blas_thread
from mlreplica.core.iterate import CallbackSupport, iterate

from ._crf_answers import CRFAnswers
from ._crf_chain import ChainLikelihood, find_features
from ._crf_data import Vocabulary, encoded_labels, stacked
from ._crf_online import AROW, PASSIVE, PERCEPTRON, online, stochastic
from ._minimise import pseudo_gradient, quasi_newton, until_settled
from ._sequences import sequence_weights

DEFAULTS = {
    "algorithm": "lbfgs", "min_freq": 0.0, "all_possible_states": False,
    "all_possible_transitions": False, "c1": 0.0, "c2": 1.0, "num_memories": 6,
    "period": 10, "linesearch": "MoreThuente", "max_linesearch": 20,
    "calibration_eta": 0.1, "calibration_rate": 2.0, "calibration_samples": 1000,
    "calibration_candidates": 10, "calibration_max_trials": 20, "pa_type": 1, "c": 1.0,
    "error_sensitive": True, "averaging": True, "variance": 1.0, "gamma": 1.0,
}  # fmt: skip
EPSILON = {"lbfgs": 1e-5, "l2sgd": 0.0, "ap": 0.0, "pa": 0.0, "arow": 0.0}
DELTA = {"lbfgs": 1e-5, "l2sgd": 1e-6}
MOST = {"lbfgs": 100_000, "l2sgd": 1000, "ap": 100, "pa": 100, "arow": 100}


class CRF(CRFAnswers, CallbackSupport, BaseEstimator):
    """Linear-chain conditional random field, with the interface of sklearn-crfsuite: (1).

    Every parameter may be None, which means the default named here.

    Parameters
    ----------
    algorithm : {"lbfgs", "l2sgd", "ap", "pa", "arow"}, default="lbfgs"
        L-BFGS (OWL-QN if c1 > 0), stochastic gradient descent, averaged perceptron,
        passive–aggressive, adaptive regularisation of weights.
    min_freq : float, default=0
        Features that occur less often have no weight.
    all_possible_states, all_possible_transitions : bool, default=False
        Give a weight to pairs of attribute and label, or of labels, that never occur.
    c1, c2 : float, default=0.0, 1.0
        Of (1); "lbfgs" and, of c2, "l2sgd".
    max_iterations : int, default=None
        The most steps or passes: no limit for "lbfgs", 1000 for "l2sgd", 100 for the others.
    num_memories : int, default=6
        Steps that L-BFGS remembers.
    epsilon : float, default=None
        Stop when the slope is this small beside the weights ("lbfgs": 1e-5), or when a pass costs
        less per sequence ("ap", "pa", "arow": 0, never).
    period, delta : int, float, default=10, None
        Stop when `period` steps have gained less than this share of the objective ("lbfgs": 1e-5,
        "l2sgd": 1e-6).
    linesearch : {"MoreThuente", "Backtracking", "StrongBacktracking"}, default="MoreThuente"
        Accepted and of no consequence: steps are halved until they gain enough.
    max_linesearch : int, default=20
        The most tries per step.
    calibration_eta, calibration_rate, calibration_samples, calibration_candidates, \
calibration_max_trials
        How "l2sgd" finds its first step: 0.1 and multiples by 2.0, on 1000 sequences, until 10 of
        at most 20 have helped.
    pa_type, c, error_sensitive, averaging : int, float, bool, bool, default=1, 1.0, True, True
        "pa": the type, the most a step may move, whether mistakes count by the root of their
        number, and whether to return the mean of the weights.
    variance, gamma : float, default=1.0, 1.0
        "arow": first variance of the weights, and how much mistakes count.
    verbose : bool, default=False
        Whether to write a line per step on standard output.
    model_filename : str, default=None
        Where `fit` saves the model, and an unfitted model loads it from.
    keep_tempfiles, trainer_cls
        Accepted and of no consequence: there are no temporary files.

    Attributes
    ----------
    classes_ : list
        Labels.
    attributes_ : list of str
        Attributes with a weight that is not zero.
    state_features_, transition_features_ : dict
        Weights by (attribute, label) and by (label, label).
    objective_ : float
        F at the weights found.
    certificate_ : float
        F is at most this far above its minimum, where c2 > 0 ("lbfgs", "l2sgd").
    kkt_residual_ : float
        The largest slope that is left.
    n_iter_ : int
        Steps or passes.

    Examples
    --------
    >>> X = [[{"word": w, "first": t == 0} for t, w in enumerate(s.split())]
    ...      for s in ("the dog barks", "a cat sleeps", "the cat barks")]
    >>> crf = CRF(c2=0.1).fit(X, [["D", "N", "V"]] * 3)
    >>> crf.predict_single([{"word": "a"}, {"word": "dog"}, {"word": "sleeps"}])
    ['D', 'N', 'V']
    """

    card = Card(
        page="conditional-random-field",
        checks="random_field",
        task="labelling",
        input="sequences",
        data=lambda: ([[{"a": 1.0, "b": w} for w in "xyx"]] * 4, [["u", "v", "u"]] * 4),
        use="labels of words, places or steps that depend on each other: tagging, chunking, names",
        good="any features, however they overlap; convex, with a certificate; exact probabilities",
        bad="needs labels; slower than classifying each place alone",
        time="O(features of all items + n L²) per step, L labels",
        memory="O(n L + features)",
        rescaling="needed for attributes that are numbers: the penalty depends on their units",
        missing="refused: leave the attribute out",
        instead="CategoricalHMM without labels; LogisticRegression if places are independent",
    )
    _parameter_constraints = {
        "algorithm": [StrOptions(set(MOST)), None],
        "min_freq": [Interval(Real, 0, None, closed="left"), None],
        "all_possible_states": ["boolean", None],
        "all_possible_transitions": ["boolean", None],
        "c1": [Interval(Real, 0, None, closed="left"), None],
        "c2": [Interval(Real, 0, None, closed="left"), None],
        "max_iterations": [Interval(Integral, 1, None, closed="left"), None],
        "num_memories": [Interval(Integral, 1, None, closed="left"), None],
        "epsilon": [Interval(Real, 0, None, closed="left"), None],
        "period": [Interval(Integral, 1, None, closed="left"), None],
        "delta": [Interval(Real, 0, None, closed="left"), None],
        "linesearch": [StrOptions({"MoreThuente", "Backtracking", "StrongBacktracking"}), None],
        "max_linesearch": [Interval(Integral, 1, None, closed="left"), None],
        "calibration_eta": [Interval(Real, 0, None, closed="neither"), None],
        "calibration_rate": [Interval(Real, 1, None, closed="neither"), None],
        "calibration_samples": [Interval(Integral, 1, None, closed="left"), None],
        "calibration_candidates": [Interval(Integral, 1, None, closed="left"), None],
        "calibration_max_trials": [Interval(Integral, 1, None, closed="left"), None],
        "pa_type": [Interval(Integral, 0, 2, closed="both"), None],
        "c": [Interval(Real, 0, None, closed="neither"), None],
        "error_sensitive": ["boolean", None],
        "averaging": ["boolean", None],
        "variance": [Interval(Real, 0, None, closed="neither"), None],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "verbose": ["verbose"],
        "model_filename": [str, Path, None],
        "keep_tempfiles": ["boolean", None],
        "trainer_cls": "no_validation",
    }

    def __init__(
        self,
        algorithm=None,
        min_freq=None,
        all_possible_states=None,
        all_possible_transitions=None,
        c1=None,
        c2=None,
        max_iterations=None,
        num_memories=None,
        epsilon=None,
        period=None,
        delta=None,
        linesearch=None,
        max_linesearch=None,
        calibration_eta=None,
        calibration_rate=None,
        calibration_samples=None,
        calibration_candidates=None,
        calibration_max_trials=None,
        pa_type=None,
        c=None,
        error_sensitive=None,
        averaging=None,
        variance=None,
        gamma=None,
        verbose: int = False,
        model_filename=None,
        keep_tempfiles: bool | None = False,
        trainer_cls=None,
    ):
        self.algorithm = algorithm
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.c1 = c1
        self.c2 = c2
        self.max_iterations = max_iterations
        self.num_memories = num_memories
        self.epsilon = epsilon
        self.period = period
        self.delta = delta
        self.linesearch = linesearch
        self.max_linesearch = max_linesearch
        self.calibration_eta = calibration_eta
        self.calibration_rate = calibration_rate
        self.calibration_samples = calibration_samples
        self.calibration_candidates = calibration_candidates
        self.calibration_max_trials = calibration_max_trials
        self.pa_type = pa_type
        self.c = c
        self.error_sensitive = error_sensitive
        self.averaging = averaging
        self.variance = variance
        self.gamma = gamma
        self.verbose = verbose
        self.model_filename = model_filename
        self.keep_tempfiles = keep_tempfiles
        self.trainer_cls = trainer_cls

    def _value(self, name):
        """A parameter, or its default."""
        given = getattr(self, name)
        if given is not None:
            return given
        if name in ("epsilon", "delta"):
            return {"epsilon": EPSILON, "delta": DELTA}[name][self._value("algorithm")]
        return DEFAULTS[name]

    # ------------------------------------------------------------------------------------ fit

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, X_dev=None, y_dev=None, sample_weight=None):
        """Learn from labelled sequences.

        Parameters
        ----------
        X : list of lists of dicts, or of arrays or sparse matrices of shape (length, n_attributes)
            Attributes of every item of every sequence.
        y : list of lists of str
            Labels.
        X_dev, y_dev : default=None
            Sequences to be scored after the fit: `dev_score_`.
        sample_weight : array-like of shape (n_sequences,), default=None
            How often each sequence counts.

        Returns
        -------
        self : CRF
        """
        if (X_dev is None) != (y_dev is None):
            raise ValueError("Pass both X_dev and y_dev to use the holdout data")
        items, names = self._learn_items(X)
        classes, labels = encoded_labels(y, items.offsets)
        weights = sequence_weights(sample_weight, items.offsets)
        features, observed = find_features(
            items, labels, weights, len(classes), self._value("min_freq"),
            self._value("all_possible_states"), self._value("all_possible_transitions"),
        )  # fmt: skip
        likelihood = ChainLikelihood(items, features, observed, weights)
        algorithm = self._value("algorithm")
        states = self._solver(algorithm, items, features, labels, weights, likelihood)

        def publish(state):
            return self._fitted(names, classes, features, state)

        with one_blas_thread():  # short products between our own threads
            state = iterate(
                self,
                states,
                max_iter=self.max_iterations or MOST[algorithm],
                unit="steps" if algorithm == "lbfgs" else "passes",
                advice=None,
                publish=publish,
            )
            vars(self).update(publish(state))
            self._certify(likelihood)
        if X_dev is not None:
            self.dev_score_ = self.score(X_dev, y_dev)
        if self.model_filename is not None:
            self._store()
        return self

    def _learn_items(self, X):
        """Items and the names of their attributes."""
        X = list(X)
        items = stacked(X)
        if items is not None:
            return items, [str(j) for j in range(items.matrix.shape[1])]
        vocabulary = Vocabulary(grow=True)
        items = vocabulary.encode(X)
        return items, list(vocabulary.numbers)

    def _solver(self, algorithm, items, features, labels, weights, likelihood):
        """A generator of states."""
        value = self._value
        if algorithm == "lbfgs":
            options = value("c1"), value("c2"), value("num_memories"), value("max_linesearch")
            steps = quasi_newton(likelihood, np.zeros(features.size), *options)
            return until_settled(steps, value("epsilon"), value("delta"), value("period"))
        data = items, features, labels, weights
        if algorithm == "l2sgd":
            names = ("eta", "rate", "samples", "candidates", "max_trials")
            options = {name: value(f"calibration_{name}") for name in names}
            steps = stochastic(*data, value("c2"), options, 0)
            return until_settled(steps, 0.0, value("delta"), value("period"))
        code = {"ap": PERCEPTRON, "pa": PASSIVE, "arow": AROW}[algorithm]
        strength = value("gamma") if code == AROW else value("c")
        options = np.array([strength, value("pa_type"), value("error_sensitive")], dtype=float)
        averaged = code == PERCEPTRON or (code == PASSIVE and value("averaging"))
        steps = online(*data, code, options, value("variance"), averaged, 0)
        return until_small(steps, value("epsilon"))

    def _fitted(self, names, classes, features, state):
        """Attributes of the fitted model; weights that are zero are left out."""
        w, L = state.coef, len(classes)
        kept = np.flatnonzero(w[: len(features.labels)])
        attribute = np.repeat(np.arange(len(names)), np.diff(features.starts))[kept]
        used = np.unique(attribute)
        counts = np.bincount(np.searchsorted(used, attribute), minlength=len(used))
        moves = w[len(features.labels) :]
        return {
            "attributes_in_": [names[a] for a in used.tolist()],
            "labels_": list(classes),
            "starts_": np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            "feature_labels_": features.labels[kept],
            "pairs_": features.pairs[moves != 0].reshape(-1, 2),
            "coef_": np.concatenate([w[kept], moves[moves != 0]]),
            "n_labels_": L,
            "objective_": state.objective,
            "_last": (features, w),
        }

    def _certify(self, likelihood):
        """Objective, certificate and what is left of the slope, at the weights found."""
        _, w = vars(self).pop("_last")
        c1, c2 = self._value("c1"), self._value("c2")
        if self._value("algorithm") == "l2sgd":
            c1 = 0.0
        elif self._value("algorithm") != "lbfgs":
            c1 = c2 = 0.0
        value, g = likelihood(w)
        slope = pseudo_gradient(w, g + 2 * c2 * w, c1)
        self.objective_ = float(value + c2 * (w @ w) + c1 * np.abs(w).sum())
        self.kkt_residual_ = float(np.abs(slope).max(initial=0.0))
        if self._value("algorithm") in ("lbfgs", "l2sgd") and c2 > 0:
            self.certificate_ = float(slope @ slope) / (4 * c2)
        elif hasattr(self, "certificate_"):
            del self.certificate_

    def __getstate__(self):
        state = super().__getstate__().copy()
        state.pop("_made", None)  # made again from what was learned
        return state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.dict = True
        tags.target_tags.required = True
        return tags

    def __sklearn_is_fitted__(self):
        return "coef_" in vars(self)


def until_small(states, epsilon):
    """States until a pass costs less than epsilon per sequence."""
    for state in states:
        yield state
        if state.objective < epsilon:
            return
