r"""A Bayesian mixture of Gaussians, by variational inference

Weights, means and precisions have prior distributions,

    π ~ Dirichlet(α₀) or stick-breaking(α₀),   Λ_k ~ Wishart(ν₀, S₀⁻¹),   μ_k ~ N(m₀, (κ₀ Λ_k)⁻¹),   (1)

and the posterior is approximated by a product of such distributions and responsibilities. Each
factor in turn is set to what is best given the others. Responsibilities use the expected
logarithms, with ψ the digamma function:

    log r_ik = E[log π_k] + ½ E[log |Λ_k|] − ½ E[(x_i − μ_k)ᵀΛ_k(x_i − μ_k)] + const,           (2)
    E[log |Λ_k|] = Σ_j ψ((ν_k + 1 − j)/2) + p log 2 − log |ν_k Σ_k|,     E[…] = p/κ_k + (x − m)ᵀΣ⁻¹(x − m).

With N, x̄ and S the moments under r the other factors are, κ_k = κ₀ + N_k and ν_k = ν₀ + N_k,

    m_k = (κ₀ m₀ + N_k x̄_k) / κ_k,     ν_k Σ_k = S₀ + N_k S_k + (κ₀ N_k / κ_k)(x̄_k − m₀)(x̄_k − m₀)ᵀ,     (3)
    α_k = α₀ + N_k,   or for sticks   a_k = 1 + N_k,  b_k = α₀ + Σ_{l>k} N_l.                  (4)

Each update raises a lower bound on the evidence. Components that the data do not need keep the
prior and a weight near 0, so that K is only an upper limit.

Attias, A variational Bayesian framework for graphical models (2000); Blei, Jordan, Variational
inference for Dirichlet process mixtures (2006).
"""  # noqa: E501

from __future__ import annotations

import math
from numbers import Real

import numpy as np
from scipy.special import betaln, digamma, gammaln
from sklearn.utils import check_array

from mlreplica.core.compat import Interval, StrOptions

from .base import Mixture, require_shape
from .em import Bells, precision_triangles
from .gaussian import GaussianMixture
from .starts import mean_of_known, scatter_of_known

POSITIVE = Interval(Real, 0.0, None, closed="neither")
PARAMETERS = (
    "weight_concentration_", "mean_precision_", "means_", "degrees_of_freedom_", "covariances_",
    "precisions_cholesky_",
)  # fmt: skip


def unbiased(weight):
    """n − 1 for n rows; weights that add up to less than two rows have at least half of theirs."""
    return np.maximum(weight - 1.0, weight / 2.0)


class BayesianGaussianMixture(Mixture):
    """A mixture of Gaussians with priors (1): needless components fade away.

    Parameters
    ----------
    n_components : int, default=1
        The most components.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
    tol : float, default=1e-3
        Stop when the lower bound changes by less.
    reg_covar : float, default=1e-6
    max_iter : int, default=100
    n_init : int, default=1
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}, default="kmeans"
    weight_concentration_prior_type : {"dirichlet_process", "dirichlet_distribution"}
        Sticks, which prefer few components, or a Dirichlet distribution.
    weight_concentration_prior : float or None, default=None
        α₀; None means 1/K. The smaller, the fewer components.
    mean_precision_prior : float or None, default=None
        κ₀; None means 1.
    mean_prior : array-like of shape (n_features,), default=None
        m₀; None means the mean of X.
    degrees_of_freedom_prior : float or None, default=None
        ν₀; None means p.
    covariance_prior : float or array-like, default=None
        S₀; None means the covariance of X.
    random_state : int, RandomState instance or None, default=None
    warm_start : bool, default=False
    verbose, verbose_interval : int
        If `verbose`, every `verbose_interval`-th step writes a line on standard output.
    missing : {"error", "marginalise"}, default="error"
        Whether NaN is refused, or left out of the likelihood (at the expected precision).

    Attributes
    ----------
    weights_, means_, covariances_, precisions_, precisions_cholesky_ : ndarray
        As in `GaussianMixture`: expected weights and means; Σ of (3).
    weight_concentration_ : tuple or ndarray
        (a, b) of sticks, or α, (4).
    mean_precision_, degrees_of_freedom_ : ndarray
        κ and ν.
    converged_, n_iter_, lower_bound_, lower_bounds_
        As in `GaussianMixture`; the bound is the variational one.

    References
    ----------
    Attias: A variational Bayesian framework for graphical models. NIPS 12 (2000).
    Blei, Jordan: Variational inference for Dirichlet process mixtures. Bayesian Analysis 1 (2006).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [4, 2], [12, 4], [10, 7]])
    >>> model = BayesianGaussianMixture(n_components=2, random_state=42).fit(X)
    >>> model.means_.round(2)
    array([[2.5 , 2.29],
           [8.46, 4.52]])
    """

    card = GaussianMixture.card.but(
        page="bayesian-mixture",
        checks="bayesian_mixture",
        use="mixtures whose number of components is not known",
        good="needless components fade; priors keep small groups from collapsing",
        bad="priors matter where rows are few; underestimates uncertainty",
        instead="GaussianMixture with BIC",
    )

    _parameter_constraints = {
        **Mixture._parameter_constraints,
        "weight_concentration_prior_type": [
            StrOptions({"dirichlet_process", "dirichlet_distribution"})
        ],
        "weight_concentration_prior": [None, POSITIVE],
        "mean_precision_prior": [None, POSITIVE],
        "mean_prior": [None, "array-like"],
        "degrees_of_freedom_prior": [None, POSITIVE],
        "covariance_prior": [None, "array-like", POSITIVE],
    }

    def __init__(
        self,
        *,
        n_components=1,
        covariance_type="full",
        tol=1e-3,
        reg_covar=1e-6,
        max_iter=100,
        n_init=1,
        init_params="kmeans",
        weight_concentration_prior_type="dirichlet_process",
        weight_concentration_prior=None,
        mean_precision_prior=None,
        mean_prior=None,
        degrees_of_freedom_prior=None,
        covariance_prior=None,
        random_state=None,
        warm_start=False,
        verbose=0,
        verbose_interval=10,
        missing="error",
    ):
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weight_concentration_prior_type = weight_concentration_prior_type
        self.weight_concentration_prior = weight_concentration_prior
        self.mean_precision_prior = mean_precision_prior
        self.mean_prior = mean_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.covariance_prior = covariance_prior
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.missing = missing

    def _check_start(self, X, w):
        """Set the priors (1)."""
        p, kind = X.shape[1], self.covariance_type
        self.weight_concentration_prior_ = self.weight_concentration_prior or 1 / self.n_components
        self.mean_precision_prior_ = self.mean_precision_prior or 1.0
        if self.mean_prior is None:
            self.mean_prior_ = mean_of_known(X, w)
        else:
            self.mean_prior_ = check_array(self.mean_prior, dtype=np.float64, ensure_2d=False)
            require_shape(self.mean_prior_, (p,), "means")
        freedom = self.degrees_of_freedom_prior
        if freedom is not None and freedom <= p - 1:
            raise ValueError(
                f"The parameter 'degrees_of_freedom_prior' should be greater than {p - 1}, but got "
                f"{freedom:.3f}."
            )
        self.degrees_of_freedom_prior_ = p if freedom is None else freedom
        self.covariance_prior_ = self._covariance_prior(X, w, kind)

    def _covariance_prior(self, X, w, kind):
        """S₀ of the kind's shape."""
        p, given = X.shape[1], self.covariance_prior
        if given is None:
            whole = kind in ("full", "tied")
            scatter, weight = scatter_of_known(X, w, mean_of_known(X, w), whole)
            if whole:
                return scatter / unbiased(w.sum())
            variance = scatter / unbiased(weight)
            return variance if kind == "diag" else float(variance.mean())
        if kind == "spherical":
            return given
        given = check_array(given, dtype=np.float64, ensure_2d=False)
        require_shape(given, (p,) if kind == "diag" else (p, p), f"{kind} covariance_prior")
        if kind == "diag":
            if not (given > 0.0).all():
                raise ValueError(f"'{kind} precision' should be positive")
        elif not (np.allclose(given, given.T) and (np.linalg.eigvalsh(given) > 0.0).all()):
            raise ValueError(f"'{kind} precision' should be symmetric, positive-definite")
        return given

    def _start(self, X, w, random):
        mu, moments = self._first_moments(X, w, random)
        moments = moments._replace(N=moments.N + 10 * np.finfo(float).eps)
        S = self._first_covariances(X, w, mu, moments)
        return self._maximised(moments.N, mu, S)

    def _attributes(self):
        return {name: getattr(self, name) for name in (*PARAMETERS, "weights_")}

    def _maximised(self, N, mean, S):
        """Updates (3) and (4)."""
        k0, m0, kind, K = self.mean_precision_prior_, self.mean_prior_, self.covariance_type, len(N)
        kappa, d = k0 + N, mean - m0
        if self.weight_concentration_prior_type == "dirichlet_process":
            after = np.hstack((np.cumsum(N[::-1])[-2::-1], 0))
            concentration = (1.0 + N, self.weight_concentration_prior_ + after)
        else:
            concentration = self.weight_concentration_prior_ + N
        nu = self.degrees_of_freedom_prior_ + (N.sum() / K if kind == "tied" else N)
        if kind == "full":
            outer = d[:, :, None] * d[:, None, :]
            S = N[:, None, None] * (S + (k0 / kappa)[:, None, None] * outer)
            S = (self.covariance_prior_ + S) / nu[:, None, None]
        elif kind == "tied":
            S = self.covariance_prior_ + S * N.sum() / K + k0 / K * (N / kappa * d.T) @ d
            S /= nu
        elif kind == "diag":
            S = self.covariance_prior_ + N[:, None] * (S + (k0 / kappa)[:, None] * d**2)
            S /= nu[:, None]
        else:
            S = (self.covariance_prior_ + N * (S + k0 / kappa * (d**2).mean(axis=1))) / nu
        return {
            "weight_concentration_": concentration,
            "mean_precision_": kappa,
            "means_": (k0 * m0 + N[:, None] * mean) / kappa[:, None],
            "degrees_of_freedom_": nu,
            "covariances_": S,
            "precisions_cholesky_": precision_triangles(S, kind),
            "weights_": self._expected_weights(concentration),
        }

    def _expected_weights(self, concentration):
        """E[π]"""
        if self.weight_concentration_prior_type == "dirichlet_process":
            a, b = concentration
            weights = a / (a + b) * np.hstack((1, np.cumprod((b / (a + b))[:-1])))
            return weights / weights.sum()
        return concentration / concentration.sum()

    def _log_weights(self, attributes):
        """E[log π], and the terms of (2) that do not depend on x beyond those of a Gaussian."""
        concentration = attributes["weight_concentration_"]
        if self.weight_concentration_prior_type == "dirichlet_process":
            a, b = concentration
            whole = digamma(a + b)
            left = np.hstack((0, np.cumsum(digamma(b) - whole)[:-1]))
            log_weights = digamma(a) - whole + left
        else:
            log_weights = digamma(concentration) - digamma(concentration.sum())
        nu, p = attributes["degrees_of_freedom_"], attributes["means_"].shape[1]
        halves = 0.5 * (nu - np.arange(p)[:, None])
        log_det = p * np.log(2.0) + digamma(halves).sum(axis=0)
        return log_weights + 0.5 * (log_det - p / attributes["mean_precision_"] - p * np.log(nu))

    def _bound(self, moments, weight, attributes):
        """The lower bound on the evidence, up to a constant."""
        mu, nu = attributes["means_"], attributes["degrees_of_freedom_"]
        p = mu.shape[1]
        bells = Bells.of(mu, attributes["precisions_cholesky_"], self.covariance_type)
        log_det = bells.log_determinants() - 0.5 * p * np.log(nu)
        wishart = -(
            nu * log_det
            + nu * p * 0.5 * math.log(2.0)
            + gammaln(0.5 * (nu - np.arange(p)[:, None])).sum(axis=0)
        )
        if self.weight_concentration_prior_type == "dirichlet_process":
            log_norm = -betaln(*attributes["weight_concentration_"]).sum()
        else:
            alpha = attributes["weight_concentration_"]
            log_norm = gammaln(alpha.sum()) - gammaln(alpha).sum()
        kappa = attributes["mean_precision_"]
        return float(-moments.out[1] - wishart.sum() - log_norm - 0.5 * p * np.log(kappa).sum())
