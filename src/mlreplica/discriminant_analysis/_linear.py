r"""Linear discriminant analysis: Gaussian classes of one shape

Class k has the share π_k of the rows and a Gaussian N(μ_k, Σ), with the same Σ for all. By Bayes's
rule the class of a point x is the one of largest

    log π_k + log N(x; μ_k, Σ) = log π_k − ½ (x − μ_k)ᵀΣ⁻¹(x − μ_k) + const               (1)

and as xᵀΣ⁻¹x is the same for every class, a linear function decides:

    f_k(x) = w_kᵀx + b_k,    w_k = Σ⁻¹μ_k,    b_k = log π_k − ½ μ_kᵀΣ⁻¹μ_k                (2)

The likelihood is largest for the means of the classes and the scatter about these,

    μ_k = mean of class k,    S_w = 1/n Σ_i s_i (x_i − μ_k(i))(x_i − μ_k(i))ᵀ             (3)

Fisher asks another question and gets the same directions: along which a do the means of the classes
lie far apart, measured by the spread within?

    maximise  aᵀS_b a / aᵀS_w a,    S_b = Σ_k π_k (μ_k − μ)(μ_k − μ)ᵀ                     (4)

Scale the columns to unit spread within, S_w = D V diag(λ) Vᵀ D, and turn: z = diag(λ)^{-½} VᵀD⁻¹x
has the identity for its scatter within, so that (4) asks for the principal axes of the means of z,

    M = [√π_k (z̄_k − z̄)] = P diag(ρ) Aᵀ,    directions  D⁻¹ V diag(λ)^{-½} A              (5)

of which there are at most K − 1. Directions with λ below `tol`² have no spread within and are left
out. Everything needed is in one pass over the rows (`core/rows/classes.py`).

Fisher, The use of multiple measurements in taxonomic problems (1936); Hastie, Tibshirani, Friedman,
The Elements of Statistical Learning (2009), section 4.3.
"""

from numbers import Integral, Real
from types import MethodType

import numpy as np
from scipy import linalg
from scipy.linalg import lapack
from scipy.special import expit, softmax
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import HasMethods, Interval, StrOptions, _fit_context
from mlreplica.core.linear import LinearScores
from mlreplica.core.rows.axes import centred_product, eigenpairs
from mlreplica.core.rows.classes import ClassMoments
from mlreplica.core.validation import ValidatedOnce, new_rows, refuse_overflow

from ._classes import class_rows, covariance_of, prior_of


class LinearDiscriminantAnalysis(
    ValidatedOnce,
    ClassNamePrefixFeaturesOutMixin,
    LinearScores,
    ClassifierMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Classes as Gaussians with one covariance: a linear classifier and a projection.

    Parameters
    ----------
    solver : {"svd", "lsqr", "eigen"}, default="svd"
        - "svd": whitening and principal axes of the means (5); directions without spread are left
          out, so columns may depend on each other.
        - "lsqr": solves Σ w_k = μ_k of (2); takes shrinkage; no projection.
        - "eigen": the eigenvalue problem of (4) as it stands; takes shrinkage.
    shrinkage : "auto", float or None, default=None
        Share by which the covariance is pulled to a multiple of the identity; "auto" for that of
        Ledoit and Wolf.
    priors : array-like of shape (n_classes,), default=None
        π; the shares of the classes by default.
    n_components : int, default=None
        Directions of `transform`, at most min(n_classes − 1, n_features), the default.
    store_covariance : bool, default=False
        Keep the covariance with the solver "svd", too.
    tol : float, default=1e-4
        Singular value, of columns with unit spread within, up to which a direction counts as
        having no spread. For "svd".
    covariance_estimator : covariance estimator, default=None
        Estimates Σ in the place of (3). Not for "svd".

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_classes, n_features)
        w of (2); of two classes, the difference.
    intercept_ : ndarray of shape (n_classes,)
        b of (2).
    covariance_ : ndarray of shape (n_features, n_features)
        Σ, if it was kept.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Shares of the spread between, after whitening.
    means_ : ndarray of shape (n_classes, n_features)
        μ.
    priors_ : ndarray of shape (n_classes,)
        π.
    scalings_ : ndarray of shape (n_features, rank)
        Directions of (5).
    xbar_ : ndarray of shape (n_features,)
        Mean of the means, by their priors. For "svd".
    classes_ : ndarray of shape (n_classes,)
        Names of the classes.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.discriminant_analysis import LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantAnalysis().fit(X, y)
    >>> model.score(X, y), model.explained_variance_ratio_.round(3)
    (0.98, array([0.991, 0.009]))
    """

    card = Card(
        page="linear-discriminant",
        cheap=lambda: {"n_components": 1},
        checks="linear",
        use="classes of about one shape; a picture in which they lie apart",
        good="one pass over the rows; no parameter to choose; probabilities; also a projection",
        bad="straight boundaries; means and one covariance must describe the classes",
        time="O(n p² + p³)",
        memory="O(p² + K p)",
        rescaling="not needed: the result does not change with the units of columns",
        instead="QuadraticDiscriminantAnalysis for classes of several shapes, LogisticRegression",
    )

    _parameter_constraints = {
        "solver": [StrOptions({"svd", "lsqr", "eigen"})],
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both"), None],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "priors": ["array-like", None],
        "store_covariance": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "covariance_estimator": [HasMethods("fit"), None],
    }

    def __init__(
        self,
        solver="svd",
        shrinkage=None,
        priors=None,
        n_components=None,
        store_covariance=False,
        tol=1e-4,
        covariance_estimator=None,
    ):
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_components = n_components
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Estimate the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            How many times each row counts.

        Returns
        -------
        self : LinearDiscriminantAnalysis
        """
        X, code, s = class_rows(self, X, y, sample_weight)
        (n, p), K = X.shape, len(self.classes_)
        if n == K:
            raise ValueError("The number of samples must be more than the number of classes.")
        most = min(K - 1, p)
        if self.n_components is not None and self.n_components > most:
            raise ValueError("n_components cannot be larger than min(n_features, n_classes - 1).")
        self._max_components = most if self.n_components is None else self.n_components
        if self.solver == "svd" and self.shrinkage is not None:
            raise NotImplementedError("shrinkage not supported with 'svd' solver.")
        if self.solver == "svd" and self.covariance_estimator is not None:
            raise ValueError(
                "covariance estimator is not supported with svd solver. Try another solver"
            )
        m = ClassMoments.of(X, code, K, s, scatter=True)
        refuse_overflow(self, covariance_=m.S)
        self.priors_ = prior_of(self.priors, m.n, X.dtype)
        self.means_ = m.mean.astype(X.dtype)
        pi = self.priors_.astype(np.float64)
        {"svd": self._whiten, "lsqr": self._solve, "eigen": self._eigen}[self.solver](
            X, code, s, m, pi
        )
        if K == 1:  # nothing to decide
            self.coef_, self.intercept_ = 0.0 * self.coef_, 0.0 * self.intercept_
        if K == 2:
            self.coef_ = self.coef_[1:] - self.coef_[:1]
            self.intercept_ = self.intercept_[1:] - self.intercept_[:1]
        for name in ("coef_", "intercept_", "scalings_", "xbar_", "explained_variance_ratio_"):
            if name in vars(self):
                setattr(self, name, getattr(self, name).astype(X.dtype, copy=False))
        return self

    def _covariance(self, X, code, s, m, pi):
        """Σ: the covariances of the classes, weighted by their priors."""
        if self.covariance_estimator is None and self.shrinkage is None and self.priors is None:
            return m.S / m.n.sum()
        total = 0.0
        for k, share in enumerate(pi):
            rows = code == k
            total = total + share * covariance_of(
                X[rows], None if s is None else s[rows], self.shrinkage, self.covariance_estimator
            )
        return total

    def _whiten(self, X, code, s, m, pi):
        """(5)"""
        n, K = m.n.sum(), len(pi)
        if self.store_covariance:
            self.covariance_ = self._covariance(X, code, s, m, pi)
        sq = np.maximum(m.S.diagonal() / n, 0.0)
        flat = sq <= 1e-28 * (m.mean**2).max(axis=0)
        d = np.sqrt(np.where(flat, 1.0, sq))
        C = m.S / n / d / d[:, None]
        if flat.any():
            C[flat] = C[:, flat] = 0.0
        whitening = whitening_of(C, max(self.tol, 1e-7) ** 2) / d[:, None]
        self.xbar_ = pi @ m.mean
        centres = m.mean - self.xbar_
        if not whitening.size:
            raise ValueError(
                "no column has any spread within the classes; add columns, or use another model."
            )
        scale = np.sqrt(n * pi / max(K - 1, 1))
        M = (scale[:, None] * centres) @ whitening
        _, rho, A, failed = lapack.dgesdd(M, full_matrices=0)
        if failed:
            raise np.linalg.LinAlgError("the singular values of the means did not converge.")
        total = float(rho @ rho)
        share = rho**2 / total if total > 0 else np.zeros_like(rho)
        self.explained_variance_ratio_ = share[: self._max_components]
        rank = int((rho > self.tol * rho[0]).sum())
        self.scalings_ = whitening @ A[:rank].T
        T = centres @ self.scalings_
        self.coef_ = T @ self.scalings_.T
        with np.errstate(divide="ignore"):
            self.intercept_ = np.log(pi) - 0.5 * (T * T).sum(axis=1) - self.coef_ @ self.xbar_

    def _solve(self, X, code, s, m, pi):
        """(2)"""
        self.covariance_ = self._covariance(X, code, s, m, pi)
        self._set_scores(linalg.lstsq(self.covariance_, m.mean.T)[0].T, m, pi)

    def _eigen(self, X, code, s, m, pi):
        """(4)"""
        self.covariance_ = S_w = self._covariance(X, code, s, m, pi)
        total = covariance_of(X, s, self.shrinkage, self.covariance_estimator)
        try:
            values, A = linalg.eigh(total - S_w, S_w)
        except linalg.LinAlgError as error:
            raise linalg.LinAlgError(
                "the covariance within the classes is singular (constant or dependent columns, or "
                "too few rows); give a shrinkage > 0 as a number, or use solver='svd'."
            ) from error
        down = np.argsort(-values, kind="stable")
        share = values[down] / (values.sum() or 1.0)
        self.explained_variance_ratio_ = share[: self._max_components]
        self.scalings_ = A[:, down]
        self._set_scores((m.mean @ A) @ A.T, m, pi)

    def _set_scores(self, coef, m, pi):
        """(2) from w"""
        self.coef_ = coef
        with np.errstate(divide="ignore"):
            self.intercept_ = np.log(pi) - 0.5 * (m.mean * coef).sum(axis=1)

    def transform(self, X):
        """Project rows on the directions along which the classes lie apart.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        T : ndarray of shape (n_samples, n_components)
        """
        if "scalings_" not in vars(self):
            check_is_fitted(self)
        X = new_rows(self, X)
        origin = self.xbar_ if self.solver == "svd" else np.zeros(X.shape[1], dtype=X.dtype)
        return centred_product(X, origin, self.scalings_[:, : self._max_components])

    def predict_proba(self, X):
        """The probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        f = self.decision_function(X)
        if len(self.classes_) == 1:
            return np.ones((len(f), 1), dtype=f.dtype)
        if f.ndim == 1:
            return np.stack([expit(-f), expit(f)], axis=1)
        return softmax(f, axis=1)

    def predict_log_proba(self, X):
        """The logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        log_P : ndarray of shape (n_samples, n_classes)
        """
        P = self.predict_proba(X)
        return np.log(np.maximum(P, np.finfo(P.dtype).smallest_normal))

    @property
    def _n_features_out(self):
        """Number of directions, by which they are named."""
        return self._max_components


def whitening_of(C, least):
    """W (p, r) with WᵀC W = I along the axes of C with λ > `least`.

    Where all are larger by far, Cholesky's factor does, at a thirtieth of the cost of axes: (5)
    turns W anyway.
    """
    L, failed = lapack.dpotrf(C, lower=1, clean=1)
    if not failed:
        size = np.abs(C).sum(axis=0).max()
        if size * lapack.dpocon(L, size, uplo="L")[0] > 100.0 * least:
            return lapack.dtrtri(L, lower=1)[0].T
    values, V = eigenpairs(C)
    keep = values > least
    return V[keep].T / np.sqrt(values[keep])


class NoDirectionsError(AttributeError, NotImplementedError):
    """A solver that finds no directions was asked for a projection."""


class Projecting:
    """A method that a model has if its solver finds directions to project on."""

    def __init__(self, method):
        self.method = method

    def __get__(self, model, owner=None):
        if model is None:
            return self.method
        if model.solver == "lsqr":
            name = self.method.__name__
            raise NoDirectionsError(
                f"{name} not implemented for 'lsqr' solver (use 'svd' or 'eigen')."
            )
        return MethodType(self.method, model)


# after the class, which wraps both for `set_output` and would hide the condition
for method in (LinearDiscriminantAnalysis.transform, TransformerMixin.fit_transform):
    setattr(LinearDiscriminantAnalysis, method.__name__, Projecting(method))
