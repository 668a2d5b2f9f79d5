r"""Distances: how far two rows are apart, each formula once

Most distances between rows are one of four after each row has been changed on its own,

    d(x, y) = ‖T(x) − T(y)‖_p,      p = 1, 2, ∞ or any other p > 0                          (1)

    minkowski with weights w     T(x)_j = w_j^(1/p) x_j
    seuclidean, variances V      T(x)_j = x_j / √V_j
    mahalanobis, VI = L Lᵀ       T(x) = Lᵀx

so the loops that search for neighbours know four formulas only, and compare the *reduced* distance
r = Σ_j |x_j − y_j|^p, which needs no root and keeps the order. The others are plain functions of
two rows (`row_distances.py`); a function of your own is one more. Each is compiled when it is first
used and called by its address, so that one compiled loop serves all of them.

With u = x/‖x‖ the cosine distance 1 − uᵀv is ½‖u − v‖², which keeps its digits for rows that point
the same way; the correlation distance is the cosine distance of rows less their means.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from inspect import signature
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mlreplica.core.compile.jit import PURE_PYTHON, import_numba

from .row_distances import ROW_FUNCTIONS, cosine, haversine

Array: TypeAlias = npt.NDArray[Any]
L1, L2, LINF, LP = 0, 1, 2, 3  # the four formulas of (1), as the loops know them


NORMS = {
    "euclidean": 2.0, "l2": 2.0, "sqeuclidean": 2.0, "manhattan": 1.0, "cityblock": 1.0, "l1": 1.0,
    "chebyshev": np.inf, "infinity": np.inf, "minkowski": 2.0, "p": 2.0, "seuclidean": 2.0,
    "mahalanobis": 2.0,
}  # fmt: skip
TREE_NORMS = set(NORMS) - {"sqeuclidean", "seuclidean", "mahalanobis"}
NAMES = sorted(NORMS | ROW_FUNCTIONS)


# -------------------------------------------------------------------------------------- a distance


@dataclass(frozen=True, eq=False)
class Distance:
    """One distance with its parameters: what is done to a row, and the formula of two rows.

    `f` is None for the norms (1), where `code` and `p` name the norm; else a function of two rows,
    whose `address` a compiled loop calls, unless `python` says that it cannot be compiled.
    """

    name: str
    code: int = L2
    p: float = 2.0
    f: Any = None
    triangle: bool = True
    python: bool = False
    scale: Any = None  # (columns,): T(x) = scale · x
    turn: Any = None  # (columns, columns): T(x) = turnᵀ x

    @property
    def address(self) -> Any:
        """The function of two rows, as kernels call it; None for a norm."""
        return None if self.f is None else compiled_rows(self.f)

    @property
    def euclidean(self) -> bool:
        """Whether matrix products give the reduced distance."""
        return self.f is None and self.code == L2

    @property
    def homogeneous(self) -> bool:
        """Whether rows twice as long are twice as far apart, so that units can be chosen."""
        return self.degree == 1

    @property
    def degree(self) -> int:
        """q where rows t times as long are t^q times as far apart; 0 where there is no such q."""
        if self.f is not None:
            return 0
        return 2 if self.name == "sqeuclidean" else 1

    def prepare(self, X: Any) -> Array:
        """T(x) for every row, as contiguous float64."""
        X = np.asarray(X, dtype=np.float64)
        given = self.scale if self.turn is None else self.turn
        if given is not None and len(given) != X.shape[1]:
            raise ValueError(
                f"metric {self.name!r} has parameters for {len(given)} columns; "
                f"the rows have {X.shape[1]}."
            )
        if self.turn is not None:
            X = X @ self.turn
        elif self.scale is not None:
            X = X * self.scale
        elif self.f is cosine:  # not by name: a function of the user's may have the same
            X = unit_rows(X - X.mean(axis=1, keepdims=True) if self.name == "correlation" else X)
        return np.ascontiguousarray(X)

    def reduce(self, d: Any) -> Any:
        """The reduced distance of a distance, with its sign: no row is within a negative one."""
        if self.f is not None or self.name == "sqeuclidean" or self.code in (L1, LINF):
            return d
        return d * np.abs(d) if self.code == L2 else np.copysign(np.abs(d) ** self.p, d)

    def finish(self, r: Any) -> Any:
        """The distances of reduced distances, in place."""
        if self.f is None and self.name != "sqeuclidean":
            if self.code == L2:
                np.sqrt(r, out=r)
            elif self.code == LP:
                np.power(r, 1.0 / self.p, out=r)
        return r

    def between(self, x: Any, y: Any) -> float:
        """d(x, y) of two rows."""
        if self.f is not None:
            return float(self.f(*self.prepare(np.stack([x, y]))))
        t = np.abs(np.subtract(*self.prepare(np.stack([x, y]))))
        if self.code == LINF:
            return float(t.max(initial=0.0))
        return float(self.finish(np.atleast_1d((t**self.p).sum()))[0])


def unit_rows(X: Array) -> Array:
    """Rows divided by their lengths, and a last column that is 1 where a row is zero."""
    size = np.abs(X).max(axis=1, initial=0.0)
    safe = np.where(size > 0.0, size, 1.0)
    U = X / safe[:, None]  # no square overflows
    norm = np.sqrt(np.einsum("ij,ij->i", U, U))
    U /= np.where(norm > 0.0, norm, 1.0)[:, None]
    return np.column_stack([U, size == 0.0])


def distance_named(
    metric: Any, p: float | None = None, parameters: dict[str, Any] | None = None, X: Any = None
) -> Distance:
    """A distance from its name, or a function of two rows, and its parameters.

    Parameters
    ----------
    metric : str or callable
        One of `NAMES`, or a function f(x, y, **parameters).
    p : float, optional
        The power of "minkowski".
    parameters : dict, optional
        w of "minkowski", V of "seuclidean", V or VI of "mahalanobis", or what f takes.
    X : array, optional
        Rows from which V is estimated where it is missing.
    """
    given = dict(parameters or {})
    if isinstance(metric, Distance):
        return metric
    if callable(metric):
        return user_distance(metric, given)
    if metric in ROW_FUNCTIONS:
        f, triangle = ROW_FUNCTIONS[metric]
        refuse_unknown(metric, given)
        return Distance(metric, f=f, triangle=triangle)
    if metric not in NORMS:
        raise ValueError(f"Unrecognized metric {metric!r}; use a function or one of {NAMES}.")
    power = NORMS[metric]
    if metric in ("minkowski", "p"):
        power = given.pop("p", 2.0 if p is None else p)
        if not power > 0:
            raise ValueError(f"p must be greater than 0, got {power}; p >= 1 is a metric.")
    found = Distance(metric, norm_code(power), float(power), triangle=power >= 1)
    if metric in ("minkowski", "p") and given.get("w") is not None:
        found = weighted(found, np.asarray(given["w"], dtype=float))
    elif metric == "seuclidean":
        V = given.get("V")
        s = spread(X) if V is None else root_of(np.asarray(V, dtype=float))
        usable = (s > np.finfo(float).tiny) & (s < np.inf)
        if not usable.all():
            raise ValueError(
                f"V must be > 0: column {usable.argmin()} has no usable variance; leave it out."
            )
        found = replace(found, scale=1.0 / s)
    elif metric == "mahalanobis":
        found = replace(found, turn=inverse_root(given, X))
    known = {"minkowski": {"w"}, "p": {"w"}, "seuclidean": {"V"}, "mahalanobis": {"V", "VI"}}
    refuse_unknown(
        metric, {name: v for name, v in given.items() if name not in known.get(metric, ())}
    )
    return found


def norm_code(p: float) -> int:
    """The formula of (1) for a power."""
    return {1.0: L1, 2.0: L2, np.inf: LINF}.get(float(p), LP)


def weighted(distance: Distance, w: Array) -> Distance:
    """The norm Σ w_j |x_j − y_j|^p; at p = ∞ a positive weight counts as 1."""
    if w.ndim != 1 or not np.isfinite(w).all():
        raise ValueError("w must be a finite vector, one weight per column.")
    if (w < 0).any():
        raise ValueError("w cannot contain negative weights")
    infinite = distance.code == LINF
    return replace(distance, scale=(w > 0) * 1.0 if infinite else w ** (1.0 / distance.p))


def power_of_two(x: float) -> float:
    """The power of two at or below x > 0."""
    return float(2.0 ** np.clip(np.floor(np.log2(x)), -1000, 1000)) if x > 0.0 else 1.0


def spread(X: Any) -> Array:
    """The standard deviation of each column, of numbers of any size."""
    X = np.asarray(X, dtype=float)
    unit = np.abs(X).max(axis=0, initial=0.0)
    unit[unit == 0.0] = 1.0
    return np.asarray((X / unit).std(axis=0, ddof=1) * unit)


def root_of(V: Array) -> Array:
    """√V, NaN where V is negative."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.atleast_1d(np.sqrt(V)))


def inverse_root(parameters: dict[str, Any], X: Any) -> Array:
    """L with L Lᵀ = VI, from V, VI or the rows' covariance."""
    if parameters.get("V") is None and parameters.get("VI") is None:
        X = np.asarray(X, dtype=float)
        unit = power_of_two(float(np.abs(X).max(initial=0.0)))  # no square overflows or vanishes
        return inverse_root({"V": np.cov(X / unit, rowvar=False)}, None) / unit
    VI = parameters.get("VI")
    if VI is None:
        try:
            VI = np.linalg.inv(np.atleast_2d(np.asarray(parameters["V"], dtype=float)))
        except np.linalg.LinAlgError as error:
            raise np.linalg.LinAlgError(
                "V is singular: some columns depend on others. Leave them out, or give VI, as "
                "np.linalg.pinv(V)."
            ) from error
    VI = np.asarray(VI, dtype=float)
    if VI.ndim != 2 or VI.shape[0] != VI.shape[1]:
        raise ValueError("V and VI must be square")
    values, U = np.linalg.eigh((VI + VI.T) / 2.0)
    if values[0] < -1e-10 * abs(values[-1]):
        raise ValueError(f"VI must be positive semi-definite; it has the eigenvalue {values[0]}.")
    return np.asarray(U * np.sqrt(np.maximum(values, 0.0)))


def refuse_unknown(metric: str, parameters: dict[str, Any]) -> None:
    """Raise if a distance was given a parameter that it does not take."""
    if parameters:
        raise TypeError(f"metric {metric!r} takes no parameter {min(parameters)!r}.")


# ------------------------------------------------------------------------------ functions of users


def user_distance(f: Any, parameters: dict[str, Any]) -> Distance:
    """The distance of a function of two rows: compiled, or called as Python if it cannot be."""
    name = getattr(f, "__name__", type(f).__name__)
    plain = (lambda x, y: f(x, y, **parameters)) if parameters else f
    try:
        g = with_parameters(f, tuple(map(frozen, parameters.items()))) if parameters else f
        compiled_rows(g)
    except Exception:  # noqa: BLE001  Numba raises many kinds; Python runs what it cannot compile
        return Distance(name, f=plain, python=True)
    return Distance(name, f=g)


def frozen(parameter: tuple[str, Any]) -> tuple[Any, ...]:
    """A parameter by which what was compiled can be found again."""
    name, value = parameter
    if isinstance(value, np.ndarray):
        return name, value.shape, value.dtype.str, value.tobytes()
    return name, type(value), value


@cache
def with_parameters(f: Any, parameters: tuple[tuple[Any, ...], ...]) -> Any:
    """f(x, y, **parameters) as a function of two rows, with the parameters as constants."""
    given = {}
    for name, *rest in parameters:
        thawed = rest[1] if len(rest) == 2 else np.frombuffer(rest[2], rest[1]).reshape(rest[0])
        given[name] = thawed
    bound = signature(f).bind(None, None, **given)
    if bound.kwargs:
        raise TypeError("compiled functions take their parameters in order, not by name only")
    g, values = f, bound.args[2:]
    if not PURE_PYTHON:
        g = import_numba().njit(getattr(f, "py_func", f), error_model="numpy")
    return lambda x, y: g(x, y, *values)


@cache
def compiled_rows(f: Any) -> Any:
    """The address by which kernels call f(x, y) of two contiguous rows: one type for all f."""
    if PURE_PYTHON:
        return getattr(f, "py_func", f)
    numba = import_numba()
    row = numba.types.Array(numba.float64, 1, "C")
    make = numba.cfunc(numba.float64(row, row), error_model="numpy")
    return make(getattr(f, "py_func", f))


def check_sphere(p: int) -> None:
    """Raise unless points on a sphere have two columns."""
    if p != 2:
        raise ValueError(
            "Haversine distance only valid in 2 dimensions: latitude and longitude, in radians."
        )


def tree_distance(distance: Distance, X: Array) -> Distance:
    """The distance as a ball tree may use it, after a look at some of the rows.

    A function that is not symmetric is refused; one that breaks the triangle inequality is marked,
    so that no ball is left out because of it.
    """
    if distance.f is haversine:
        check_sphere(X.shape[1])
    ours = any(distance.f is f for f, _ in ROW_FUNCTIONS.values())  # names may be the user's
    if distance.f is None or ours or not len(X):
        return distance
    some = distance.prepare(X[:: max(1, len(X) // 8)][:8])
    D = np.array([[float(distance.f(x, y)) for y in some] for x in some])
    slack = 1e-9 * np.abs(D).max(initial=0.0)
    if not np.allclose(D, D.T, rtol=1e-9, atol=slack, equal_nan=True):
        raise ValueError(
            f"metric {distance.name} is not symmetric: d(x, y) != d(y, x) for some rows. Trees "
            'need a metric; use algorithm="brute".'
        )
    breaks = (D[:, None, :] > D[:, :, None] + D[None, :, :] + slack).any()
    return replace(distance, triangle=False) if breaks else distance
