r"""Losses: what a raw score f costs when the truth is y

A model is fitted by making the mean of a loss L(y, f) small. Descent needs its
slope, Newton's method and boosting its curvature as well:

    g = ∂L/∂f,      h = ∂²L/∂f²                                          (1)

Classification: y ∈ {−1, +1}, f > 0 means "+1"; only the margin z = y·f counts.

    zero_one        [z ≤ 0]                 perceptron      max(0, −z)   (2)
    hinge           max(0, 1 − z)           squared_hinge   its square   (3)
    logistic        log(1 + e^−z)           exponential     e^−z         (4)

Regression: y ∈ ℝ; only the residual r = y − f counts.

    squared         r²/2                    absolute        |r|          (5)
    huber           r²/2 where |r| ≤ δ,     δ(|r| − δ/2) elsewhere       (6)
    quantile        q·r where r ≥ 0,        (q − 1)·r elsewhere          (7)
    epsilon_insensitive                     max(0, |r| − ε)              (8)

Counts y ≥ 0 with mean e^f, and classes y ∈ {0 … k−1} with f ∈ ℝ^k:

    poisson         e^f − y·f                                            (9)
    multinomial     log Σ_j e^f_j − f_y                                  (10)

At a kink g is the subgradient of least size, but −y for the perceptron at z = 0,
whose rule moves whenever z ≤ 0. The exponentials in (4) and (9) follow their
second-order Taylor polynomial beyond e^500: all stay finite and still agree.

A loss in a compiled loop: call `loss.derivatives(y, f)` once a step and hand the
arrays g and h to the kernel. That works for any loss, also the user's, and compiles
nothing anew. A loop that needs g one row at a time (SGD) calls
`gradient_at(loss.code, y_i, f_i, loss.parameter)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from . import constants as best
from . import loss_formulas as fm
from .fused import logistic_derivatives, multinomial_derivatives

Array: TypeAlias = npt.NDArray[Any]
Function: TypeAlias = Callable[..., Any]

BLOCK = 8192  # rows: the temporaries of a formula stay in the second-level cache
TARGETS: dict[str, tuple[Function, str]] = {
    "real": (np.isfinite, "finite"),
    "sign": (lambda y: np.abs(y) == 1.0, "-1 or +1 (labels 0 and 1 become so by 2 * y - 1)"),
    "count": (lambda y: (y >= 0.0) & (y < inf), "finite and >= 0"),
    "class": (lambda y: (y >= 0) & (y == np.floor(y)), "integers 0 … k - 1"),
}


@dataclass(frozen=True)
class Bound:
    """A formula with its parameter filled in; unlike a closure it compares, hashes and pickles."""

    formula: Function
    parameter: float

    def __call__(self, y: Any, f: Any) -> Any:
        return self.formula(y, f, self.parameter)


@dataclass(frozen=True, repr=False)
class Loss:
    """A loss L(y, f): immutable, and the same type for ours and for yours.

    Parameters
    ----------
    value, gradient, hessian : callables of (y, f)
        L, ∂L/∂f and ∂²L/∂f² (optional), element by element: arrays in, an array out.
    name : str
        What messages call it.
    inverse_link : callable, default identity
        What f predicts on the scale of y: a mean, a quantile, or P(y = +1); None if it has no such
        meaning, as with the hinge.
    minimiser : callable of (y, weight), optional
        The best constant in closed form; otherwise `best_constant` finds it by bisection.
    target : {"real", "sign", "count", "class"}
        Where y lives: ℝ, {−1, +1}, [0, ∞), {0 … k−1}.
    convex, differentiable : bool
        In f, for every y.
    lipschitz, curvature : float
        The least bounds on |g| and h: 1/curvature is a safe step of gradient descent.
    code, parameter
        How `gradient_at` knows the loss; −1 for your own.
    fused : callable of (y, f, g, h), optional
        Writes gradient and hessian into g and h at once, faster than the two apart.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.losses import Loss, check_loss
    >>> cosh = Loss(
    ...     value=lambda y, f: np.log(np.cosh(f - y)),
    ...     gradient=lambda y, f: np.tanh(f - y),
    ...     name="log cosh",
    ...     lipschitz=1.0,
    ...     curvature=1.0,
    ... )
    >>> check_loss(cosh)
    >>> round(cosh.best_constant([0.0, 1.0, 50.0]), 3)
    1.176
    """

    value: Function
    gradient: Function
    hessian: Function | None = None
    name: str = "custom loss"
    inverse_link: Function | None = fm.identity
    minimiser: Function | None = None
    target: Literal["real", "sign", "count", "class"] = "real"
    convex: bool = True
    differentiable: bool = True
    lipschitz: float = inf
    curvature: float = inf
    code: int = -1
    parameter: float = 0.0
    fused: Function | None = None

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def __call__(self, y: Any, f: Any, sample_weight: Any = None) -> float:
        """The (weighted) mean loss."""
        return float(np.average(self.value(self.check_target(y), np.asarray(f)), 0, sample_weight))

    def check_target(self, y: Any) -> Array:
        """y as an array (of floats unless classes), or an error that says what y should be."""
        y = np.asarray(y, dtype=None if self.target == "class" else float)
        right, wanted = TARGETS[self.target]
        if not (good := right(y)).all():
            raise ValueError(f"{self.name}: y must be {wanted}, got {y[~good].flat[0]}.")
        return np.asarray(y, dtype=np.intp if self.target == "class" else float)

    def derivatives(self, y: Array, f: Array, weight: Array | None = None) -> tuple[Array, Array]:
        """(g, h) of every row times its weight, as kernels take them; h = 0 without a hessian."""
        f = np.ascontiguousarray(f, dtype=float)
        g, h = np.zeros_like(f), np.zeros_like(f)
        for start in range(0, len(f), BLOCK):
            rows = slice(start, start + BLOCK)
            if self.fused is not None:
                self.fused(np.ascontiguousarray(y[rows]), f[rows], g[rows], h[rows])
                continue
            g[rows] = self.gradient(y[rows], f[rows])
            if self.hessian is not None:
                h[rows] = self.hessian(y[rows], f[rows])
        if weight is not None:
            g *= weight.reshape(-1, *[1] * (f.ndim - 1))
            h *= weight.reshape(-1, *[1] * (f.ndim - 1))
        return g, h

    def best_constant(self, y: Any, sample_weight: Any = None) -> Any:
        """The f with the least mean loss when all rows share it: where boosting starts.

        If a whole interval is best, its midpoint. Separable labels and all-zero counts, whose best
        f is infinite, get the finite f of a frequency (a mean) of 2.2e-16.
        """
        y = self.check_target(y)
        w = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        y, w = y[w > 0.0], w[w > 0.0]
        if len(y) == 0:
            raise ValueError(f"{self.name}: no row with a positive weight, so no best constant.")
        if self.minimiser is None:
            return best.bisection(self.gradient, y, w)
        return self.minimiser(y, w)


# fmt: off
# name, code | value, gradient, hessian | inverse link | best constant | sup |g| | sup h
zero_one = Loss(
    fm.zero_one_value, fm.zero_one_gradient, name="zero_one", code=0, target="sign", convex=False,
    differentiable=False, inverse_link=None, minimiser=best.majority_or_plus)
perceptron = Loss(
    fm.perceptron_value, fm.perceptron_gradient, name="perceptron", code=1, target="sign",
    differentiable=False, inverse_link=None, minimiser=best.origin, lipschitz=1.0)
hinge = Loss(
    fm.hinge_value, fm.hinge_gradient, name="hinge", code=2, target="sign",
    differentiable=False, inverse_link=None, minimiser=best.majority, lipschitz=1.0)
squared_hinge = Loss(
    fm.squared_hinge_value, fm.squared_hinge_gradient, fm.squared_hinge_hessian,
    name="squared_hinge", code=3, target="sign",
    inverse_link=fm.half_shifted, minimiser=best.mean, curvature=2.0)
logistic = Loss(
    fm.logistic_value, fm.logistic_gradient, fm.logistic_hessian, name="logistic", code=4,
    target="sign", inverse_link=fm.sigmoid, minimiser=best.log_odds, lipschitz=1.0, curvature=0.25,
    fused=logistic_derivatives)
exponential = Loss(
    fm.exponential_value, fm.exponential_gradient, fm.exponential_hessian, name="exponential",
    code=5, target="sign", inverse_link=fm.sigmoid_of_twice, minimiser=best.half_log_odds)
squared = Loss(
    fm.squared_value, fm.squared_gradient, fm.squared_hessian, name="squared", code=6,
    minimiser=best.mean, curvature=1.0)
absolute = Loss(
    fm.absolute_value, fm.absolute_gradient, name="absolute", code=7,
    differentiable=False, minimiser=best.Quantile(0.5), lipschitz=1.0)
poisson = Loss(
    fm.poisson_value, fm.poisson_gradient, fm.poisson_hessian, name="poisson", code=11,
    target="count", inverse_link=fm.exp_value, minimiser=best.log_mean)
multinomial = Loss(
    fm.multinomial_value, fm.multinomial_gradient, fm.multinomial_hessian, name="multinomial",
    target="class", inverse_link=fm.softmax, minimiser=best.log_shares,
    lipschitz=2.0**0.5, curvature=0.5, fused=multinomial_derivatives)
# fmt: on


def huber(delta: float = 1.35) -> Loss:
    """Loss (6): squared up to |r| = delta, absolute beyond, so outliers pull with bounded force."""
    if not 0.0 < delta < inf:
        raise ValueError(f"delta must be > 0, got {delta}; for delta = 0 take the absolute loss.")
    return Loss(
        Bound(fm.huber_value, delta),
        Bound(fm.huber_gradient, delta),
        Bound(fm.huber_hessian, delta),
        name=f"huber(delta={delta:g})",
        lipschitz=delta,
        curvature=1.0,
        code=8,
        parameter=delta,
    )


def quantile(q: float = 0.5) -> Loss:
    """Loss (7), whose best f is the q-quantile of y; q = 1/2 is half the absolute loss."""
    if not 0.0 < q < 1.0:
        raise ValueError(f"q must lie between 0 and 1, got {q}.")
    return Loss(
        Bound(fm.quantile_value, q),
        Bound(fm.quantile_gradient, q),
        name=f"quantile(q={q:g})",
        minimiser=best.Quantile(q),
        differentiable=False,
        lipschitz=max(q, 1.0 - q),
        code=9,
        parameter=q,
    )


def epsilon_insensitive(epsilon: float = 0.1) -> Loss:
    """Loss (8) of support vector regression: residuals up to epsilon cost nothing."""
    if not 0.0 <= epsilon < inf:
        raise ValueError(f"epsilon must be >= 0, got {epsilon}.")
    return Loss(
        Bound(fm.epsilon_insensitive_value, epsilon),
        Bound(fm.epsilon_insensitive_gradient, epsilon),
        name=f"epsilon_insensitive(epsilon={epsilon:g})",
        differentiable=False,
        lipschitz=1.0,
        code=10,
        parameter=epsilon,
    )


NAMES: dict[str, Loss | Callable[..., Loss]] = {
    **{loss.name: loss for loss in (zero_one, perceptron, hinge, squared_hinge, logistic)},
    **{loss.name: loss for loss in (exponential, squared, absolute, poisson, multinomial)},
    **{make.__name__: make for make in (huber, quantile, epsilon_insensitive)},
}
SKLEARN_NAMES = {"log_loss": logistic, "squared_error": squared, "absolute_error": absolute}


def get(loss: str | Loss, **parameters: float) -> Loss:
    """A loss from its name (ours or scikit-learn's) and parameters; a `Loss` is handed back.

    Examples
    --------
    >>> from mlreplica import losses
    >>> losses.get("huber", delta=2.0)
    <huber(delta=2)>
    """
    if isinstance(loss, Loss) and not parameters:
        return loss
    found = {**NAMES, **SKLEARN_NAMES}.get(loss) if isinstance(loss, str) else None
    if found is None:
        raise ValueError(f"unknown loss {loss!r}; use a Loss or one of {', '.join(sorted(NAMES))}.")
    if not isinstance(found, Loss):
        return found(**parameters)
    if parameters:
        raise ValueError(f"{loss} has no parameters, got {', '.join(parameters)}.")
    return found
