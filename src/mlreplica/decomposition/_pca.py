r"""Principal component analysis: the directions along which rows spread most

In five steps, for rows x_1, …, x_n with p columns. **Centre**, and perhaps **standardise**:

    z_ij = (x_ij − m_j) / d_j,    m_j the mean, d_j = 1 or the standard deviation        (1)

**Covariance.** With C = 1/(n−1) Σ_i z_i z_iᵀ, the variance along a unit vector v is vᵀC v.   (2)
**Eigenvectors.** The unit vector of largest variance, then the one of largest variance at right
angles to it, and so on, are the eigenvectors of C, and the variances are its eigenvalues:

    C v_j = λ_j v_j,    λ_1 ≥ λ_2 ≥ … ≥ 0                                                (3)

**Choose** k so that the share λ_1 + … + λ_k of the total variance is large enough, or by the
likelihood below. **Project:**

    t_ij = z_iᵀv_j,    and back   z_i ≈ Σ_{j≤k} t_ij v_j                                  (4)

The singular value decomposition of the rows does steps two and three at once and never squares:

    Z = U Σ Vᵀ    ⇒    C = V Σ²/(n−1) Vᵀ,    λ_j = σ_j²/(n−1),    T = Z V = U Σ          (5)

**Probabilistic PCA** (Tipping, Bishop 1999) takes z for a Gaussian with k free variances and one
for all other directions; the largest likelihood has σ² = the mean of λ_{k+1}, …, λ_p and

    z ~ N(0, W),    W = Σ_{j≤k} (λ_j − σ²) v_j v_jᵀ + σ² I                                (6)

Minka (2000) integrates its parameters out, by Laplace's approximation, so that k can be chosen by
the evidence: `n_components="mle"`.
"""

import math
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, RealNotInt, StrOptions, _fit_context
from mlreplica.core.compile.threads import one_blas_thread
from mlreplica.core.iterate import CallbackSupport, iterate
from mlreplica.core.linear import checked_weights, forget_names
from mlreplica.core.rows.axes import (
    FEW,
    Axes,
    axes_of_wide,
    first_moments,
    fixed_signs,
    moments_of,
    principal_axes,
)
from mlreplica.core.rows.products import Products
from mlreplica.core.rows.walk import is_sparse
from mlreplica.core.validation import (
    FLOATS,
    ValidatedOnce,
    is_plain_array,
    refuse_overflow,
    validate_data,
)

from ._bidiagonal import BLOCK, block_bidiagonal
from ._loadings import Loadings
from ._minka import minka
from ._projection import GaussianProjection, completed, lost_noise

SOLVERS = {"auto", "full", "covariance_eigh", "arpack", "randomized", "lanczos"}
LARGE = 1 << 20  # entries of a large matrix
SHARE = 5  # "auto" looks for a few directions only below min(n, p) / SHARE of them
DENSE = 500  # rows or columns up to which all singular values cost no more than a few
RESIDUAL = 1e-10
PASSES = 300
NULL = 1e-14  # σ_j/σ_1, or its square if squares were summed, below which v_j is only rounding


class PCA(ValidatedOnce, CallbackSupport, GaussianProjection, BaseEstimator):
    """Principal component analysis: (1) to (4), and its Gaussian model (6).

    Parameters
    ----------
    n_components : int, float, "mle" or None, default=None
        A number of components; a share of the variance in (0, 1), with as few components as reach
        it; "mle" for Minka's choice; None for all.
    copy : bool, default=True
        Kept for scikit-learn: X is never overwritten.
    whiten : bool, default=False
        Scale the components to unit variance. The Gaussian model of the rows, and with it `score`,
        does not depend on this; in scikit-learn it does.
    svd_solver : {"auto", "full", "covariance_eigh", "arpack", "randomized", "lanczos"}, \
default="auto"
        - "auto": products of columns (or of rows, if these are fewer) up to 2000 of them, followed
          by a triangle if a component would lose digits; for a few components of a larger matrix
          block Lanczos; otherwise "full".
        - "full": singular values of the triangle of the rows, without a copy of a tall X.
        - "covariance_eigh": (2) and (3) as they stand.
        - "lanczos", "arpack": block Lanczos, on a centred copy of a dense X, until the residual is
          at most `tol`. The second is the name of a library with another variant of the algorithm,
          to the same result.
        - "randomized": as many passes of block Lanczos as `iterated_power` says. Where Lanczos
          would fill the space of a tall X, these three are "full", without a copy.
    tol : float, default=0.0
        Residual, relative to the largest singular value, at which Lanczos stops; 0 for 1e-10.
    iterated_power : int or "auto", default="auto"
        Passes of "randomized" after the first; "auto" stops when the error is settled.
    n_oversamples : int, default=10
        Vectors of "randomized" beyond `n_components`.
    power_iteration_normalizer : {"auto", "QR", "LU", "none"}, default="auto"
        Kept for scikit-learn: blocks are always made orthonormal.
    random_state : int, RandomState instance or None, default=None
        The first block of vectors of "lanczos" and "randomized".
    standardize : bool, default=False
        Divide each column by its standard deviation: components of the correlation matrix.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        v_j, of length 1; the entry of largest modulus is positive.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        λ_j, and its share of the total variance.
    singular_values_ : ndarray of shape (n_components,)
        σ_j of (5).
    mean_ : ndarray of shape (n_features,)
        m.
    scale_ : ndarray of shape (n_features,) or None
        d, if the columns were standardised.
    n_components_ : int
        Components kept.
    n_samples_ : int or float
        Rows, or the sum of their weights.
    noise_variance_ : float
        σ² of (6).
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.decomposition import PCA
    >>> X, _ = load_iris(return_X_y=True)
    >>> PCA(n_components=2).fit(X).explained_variance_ratio_.round(4)
    array([0.9246, 0.0531])
    >>> PCA(n_components=0.99).fit(X).n_components_
    3
    """

    card = Card(
        page="pca",
        checks="projection",
        input="rows",
        use="fewer columns that keep most of the variance; a picture; removing noise",
        good="one pass over the rows; exact; orthogonal directions; a likelihood",
        bad="linear; large variance need not be what matters; every column enters every component",
        time="O(n p²), or O(n p) per component and pass",
        memory="O(p²): a tall X is not copied",
        rescaling="needed unless all columns have one unit: standardize=True",
        instead="TruncatedSVD for sparse rows, KernelPCA for curves, NMF for parts that add",
    )

    _parameter_constraints = {
        "n_components": [
            Interval(Integral, 0, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            StrOptions({"mle"}),
            None,
        ],
        "copy": ["boolean"],
        "whiten": ["boolean"],
        "svd_solver": [StrOptions(SOLVERS)],
        "tol": [Interval(Real, 0, None, closed="left")],
        "iterated_power": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
        "n_oversamples": [Interval(Integral, 1, None, closed="left")],
        "power_iteration_normalizer": [StrOptions({"auto", "QR", "LU", "none"})],
        "random_state": ["random_state"],
        "standardize": ["boolean"],
    }

    def __init__(
        self,
        n_components=None,
        *,
        copy=True,
        whiten=False,
        svd_solver="auto",
        tol=0.0,
        iterated_power: int | str = "auto",
        n_oversamples=10,
        power_iteration_normalizer="auto",
        random_state=None,
        standardize=False,
    ):
        self.n_components = n_components
        self.copy = copy
        self.whiten = whiten
        self.svd_solver = svd_solver
        self.tol = tol
        self.iterated_power = iterated_power
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state
        self.standardize = standardize

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Find the components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            How many times each row counts.

        Returns
        -------
        self : PCA
        """
        self._fit(X, sample_weight)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X, y=None, sample_weight=None):
        """Find the components and give those of the training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            How many times each row counts.

        Returns
        -------
        T : ndarray of shape (n_samples, n_components)
            (4), one row per row.
        """
        return self._project(self._fit(X, sample_weight))

    def _fit(self, X, sample_weight):
        """Fit, and return X as it was used."""
        if is_sparse(X) and self.svd_solver in {"full", "randomized"}:
            raise TypeError(
                'PCA only support sparse inputs with the "arpack" and "covariance_eigh" solvers, '
                f'while "{self.svd_solver}" was passed. See TruncatedSVD for a possible '
                "alternative."
            )
        m, finite = None, False
        if sample_weight is None and self.svd_solver in {"auto", "covariance_eigh"} and is_tall(X):
            with np.errstate(over="ignore", invalid="ignore"):
                m = moments_of(X)
                finite = m.finite()  # then X is so, too
        if finite or is_plain_array(X, contiguous=False):
            forget_names(self, X)
        else:
            X = validate_data(self, X, dtype=FLOATS, accept_sparse=("csr", "csc"))
        s = None if sample_weight is None else checked_weights(sample_weight, X)
        if s is not None and not s.all():
            X_all, X, s = X, X[s > 0], s[s > 0]
        else:
            X_all = X
        if X.shape[0] == 0:
            raise ValueError("all sample_weight are zero; give some row a positive weight.")
        most = min(counted_rows(X, s), X.shape[1])
        k, solver = self._plan(X, most)
        if solver == "lanczos":
            with one_blas_thread():  # all products but those with X are small
                axes, total = self._few(X, s, k, most)
        else:
            axes, total = self._all(X, s, k, solver, m), None
        vars(self).update(self._attributes(X.dtype, axes, total, most))
        return X_all

    def _plan(self, X, most):
        """How many components are certainly asked for (0: not known), and the solver."""
        k, solver = self.n_components, self.svd_solver
        if solver == "arpack" or (solver == "auto" and is_sparse(X)):
            solver = "lanczos"
        partial = solver in {"lanczos", "randomized"}
        if k is None:
            k = most - (self.svd_solver != "randomized" and partial and most > 1)
        if isinstance(k, str):
            if most < X.shape[1]:
                raise ValueError("n_components='mle' is only supported if n_samples >= n_features")
            if partial:
                raise ValueError(
                    f"n_components='mle' cannot be a string with svd_solver='{self.svd_solver}'"
                )
        elif partial and not 1 <= k <= most - (self.svd_solver == "arpack"):
            raise ValueError(
                f"n_components={k!r} must be "
                + (
                    f"strictly less than min(n_samples, n_features)={most}"
                    if k == most
                    else f"between 1 and min(n_samples, n_features)={most}"
                )
                + f" with svd_solver='{self.svd_solver}'"
            )
        elif not 0 <= k <= most:
            name = "full" if solver == "auto" else solver
            raise ValueError(
                f"n_components={k} must be between 0 and min(n_samples, n_features)={most} with "
                f"svd_solver='{name}'"
            )
        count = k if isinstance(k, Integral) else 0
        if solver == "auto" and most > FEW:
            solver = "lanczos" if 0 < count < most / SHARE else "full"
        return count, "lanczos" if partial else solver

    def _all(self, X, s, k, solver, m):
        """Every axis of the rows, whose moments m may be known."""
        n, p = X.shape
        if n >= p or (solver == "covariance_eigh" and p <= FEW) or is_sparse(X):
            keep = k if solver == "auto" else 0
            exact, scaled = solver == "full", self.standardize
            axes = principal_axes(X, s, keep=keep, exact=exact, scaled=scaled, m=m)
        else:
            axes = axes_of_wide(X, s, self.standardize, k, solver != "full")
        return axes._replace(sigma=axes.sigma[: min(n, p)], V=axes.V[: min(n, p)])

    def _few(self, X, s, k, most_axes):
        """The k leading axes by block Lanczos, and the total variance times n − 1."""
        randomized = self.svd_solver == "randomized"
        block = k + self.n_oversamples if randomized else max(BLOCK, min(k, 4 * BLOCK))
        settle = randomized and self.iterated_power == "auto"
        passes = 1 + (6 if settle else self.iterated_power) if randomized else PASSES
        most = block * passes if randomized else max(20 * block, 3 * k + 3 * block)
        small = most + block > min(X.shape) or (not randomized and min(X.shape) <= DENSE)
        if small and X.shape[0] >= X.shape[1]:  # and X may be tall: no copy
            axes = principal_axes(X, s, exact=True, scaled=self.standardize)
            total = float(axes.sigma @ axes.sigma)
            return axes._replace(sigma=axes.sigma[:k], V=axes.V[:k]), total
        n, mean, scale = first_moments(X, s, self.standardize)
        A = Products(X, mean, s, scale)
        if small:
            sigma, V = np.linalg.svd(A.times(np.eye(X.shape[1])), full_matrices=False)[1:]
            sigma = np.append(sigma, np.zeros(max(0, k - len(sigma))))
            return Axes(n, mean, scale, sigma[:k], V[:k]), A.norm_sq
        start = check_random_state(self.random_state).normal(size=(X.shape[1], block))
        found = block_bidiagonal(A, start, k, most, every=randomized)
        if settle:
            found = until_settled(found)

        def axes(state):
            return Axes(n, mean, scale, state.values, state.vectors()[1])

        state = iterate(
            self,
            found,
            max_iter=passes,
            tol=None if randomized else self.tol or RESIDUAL,
            watch="residual",
            unit="passes",
            advice=None if randomized else "raise tol, or use svd_solver='full'",
            publish=lambda s: self._attributes(X.dtype, axes(s), A.norm_sq, most_axes),
        )
        return axes(state), A.norm_sq

    def _attributes(self, dtype, axes, total, most):
        """The fitted attributes from axes, all of them unless `total` is given."""
        sigma, free = axes.sigma, max(axes.n - 1.0, 1.0)
        if total is None and len(sigma) < most:
            sigma = np.append(sigma, np.zeros(most - len(sigma)))
        with np.errstate(over="ignore"):
            variance = sigma**2 / free
            everything = variance.sum() if total is None else total / free
        if not math.isfinite(everything):
            refuse_overflow(self, explained_variance_=variance)
        share = variance / everything if everything > 0 else np.zeros_like(variance)
        k = len(sigma) if self.n_components is None else self.n_components
        if k == "mle":
            k = minka(variance, axes.n)
        elif 0 < k < 1:
            k = int(np.searchsorted(np.cumsum(share), k, side="right")) + 1
        k = min(int(k), len(sigma))
        rest = max(everything - variance[:k].sum(), 0.0) if total is not None else None
        noise = variance[k:].sum() if rest is None else rest
        least = np.sqrt(NULL) if self.svd_solver == "covariance_eigh" else NULL
        V = completed(axes.V, np.count_nonzero(sigma[:k] > least * sigma[:1]), k)
        return {
            "components_": fixed_signs(V).astype(dtype, copy=False),
            "explained_variance_": variance[:k].astype(dtype),
            "explained_variance_ratio_": share[:k].astype(dtype),
            "singular_values_": sigma[:k].astype(dtype),
            "mean_": axes.mean.astype(dtype, copy=False),
            "scale_": None if axes.scale is None else axes.scale.astype(dtype, copy=False),
            "n_components_": k,
            "noise_variance_": float(noise / (most - k)) if k < most else 0.0,
            "n_samples_": int(axes.n) if axes.n == int(axes.n) else axes.n,
            "_lost_noise": lost_noise(sigma[k:], axes.n, most - k),
        }

    def explain(self, feature_names=None):
        """Tell what the components are made of.

        Parameters
        ----------
        feature_names : list of str, default=None
            Names of the columns; those of `fit`, or x0, x1, …, by default.

        Returns
        -------
        Loadings
            A table of variances, shares, and loadings √λ_j v_j: of standardised columns, the
            correlation of each column with each component. Print it, or take its numbers.
        """
        return Loadings.of(self, feature_names)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = self.svd_solver not in {"full", "randomized"}
        return tags


def is_tall(X):
    """Whether X is so large, and tall, that a look at its entries costs like a product."""
    plain = type(X) is np.ndarray and X.ndim == 2 and X.dtype in FLOATS
    return plain and X.size > LARGE and len(X) >= X.shape[1] <= FEW


def counted_rows(X, s):
    """How many rows there are if a weight is a number of repetitions; none has weight 0."""
    return X.shape[0] if s is None else max(X.shape[0], int(s.sum()))


def until_settled(states, gain=1e-7):
    """States until the variance that they explain grows by no more than `gain` of itself."""
    before = 0.0
    for state in states:
        yield state
        now = float(state.values @ state.values)
        if now - before <= gain * now and np.isfinite(state.residual):
            return
        before = now
