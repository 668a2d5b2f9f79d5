r"""Hidden Markov model with symbols as emissions

A state k shows the symbol v with probability b_k(v). Given γ, the step of EM counts:

    b_k(v) ← (a − 1 + Σ_{t: x_t = v} γ_tk) / normaliser,     a = `emissionprob_prior`         (1)
"""

from numbers import Integral, Real
from typing import Any

import numpy as np

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval
from mlreplica.core.compile.jit import kernel

from ._base import BaseHMM
from ._shares import check_distribution, log_dirichlet, shares

MISSING = -1


@kernel(borrow=True)
def count_symbols(x, gamma, counts):
    """counts[x_t] += γ_t; a missing symbol (−1) counts nowhere."""
    for t in range(len(x)):
        if x[t] >= 0:
            for k in range(gamma.shape[1]):
                counts[x[t], k] += gamma[t, k]
    return 0


class SymbolsHMM(BaseHMM):
    """What models of symbols share: b, a row of probabilities for each state."""

    _names = {"e": "emissionprob_"}

    @property
    def n_features(self):
        """Number of symbols: as given, or as found in `fit`."""
        given = vars(self).get("_n_features")
        if given is None and "emissionprob_" in vars(self):
            return int(np.shape(self.emissionprob_)[1])
        return given

    @n_features.setter
    def n_features(self, n):
        self._n_features = n

    def _start(self, X, rng):
        """Random shares."""
        if self._needs_start("e", "emissionprob_"):
            b = rng.uniform(size=(self.n_components, self._n_symbols))
            self.emissionprob_ = b / b.sum(axis=1, keepdims=True)

    def _check_emissions(self):
        b = self.emissionprob_ = np.atleast_2d(np.asarray(self.emissionprob_, dtype=np.float64))
        given = vars(self).get("_n_features")
        if len(b) != self.n_components or not b.size or given not in (None, b.shape[1]):
            columns = "n_features" if given is None else given
            raise ValueError(f"emissionprob_ must have shape ({self.n_components}, {columns})")
        check_distribution("emissionprob_", b)

    def _maximise(self, stats):
        """(1); a state without rows keeps what it has."""
        if "e" in self.params:
            prior = getattr(self, "emissionprob_prior", 1.0)
            self.emissionprob_ = shares(self.emissionprob_, stats["counts"], prior, False)

    def _emission_prior(self):
        prior = getattr(self, "emissionprob_prior", 1.0)
        return log_dirichlet(self.emissionprob_, prior) if "e" in self.params else 0.0

    def _emission_sizes(self):
        K, M = self.emissionprob_.shape
        return {"e": K * (M - 1)}


class CategoricalHMM(SymbolsHMM):
    """Hidden Markov model whose states show symbols 0, 1, …: (1).

    Parameters
    ----------
    n_components : int, default=1
        Number of states.
    startprob_prior, transmat_prior : float or array-like, default=1.0
        Dirichlet priors of `startprob_` and of the rows of `transmat_`; 1 is none.
    emissionprob_prior : float or array-like, default=1.0
        Dirichlet prior of the rows of `emissionprob_`; 1.1 lets no symbol become impossible.
    n_features : int, default=None
        Number of symbols; by default as many as X has.
    algorithm : {"viterbi", "map"}, default="viterbi"
        What `predict` returns: the most probable path, or in each row the most probable state.
    random_state : int, RandomState or None, default=None
    n_iter : int, default=100
        The most steps of EM.
    tol : float, default=1e-2
        Stop when the penalised log-likelihood gains less.
    verbose : bool, default=False
        Whether to write the objective of each step to the standard error stream.
    params, init_params : str, default="ste"
        What to learn, and what to set before: s(tart), t(ransitions), e(missions).
    implementation : {"scaling", "log"}, default="scaling"
        How to multiply many probabilities; the results are the same, and "scaling" is faster: a
        sequence that would underflow is done again with logarithms.
    topology : {"ergodic", "left-right"} or array-like of shape (n_components, n_components)
        Which transitions there may be.
    n_init : int, default=1
        Random starts, on threads; the most likely fit is kept.

    Attributes
    ----------
    startprob_ : ndarray of shape (n_components,)
        π.
    transmat_ : ndarray of shape (n_components, n_components)
        A, from row to column.
    emissionprob_ : ndarray of shape (n_components, n_features)
        b.
    monitor_, history_, n_iter_, converged_
        As of `GaussianHMM`.

    Examples
    --------
    >>> model = CategoricalHMM(2)
    >>> model.startprob_ = [0.6, 0.4]
    >>> model.transmat_ = [[0.7, 0.3], [0.4, 0.6]]
    >>> model.emissionprob_ = [[0.1, 0.4, 0.5], [0.6, 0.3, 0.1]]
    >>> model.predict([[0], [1], [2]])
    array([1, 0, 0])

    References
    ----------
    Rabiner: A tutorial on hidden Markov models. Proc. IEEE 77 (1989), 257–286.
    """

    card = Card(
        page="forward-backward",
        checks="hidden_markov",
        task="labelling",
        input="sequences",
        cheap=lambda: {"n_components": 2, "n_iter": 3, "random_state": 0},
        data=lambda: (np.random.default_rng(0).integers(0, 4, size=(60, 1)),),
        use="hidden causes of a series of symbols: letters, words, bases, clicks",
        good="every probability exact; learns with labels, with some, or with none",
        bad="finds a local optimum; a symbol never seen is impossible without a prior",
        time="O(n K²) per step of EM, K states",
        memory="O(n K)",
        rescaling="not applicable: symbols have no scale",
        missing="accepted: missing symbols are marginalised",
        instead="CRF if there are labels and many features of each place",
    )
    _parameter_constraints = BaseHMM._parameter_constraints | {
        "emissionprob_prior": [Interval(Real, 0, None, closed="left"), "array-like"],
        "n_features": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        n_components=1,
        startprob_prior: Any = 1.0,
        transmat_prior: Any = 1.0,
        *,
        emissionprob_prior: Any = 1.0,
        n_features=None,
        algorithm="viterbi",
        random_state=None,
        n_iter=100,
        tol=1e-2,
        verbose: int = False,
        params="ste",
        init_params="ste",
        implementation="scaling",
        topology: Any = "ergodic",
        n_init=1,
    ):
        self.n_components = n_components
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.emissionprob_prior = emissionprob_prior
        self.n_features = n_features
        self.algorithm = algorithm
        self.random_state = random_state
        self.n_iter = n_iter
        self.tol = tol
        self.verbose = verbose
        self.params = params
        self.init_params = init_params
        self.implementation = implementation
        self.topology = topology
        self.n_init = n_init

    def _encode(self, X):
        """Symbols as whole numbers, −1 where they are missing."""
        if X.shape[1] != 1:
            raise ValueError(f"Symbols stand in one column, X has {X.shape[1]}.")
        x = X[:, 0]
        codes = np.where(np.isnan(x), MISSING, x)
        symbols = codes.astype(np.int64)
        if (symbols != codes).any():
            raise ValueError("Symbols should be integers")
        if symbols.min() < MISSING or (x == MISSING).any():
            raise ValueError("Symbols should be nonnegative")
        return symbols

    def _check_and_set_n_features(self, X):
        """Raise ValueError if X does not hold symbols, or more than there are."""
        X = np.asarray(X)
        if X.dtype.kind not in "iu":
            raise ValueError("Symbols should be integers")
        self._shape_of(self._encode(X.reshape(-1, 1).astype(np.float64)))

    def _shape_of(self, x):
        given, most = vars(self).get("_n_features"), int(x.max())
        if most < 0:
            raise ValueError("X has no symbol: all are missing.")
        if given is not None and most >= given:
            raise ValueError(f"Largest symbol is {most}, but the model shows {given} symbols.")
        self._n_symbols = given or most + 1

    def log_density(self, X):
        """log b_k(x_t) of every row t and state k.

        Parameters
        ----------
        X : ndarray of shape (n_samples,)
            Symbols; −1 is missing.

        Returns
        -------
        log_density : ndarray of shape (n_samples, n_components)
        """
        M = self.emissionprob_.shape[1]
        table = np.zeros((M + 2, self.n_components))  # symbols, one never seen, and missing
        with np.errstate(divide="ignore"):
            table[:M] = np.log(self.emissionprob_.T)
        table[M] = -np.inf
        return table.take(np.minimum(X, M), axis=0)

    def _statistics(self, X, gamma):
        """How often each state shows each symbol."""
        counts = np.zeros((self.emissionprob_.shape[1], self.n_components))
        count_symbols(X, gamma, counts)
        return {"counts": counts.T}

    def _draw(self, state, rng):
        return [(np.cumsum(self.emissionprob_[state]) > rng.rand()).argmax()]
