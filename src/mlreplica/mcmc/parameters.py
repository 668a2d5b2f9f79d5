r"""Supports: named blocks of parameters, and the maps from the whole line onto them

A sampler walks over all of ℝᵐ. A density on the natural scale θ = T(u) becomes one of u by      (1)

    log π(u) = log p(T(u)) + log |det ∂T/∂u|

    positive   θ = e^u                                    log|det| = u                           (2)
    interval   θ = a + (b − a) s,  s = 1/(1 + e^−u)       log|det| = log(b − a) + log s(1 − s)   (3)
    ordered    θ₁ = u₁, θ_k = θ_{k−1} + e^{u_k}           log|det| = Σ_{k≥2} u_k                 (4)
    simplex    θ_k = r_k z_k, r_{k+1} = r_k (1 − z_k)     log|det| = Σ log r_k z_k (1 − z_k)     (5)
    cholesky   the diagonal of L is e^u, below it is u    log|det| = Σ of the diagonal's u       (6)

where r₁ = 1 is what is left of the stick and z_k = 1/(1 + e^{−(u_k − log(K − k))}), so that u = 0
is the middle of the simplex. A gradient with respect to θ is pulled back to u by the transposed
Jacobian, from the last coordinate to the first.

Samplers never see θ: `Layout.wrap` makes a C function of u around that of θ, compiled once for all
densities, and what they drew is mapped afterwards.
"""

import functools
import math
from numbers import Integral
from typing import NamedTuple

import numpy as np

from mlreplica.core.compile.addresses import (
    c_address,
    call_at,
    integer_rows_at,
    integers_at,
    numbers_at,
    rows_at,
)
from mlreplica.core.compile.jit import PURE_PYTHON, kernel

REAL, POSITIVE, BELOW, INTERVAL, ORDERED, SIMPLEX, CHOLESKY = range(7)
NAMES = ["real", "positive", "interval", "interval", "ordered", "simplex", "cholesky"]


class Support(NamedTuple):
    """Where a block of parameters may lie: made by `real`, `positive`, `interval` and so on."""

    kind: int
    shape: tuple = ()
    low: float = -math.inf
    high: float = math.inf

    @property
    def size(self):
        """How many numbers the block holds."""
        return math.prod(self.shape)

    @property
    def free(self):
        """How many numbers of ℝ determine them."""
        k = self.shape[0] if self.shape else 1
        return {SIMPLEX: k - 1, CHOLESKY: k * (k + 1) // 2}.get(self.kind, self.size)


def as_shape(shape):
    """A shape from an integer or a tuple."""
    found = (shape,) if np.ndim(shape) == 0 else tuple(shape)
    if not all(isinstance(k, Integral) and k > 0 for k in found):
        raise ValueError(f"A block has a shape of integers above 0, got {shape!r}.")
    return tuple(int(k) for k in found)


def as_size(size, least, name):
    """The shape of a block that has one axis only."""
    if not isinstance(size, Integral) or size < least:
        raise ValueError(f"{name} needs a size of at least {least}, got {size!r}.")
    return (int(size),)


def real(shape=()):
    """Numbers without bounds.

    Parameters
    ----------
    shape : int or tuple of int, default=()
        The shape of the block; () is a single number.
    """
    return Support(REAL, as_shape(shape))


def positive(shape=()):
    """Numbers above zero: map (2).

    Parameters
    ----------
    shape : int or tuple of int, default=()
    """
    return Support(POSITIVE, as_shape(shape), 0.0)


def interval(low, high, shape=()):
    """Numbers between two bounds, one of which may be infinite: map (3).

    Parameters
    ----------
    low, high : float
    shape : int or tuple of int, default=()
    """
    low, high = float(low), float(high)
    if not low < high:
        raise ValueError(f"interval needs low < high, got {low:g} and {high:g}.")
    kind = {(False, False): REAL, (True, False): POSITIVE, (False, True): BELOW}
    bounded = math.isfinite(low), math.isfinite(high)
    return Support(kind.get(bounded, INTERVAL), as_shape(shape), low, high)


def ordered(size):
    """Numbers each larger than the one before: map (4).

    Parameters
    ----------
    size : int
    """
    return Support(ORDERED, as_size(size, 1, "ordered"))


def simplex(size):
    """Positive numbers that add up to one: map (5); their density is that of the first size − 1.

    Parameters
    ----------
    size : int
    """
    return Support(SIMPLEX, as_size(size, 2, "simplex"), 0.0, 1.0)


def cholesky(size):
    """Lower triangular factors of covariances, with a positive diagonal: map (6).

    Parameters
    ----------
    size : int
        The block is a matrix of this many rows, zero above its diagonal.
    """
    return Support(CHOLESKY, 2 * as_size(size, 1, "cholesky"))


class Layout:
    """Where each block lies in the vectors θ and u."""

    def __init__(self, supports):
        self.supports, self.places, rows, bounds = dict(supports), {}, [], []
        at = free_at = 0
        for name, support in self.supports.items():
            if not isinstance(support, Support):
                raise TypeError(
                    f"parameters[{name!r}] must be a support such as real(), positive() or "
                    f"interval(0, 1), got {support!r}."
                )
            k = support.shape[0] if support.kind in (CHOLESKY, SIMPLEX, ORDERED) else support.size
            rows.append((support.kind, free_at, at, k))
            bounds.append((support.low, support.high))
            self.places[name] = slice(at, at + support.size)
            at, free_at = at + support.size, free_at + support.free
        self.size, self.free = at, free_at
        bent = any(support.kind != REAL for support in self.supports.values())
        self.blocks = np.array(rows if bent else [], dtype=np.int64).reshape(-1, 4)
        self.bounds = np.array(bounds if bent else [], dtype=np.float64).reshape(-1, 2)

    @property
    def labels(self):
        """A name for every number of θ: 'mu', 'theta[3]', 'L[1,0]'."""
        found = []
        for name, support in self.supports.items():
            indices = np.ndindex(support.shape)
            found += [f"{name}[{','.join(map(str, i))}]" if i else name for i in indices]
        return found

    def describe(self, theta):
        """The numbers of θ with their names: 'mu = 0.3, tau = -1'."""
        text = [f"{name} = {x:.6g}" for name, x in zip(self.labels, theta, strict=True)]
        return ", ".join(text[:12]) + (f" and {len(text) - 12} more" if len(text) > 12 else "")

    def natural(self, u):
        """θ for one u or for rows of them."""
        u = np.ascontiguousarray(u, dtype=np.float64)
        theta = np.empty((*u.shape[:-1], self.size))
        if not len(self.blocks):
            theta[...] = u
        else:
            place_rows(
                *self.wrap(None, None), u.reshape(-1, self.free), theta.reshape(-1, self.size)
            )
        return theta

    def wrap(self, at, table, with_gradient=False):
        """The density (1) of u as (address, table), from that of θ; each has memory of its own.

        Without a density of θ, the function writes θ in place of the gradient.
        """
        if not len(self.blocks):
            return at, table
        if PURE_PYTHON:
            return functools.partial(self.in_python, at, with_gradient), np.zeros(1, dtype=np.int64)
        found = np.zeros(10 + 2 * self.size, dtype=np.int64)
        memory = found.ctypes.data + 8 * 10
        found[:10] = (
            self.free, self.size, at or 0, with_gradient, memory, memory + 8 * self.size,
            self.blocks.ctypes.data, len(self.blocks), self.bounds.ctypes.data,
            0 if table is None else table.ctypes.data,
        )  # fmt: skip
        return constrained_address(), found

    def in_python(self, density, with_gradient, u, g, table):
        """What `constrained` does, without a compiler."""
        theta, slope = np.empty(self.size), np.empty(self.size)
        volume = constrain(self.blocks, self.bounds, u, theta)
        if density is None:
            g[:] = theta
            return volume
        value = density(theta, slope, None)
        if with_gradient:
            pull_back(self.blocks, self.bounds, u, theta, slope, g)
        return value + volume

    def unconstrained(self, theta):
        """u for one θ; an error names the block that lies outside of its support."""
        theta, u = np.asarray(theta, dtype=np.float64), np.empty(self.free)
        at = 0
        for name, support in self.supports.items():
            value = theta[self.places[name]]
            with np.errstate(all="ignore"):
                part = inverse(support, value)
            if not np.isfinite(part).all():
                raise ValueError(
                    f"The start {name} = {np.array2string(value, threshold=8)} is not inside its "
                    f"support, {NAMES[support.kind]}."
                )
            u[at : at + support.free] = part
            at += support.free
        return u

    def flatten(self, values):
        """θ from a dict of blocks."""
        missing = [name for name in self.supports if name not in values]
        unknown = [name for name in values if name not in self.supports]
        if missing or unknown:
            what = f"it lacks {missing[0]!r}" if missing else f"{unknown[0]!r} is none of them"
            raise ValueError(f"x0 must name the parameters {list(self.supports)}; {what}.")
        parts = []
        for name, support in self.supports.items():
            value = np.asarray(values[name], dtype=np.float64)
            if value.shape != support.shape:
                raise ValueError(f"x0[{name!r}] has shape {value.shape}, expected {support.shape}.")
            parts.append(value.ravel())
        return np.concatenate(parts)


def inverse(support, value):
    """u of a block from its θ; not finite outside of the support."""
    low, high = support.low, support.high
    match support.kind:
        case 1:
            return np.log(value - low)
        case 2:
            return np.log(high - value)
        case 3:
            return np.log(value - low) - np.log(high - value)
        case 4:
            return np.concatenate([value[:1], np.log(np.diff(value))])
        case 5:
            left = 1.0 - np.concatenate([[0.0], np.cumsum(value[:-2])])
            z, k = value[:-1] / left, np.arange(len(value) - 1, 0, -1)
            bad = abs(value.sum() - 1.0) > 1e-8
            return np.log(z) - np.log1p(-z) + np.log(k) if not bad else np.full(len(z), np.nan)
        case 6:
            L = value.reshape(support.shape).copy()
            np.fill_diagonal(L, np.log(np.diag(L)))
            return L[np.tril_indices(len(L))] if not np.triu(L, 1).any() else np.array([np.nan])
    return value


@kernel(part=True, borrow=True)
def log_sigmoid(u):
    """log 1/(1 + e^−u), without overflow."""
    return -math.log1p(math.exp(-u)) if u > 0.0 else u - math.log1p(math.exp(u))


@kernel(part=True, borrow=True)
def sigmoid(u):
    """1/(1 + e^−u), without overflow."""
    return 1.0 / (1.0 + math.exp(-u)) if u > 0.0 else 1.0 - 1.0 / (1.0 + math.exp(u))


@kernel(part=True, borrow=True)
def constrain(blocks, bounds, u, theta):
    """θ ← T(u); return log |det ∂T/∂u|."""
    total = 0.0
    for b in range(len(blocks)):
        kind, i, j, k = blocks[b, 0], blocks[b, 1], blocks[b, 2], blocks[b, 3]
        low, high = bounds[b, 0], bounds[b, 1]
        if kind == 0:
            for c in range(k):
                theta[j + c] = u[i + c]
        elif kind <= 2:  # (2)
            for c in range(k):
                e = math.exp(u[i + c])
                theta[j + c] = low + e if kind == 1 else high - e
                total += u[i + c]
        elif kind == 3:  # (3)
            for c in range(k):
                theta[j + c] = low + (high - low) * sigmoid(u[i + c])
                total += math.log(high - low) + log_sigmoid(u[i + c]) + log_sigmoid(-u[i + c])
        elif kind == 4:  # (4)
            theta[j] = u[i]
            for c in range(1, k):
                theta[j + c] = theta[j + c - 1] + math.exp(u[i + c])
                total += u[i + c]
        elif kind == 5:  # (5)
            log_left = 0.0
            for c in range(k - 1):
                v = u[i + c] - math.log(k - 1.0 - c)
                theta[j + c] = math.exp(log_left + log_sigmoid(v))
                total += log_left + log_sigmoid(v) + log_sigmoid(-v)
                log_left += log_sigmoid(-v)
            theta[j + k - 1] = math.exp(log_left)
        else:  # (6)
            for a in range(k):
                for c in range(k):
                    theta[j + a * k + c] = 0.0
                for c in range(a):
                    theta[j + a * k + c] = u[i]
                    i += 1
                theta[j + a * k + a] = math.exp(u[i])
                total += u[i]
                i += 1
    return total


@kernel(part=True, borrow=True)
def pull_back(blocks, bounds, u, theta, slope, g):
    """g ← the gradient of (1) with respect to u; `slope` is that of log p with respect to θ."""
    for b in range(len(blocks)):
        kind, i, j, k = blocks[b, 0], blocks[b, 1], blocks[b, 2], blocks[b, 3]
        low, high = bounds[b, 0], bounds[b, 1]
        if kind == 0:
            for c in range(k):
                g[i + c] = slope[j + c]
        elif kind <= 2:
            for c in range(k):
                e = theta[j + c] - low if kind == 1 else theta[j + c] - high
                g[i + c] = slope[j + c] * e + 1.0
        elif kind == 3:
            for c in range(k):
                s = sigmoid(u[i + c])
                g[i + c] = slope[j + c] * (high - low) * s * (1.0 - s) + 1.0 - 2.0 * s
        elif kind == 4:
            tail = 0.0
            for c in range(k - 1, 0, -1):
                tail += slope[j + c]
                g[i + c] = tail * math.exp(u[i + c]) + 1.0
            g[i] = tail + slope[j]
        elif kind == 5:
            # `back` is the derivative with respect to log r_{c+1}
            back = slope[j + k - 1] * theta[j + k - 1]
            for c in range(k - 2, -1, -1):
                z = sigmoid(u[i + c] - math.log(k - 1.0 - c))
                own = slope[j + c] * theta[j + c]
                g[i + c] = own * (1.0 - z) - back * z + 1.0 - 2.0 * z
                back += own + 1.0
        else:
            for a in range(k):
                for c in range(a):
                    g[i] = slope[j + a * k + c]
                    i += 1
                g[i] = slope[j + a * k + a] * theta[j + a * k + a] + 1.0
                i += 1


@kernel(borrow=True)
def place_rows(at, table, U, out):
    """Each row of out ← θ of a row of U."""
    for k in range(len(U)):
        call_at(at, U[k], out[k], table)


@kernel(part=True, borrow=True)
def constrained(u_at, g_at, table_at):
    """(1) as a function of addresses; `Layout.wrap` writes the table."""
    table = integers_at(table_at, 10)
    u, blocks = numbers_at(u_at, table[0]), integer_rows_at(table[6], table[7], 4)
    bounds = rows_at(table[8], table[7], 2)
    if table[2] == 0:
        return constrain(blocks, bounds, u, numbers_at(g_at, table[1]))
    theta, slope = numbers_at(table[4], table[1]), numbers_at(table[5], table[1])
    volume = constrain(blocks, bounds, u, theta)
    value = call_at(table[2], theta, slope, integers_at(table[9], 1))
    if table[3] != 0:
        pull_back(blocks, bounds, u, theta, slope, numbers_at(g_at, table[0]))
    return value + volume


@kernel(borrow=True)
def constrained_address():
    """The address of `constrained` as a C function."""
    return c_address(constrained)
