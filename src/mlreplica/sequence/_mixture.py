r"""Hidden Markov model whose states show mixtures of normal distributions

    p(x | k) = Σ_m w_km N(x; μ_km, Σ_km)                                                  (1)

In the step of EM a state's γ_tk is shared among its M components by how likely each makes x_t,

    γ_tkm = γ_tk · w_km N(x_t; μ_km, Σ_km) / p(x_t | k)                                   (2)

and every component is fitted as a state of `GaussianHMM` is.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, StrOptions
from mlreplica.core.compile.jit import kernel

from ._base import BaseHMM
from ._missing import log_densities_missing, moments_missing
from ._normal import (
    column_floor,
    floored,
    in_parts,
    log_densities,
    log_densities_full,
    log_normal_prior,
    moments,
    moments_full,
    outer,
    starting_means,
)
from ._shares import check_distribution, log_dirichlet, shares

TYPES = ("spherical", "diag", "full", "tied")


@kernel(borrow=True)
def mix_components(parts, out, first, last):
    """out[t, k] ← log Σ_m e^parts, and parts ← their shares, of rows first … last−1."""
    K, M = parts.shape[1], parts.shape[2]
    for t in range(first, last):
        for k in range(K):
            largest, s = parts[t, k, 0], 0.0
            for m in range(1, M):
                largest = max(largest, parts[t, k, m])
            if not largest > -np.inf:
                out[t, k] = -np.inf
                for m in range(M):
                    parts[t, k, m] = 0.0
                continue
            for m in range(M):
                parts[t, k, m] = np.exp(parts[t, k, m] - largest)
                s += parts[t, k, m]
            out[t, k] = largest + np.log(s)
            for m in range(M):
                parts[t, k, m] /= s
    return 0


class GMMHMM(BaseHMM):
    """Hidden Markov model whose states show Gaussian mixtures: (1), (2).

    Covariances are taken about the new means, as EM asks, so that no step lowers the likelihood;
    hmmlearn takes them about the old ones, and its first steps differ.

    Parameters
    ----------
    n_components : int, default=1
        Number of states.
    n_mix : int, default=1
        Components of each state.
    min_covar : float, default=1e-3
        No variance falls below it, or below a millionth of the column's variance if that is less.
    startprob_prior, transmat_prior, weights_prior : float or array-like, default=1.0
        Dirichlet priors of `startprob_` and of the rows of `transmat_` and `weights_`; 1 is none.
    means_prior, means_weight : float or array-like, default=0.0
        Mean and strength of the normal prior of `means_`.
    covars_prior, covars_weight : float or array-like, default=None
        Prior of `covars_` as in hmmlearn: Ψ and ν of an inverse Wishart for "full" and "tied", α
        and β of an inverse gamma for "diag" and "spherical"; None is none.
    algorithm : {"viterbi", "map"}, default="viterbi"
        What `predict` returns: the most probable path, or in each row the most probable state.
    covariance_type : {"spherical", "diag", "full", "tied"}, default="diag"
        Of each component one variance, variances, or a matrix; or a matrix per state.
    random_state : int, RandomState or None, default=None
    n_iter : int, default=100
        The most steps of EM.
    tol : float, default=1e-2
        Stop when the penalised log-likelihood gains less.
    verbose : bool, default=False
        Whether to write the objective of each step to the standard error stream.
    params, init_params : str, default="stmcw"
        What to learn, and what to set before: s(tart), t(ransitions), m(eans), c(ovariances),
        w(eights).
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
    weights_ : ndarray of shape (n_components, n_mix)
        w.
    means_ : ndarray of shape (n_components, n_mix, n_features)
        μ.
    covars_ : ndarray
        Σ: (n_components, n_mix), with n_features once more or twice more for "diag" and "full";
        (n_components, n_features, n_features) for "tied".
    monitor_, history_, n_iter_, converged_
        As of `GaussianHMM`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = np.concatenate([rng.choice([-4, 4], 80), np.zeros(80)]) + rng.normal(size=160)
    >>> model = GMMHMM(2, n_mix=2, random_state=0).fit(x[:, None])
    >>> model.means_.shape, model.weights_.sum(axis=1)
    ((2, 2, 1), array([1., 1.]))
    """

    card = Card(
        page="baum-welch",
        checks="hidden_markov",
        task="labelling",
        input="sequences",
        cheap=lambda: {"n_components": 2, "n_mix": 2, "n_iter": 3, "random_state": 0},
        data=lambda: (np.random.default_rng(0).standard_normal((60, 3)),),
        use="regimes whose measurements form several clouds, as in speech",
        good="a state may look like anything; probabilities of every state at every time",
        bad="many parameters; more local optima than GaussianHMM",
        time="O(n K (K + M p)) per step of EM, K states of M components",
        memory="O(n K M)",
        rescaling="not needed, but for the priors",
        missing="accepted: missing values are marginalised",
        instead="GaussianHMM with more states",
    )
    _parameter_constraints = BaseHMM._parameter_constraints | {
        "n_mix": [Interval(Integral, 1, None, closed="left")],
        "covariance_type": [StrOptions(set(TYPES))],
        "min_covar": [Interval(Real, 0, None, closed="left")],
        "weights_prior": [Real, "array-like"],
        "means_prior": [Real, "array-like"],
        "means_weight": [Real, "array-like"],
        "covars_prior": [Real, "array-like", None],
        "covars_weight": [Real, "array-like", None],
    }
    _names = {"m": "means_", "c": "covars_", "w": "weights_"}

    def __init__(
        self,
        n_components=1,
        n_mix=1,
        min_covar=1e-3,
        startprob_prior: Any = 1.0,
        transmat_prior: Any = 1.0,
        weights_prior: Any = 1.0,
        means_prior: Any = 0.0,
        means_weight: Any = 0.0,
        covars_prior=None,
        covars_weight=None,
        algorithm="viterbi",
        covariance_type="diag",
        random_state=None,
        n_iter=100,
        tol=1e-2,
        verbose: int = False,
        params="stmcw",
        init_params="stmcw",
        implementation="scaling",
        topology: Any = "ergodic",
        n_init=1,
    ):
        self.n_components = n_components
        self.n_mix = n_mix
        self.min_covar = min_covar
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.weights_prior = weights_prior
        self.means_prior = means_prior
        self.means_weight = means_weight
        self.covars_prior = covars_prior
        self.covars_weight = covars_weight
        self.algorithm = algorithm
        self.covariance_type = covariance_type
        self.random_state = random_state
        self.n_iter = n_iter
        self.tol = tol
        self.verbose = verbose
        self.params = params
        self.init_params = init_params
        self.implementation = implementation
        self.topology = topology
        self.n_init = n_init

    def _shapes(self, p):
        K, M = self.n_components, self.n_mix
        return {"spherical": (K, M), "diag": (K, M, p), "full": (K, M, p, p), "tied": (K, p, p)}

    def _start(self, X, rng):
        """K groups by k-means, M groups within each; the variances of all rows."""
        K, M, p = self.n_components, self.n_mix, X.shape[1]
        self._floor = column_floor(X, self.min_covar)
        if self._needs_start("w", "weights_"):
            self.weights_ = np.full((K, M), 1 / M)
        if self._needs_start("m", "means_"):
            filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
            centres = starting_means(filled, K, self._seed(rng))
            nearest = ((filled[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
            self.means_ = np.stack(
                [group_means(filled[nearest == k], M, filled, self._seed(rng)) for k in range(K)]
            )
        if self._needs_start("c", "covars_"):
            variances = np.nan_to_num(np.nanvar(X, axis=0)) + self.min_covar
            matrix = np.diag(variances)
            like = {
                "spherical": variances.mean(),
                "diag": variances,
                "full": matrix,
                "tied": matrix,
            }
            kind = self.covariance_type
            self.covars_ = np.broadcast_to(like[kind], self._shapes(p)[kind]).copy()

    def _check_emissions(self):
        K, M = self.n_components, self.n_mix
        if self.covariance_type not in TYPES:
            raise ValueError(f"covariance_type must be one of {TYPES}")
        self.weights_, self.means_, self.covars_ = (
            np.ascontiguousarray(a, dtype=np.float64)
            for a in (self.weights_, self.means_, self.covars_)
        )
        if self.weights_.shape != (K, M):
            raise ValueError(f"weights_ must have shape {(K, M)}, got {self.weights_.shape}")
        check_distribution("weights_", self.weights_)
        if self.means_.ndim != 3 or self.means_.shape[:2] != (K, M):
            raise ValueError(
                f"means_ must have shape {(K, M)} and columns, got {self.means_.shape}"
            )
        self._n_features = p = self.means_.shape[2]
        needed = self._shapes(p)[self.covariance_type]
        if self.covars_.shape != needed:
            raise ValueError(f"covars_ must have shape {needed}, got {self.covars_.shape}")
        if self.covariance_type in ("spherical", "diag") and (self.covars_ < 0).any():
            raise ValueError("covars_ must not be negative")

    def _parts(self):
        """Means (KM, p), variances (KM, p) or matrices, and which matrix a component has."""
        K, M, p = self.means_.shape
        means = self.means_.reshape(K * M, p)
        if self.covariance_type in ("spherical", "diag"):
            wide = np.broadcast_to(self.covars_.reshape(K * M, -1), (K * M, p))
            return means, np.ascontiguousarray(np.maximum(wide, 1e-300)), None
        if self.covariance_type == "tied":
            return means, self.covars_, np.repeat(np.arange(K), M)
        return means, self.covars_.reshape(K * M, p, p), np.arange(K * M)

    def _log_parts(self, X):
        """log w_km N(x_t; μ_km, Σ_km), as (n, K, M)."""
        means, spread, which = self._parts()
        if which is None:
            out = log_densities(X, means, spread)
        else:
            densities = log_densities_missing if np.isnan(X).any() else log_densities_full
            out = densities(X, means, spread, which)
        with np.errstate(divide="ignore"):
            out += np.log(self.weights_).ravel()
        return out.reshape(len(X), *self.weights_.shape)

    def log_density(self, X):
        """log p(x_t | k), equation (1), of every row and state.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)

        Returns
        -------
        log_density : ndarray of shape (n_samples, n_components)
        """
        return self._mixed(X)[0]

    def _mixed(self, X):
        """log p(x_t | k), and the share of each component in it, (n, K, M)."""
        parts = self._log_parts(X)
        out = np.empty(parts.shape[:2])
        in_parts(len(X), lambda first, last: mix_components(parts, out, first, last))
        return out, parts

    def _statistics(self, X, gamma, centre=None):
        """Weights and moments of all components: they add up over sequences."""
        means, spread, which = self._parts()
        centre = means if centre is None else centre
        parts = self._mixed(X)[1]
        parts *= gamma[:, :, None]  # (2)
        shared = parts.reshape(len(X), -1)
        if which is None:
            s0, s1, s2 = moments(X, shared, centre)
        elif np.isnan(X).any():
            s0, s1, s2 = moments_missing(X, shared, centre, means, spread, which)
        else:
            s0, s1, s2 = moments_full(X, shared, centre, which)
        mass = shared.sum(axis=0).reshape(self.weights_.shape)
        return {"mass": mass, "weight": s0, "first": s1, "second": s2, "at_centre": centre}

    def _maximise(self, stats):
        """Weights, means and covariances; a component without rows keeps what it has."""
        mass, s0, s1, s2 = (stats[k] for k in ("mass", "weight", "first", "second"))
        K, M, p = self.means_.shape
        centre = stats["at_centre"]
        nu = np.broadcast_to(self.means_weight, (K, M)).reshape(K * M, 1)
        prior = np.broadcast_to(self.means_prior, (K, M, p)).reshape(K * M, p)
        if "w" in self.params:
            self.weights_ = shares(self.weights_, mass, self.weights_prior)
        means = self.means_.reshape(K * M, p)
        if "m" in self.params:
            total = nu + s0
            with np.errstate(invalid="ignore", divide="ignore"):
                new = (nu * prior + s1 + s0 * centre) / total
            means = np.where(total > 0, new, means)
            self.means_ = means.reshape(K, M, p)
        if "c" in self.params:
            self._maximise_covariances(s0, s1, s2, means - centre)

    def _prior_moments(self):
        """What the priors, hmmlearn's, add to the weights and scatter of covariances."""
        (K, M, p), kind = self.means_.shape, self.covariance_type
        means, old, which = self._parts()
        nu = np.broadcast_to(self.means_weight, (K, M)).reshape(K * M, 1)
        off = means - np.broadcast_to(self.means_prior, (K, M, p)).reshape(K * M, p)
        psi, strength = self.covars_prior, self.covars_weight
        if which is None:
            if psi is None:
                return 0.0, nu * off**2
            alpha, beta = np.asarray(psi, float), np.asarray(strength or 0.0, float)
            wide = lambda a: np.broadcast_to(
                a.reshape(a.shape + (1,) * (a.ndim == 2)), (K, M, p)
            ).reshape(K * M, p)
            per = p if kind == "spherical" else 1
            return 1 + 2 * (wide(alpha) + 1) / per, nu * off**2 + 2 * wide(beta) / per
        scatter, weight = np.zeros(old.shape), np.zeros(len(old))
        np.add.at(scatter, which, nu[:, :, None] * outer(off, off))
        if psi is not None:
            scatter += np.broadcast_to(psi, self.covars_.shape).reshape(old.shape)
            given = np.broadcast_to(0.0 if strength is None else strength, self.covars_.shape[:-2])
            weight += given.ravel() + (M if kind == "tied" else 1) + p + 1
        return weight, scatter

    def _emission_prior(self):
        total = 0.0
        if "w" in self.params:
            total += log_dirichlet(self.weights_, self.weights_prior)
        if set("mc") & set(self.params):
            total += log_normal_prior(self._parts()[1], *self._prior_moments())
        return total

    def _maximise_covariances(self, s0, s1, s2, shift):
        """Σ about the new means."""
        kind, (given, scatter) = self.covariance_type, self._prior_moments()
        _, old, which = self._parts()
        if which is None:
            about = scatter + s2 - 2 * shift * s1 + s0 * shift**2
            weight = given + s0
            if kind == "spherical":
                about, weight = (
                    about.mean(axis=1, keepdims=True),
                    weight.mean(axis=1, keepdims=True),
                )
            with np.errstate(invalid="ignore", divide="ignore"):
                new = np.where(weight > 0, about / weight, old[:, : about.shape[1]])
            floor = self._floor.max() if kind == "spherical" else self._floor
            self.covars_ = np.maximum(new, floor).reshape(self.covars_.shape)
            return
        each = s0[:, :, None] * outer(shift, shift) - outer(shift, s1) - outer(s1, shift)
        about, weight = scatter + s2, given.copy()
        np.add.at(about, which, each)
        np.add.at(weight, which, s0.mean(axis=1))
        about /= np.where(weight > 0, weight, 1)[:, None, None]
        new = floored(np.where((weight > 0)[:, None, None], about, old), self._floor)
        self.covars_ = new.reshape(self.covars_.shape)

    def _draw(self, state, rng):
        m = rng.choice(self.n_mix, p=self.weights_[state])
        p = self.means_.shape[2]
        spread = self.covars_[state] if self.covariance_type == "tied" else self.covars_[state, m]
        covariance = spread if np.ndim(spread) == 2 else np.eye(p) * spread
        return rng.multivariate_normal(self.means_[state, m], covariance)

    def _emission_sizes(self):
        K, M, p = self.means_.shape
        half = p * (p + 1) // 2
        sizes = {"spherical": K * M, "diag": K * M * p, "full": K * M * half, "tied": K * half}
        return {"m": K * M * p, "c": sizes[self.covariance_type], "w": K * (M - 1)}


def group_means(rows, M, everything, seed):
    """Means of M groups of some rows; drawn from all rows if there are too few."""
    if len(rows) >= M:
        return starting_means(rows, M, seed)
    rng = check_random_state(seed)
    return everything[rng.choice(len(everything), M, replace=len(everything) < M)]
