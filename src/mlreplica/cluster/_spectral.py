r"""Spectral clustering: cut a graph of the rows where it is thin

The rows are the nodes of a graph with affinities A_ij = A_ji ≥ 0, and g_i = Σ_{j ≠ i} A_ij. A cut
into groups should cross few affinities, relative to the size of the groups:

    Ncut(C₁ … C_k) = Σ_c cut(C_c) / vol(C_c),                                                (1)

    cut(C) = Σ_{i ∈ C, j ∉ C} A_ij,      vol(C) = Σ_{i ∈ C} g_i

With indicators h_c = 1_{C_c} / √vol(C_c) and G = diag(g), cut(C_c)/vol(C_c) = h_cᵀ (G − A) h_c, so
(1) is a trace. To minimise it over indicators is hard; over all H with Hᵀ G H = I it is not:

    minimise tr Hᵀ (G − A) H   subject to  Hᵀ G H = I                                        (2)

The solution, with H = G^(−1/2) U, is the k eigenvectors U of largest eigenvalue of

    M = G^(−1/2) A G^(−1/2)     (its diagonal left out)                                      (3)

One of them is known: √g, of eigenvalue 1, and where the graph is not connected, √g on each of its
components. Rows of the same group have nearly the same row of H, so that k-means on the rows of H
finds them, whatever the shape of the groups was.

References
----------
Shi, Malik: Normalized cuts and image segmentation. IEEE PAMI 22 (2000), 888–905.
von Luxburg: A tutorial on spectral clustering. Statistics and Computing 17 (2007), 395–416.
Yu, Shi: Multiclass spectral clustering. ICCV (2003).
Damle, Minden, Ying: Simple, direct and efficient multi-way spectral clustering. Information and
Inference 8 (2019), 181–203.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, qr, svd
from scipy.linalg.blas import dsymv
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh, lobpcg
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import as_float_array, check_random_state, check_symmetric
from sklearn.utils.validation import check_array

from mlreplica.core.card import Card
from mlreplica.core.compat import KERNEL_PARAMS, Interval, StrOptions, _fit_context, validate_params
from mlreplica.core.formulas.kernels import RBF
from mlreplica.core.iterate import say
from mlreplica.core.validation import validate_data

from .kmeans.estimator import KMeans

SMALL = 400  # rows up to which all eigenvectors are found at once
LEAST = np.finfo(np.float64).tiny  # RBF never returns less; rows that far apart are not related
FAINT = 1e-32  # affinities of M that no eigenvalue can show
TOLERANCE = 1e-10  # of eigenvalues, which are between −1 and 1


def normalised(A):
    """M of (3) and √g, for a dense or CSR affinity; rows without affinities keep a zero row."""
    if sp.issparse(A):
        A = sp.csr_array(A, dtype=np.float64, copy=True)
        A.setdiag(0.0)
        g = np.asarray(A.sum(axis=1)).ravel()
    else:
        A = np.array(A, dtype=np.float64)
        np.fill_diagonal(A, 0.0)
        g = A.sum(axis=1)
    root = np.sqrt(np.where(g > 0.0, g, 1.0))
    if sp.issparse(A):
        inverse = sp.diags_array(1.0 / root)
        return sp.csr_array(inverse @ A @ inverse), root
    A /= root
    A /= root[:, None]
    return A, root


def known_vectors(M, root, k):
    """Eigenvectors of eigenvalue 1: √g on one connected component, 0 elsewhere; the k largest."""
    n = M.shape[0]
    pieces, of = 1, np.zeros(n, np.int64)
    strong = M > FAINT
    if sp.issparse(M) or np.count_nonzero(strong) < n * (n - 1):
        pieces, of = connected_components(strong, directed=False)
    largest = np.argsort(-np.bincount(of, root**2), kind="stable")[:k]
    U = np.where(of[:, None] == largest, root[:, None], 0.0)
    if pieces > 1:
        warnings.warn(
            f"Graph is not fully connected: {pieces} components have no single best cut.",
            UserWarning,
            stacklevel=6,
        )
    return U / np.linalg.norm(U, axis=0)


def leading_vectors(M, known, k, solver, tol, random):
    """The k eigenvectors of largest eigenvalue of a symmetric M, of which the first are known."""
    n, more = M.shape[0], k - known.shape[1]
    tol = TOLERANCE if tol == "auto" else tol
    if solver == "amg":
        try:
            from pyamg import smoothed_aggregation_solver
        except ImportError as missing:
            raise ValueError(
                "The eigen_solver was set to 'amg', but pyamg is not available."
            ) from missing
    if more <= 0:
        return known
    if n <= max(SMALL, 5 * k + 1):
        M = (M.toarray() if sp.issparse(M) else M) - 2.0 * known @ known.T
        U = eigh(M, driver="evd")[1][:, : -more - 1 : -1]  # a part of equal ones may be lost
    elif solver in ("lobpcg", "amg"):
        start, helper = random.standard_normal((n, more)), None
        if solver == "amg":
            L = sp.csr_array(sp.eye_array(n) - M) + 1e-5 * sp.eye_array(n)
            helper = smoothed_aggregation_solver(sp.csr_matrix(L)).aspreconditioner()
        options = {"M": helper, "Y": known, "tol": tol or None, "maxiter": 2000}
        values, U = lobpcg(-1.0 * M, start, largest=False, **options)
        U = U[:, np.argsort(values)]
    else:
        times = M.__matmul__ if sp.issparse(M) else lambda v: dsymv(1.0, M.T, v)  # reads half of M
        others = LinearOperator(  # what is known moves to the eigenvalue −1
            M.shape, matvec=lambda v: times(v) - 2.0 * known @ (known.T @ v), dtype=np.float64
        )
        size, start = min(n - 1, max(2 * more + 1, 32)), random.uniform(-1.0, 1.0, n)
        values, U = eigsh(others, more, which="LA", v0=start, tol=tol, ncv=size)
        U = U[:, np.argsort(-values)]
    return np.column_stack([known, U])


def spectral_rows(A, k, solver, tol, random):
    """The rows of H, (2): k numbers for each row, each column with its largest number positive."""
    M, root = normalised(A)
    H = leading_vectors(M, known_vectors(M, root, k), k, solver, tol, random) / root[:, None]
    return H * np.sign(H[np.abs(H).argmax(axis=0), np.arange(k)])


def cluster_qr(H):
    """Labels by a QR factorisation with pivots: k rows that point apart, the nearest of them."""
    k = H.shape[1]
    _, _, pivot = qr(H.T, pivoting=True)
    left, _, right = svd(H[pivot[:k], :].T)
    return np.abs(H @ (left @ right.conj())).argmax(axis=1)


def discretize(H, *, max_svd_restarts=30, n_iter_max=20, random_state=None):
    """Labels by turning H towards indicators: a rotation and the nearest indicators, in turns."""
    random, (n, k) = check_random_state(random_state), H.shape
    H = as_float_array(H, copy=True) / np.linalg.norm(H, axis=0) * np.sqrt(n)
    for j in range(k):
        if H[0, j] != 0:
            H[:, j] *= -np.sign(H[0, j])
    H /= np.maximum(np.linalg.norm(H, axis=1, keepdims=True), np.finfo(float).tiny)
    for _ in range(max_svd_restarts):
        rotation, closeness, before = np.zeros((k, k)), np.zeros(n), 0.0
        rotation[:, 0] = H[random.randint(n)]
        for j in range(1, k):
            closeness += np.abs(H @ rotation[:, j - 1])
            rotation[:, j] = H[closeness.argmin()]
        for turn in range(n_iter_max + 1):
            labels = (H @ rotation).argmax(axis=1)
            indicators = np.zeros((n, k))
            indicators[np.arange(n), labels] = 1.0
            try:
                U, s, V = np.linalg.svd(indicators.T @ H)
            except np.linalg.LinAlgError:
                break
            ncut = 2.0 * (n - s.sum())
            if abs(ncut - before) < np.finfo(float).eps or turn == n_iter_max:
                return labels
            before, rotation = ncut, (U @ V).T
    raise np.linalg.LinAlgError("SVD did not converge")


def labels_of(model, A, random):
    """Labels of the rows of an affinity, by the parameters of a `SpectralClustering`."""
    k, components = model.n_clusters, model.n_components
    components = k if components is None else components
    H = spectral_rows(A, components, model.eigen_solver, model.eigen_tol, random)
    assign = model.assign_labels
    if model.verbose:
        say(model, f"Computing label assignment using {assign}")
    if assign == "kmeans":
        found = KMeans(k, n_init=model.n_init, random_state=random, verbose=model.verbose).fit(H)
        return found.labels_
    return cluster_qr(H) if assign == "cluster_qr" else discretize(H, random_state=random)


class SpectralClustering(ClusterMixin, BaseEstimator):
    """Clusters that few affinities cross, of any shape: a relaxation of the normalised cut (1).

    Parameters
    ----------
    n_clusters : int, default=8
        k.
    eigen_solver : {None, "arpack", "lobpcg", "amg"}, default=None
        How eigenvectors are found; None is "arpack", Lanczos' method. "amg" needs pyamg.
    n_components : int, default=None
        How many eigenvectors to use; None means k.
    random_state : int, RandomState instance or None, default=None
        Seed of the eigenvectors' start and of k-means.
    n_init : int, default=10
        Starts of k-means.
    gamma : float, default=1.0
        Of the kernels "rbf", "poly", "sigmoid", "laplacian" and "chi2".
    affinity : str or callable, default="rbf"
        A kernel; "nearest_neighbors", a graph of the `n_neighbors` nearest rows; "precomputed": X
        holds affinities; "precomputed_nearest_neighbors": X holds sparse distances.
    n_neighbors : int, default=10
    eigen_tol : float or "auto", default="auto"
    assign_labels : {"kmeans", "discretize", "cluster_qr"}, default="kmeans"
        How groups are found among the rows of eigenvectors.
    degree, coef0 : float, default=3, 1
        Of the kernels "poly" and "sigmoid".
    kernel_params : dict, default=None
        Arguments of a kernel that is a function.
    n_jobs : int, default=None
        Threads for neighbours; None for all.
    verbose : bool, default=False
        Whether to write on standard output how labels are found, and every pass of k-means.

    Attributes
    ----------
    affinity_matrix_ : {ndarray, sparse matrix} of shape (n_samples, n_samples)
    labels_ : ndarray of shape (n_samples,)

    References
    ----------
    Shi, Malik: Normalized cuts and image segmentation. IEEE PAMI 22 (2000), 888–905.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1, 1], [2, 1], [1, 0], [4, 7], [3, 5], [3, 6]])
    >>> SpectralClustering(n_clusters=2, assign_labels="discretize", random_state=0).fit(X).labels_
    array([1, 1, 1, 0, 0, 0])
    """

    card = Card(
        page="spectral-clustering",
        checks="labelled_rows",
        input="rows",
        cheap=lambda: {"n_clusters": 2, "n_init": 1},
        use="a few groups of any shape, or the nodes of a graph",
        good="shape does not matter; takes any affinity; images and networks",
        bad="k must be chosen; n² affinities unless neighbours are used",
        time="O(n²) per step of Lanczos; O(n neighbours) on a sparse graph",
        memory="O(n²); O(n neighbours) on a sparse graph",
        rescaling="needed: affinities depend on the units of the columns",
        instead="HDBSCAN for noise and unknown k, KMeans for round groups",
    )

    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "eigen_solver": [StrOptions({"arpack", "lobpcg", "amg"}), None],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="left")],
        "affinity": [
            StrOptions(
                set(KERNEL_PARAMS)
                | {"nearest_neighbors", "precomputed", "precomputed_nearest_neighbors"}
            ),
            callable,
        ],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "eigen_tol": [Interval(Real, 0.0, None, closed="left"), StrOptions({"auto"})],
        "assign_labels": [StrOptions({"kmeans", "discretize", "cluster_qr"})],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        eigen_solver=None,
        n_components=None,
        random_state=None,
        n_init=10,
        gamma=1.0,
        affinity: Any = "rbf",
        n_neighbors=10,
        eigen_tol: float | str = "auto",
        assign_labels="kmeans",
        degree: float = 3,
        coef0: float = 1,
        kernel_params=None,
        n_jobs=None,
        verbose: int = False,
    ):
        self.n_clusters = n_clusters
        self.eigen_solver = eigen_solver
        self.n_components = n_components
        self.random_state = random_state
        self.n_init = n_init
        self.gamma = gamma
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.eigen_tol = eigen_tol
        self.assign_labels = assign_labels
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Find the eigenvectors (3) and groups among their rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
        y : Ignored

        Returns
        -------
        self : SpectralClustering
        """
        X = validate_data(
            self, X, accept_sparse=["csr", "csc", "coo"], dtype=np.float64, ensure_min_samples=2
        )
        given = self.affinity in ("precomputed", "precomputed_nearest_neighbors")
        if X.shape[0] == X.shape[1] and not given:
            warnings.warn(
                "The spectral clustering API has changed. ``fit`` now constructs an affinity "
                "matrix from data. To use a custom affinity matrix, set ``affinity=precomputed``.",
                stacklevel=2,
            )
        with np.errstate(over="ignore", invalid="ignore"):
            self.affinity_matrix_ = self._affinities(X)
            finite = np.isfinite(self.affinity_matrix_.sum())
        if not finite:
            raise ValueError("Affinities of X overflow; scale X, for instance by StandardScaler.")
        k = self.n_clusters
        if k > X.shape[0]:
            raise ValueError(f"n_clusters={k} must be at most n_samples={X.shape[0]}.")
        A, random = self.affinity_matrix_, check_random_state(self.random_state)
        if self.affinity == "precomputed":
            A = check_symmetric(A)  # else the mean of A and its transpose, with a warning
        self.labels_ = labels_of(self, A, random)
        return self

    def _affinities(self, X):
        """A of (1)."""
        if self.affinity == "precomputed":
            return X
        if "nearest" in str(self.affinity):
            from mlreplica.neighbors import NearestNeighbors

            metric = "precomputed" if self.affinity.startswith("pre") else "minkowski"
            search = NearestNeighbors(
                n_neighbors=self.n_neighbors, metric=metric, n_jobs=self.n_jobs
            ).fit(X)
            graph = search.kneighbors_graph(X, mode="connectivity")
            return 0.5 * (graph + graph.T)
        if self.affinity == "rbf" and not sp.issparse(X):
            A = RBF(self.gamma)(X)
            np.copyto(A, 0.0, where=A <= LEAST)
            return A
        options = self.kernel_params or {}
        if not callable(self.affinity):
            options = options | {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return pairwise_kernels(X, metric=self.affinity, filter_params=True, **options)

    def fit_predict(self, X, y=None):
        """Fit, and return the label of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
        y : Ignored

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return super().fit_predict(X, y)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        given = self.affinity in ("precomputed", "precomputed_nearest_neighbors")
        tags.input_tags.pairwise = given
        tags.input_tags.sparse = True
        return tags


@validate_params({"affinity": ["array-like", "sparse matrix"]}, prefer_skip_nested_validation=False)
def spectral_clustering(
    affinity,
    *,
    n_clusters=8,
    n_components=None,
    eigen_solver=None,
    random_state=None,
    n_init=10,
    eigen_tol="auto",
    assign_labels="kmeans",
    verbose=False,
):
    """Labels of the nodes of a graph by `SpectralClustering`.

    Parameters
    ----------
    affinity : {array-like, sparse matrix} of shape (n_samples, n_samples)
        Symmetric, not negative.
    n_clusters, n_components, eigen_solver, random_state, n_init, eigen_tol, assign_labels, verbose
        As in `SpectralClustering`.

    Returns
    -------
    labels : ndarray of shape (n_samples,)

    Examples
    --------
    >>> import numpy as np
    >>> A = np.kron(np.eye(2), np.ones((3, 3))) + 0.01
    >>> spectral_clustering(A, n_clusters=2, random_state=0)
    array([1, 1, 1, 0, 0, 0], dtype=int32)
    """
    A = check_array(affinity, accept_sparse="csr", dtype=np.float64)
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"affinity must be square, got the shape {A.shape}.")
    return (
        SpectralClustering(
            n_clusters,
            affinity="precomputed",
            n_components=n_components,
            eigen_solver=eigen_solver,
            random_state=random_state,
            n_init=n_init,
            eigen_tol=eigen_tol,
            assign_labels=assign_labels,
            verbose=verbose,
        )
        .fit(A)
        .labels_
    )
