"""Check: does a loss tell the truth about itself?

A slope lies between the two one-sided differences of its function, also at a kink (up
to the rounding of the differences). So the gradient must satisfy

    min(L⁻, L⁺) ≤ g ≤ max(L⁻, L⁺),    L^± = ±(L(y, f ± s) − L(y, f)) / s     (12)

and the hessian the same with g in place of L. The gradient of a convex loss never
falls, and neither |g| nor h exceeds the bound that the loss declares.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .losses import Array, Loss

EPS = float(np.finfo(float).eps)
TARGETS = {"real": (-2.0, 0.5, 4.0), "sign": (-1.0, 1.0), "count": (0.0, 1.0, 3.5)}
SCORES = (-30.0, -7.0, -2.3, -1.0, -0.4, 0.0, 0.3, 0.5, 1.0, 1.7, 4.0, 5.2, 28.0)


def check_loss(loss: Loss, y: Any = None, f: Any = None) -> None:
    """Raise a ValueError that says where a loss contradicts itself; return if it does not.

    Parameters
    ----------
    loss : Loss
        With one score per row (so not multinomial).
    y, f : array-like, optional
        Targets and scores to check at, every y with every f; by default a spread of both.

    Examples
    --------
    >>> from mlreplica.losses import Loss, check_loss
    >>> check_loss(Loss(value=lambda y, f: (y - f) ** 2, gradient=lambda y, f: f - y, name="mine"))
    Traceback (most recent call last):
        ...
    ValueError: mine: at y = -2, f = -30 the gradient is -28, but differences of the value give -56.
    """
    if loss.target == "class":
        raise ValueError(f"{loss.name}: only a loss with one score per row can be checked.")
    y = loss.check_target(TARGETS[loss.target] if y is None else y).ravel()
    f = np.sort(np.asarray(SCORES if f is None else f, dtype=float).ravel())
    y, f, shape = np.repeat(y, len(f)), np.tile(f, len(y)), (len(y), len(f))

    g = checked(loss, "gradient", "value", y, f)
    if loss.convex and (np.diff(g.reshape(shape), axis=1) < -1e-9 * (1.0 + np.abs(g).max())).any():
        raise ValueError(f"{loss.name}: declared convex, but the gradient falls as f grows.")
    if np.abs(g).max() > loss.lipschitz * (1.0 + 1e-9):
        raise ValueError(f"{loss.name}: |gradient| exceeds lipschitz = {loss.lipschitz:g}.")
    if loss.hessian is not None:
        h = checked(loss, "hessian", "gradient", y, f)
        if h.max() > loss.curvature * (1.0 + 1e-9):
            raise ValueError(f"{loss.name}: the hessian exceeds curvature = {loss.curvature:g}.")


def checked(loss: Loss, claim: str, source: str, y: Array, f: Array) -> Array:
    """The values of `claim` at every (y, f), once (12) holds for them with `source` as L."""
    step = 1e-6 * np.maximum(np.abs(f), 1.0)
    before, here, after = (evaluated(loss, source, y, f + s) for s in (-step, 0.0, step))
    slope = evaluated(loss, claim, y, f)
    sides = (here - before) / step, (after - here) / step
    rounding = 8.0 * EPS * np.maximum(np.abs(before), np.abs(after)) / step
    slack = rounding + 1e-6 * (1.0 + np.abs(slope))
    wrong = (slope < np.minimum(*sides) - slack) | (slope > np.maximum(*sides) + slack)
    if wrong.any():
        i = int(np.argmax(wrong))
        low, high = sorted((sides[0][i], sides[1][i]))
        found = f"{low:.4g}" if high - low < 1e-3 * abs(high) else f"{low:.4g} to {high:.4g}"
        raise ValueError(
            f"{loss.name}: at y = {y[i]:g}, f = {f[i]:g} the {claim} is {slope[i]:.4g}, "
            f"but differences of the {source} give {found}."
        )
    return slope


def evaluated(loss: Loss, name: str, y: Array, f: Array) -> Array:
    """One function of the loss at all points: an array of the right shape, all finite."""
    try:
        result = np.asarray(getattr(loss, name)(y, f), dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{loss.name}: {name} does not take arrays ({error}); write it with NumPy functions, "
            f"or wrap it as np.vectorize({name}, otypes=[float])."
        ) from error
    if result.shape != f.shape:
        raise ValueError(
            f"{loss.name}: {name} must give one number per row, "
            f"got shape {result.shape} for {len(f)} rows."
        )
    if not np.isfinite(result).all():
        i = int(np.argmin(np.isfinite(result)))
        raise ValueError(f"{loss.name}: {name} is {result[i]} at y = {y[i]:g}, f = {f[i]:g}.")
    return result
