"""Distances between rows, all pairs or row by row

Euclidean distances come from one matrix product, and those of close rows are computed again from
their differences (`core/space/matrix.py`); all others by compiled loops, functions of yours too.
"""

import warnings
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics.pairwise import check_paired_arrays, check_pairwise_arrays
from sklearn.utils import check_array
from sklearn.utils.validation import check_non_negative

from mlreplica.core.compat import StrOptions, is_scalar_nan
from mlreplica.core.formulas.distances import distance_named
from mlreplica.core.formulas.row_distances import BOOLEAN
from mlreplica.core.space.matrix import distance_matrix

from ._rows import ANY, METRIC, as_given, of_rows, unit_rows

NORMS = ("euclidean", "l2", "l1", "manhattan", "cityblock")
STORED = {"cosine", *NORMS}


def norms_checked(norms, A, name):
    """Raise unless squared norms have a shape that fits; they are not needed."""
    if norms is not None:
        shape, n = check_array(norms, ensure_2d=False).shape, A.shape[0]
        if shape not in ((n,), (1, n), (n, 1)):
            raise ValueError(
                f"Incompatible dimensions for {name} of shape {A.shape} and {name}_norm_squared of "
                f"shape {shape}."
            )


@of_rows(
    Y_norm_squared=["array-like", None],
    squared=["boolean"],
    X_norm_squared=["array-like", None],
)
def euclidean_distances(X, Y=None, *, Y_norm_squared=None, squared=False, X_norm_squared=None):
    """Return Euclidean distances between all rows.

    Parameters
    ----------
    {rows}
    Y_norm_squared, X_norm_squared : array-like, default=None
        Accepted for compatibility: they are computed.
    squared : bool, default=False
        Return squared distances.

    Returns
    -------
    {D}

    Examples
    --------
    >>> from mlreplica.metrics.pairwise import euclidean_distances
    >>> euclidean_distances([[0, 1], [1, 1]], [[0, 0]]).round(4)
    array([[1.    ],
           [1.4142]])
    """
    X, Y = check_pairwise_arrays(X, Y)
    norms_checked(X_norm_squared, X, "X")
    norms_checked(Y_norm_squared, Y, "Y")
    D = distance_matrix(X, Y, distance_named("euclidean"), reduced=squared)
    if X is Y:
        np.fill_diagonal(D, 0.0)
    return as_given(D, X, Y)


@of_rows(["array-like"], squared=["boolean"], missing_values="no_validation", copy=["boolean"])
def nan_euclidean_distances(X, Y=None, *, squared=False, missing_values=np.nan, copy=True):
    """Return Euclidean distances between rows with gaps, over the columns both have.

    Parameters
    ----------
    {dense rows}
    squared : bool, default=False
        Return squared distances.
    missing_values : NaN or number, default=nan
        What marks a gap.
    copy : bool, default=True
        Accepted for compatibility: X and Y stay as they are.

    Returns
    -------
    {D}
        NaN where two rows share no column.

    Examples
    --------
    >>> from mlreplica.metrics.pairwise import nan_euclidean_distances
    >>> nan_euclidean_distances([[0, 1], [1, float("nan")]], [[0, 0]]).round(4)
    array([[1.    ],
           [1.4142]])
    """
    by_nan = is_scalar_nan(missing_values)
    finite = "allow-nan" if by_nan else True
    X, Y = check_pairwise_arrays(X, Y, accept_sparse=False, ensure_all_finite=finite)
    same = X is Y
    if not by_nan:
        X, Y = (np.where(missing_values == A, np.nan, A) for A in (X, Y))
    D = distance_matrix(X, X if same else Y, distance_named("nan_euclidean"))
    return as_given(np.square(D, out=D) if squared else D, X, Y)


@of_rows()
def manhattan_distances(X, Y=None):
    """Return sums of absolute differences between all rows.

    Parameters
    ----------
    {rows}

    Returns
    -------
    {D}

    Examples
    --------
    >>> from mlreplica.metrics.pairwise import manhattan_distances
    >>> manhattan_distances([[1, 2], [3, 4]], [[1, 2], [0, 3]])
    array([[0., 2.],
           [4., 4.]])
    """
    X, Y = check_pairwise_arrays(X, Y)
    return distance_matrix(X, Y, distance_named("manhattan"))


@of_rows(["array-like"])
def haversine_distances(X, Y=None):
    """Return angles between points on a sphere, given by latitude and longitude in radians.

    Parameters
    ----------
    {dense rows}

    Returns
    -------
    {D}
        Times 6371 for kilometres on the earth.

    Examples
    --------
    >>> from mlreplica.metrics.pairwise import haversine_distances
    >>> haversine_distances([[0.0, 0.0]], [[0.0, 1.5]])
    array([[1.5]])
    """
    X, Y = check_pairwise_arrays(X, Y, accept_sparse=False)
    if X.shape[1] != 2:
        raise ValueError("Haversine distance only valid in 2 dimensions")
    return distance_matrix(X, Y, distance_named("haversine"))


@of_rows()
def cosine_distances(X, Y=None):
    """Return 1 − the cosine of the angle between all rows; 1 from a row of zeros.

    Parameters
    ----------
    {rows}

    Returns
    -------
    {D}

    Examples
    --------
    >>> from mlreplica.metrics.pairwise import cosine_distances
    >>> cosine_distances([[1, 0]], [[0, 2], [3, 0]])
    array([[1., 0.]])
    """
    X, Y = check_pairwise_arrays(X, Y)
    D = distance_matrix(X, Y, distance_named("cosine"))
    if X is Y:
        np.fill_diagonal(D, 0.0)
    return as_given(D, X, Y)


def given_parameters(metric, X, Y, parameters):
    """The parameters of a metric; what it would learn from X is refused if Y is another set."""
    need = {"seuclidean": ("V",), "mahalanobis": ("VI", "V")}.get(metric, ())
    if need and not any(parameters.get(name) is not None for name in need) and X is not Y:
        raise ValueError(
            f"The '{need[0]}' parameter is required for the {metric} metric when Y is passed."
        )
    return parameters


@of_rows(
    metric=METRIC,
    n_jobs=[Integral, None],
    ensure_all_finite=["boolean", StrOptions({"allow-nan"})],
)
def pairwise_distances(
    X, Y=None, metric="euclidean", *, n_jobs=None, ensure_all_finite=True, **kwds
):
    """Return the distances between all rows.

    Parameters
    ----------
    {rows}
    {metric}
    ensure_all_finite : bool or "allow-nan", default=True
        Which numbers are accepted.
    **kwds
        Parameters of the metric.

    Returns
    -------
    {D}

    Notes
    -----
    With `metric="precomputed"`, X holds distances and is returned.

    Examples
    --------
    >>> from mlreplica.metrics.pairwise import pairwise_distances
    >>> pairwise_distances([[0, 0, 0], [1, 1, 1]], [[1, 0, 0]], metric="manhattan")
    array([[1.],
           [2.]])
    """
    if metric == "precomputed":
        X, _ = check_pairwise_arrays(X, Y, precomputed=True, ensure_all_finite=ensure_all_finite)
        whom = "`pairwise_distances`. Precomputed distance  need to have non-negative values."
        check_non_negative(X, whom=whom)
        return X
    if callable(metric):
        return by_function(X, Y, metric, kwds, ensure_all_finite, n_jobs)
    if metric in ("euclidean", "l2", "cosine", "nan_euclidean", "haversine"):
        return PAIRWISE_DISTANCE_FUNCTIONS[metric](X, Y, **kwds)
    if metric not in STORED and (sp.issparse(X) or sp.issparse(Y)):
        raise TypeError("scipy distance metrics do not support sparse matrices.")
    dtype = None
    if metric in BOOLEAN:
        dtype = bool
        if any(np.asarray(A).dtype.kind != "b" for A in (X, Y) if A is not None):
            warnings.warn(
                f"Data was converted to boolean for metric {metric}",
                DataConversionWarning,
                stacklevel=2,
            )
    X, Y = check_pairwise_arrays(
        X, Y, dtype=dtype or "infer_float", ensure_all_finite=ensure_all_finite
    )
    distance = distance_named(metric, None, given_parameters(metric, X, Y, kwds), X)
    return distance_matrix(X, Y, distance, n_jobs)


def by_function(X, Y, metric, parameters, finite=True, n_jobs=None):
    """The matrix of a function of two rows; of sparse ones, of two matrices of one row each."""
    X, Y = check_pairwise_arrays(X, Y, dtype=None, ensure_all_finite=finite, ensure_2d=False)
    plain = not sp.issparse(X) and X.ndim == 2 and X.dtype.kind in "fiub"
    if plain:
        distance = distance_named(metric, None, parameters)
        if not distance.python:
            return distance_matrix(X, Y, distance, n_jobs)
    rows = [A if not sp.issparse(A) else [A[[i], :] for i in range(A.shape[0])] for A in (X, Y)]
    D = np.empty((len(rows[0]), len(rows[1])))
    for i, x in enumerate(rows[0]):
        for j, y in enumerate(rows[1]):
            if X is Y and j < i:
                D[i, j] = D[j, i]
            else:
                D[i, j] = metric(x, y, **parameters)
    return D


# -------------------------------------------------------------------------------------- row by row


def differences(X, Y):
    """X − Y, after a check that they belong together."""
    X, Y = check_paired_arrays(X, Y)
    return X - Y


def row_sums(A):
    """The sum of each row, of dense and sparse ones."""
    return np.asarray(A.sum(axis=1)).ravel()


@of_rows(y=ANY)
def paired_euclidean_distances(X, Y):
    """Return the Euclidean distance of each row of X to the same row of Y.

    Parameters
    ----------
    {pairs}

    Returns
    -------
    {d}

    Examples
    --------
    >>> from mlreplica.metrics.pairwise import paired_euclidean_distances
    >>> paired_euclidean_distances([[0, 0], [1, 1]], [[3, 4], [1, 2]])
    array([5., 1.])
    """
    T = differences(X, Y)
    if sp.issparse(T):
        return np.sqrt(row_sums(T.multiply(T)))
    size = np.abs(T).max(axis=1, initial=0.0)
    size[size == 0.0] = 1.0  # no square overflows or vanishes
    T = T / size[:, None]
    return np.sqrt(np.einsum("ij,ij->i", T, T)) * size


@of_rows(y=ANY)
def paired_manhattan_distances(X, Y):
    """Return the sum of absolute differences of each row of X and the same row of Y.

    Parameters
    ----------
    {pairs}

    Returns
    -------
    {d}

    Examples
    --------
    >>> from mlreplica.metrics.pairwise import paired_manhattan_distances
    >>> paired_manhattan_distances([[0, 0], [1, 1]], [[3, 4], [1, 2]])
    array([7., 1.])
    """
    return row_sums(abs(differences(X, Y)))


@of_rows(y=ANY)
def paired_cosine_distances(X, Y):
    """Return 1 − the cosine of the angle between each row of X and the same row of Y.

    That is half of the squared distance of the rows after each has been divided by its length; a
    row of zeros stays, and is at 1/2 from others, as in scikit-learn.

    Parameters
    ----------
    {pairs}

    Returns
    -------
    {d}

    Examples
    --------
    >>> from mlreplica.metrics.pairwise import paired_cosine_distances
    >>> paired_cosine_distances([[0, 1], [1, 1]], [[0, 3], [1, -1]])
    array([0., 1.])
    """
    U, V = (unit_rows(A) for A in check_paired_arrays(X, Y))
    return 0.5 * paired_euclidean_distances(U, V) ** 2


@of_rows(y=ANY, metric=[StrOptions({"cosine", *NORMS}), callable])
def paired_distances(X, Y, *, metric="euclidean", **kwds):
    """Return the distance of each row of X to the same row of Y.

    Parameters
    ----------
    {pairs}
    metric : str or callable, default="euclidean"
        A name in `PAIRED_DISTANCES`, or a function of two rows.
    **kwds
        Accepted for compatibility.

    Returns
    -------
    {d}

    Examples
    --------
    >>> from mlreplica.metrics.pairwise import paired_distances
    >>> paired_distances([[0, 1], [1, 1]], [[0, 1], [2, 1]], metric="manhattan")
    array([0., 1.])
    """
    if not callable(metric):
        return PAIRED_DISTANCES[metric](X, Y)
    X, Y = check_paired_arrays(X, Y)
    return np.array([metric(x, y) for x, y in zip(X, Y, strict=True)], dtype=float)


PAIRED_DISTANCES = {
    "cosine": paired_cosine_distances,
    "euclidean": paired_euclidean_distances,
    "l2": paired_euclidean_distances,
    "l1": paired_manhattan_distances,
    "manhattan": paired_manhattan_distances,
    "cityblock": paired_manhattan_distances,
}
PAIRWISE_DISTANCE_FUNCTIONS = {
    "cityblock": manhattan_distances,
    "cosine": cosine_distances,
    "euclidean": euclidean_distances,
    "haversine": haversine_distances,
    "l2": euclidean_distances,
    "l1": manhattan_distances,
    "manhattan": manhattan_distances,
    "precomputed": None,
    "nan_euclidean": nan_euclidean_distances,
}
PAIRWISE_BOOLEAN_FUNCTIONS = sorted(BOOLEAN)


def distance_metrics():
    """Return the functions behind the names that `pairwise_distances` takes.

    Returns
    -------
    functions : dict
        A function for each name; None for "precomputed".
    """
    return PAIRWISE_DISTANCE_FUNCTIONS
