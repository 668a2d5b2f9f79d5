r"""Formulas of the losses: value, gradient and hessian of (y, f), one scalar formula each

Called from Python they take arrays and broadcast as NumPy does; called from a kernel they are
compiled and inlined. Equation numbers are those of `losses.py`; z = y·f is the margin, r = y − f
the residual.
"""

from typing import Any, TypeAlias

import numpy as np

from mlreplica.core.compile.jit import formula, kernel

Number: TypeAlias = Any  # a float, or an array of floats: every formula takes both

LARGE = 500.0  # e^500 = 1e217: a sum of many, times a weight, is still finite


@formula
def identity(f: Number) -> Number:
    """The inverse link of a loss whose f is on the scale of y"""
    return f


@formula
def sigmoid(t: Number) -> Number:
    """1 / (1 + e^−t), with full relative precision in both tails"""
    e = np.exp(-np.abs(t))
    return ((t >= 0.0) + (t < 0.0) * e) / (1.0 + e)


@formula
def exp_value(t: Number) -> Number:
    """e^t, continued beyond `LARGE` by its second-order Taylor polynomial"""
    s = np.maximum(t - LARGE, 0.0)
    return np.exp(np.minimum(t, LARGE)) * (1.0 + s + 0.5 * s * s)


@formula
def exp_slope(t: Number) -> Number:
    """The derivative of `exp_value`"""
    return np.exp(np.minimum(t, LARGE)) * (1.0 + np.maximum(t - LARGE, 0.0))


@formula
def exp_curvature(t: Number) -> Number:
    """The second derivative of `exp_value`"""
    return np.exp(np.minimum(t, LARGE))


@formula
def half_shifted(f: Number) -> Number:
    """(1 + f)/2 within [0, 1]: the inverse link of the squared hinge"""
    return np.minimum(np.maximum(0.5 * (1.0 + f), 0.0), 1.0)


@formula
def sigmoid_of_twice(f: Number) -> Number:
    """The inverse link of the exponential loss"""
    return sigmoid(2.0 * f)


@formula
def zero_one_value(y: Number, f: Number) -> Number:
    """(2): [z ≤ 0]"""
    return (y * f <= 0.0) * 1.0


@formula
def zero_one_gradient(y: Number, f: Number) -> Number:
    """0 wherever there is a slope"""
    return 0.0 * y * f


@formula
def perceptron_value(y: Number, f: Number) -> Number:
    """(2): max(0, −z)"""
    return np.maximum(0.0, -y * f)


@formula
def perceptron_gradient(y: Number, f: Number) -> Number:
    """−y where z ≤ 0"""
    return -y * (y * f <= 0.0)


@formula
def hinge_value(y: Number, f: Number) -> Number:
    """(3): max(0, 1 − z)"""
    return np.maximum(0.0, 1.0 - y * f)


@formula
def hinge_gradient(y: Number, f: Number) -> Number:
    """−y where z < 1"""
    return -y * (y * f < 1.0)


@formula
def squared_hinge_value(y: Number, f: Number) -> Number:
    """(3): max(0, 1 − z)²"""
    return np.maximum(0.0, 1.0 - y * f) ** 2


@formula
def squared_hinge_gradient(y: Number, f: Number) -> Number:
    """−2y·max(0, 1 − z)"""
    return -2.0 * y * np.maximum(0.0, 1.0 - y * f)


@formula
def squared_hinge_hessian(y: Number, f: Number) -> Number:
    """2 where z < 1"""
    return 2.0 * (y * f < 1.0)


@formula
def logistic_value(y: Number, f: Number) -> Number:
    """(4): log(1 + e^−z) = max(0, −z) + log(1 + e^−|z|), which never overflows"""
    return np.maximum(0.0, -y * f) + np.log1p(np.exp(-np.abs(f)))


@formula
def logistic_gradient(y: Number, f: Number) -> Number:
    """−y·σ(−z)"""
    return -y * sigmoid(-y * f)


@formula
def logistic_hessian(y: Number, f: Number) -> Number:
    """σ(z)·σ(−z)"""
    e = np.exp(-np.abs(f))
    return e / ((1.0 + e) * (1.0 + e))


@formula
def exponential_value(y: Number, f: Number) -> Number:
    """(4): e^−z"""
    return exp_value(-y * f)


@formula
def exponential_gradient(y: Number, f: Number) -> Number:
    """−y·e^−z"""
    return -y * exp_slope(-y * f)


@formula
def exponential_hessian(y: Number, f: Number) -> Number:
    """e^−z"""
    return exp_curvature(-y * f)


@formula
def squared_value(y: Number, f: Number) -> Number:
    """(5): r²/2"""
    return 0.5 * (y - f) * (y - f)


@formula
def squared_gradient(y: Number, f: Number) -> Number:
    """−r"""
    return f - y


@formula
def squared_hessian(y: Number, f: Number) -> Number:
    """1, in the shape of y and f"""
    return 1.0 + 0.0 * y * f


@formula
def absolute_value(y: Number, f: Number) -> Number:
    """(5): |r|"""
    return np.abs(y - f)


@formula
def absolute_gradient(y: Number, f: Number) -> Number:
    """−sign(r)"""
    return np.sign(f - y)


@formula
def huber_value(y: Number, f: Number, delta: float) -> Number:
    """(6): m·(|r| − m/2) with m = min(|r|, δ)"""
    clipped = np.minimum(np.abs(y - f), delta)
    return clipped * (np.abs(y - f) - 0.5 * clipped)


@formula
def huber_gradient(y: Number, f: Number, delta: float) -> Number:
    """−r within [−δ, δ]"""
    return np.minimum(np.maximum(f - y, -delta), delta)


@formula
def huber_hessian(y: Number, f: Number, delta: float) -> Number:
    """1 where |r| ≤ δ"""
    return (np.abs(y - f) <= delta) * 1.0


@formula
def quantile_value(y: Number, f: Number, q: float) -> Number:
    """(7): max(q·r, (q − 1)·r)"""
    return np.maximum(q * (y - f), (q - 1.0) * (y - f))


@formula
def quantile_gradient(y: Number, f: Number, q: float) -> Number:
    """1 − q above y, −q below"""
    return (1.0 - q) * (f > y) - q * (f < y)


@formula
def epsilon_insensitive_value(y: Number, f: Number, epsilon: float) -> Number:
    """(8): max(0, |r| − ε)"""
    return np.maximum(0.0, np.abs(y - f) - epsilon)


@formula
def epsilon_insensitive_gradient(y: Number, f: Number, epsilon: float) -> Number:
    """−sign(r) where |r| > ε"""
    return np.sign(f - y) * (np.abs(y - f) > epsilon)


@formula
def poisson_value(y: Number, f: Number) -> Number:
    """(9): e^f − y·f"""
    return exp_value(f) - y * f


@formula
def poisson_gradient(y: Number, f: Number) -> Number:
    """e^f − y"""
    return exp_slope(f) - y


@formula
def poisson_hessian(y: Number, f: Number) -> Number:
    """e^f, in the shape of y and f"""
    return exp_curvature(f) + 0.0 * y


def log_sum_exp(f: Number) -> Number:
    """log Σ_j e^f_j of every row; nothing overflows"""
    top = f.max(axis=-1)
    return np.log(np.exp(f - top[..., None]).sum(axis=-1)) + top


def softmax(f: Number) -> Number:
    """e^f_k / Σ_j e^f_j in every row"""
    e = np.exp(f - f.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def multinomial_value(y: Number, f: Number) -> Number:
    """(10): log Σ_j e^f_j − f_y, with one column of f a class"""
    return log_sum_exp(f) - np.take_along_axis(f, y[..., None], axis=-1)[..., 0]


def multinomial_gradient(y: Number, f: Number) -> Number:
    """p − (one where the class is y), p = softmax(f)"""
    return softmax(f) - (y[..., None] == np.arange(f.shape[-1]))


def multinomial_hessian(y: Number, f: Number) -> Number:
    """The diagonal p_k (1 − p_k) of the hessian diag(p) − ppᵀ"""
    p = softmax(f)
    return p * (1.0 - p)


@kernel
def logistic_slopes(y: float, f: float, e: float) -> Number:
    """∂L/∂f and ∂²L/∂f² of the logistic loss (4) from e = e^−|f|: one exponential for both"""
    larger = 1.0 / (1.0 + e)
    return -y * (e * larger if y * f > 0.0 else larger), e * larger * larger


@kernel
def slope(code: int, y: float, f: float, a: float) -> Number:
    """∂L/∂f of one row for the loss of this code, in one piece: calls compile four times as long.

    a is the loss's parameter, or what makes two losses one formula. e^700 stands for anything
    larger.
    """
    z, r = y * f, f - y
    if code <= 2:  # perceptron: a = 0; hinge: a = 1; zero_one: a = −inf
        return -y * (z <= a)
    if code in (3, 12):  # squared_hinge: a = inf; modified_huber: a = 2
        return -2.0 * y * min(max(0.0, 1.0 - z), a)
    if code == 4:  # logistic
        return -y / (1.0 + np.exp(min(z, 700.0)))
    if code in (5, 11):  # exponential, poisson
        e = np.exp(min(-z if code == 5 else f, 700.0))
        return -y * e if code == 5 else e - y
    if code == 6:  # squared
        return r
    if code == 8:  # huber
        return min(max(r, -a), a)
    if code == 13:  # squared_epsilon_insensitive
        return 2.0 * (max(0.0, r - a) - max(0.0, -r - a))
    if code == 9:  # quantile
        return (1.0 - a) * (r > 0.0) - a * (r < 0.0)
    return 1.0 * (r > a) - (r < -a)  # absolute: a = 0; epsilon_insensitive


@kernel
def gradient_at(code: int, y: float, f: float, a: float) -> Number:
    """∂L/∂f of one row, for loops that cannot wait for an array: the loss of this `code`"""
    if code == 0:
        return zero_one_gradient(y, f)
    if code == 1:
        return perceptron_gradient(y, f)
    if code == 2:
        return hinge_gradient(y, f)
    if code == 3:
        return squared_hinge_gradient(y, f)
    if code == 4:
        return logistic_gradient(y, f)
    if code == 5:
        return exponential_gradient(y, f)
    if code == 6:
        return squared_gradient(y, f)
    if code == 7:
        return absolute_gradient(y, f)
    if code == 8:
        return huber_gradient(y, f, a)
    if code == 9:
        return quantile_gradient(y, f, a)
    if code == 10:
        return epsilon_insensitive_gradient(y, f, a)
    if code == 11:
        return poisson_gradient(y, f)
    return np.nan  # a loss of the user's own: give the loop arrays of g instead
