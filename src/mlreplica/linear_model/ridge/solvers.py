"""Ridge regression: which way each solver's name goes: `direct.py` or least squares'
`descent.py`"""

import math
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite, check_random_state

from mlreplica.core.compat import _check_sample_weight
from mlreplica.core.iterate import iterate
from mlreplica.core.linalg import cholesky
from mlreplica.core.rows.csr import CentredProducts
from mlreplica.core.rows.walk import SMALL
from mlreplica.core.validation import refuse_overflow
from mlreplica.linear_model.least_squares import descent
from mlreplica.linear_model.least_squares.direct import DesignRows, DesignTriangle, by_svd, by_wide
from mlreplica.linear_model.least_squares.sparse import DENSE, MOST, means

from . import direct as ridge
from .direct import RidgeSolution

GRAM = ("auto", "cholesky")  # the solvers that start with the normal equations
PRODUCTS = ("lsqr", "sparse_cg", "sag", "saga")  # conjugate gradients
DENSE_ONLY = ("svd", "qr", "gd", "sgd")
SPARSE_OFFSET = ("auto", "lsqr", "sparse_cg", "sag", "lbfgs")
ADVICE = "raise max_iter, tol or alpha, or scale the columns of X"
SOLVERS = {*GRAM, *PRODUCTS, *DENSE_ONLY, "lbfgs"}


def penalties(alpha, q):
    """One α a target."""
    alpha = np.asarray(alpha, dtype=float).ravel()
    if len(alpha) not in (1, q):
        raise ValueError(
            f"Number of targets and number of penalties do not correspond: {len(alpha)} != {q}"
        )
    if not (alpha >= 0).all() or not np.isfinite(alpha).all():
        raise ValueError(f"alpha must be >= 0 and finite, got {alpha.min()}; 0 is least squares.")
    return np.broadcast_to(alpha, q)


class RidgeSolvers:
    """From checked rows to w and b, by the solver asked for; leaves `n_iter_`."""

    def _solve(self, X, Y, sample_weight):
        """The RidgeSolution."""
        n, p = X.shape
        filled = isinstance(X, np.ndarray)
        self.n_iter_ = 1
        gram = self.solver in GRAM and not self.positive
        plain = gram and filled and sample_weight is None and not self.penalize_intercept
        small = n >= p and X.size + Y.size <= SMALL and isinstance(self.alpha, (float, int))
        if plain and small and self.alpha > 0:
            found = ridge.by_normal_equations(X, Y, self.alpha, self.fit_intercept)
            if found:
                return found
        alpha = penalties(self.alpha, Y.shape[1])
        self._check_solver(filled)
        with np.errstate(over="ignore", invalid="ignore"):  # the solvers look at their sums instead
            rows = self._rows(X, Y, sample_weight)
            short = gram and n >= p and (filled or p <= MOST)
            if short and (found := ridge.by_cholesky(rows, alpha)):
                return found
            self._finite(rows)
            rows = rows.positive()
            if self.positive:
                return self._positive(rows, alpha)
            if self.solver in PRODUCTS or (not filled and n * p > DENSE):
                return self._by_products(rows, alpha)
            return self._dense(rows if filled else self._filled(rows), alpha)

    def _check_solver(self, filled):
        """Refuse what cannot be done."""
        if self.positive and self.solver not in ("auto", "lbfgs"):
            raise ValueError(
                f"solver='{self.solver}' does not support positive fitting. Please"
                " set the solver to 'auto' or 'lbfgs', or set `positive=False`"
            )
        if self.positive and self.penalize_intercept:
            raise ValueError("positive=True asks for penalize_intercept=False.")
        if self.solver == "lbfgs" and not self.positive:
            raise ValueError(
                "'lbfgs' solver can be used only when positive=True. Please use another solver."
            )
        if not filled and self.fit_intercept and self.solver not in SPARSE_OFFSET:
            raise ValueError(
                f"solver='{self.solver}' does not support fitting the intercept on sparse data. "
                "Please set the solver to 'auto' or 'lsqr', 'sparse_cg', 'sag', 'lbfgs' "
                "or set `fit_intercept=False`"
            )
        if not filled and self.solver in DENSE_ONLY:
            raise TypeError(f"solver='{self.solver}' does not support sparse X; use 'auto'.")
        few = self.solver == "sag" and self.max_iter is None and self.tol > 1e-4
        if few and not filled and self.fit_intercept:
            warnings.warn(
                '"sag" solver requires many iterations to fit an intercept with sparse inputs. '
                'Either set the solver to "auto" or "sparse_cg", or set a low "tol" and a high '
                '"max_iter" (especially if inputs are not standardized).',
                stacklevel=4,
            )

    def _rows(self, X, Y, sample_weight):
        """The rows in the coordinates that the solvers take."""
        s, X = None, X.astype(float) if sp.issparse(X) else X
        if sample_weight is not None:
            s = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not self.penalize_intercept:
            return DesignRows.of(X, Y, s, intercept=self.fit_intercept)
        zero = np.zeros(X.shape[1]), np.zeros(Y.shape[1])
        return DesignRows(X, zero[0], self.fit_intercept, Y, zero[1], s, free=False)

    def _filled(self, rows):
        """The same rows, dense."""
        return self._rows(rows.X.toarray(), rows.y, rows.s)

    def _finite(self, rows):
        """Name what is not finite."""
        for name, values in (("X", rows.X), ("y", rows.y)):
            assert_all_finite(values, estimator_name=type(self).__name__, input_name=name)

    def _dense(self, rows, alpha):
        """Dense rows once the normal equations of a tall X are ruled out."""
        if self.solver in ("gd", "sgd"):
            return self._descent(rows, alpha)
        n, p = rows.X.shape
        if n >= p and self.solver != "svd":
            return ridge.by_qr(rows, alpha)
        zero = alpha == 0
        name = "cholesky" if self.solver == "auto" else self.solver
        parts = []
        if zero.any():  # least squares, of least norm
            rest = rows.targets(zero)
            w, b, *_ = by_svd(rest) if self.solver == "svd" else by_wide(rest)
            parts.append((zero, RidgeSolution(w, b, math.inf, name)))
        if not zero.all():
            rest = rows.targets(~zero), alpha[~zero]
            found = ridge.by_svd(*rest) if n >= p else ridge.by_dual(*rest, name)
            parts.append((~zero, found))
        return joined(parts, name)

    def _by_products(self, rows, alpha):
        """Conjugate gradients, on dense or sparse rows."""
        products, c, frame = self._products(rows)
        budget = self.max_iter or max(1000, 10 * min(products.shape))
        # "sag" and "saga" promise weights that change no more, which is more than a small residual
        tol = 0.1 * self.tol if self.solver in ("sag", "saga") else self.tol
        states = ridge.conjugate_gradients(products, c, alpha, tol, frame)
        state = self._drive(rows, states, tol, budget, "rest", "steps")
        name = "sparse_cg" if self.solver == "auto" else self.solver
        if state.rest > tol and self.n_iter_ < budget:
            warnings.warn(
                f"{name} did not converge after {self.n_iter_} iterations. Rounding ended progress "
                f"at {state.rest:.1e} > {tol:.1e}; raise tol or alpha, or scale X.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return RidgeSolution(state.w, state.b, state.gap, name)

    def _products(self, rows):
        """Products with A, c, and the way back to w and b."""
        if not sp.issparse(rows.X):
            A, c, frame = ridge.as_arrays(rows)
            return ridge.DenseProducts(A), c, frame
        offset = rows.intercept and not rows.free
        X = rows.design if offset else rows.X
        x_mean, y_mean = np.zeros(X.shape[1]), np.zeros(rows.y.shape[1])
        if rows.intercept and rows.free:
            x_mean, y_mean = means(X, rows.y, rows.s)
        frame = ridge.Frame(x_mean, y_mean, offset)
        return CentredProducts(X, rows.s, x_mean), rows.y - y_mean, frame

    def _descent(self, rows, alpha):
        """Gradient descent, plain or stochastic."""
        A, c, frame = ridge.as_arrays(rows)
        n, k = A.shape
        mu, L = descent.extremes(A, 0.5, alpha)
        problem = descent.LeastSquaresProblem(
            A, c, 0.5, mu, L, np.ones((k, 1)), *frame[:2], alpha=alpha, offset=frame.offset
        )
        if self.solver == "gd":
            states = descent.gradient_descent(problem, 1.0 / (L or 1.0))
        else:
            L_row = 2 * (np.einsum("ij,ij->i", A, A).max() * n + alpha.max())
            rng = check_random_state(self.random_state)
            states = descent.stochastic_gradient_descent(problem, 0.5 / (L_row or 1.0), rng)
        tol = self.tol * float((c * c).sum())
        state = self._drive(rows, states, tol, self.max_iter or 10_000, "gap", "epochs")
        return RidgeSolution(state.w, state.b, state.gap, self.solver)

    def _positive(self, rows, alpha):
        """w ≥ 0: by block pivoting; by an active set on a triangle where AᵀA would lose digits."""
        p, budget = rows.X.shape[1], self.max_iter or 15_000
        if sp.issparse(rows.X) and p > MOST and alpha.min() > 0:
            products, c, frame = self._products(rows)
            states = ridge.projected(products, c, alpha, self.tol, frame)
            return self._bounded(rows, states, budget)._replace(solver="lbfgs")
        if alpha.min() > 0:
            normal = normal_equations(rows, alpha)
            if cholesky(normal.G + alpha.min() * np.eye(p)):
                return self._bounded(rows, descent.block_pivoting(normal), budget)
        parts, rows = [], self._filled(rows) if sp.issparse(rows.X) else rows
        for a, targets in ridge.groups(alpha):
            mine = rows.targets(targets)
            tri = DesignTriangle.of(mine)
            tri = ridge.with_penalty(tri, a) if a > 0 else tri
            problem = descent.LeastSquaresProblem.of_triangle(mine, tri, 0.5)
            found = self._bounded(mine, descent.non_negative(problem), budget)
            parts.append((targets, found))
        return joined(parts, "nnls")

    def _bounded(self, rows, states, budget):
        """The RidgeSolution at the end of a walk that ends by itself."""
        advice = "the solver that replaces lbfgs solver did not converge, raise max_iter"
        state = self._drive(rows, states, None, budget, "gap", "exchanges", advice)
        return RidgeSolution(state.w, state.b, state.gap, "nnls")

    def _drive(self, rows, states, tol, max_iter, watch, unit, advice=ADVICE):
        """The last state of an iterative solver."""
        one_target = rows.y.shape[1] == 1
        flat = one_target and not is_classifier(self)

        def publish(state):
            w, b = (state.w[:, 0], state.b[0]) if flat else (state.w.T, state.b)
            found = {"coef_": w, "intercept_": b, "certificate_": state.gap}
            return found | {"solver_": self.solver}

        return iterate(
            self,
            states,
            max_iter=max_iter,
            tol=tol,
            watch=watch,
            unit=unit,
            advice=advice,
            publish=publish,
            X=rows.X,
            y=rows.y[:, 0] if one_target else rows.y,
        )

    def _publish(self, found, dtype):
        """coef_ (q, p), intercept_ (q,), n_iter_ (q,), solver_ and certificate_."""
        w, b, self.certificate_, self.solver_ = found
        self.n_iter_ = np.array([self.n_iter_] * len(b), dtype=np.int32)
        if dtype.itemsize == 4:
            w, b = w.astype(np.float32), b.astype(np.float32)
        if not (math.isfinite(np.vdot(w, w)) and math.isfinite(np.vdot(b, b))):
            refuse_overflow(self, coef_=w, intercept_=b)
        self.coef_ = w.T.copy()
        self.intercept_ = b if self.fit_intercept else 0.0


def joined(parts, solver):
    """One RidgeSolution from those of some targets each."""
    q = sum(len(found.b) for _, found in parts)
    w, b = np.empty((len(parts[0][1].w), q)), np.empty(q)
    for targets, found in parts:
        w[:, targets], b[targets] = found.w, found.b
    names = {found.solver for _, found in parts}
    gap = sum(found.gap for _, found in parts)
    return RidgeSolution(w, b, gap, names.pop() if len(names) == 1 else solver)


def normal_equations(rows, alpha):
    """The problem in the form that block pivoting takes, about the means."""
    normal, x_mean, y_mean = rows.normal(), rows.x0, rows.y0
    if rows.intercept:
        normal, dx, dy = normal.centred()
        x_mean, y_mean = x_mean + dx, y_mean + dy
    c_sq = float(normal.c_sq.sum())
    return descent.PivotingProblem(normal.G, normal.b, c_sq, alpha, x_mean, y_mean)
