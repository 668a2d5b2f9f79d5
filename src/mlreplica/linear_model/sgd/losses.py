r"""Losses of stochastic gradient descent: those of `mlreplica.losses` and two more

    modified_huber                  max(0, 1 − z)² where z ≥ −1,   −4z elsewhere,   z = yf
    squared_epsilon_insensitive     max(0, |y − f| − ε)²

The hinge moves also at its kink z = 1, as scikit-learn's does: with whole numbers the kink is met.
"""

import numpy as np

from mlreplica.core.compile.jit import formula
from mlreplica.core.formulas import loss_formulas as fm
from mlreplica.core.formulas import losses
from mlreplica.core.formulas.losses import Bound, Loss


@formula
def modified_huber_value(y, f):
    """max(0, 1 − z)², continued by its tangent −4z below z = −1"""
    z = np.maximum(y * f, -1.0)
    return np.maximum(0.0, 1.0 - z) ** 2 + 4.0 * (z - y * f)


@formula
def modified_huber_gradient(y, f):
    """−2y·max(0, 1 − z), at most 4 in size"""
    return -2.0 * y * np.minimum(np.maximum(0.0, 1.0 - y * f), 2.0)


@formula
def squared_epsilon_insensitive_value(y, f, epsilon):
    """max(0, |r| − ε)²"""
    return np.maximum(0.0, np.abs(y - f) - epsilon) ** 2


@formula
def squared_epsilon_insensitive_gradient(y, f, epsilon):
    """−2·sign(r)·max(0, |r| − ε)"""
    return 2.0 * (np.maximum(0.0, f - y - epsilon) - np.maximum(0.0, y - f - epsilon))


def parameter_of(loss):
    """What `slope` takes for a."""
    return {0: -np.inf, 1: 0.0, 2: 1.0, 3: np.inf, 7: 0.0, 12: 2.0}.get(loss.code, loss.parameter)


modified_huber = Loss(
    modified_huber_value,
    modified_huber_gradient,
    name="modified_huber",
    code=12,
    target="sign",
    inverse_link=fm.half_shifted,
    curvature=2.0,
    lipschitz=4.0,
)


def squared_epsilon_insensitive(epsilon=0.1):
    """The square of the epsilon-insensitive loss."""
    return Loss(
        Bound(squared_epsilon_insensitive_value, epsilon),
        Bound(squared_epsilon_insensitive_gradient, epsilon),
        name=f"squared_epsilon_insensitive(epsilon={epsilon:g})",
        curvature=2.0,
        code=13,
        parameter=epsilon,
    )


NUMBERS = {
    "squared_error": losses.squared,
    "squared": losses.squared,
    "absolute_error": losses.absolute,
    "absolute": losses.absolute,
    "huber": losses.huber,
    "quantile": losses.quantile,
    "epsilon_insensitive": losses.epsilon_insensitive,
    "squared_epsilon_insensitive": squared_epsilon_insensitive,
}
SIGNS = {
    "hinge": losses.hinge,
    "squared_hinge": losses.squared_hinge,
    "perceptron": losses.perceptron,
    "log_loss": losses.logistic,
    "logistic": losses.logistic,
    "exponential": losses.exponential,
    "modified_huber": modified_huber,
}
FOR_NUMBERS = {**NUMBERS, "poisson": losses.poisson}
FOR_CLASSES = {**SIGNS, **NUMBERS}
WITH_EPSILON = {"huber", "epsilon_insensitive", "squared_epsilon_insensitive"}


def resolve(loss, epsilon, targets):
    """The `Loss` behind the parameter `loss`, checked to suit y in one of `targets`."""
    if not isinstance(loss, Loss):
        make = FOR_NUMBERS.get(loss) or FOR_CLASSES[loss]
        if not isinstance(make, Loss):
            make = make(epsilon) if loss in WITH_EPSILON else make()
        loss = make
    if loss.target not in targets:
        raise ValueError(
            f"{loss} is for targets of the kind {loss.target!r}; here y is one of {targets}."
        )
    return loss
