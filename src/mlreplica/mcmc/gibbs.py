r"""Gibbs sampling: renew one coordinate at a time, given all others

    x_j ← a draw of π(x_j | x_−j),   j = 1, …, d, and again                                      (1)

A renewal of x_j is a Metropolis–Hastings step whose proposal is the conditional itself. Its ratio
is

    π(y) π(x_j | x_−j) / (π(x) π(y_j | x_−j)) = 1,   as π(x) = π(x_−j) π(x_j | x_−j)             (2)

so it is always accepted, and π is stationary. Several coordinates may be renewed at once; a block
whose conditional cannot be drawn from takes a Metropolis step instead (`MetropolisStep`).

References
----------
Geman, Geman: Stochastic relaxation, Gibbs distributions, and the Bayesian restoration of images.
IEEE PAMI 6 (1984), 721–741.
Gelfand, Smith: Sampling-based approaches to calculating marginal densities. JASA 85 (1990),
398–409.
"""

import math
from typing import NamedTuple

import numpy as np

from mlreplica.core.compile.source import plain_function

from . import gibbs_models
from .density import as_number, takes
from .parameters import Layout, real
from .random import seeds
from .sampler import Sampler
from .user_loops import compile_loop, generator_from, keep_generator, new_generator_words

WALK = "x", "tallies", "scales"  # what the sweeps change in a chain
ON_STACK = 64  # numbers of x that the sweeps hold where registers can take their place


class MetropolisStep(NamedTuple):
    """Stands for a conditional in `Gibbs`: a random-walk step of its block.

    Parameters
    ----------
    log_density : callable
        The logarithm of the density of the whole vector x, up to what does not depend on the block.
    scale : float, default=1.0
        First scale of the proposals; the warm-up steers it.
    """

    log_density: object
    scale: float = 1.0


def metropolis_block(log_density, first, last, k, goal):
    """The loop body of a MetropolisStep on x[first:last], the k-th of them.

    It returns whether it stopped at an x where the density is zero or not a number.
    """

    def renew_block(x, rng, scales, tallies, adapting):
        before, old = log_density(x), x[first:last].copy()
        if not -math.inf < before < math.inf:
            return True
        for j in range(first, last):
            x[j] += scales[k] * rng.standard_normal()
        log_ratio = log_density(x) - before
        if not log_ratio < math.inf:
            return True
        chance = 1.0 if log_ratio >= 0.0 else math.exp(log_ratio)
        if rng.random() < chance:
            tallies[k] += 1.0
        else:
            for j in range(first, last):
                x[j] = old[j - first]
        if adapting:
            tallies[-1] += 1.0 if k == 0 else 0.0
            scales[k] *= math.exp((1.0 + tallies[-1]) ** -0.6 * (chance - goal))
        return False

    return renew_block


class Gibbs(Sampler):
    """Gibbs sampling (1) with conditionals that are Python functions.

    Parameters
    ----------
    conditionals : list or dict of callables
        A list holds one function per coordinate: `conditional(x, rng)` returns the new x[j]. A
        dict, with `parameters`, holds one per block: it takes any of the blocks' names, `x` and
        `rng`, and returns the new block. `rng` is a `numpy.random.Generator`. A `MetropolisStep`
        may take the place of a function. They are compiled, with the arrays that they use, if they
        can be.
    parameters : dict of supports or None, default=None
        Names and shapes of the blocks, in the order of the vector. Conditionals answer for
        supports.

    Examples
    --------
    >>> from mlreplica.mcmc import Gibbs
    >>> def first(x, rng):
    ...     return rng.normal(0.9 * x[1], 0.19**0.5)
    >>> def second(x, rng):
    ...     return rng.normal(0.9 * x[0], 0.19**0.5)
    >>> draws = Gibbs([first, second]).sample([0.0, 0.0], 5000, random_state=0)
    >>> round(float(np.corrcoef(draws.flat().T)[0, 1]), 1)
    0.9
    """

    stat_names = ()
    layout = None  # set by the constructor, not by a density
    chain_warmup = 500

    def __init__(self, conditionals, *, parameters=None, start=None):
        self.conditionals, self.parameters, self.start = conditionals, parameters, start
        if isinstance(conditionals, dict):
            if parameters is None:
                raise ValueError("Named conditionals need `parameters`, the blocks of the vector.")
            unknown = [name for name in conditionals if name not in parameters]
            if unknown:
                raise ValueError(f"No parameter {unknown[0]!r}; there are {list(parameters)}.")
            missing = [name for name in parameters if name not in conditionals]
            if missing:
                raise ValueError(f"The parameter {missing[0]!r} has no conditional.")
            self.layout = Layout(parameters)
            self.blocks = [(self.layout.places[n], n, f) for n, f in conditionals.items()]
        else:
            conditionals = list(conditionals)
            d = len(conditionals)
            self.layout = Layout({"x": real(d)} if parameters is None else parameters)
            if d != self.layout.size:
                raise ValueError(f"{d} conditionals for {self.layout.size} numbers.")
            labels = self.layout.labels
            self.blocks = [(slice(j, j + 1), labels[j], f) for j, f in enumerate(conditionals)]
        for _, name, f in self.blocks:
            if not callable(f) and not isinstance(f, MetropolisStep):
                raise TypeError(f"The conditional of {name} must be a function, got {f!r}.")
            if isinstance(f, MetropolisStep) and not 0.0 < f.scale < math.inf:
                raise ValueError(f"The scale of {name} must be positive, got {f.scale!r}.")
        self.sweeps = None

    linear_regression = classmethod(gibbs_models.linear_regression)
    gaussian_mixture = classmethod(gibbs_models.gaussian_mixture)
    hierarchical_normal = classmethod(gibbs_models.hierarchical_normal)
    probit = classmethod(gibbs_models.probit)

    @classmethod
    def whole(cls, draw, parameters, start):
        """A sampler whose only conditional, draw(x, rng), renews the whole vector."""
        found = cls(dict.fromkeys(parameters, draw), parameters=parameters, start=start)
        found.blocks = [(slice(0, found.layout.size), "x", draw)]
        return found

    @classmethod
    def small_runs(cls):
        """No call: conditionals are the user's, and compiled with the loop around them."""
        return iter(())

    # ---------------------------------------------------------------------- the sweeps

    def words_of(self, f):
        """The arguments of a conditional, as expressions of x and rng."""
        words, named = takes(f), isinstance(self.conditionals, dict)
        if not named and len(words) == 2:
            return ["x", "rng"] if words[0] != "rng" else words
        found = []
        for word in words:
            if word in ("x", "rng"):
                found.append(word)
            elif word in self.layout.places and named:
                at, shape = self.layout.places[word], self.layout.supports[word].shape
                reshape = f".reshape({shape})" if len(shape) > 1 else ""
                found.append(f"x[{at.start}:{at.stop}]{reshape}" if shape else f"x[{at.start}]")
            else:
                known = [*self.layout.places, "x", "rng"] if named else ["x", "rng"]
                raise ValueError(f"A conditional takes {word!r}, which is none of {known}.")
        return found

    def in_blocks(self):
        """(place, name, function, is a Metropolis step) of every block."""
        k = 0
        for at, name, f in self.blocks:
            if isinstance(f, MetropolisStep):
                goal = 0.44 if at.stop - at.start == 1 else 0.234
                yield at, name, metropolis_block(f.log_density, at.start, at.stop, k, goal), True
                k += 1
            else:
                yield at, name, f, False

    def sweep_text(self, unit):
        """Write the sweeps (1) into a unit."""
        lines, d = [], self.layout.size
        for number, (at, block, f, is_step) in enumerate(self.in_blocks(), start=1):
            name = unit.add(f)
            own = ["x", "rng", "scales", "tallies", "adapting"] if is_step else self.words_of(f)
            call = f"{name}({', '.join([*unit.captured[name], *own])})"
            support = self.layout.supports.get(block)
            is_number = not isinstance(self.conditionals, dict) or (support and not support.shape)
            if is_step:
                lines += [f"if {call}:", f"    for j in range({d}):"]
                lines += ["        x_kept[j] = x[j]", f"    return {number}"]
            elif is_number:
                lines.append(f"x[{at.start}] = {call}")
            else:
                new = f"_new_{len(lines)}"
                matrix = support is not None and len(support.shape) > 1
                lines.append(f"{new} = {call}" + ".reshape(-1)" * matrix)
                lines.append(f"for j in range({at.stop - at.start}):")
                lines.append(f"    x[{at.start} + j] = {new}[j]")
        head = ", ".join([*unit.values, "x_kept, rng, scales, tallies, adapting, out, n, thin"])
        place = f"on_stack({d})" if d <= ON_STACK else "x_kept"
        body = "\n            ".join(lines)
        text = (
            f"def gibbs_sweeps({head}):\n    x = {place}\n"
            f"    for j in range({d}):\n        x[j] = x_kept[j]\n"
            f"    for k in range(n):\n        for _ in range(thin):\n            {body}\n"
            f"        for j in range({d}):\n            x_kept[j] = x[j]\n"
            "        if len(out) > 0:\n"
            f"            for j in range({d}):\n                out[k, j] = x[j]\n"
            "    return 0\n"
        )
        return text, "gibbs_sweeps"

    def in_python(self, x, rng, scales, tallies, adapting, out, n, thin):
        """The same without a compiler."""
        calls = list(self.in_blocks())
        for k in range(n):
            for _ in range(thin):
                for number, (at, _, f, is_step) in enumerate(calls, start=1):
                    if not is_step:
                        found = plain_function(f)(*self.arguments(f, x, rng))
                        x[at] = np.ravel(found) if np.ndim(found) else found
                    elif f(x, rng, scales, tallies, adapting):
                        return number
            if len(out) > 0:
                out[k] = x
        return 0

    def arguments(self, f, x, rng):
        """The arguments of a conditional at x."""
        space = {"x": x, "rng": rng}
        return [eval(word, {}, space) for word in self.words_of(f)]

    def check(self, x):
        """Call every conditional once in Python, where every mistake is named."""
        rng, found, where = np.random.default_rng(0), x.copy(), self.layout.describe(x)
        for at, name, f in self.blocks:
            is_step = isinstance(f, MetropolisStep)
            try:
                if is_step:
                    new = as_number(plain_function(f.log_density)(found.copy()))
                else:
                    new = plain_function(f)(*self.arguments(f, found.copy(), rng))
            except Exception as error:
                error.add_note(f"The conditional of {name} raised this at the start {where}.")
                raise
            new = np.asarray(new, np.float64)
            if is_step:
                if not np.isfinite(new):
                    raise ValueError(f"The log_density of {name} is {new} at the start {where}.")
                continue
            if new.size != at.stop - at.start:
                raise ValueError(
                    f"The conditional of {name} returned {new.size} numbers, expected "
                    f"{at.stop - at.start}."
                )
            if not np.isfinite(new).all():
                raise ValueError(f"The conditional of {name} returned {new} at {where}.")

    def compile(self, x):
        """Compile the sweeps by a call that makes none."""
        scales = self.scales()
        nothing = (
            x.copy(), np.random.default_rng(0), scales, np.zeros(len(scales) + 1), False,
            np.empty((0, len(x))), 0, 1,
        )  # fmt: skip
        named = next(f.log_density if isinstance(f, MetropolisStep) else f for *_, f in self.blocks)
        self.sweeps, self.is_compiled = compile_loop(
            self.sweep_text, self.in_python, named, nothing
        )

    def scales(self):
        """The first scales of the Metropolis steps."""
        return np.array(
            [float(f.scale) for _, _, f in self.blocks if isinstance(f, MetropolisStep)]
        )

    # ------------------------------------------------------------------------- chains

    def continued(self, draws):
        """The chains of earlier draws, copied."""
        chains = super().continued(draws)
        if self.sweeps is None:
            self.compile(chains[0]["x"])
        return chains

    def prepare(self, d):
        """Raise unless there are d numbers."""
        if d != self.layout.size:
            raise ValueError(f"The draws have {d} numbers, the conditionals {self.layout.size}.")

    def begin(self, x0, n_chains, random_state):
        """New chains at x0."""
        x0 = self.start if x0 is None else x0
        if x0 is None:
            raise ValueError("Gibbs needs x0: conditionals do not say where to start.")
        x0 = self.layout.flatten(x0) if isinstance(x0, dict) else np.array(x0, dtype=np.float64)
        if x0.shape not in ((self.layout.size,), (n_chains, self.layout.size)):
            raise ValueError(
                f"x0 must have the shape ({self.layout.size},) or ({n_chains}, {self.layout.size})"
                f", got {x0.shape}."
            )
        bad = ~np.isfinite(x0)
        if bad.any():
            at = np.argwhere(bad)[0]
            raise ValueError(f"x0 is {x0[tuple(at)]} for {self.layout.labels[at[-1]]}.")
        if self.sweeps is None:
            first = x0.reshape(-1, self.layout.size)[0]
            self.check(first)
            self.compile(first)
        starts = np.array(np.broadcast_to(x0, (n_chains, self.layout.size)), order="C")
        scales = self.scales()
        return [
            {
                "x": start,
                "rng": new_generator_words(child.generate_state(4, np.uint64)),
                "scales": scales.copy(),
                "tallies": np.zeros(len(scales) + 1),
                "counts": np.zeros(2, dtype=np.int64),
            }
            for start, child in zip(starts, seeds(random_state, n_chains), strict=True)
        ]

    def advance(self, chain, out, stats, n, thin, step, n_warmup):
        """n draws of a chain, or n sweeps of its warm-up."""
        rng, x, tallies, scales = generator_from(chain["rng"]), *map(chain.get, WALK)
        warm = out is None
        if not warm and tallies[-1] >= 0.0:  # the warm-up is over
            chain["counts"][:], tallies[-1] = 0, -1.0
        out = np.empty((0, len(x))) if warm else out
        tallies[:-1] = 0.0
        try:
            with np.errstate(all="ignore"):  # compiled code does not warn either
                stopped = self.sweeps(x, rng, scales, tallies, warm, out, n, thin)
        except Exception as error:
            error.add_note(f"A conditional raised this near {self.layout.describe(x)}.")
            raise
        keep_generator(rng, chain["rng"])
        steps, where = n * thin * max(1, len(scales)), self.layout.describe(x)
        chain["counts"] += int(tallies[:-1].sum()) if len(scales) else steps, steps
        if stopped:
            _, name, step = self.blocks[stopped - 1]
            with np.errstate(all="ignore"):
                found = as_number(plain_function(step.log_density)(x.copy()))
            raise ValueError(f"The log_density of {name} is {found} at {where}.")
        if not np.isfinite(x).all():
            raise ValueError(f"A conditional returned what is not a number: {where}.")
