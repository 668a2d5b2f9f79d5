r"""What all hidden Markov models share: sequences in, expectation–maximisation, answers out

    maximise over π, A, θ:   J = Σ_s w_s log P(x_s | π, A, θ) + log prior                     (1)

by steps that never decrease J: expect the hidden states γ and transitions ξ under the present
parameters (`_lattice.py`), then choose the parameters that fit them best. A state that is given
(y) makes all others impossible in its row; a missing value adds nothing to log p(x_t | state).
"""

import warnings
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from mlreplica.core.compat import Interval, StrOptions, _fit_context
from mlreplica.core.compile.threads import one_blas_thread, run
from mlreplica.core.iterate import CallbackSupport, iterate

from ._answers import Answers
from ._lattice import walk_lattice
from ._monitor import ConvergenceMonitor, log
from ._sequences import (
    as_sequences,
    known_states,
    raise_impossible,
    sequence_weights,
    told_apart,
    without_weightless,
)
from ._shares import allowed, check_distribution, clamp, log_dirichlet, shares


class HMMState(NamedTuple):
    """What a `Trace` records once per step of EM; `gain` is that of the objective (1)."""

    log_likelihood: float
    objective: float
    gain: float
    startprob: np.ndarray
    transmat: np.ndarray


class BaseHMM(Answers, CallbackSupport, BaseEstimator):
    """A hidden Markov model without emissions; subclasses say what a state shows.

    A subclass has `_names` (letters of `params` and the attributes they stand for), `_start`,
    `_check_emissions`, `log_density`, `_statistics`, `_maximise`, `_draw` and `_emission_sizes`;
    also `_emission_prior` if the emissions have one.
    """

    _names = {}

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "startprob_prior": [Interval(Real, 0, None, closed="left"), "array-like"],
        "transmat_prior": [Interval(Real, 0, None, closed="left"), "array-like"],
        "algorithm": [StrOptions({"viterbi", "map"})],
        "random_state": ["random_state"],
        "n_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Real],
        "verbose": ["verbose"],
        "params": [str],
        "init_params": [str],
        "implementation": [StrOptions({"scaling", "log"})],
        "topology": [StrOptions({"ergodic", "left-right"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
    }

    # ------------------------------------------------------------------------------------ fit

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, lengths=None, sample_weight=None):
        """Estimate the parameters by expectation–maximisation.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), list of such, or 3-d array
            Rows of one sequence, or of several one below the other; NaN is a missing value.
        y : array-like of shape (n_samples,), default=None
            Known states 0, 1, …; −1 where the state is not known. As in hmmlearn, `lengths` may
            stand here.
        lengths : array-like of int, or str, default=None
            Rows of each sequence; or the column of the frame X that names the sequence.
        sample_weight : array-like of shape (n_sequences,), default=None
            How often each sequence counts.

        Returns
        -------
        self : object
        """
        y, lengths = told_apart(X, y, lengths)
        X, offsets = as_sequences(self, X, lengths, reset=True)
        weights = sequence_weights(sample_weight, offsets)
        if sample_weight is not None and not weights.all():  # a weight of 0 is no sequence
            X, y, offsets, weights = without_weightless(X, y, offsets, weights)
        states = None if y is None else known_states(y, len(X), self.n_components)
        X = self._encode(X)
        for name in ("_online", "n_batches_"):  # what `partial_fit` averaged before
            vars(self).pop(name, None)
        rng = check_random_state(self.random_state)
        if self.n_init == 1:
            self._fit_once(X, offsets, weights, states, rng)
            return self
        seeds = [np.random.RandomState(rng.randint(2**31 - 1)) for _ in range(self.n_init)]

        def attempt(seed):
            model = object.__new__(type(self))
            vars(model).update({k: v for k, v in vars(self).items() if k != "_skl_callbacks"})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model._fit_once(X, offsets, weights, states, seed)
            found = model._expect(X, offsets, weights, states)
            return float(weights @ found.log_likelihoods), model

        found = run(attempt, seeds)
        best = max(range(self.n_init), key=lambda k: found[k][0])
        vars(self).update({k: v for k, v in vars(found[best][1]).items() if k != "_skl_callbacks"})
        self.start_log_likelihoods_ = np.array([total for total, _ in found])
        return self

    def _fit_once(self, X, offsets, weights, states, rng):
        """One start, and steps of EM until the gain is small."""
        self._begin(X, rng, labelled=states is not None)
        monitor = vars(self).get("_monitor")
        own = monitor is None
        if own:
            monitor = ConvergenceMonitor(self.tol, self.n_iter, self.verbose)
        monitor._reset()
        self.history_, self.converged_, self.n_iter_ = np.array([]), False, 0
        if self.n_iter == 0:
            return
        steps = self._steps(X, offsets, weights, states, monitor)
        with warnings.catch_warnings(), one_blas_thread():
            if self.n_iter == 1 or not own:
                warnings.simplefilter("ignore")
            state = iterate(
                self,
                steps,
                max_iter=self.n_iter,
                tol=self.tol if own else None,
                watch="gain",
                unit="steps of EM",
                advice="raise n_iter or tol",
                publish=lambda _: {},
                verbose=0,  # `ConvergenceMonitor` speaks
            )
        self.history_ = np.array(monitor.history)
        self.converged_ = bool(state.gain <= self.tol) if own else bool(monitor.converged)

    def _steps(self, X, offsets, weights, states, monitor):
        """Yield a state after each step of EM; ends if all states are given or the monitor says."""
        before = -np.inf
        work = tuple(np.empty((len(X), self.n_components)) for _ in range(2))
        constant = self._base_measure(X, offsets, weights)
        while True:
            found = self._expect(X, offsets, weights, states, work)
            total = float(weights @ found.log_likelihoods) + constant
            if not np.isfinite(total):
                raise_impossible(found.log_likelihoods)
            objective = total + self._log_prior()
            gamma = found.gamma
            if (weights != 1.0).any():
                gamma = gamma * np.repeat(weights, np.diff(offsets))[:, None]
            self._maximise_chain(found.start, found.transitions)
            self._maximise(self._statistics(X, gamma))
            monitor.report(objective)
            settled = states is not None and (states >= 0).all()
            gain = 0.0 if settled else objective - before
            yield HMMState(total, objective, gain, self.startprob_, self.transmat_)
            before = objective
            if settled or (type(monitor) is not ConvergenceMonitor and monitor.converged):
                return

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, lengths=None, *, decay=0.6):
        """Learn from a batch of sequences by a step of online EM.

        The expected counts are an average over the batches seen, in which batch k weighs
        (k + 1)^−decay, so that what the first, poor parameters expected is forgotten.

        Parameters
        ----------
        X, y, lengths
            As for `fit`: whole sequences.
        decay : float, default=0.6
            Between 0.5 and 1: how fast old batches lose weight.

        Returns
        -------
        self : object

        References
        ----------
        Cappé: Online EM algorithm for hidden Markov models. J. Comput. Graph. Stat. 20 (2011).
        """
        y, lengths = told_apart(X, y, lengths)
        first = not hasattr(self, "_online")
        X, offsets = as_sequences(self, X, lengths, reset=first)
        X = self._encode(X)
        states = None if y is None else known_states(y, len(X), self.n_components)
        if first:
            self._begin(X, check_random_state(self.random_state))
            self._online, self._rows_seen, self.n_batches_ = {}, 0, 0
        found = self._expect(X, offsets, np.ones(len(offsets) - 1), states)
        if not np.isfinite(found.log_likelihoods).all():
            raise_impossible(found.log_likelihoods)
        rho = (self.n_batches_ + 1) ** -decay
        about = {k.removeprefix("at_"): v for k, v in self._online.items() if k.startswith("at_")}
        new = self._statistics(X, found.gamma, **about)  # about the first batch's centres
        new |= {"start": found.start, "transitions": found.transitions}
        fixed = {name: new[name] for name in new if name.startswith("at_")}
        added = {name: value / len(X) for name, value in new.items() if name not in fixed}
        old = self._online or dict.fromkeys(added, 0.0)
        self._online = {k: (1 - rho) * old[k] + rho * value for k, value in added.items()} | fixed
        self.n_batches_ += 1
        self._rows_seen += len(X)
        stats = {k: v if k in fixed else v * self._rows_seen for k, v in self._online.items()}
        self._maximise_chain(stats.pop("start"), stats.pop("transitions"))
        self._maximise(stats)
        return self

    def _begin(self, X, rng, labelled=False):
        """Parameters to start from, where `init_params` asks for them or there are none."""
        self._shape_of(X)
        K = self.n_components
        mask = allowed(self.topology, K)
        if self._needs_start("s", "startprob_"):
            self.startprob_ = rng.dirichlet(np.ones(K))
            if isinstance(self.topology, str) and self.topology == "left-right":
                self.startprob_ = np.eye(K)[0]
        if self._needs_start("t", "transmat_"):
            A = np.where(mask, rng.dirichlet(np.ones(K), size=K), 0.0)
            self.transmat_ = A / A.sum(axis=1, keepdims=True)
        self._start(X, rng)
        self._check()
        free = sum(size for letter, size in self._sizes().items() if letter in self.params)
        if X.size < free and not labelled:
            log.warning(
                "Fitting a model with %d free parameters to %d numbers will result in a "
                "degenerate solution.",
                free,
                X.size,
            )

    def _init(self, X, lengths=None):
        """Set the parameters that a fit of X would start from."""
        X, _ = as_sequences(self, X, None, reset=True)
        self._begin(self._encode(X), check_random_state(self.random_state))

    def _needs_start(self, letter, name):
        """Whether to make an attribute before EM; says so if that discards one."""
        present = name in vars(self) or f"_{name}" in vars(self)
        if letter in self.init_params:
            if present and not {"history_", "n_batches_"} & vars(self).keys():  # not of a fit
                log.warning("%r will be overwritten, as init_params contains %r.", name, letter)
            return True
        return not present

    def _seed(self, rng):
        """What k-means begins from: as in hmmlearn the parameter itself, if it is a number.

        Then all its runs begin alike, and the order of the sequences matters less.
        """
        fixed = isinstance(self.random_state, Integral) and self.n_init == 1
        return self.random_state if fixed else rng

    def _maximise_chain(self, start, transitions):
        """π and A from expected counts; zeros stay zero, and a state never left keeps its row."""
        if "s" in self.params:
            self.startprob_ = shares(self.startprob_, start, self.startprob_prior)
        if "t" in self.params:
            self.transmat_ = shares(self.transmat_, transitions, self.transmat_prior)

    def _log_prior(self):
        """The logarithm of the priors of what is learned, but for constants."""
        total = self._emission_prior()
        if "s" in self.params:
            total += log_dirichlet(self.startprob_, self.startprob_prior)
        if "t" in self.params:
            total += log_dirichlet(self.transmat_, self.transmat_prior)
        return total

    def _emission_prior(self):
        """The part of the emissions."""
        return 0.0

    def _expect(self, X, offsets, weights, states=None, work=None, smooth=True):
        """The lattice under the present parameters; `states` are known ones or −1."""
        log_b = self.log_density(X)
        if states is not None:
            clamp(log_b, states)
        log = self.implementation == "log"
        start, A = self.startprob_, self.transmat_
        options = {"smooth": smooth, "log": log, "weights": weights, "work": work}
        return walk_lattice(start, A, log_b, offsets, **options)

    # ---------------------------------------------------------------------------------- checks

    def _check(self):
        """Raise ValueError if the parameters do not fit together."""
        K = self.n_components
        self.startprob_ = np.asarray(self.startprob_, dtype=np.float64)
        self.transmat_ = np.asarray(self.transmat_, dtype=np.float64)
        if self.startprob_.shape != (K,):
            raise ValueError("startprob_ must have length n_components")
        if self.transmat_.shape != (K, K):
            raise ValueError("transmat_ must have shape (n_components, n_components)")
        for name in ("startprob_", "transmat_"):
            check_distribution(name, getattr(self, name))
        self._check_emissions()

    @property
    def n_features(self):
        """Columns of X that a state shows."""
        return vars(self).get("_n_features")

    @n_features.setter
    def n_features(self, n):
        self._n_features = n

    @property
    def monitor_(self):
        """The objective of the fit, step by step; one of your own may be set before."""
        own = vars(self).get("_monitor")
        if own is not None:
            return own
        found = ConvergenceMonitor(self.tol, self.n_iter, self.verbose)
        found.history.extend(getattr(self, "history_", ()))
        found.iter = len(found.history)
        return found

    @monitor_.setter
    def monitor_(self, monitor):
        self._monitor = monitor

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.non_deterministic = True  # a row's answer depends on the rows around it
        return tags

    def __sklearn_is_fitted__(self):
        return "startprob_" in vars(self)

    def _encode(self, X):
        """Rows as the emissions take them."""
        return X

    def _shape_of(self, X):
        """Note how many columns there are."""
        self._n_features = X.shape[1]

    def _row_measure(self, X):
        """A term of log p(x_t | state) that is the same for all states and parameters."""
        return np.zeros(len(X))

    def _base_measure(self, X, offsets, weights):
        """Its sum: of each sequence (weights None), or of all, weighted."""
        rows = self._row_measure(X)
        if not rows.any():
            return 0.0
        sums = np.add.reduceat(rows, offsets[:-1])
        return sums if weights is None else float(np.sum(weights * sums))

    def _sizes(self):
        """Free parameters by the letters of `params`."""
        return self._chain_sizes() | self._emission_sizes()

    def _chain_sizes(self):
        """Free parameters of π and A."""
        start, A = np.count_nonzero(self.startprob_), np.count_nonzero(self.transmat_, axis=1)
        return {"s": int(start) - 1, "t": int((A - 1).sum())}
