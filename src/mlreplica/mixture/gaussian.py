"""GaussianMixture: the estimator over `em.py`"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cholesky
from sklearn.utils import check_array

from mlreplica.core.card import Card

from .base import Mixture, require_shape
from .em import precision_triangles


def checked_weights(weights, K):
    """K numbers from 0 to 1 that add up to 1."""
    weights = check_array(weights, dtype=np.float64, ensure_2d=False)
    require_shape(weights, (K,), "weights")
    if weights.min() < 0.0 or weights.max() > 1.0:
        raise ValueError(
            "The parameter 'weights' should be in the range [0, 1], but got max value "
            f"{weights.min():.5f}, min value {weights.max():.5f}"
        )
    if abs(1.0 - weights.sum()) > 1e-6:
        raise ValueError(
            "The parameter 'weights' should be normalized, but got sum(weights) = "
            f"{weights.sum():.5f}"
        )
    return weights


def checked_precisions(precisions, kind, K, p):
    """Precisions of the kind's shape, positive definite."""
    precisions = check_array(precisions, dtype=np.float64, ensure_2d=False, allow_nd=kind == "full")
    shape = {"full": (K, p, p), "tied": (p, p), "diag": (K, p), "spherical": (K,)}[kind]
    require_shape(precisions, shape, f"{kind} precision")
    if kind in ("diag", "spherical"):
        if not (precisions > 0.0).all():
            raise ValueError(f"'{kind} precision' should be positive")
        return precisions
    for P in precisions if kind == "full" else precisions[None]:
        if not (np.allclose(P, P.T) and (np.linalg.eigvalsh(P) > 0.0).all()):
            raise ValueError(f"'{kind} precision' should be symmetric, positive-definite")
    return precisions


def triangles_of_precisions(precisions, kind):
    """U with Σ⁻¹ = U Uᵀ, upper, from Σ⁻¹."""
    if kind in ("diag", "spherical"):
        return np.sqrt(precisions)

    def upper(P):
        return cholesky(P[::-1, ::-1], lower=True)[::-1, ::-1]

    return np.stack([upper(P) for P in precisions]) if kind == "full" else upper(precisions)


def covariances_of_triangles(U, kind):
    """Σ from U."""
    if kind in ("diag", "spherical"):
        return U**-2.0
    inverse = np.linalg.inv(U)
    return np.swapaxes(inverse, -1, -2) @ inverse


class GaussianMixture(Mixture):
    """A density made of K Gaussian bells, fitted by EM: objective (1).

    Parameters
    ----------
    n_components : int, default=1
        K, the number of bells.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        A matrix per bell, one for all, a variance per bell and column, a variance per bell.
    tol : float, default=1e-3
        Stop when the mean log-likelihood changes by less.
    reg_covar : float, default=1e-6
        Added to the variances, so that no bell shrinks to a point.
    max_iter : int, default=100
        The most steps of EM.
    n_init : int, default=1
        Starts, of which the best is kept.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}, default="kmeans"
        Where responsibilities of the first step come from.
    weights_init, means_init, precisions_init : array-like, default=None
        Parameters to start from.
    random_state : int, RandomState instance or None, default=None
    warm_start : bool, default=False
        Whether to start from the last fit.
    verbose, verbose_interval : int
        If `verbose`, every `verbose_interval`-th step writes a line on standard output.
    missing : {"error", "marginalise"}, default="error"
        Whether NaN is refused, or left out of the likelihood exactly.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
    means_ : ndarray of shape (n_components, n_features)
    covariances_, precisions_, precisions_cholesky_ : ndarray
        Of the shape that `covariance_type` asks for.
    converged_ : bool
    n_iter_ : int
        Steps of the best start.
    lower_bound_ : float
        Mean log-likelihood before the last step.
    lower_bounds_ : list of float
        The same for every step.

    References
    ----------
    Dempster, Laird, Rubin: Maximum likelihood from incomplete data via the EM algorithm. JRSS B 39
    (1977), 1–38.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = GaussianMixture(n_components=2, random_state=0).fit(X)
    >>> model.means_
    array([[10.,  2.],
           [ 1.,  2.]])
    >>> model.predict([[0, 0], [12, 3]])
    array([1, 0])
    """

    card = Card(
        page="gaussian-mixture",
        checks="mixture",
        input="rows",
        cheap=lambda: {"n_components": 2, "max_iter": 2, "tol": 10.0},
        use="elliptical groups that overlap, and densities of continuous columns",
        good="probabilities of groups; a density to score and to draw from; BIC chooses K",
        bad="local maxima; many parameters in many columns",
        time="O(n K p²) per step, O(n K p) with diagonal covariances",
        memory="O(K p²) besides X, which is not copied",
        rescaling="not needed with full or tied covariances, but for reg_covar; else as in k-means",
        missing="refused unless missing='marginalise', which leaves them out of the likelihood",
        instead="KMeans for round groups, HDBSCAN for other shapes",
    )

    _parameter_constraints = {
        **Mixture._parameter_constraints,
        "weights_init": ["array-like", None],
        "means_init": ["array-like", None],
        "precisions_init": ["array-like", None],
    }

    def __init__(
        self,
        n_components=1,
        *,
        covariance_type="full",
        tol=1e-3,
        reg_covar=1e-6,
        max_iter=100,
        n_init=1,
        init_params="kmeans",
        weights_init=None,
        means_init=None,
        precisions_init=None,
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
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.missing = missing

    def _check_start(self, X, w):
        """The parameters that the user starts from, checked."""
        K, p = self.n_components, X.shape[1]
        self._given = {}
        if self.weights_init is not None:
            self._given["weights_"] = checked_weights(self.weights_init, K)
        if self.means_init is not None:
            means = check_array(self.means_init, dtype=np.float64, ensure_2d=False)
            require_shape(means, (K, p), "means")
            self._given["means_"] = means
        if self.precisions_init is not None:
            kind = self.covariance_type
            precisions = checked_precisions(self.precisions_init, kind, K, p)
            U = triangles_of_precisions(precisions, kind)
            self._given |= {
                "precisions_cholesky_": U,
                "covariances_": covariances_of_triangles(U, kind),
            }

    def _start(self, X, w, random):
        """Attributes before the first step."""
        if len(self._given) == 4:
            return self._given
        mu, moments = self._first_moments(X, w, random)
        N = moments.N + 10 * np.finfo(float).eps
        start = {"weights_": N / w.sum(), "means_": mu}
        if "covariances_" not in self._given:
            moments = moments._replace(N=N)
            S = self._first_covariances(X, w, mu, moments)
            start["covariances_"] = S
            start["precisions_cholesky_"] = precision_triangles(S, self.covariance_type)
        return start | self._given

    def _attributes(self):
        names = ("weights_", "means_", "covariances_", "precisions_cholesky_")
        return {name: getattr(self, name).astype(np.float64) for name in names}

    def _maximised(self, N, mu, S):
        """The M-step."""
        return {
            "weights_": N / N.sum(),
            "means_": mu,
            "covariances_": S,
            "precisions_cholesky_": precision_triangles(S, self.covariance_type),
        }

    def _log_weights(self, attributes):
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(attributes["weights_"].astype(np.float64)), -1e30)

    def _bound(self, moments, weight, attributes):
        return float(moments.out[0] / weight)

    def _n_parameters(self):
        """Free numbers of the model."""
        K, p = self.means_.shape
        matrix = p * (p + 1) // 2
        spread = {"full": K * matrix, "tied": matrix, "diag": K * p, "spherical": K}
        return spread[self.covariance_type] + K * p + K - 1

    def bic(self, X):
        """Bayes' information criterion: smaller is better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        bic : float
        """
        scores = self.score_samples(X)
        return float(-2 * scores.sum() + self._n_parameters() * np.log(len(scores)))

    def aic(self, X):
        """Akaike's information criterion: smaller is better.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        aic : float
        """
        return float(-2 * self.score_samples(X).sum() + 2 * self._n_parameters())
