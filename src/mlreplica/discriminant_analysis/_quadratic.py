r"""Quadratic discriminant analysis: a Gaussian of its own shape for every class

With N(μ_k, Σ_k) the quadratic term of Bayes's rule no longer cancels. The class of x has the
largest

    f_k(x) = log π_k − ½ (x − μ_k)ᵀΣ_k⁻¹(x − μ_k) − ½ log det Σ_k                         (1)

so boundaries are conics. By the axes of each class, Σ_k = V_k diag(λ_k) V_kᵀ,

    (x − μ)ᵀΣ⁻¹(x − μ) = ‖Wᵀ(x − μ)‖²,    W = V diag(λ)^{-½},    log det Σ = Σ_j log λ_j   (2)

Columns of very different sizes are divided by their deviations first, Σ = D Σ' D, as the axes of Σ
would lose the digits of the small ones: W = D⁻¹V' diag(λ')^{-½}, and log det Σ gains 2 Σ log d_j.
Each class needs more rows than there are columns, or its λ must be kept from zero: by
(1 − r) λ + r (`reg_param`), or by a shrunk covariance.
"""

from itertools import pairwise
from numbers import Real

import numpy as np
from scipy import linalg
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import HasMethods, Interval, StrOptions, _fit_context
from mlreplica.core.rows.axes import centred_product, eigenpairs, principal_axes
from mlreplica.core.validation import ValidatedOnce, new_rows, refuse_overflow

from ._classes import class_rows, covariance_of, prior_of

UNEVEN = 1e-8  # λ_p/λ_1 below which columns are scaled before their axes are found


class QuadraticDiscriminantAnalysis(ValidatedOnce, ClassifierMixin, BaseEstimator):
    """Classes as Gaussians, each with its own covariance: (1).

    Parameters
    ----------
    solver : {"svd", "eigen"}, default="svd"
        Principal axes of the rows of each class, or of a covariance matrix, which may be shrunk.
    shrinkage : "auto", float or None, default=None
        Share by which each covariance is pulled to a multiple of the identity; "auto" for that of
        Ledoit and Wolf. For "eigen".
    priors : array-like of shape (n_classes,), default=None
        π; the shares of the classes by default.
    reg_param : float, default=0.0
        r of (1 − r) λ + r. With r > 0 a class may have fewer rows than there are columns.
    store_covariance : bool, default=False
        Keep the covariance matrices.
    tol : float, default=1e-4
        A variance λ that is not larger counts as zero, which is an error.
    covariance_estimator : covariance estimator, default=None
        Estimates each Σ_k. For "eigen".

    Attributes
    ----------
    covariance_ : list of ndarray of shape (n_features, n_features)
        Σ_k, if they were kept.
    means_ : ndarray of shape (n_classes, n_features)
        μ.
    priors_ : ndarray of shape (n_classes,)
        π.
    rotations_, scalings_ : list of ndarray of shape (n_features, n_features), (n_features,)
        V_k and λ_k of (2).
    whitening_ : ndarray of shape (n_classes, n_features, n_features)
        W_k of (2).
    log_det_ : ndarray of shape (n_classes,)
        log det Σ_k.
    classes_ : ndarray of shape (n_classes,)
        Names of the classes.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.discriminant_analysis import QuadraticDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> QuadraticDiscriminantAnalysis().fit(X, y).score(X, y)
    0.98
    """

    card = Card(
        page="quadratic-discriminant",
        checks="quadratic",
        use="classes of several shapes, with more rows in each than columns",
        good="one pass over the rows; curved boundaries; probabilities",
        bad="p²/2 numbers per class to be estimated; sensitive to outliers",
        time="O(n p² + K p³)",
        memory="O(K p²)",
        rescaling="not needed, unless shrinkage or reg_param is used",
        instead="LinearDiscriminantAnalysis for few rows, GaussianNB for very few",
    )

    _parameter_constraints = {
        "solver": [StrOptions({"svd", "eigen"})],
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both"), None],
        "priors": ["array-like", None],
        "reg_param": [Interval(Real, 0, 1, closed="both")],
        "store_covariance": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "covariance_estimator": [HasMethods("fit"), None],
    }

    def __init__(
        self,
        *,
        solver="svd",
        shrinkage=None,
        priors=None,
        reg_param=0.0,
        store_covariance=False,
        tol=1.0e-4,
        covariance_estimator=None,
    ):
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.reg_param = reg_param
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    @_fit_context(prefer_skip_nested_validation=True)
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
        self : QuadraticDiscriminantAnalysis
        """
        X, code, s = class_rows(self, X, y, sample_weight)
        K = len(self.classes_)
        if K < 2:
            raise ValueError(f"The number of classes has to be greater than one. Got {K} class.")
        if self.solver == "svd" and self.shrinkage is not None:
            raise NotImplementedError("shrinkage not supported with 'svd' solver.")
        if self.solver == "svd" and self.covariance_estimator is not None:
            raise ValueError(
                "covariance_estimator is not supported with solver='svd'. "
                "Try solver='eigen' instead."
            )
        counts = np.bincount(code, weights=s, minlength=K)
        self.priors_ = prior_of(self.priors, counts, np.float64)
        order = np.argsort(code, kind="stable")
        ends = [0, *np.cumsum(np.bincount(code, minlength=K)).tolist()]
        with np.errstate(over="ignore"):
            found = [
                self._class_axes(k, X[order[a:b]], None if s is None else s[order[a:b]])
                for k, (a, b) in enumerate(pairwise(ends))
            ]
        means, self.scalings_, axes, whitening, log_det = map(list, zip(*found, strict=True))
        self.means_, self.rotations_ = np.array(means), [V.T for V in axes]
        self.whitening_, self.log_det_ = np.array(whitening), np.array(log_det)
        refuse_overflow(self, log_det_=self.log_det_)
        if self.store_covariance:
            self.covariance_ = [
                (V.T * scaling) @ V for scaling, V in zip(self.scalings_, axes, strict=True)
            ]
        return self

    def _class_axes(self, k, X, s):
        """μ, λ, V, W and log det Σ of one class: (2)"""
        n, p = X.shape
        name = self.classes_[k]
        if n == 1 and (s is None or s[0] <= 1):  # a larger weight is a row repeated
            raise ValueError(f"y has only 1 sample in class {name}, covariance is ill defined.")
        if self.solver == "svd":
            axes = principal_axes(X, s, keep=min(n, p))
            mean, V = axes.mean, axes.V
            scaling = axes.sigma**2 / axes.n
            if len(V) < p and self.reg_param > 0:  # any axes do where all λ are equal
                V = np.vstack([V, linalg.qr(V.T)[0].T[len(V) :]])
                scaling = np.append(scaling, np.zeros(p - len(scaling)))
            if self.reg_param > 0:
                scaling = (1 - self.reg_param) * scaling + self.reg_param
        else:
            mean = X.mean(axis=0) if s is None else s @ X / s.sum()
            scaling, V = eigenpairs(covariance_of(X, s, self.shrinkage, self.covariance_estimator))
        if len(scaling) < p or not scaling[-1] > self.tol:
            few = self.solver == "svd" and n <= p
            advice = (
                "When using `solver='svd'` the number of samples in each class should be more than "
                f"the number of features, but class {name} has {n} samples and {p} features. Try "
                "using `solver='eigen'` and setting the parameter `shrinkage` for regularization."
                if few
                else "Increase the value of "
                f"`{'shrinkage' if self.solver == 'eigen' else 'reg_param'}` to reduce the "
                "collinearity."
            )
            raise linalg.LinAlgError(
                f"The covariance matrix of class {name} is not full rank. {advice}"
            )
        if self.solver == "svd" and self.reg_param == 0 and scaling[-1] < UNEVEN * scaling[0]:
            even = principal_axes(X, s, keep=p, scaled=True)
            deviation = even.sigma / np.sqrt(even.n)
            log_det = 2.0 * (np.log(deviation).sum() + np.log(even.scale).sum())
            return mean, scaling, V, (even.V / even.scale).T / deviation, log_det
        return mean, scaling, V, V.T / np.sqrt(scaling), np.log(scaling).sum()

    def _scores(self, X):
        """(1) for every class"""
        if "log_det_" not in vars(self):
            check_is_fitted(self)
        X = new_rows(self, X)
        if len(X) == 1:  # all classes at once
            Z = (X - self.means_)[:, None] @ self.whitening_
            f = (Z * Z).sum(axis=2).T
        else:
            f = np.empty((len(X), len(self.classes_)))
            for k, (mean, W) in enumerate(zip(self.means_, self.whitening_, strict=True)):
                Z = centred_product(X, mean, W)
                f[:, k] = np.einsum("ij,ij->i", Z, Z)
        with np.errstate(divide="ignore"):
            return np.log(self.priors_) - 0.5 * (f + self.log_det_)

    def decision_function(self, X):
        """Scores (1) of each row; of two classes, their difference, > 0 for the second.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        f = self._scores(X)
        return f[:, 1] - f[:, 0] if f.shape[1] == 2 else f

    def predict(self, X):
        """The class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        best = self._scores(X).argmax(axis=1)
        return self.classes_[best]

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
        return log_softmax(self._scores(X), axis=1)

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
        return np.exp(self.predict_log_proba(X))
