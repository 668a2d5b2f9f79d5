"""Problem: X and y as the solvers of the lasso see them, centred and weighted, and no copy"""

import warnings
from contextlib import nullcontext
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from sklearn.utils import assert_all_finite, check_array

from mlreplica.core.compile.threads import one_blas_thread
from mlreplica.core.rows.walk import origin
from mlreplica.linear_model.least_squares.direct import DesignRows

from .columns import FAR, DenseColumns, SparseColumns
from .coordinate_descent import objective
from .large_set import LargeSet
from .working_set import LARGEST, WorkingSet

SMALL = 300  # columns up to which all of the Gram matrix is made for a single fit
MEDIUM = 2000  # the same for a path, if X is tall
NEAR = 10  # |mean| / spread up to which centring after the product costs no more than two digits
DENSER = 1  # by this factor G may hold more numbers than a sparse X, see `large_set.py`


class LassoProblem:
    """Targets, columns, and either their products with every column or the whole Gram matrix.

    Parameters
    ----------
    X : ndarray in rows or columns, or CSC; float64 or float32
    Y : ndarray of shape (n, q)
    s : ndarray of shape (n,) or None
        Weights.
    intercept : bool
        Whether to centre.
    gram : ndarray of shape (p, p), bool, "auto" or None, default=False
        XᵀX of centred and weighted rows; whether to make it; "auto", to make it more readily
        because a path needs it often; None, to do without, because only Xᵀy is wanted.
    name : str
        Whose X and y they are, for errors.
    """

    def __init__(self, X, Y, s, intercept, gram=False, name=None):
        (n, p), sparse = X.shape, sp.issparse(X)
        self.X, self.name, self.intercept = X, name, intercept
        self.root = None if s is None else np.sqrt(s * (n / s.sum()))
        given, often = isinstance(gram, np.ndarray), isinstance(gram, str) and n >= 2 * p
        most = 0 if sparse or gram is None else MEDIUM if often else SMALL
        self.whole = given or p <= (LARGEST if gram is True else most)
        few = sparse and not self.whole
        self.most = min(LARGEST, 64 + int((DENSER * X.nnz) ** 0.5)) if few else LARGEST  # of W
        Y, self.y_mean = Y.astype(np.float64), np.zeros(Y.shape[1])
        if intercept:
            for y0 in (Y[0].copy(), None):  # from an origin near the mean, which keeps digits
                shift = np.average(Y, axis=0, weights=s) if y0 is None else y0
                Y -= shift
                self.y_mean += shift
        self.y = np.ascontiguousarray(Y.T if self.root is None else Y.T * self.root)
        self.size = np.einsum("ki,ki->k", self.y, self.y) / n
        if self.whole and not given and not sparse:
            self._gram(Y, s)
            return
        with np.errstate(over="ignore", invalid="ignore"):
            self.c, self.x_mean = self.A.gradient(self.y), self.A.x_mean
        self._refuse_unless_finite(self.c, self.x_mean)
        if self.whole:
            each = np.arange(p)
            self.G = np.ascontiguousarray(gram) / n if given else self.A.products(each, each)

    def _gram(self, Y, s):
        """G, c and x̄ in one pass over the rows."""
        n = len(self.X)
        with np.errstate(over="ignore", invalid="ignore"):
            if s is None and self.X.dtype == np.float64 and (not self.intercept or self._near()):
                G, b = self._products(Y)
            else:
                G, b = self._products_by_blocks(Y, s)
        self._refuse_unless_finite(G, b)
        still = G.diagonal() <= 1e-28 * n * self.x_mean**2  # constant but for rounding
        keep = np.where(still, 0.0, 1.0)
        self.G = np.ascontiguousarray(G * keep * keep[:, None]) / n
        self.c = np.ascontiguousarray(b.T * keep) / n

    def _near(self):
        """Whether the columns are so near zero that one may centre their products, by 64 rows."""
        some = self.X[:: max(1, len(self.X) // 64)]
        return bool((np.abs(some.mean(axis=0)) <= NEAR * some.std(axis=0)).all())

    def _products(self, Y):
        """AᵀA and AᵀY, from X as it lies; Y is centred."""
        X, n = self.X, len(Y)
        G, b, self.x_mean = X.T @ X, X.T @ Y, np.zeros(X.shape[1])
        if self.intercept:
            self.x_mean = np.full(n, 1.0 / n) @ X
            G -= np.multiply.outer(n * self.x_mean, self.x_mean)
            b -= np.multiply.outer(self.x_mean, Y.sum(axis=0))
        return G, b

    def _products_by_blocks(self, Y, s):
        """The same by blocks of centred rows: with weights, single precision or large means."""
        n, p = self.X.shape
        self.x_mean = origin(self.X) if self.intercept else np.zeros(p)
        weight, y0 = None if s is None else s * (n / s.sum()), np.zeros(Y.shape[1])
        normal = DesignRows(self.X, self.x_mean, bool(self.intercept), Y, y0, weight).normal()
        if self.intercept:
            normal, dx, _ = normal.centred()
            self.x_mean = self.x_mean + dx
        return normal.G, normal.b

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
        """The columns, see `columns.py`."""
        return columns(self.X, self.root, self.intercept)

    def value(self, k, w, alpha, beta):
        """P at w for target k."""
        w = w.astype(np.float64)
        if self.whole:
            rr = float(self.size[k] - w @ (2.0 * self.c[k] - self.G @ w))
        else:
            r = self.y[k] - self.A.product(w)
            rr = float(r @ r) / len(r)
        return objective(rr, w, alpha, beta)

    def threads_of_blas(self):
        """A context: one thread where X is sparse, and nothing but long vectors is left for it."""
        return one_blas_thread() if sp.issparse(self.X) else nullcontext()

    def working_set(self, k):
        """A WorkingSet for target k."""
        return WorkingSet(self, k)

    def large_set(self, k, w):
        """A LargeSet for target k that starts at w; None if X is dense."""
        return LargeSet(self.A, self.y[k], w) if sp.issparse(self.X) else None


def columns(X, root, intercept):
    """DenseColumns or SparseColumns of X."""
    n = X.shape[0]
    if sp.issparse(X):
        data = X.data.astype(np.float64, copy=False)
        if root is not None:
            data = data * root[X.indices]
        rows = X.indices.astype(np.int32, copy=False).view(np.uint32)
        return SparseColumns((data, rows, X.indptr.astype(np.uint64)), X.shape, root, intercept)
    if X.dtype != np.float64 or not (X.flags.c_contiguous or X.flags.f_contiguous):
        X = np.array(X, dtype=np.float64)
    if not intercept:
        return DenseColumns(X, root, None)
    share = np.full(n, 1.0 / n) if root is None else root * root / n
    with np.errstate(over="ignore", invalid="ignore"):
        mean = share @ X
        spread = X[:: max(1, n // 64)].std(axis=0)
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
