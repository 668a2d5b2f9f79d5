"""Answers: what a hidden Markov model that has its parameters says about sequences"""

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ._paths import best_of_lattice, decode_lattice
from ._sequences import as_sequences, raise_impossible, told_apart


class Answers:
    """Likelihoods, probabilities of states, best paths, samples; for `BaseHMM`."""

    def _rows(self, X, lengths):
        """Validated rows and offsets for a model that is fitted."""
        check_is_fitted(self)
        self._check()
        X, offsets = as_sequences(self, X, lengths)
        return self._encode(X), offsets

    def _possible(self, X, offsets, smooth=True):
        """The lattice of sequences, none of which may be impossible."""
        found = self._expect(X, offsets, None, smooth=smooth)
        if not np.isfinite(found.log_likelihoods).all():
            raise_impossible(found.log_likelihoods)
        return found

    def score_samples(self, X, lengths=None):
        """Log-likelihood, and the probability of each state in each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), list of such, or 3-d array
        lengths : array-like of int, or str, default=None

        Returns
        -------
        log_prob : float
        posteriors : ndarray of shape (n_samples, n_components)
        """
        X, offsets = self._rows(X, lengths)
        found = self._possible(X, offsets)
        total = found.log_likelihoods.sum() + self._base_measure(X, offsets, 1.0)
        return float(total), found.gamma

    def score(self, X, y=None, lengths=None):
        """Log-likelihood of all sequences; −inf if one of them is impossible.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), list of such, or 3-d array
        y : ignored
            As in hmmlearn, `lengths` may stand here.
        lengths : array-like of int, or str, default=None

        Returns
        -------
        log_prob : float
        """
        X, offsets = self._rows(X, told_apart(X, y, lengths)[1])
        found = self._expect(X, offsets, None, smooth=False)
        return float(found.log_likelihoods.sum() + self._base_measure(X, offsets, 1.0))

    def score_sequences(self, X, lengths=None):
        """Log-likelihood of each sequence.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), list of such, or 3-d array
        lengths : array-like of int, or str, default=None

        Returns
        -------
        log_prob : ndarray of shape (n_sequences,)
        """
        X, offsets = self._rows(X, lengths)
        found = self._expect(X, offsets, None, smooth=False).log_likelihoods
        return found + self._base_measure(X, offsets, None)

    def score_next(self, X, lengths=None):
        """Log-density of each row given the rows before it: log p(x_t | x_1 … x_{t−1}).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), list of such, or 3-d array
        lengths : array-like of int, or str, default=None

        Returns
        -------
        log_prob : ndarray of shape (n_samples,)
            Adds up to `score`.
        """
        X, offsets = self._rows(X, lengths)
        found = self._expect(X, offsets, None, smooth=False)
        b = self.log_density(X)
        with np.errstate(divide="ignore"):
            terms = np.log(found.predicted) + b
        largest = terms.max(axis=1)
        with np.errstate(invalid="ignore"):
            total = largest + np.log(np.exp(terms - largest[:, None]).sum(axis=1))
        return np.where(largest > -np.inf, total, -np.inf) + self._row_measure(X)

    def filter_proba(self, X, lengths=None):
        """Probability of each state given the rows up to and including its own.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), list of such, or 3-d array
        lengths : array-like of int, or str, default=None

        Returns
        -------
        filtered : ndarray of shape (n_samples, n_components)
        """
        return self._possible(*self._rows(X, lengths), smooth=False).gamma

    def forecast_proba(self, X, lengths=None, steps=1):
        """Probability of each state `steps` after the end of each sequence.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), list of such, or 3-d array
        lengths : array-like of int, or str, default=None
        steps : int, default=1

        Returns
        -------
        forecast : ndarray of shape (n_sequences, n_components)
        """
        X, offsets = self._rows(X, lengths)
        found = self._possible(X, offsets, smooth=False)
        return found.gamma[offsets[1:] - 1] @ np.linalg.matrix_power(self.transmat_, steps)

    def predict_proba(self, X, lengths=None):
        """Probability of each state in each row, given its whole sequence.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), list of such, or 3-d array
        lengths : array-like of int, or str, default=None

        Returns
        -------
        posteriors : ndarray of shape (n_samples, n_components)
        """
        return self.score_samples(X, lengths)[1]

    def decode(self, X, lengths=None, algorithm=None):
        """States of each row, and the logarithm of their probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), list of such, or 3-d array
        lengths : array-like of int, or str, default=None
        algorithm : {"viterbi", "map"}, default=None
            The most probable path, or in each row the most probable state; by default the
            parameter of this name. As in hmmlearn, "map" returns the sum of these probabilities.

        Returns
        -------
        log_prob : float
        state_sequence : ndarray of shape (n_samples,)
        """
        algorithm = algorithm or self.algorithm
        if algorithm not in ("viterbi", "map"):
            raise ValueError(f"algorithm must be 'viterbi' or 'map', got {algorithm!r}.")
        if algorithm == "map":
            posteriors = self.score_samples(X, lengths)[1]
            return float(posteriors.max(axis=1).sum()), posteriors.argmax(axis=1)
        X, offsets = self._rows(X, lengths)
        b = self.log_density(X)
        totals, states = decode_lattice(self.startprob_, self.transmat_, b, offsets)
        if not np.isfinite(totals).all():
            raise_impossible(totals)
        return float(totals.sum() + self._base_measure(X, offsets, 1.0)), states

    def explain(self, X, lengths=None):
        """Why each row has its state: the terms that the most probable path's score is made of.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), list of such, or 3-d array
        lengths : array-like of int, or str, default=None

        Returns
        -------
        terms : dict of ndarray of shape (n_samples,)
            `state` of Viterbi's path; `transition`, the log-probability of coming from the state
            before (or of beginning here); `emission`, the log-density of the row in this state;
            `probability` of the state given all rows; `other`, the most probable other state, and
            `evidence`, how much larger the log-density is than in that one. Transitions and
            emissions add up to the first result of `decode`.
        """
        X, offsets = self._rows(X, lengths)
        b, gamma = self.log_density(X), self._possible(X, offsets).gamma
        _, states = decode_lattice(self.startprob_, self.transmat_, b.copy(), offsets)
        rows, before = np.arange(len(states)), np.roll(states, 1)
        with np.errstate(divide="ignore"):
            moves = np.log(self.transmat_)[before, states]
            moves[offsets[:-1]] = np.log(self.startprob_)[states[offsets[:-1]]]
        rest = gamma.copy()
        rest[rows, states] = -1.0
        other, emission = rest.argmax(axis=1), b[rows, states]
        return {
            "state": states,
            "transition": moves,
            "emission": emission + self._row_measure(X),
            "probability": gamma[rows, states],
            "other": other,
            "evidence": emission - b[rows, other],
        }

    def decode_best(self, X, n_paths=5):
        """The most probable paths of one sequence, best first.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        n_paths : int, default=5

        Returns
        -------
        log_prob : ndarray of shape (n_paths,)
            Fewer, if there are fewer paths that are possible.
        paths : ndarray of shape (n_paths, n_samples)
        """
        X, offsets = self._rows(X, None)
        found = best_of_lattice(self.startprob_, self.transmat_, self.log_density(X), n_paths)
        return found[0] + self._base_measure(X, offsets, 1.0), found[1]

    def predict(self, X, lengths=None):
        """States of each row, by the parameter `algorithm`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), list of such, or 3-d array
        lengths : array-like of int, or str, default=None

        Returns
        -------
        states : ndarray of shape (n_samples,)
        """
        return self.decode(X, lengths)[1]

    def sample(self, n_samples=1, random_state=None, currstate=None):
        """Draw a sequence from the model.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState or None, default=None
            None: the parameter of this name.
        currstate : int, default=None
            The state to begin in.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        states : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        self._check()
        rng = check_random_state(self.random_state if random_state is None else random_state)
        steps = np.cumsum(self.transmat_, axis=1)
        if currstate is None:
            currstate = (np.cumsum(self.startprob_) > rng.rand()).argmax()
        states, X = [currstate], [self._draw(currstate, rng)]
        for _ in range(n_samples - 1):
            states.append((steps[states[-1]] > rng.rand()).argmax())
            X.append(self._draw(states[-1], rng))
        return np.atleast_2d(X), np.array(states, dtype=np.int64)

    def get_stationary_distribution(self):
        """The share of time that a long chain spends in each state.

        Returns
        -------
        stationary : ndarray of shape (n_components,)
        """
        A = np.asarray(self.transmat_, dtype=np.float64)
        K = len(A)
        system = np.vstack([A.T - np.eye(K), np.ones(K)])
        found = np.maximum(np.linalg.lstsq(system, np.eye(K + 1)[K], rcond=None)[0], 0.0)
        return found / found.sum()

    def aic(self, X, lengths=None):
        """Akaike's criterion: −2 log-likelihood + 2 free parameters. Smaller is better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), list of such, or 3-d array
        lengths : array-like of int, or str, default=None

        Returns
        -------
        aic : float
        """
        return -2 * self.score(X, None, lengths) + 2 * sum(self._sizes().values())

    def bic(self, X, lengths=None):
        """Schwarz's criterion: −2 log-likelihood + free parameters · log n. Smaller is better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), list of such, or 3-d array
        lengths : array-like of int, or str, default=None

        Returns
        -------
        bic : float
        """
        rows = self._rows(X, lengths)[0]
        return -2 * self.score(X, None, lengths) + sum(self._sizes().values()) * np.log(len(rows))
