r"""Hidden Markov model with counts that vary more than Poisson's

    log p(x | k) = Σ_d log Γ(x_d + r_kd) − log Γ(r_kd) − log x_d!
                   + r_kd log(r_kd / (r_kd + λ_kd)) + x_d log(λ_kd / (r_kd + λ_kd))             (1)

λ is a mean, and 1/r how much the variance exceeds it: λ + λ²/r. Given γ, λ_k is a weighted mean;
of r, which has no closed form, (1) is maximised by Newton's method on log r.
"""

from numbers import Real
from typing import Any

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from mlreplica.core.compat import Interval

from ._base import BaseHMM
from ._counts import CountsHMM, PoissonHMM


class NegativeBinomialHMM(CountsHMM):
    """Hidden Markov model whose states show counts that vary more than Poisson's: (1).

    Parameters
    ----------
    n_components : int, default=1
        Number of states.
    startprob_prior, transmat_prior : float or array-like, default=1.0
        Dirichlet priors of `startprob_` and of the rows of `transmat_`; 1 is none.
    max_dispersion : float, default=1e6
        The largest r: above it the counts are Poisson's for all purposes.
    algorithm : {"viterbi", "map"}, default="viterbi"
        What `predict` returns: the most probable path, or in each row the most probable state.
    random_state : int, RandomState or None, default=None
    n_iter : int, default=100
        The most steps of EM.
    tol : float, default=1e-2
        Stop when the penalised log-likelihood gains less.
    verbose : bool, default=False
        Whether to write the objective of each step to the standard error stream.
    params, init_params : str, default="stlr"
        What to learn, and what to set before: s(tart), t(ransitions), l(ambdas), r (dispersion).
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
    lambdas_, dispersions_ : ndarray of shape (n_components, n_features)
        λ and r: the variance is λ + λ²/r.
    monitor_, history_, n_iter_, converged_
        As of `GaussianHMM`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.poisson(np.repeat([2, 30, 2], 60) * rng.gamma(4, 1 / 4, size=180))
    >>> model = NegativeBinomialHMM(2, random_state=0).fit(x[:, None])
    >>> np.sort(model.lambdas_.ravel()).round()
    array([ 2., 28.])
    """

    card = PoissonHMM.card.but(
        use="counts whose rate switches and that vary more than a Poisson distribution allows",
        good="probabilities of every state at every time; mean and variance are free",
        bad="finds a local optimum; the dispersion needs many rows",
        instead="PoissonHMM if the variance of a state is about its mean",
    )
    _parameter_constraints = BaseHMM._parameter_constraints | {
        "max_dispersion": [Interval(Real, 0, None, closed="neither")],
    }
    _names = {"l": "lambdas_", "r": "dispersions_"}

    def __init__(
        self,
        n_components=1,
        startprob_prior: Any = 1.0,
        transmat_prior: Any = 1.0,
        max_dispersion=1e6,
        algorithm="viterbi",
        random_state=None,
        n_iter=100,
        tol=1e-2,
        verbose: int = False,
        params="stlr",
        init_params="stlr",
        implementation="scaling",
        topology: Any = "ergodic",
        n_init=1,
    ):
        self.n_components = n_components
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.max_dispersion = max_dispersion
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
        if self._needs_start("r", "dispersions_"):
            self.dispersions_ = np.full((self.n_components, X.shape[1]), 5.0)

    def _check_emissions(self):
        for name in ("lambdas_", "dispersions_"):
            value = np.atleast_2d(np.asarray(getattr(self, name), dtype=np.float64))
            setattr(self, name, value)
            if len(value) != self.n_components or not value.size or not (value > 0).all():
                raise ValueError(f"{name} must be positive, (n_components, n_features)")
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
        lam, r = self.lambdas_, self.dispersions_
        out = np.zeros((len(X), self.n_components))
        for d in range(X.shape[1]):
            values, back = np.unique(X[:, d], return_inverse=True)
            x = values[:, None]
            terms = (
                gammaln(x + r[:, d]) - gammaln(r[:, d]) - r[:, d] * np.log1p(lam[:, d] / r[:, d])
            )
            terms += x * np.log(lam[:, d] / (r[:, d] + lam[:, d]))
            out += np.nan_to_num(terms, nan=0.0)[back]
        return out

    def _statistics(self, X, gamma):
        """The weight of every count in every state: all that (1) depends on."""
        tables = []
        for d in range(X.shape[1]):
            values = np.where(np.isnan(X[:, d]), 0, X[:, d]).astype(np.int64)
            seen = ~np.isnan(X[:, d])
            size = int(values.max()) + 1
            tables.append(np.stack([np.bincount(values, g * seen, size) for g in gamma.T]))
        width = max(table.shape[1] for table in tables)
        wide = [np.pad(table, ((0, 0), (0, width - table.shape[1]))) for table in tables]
        return {"counts": Counts(np.stack(wide, axis=1))}

    def _maximise(self, stats):
        """λ is the weighted mean whatever r is; then r by Newton's method on log r."""
        counts = stats["counts"].table  # (K, p, values)
        x = np.arange(counts.shape[2])
        weight, total = counts.sum(axis=2), counts @ x
        seen = (weight > 0) & (total > 0)
        if "l" in self.params:
            self.lambdas_ = np.where(seen, total / np.where(weight > 0, weight, 1), self.lambdas_)
        if "r" in self.params:
            for k, d in zip(*np.nonzero(seen), strict=True):
                self.dispersions_[k, d] = best_dispersion(
                    x,
                    counts[k, d],
                    self.lambdas_[k, d],
                    self.dispersions_[k, d],
                    self.max_dispersion,
                )

    def _draw(self, state, rng):
        r, lam = self.dispersions_[state], self.lambdas_[state]
        return rng.poisson(rng.gamma(r, lam / r))

    def _emission_sizes(self):
        return {"l": self.lambdas_.size, "r": self.dispersions_.size}


class Counts:
    """Tables of counts of which one may be wider: what `partial_fit` adds up."""

    def __init__(self, table):
        self.table = table

    def __add__(self, other):
        if np.isscalar(other):
            return self
        width = max(self.table.shape[2], other.table.shape[2])
        wide = [
            np.pad(t, ((0, 0), (0, 0), (0, width - t.shape[2]))) for t in (self.table, other.table)
        ]
        return Counts(wide[0] + wide[1])

    __radd__ = __add__

    def __mul__(self, factor):
        return Counts(self.table * factor)

    __rmul__ = __mul__

    def __truediv__(self, factor):
        return Counts(self.table / factor)


def best_dispersion(x, weights, lam, r, most):
    """The r that maximises (1) for weighted counts x, from where it is: never a worse one."""
    x, weights = x[weights > 0], weights[weights > 0]
    n, total = weights.sum(), weights @ x

    def value(r):
        return (
            weights @ (gammaln(x + r) - gammaln(r))
            - (n * r + total) * np.log1p(lam / r)
            - total * np.log(r)
        )

    best = value(r)
    for _ in range(50):
        slope = weights @ (digamma(x + r) - digamma(r)) - n * np.log1p(lam / r)
        slope += (n * r + total) * lam / (r * (r + lam)) - total / r
        bend = weights @ (polygamma(1, x + r) - polygamma(1, r)) + n * lam / (r * (r + lam))
        bend += (
            n * lam / (r * (r + lam)) - (n * r + total) * lam * (2 * r + lam) / (r * (r + lam)) ** 2
        )
        bend += total / r**2
        first, second = r * slope, r * slope + r * r * bend  # of log r
        step = -first / second if second < 0 else np.sign(first)
        step = min(max(step, -2.0), 2.0)
        while abs(step) > 1e-10:
            new = min(r * np.exp(step), most)
            gained = value(new) - best
            if gained >= 0:
                break
            step /= 2
        if abs(step) <= 1e-10 or new == r:
            return r
        r, best = new, best + gained
    return r
