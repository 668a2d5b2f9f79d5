"""Problem: X and y as the solvers of the lasso see them, centred and weighted, and no copy"""

import warnings
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from sklearn.utils import assert_all_finite, check_array

from ._columns import FAR, DenseColumns, SparseColumns
from ._least_squares import Rows, origin
from ._working_set import LARGEST, WorkingSet

SMALL = 300  # columns up to which all of the Gram matrix is made for a single fit
MEDIUM = 2000  # the same for a path, if X is tall


class Problem:
    """Targets, columns, and either their products with every column or the whole Gram matrix.

    Parameters
    ----------
    X : ndarray in rows or columns, or CSC; float64 or float32
    Y : ndarray of shape (n, q)
    s : ndarray of shape (n,) or None
        Weights.
    intercept : bool
        Whether to centre.
    gram : ndarray of shape (p, p), True, False or "auto"
        XᵀX of centred and weighted rows, whether to make it, or whether it will be used often.
    name : str
        Whose X and y they are, for errors.
    """

    def __init__(self, X, Y, s, intercept, gram=False, name=None):
        (n, p), q = X.shape, Y.shape[1]
        self.X, self.name, self.intercept = X, name, intercept
        self.root = None if s is None else np.sqrt(s * (n / s.sum()))
        often = n >= 2 * p and isinstance(gram, str) and not sp.issparse(X)
        most = MEDIUM if often else 0 if sp.issparse(X) else SMALL
        self.whole = not isinstance(gram, bool | str) or p <= (LARGEST if gram is True else most)
        share = None if s is None else s / s.sum()
        Y = Y.astype(np.float64)
        self.y_mean = np.zeros(q)
        if intercept:
            self.y_mean = Y[:1].mean(axis=0)  # an origin near the mean keeps digits
            Y -= self.y_mean
            more = Y.mean(axis=0) if share is None else share @ Y
            Y -= more
            self.y_mean = self.y_mean + more
        self.y = np.ascontiguousarray(Y.T if self.root is None else (Y * self.root[:, None]).T)
        self.size = np.einsum("ki,ki->k", self.y, self.y) / n
        if self.whole and isinstance(gram, bool | str) and not sp.issparse(X):
            self._gram_by_blocks(X, s)
        elif self.whole:
            each = np.arange(p)
            given = self.A.products(each, each) * n if isinstance(gram, bool) else gram
            self.G, self.c = np.ascontiguousarray(given) / n, self.A.gradient(self.y)
            self.x_mean = self.A.x_mean
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                self.c = self.A.gradient(self.y)
            self.x_mean = self.A.x_mean
            self._refuse_unless_finite(self.c, self.x_mean)

    def _gram_by_blocks(self, X, s):
        """G, c and x̄ in one pass over the rows; X is centred block by block."""
        n, p = X.shape
        root = self.root
        weight = None if s is None else s * (n / s.sum())
        x0, y0 = np.zeros(p), np.zeros(len(self.y))
        if self.intercept:
            x0, _ = origin(X, X[:, :0])
        Y = (
            self.y.T
            if root is None
            else np.divide(
                self.y.T, root[:, None], out=np.zeros_like(self.y.T), where=root[:, None] > 0
            )
        )
        with np.errstate(over="ignore", invalid="ignore"):
            M = Rows(X, Y, weight, root, self.intercept, x0, y0, None).gram()
        i = int(self.intercept)
        self._refuse_unless_finite(M.sum())
        self.x_mean = x0
        G, c = M[i : p + i, i : p + i], M[p + i :, i : p + i]
        if i:
            d = M[0, 1 : p + 1] / n
            self.x_mean = x0 + d
            G, c = G - n * np.multiply.outer(d, d), c - np.multiply.outer(M[0, p + 1 :], d)
        self.G, self.c = np.ascontiguousarray(G) / n, np.ascontiguousarray(c) / n
        still = self.G.diagonal() <= 1e-28 * self.x_mean**2  # constant but for rounding
        self.G[still], self.G[:, still], self.c[:, still] = 0.0, 0.0, 0.0

    def _refuse_unless_finite(self, *sums):
        """NaN and infinity show in the sums over X; only then look for them."""
        if not all(x is None or np.isfinite(x).all() for x in sums):
            assert_all_finite(self.X, estimator_name=self.name, input_name="X")
            raise ValueError(
                "Coordinate descent iterations resulted in non-finite parameter values. The input "
                "data may contain large values and need to be preprocessed."
            )

    @cached_property
    def A(self):  # noqa: N802  a matrix
        """The columns, see `_columns`."""
        return columns(self.X, self.root, self.intercept)

    def working_set(self, k):
        """A WorkingSet for target k."""
        if self.whole:
            return WorkingSet.whole(self.y[k], self.G, self.c[k])
        return WorkingSet(self.A, self.y[k], self.c[k])


def columns(X, root, intercept):
    """DenseColumns or SparseColumns of X."""
    n = X.shape[0]
    if sp.issparse(X):
        data = X.data.astype(np.float64)
        if root is not None:
            data *= root[X.indices]
        places = (part.astype(np.int32, copy=False) for part in (X.indices, X.indptr))
        return SparseColumns((data, *places), X.shape, root, intercept)
    if X.dtype != np.float64 or not (X.flags.c_contiguous or X.flags.f_contiguous):
        X = np.array(X, dtype=np.float64)
    if not intercept:
        return DenseColumns(X, root, None)
    share = np.full(n, 1.0 / n) if root is None else root * root / n
    with np.errstate(over="ignore", invalid="ignore"):
        mean = share @ X
        spread = X[:: max(1, n // 256)].std(axis=0)
        far = bool(((np.abs(mean) > FAR * spread) & (spread > 0.0)).any())
    if far:
        X = X - mean  # the only case in which X is copied
        return DenseColumns(X, root, share @ X, mean)
    return DenseColumns(X, root, mean)


def checked_gram(gram, X, s, intercept):
    """A Gram matrix given by the user, if it can be one of this X; True, False and "auto" pass."""
    if isinstance(gram, bool | str):
        return gram
    n, p = X.shape
    share = np.full(n, 1.0 / n) if s is None else s / s.sum()
    mean = share @ X
    if intercept and not np.allclose(mean, 0.0):
        warnings.warn(
            "Gram matrix was provided but X was centered to fit intercept: recomputing Gram "
            "matrix.",
            UserWarning,
            stacklevel=3,
        )
        return "auto"
    gram = check_array(gram, dtype=np.float64)
    if gram.shape != (p, p):
        raise ValueError(f"The Gram matrix must have shape {(p, p)}, got {gram.shape}.")
    i, j = p // 2, min(p // 2 + 1, p - 1)
    centre = mean if intercept else np.zeros(p)
    expected = float(n * share * (X[:, i] - centre[i]) @ (X[:, j] - centre[j]))
    size = float(np.sqrt(np.abs(gram[i, i] * gram[j, j])))
    if abs(gram[i, j] - expected) > 1e-4 * max(abs(expected), 1e-3 * size):
        raise ValueError(
            "Gram matrix passed in via 'precompute' parameter did not pass validation when a "
            "single element was checked - please check that it was computed properly. For element "
            f"({i},{j}) we computed {expected} but the user-supplied value was {gram[i, j]}."
        )
    return gram
