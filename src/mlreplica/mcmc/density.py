"""Log-densities: a user's Python function as machine code that samplers call

    def log_density(x): ...                       # of one vector, or
    def log_density(mu, tau, theta): ...          # of named blocks, on their natural scale

`LogDensity` compiles the function with what it uses of its surroundings (`core/compile/user.py`)
behind one C interface,

    double f(const double *theta, double *gradient, const int64 *table)

whose table holds the addresses of the data. So each sampler is one kernel for all densities, and
only the user's own lines are compiled. Supports are another such function around it
(`parameters.py`). A function that cannot be compiled runs as Python behind the same interface:
`ctypes` takes the lock of the interpreter for each call.

A density of +∞ does not exist: f returns it where the function raised an exception, and the point
is then evaluated again in Python, where the exception can be seen.
"""

import ctypes
import functools
import inspect
import math
import signal
import threading
import warnings
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from mlreplica.core.compile.addresses import call_at
from mlreplica.core.compile.jit import PURE_PYTHON, kernel
from mlreplica.core.compile.source import (
    NotCompilableError,
    definition_of,
    plain_function,
    writes_to,
)
from mlreplica.core.compile.user import Unit, say_plain

from .parameters import Layout, real

RAISING = "raise ", "assert ", "linalg"  # what may end a compiled function with an exception
C_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_void_p] * 3)
STEP = 6e-6  # of central differences: the third root of the precision of float64


class Target(NamedTuple):
    """What a kernel needs to evaluate a density of ℝᵐ: one per chain, as its table has memory."""

    at: object  # address of f, or a Python function where kernels are plain Python
    table: np.ndarray


@kernel(part=True, borrow=True)
def log_density(target, u):
    """log π(u), equation (1) of `parameters.py`, by an f that writes no gradient."""
    return call_at(target.at, u, u, target.table)


@kernel(part=True, borrow=True)
def log_density_and_gradient(target, u, g):
    """log π(u); g ← its gradient."""
    return call_at(target.at, u, g, target.table)


def evaluate(target, u):
    """`log_density`, for Python."""
    return evaluate_gradient(target, u, np.empty(len(u)))


def evaluate_gradient(target, u, g):
    """`log_density_and_gradient`, for Python."""
    if PURE_PYTHON:
        return target.at(u, g, target.table)
    arrays = np.ascontiguousarray(u, dtype=np.float64), g, target.table
    return C_FUNCTION(target.at)(*(array.ctypes.data for array in arrays))


class LogDensity:
    """A user's function, compiled if that is possible, with its gradient if one is asked for.

    Parameters
    ----------
    function : callable
        Of one vector, or of the named blocks of `parameters`; returns a number, or with
        `gradient=True` a number and the gradient.
    gradient : callable, True or None
        A function of the same arguments that returns the gradient: an array, or a tuple with one
        entry per block.
    parameters : dict of supports or None
        The blocks of the vector, in their order.
    with_gradient : bool
        Whether a sampler asks for gradients; without `gradient` they are finite differences.
    """

    name, zero = "log_density", "return -np.inf where the density is zero"  # for error messages
    raised = math.inf  # what f returns where the function raised an exception

    def __init__(self, function, gradient=None, parameters=None, with_gradient=False):
        if not callable(function):
            raise TypeError(f"log_density must be a function, got {function!r}.")
        self.function, self.gradient, self.with_gradient = function, gradient, with_gradient
        self.layout = None if parameters is None else Layout(parameters)
        self.by_name = parameters is not None and by_name(function, list(parameters))
        self.error = self.stop = None  # of the function, of the user
        if with_gradient and gradient is None:
            warnings.warn(
                "No gradient was given: finite differences take its place, at two evaluations per "
                "dimension. Pass gradient=…, or gradient=True if log_density returns "
                "(value, gradient).",
                UserWarning,
                stacklevel=4,
            )

    def set_dimension(self, d):
        """Name the entries of a vector x[0], x[1] … if there are no parameters."""
        if self.layout is None:
            self.layout = Layout({"x": real(d)})
        if d != self.layout.size:
            raise ValueError(
                f"x0 has {d} numbers per chain, the parameters {list(self.layout.supports)} have "
                f"{self.layout.size}."
            )

    # ------------------------------------------------------------------------ in Python

    def arguments(self, theta):
        """The arguments of the user's function at θ: a copy, which it may change."""
        theta = np.array(theta, dtype=np.float64)
        if not self.by_name:
            return (theta,)
        blocks = self.layout.places.items()
        shapes = [support.shape for support in self.layout.supports.values()]
        parts = [theta[at].reshape(shape) for (_, at), shape in zip(blocks, shapes, strict=True)]
        return tuple(part if part.ndim else float(part) for part in parts)

    def call(self, name, function, theta, place):
        """What a user's function returns at θ; an exception tells which function, and where."""
        try:
            with np.errstate(all="ignore"):  # compiled code does not warn either
                return plain_function(function)(*self.arguments(theta))
        except Exception as error:
            error.add_note(f"{name} raised this at {place}{self.describe(theta)}.")
            raise

    def in_python(self, theta, g=None, place=""):
        """log p(θ), and g ← its gradient if g is given; `place` is what notes call θ."""
        found = self.call(self.name, self.function, theta, place)
        value, slope = as_pair(found) if self.gradient is True else (found, None)
        value = as_number(value, self.name)
        if g is None:
            return value
        if callable(self.gradient):
            slope = self.call("gradient", self.gradient, theta, place)
        if slope is None:
            return self.differences(theta, value, g)
        parts = slope if self.by_name and isinstance(slope, (tuple, list)) else (slope,)
        slope = np.concatenate([np.ravel(part) for part in parts]).astype(np.float64)
        if slope.shape != g.shape:
            raise ValueError(f"The gradient has {slope.size} entries, expected {g.size}.")
        g[:] = slope
        return value

    def differences(self, theta, value, g):
        """g ← central differences of log p at θ."""
        for j in range(len(theta)):
            h, ends = STEP * max(1.0, abs(theta[j])), []
            for sign in (1.0, -1.0):
                moved = np.array(theta)
                moved[j] += sign * h
                ends.append(self.in_python(moved))
            g[j] = (ends[0] - ends[1]) / (2.0 * h)
        return value

    def called_back(self, theta, g, table):
        """What kernels call if the function is plain Python."""
        if self.stop is not None:
            return self.raised
        try:
            value = self.in_python(theta, g if self.with_gradient else None)
        except BaseException as error:  # noqa: BLE001  raised again by `refuse`
            self.error = error
            return self.raised
        return value

    @contextmanager
    def interruptible(self):
        """Ctrl-C ends calls of a Python function by machine code, and is raised when they ended.

        Raised on the way from a kernel into Python it would be lost: `ctypes` swallows it.
        """
        usual, plain = signal.getsignal(signal.SIGINT), not PURE_PYTHON and not self.is_compiled
        in_main = threading.current_thread() is threading.main_thread()
        if not (plain and in_main and callable(usual)):
            yield
            return

        def stop(*args):
            try:
                usual(*args)
            except BaseException as error:  # noqa: BLE001  raised again below
                self.stop = error

        signal.signal(signal.SIGINT, stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, usual)
            stopped, self.stop = self.stop, None
            if stopped is not None:
                raise stopped from None

    def refuse(self, theta, value):
        """Raise the error that made a sampler stop at θ, with the parameters and their values."""
        where = self.describe(theta)
        error, self.error = self.stop or self.error, None
        if error is not None:
            raise error
        value = self.in_python(theta, np.empty(len(theta)) if self.with_gradient else None)
        advice = f"; {self.zero}" if value != math.inf else ""
        raise ValueError(f"{self.name} is {value} at {where}{advice}.")

    def describe(self, theta):
        """The parameters and their values: 'mu = 0.3, tau = -1'."""
        return self.layout.describe(theta)

    # -------------------------------------------------------------------------- compiled

    @functools.cached_property
    def code(self):
        """(address or function, table, what must be kept in memory)."""
        table = np.zeros(1, dtype=np.int64)
        if PURE_PYTHON:
            return self.called_back, table, None
        try:
            return self.compiled()
        except NotCompilableError as error:
            say_plain(self.function, str(error))
        n, views = self.layout.size, {}

        def view(address):
            if address not in views:
                views[address] = np.frombuffer((ctypes.c_double * n).from_address(address))
            return views[address]

        callback = C_FUNCTION(lambda x, g, table: self.called_back(view(x), view(g), None))
        return ctypes.cast(callback, ctypes.c_void_p).value, table, callback

    @property
    def is_compiled(self):
        """Whether kernels run the function as machine code."""
        return not PURE_PYTHON and not isinstance(self.code[2], ctypes._CFuncPtr)

    def compiled(self):
        """Compile f; return its address, its table and the data."""
        unit = Unit()
        name, must_copy = enter(unit, self.function)
        call = self.call_text(unit, name)
        body = [f"_value{', _slope' * (self.gradient is True)} = {call}"]
        if self.with_gradient:
            body += self.gradient_text(unit, call)
        lines, table, kept = load_text(unit, self.layout.size)
        lines.append("_x = numbers_at(_x_at, _table[0])" + ".copy()" * must_copy)
        if self.with_gradient:
            lines.append("_g = numbers_at(_g_at, _table[0])")
        body.append("return float(_value)")
        may_raise = any(word in "".join(unit.texts) for word in RAISING)
        if may_raise or not unit.kept:  # to be ready for an exception costs time at every call
            body = ["try:", *("    " + line for line in body), "except Exception:"]
            body.append(f"    return float('{self.raised}')")
        text = "\n    ".join(["def entry(_x_at, _g_at, _table_at):", *lines, *body]) + "\n"
        address, made = unit.address(text, "entry")
        return address, table, (made, kept)

    def call_text(self, unit, name):
        """The call of a function of the unit with what it captured and its own arguments."""
        own = ["_x"]
        if self.by_name:
            own = []
            for at, support in zip(
                self.layout.places.values(), self.layout.supports.values(), strict=True
            ):
                part = f"_x[{at.start}:{at.stop}]"
                many = len(support.shape) > 1
                part += f".reshape({support.shape})" if many else ""
                own.append(part if support.shape else f"_x[{at.start}]")
        return f"{name}({', '.join([*unit.captured[name], *own])})"

    def gradient_text(self, unit, call):
        """Lines that fill _g, from the user's gradient or by central differences."""
        if self.gradient is None:
            plus, minus = "_x[_j] = _keep + _h", "_x[_j] = _keep - _h"
            return [
                "for _j in range(len(_x)):",
                "    _keep = _x[_j]",
                f"    _h = {STEP} * max(1.0, abs(_keep))",
                f"    {plus}",
                f"    _up = {call}",
                f"    {minus}",
                f"    _g[_j] = (_up - {call}) / (2.0 * _h)",
                "    _x[_j] = _keep",
            ]
        lines = []
        if self.gradient is not True:
            name, _ = enter(unit, self.gradient)
            lines.append(f"_slope = {self.call_text(unit, name)}")
        if not self.by_name:
            return [*lines, "for _j in range(len(_g)):", "    _g[_j] = _slope[_j]"]
        blocks = zip(self.layout.places.values(), self.layout.supports.values(), strict=True)
        for k, (at, support) in enumerate(blocks):
            part = f"_slope[{k}]" if len(self.layout.supports) > 1 else "_slope"
            if support.shape:
                loop = f"for _j, _s in enumerate({part}.flat):"
                lines += [loop, f"    _g[{at.start} + _j] = _s"]
            else:
                lines.append(f"_g[{at.start}] = {part}")
        return lines

    def target(self):
        """A Target of its own memory, for one chain."""
        at, table, _ = self.code
        return Target(*self.layout.wrap(at, table, self.with_gradient))

    def check_start(self, u):
        """Raise unless the density at u is finite and its gradient is its slope."""
        theta = self.layout.natural(u)
        slope = np.empty(len(theta)) if self.with_gradient and self.gradient is not None else None
        value = self.in_python(theta, slope, "the start ")
        if not math.isfinite(value):
            raise ValueError(
                f"log_density is {value} at the start {self.describe(theta)}; start where the "
                "density is positive and finite."
            )
        target, g = self.target(), np.zeros(self.layout.free)
        with self.interruptible():
            found = evaluate_gradient(target, u, g) if self.with_gradient else evaluate(target, u)
            if self.error is not None or not math.isfinite(found):
                self.refuse(theta, found)
            if self.with_gradient and self.gradient is not None:
                self.check_gradient(target, u, g)

    def check_gradient(self, target, u, g):
        """Compare the user's gradient with central differences of the density."""
        for j in range(len(u)):
            h, ends = STEP * max(1.0, abs(u[j])), []
            for sign in (1.0, -1.0):
                moved = u.copy()
                moved[j] += sign * h
                ends.append(evaluate_gradient(target, moved, np.empty_like(g)))
            slope = (ends[0] - ends[1]) / (2.0 * h)
            rounding = 1e-14 * max(abs(end) for end in ends) / h
            near = abs(slope - g[j]) <= 1e-4 * (1.0 + abs(slope)) + rounding  # False for NaN
            if math.isfinite(slope) and not near:
                free = self.layout.free == self.layout.size
                name = self.layout.labels[j] if free else f"coordinate {j}"
                raise ValueError(
                    f"The gradient disagrees with log_density: along {name} it is {g[j]:.6g}, "
                    f"differences give {slope:.6g}, at {self.describe(self.layout.natural(u))} "
                    "(both with respect to the unconstrained scale)."
                )


def takes(function):
    """The names of the arguments that a function must get; [] if they cannot be known."""
    try:
        found = inspect.signature(plain_function(function)).parameters.values()
    except (TypeError, ValueError):
        return []
    return [a.name for a in found if a.default is a.empty and a.kind <= a.POSITIONAL_OR_KEYWORD]


def by_name(function, names):
    """Whether a function takes the named blocks, not one vector; an error if it takes neither."""
    found = takes(function)
    if found != names and len(found) > 1:
        raise ValueError(
            f"log_density takes ({', '.join(found)}), but the parameters are ({', '.join(names)}): "
            "let it take these names in this order, or one vector."
        )
    return found == names


def as_number(value, name="log_density"):
    """A float from what a user's function returned."""
    if isinstance(value, tuple) and len(value) > 1:
        raise ValueError(
            f"{name} must return one number, got a tuple of {len(value)}. If it is (value, "
            "gradient): pass gradient=True to HMC or NUTS; others take the value alone."
        )
    found = np.asarray(value)
    if found.size != 1 or found.dtype.kind not in "fiub":
        got = f"an array of {found.shape}" if found.size != 1 else repr(value)
        raise ValueError(f"{name} must return one number, got {got}.")
    return float(found.reshape(()))


def as_pair(found):
    """(value, gradient) from what a user's function returned."""
    try:
        value, slope = found
    except (TypeError, ValueError):
        raise ValueError(
            f"log_density must return (value, gradient) with gradient=True, got {found!r}."
        ) from None
    return value, slope


def enter(unit, function):
    """Add a function to a unit; return its name there and whether it changes its argument."""
    try:
        made = definition_of(plain_function(function))
    except NotCompilableError as error:
        if "source" not in str(error):
            raise
        return unit.add_unread(function), True
    must_copy = any(writes_to(made, argument.arg) for argument in made.args.args)
    return unit.add(function), must_copy


def load_text(unit, size):
    """Lines that load the captured values from the table, the table, and the data it points to."""
    table, lines, floats = [size], ["_table = integers_at(_table_at, _SIZE)"], []
    kept, places = [], {}
    for name, value in unit.values.items():
        k = len(table)
        if isinstance(value, np.ndarray):
            shape = ", ".join(f"_table[{k + 1 + axis}]" for axis in range(value.ndim))
            kind = unit.free_name(f"_{value.dtype.name}")
            unit.space[kind] = value.dtype.type
            lines.append(f"{name} = array_at(_table[{k}], {kind}, ({shape},))")
            table += [value.ctypes.data, *value.shape]
            kept.append(value)
        elif isinstance(value, (float, np.floating)):
            places[name] = len(floats)
            floats.append(float(value))
        else:
            is_bool = isinstance(value, (bool, np.bool_))
            lines.append(f"{name} = _table[{k}]" + " != 0" * is_bool)
            table.append(int(value))
    if floats:
        memory = np.array(floats)
        kept.append(memory)
        lines.append(f"_floats = numbers_at(_table[{len(table)}], {len(floats)})")
        lines += [f"{name} = _floats[{k}]" for name, k in places.items()]
        table.append(memory.ctypes.data)
    lines[0] = lines[0].replace("_SIZE", str(len(table)))
    return lines, np.array(table, dtype=np.int64), kept
