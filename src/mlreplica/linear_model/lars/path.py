"""`lars_path` and `lars_path_gram`: the path of `homotopy.py` as functions, without an intercept"""

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array

from mlreplica.core.compat import Interval, StrOptions, validate_params
from mlreplica.core.validation import FLOATS
from mlreplica.linear_model.lasso.problem import LassoProblem

from .homotopy import ColumnRows, GramRows, homotopy

EPS = float(np.finfo(float).eps)
COMMON = {
    "max_iter": [Interval(Integral, 0, None, closed="left")],
    "alpha_min": [Interval(Real, 0, None, closed="left")],
    "method": [StrOptions({"lar", "lasso"})],
    "copy_X": ["boolean"],
    "eps": [Interval(Real, 0, None, closed="neither"), None],
    "copy_Gram": ["boolean"],
    "verbose": ["verbose"],
    "return_path": ["boolean"],
    "return_n_iter": ["boolean"],
    "positive": ["boolean"],
}


@validate_params(
    {
        "X": [np.ndarray, None],
        "y": [np.ndarray, None],
        "Xy": [np.ndarray, None],
        "Gram": [StrOptions({"auto"}), "boolean", np.ndarray, None],
        **COMMON,
    },
    prefer_skip_nested_validation=True,
)
def lars_path(
    X,
    y,
    Xy=None,
    *,
    Gram=None,
    max_iter=500,
    alpha_min=0,
    method="lar",
    copy_X=True,
    eps=EPS,
    copy_Gram=True,
    verbose=0,
    return_path=True,
    return_n_iter=False,
    positive=False,
):
    """The whole path of least angle regression or of the lasso, without an intercept.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows; centre X and y first where an intercept is wanted.
    y : ndarray of shape (n_samples,)
        Target.
    Xy : ndarray of shape (n_features,), default=None
        Xᵀy, if it is known.
    Gram : "auto", bool, ndarray of shape (n_features, n_features) or None, default=None
        XᵀX, or whether to compute it. None, False: only if X has few columns.
    max_iter : int, default=500
        The most columns that enter or leave.
    alpha_min : float, default=0
        The α at which the path ends.
    method : {"lar", "lasso"}, default="lar"
        Whether columns stay once they are in, or leave when their weight reaches zero.
    copy_X, copy_Gram : bool, default=True
        Without effect: neither is written to.
    eps : float, default=2.2e-16
        A column depends on those in use if they leave at most this part of its squared length, or
        1e-12 if that is more; it does not enter then.
    verbose : int, default=0
        Without effect.
    return_path : bool, default=True
        Return all points, or the last alone.
    return_n_iter : bool, default=False
        Return `n_iter` too.
    positive : bool, default=False
        Ask for w ≥ 0; for "lasso".

    Returns
    -------
    alphas : ndarray of shape (n_alphas,)
        α where a column enters or leaves, the largest first, and where the path ends.
    active : list of int
        The columns in use at the end, in the order in which they came.
    coefs : ndarray of shape (n_features, n_alphas)
        w at each α, linear in between.
    n_iter : int
        How many columns entered or left. Only with `return_n_iter`.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.linear_model import lars_path
    >>> X, y = np.array([[-1.0, 2.0], [0.0, -1.0], [1.0, -1.0]]), np.array([-1.0, 0.0, 1.0])
    >>> alphas, active, coefs = lars_path(X, y, method="lasso", alpha_min=0.1)
    >>> alphas.round(3), active, coefs.round(3)
    (array([1.   , 0.333, 0.1  ]), [1, 0], array([[ 0.   ,  0.   ,  0.7  ],
           [ 0.   , -0.333, -0.1  ]]))
    """
    if X is None:
        if Gram is None or Gram is False:
            raise ValueError("X and Gram cannot both be unspecified.")
        raise ValueError(
            "X cannot be None if Gram is not None. Use lars_path_gram to avoid passing X and y."
        )
    given = isinstance(Gram, np.ndarray)
    if given and Gram.shape != 2 * X.shape[1:]:
        raise ValueError("The shapes of the inputs Gram and Xy do not match.")
    X, y = check_array(X, dtype=FLOATS), check_array(y, dtype=FLOATS, ensure_2d=False)
    problem = LassoProblem(X, y[:, None], None, False, asked_gram(Gram))
    c = problem.c[0] if Xy is None else np.asarray(Xy, dtype=np.float64) / len(X)
    kinds = {A.dtype for A in (X, y, Xy, Gram if given else None) if A is not None}
    states = path_states(rows_of(problem), c, method, positive, alpha_min, max_iter, eps)
    return as_arrays(states, kinds, return_path, return_n_iter)


@validate_params(
    {
        "Xy": [np.ndarray],
        "Gram": [np.ndarray],
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        **COMMON,
    },
    prefer_skip_nested_validation=True,
)
def lars_path_gram(
    Xy,
    Gram,
    *,
    n_samples,
    max_iter=500,
    alpha_min=0,
    method="lar",
    copy_X=True,
    eps=EPS,
    copy_Gram=True,
    verbose=0,
    return_path=True,
    return_n_iter=False,
    positive=False,
):
    """`lars_path` from sums over the rows instead of the rows.

    Parameters
    ----------
    Xy : ndarray of shape (n_features,)
        Xᵀy.
    Gram : ndarray of shape (n_features, n_features)
        XᵀX.
    n_samples : int
        How many rows they are sums of.
    max_iter, alpha_min, method, copy_X, eps, copy_Gram, verbose, return_path, return_n_iter
        As in :func:`lars_path`.
    positive : bool, default=False
        As in :func:`lars_path`.

    Returns
    -------
    alphas, active, coefs, n_iter
        As in :func:`lars_path`.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.linear_model import lars_path_gram
    >>> G = np.array([[2.0, -3.0], [-3.0, 6.0]])
    >>> alphas, active, coefs = lars_path_gram(np.array([2.0, -3.0]), G, n_samples=3)
    >>> alphas.round(3), active
    (array([1.   , 0.333, 0.   ]), [1, 0])
    """
    if Gram.shape != (len(Xy), len(Xy)):
        raise ValueError("The shapes of the inputs Gram and Xy do not match.")
    G = np.ascontiguousarray(Gram, dtype=np.float64) / n_samples
    c = np.asarray(Xy, dtype=np.float64) / n_samples
    states = path_states(GramRows(G), c, method, positive, alpha_min, max_iter, eps)
    return as_arrays(states, {Xy.dtype, Gram.dtype}, return_path, return_n_iter)


def asked_gram(gram):
    """What `LassoProblem` is to do: a matrix, True and "auto" pass."""
    return False if gram is None else gram


def rows_of(problem):
    """The columns of a LassoProblem as `homotopy.py` asks for them."""
    return GramRows(problem.G) if problem.whole else ColumnRows(problem.A)


def path_states(rows, c, method, positive, alpha_min, max_iter, eps):
    """The states of `homotopy.py`, from the parameters of the functions and the estimators."""
    if positive and method == "lar":
        raise ValueError("Positive constraint not supported for 'lar' coding method.")
    return homotopy(
        rows,
        c,
        lasso=method == "lasso",
        positive=bool(positive),
        alpha_min=float(alpha_min),
        max_iter=max_iter,
        eps=eps or 0.0,
    )


def as_arrays(states, kinds, return_path, return_n_iter):
    """What the two functions return."""
    states = list(states)
    warn_of_ties(states[-1])
    kind = kinds.pop() if len(kinds) == 1 else np.float64
    kind = kind if kind in FLOATS else np.float64
    alphas, coefs = np.array([s.alpha for s in states], dtype=kind), stacked(states, kind)
    found = (alphas, coefs) if return_path else (alphas[-1:], coefs[:, -1].copy())
    found = found[0], states[-1].active.tolist(), found[1]
    return (*found, states[-1].events) if return_n_iter else found


def stacked(states, kind):
    """w of every state, (n_features, n_alphas)."""
    return np.array([state.w for state in states], dtype=kind).T


def warn_of_ties(state):
    """Say that the minimum is not unique."""
    if state.tied:
        warnings.warn(
            f"Regressors in active set degenerate. {state.tied} columns beside the "
            f"{len(state.active)} in use are combinations of them and serve as well, so that the "
            "weights are not unique; those columns have the weight 0.",
            ConvergenceWarning,
            stacklevel=4,
        )
