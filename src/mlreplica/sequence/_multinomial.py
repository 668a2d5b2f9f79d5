r"""Hidden Markov model with counts of several kinds in each row

    log p(x | k) = Σ_d x_d log b_kd + log (Σ_d x_d)! − Σ_d log x_d!                          (1)

Given γ, the step of EM is b_kd ← the share of kind d among all that state k shows.
"""

from numbers import Integral
from typing import Any

import numpy as np
from scipy.special import gammaln

from mlreplica.core.compat import Interval

from ._base import BaseHMM
from ._categorical import SymbolsHMM
from ._counts import PoissonHMM, check_counts, log_of_counts


class MultinomialHMM(SymbolsHMM):
    """Hidden Markov model whose states show how often each symbol came up in some trials: (1).

    Parameters
    ----------
    n_components : int, default=1
        Number of states.
    n_trials : int or array-like of int, default=None
        Trials of each row; by default what each row adds up to. `sample` needs one
        number, or a fit to rows with the same sum.
    startprob_prior, transmat_prior : float or array-like, default=1.0
        Dirichlet priors of `startprob_` and of the rows of `transmat_`; 1 is none.
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
    startprob_, transmat_ : ndarray of shape (n_components,), (n_components, n_components)
        π and A.
    emissionprob_ : ndarray of shape (n_components, n_features)
        b.
    monitor_, history_, n_iter_, converged_
        As of `GaussianHMM`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> shares = np.repeat([[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]], 30, axis=0)
    >>> X = np.array([rng.multinomial(9, p) for p in shares])
    >>> MultinomialHMM(2, random_state=0).fit(X).emissionprob_.max(axis=1).round(1)
    array([0.7, 0.8])
    """

    card = PoissonHMM.card.but(
        use="shares of several kinds over time: votes, species, words per document",
        good="probabilities of every state at every time; closed-form steps",
        bad="counts of one row are assumed independent draws; finds a local optimum",
        instead="CategoricalHMM for one symbol per row; PoissonHMM if totals matter",
    )
    _parameter_constraints = BaseHMM._parameter_constraints | {
        "n_trials": [Interval(Integral, 0, None, closed="left"), "array-like", None],
    }

    def __init__(
        self,
        n_components=1,
        n_trials=None,
        startprob_prior: Any = 1.0,
        transmat_prior: Any = 1.0,
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
        self.n_trials = n_trials
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
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
        """Counts; of a row with a gap nothing is known."""
        check_counts(X)
        gap = np.isnan(X).any(axis=1)
        return np.where(gap[:, None], np.nan, X) if gap.any() else X

    def _shape_of(self, X):
        self._n_symbols = X.shape[1]
        totals = X.sum(axis=1)
        self._totals = np.unique(totals[~np.isnan(totals)])
        if self.n_trials is not None and not ((totals == self.n_trials) | np.isnan(totals)).all():
            raise ValueError("Total count for each sample should add up to the number of trials")

    def _row_measure(self, X):
        counts = np.nan_to_num(X)
        return gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)

    def log_density(self, X):
        """Log-density (1) of every row and state, without what no state changes.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)

        Returns
        -------
        log_density : ndarray of shape (n_samples, n_components)
        """
        with np.errstate(divide="ignore"):
            return log_of_counts(X, np.log(self.emissionprob_), self.emissionprob_)

    def _statistics(self, X, gamma):
        """How often each state shows each symbol."""
        return {"counts": gamma.T @ np.nan_to_num(X)}

    def _draw(self, state, rng):
        given = self.n_trials is not None
        trials = np.unique(self.n_trials) if given else vars(self).get("_totals", ())
        if len(trials) != 1:
            raise ValueError("For sampling, a single n_trials must be given")
        return rng.multinomial(trials[0], self.emissionprob_[state])
