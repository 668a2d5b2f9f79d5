r"""Hidden Markov model with normal emissions

A state k shows x ~ N(μ_k, Σ_k). Given γ, the step of EM is a weighted mean and covariance,

    μ_k ← (ν μ₀ + Σ_t γ_tk x_t) / (ν + Σ_t γ_tk)                                          (1)
    Σ_k ← (Ψ + ν(μ_k − μ₀)(μ_k − μ₀)ᵀ + Σ_t γ_tk (x_t − μ_k)(x_t − μ_k)ᵀ) / (η + Σ_t γ_tk)   (2)

with ν = `means_weight`, μ₀ = `means_prior`, Ψ = `covars_prior` (times the identity) and η from
`covars_weight`; of (2) the diagonal, its mean, or the sum over k, as `covariance_type` says.
"""

from numbers import Real
from typing import Any

import numpy as np

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, StrOptions

from ._base import BaseHMM
from ._missing import log_densities_missing, moments_missing
from ._normal import (
    column_floor,
    floored,
    log_densities,
    log_densities_full,
    log_normal_prior,
    moments,
    moments_full,
    outer,
    starting_means,
)

TYPES = ("spherical", "diag", "full", "tied")


class GaussianHMM(BaseHMM):
    """Hidden Markov model whose states show normally distributed numbers: (1), (2).

    Parameters
    ----------
    n_components : int, default=1
        Number of states.
    covariance_type : {"spherical", "diag", "full", "tied"}, default="diag"
        One variance per state, one per state and column, a matrix per state, or one for all.
    min_covar : float, default=1e-3
        No variance falls below it, or below a millionth of the column's variance if that is less.
    startprob_prior, transmat_prior : float or array-like, default=1.0
        Dirichlet priors of `startprob_` and of the rows of `transmat_`; 1 is none.
    means_prior, means_weight : float or array-like, default=0
        Mean and strength of the normal prior of `means_`.
    covars_prior, covars_weight : float or array-like, default=1e-2, 1
        Scale and strength of the prior of `covars_`.
    algorithm : {"viterbi", "map"}, default="viterbi"
        What `predict` returns: the most probable path, or in each row the most probable state.
    random_state : int, RandomState or None, default=None
    n_iter : int, default=100
        The most steps of EM.
    tol : float, default=1e-2
        Stop when the penalised log-likelihood gains less.
    verbose : bool, default=False
        Whether to write the objective of each step to the standard error stream.
    params, init_params : str, default="stmc"
        What to learn, and what to set before: s(tart), t(ransitions), m(eans), c(ovariances).
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
    means_ : ndarray of shape (n_components, n_features)
        μ.
    covars_ : ndarray of shape (n_components, n_features, n_features)
        Σ; to be set in the shape of `covariance_type`.
    monitor_ : ConvergenceMonitor
        The penalised log-likelihood (`_base.py`, equation 1) of each step.
    history_ : ndarray
        The same as an array.
    n_iter_, converged_ : int, bool
        Steps of EM, and whether the gain fell below `tol`.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.repeat([0.0, 5.0, 0.0], 50) + np.random.default_rng(0).normal(size=150)
    >>> model = GaussianHMM(2, random_state=0).fit(x[:, None])
    >>> states = model.predict(x[:, None])
    >>> np.flatnonzero(np.diff(states))
    array([49, 99])

    References
    ----------
    Rabiner: A tutorial on hidden Markov models. Proc. IEEE 77 (1989), 257–286.
    """

    card = Card(
        page="baum-welch",
        checks="hidden_markov",
        task="labelling",
        input="sequences",
        cheap=lambda: {"n_components": 2, "n_iter": 3, "random_state": 0},
        data=lambda: (np.random.default_rng(0).standard_normal((60, 3)),),
        use="a series that switches between a few regimes: markets, sensors, speech, genomes",
        good="probabilities of every state at every time; learns without labels, or with some",
        bad="finds a local optimum; the number of states must be chosen",
        time="O(n K (K + p)) per step of EM, K states",
        memory="O(n K)",
        rescaling="not needed, but for the priors",
        missing="accepted: missing values are marginalised",
        instead="GMMHMM if a state is not one cloud; CRF if there are labels",
    )

    _parameter_constraints = BaseHMM._parameter_constraints | {
        "covariance_type": [StrOptions(set(TYPES))],
        "min_covar": [Interval(Real, 0, None, closed="left")],
        "means_prior": [Real, "array-like"],
        "means_weight": [Real, "array-like"],
        "covars_prior": [Real, "array-like"],
        "covars_weight": [Real, "array-like"],
    }
    _names = {"m": "means_", "c": "covars_"}

    def __init__(
        self,
        n_components=1,
        covariance_type="diag",
        min_covar=1e-3,
        startprob_prior: Any = 1.0,
        transmat_prior: Any = 1.0,
        means_prior: Any = 0,
        means_weight: Any = 0,
        covars_prior: Any = 1e-2,
        covars_weight: Any = 1,
        algorithm="viterbi",
        random_state=None,
        n_iter=100,
        tol=1e-2,
        verbose: int = False,
        params="stmc",
        init_params="stmc",
        implementation="scaling",
        topology: Any = "ergodic",
        n_init=1,
    ):
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.min_covar = min_covar
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.means_prior = means_prior
        self.means_weight = means_weight
        self.covars_prior = covars_prior
        self.covars_weight = covars_weight
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

    @property
    def covars_(self):
        """Σ of every state, as matrices."""
        K, p = np.shape(self.means_)
        if self.covariance_type in ("full", "tied"):
            return np.broadcast_to(self._covars_, (K, p, p)).copy()
        variances = np.broadcast_to(np.reshape(self._covars_, (K, -1)), (K, p))
        return variances[:, :, None] * np.eye(p)

    @covars_.setter
    def covars_(self, covars):
        covars = np.array(covars, dtype=np.float64)
        self._covars_ = checked_covars(covars, self.covariance_type, self.n_components)

    def _start(self, X, rng):
        """Means by k-means, the covariance of all rows for every state."""
        K = self.n_components
        self._floor = column_floor(X, self.min_covar)
        if self._needs_start("m", "means_"):
            self.means_ = starting_means(X, K, self._seed(rng))
        if self._needs_start("c", "covars_"):
            s0, s1, s2 = moments(X, np.ones((len(X), 1)), np.nan_to_num(X[:1]))
            with np.errstate(invalid="ignore"):
                spread = np.where(s0 > 0, s2 / s0 - (s1 / s0) ** 2, 1.0)[0]
            variances = np.maximum(spread, 0.0) + self.min_covar
            self._covars_ = {
                "spherical": np.full(K, variances.mean()),
                "diag": np.tile(variances, (K, 1)),
                "tied": np.diag(variances),
                "full": np.tile(np.diag(variances), (K, 1, 1)),
            }[self.covariance_type]

    def _check_emissions(self):
        if self.covariance_type not in TYPES:
            raise ValueError(f"covariance_type must be one of {TYPES}")
        self.means_ = np.ascontiguousarray(self.means_, dtype=np.float64)
        if self.means_.ndim != 2 or len(self.means_) != self.n_components:
            raise ValueError("means_ must have shape (n_components, n_features)")
        self._n_features = p = self.means_.shape[1]
        if self._covars_.shape not in shapes(self.covariance_type, self.n_components, p):
            raise ValueError(f"covars_ of type {self.covariance_type!r} do not fit means_")

    def _variances(self):
        """Variances (K, p) of diagonal kinds."""
        K, p = self.means_.shape
        wide = np.broadcast_to(np.reshape(self._covars_, (K, -1)), (K, p))
        return np.ascontiguousarray(np.maximum(wide, 1e-300))

    def _matrices(self):
        """Covariance matrices, and which of them each state has."""
        K, tied = self.n_components, self.covariance_type == "tied"
        which = np.zeros(K, dtype=np.int64) if tied else np.arange(K)
        return self._covars_[None] if tied else self._covars_, which

    def log_density(self, X):
        """log N(x_t; μ_k, Σ_k) of every row t and state k.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)

        Returns
        -------
        log_density : ndarray of shape (n_samples, n_components)
        """
        if self.covariance_type in ("spherical", "diag"):
            return log_densities(X, self.means_, self._variances())
        densities = log_densities_missing if np.isnan(X).any() else log_densities_full
        return densities(X, self.means_, *self._matrices())

    def _statistics(self, X, gamma, centre=None):
        """Weights and moments of every state about its present mean: they add up over sequences."""
        centre = self.means_ if centre is None else centre
        if self.covariance_type in ("spherical", "diag"):
            s0, s1, s2 = moments(X, gamma, centre)
        elif np.isnan(X).any():
            s0, s1, s2 = moments_missing(X, gamma, centre, self.means_, *self._matrices())
        else:
            s0, s1, s2 = moments_full(X, gamma, centre, self._matrices()[1])
        return {"weight": s0, "first": s1, "second": s2, "at_centre": centre}

    def _maximise(self, stats):
        """(1) and (2); a state without rows keeps what it has."""
        s0, s1, s2, centre = (stats[k] for k in ("weight", "first", "second", "at_centre"))
        nu, prior = self.means_weight, self.means_prior
        if "m" in self.params:
            total = nu + s0
            with np.errstate(invalid="ignore", divide="ignore"):
                new = (nu * prior + s1 + s0 * centre) / total
            self.means_ = np.where(total > 0, new, self.means_)
        if "c" not in self.params:
            return
        shift, (given, about) = self.means_ - centre, self._prior_moments()
        if self.covariance_type in ("spherical", "diag"):
            about = about + s2 - 2 * shift * s1 + s0 * shift**2
            weight = given + s0
            spherical = self.covariance_type == "spherical"
            if spherical:
                about, weight = (a.mean(axis=1, keepdims=True) for a in (about, weight))
            with np.errstate(invalid="ignore", divide="ignore"):
                new = np.where(weight > 0, about / weight, self._variances()[:, : about.shape[1]])
            floor = self._floor.max() if spherical else self._floor
            new = np.maximum(new, floor)
            self._covars_ = new[:, 0] if spherical else new
            return
        old, which = self._matrices()
        each = s0[:, :, None] * outer(shift, shift) - outer(shift, s1) - outer(s1, shift)
        about, weight = about + s2, np.full(len(old), given, dtype=np.float64)
        np.add.at(about, which, each)
        np.add.at(weight, which, s0[:, 0])
        new = np.where(
            (weight > 0)[:, None, None], about / np.where(weight > 0, weight, 1)[:, None, None], old
        )
        new = floored(new, self._floor)
        self._covars_ = new[0] if self.covariance_type == "tied" else new

    def _prior_moments(self):
        """What the priors add to the weights and the scatter that covariances are made of."""
        nu, off, p = self.means_weight, self.means_ - self.means_prior, self.means_.shape[1]
        if self.covariance_type in ("spherical", "diag"):
            return max(self.covars_weight - 1, 0), self.covars_prior + nu * off**2
        old, which = self._matrices()
        psi = self.covars_prior
        scatter = np.zeros(old.shape) + (psi * np.eye(p) if np.ndim(psi) == 0 else psi)
        np.add.at(scatter, which, nu * outer(off, off))
        return max(self.covars_weight - p, 0), scatter

    def _emission_prior(self):
        if not set("mc") & set(self.params):
            return 0.0
        diagonal = self.covariance_type in ("spherical", "diag")
        spread = self._variances() if diagonal else self._matrices()[0]
        return log_normal_prior(spread, *self._prior_moments())

    def _draw(self, state, rng):
        return rng.multivariate_normal(self.means_[state], self.covars_[state])

    def _emission_sizes(self):
        K, p = self.means_.shape
        half = p * (p + 1) // 2
        covars = {"spherical": K, "diag": K * p, "full": K * half, "tied": half}
        return {"m": K * p, "c": covars[self.covariance_type]}


def shapes(kind, K, p):
    """Shapes that covariances of a kind may have."""
    return {
        "spherical": [(K,), (K, 1), (K, p)],
        "diag": [(K, p)],
        "full": [(K, p, p)],
        "tied": [(p, p)],
    }[kind]


def checked_covars(covars, kind, K):
    """Covariances in the shape of their kind; raises ValueError if they cannot be."""
    dims = {"spherical": 1, "diag": 2, "full": 3, "tied": 2}
    if kind not in dims:
        raise ValueError(f"covariance_type must be one of {TYPES}")
    if kind == "spherical":
        covars = covars.reshape(K, -1) if covars.size and covars.size % K == 0 else covars
        if covars.ndim != 2 or len(covars) != K or (covars != covars[:, :1]).any():
            raise ValueError("'spherical' covars have length n_components")
        covars = covars[:, 0].copy()
    elif covars.ndim != dims[kind] or (kind != "tied" and len(covars) != K):
        raise ValueError(f"{kind!r} covars must have {dims[kind]} dimensions, got {covars.shape}")
    if kind in ("spherical", "diag"):
        if not (covars > 0).all():
            raise ValueError(f"{kind!r} covars must be positive")
        return covars
    if covars.shape[-1] != covars.shape[-2] or not np.allclose(covars, np.swapaxes(covars, -1, -2)):
        raise ValueError(f"{kind!r} covars must be symmetric")
    if (np.linalg.eigvalsh(covars) <= 0).any():
        raise ValueError(f"{kind!r} covars must be positive-definite")
    return covars
