r"""Hidden Markov models with counts as emissions: what they share, and Poisson's

    log p(x | k) = Σ_d x_d log λ_kd − λ_kd − log x_d!                                       (1)

log x! is the same for all states: it is added to likelihoods and left out of the lattice.
"""

from numbers import Real
from typing import Any

import numpy as np
from scipy.special import gammaln

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval

from ._base import BaseHMM


def log_of_counts(X, log_p, p):
    """Σ_d x_d log p_kd, where 0 · log 0 is 0 and x log 0 is −inf; NaN counts as 0."""
    X = np.nan_to_num(X)
    out = X @ np.where(p > 0, log_p, 0.0).T
    if (p == 0).any():
        out[(X > 0).astype(float) @ (p == 0).T.astype(float) > 0] = -np.inf
    return out


def check_counts(X):
    """Raise unless X holds whole numbers from 0 upwards, or NaN."""
    seen = X[~np.isnan(X)]
    if (seen < 0).any() or (seen != np.floor(seen)).any():
        raise ValueError("Symbol counts should be nonnegative integers")


class CountsHMM(BaseHMM):
    """What the models of counts share."""

    def _encode(self, X):
        check_counts(X)
        return X

    def _row_measure(self, X):
        return -gammaln(np.nan_to_num(X) + 1).sum(axis=1)

    def _start_means(self, X, rng):
        """Means drawn around those of the columns, as far apart as the columns vary."""
        with np.errstate(invalid="ignore"):
            mean, var = np.nanmean(X, axis=0), np.nanvar(X, axis=0)
        mean = np.where(mean > 0, mean, 0.1)
        var = np.where(var > 0, var, mean)
        shape = (self.n_components, X.shape[1])
        return np.maximum(rng.gamma(mean**2 / var, var / mean, size=shape), 1e-3 * mean)


class PoissonHMM(CountsHMM):
    """Hidden Markov model whose states show Poisson counts: (1).

    Parameters
    ----------
    n_components : int, default=1
        Number of states.
    startprob_prior, transmat_prior : float or array-like, default=1.0
        Dirichlet priors of `startprob_` and of the rows of `transmat_`; 1 is none.
    lambdas_prior, lambdas_weight : float or array-like, default=0.0
        Gamma prior of the means: as if `lambdas_weight` rows had shown `lambdas_prior` in all.
    algorithm : {"viterbi", "map"}, default="viterbi"
        What `predict` returns: the most probable path, or in each row the most probable state.
    random_state : int, RandomState or None, default=None
    n_iter : int, default=100
        The most steps of EM.
    tol : float, default=1e-2
        Stop when the penalised log-likelihood gains less.
    verbose : bool, default=False
        Whether to write the objective of each step to the standard error stream.
    params, init_params : str, default="stl"
        What to learn, and what to set before: s(tart), t(ransitions), l(ambdas).
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
    lambdas_ : ndarray of shape (n_components, n_features)
        λ.
    monitor_, history_, n_iter_, converged_
        As of `GaussianHMM`.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).poisson(np.repeat([2, 12, 2], 40))
    >>> model = PoissonHMM(2, random_state=0).fit(x[:, None])
    >>> np.sort(model.lambdas_.ravel()).round(1)
    array([ 2.2, 12.9])
    """

    card = Card(
        page="baum-welch",
        checks="hidden_markov",
        task="labelling",
        input="sequences",
        cheap=lambda: {"n_components": 2, "n_iter": 3, "random_state": 0},
        data=lambda: (np.random.default_rng(0).poisson(3, size=(60, 2)),),
        use="counts per hour, day or place whose rate switches: calls, accidents, spikes, reads",
        good="probabilities of every state at every time; closed-form steps",
        bad="the variance of a state equals its mean; finds a local optimum",
        time="O(n K (K + p)) per step of EM, K states",
        memory="O(n K)",
        rescaling="not allowed: counts are counts",
        missing="accepted: missing counts are marginalised",
        instead="NegativeBinomialHMM if the counts vary more than their mean",
    )
    _parameter_constraints = BaseHMM._parameter_constraints | {
        "lambdas_prior": [Interval(Real, 0, None, closed="left"), "array-like"],
        "lambdas_weight": [Interval(Real, 0, None, closed="left"), "array-like"],
    }
    _names = {"l": "lambdas_"}

    def __init__(
        self,
        n_components=1,
        startprob_prior: Any = 1.0,
        transmat_prior: Any = 1.0,
        lambdas_prior: Any = 0.0,
        lambdas_weight: Any = 0.0,
        algorithm="viterbi",
        random_state=None,
        n_iter=100,
        tol=1e-2,
        verbose: int = False,
        params="stl",
        init_params="stl",
        implementation="scaling",
        topology: Any = "ergodic",
        n_init=1,
    ):
        self.n_components = n_components
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.lambdas_prior = lambdas_prior
        self.lambdas_weight = lambdas_weight
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

    def _start(self, X, rng):
        if self._needs_start("l", "lambdas_"):
            self.lambdas_ = self._start_means(X, rng)

    def _check_emissions(self):
        self.lambdas_ = np.atleast_2d(np.asarray(self.lambdas_, dtype=np.float64))
        if len(self.lambdas_) != self.n_components or not self.lambdas_.size:
            raise ValueError("lambdas_ must have shape (n_components, n_features)")
        if not (np.isfinite(self.lambdas_).all() and (self.lambdas_ >= 0).all()):
            raise ValueError("lambdas_ must be finite and not negative")
        self._n_features = self.lambdas_.shape[1]

    def log_density(self, X):
        """Log-density (1) of every row and state, without log x!, which no state changes.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)

        Returns
        -------
        log_density : ndarray of shape (n_samples, n_components)
        """
        with np.errstate(divide="ignore"):
            out = log_of_counts(X, np.log(self.lambdas_), self.lambdas_)
        return out - ((~np.isnan(X)).astype(float) @ self.lambdas_.T)

    def _statistics(self, X, gamma):
        """Weights and sums of every state and column."""
        seen = (~np.isnan(X)).astype(float)
        return {"weight": gamma.T @ seen, "sum": gamma.T @ np.nan_to_num(X)}

    def _maximise(self, stats):
        if "l" in self.params:
            weight = self.lambdas_weight + stats["weight"]
            with np.errstate(invalid="ignore", divide="ignore"):
                new = (self.lambdas_prior + stats["sum"]) / weight
            self.lambdas_ = np.where(weight > 0, new, self.lambdas_)

    def _emission_prior(self):
        if "l" not in self.params:
            return 0.0
        lam = self.lambdas_
        logs = np.log(np.where(lam > 0, lam, 1.0))
        return float((self.lambdas_prior * logs - self.lambdas_weight * lam).sum())

    def _draw(self, state, rng):
        return rng.poisson(self.lambdas_[state])

    def _emission_sizes(self):
        return {"l": self.lambdas_.size}
