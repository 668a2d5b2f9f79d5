r"""Kernel ridge regression: ridge regression on features that are never written down

    minimise over w:   P(w) = Σ_i s_i (y_i − φ(x_i)ᵀw)² + α ‖w‖²,    K(u, v) = φ(u)ᵀφ(v)     (1)

Half the gradient is zero where αw = Σ_i s_i (y_i − φ(x_i)ᵀw) φ(x_i): w is a combination of the
features of the rows, and only inner products are left,

    w = Σ_i c_i φ(x_i),    f(x) = Σ_i c_i K(x_i, x),    αc_i = s_i (y_i − f(x_i)).           (2)

With K_ij = K(x_i, x_j) and S = diag(s), the last equation is a linear system,

    G c = y,    G = K + αS⁻¹.                                                                (3)

A bias is one more feature, 1, whose weight is penalised like the others (the augmented kernel):

    K̃ = 1 + K,    f(x) = Σ_i c_i K(x_i, x) + b,    b = Σ_i c_i.                              (4)

The fitted values are Hy with the kernel hat matrix H = K G⁻¹ = I − αS⁻¹G⁻¹. As in ridge regression
the residual of row i in the fit without row i is r_i / (1 − H_ii), and α/s_i cancels:

    e_i = c_i / (G⁻¹)_ii.                                                                    (5)

How far is the minimum? Let c be any vector, ρ = y − Gc, and M = S^½ K S^½. P is quadratic, so

    P(c) − P* = ρᵀS^½ M (M + αI)⁻¹ S^½ρ ≤ Σ_i s_i ρ_i².                                      (6)

G = LLᵀ (Cholesky) exists unless K is singular to working precision and α next to nothing. Then
take G + δI with a small jitter δ, and walk from c = 0 to the shortest least-squares solution by

    c ← c + (G + δI)⁻¹ G (G + δI)⁻¹ (y − Gc),                                                (7)

which leaves the null space of G alone and multiplies the error along an eigenvector of eigenvalue
λ by 1 − λ²/(λ + δ)². If δ does not suffice, K is not semi-definite: there is no minimum, and the
solution of (3), by LDLᵀ, is a stationary point.

Saunders, Gammerman, Vovk, Ridge regression learning algorithm in dual variables (1998);
Zaki, Meira, Data Mining and Machine Learning (2020), section 23.5.
"""

import warnings
from contextlib import nullcontext
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import blas, lapack
from sklearn.base import (
    BaseEstimator,
    MultiOutputMixin,
    RegressorMixin,
)

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    Interval,
    StrOptions,
    _check_sample_weight,
    _fit_context,
)
from mlreplica.core.compile.threads import one_blas_thread
from mlreplica.core.formulas.kernel_words import (
    WORDS,
    from_words,
    is_precomputed,
    square,
)
from mlreplica.core.validation import new_rows, refuse_overflow, validate_data

__all__ = ["KernelRidge"]

EPS = np.finfo(float).eps
JITTER = 1e-9  # of the trace of G: far above rounding, so that (7) keeps its digits
SMALL = 500  # rows up to which threads of BLAS cost more than they give
CORRECTIONS = 4  # steps of (7): what is left along λ ≥ 100 δ is below 1e-6


class KernelRidgeSolution(NamedTuple):
    """c (n, q), a bound on P − P*, the jitter, and e (n, q) if it was asked for."""

    c: np.ndarray
    gap: float
    jitter: float
    e: np.ndarray | None


def solve(A, diagonal, y, s, loo):
    """Solve (3) for targets y (n, q); A is K in Fortran order, `diagonal` that of G.

    The lower triangle of A is used up; the upper one still holds K afterwards.
    """
    np.fill_diagonal(A, diagonal)
    L, failed = lapack.dpotrf(A, lower=1, clean=0, overwrite_a=1)
    if failed:
        return solve_singular(A, diagonal, y, s, loo)
    c = lapack.dpotrs(L, y, lower=1)[0]
    gap = bound(y - product(A, diagonal, c), y, c, diagonal, s)
    return KernelRidgeSolution(c, gap, 0.0, c / inverse_diagonal(L) if loo else None)


def solve_singular(A, diagonal, y, s, loo):
    """Solve (3) by (7) where Cholesky fails, or by LDLᵀ where a jitter does not help."""
    G = np.triu(A, 1)
    G += G.T
    np.fill_diagonal(G, diagonal)
    root = np.sqrt(s)[:, None]  # least squares with weights: √s G √s and √s y
    G, t = root * G * root.T, root * y
    jitter = JITTER * max(np.trace(G), np.finfo(float).tiny)
    L, failed = lapack.dpotrf(G + jitter * np.eye(len(G)), lower=1)
    if failed:
        return solve_indefinite(G, root, t, loo)
    warnings.warn(
        "Singular matrix in solving dual problem. Using the shortest least-squares solution, by "
        f"Cholesky with a jitter of {jitter:.1e}; raise alpha for a unique one.",
        stacklevel=4,
    )
    c = np.zeros_like(t)
    for _ in range(CORRECTIONS):
        z = lapack.dpotrs(L, t - G @ c, lower=1)[0]
        c += lapack.dpotrs(L, G @ z, lower=1)[0]
    gap = float(((t - G @ c) ** 2).sum())  # P − P* ≤ P
    e = lapack.dpotrs(L, t, lower=1)[0] / inverse_diagonal(L) / root if loo else None
    return KernelRidgeSolution(root * c, gap, float(jitter), e)


def solve_indefinite(G, root, t, loo):
    """A stationary point of (1) where the kernel is not semi-definite."""
    warnings.warn(
        "Singular matrix in solving dual problem. The kernel is not positive semi-definite on "
        "these rows even with alpha on the diagonal: the solution is a stationary point, not a "
        "minimum; raise alpha or choose another kernel (see inspection.check_kernel).",
        stacklevel=5,
    )
    _, _, c, failed = lapack.dsysv(G, t, lower=1)
    if failed:
        c = np.linalg.lstsq(G, t)[0]
    e = c / np.diag(np.linalg.pinv(G, hermitian=True))[:, None] / root if loo else None
    return KernelRidgeSolution(root * c, np.inf, 0.0, e)


def product(A, diagonal, c):
    """G c, by the upper triangle of A: of its diagonal only the place is used."""
    return blas.dsymm(1.0, A, c, lower=0) + (diagonal - A.diagonal())[:, None] * c


def bound(rho, y, c, diagonal, s):
    """(6), and what rounding may hide in ρ: |G_ij| ≤ (G_ii G_jj)^½ as G is semi-definite"""
    lengths = np.sqrt(diagonal)
    hidden = len(c) * EPS * (np.abs(y) + np.outer(lengths, lengths @ np.abs(c)))
    return float((s @ (np.abs(rho) + hidden) ** 2).sum())


def inverse_diagonal(L):
    """diag(G⁻¹) (n, 1) as G⁻¹ = L⁻ᵀL⁻¹; the lower triangle of L is used up."""
    root = lapack.dtrtri(L, lower=1, overwrite_c=1)[0]
    return np.array([[column @ column] for column in (root[j:, j] for j in range(len(root)))])


def mirror(A, block=256):
    """Copy the upper triangle of A to the lower one."""
    for j in range(0, len(A), block):
        k = min(j + block, len(A))
        A[k:, j:k] = A[j:k, k:].T
        corner = np.triu(A[j:k, j:k])
        A[j:k, j:k] = corner + np.triu(corner, 1).T


def asymmetry(K, block=256):
    """max |K_ij − K_ji|"""
    rows = range(0, len(K), block)
    return max(np.abs(K[i : i + block, i:] - K[i:, i : i + block].T).max() for i in rows)


class KernelRidge(MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""Ridge regression on the features of a kernel.

    Minimises :math:`\sum_i s_i (y_i - f(x_i))^2 + \alpha \lVert f \rVert^2` over the functions
    :math:`f(x) = \sum_i c_i K(x_i, x)`, where :math:`s_i` is the weight of row i (1 by default).

    Parameters
    ----------
    alpha : float or array-like of shape (n_targets,), default=1
        The penalty α ≥ 0 on a unit of :math:`\lVert f \rVert^2`, one for all targets or one each.
        0 asks for interpolation.
    kernel : str, Kernel or callable, default="linear"
        A name as in :func:`sklearn.metrics.pairwise.pairwise_kernels`, "precomputed" (X is then the
        matrix itself), a kernel of :mod:`mlreplica.kernels`, or a function of two rows, which may
        be compiled by Numba.
    gamma : float, default=None
        γ of the kernels that have one; None for 1 / n_features (1 for "chi2").
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        The constant in the polynomial and sigmoid kernels.
    kernel_params : dict, default=None
        More arguments of a function.
    augmented : bool, default=False
        Fit a bias, penalised by α as a weight is: the kernel is 1 + K.
    leave_one_out : bool, default=False
        Compute `loo_residuals_`; about doubles the time of `fit`.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        c.
    intercept_ : float or ndarray of shape (n_targets,)
        The bias, the sum of c; 0 unless `augmented`.
    X_fit_ : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The training rows; if the kernel is precomputed, the matrix.
    kernel_ : Kernel
        K, every parameter a number.
    jitter_ : float
        What was added to the diagonal to solve a singular system; 0 as a rule.
    certificate_ : float
        An upper bound on the distance of the objective from its minimum, summed over targets;
        infinite if the kernel is not positive semi-definite.
    loo_residuals_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        :math:`y_i - f_{-i}(x_i)`, where :math:`f_{-i}` is fitted without row i; only
        with `leave_one_out`.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.kernel_ridge import KernelRidge
    >>> X = np.linspace(0, 6, 13)[:, None]
    >>> model = KernelRidge(0.01, kernel="rbf", leave_one_out=True).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[np.pi / 2]]).round(2)
    array([0.99])
    >>> bool(np.abs(model.loo_residuals_[2:-2]).max() < 0.05)
    True
    """

    card = Card(
        page="kernel-regression",
        checks="kernel_rows",
        onnx="kernel_ridge",
        scale_target=True,
        use="a number along a smooth curve, up to some 10,000 rows",
        good="one linear system; any kernel; leave-one-out errors for nothing",
        bad="keeps every training row; time grows with n³",
        time="O(n² p + n³)",
        memory="O(n²)",
        rescaling="needed: kernels compare columns in their units",
        instead="SVR to keep few rows, Nystroem and Ridge for many rows",
    )

    _parameter_constraints = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "kernel": [StrOptions(WORDS), callable],
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "augmented": ["boolean"],
        "leave_one_out": ["boolean"],
    }

    def __init__(
        self,
        alpha: Any = 1,
        *,
        kernel: Any = "linear",
        gamma=None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params=None,
        augmented=False,
        leave_one_out=False,
    ):
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.augmented = augmented
        self.leave_one_out = leave_one_out

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit c.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; a matrix of shape (n_samples, n_samples) if the kernel is precomputed.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights s ≥ 0: a weight of 2 stands for two equal rows, 0 for none.

        Returns
        -------
        self : KernelRidge
            The fitted estimator.
        """
        X, y = validate_data(
            self, X, y, accept_sparse=("csr", "csc"), dtype=float, multi_output=True, y_numeric=True
        )
        Y = np.array(y.reshape(len(y), -1), dtype=float, order="F")
        alpha = self._penalties(Y.shape[1])
        s = _check_sample_weight(sample_weight, X, dtype=float, ensure_non_negative=True)
        words = self.gamma, self.degree, self.coef0, self.kernel_params
        self.kernel_ = from_words(self.kernel, *words).resolve(X)
        rows = np.flatnonzero(s)
        A, s = self._matrix(X, rows).T, s[rows]
        diagonal = A.diagonal().copy()
        c, e, gap, jitters = np.zeros_like(Y), np.zeros_like(Y), 0.0, []
        for k, a in enumerate(np.unique(alpha)):
            if k > 0:
                mirror(A)
            at = np.ix_(rows, np.flatnonzero(alpha == a))
            with one_blas_thread() if len(rows) <= SMALL else nullcontext():
                found = solve(A, diagonal + a / s, Y[at], s, self.leave_one_out)
            c[at] = found.c
            gap += found.gap
            jitters.append(found.jitter)
            if self.leave_one_out:
                e[at] = found.e
        most = np.abs(c).sum(axis=0) * np.abs(diagonal).max(initial=0.0)
        refuse_overflow(self, dual_coef_=c, predictions=most)
        self.X_fit_, self.dual_coef_ = X, c.reshape(y.shape)
        self.intercept_ = self.dual_coef_.sum(axis=0) if self.augmented else 0.0
        self.jitter_, self.certificate_ = max(jitters), gap
        if self.leave_one_out:
            left_out = Y - self.predict(X).reshape(Y.shape)  # of a row of weight 0
            left_out[rows] = e[rows]
            self.loo_residuals_ = left_out.reshape(y.shape)
        return self

    def predict(self, X):
        """Predict Σ_i c_i K(x_i, x).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; if the kernel is precomputed, its values between these rows and those of `fit`.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            One prediction a row (and target).
        """
        X = new_rows(self, X, accept_sparse=("csr", "csc"))
        return self.kernel_.times(X, self.X_fit_, self.dual_coef_) + self.intercept_

    def _penalties(self, q):
        """α of every target"""
        alpha = np.asarray(self.alpha, dtype=float)
        if alpha.ndim > 1 or alpha.size not in (1, q):
            raise ValueError(
                f"Number of targets and number of penalties do not correspond: {q} != {alpha.size}"
            )
        if not (alpha >= 0.0).all():
            raise ValueError(f"alpha must be >= 0, got {self.alpha}.")
        return np.broadcast_to(alpha.ravel(), q)

    def _matrix(self, X, rows):
        """K between the rows of weight > 0, plus 1 if augmented, in an array of its own."""
        if not is_precomputed(self.kernel):
            Z = X[rows] if len(rows) < X.shape[0] else X
            K = self.kernel_.block(Z, Z)
        else:
            K = square(X)[np.ix_(rows, rows)]
            if asymmetry(K) > 1e-8 * np.abs(K).max():
                warnings.warn(
                    "The kernel matrix is not symmetric; its upper triangle is used.", stacklevel=5
                )
                K = np.triu(K) + np.triu(K, 1).T
        if self.augmented:
            K += 1.0
        return K

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags
