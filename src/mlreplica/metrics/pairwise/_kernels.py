"""Kernels between all rows, under scikit-learn's names; the formulas are `core/formulas/kernels`"""

from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import check_pairwise_arrays

from mlreplica.core.compat import Interval, StrOptions
from mlreplica.core.formulas.distances import Distance, distance_named
from mlreplica.core.formulas.kernels import get
from mlreplica.core.space.matrix import distance_matrix

from ._distances import by_function
from ._rows import as_given, of_rows, unit_rows

GAMMA = [Interval(Real, 0, None, closed="left"), None]
COEF0 = [Interval(Real, None, None, closed="neither")]


def kernel_matrix(name, X, Y, gamma=None, **parameters):
    """A named kernel between all rows; γ is 1 / columns unless it is given."""
    X, Y = check_pairwise_arrays(X, Y)
    gamma = 1.0 / X.shape[1] if gamma is None else gamma
    return get(name, gamma=gamma, **parameters)(X, Y)


@of_rows(dense_output=["boolean"])
def linear_kernel(X, Y=None, dense_output=True):
    """Return the inner products xᵀy of all rows.

    Parameters
    ----------
    {rows}
    dense_output : bool, default=True
        Whether the result is dense even if X and Y are sparse.

    Returns
    -------
    K : ndarray or sparse matrix of shape (n_samples_X, n_samples_Y)

    Examples
    --------
    >>> from mlreplica.metrics.pairwise import linear_kernel
    >>> linear_kernel([[0, 0, 0], [1, 1, 1]], [[1, 0, 0], [1, 1, 0]])
    array([[0., 0.],
           [1., 2.]])
    """
    X, Y = check_pairwise_arrays(X, Y)
    K = X @ Y.T
    return K.toarray() if sp.issparse(K) and dense_output else K


@of_rows(degree=[Interval(Real, 1, None, closed="left")], gamma=GAMMA, coef0=COEF0)
def polynomial_kernel(X, Y=None, degree=3, gamma=None, coef0=1):
    """Return (γ xᵀy + c)^d between all rows.

    Parameters
    ----------
    {rows}
    degree : float, default=3
        d.
    {gamma}
    coef0 : float, default=1
        c.

    Returns
    -------
    {K}

    Examples
    --------
    >>> from mlreplica.metrics.pairwise import polynomial_kernel
    >>> polynomial_kernel([[0, 0], [1, 1]], [[1, 0], [1, 1]], degree=2)
    array([[1.  , 1.  ],
           [2.25, 4.  ]])
    """
    if degree != int(degree):
        return kernel_matrix("poly", X, Y, gamma, degree=1, coef0=coef0) ** degree
    return kernel_matrix("poly", X, Y, gamma, degree=int(degree), coef0=coef0)


@of_rows(gamma=GAMMA, coef0=COEF0)
def sigmoid_kernel(X, Y=None, gamma=None, coef0=1):
    """Return tanh(γ xᵀy + c) between all rows.

    Parameters
    ----------
    {rows}
    {gamma}
    coef0 : float, default=1
        c.

    Returns
    -------
    {K}

    Examples
    --------
    >>> from mlreplica.metrics.pairwise import sigmoid_kernel
    >>> sigmoid_kernel([[0, 0], [1, 1]], [[1, 0], [1, 1]]).round(2)
    array([[0.76, 0.76],
           [0.91, 0.96]])
    """
    return kernel_matrix("sigmoid", X, Y, gamma, coef0=coef0)


@of_rows(gamma=GAMMA)
def rbf_kernel(X, Y=None, gamma=None):
    """Return exp(−γ ‖x − y‖²) between all rows.

    Parameters
    ----------
    {rows}
    {gamma}

    Returns
    -------
    {K}

    Examples
    --------
    >>> from mlreplica.metrics.pairwise import rbf_kernel
    >>> rbf_kernel([[0, 0], [1, 1]], [[1, 0], [1, 1]]).round(2)
    array([[0.61, 0.37],
           [0.61, 1.  ]])
    """
    return kernel_matrix("rbf", X, Y, gamma)


@of_rows(gamma=GAMMA)
def laplacian_kernel(X, Y=None, gamma=None):
    """Return exp(−γ ‖x − y‖₁) between all rows.

    Parameters
    ----------
    {rows}
    {gamma}

    Returns
    -------
    {K}

    Examples
    --------
    >>> from mlreplica.metrics.pairwise import laplacian_kernel
    >>> laplacian_kernel([[0, 0], [1, 1]], [[1, 0], [1, 1]]).round(2)
    array([[0.61, 0.37],
           [0.61, 1.  ]])
    """
    X, Y = check_pairwise_arrays(X, Y)
    D = distance_matrix(X, Y, distance_named("manhattan"))
    D *= -1.0 / X.shape[1] if gamma is None else -gamma
    return np.exp(D, out=D)


@of_rows(dense_output=["boolean"])
def cosine_similarity(X, Y=None, dense_output=True):
    """Return the cosine of the angle between all rows; 0 with a row of zeros.

    Parameters
    ----------
    {rows}
    dense_output : bool, default=True
        Whether the result is dense even if X and Y are sparse.

    Returns
    -------
    K : ndarray or sparse matrix of shape (n_samples_X, n_samples_Y)

    Examples
    --------
    >>> from mlreplica.metrics.pairwise import cosine_similarity
    >>> cosine_similarity([[1, 0]], [[0, 2], [3, 0]])
    array([[0., 1.]])
    """
    X, Y = check_pairwise_arrays(X, Y)
    U = unit_rows(X)
    K = U @ (U if X is Y else unit_rows(Y)).T
    return K.toarray() if sp.issparse(K) and dense_output else K


def chi_square(x, y):
    """Σ (x − y)² / (x + y), where 0/0 = 0."""
    s = 0.0
    for j in range(len(x)):
        size = x[j] + y[j]
        if size != 0.0:
            s += (x[j] - y[j]) ** 2 / size
    return s


@of_rows(["array-like"])
def additive_chi2_kernel(X, Y=None):
    """Return −Σ (x − y)² / (x + y) between all rows, such as histograms.

    Parameters
    ----------
    {dense rows}

    Returns
    -------
    {K}

    Examples
    --------
    >>> from mlreplica.metrics.pairwise import additive_chi2_kernel
    >>> additive_chi2_kernel([[0, 0, 0], [1, 1, 1]], [[1, 0, 0], [1, 1, 0]])
    array([[-1., -2.],
           [-2., -1.]])
    """
    X, Y = check_pairwise_arrays(X, Y, accept_sparse=False)
    for name, A in (("X", X), ("Y", Y)):
        if (A < 0).any():
            raise ValueError(f"{name} contains negative values.")
    D = distance_matrix(X, Y, Distance("chi_square", f=chi_square, triangle=False))
    return as_given(np.negative(D, out=D), X, Y)


@of_rows(["array-like"], gamma=[Interval(Real, 0, None, closed="neither")])
def chi2_kernel(X, Y=None, gamma=1.0):
    """Return exp(−γ Σ (x − y)² / (x + y)) between all rows, such as histograms.

    Parameters
    ----------
    {dense rows}
    gamma : float, default=1.0
        γ.

    Returns
    -------
    {K}

    Examples
    --------
    >>> from mlreplica.metrics.pairwise import chi2_kernel
    >>> chi2_kernel([[0, 0, 0], [1, 1, 1]], [[1, 0, 0], [1, 1, 0]]).round(2)
    array([[0.37, 0.14],
           [0.14, 0.37]])
    """
    K = additive_chi2_kernel(X, Y)
    K *= gamma
    return np.exp(K, out=K)


PAIRWISE_KERNEL_FUNCTIONS = {
    "additive_chi2": additive_chi2_kernel,
    "chi2": chi2_kernel,
    "linear": linear_kernel,
    "polynomial": polynomial_kernel,
    "poly": polynomial_kernel,
    "rbf": rbf_kernel,
    "laplacian": laplacian_kernel,
    "sigmoid": sigmoid_kernel,
    "cosine": cosine_similarity,
}
TAKES = {
    "additive_chi2": (), "chi2": ("gamma",), "linear": (), "poly": ("gamma", "degree", "coef0"),
    "polynomial": ("gamma", "degree", "coef0"), "rbf": ("gamma",), "laplacian": ("gamma",),
    "sigmoid": ("gamma", "coef0"), "cosine": (),
}  # fmt: skip


def kernel_metrics():
    """Return the functions behind the names that `pairwise_kernels` takes.

    Returns
    -------
    functions : dict
        A function for each name.
    """
    return PAIRWISE_KERNEL_FUNCTIONS


@of_rows(
    metric=[StrOptions({*TAKES, "precomputed"}), callable],
    filter_params=["boolean"],
    n_jobs=[Integral, None],
)
def pairwise_kernels(X, Y=None, metric="linear", *, filter_params=False, n_jobs=None, **kwds):
    """Return the kernel between all rows.

    Parameters
    ----------
    {rows}
    metric : str or callable, default="linear"
        A name, "precomputed" if X holds kernels, or a function of two rows.
    filter_params : bool, default=False
        Leave out parameters that the kernel does not take.
    n_jobs : int, default=None
        Accepted for compatibility.
    **kwds
        Parameters of the kernel.

    Returns
    -------
    {K}

    Examples
    --------
    >>> from mlreplica.metrics.pairwise import pairwise_kernels
    >>> pairwise_kernels([[0, 0, 0], [1, 1, 1]], [[1, 0, 0], [1, 1, 0]])
    array([[0., 0.],
           [1., 2.]])
    """
    if metric == "precomputed":
        return check_pairwise_arrays(X, Y, precomputed=True)[0]
    if not isinstance(metric, str):
        if hasattr(metric, "get_params") and hasattr(metric, "diag"):  # of a Gaussian process
            return metric(X, Y, **kwds)
        return by_function(X, Y, metric, kwds, n_jobs=n_jobs)
    if filter_params:
        kwds = {name: value for name, value in kwds.items() if name in TAKES[metric]}
    return PAIRWISE_KERNEL_FUNCTIONS[metric](X, Y, **kwds)
