r"""Ridge regression by coordinate descent

    minimise over w:   P(w) = ½ ‖y − Xw‖² + ½ α ‖w‖²,   α > 0                  (1)

With r = y − Xw, the best w_j with all other coordinates held fixed is         (2)

    w_j ← (‖x_j‖² w_j + x_jᵀr) / (‖x_j‖² + α)

P is α-strongly convex, so its gradient g = αw − Xᵀr bounds what is left:      (3)

    P(w) − P(w*)  ≤  gap = ‖αw − Xᵀr‖² / 2α

References
----------
Hoerl, Kennard: Ridge regression. Technometrics 12 (1970), 55–67.
"""

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import validate_data

from mlreplica.core.card import Card
from mlreplica.core.compat import Interval, _fit_context
from mlreplica.core.compile.jit import kernel
from mlreplica.core.formulas.vectors import add_scaled, dot
from mlreplica.core.iterate import CallbackSupport, iterate
from mlreplica.core.validation import new_rows


@kernel
def sweep(XT, w, r, x_sq, alpha):
    """Update (2) once for every j; w and r change in place. XT is (p, n), so that x_j is a row."""
    for j in range(len(w)):
        x_j, w_old = XT[j], w[j]
        w[j] = (x_sq[j] * w_old + dot(x_j, r)) / (x_sq[j] + alpha)
        add_scaled(r, w_old - w[j], x_j)  # keeps r = y − Xw


class RidgeState(NamedTuple):
    """What a `Trace` records once per sweep."""

    coef: np.ndarray
    gap: float


def coordinate_descent(XT, y, alpha):
    """Yield a state once per sweep, indefinitely: the caller decides when to stop."""
    w, r, x_sq = np.zeros(len(XT)), y.copy(), np.einsum("ji,ji->j", XT, XT)
    while True:
        sweep(XT, w, r, x_sq, alpha)
        g = alpha * w - XT @ r
        yield RidgeState(w, float(g @ g) / (2 * alpha))  # (3)


class CoordinateRidge(CallbackSupport, RegressorMixin, BaseEstimator):
    """Linear regression with an L2 penalty: objective (1), intercept unpenalised.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty, positive.
    max_iter : int, default=10_000
        The most sweeps over all coordinates.
    tol : float, default=1e-10
        Stop when the gap (3) is at most `tol` times P(0).

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        w of (1).
    intercept_ : float
        Mean of y minus the mean row of X times w.
    certificate_ : float
        The gap (3): P is at most this far above its minimum.
    n_iter_ : int
        Sweeps done.

    Examples
    --------
    >>> model = CoordinateRidge(alpha=1.0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> model.coef_.round(4), model.certificate_ < 1e-9
    (array([0.6667]), True)
    """

    card = Card(
        page="ridge",
        checks="linear",
        onnx="linear",
        use="a number from correlated columns; a skeleton to copy",
        good="one short loop; a certificate bounds its error",
        bad="slower than a direct solver; keeps all columns",
        time="O(n p) per sweep",
        memory="O(n p), for a centred copy of X",
        instead="Ridge, which solves the same problem directly",
    )

    _parameter_constraints = {
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, alpha=1.0, *, max_iter=10_000, tol=1e-10):
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Minimise (1) after centring X and y.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self : CoordinateRidge
        """
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        x_mean, y_mean = X.mean(axis=0), y.mean()
        XT, y = np.subtract(X.T, x_mean[:, None], order="C"), y - y_mean

        def publish(state):
            w = state.coef
            return {"coef_": w, "intercept_": y_mean - x_mean @ w, "certificate_": state.gap}

        state = iterate(
            self,
            coordinate_descent(XT, y, self.alpha),
            max_iter=self.max_iter,
            tol=self.tol * (y @ y) / 2,
            unit="sweeps",
            advice="raise max_iter or alpha, or scale X",
            publish=publish,
        )
        vars(self).update(publish(state))
        return self

    def predict(self, X):
        """The line's value at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return new_rows(self, X) @ self.coef_ + self.intercept_
