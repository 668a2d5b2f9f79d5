"""Losses: value, gradient, hessian, link and best constant, ours and yours."""

from .core.check import check_loss
from .core.formulas import gradient_at, log_sum_exp, sigmoid, softmax
from .core.losses import (
    NAMES,
    Loss,
    absolute,
    epsilon_insensitive,
    exponential,
    get,
    hinge,
    huber,
    logistic,
    multinomial,
    perceptron,
    poisson,
    quantile,
    squared,
    squared_hinge,
    zero_one,
)

__all__ = [
    "NAMES",
    "Loss",
    "absolute",
    "check_loss",
    "epsilon_insensitive",
    "exponential",
    "get",
    "gradient_at",
    "hinge",
    "huber",
    "log_sum_exp",
    "logistic",
    "multinomial",
    "perceptron",
    "poisson",
    "quantile",
    "sigmoid",
    "softmax",
    "squared",
    "squared_hinge",
    "zero_one",
]
