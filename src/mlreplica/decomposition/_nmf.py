r"""Non-negative matrix factorisation: parts that add up to the rows

    minimise over W ≥ 0 (n, k), H ≥ 0 (k, p):                                              (1)

        D_β(X | WH) + pα_W (ρ‖W‖₁ + ½(1−ρ)‖W‖²) + nα_H (ρ‖H‖₁ + ½(1−ρ)‖H‖²)

with ½‖X − WH‖² for β = 2, the divergence of Kullback and Leibler for β = 1 and that of Itakura and
Saito for β = 0. Nothing is subtracted, so the rows of H are *parts*: strokes of digits, topics of
texts. The problem is convex in W and in H, but not in both: it has many local minima, and what is
found depends on the start. A good one comes from the singular vectors (Boutsidis, Gallopoulos
2008): of σ u vᵀ keep the larger of its two non-negative parts,

    u = u⁺ − u⁻,  v = v⁺ − v⁻:    w = √(σ ‖u±‖ ‖v±‖) u±/‖u±‖,   h alike                    (2)

Steps (3) and (4) are in `_nmf_solvers`.

Lee, Seung, Learning the parts of objects by non-negative matrix factorization (1999).
"""

import warnings
from contextlib import nullcontext
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, check_non_negative

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, StrOptions, _fit_context, validate_params
from mlreplica.core.compile.threads import one_blas_thread
from mlreplica.core.iterate import CallbackSupport, iterate
from mlreplica.core.linear import checked_rows
from mlreplica.core.rows.products import Products
from mlreplica.core.validation import FLOATS, ValidatedOnce, new_rows

from ._divergence import NAMES, beta_divergence
from ._nmf_solvers import SMALL, amounts, coordinate_descent, multiplicative
from ._nmf_start import first_factors, given

UNSEEN = 16  # sweeps over a small X between looks at their state, if no callback looks
INITS = {"random", "nndsvd", "nndsvda", "nndsvdar", "custom"}


class NMF(
    ValidatedOnce, CallbackSupport, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Non-negative matrix factorisation X ≈ W H: (1).

    Parameters
    ----------
    n_components : int, "auto" or None, default="auto"
        k; "auto" takes it from a given W and H, and otherwise, like None, all columns.
    init : {"random", "nndsvd", "nndsvda", "nndsvdar", "custom"}, default=None
        The start: random; (2) with zeros; with zeros filled by the mean, or by small random
        numbers; or given to `fit_transform`. None: "nndsvda" if k ≤ min(n, p), else "random".
    solver : {"cd", "mu"}, default="cd"
        Coordinate descent (3), or multiplicative updates (4).
    beta_loss : float or {"frobenius", "kullback-leibler", "itakura-saito"}, default="frobenius"
        β; other than 2 only with "mu".
    tol : float, default=1e-4
        Where to stop.
    max_iter : int, default=200
        The most sweeps.
    random_state : int, RandomState instance or None, default=None
        The start.
    alpha_W, alpha_H : float, default=0.0 and "same"
        Penalties of (1).
    l1_ratio : float, default=0.0
        ρ.
    verbose : int, default=0
        Above 0, write a line per sweep on standard output.
    shuffle : bool, default=False
        Kept for scikit-learn: coordinates are always taken in order.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        H.
    n_components_ : int
        k.
    reconstruction_err_ : float
        √(2 D_β) of the training rows: for β = 2, ‖X − WH‖.
    n_iter_ : int
        Sweeps done.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has any.

    Examples
    --------
    >>> from mlreplica.datasets import load_digits
    >>> from mlreplica.decomposition import NMF
    >>> X, _ = load_digits(return_X_y=True)
    >>> model = NMF(10, max_iter=1000, random_state=0).fit(X)
    >>> bool((model.components_ >= 0).all())
    True
    """

    card = Card(
        page="nmf",
        checks="components_only",
        input="rows",
        use="rows of amounts as sums of a few parts: topics, spectra, images",
        good="parts that can be looked at; sparse input; threads over rows",
        bad="many local minima; the number of parts must be chosen",
        time="O(n p k + (n + p) k²) per sweep",
        memory="O((n + p) k)",
        rescaling="columns must not be negative; large ones count more",
        instead="PCA for signed data, TruncatedSVD for speed",
    )

    @classmethod
    def small_runs(cls):
        """A call for the warm-up: many amounts to learn from, and the answer to one row."""
        X = np.linspace(0.0, 1.0, 2 * SMALL).reshape(-1, 8) ** 2
        yield lambda: cls(2, init="random", max_iter=2, random_state=0).fit(X).transform(X[:1])

    _parameter_constraints = {
        "n_components": [
            Interval(Integral, 1, None, closed="left"), None, StrOptions({"auto"}),
        ],
        "init": [StrOptions(INITS), None],
        "solver": [StrOptions({"mu", "cd"})],
        "beta_loss": [StrOptions(set(NAMES)), Real],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "alpha_W": [Interval(Real, 0, None, closed="left")],
        "alpha_H": [Interval(Real, 0, None, closed="left"), StrOptions({"same"})],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "verbose": ["verbose"],
        "shuffle": ["boolean"],
    }  # fmt: skip

    def __init__(
        self,
        n_components: int | str | None = "auto",
        *,
        init=None,
        solver="cd",
        beta_loss: float | str = "frobenius",
        tol=1e-4,
        max_iter=200,
        random_state=None,
        alpha_W=0.0,
        alpha_H: float | str = "same",
        l1_ratio=0.0,
        verbose=0,
        shuffle=False,
    ):
        self.n_components = n_components
        self.init = init
        self.solver = solver
        self.beta_loss = beta_loss
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.alpha_W = alpha_W
        self.alpha_H = alpha_H
        self.l1_ratio = l1_ratio
        self.verbose = verbose
        self.shuffle = shuffle

    def fit(self, X, y=None, **params):
        """Find the parts.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, nowhere negative.
        y : None
            Ignored.
        **params : dict
            W and H of `fit_transform`.

        Returns
        -------
        self : NMF
        """
        self.fit_transform(X, **params)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X, y=None, W=None, H=None):
        """Find the parts, and how much of each the rows have.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, nowhere negative.
        y : None
            Ignored.
        W, H : array-like of shape (n_samples, n_components), (n_components, n_features)
            Where to start, with init="custom".

        Returns
        -------
        W : ndarray of shape (n_samples, n_components)
        """
        X = checked_rows(self, X, accept_sparse=("csr", "csc"))
        W, H = self._factors(X, W, H, True)
        vars(self).update(self._attributes(X, W, H))
        return W

    def _attributes(self, X, W, H):
        """What a fit publishes of its factors."""
        wrong = beta_divergence(X, W.astype(float), H.astype(float), self._beta)
        return {
            "components_": H,
            "n_components_": H.shape[0],
            "reconstruction_err_": float(np.sqrt(2.0 * max(wrong, 0.0))),
        }

    def transform(self, X):
        """How much of each part new rows have.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows, nowhere negative.

        Returns
        -------
        W : ndarray of shape (n_samples, n_components)
        """
        X = new_rows(self, X, accept_sparse=("csr", "csc"))
        refuse_negative(X)
        if self.solver == "cd":
            return self._amounts(X, self.components_)[0]
        n_iter = self.n_iter_
        W, _ = self._factors(X, None, self.components_.astype(X.dtype, copy=False), False)
        self.n_iter_ = n_iter
        return W

    def inverse_transform(self, X):
        """The rows that have these amounts of the parts.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_components)
            Amounts.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        W = check_array(X, accept_sparse=("csr", "csc"), dtype=FLOATS)
        return W @ self.components_

    @property
    def _beta(self):
        """β as a number"""
        return NAMES.get(self.beta_loss, self.beta_loss)

    def _factors(self, X, W, H, update_H):
        """W and H by the solver that was chosen; H stays unless `update_H`."""
        refuse_negative(X)
        if self.solver != "mu" and self._beta != 2:
            raise ValueError(
                f"Invalid beta_loss parameter: solver {self.solver!r} does not handle beta_loss = "
                f"{self.beta_loss!r}"
            )
        if self.solver == "mu" and self.init == "nndsvd":
            warnings.warn(
                "The multiplicative update ('mu') solver cannot update zeros present in the "
                "initialization, and so leads to poorer results when used jointly with "
                "init='nndsvd'. You may try init='nndsvda' or init='nndsvdar' instead.",
                UserWarning,
                stacklevel=4,
            )
        if self._beta <= 0 and X.min() == 0:
            raise ValueError(
                "When beta_loss <= 0 and X contains zeros, the solver may diverge. Please add "
                "small values to X, or use a positive beta_loss."
            )
        # threads of BLAS that wait for the next product would slow the sweeps
        with one_blas_thread() if self.solver == "cd" else nullcontext():
            return self._descend(X, *self._start(X, W, H, update_H), update_H)

    def _descend(self, X, W, H, update_H):
        """W and H after the last step."""
        dtype = X.dtype
        if self.solver == "cd" and not update_H:
            W, self.n_iter_ = self._amounts(X, H)
            return W, H
        W, H = W.astype(np.float64), H.astype(np.float64)
        penalties = self._penalties(*X.shape)
        if self.solver == "cd":
            at_once = 1 if getattr(self, "_skl_callbacks", None) else UNSEEN
            options = self.tol, self.max_iter, at_once
            states = coordinate_descent(Products(X), W, H, penalties, *options)
        else:
            Z = sp.csr_array(X).astype(np.float64) if sp.issparse(X) else X.astype(np.float64)
            states = multiplicative(Z, W, H, self._beta, penalties, fix_H=not update_H)
        state = self._settled(states, X, update_H)
        if update_H and 0 < self.tol < state.change:
            warnings.warn(
                f"Maximum number of iterations {self.max_iter} reached. Increase it to improve "
                f"convergence. (change {state.change:.1e} > tol {self.tol:.1e})",
                ConvergenceWarning,
                stacklevel=5,
            )
        return tuple(np.ascontiguousarray(A, dtype=dtype) for A in (state.W, state.H))

    def _penalties(self, n, p):
        """λ₁, λ₂ of W, then of H"""
        rho, alpha_H = self.l1_ratio, self.alpha_W if self.alpha_H == "same" else self.alpha_H
        a, b = p * self.alpha_W, n * alpha_H
        return a * rho, a * (1 - rho), b * rho, b * (1 - rho)

    def _amounts(self, X, H):
        """W for a fixed H by (3), and the most sweeps that a block of rows needed."""
        penalties = self._penalties(*X.shape)
        with one_blas_thread():
            W, n_iter = amounts(X, H.astype(float), penalties, self.tol, self.max_iter)
        return np.ascontiguousarray(W, dtype=X.dtype), n_iter

    def _settled(self, states, X, update_H):
        """The last state; of a fit, which callbacks see."""
        if update_H:
            state = iterate(
                self,
                states,
                max_iter=self.max_iter,
                tol=self.tol if self.tol > 0 else None,
                watch="change",
                unit="sweeps",
                advice=None,
                publish=lambda s: self._attributes(X, s.W, s.H.astype(X.dtype)),
            )
        else:
            for state in states:
                if state.sweeps == self.max_iter or 0 < self.tol >= state.change:
                    break
        self.n_iter_ = state.sweeps
        return state

    def _start(self, X, W, H, update_H):
        """W and H to begin with."""
        n, p = X.shape
        k = p if self.n_components is None else self.n_components
        if (self.init == "custom" and update_H) or not update_H:
            given(H, (k, p), "NMF (input H)")
            if H.dtype != X.dtype or (update_H and np.asarray(W).dtype != X.dtype):
                raise TypeError(
                    f"H and W should have the same dtype as X. Got H.dtype = {H.dtype}."
                )
        if self.init == "custom" and update_H:
            given(W, (n, k), "NMF (input W)")
            return np.array(W), np.array(H)
        if not update_H:
            if W is not None:
                warnings.warn(
                    "When update_H=False, the provided initial W is not used.",
                    RuntimeWarning,
                    stacklevel=5,
                )
            k = H.shape[0]
            fill = np.sqrt(X.mean() / k) if self.solver == "mu" else 0.0
            return np.full((n, k), fill), np.array(H)
        if W is not None or H is not None:
            warnings.warn(
                "When init!='custom', provided W or H are ignored. Set  init='custom' to use them "
                "as initialization.",
                RuntimeWarning,
                stacklevel=5,
            )
        return first_factors(X, p if k == "auto" else k, self.init, self.random_state)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self):
        """Number of parts, by which they are named."""
        return self.components_.shape[0]


def refuse_negative(X):
    """Raise if an entry is below zero."""
    if sp.issparse(X) or X.min() < 0:
        check_non_negative(X, "NMF (input X)")


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "W": ["array-like", None],
        "H": ["array-like", None],
        "update_H": ["boolean"],
    },
    prefer_skip_nested_validation=False,
)
def non_negative_factorization(
    X,
    W=None,
    H=None,
    n_components="auto",
    *,
    init=None,
    update_H=True,
    solver="cd",
    beta_loss="frobenius",
    tol=1e-4,
    max_iter=200,
    alpha_W=0.0,
    alpha_H="same",
    l1_ratio=0.0,
    random_state=None,
    verbose=0,
    shuffle=False,
):
    """Factorise a non-negative matrix: (1), as a function.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows, nowhere negative.
    W, H : array-like of shape (n_samples, n_components), (n_components, n_features)
        Where to start; H itself if it is not to be updated.
    update_H : bool, default=True
        False finds W only.
    n_components, init, solver, beta_loss, tol, max_iter, alpha_W, alpha_H, l1_ratio, \
random_state, verbose, shuffle
        As in :class:`NMF`.

    Returns
    -------
    W : ndarray of shape (n_samples, n_components)
    H : ndarray of shape (n_components, n_features)
    n_iter : int
    """
    model = NMF(
        n_components, init=init, solver=solver, beta_loss=beta_loss, tol=tol, max_iter=max_iter,
        random_state=random_state, alpha_W=alpha_W, alpha_H=alpha_H, l1_ratio=l1_ratio,
        verbose=verbose, shuffle=shuffle,
    )  # fmt: skip
    model._validate_params()
    X = check_array(X, accept_sparse=("csr", "csc"), dtype=FLOATS)
    W, H = model._factors(X, W, H, update_H)
    return W, H, model.n_iter_
