"""Sampler: the one way in which chains start, warm up, run on threads, stop and go on

A sampler knows how to make a chain (a dict of arrays, everything that changes) and how to advance
one by some draws. This file does the rest, in blocks of draws: chains on threads, callbacks,
interrupts, files to resume from, and warnings at the end. A chain has random numbers of its own,
and a block ends where nothing is lost, so draws depend neither on the threads nor on the blocks.
"""

import functools
import inspect
import json
import time
import zipfile
from contextlib import nullcontext
from numbers import Real
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mlreplica.core.compile.threads import run
from mlreplica.core.iterate import LazyCallbackSupport, iterate

from .density import LogDensity
from .draws import Draws
from .parameters import positive
from .random import seeds

BLOCK_SECONDS = 0.2  # how long an interrupt may have to wait, about
SAVE_SECONDS = 5.0  # between two writes of a checkpoint
RUNAWAY = 1e100  # a parameter beyond this is not coming back
STARTS = 100  # random starts to try for a finite density
UNRESOLVED = 1e15  # a log-density above this has differences that are rounding errors
MOVES = 50  # moves of a chain from which an improper density can be told


def bowl(x):
    """A density for the warm-up."""
    return -0.5 * (x**2).sum()


def shrink(x):
    """Its gradient."""
    return -x


class SamplerState(NamedTuple):
    """What callbacks see once per block of draws."""

    draws: int  # per chain, so far
    warming_up: bool
    accept_rate: float
    divergences: int


class Sampler(LazyCallbackSupport):
    """What all samplers share: `sample`."""

    stat_names = ("lp",)
    chain_warmup = 1000
    owner = None  # the estimator that is being fitted, if there is one: callbacks see it

    def sample(
        self,
        x0=None,
        n_draws=1000,
        *,
        n_chains=4,
        n_warmup=None,
        random_state=None,
        thin=1,
        n_jobs=None,
        checkpoint=None,
        warn=True,
    ):
        """Draw from the target.

        Parameters
        ----------
        x0 : array-like of shape (d,) or (n_chains, d), dict, Draws or None, default=None
            Where chains start, on the natural scale: one point for all, one per chain, or a dict of
            named blocks. None draws u uniformly from (−2, 2) on the unconstrained scale; it needs
            `parameters`. Draws of an earlier call are continued, without another warm-up, and
            returned with the new ones.
        n_draws : int, default=1000
            Draws to keep per chain.
        n_chains : int, default=4
            Independent chains.
        n_warmup : int or None, default=None
            Steps before the first draw, in which the sampler adapts; they are not kept.
        random_state : int, Generator, RandomState or None, default=None
            The same seed gives the same draws, whatever the number of threads.
        thin : int, default=1
            Keep every so many steps.
        n_jobs : int or None, default=None
            Threads; None means as many as there are cores.
        checkpoint : str, Path or None, default=None
            A file (.npz) that is written every few seconds. If it is there, the run it holds goes
            on, with the draws it would have had.
        warn : bool, default=True
            Whether to warn if the draws do not look right.

        Returns
        -------
        draws : Draws
        """
        for name, value, least in (
            ("n_draws", n_draws, 1),
            ("n_chains", n_chains, 1),
            ("thin", thin, 1),
            ("n_warmup", 0 if n_warmup is None else n_warmup, 0),
        ):
            whole = isinstance(value, Real) and not isinstance(value, bool) and value % 1 == 0
            if not whole or value < least:
                raise ValueError(f"{name} must be an integer >= {least}, got {value!r}.")
        before, n_chains = x0 if isinstance(x0, Draws) else None, int(n_chains)
        if before is not None:
            chains, n_warmup, thin = self.continued(before), 0, before.thin
        else:
            chains = self.begin(x0, n_chains, random_state)
            n_warmup = self.default_warmup() if n_warmup is None else int(n_warmup)
        run_ = Run(self, chains, int(n_draws), n_warmup, int(thin), n_jobs, checkpoint)
        try:
            iterate(
                self.owner or self,
                run_.blocks(),
                max_iter=run_.n_blocks,
                advice=None,
                unit="blocks",
                publish=lambda state: self.published(run_.draws(before)),
            )
        except KeyboardInterrupt:
            self.draws_ = run_.draws(before)
            raise
        found = self.draws_ = run_.draws(before)
        run_.refuse_improper()
        if warn:
            found.warn(stacklevel=3)
        return found

    def published(self, draws):
        """The attributes that callbacks and an interrupt find on the sampler."""
        return {"draws_": draws}

    def default_warmup(self):
        """Steps of warm-up if the user names none."""
        return self.chain_warmup

    def continued(self, draws):
        """The chains of earlier draws, copied."""
        if draws.sampler != type(self).__name__ or not draws.chains:
            raise ValueError(f"{draws!r} cannot be continued by {type(self).__name__}.")
        self.prepare(draws.layout.size)
        return [{k: v.copy() for k, v in chain.items()} for chain in draws.chains]

    @classmethod
    def small_runs(cls):
        """Calls that run every kernel of the sampler, for the warm-up."""
        gradient = {"gradient": shrink} if "gradient" in inspect.signature(cls).parameters else {}
        for parameters in (None, {"x": positive(2)}):
            sampler = cls(bowl, parameters=parameters, **gradient)
            yield functools.partial(sampler.sample, np.ones(2), 5, n_warmup=30, warn=False)

    # ------------------------------------------- what a sampler of log-densities defines

    def make_density(self, with_gradient=False):
        """The density of the constructor's arguments."""
        return LogDensity(
            self.log_density, getattr(self, "gradient", None), self.parameters, with_gradient
        )

    @property
    def layout(self):
        """The blocks of the parameters."""
        return self.density.layout

    def prepare(self, d):
        """Compile for d numbers."""
        if d is not None:
            self.density.set_dimension(d)
        elif self.density.layout is None:
            raise ValueError("x0 must be given, or parameters from which it can be drawn.")

    def begin(self, x0, n_chains, random_state):
        """New chains, at x0 or at random."""
        starts = self.read_starts(x0, n_chains)
        children = seeds(random_state, n_chains)
        chains = []
        for child, start in zip(children, starts, strict=True):
            rng = np.random.default_rng(child)
            words = rng.integers(0, 2**64, 4, dtype=np.uint64)
            u = self.random_start(rng) if start is None else self.layout.unconstrained(start)
            if start is not None and (not chains or np.ndim(x0) > 1):
                self.density.check_start(u)
            with self.interruptible():
                chains.append(self.new_chain(np.ascontiguousarray(u), words))
        return chains

    def read_starts(self, x0, n_chains):
        """A start on the natural scale per chain, or None."""
        if x0 is None:
            self.prepare(None)
            return [None] * n_chains
        if isinstance(x0, dict):
            if self.density.layout is None:
                raise ValueError("x0 is a dict, but the sampler has no named parameters.")
            x0 = self.layout.flatten(x0)
        x0 = np.array(x0, dtype=np.float64)
        if x0.ndim not in (1, 2) or x0.size == 0:
            raise ValueError(f"x0 must have the shape (d,) or (n_chains, d), got {x0.shape}.")
        if x0.ndim == 2 and len(x0) != n_chains:
            raise ValueError(f"x0 has {len(x0)} rows for {n_chains} chains.")
        self.prepare(x0.shape[-1])
        bad = ~np.isfinite(x0)
        if bad.any():
            at = np.argwhere(bad)[0]
            raise ValueError(f"x0 is {x0[tuple(at)]} for {self.layout.labels[at[-1]]}.")
        return list(np.broadcast_to(x0, (n_chains, x0.shape[-1])))

    def random_start(self, rng):
        """A u of (−2, 2) at which the density is finite."""
        for attempt in range(STARTS):
            u = rng.uniform(-2.0, 2.0, self.layout.free)
            value = self.density.in_python(self.layout.natural(u), place="the start ")
            if np.isfinite(value):
                self.density.check_start(u)
                return u
            if attempt == STARTS - 1:
                theta = self.layout.natural(u)
                raise ValueError(
                    f"log_density is not finite at {STARTS} random starts, for instance {value} at "
                    f"{self.density.describe(theta)}; give x0."
                )
        return None

    def interruptible(self):
        """What a Ctrl-C passes through while machine code runs."""
        calls_back = hasattr(self, "density") and not getattr(self, "custom", None)
        return self.density.interruptible() if calls_back else nullcontext()

    def refuse(self, chain):
        """Raise the error of a chain whose density was not a number."""
        theta = self.layout.natural(chain["trial"])
        if self.density.error is None and self.density.stop is None:
            refuse_runaway(self.layout.labels, theta)
        self.density.refuse(theta, np.nan)


def refuse_runaway(labels, values):
    """Raise if a parameter, of one point or several, is beyond all bounds."""
    if not np.isfinite(values).all() or np.abs(values).max() > RUNAWAY:
        at = int(np.argmax(np.where(np.isnan(values), np.inf, np.abs(values))))
        raise ValueError(
            f"A chain ran away: {labels[at % values.shape[-1]]} is {values.flat[at]:.6g}. The "
            "density may be improper (its integral infinite); give the parameters proper priors."
        )


class Run:
    """Some chains on their way: what was drawn, and what is still to draw."""

    def __init__(self, sampler, chains, n_draws, n_warmup, thin, n_jobs, checkpoint=None):
        self.sampler, self.chains, self.n_jobs, self.thin = sampler, chains, n_jobs, thin
        self.n_draws, self.n_warmup, self.done, self.warmed = n_draws, n_warmup, 0, 0
        self.path = None if checkpoint is None else Path(checkpoint)
        rows = getattr(sampler, "rows_per_chain", 1)
        self.array = np.empty((len(chains) * rows, n_draws, sampler.layout.size))
        self.stats = np.empty((len(chains) * rows, n_draws, len(sampler.stat_names)))
        self.rows, self.saved = rows, time.monotonic()
        self.slow = bool(getattr(sampler.owner or sampler, "_skl_callbacks", None))
        self.n_blocks = 100 if self.slow else 10**9
        self.size = 1  # steps of the next block
        if self.path is not None and self.path.exists():
            self.load()
        elif self.path is not None and not self.path.absolute().parent.is_dir():
            raise FileNotFoundError(f"The folder of checkpoint={str(self.path)!r} does not exist.")

    def blocks(self):
        """Advance all chains; yield once per block, or per hundredth where callbacks look on."""
        total, passed = self.n_warmup + self.n_draws * self.thin, 0
        share = -(-total // 98)  # of the steps, after which callbacks look
        while self.warmed < self.n_warmup or self.done < self.n_draws:
            start, warm = time.perf_counter(), self.warmed < self.n_warmup
            steps = min(self.size, share - passed) if self.slow else self.size
            if warm:
                n = size = min(steps, self.n_warmup - self.warmed)
                self.together(self.warm_up, [n] * len(self.chains))
                self.warmed += n
            else:
                n = min(max(1, steps // self.thin), self.n_draws - self.done)
                parts = [slice(k * self.rows, (k + 1) * self.rows) for k in range(len(self.chains))]
                self.together(self.advance, parts, [n] * len(self.chains))
                self.done, size = self.done + n, n * self.thin
            seconds = time.perf_counter() - start
            self.size = int(size * min(50.0, max(0.25, BLOCK_SECONDS / (seconds + 1e-9)))) + 1
            over = self.done == self.n_draws
            if self.path is not None and (over or time.monotonic() - self.saved > SAVE_SECONDS):
                self.save()
            passed += size
            if self.slow and passed < share and not over:
                continue
            diverged = passed = 0
            if "divergent" in self.sampler.stat_names:
                column = self.sampler.stat_names.index("divergent")
                diverged = int(self.stats[:, : self.done, column].sum())
            yield SamplerState(self.done, warm, float(np.mean(self.accept_rates())), diverged)

    def together(self, work, *each):
        """Let every chain work; a block that does not come to its end leaves no trace in them."""
        before = [{name: value.copy() for name, value in chain.items()} for chain in self.chains]
        try:
            with self.sampler.interruptible():
                run(work, self.chains, *each, n_jobs=self.n_jobs)
        except BaseException:
            self.chains = before
            raise

    def warm_up(self, chain, n):
        """n steps of one chain that are not kept."""
        with np.errstate(over="ignore", invalid="ignore"):  # of a chain that runs away
            self.sampler.advance(chain, None, None, n, 1, self.warmed, self.n_warmup)

    def advance(self, chain, rows, n):
        """n draws of one chain."""
        to = slice(self.done, self.done + n)
        out, stats = self.array[rows, to], self.stats[rows, to]
        if self.rows == 1:
            out, stats = out[0], stats[0]
        layout = self.sampler.layout
        if hasattr(self.sampler, "density") and len(layout.blocks):
            u = np.empty((*out.shape[:-1], layout.free))
            self.sampler.advance(chain, u, stats, n, self.thin, 0, 0)
            out[...] = layout.natural(u)
        else:
            self.sampler.advance(chain, out, stats, n, self.thin, 0, 0)
        refuse_runaway(layout.labels, out[..., -1, :])

    def refuse_improper(self):
        """Raise if a chain only ever climbed, or walked over a density that is the same everywhere.

        A chain that has arrived goes down as often as it goes up: that it never does in 50 moves
        has a probability below 1/50!.
        """
        if "lp" not in self.sampler.stat_names or self.done <= MOVES:
            return
        values = self.stats[:, : self.done, self.sampler.stat_names.index("lp")]
        change = np.diff(values, axis=1)
        climbing = (change >= 0.0).all(axis=1) & ((change > 0.0).sum(axis=1) >= MOVES)
        climbing |= values[:, -1] > UNRESOLVED
        even = not change.any() and self.accept_rates().min() == 1.0
        if climbing.any():
            row = int(np.argmax(climbing))
            what = f"log_density kept rising along a chain, to {values[row, -1]:.6g}"
            advice = "give the parameters proper priors, or warm up longer"
        elif even and getattr(self.sampler, "custom", None) is None:
            row, what = 0, f"log_density is {values[0, -1]:.6g} wherever the chains went"
            advice = "give the parameters proper priors"
        else:
            return
        path = self.array[row, : self.done]
        j = int(np.argmax(np.abs(path[-1] - path[0])))
        name = self.sampler.layout.labels[j]
        raise ValueError(
            f"{what}, and {name} went from {path[0, j]:.6g} to {path[-1, j]:.6g}: the density may "
            f"be improper (its integral infinite); {advice}. `draws_` holds the draws."
        )

    def accept_rates(self):
        """Share of accepted proposals per chain, after the warm-up."""
        counts = np.array([chain["counts"] for chain in self.chains])
        return counts[:, 0] / np.maximum(counts[:, 1], 1)

    def draws(self, before=None):
        """The draws so far, after those of an earlier call."""
        array = self.array[:, : self.done]
        stats = {
            name: self.stats[:, : self.done, k] for k, name in enumerate(self.sampler.stat_names)
        }
        if before is not None:
            array = np.concatenate([before.array, array], axis=1)
            stats = {k: np.concatenate([before.stats[k], v], axis=1) for k, v in stats.items()}
        return Draws(
            array,
            self.sampler.layout,
            self.accept_rates(),
            stats,
            type(self.sampler).__name__,
            self.thin,
            self.chains,
        )

    # --------------------------------------------------------------------------- on disk

    def settings(self):
        """What must agree for a file to be resumed."""
        return {
            "sampler": type(self.sampler).__name__,
            "names": self.sampler.layout.labels,
            "n_chains": len(self.chains),
            "n_draws": self.n_draws,
            "n_warmup": self.n_warmup,
            "thin": self.thin,
        }

    def save(self):
        """Write everything to the file, which is there whole or not at all."""
        state = {f"{k} {name}": v for k, c in enumerate(self.chains) for name, v in c.items()}
        part = self.path.with_name(self.path.name + ".part")
        with part.open("wb") as file:
            np.savez(
                file,
                settings=json.dumps(self.settings()),
                position=np.array([self.warmed, self.done]),
                draws=self.array[:, : self.done],
                stats=self.stats[:, : self.done],
                **state,
            )
        part.replace(self.path)
        self.saved = time.monotonic()

    def load(self):
        """Go on where the file ends."""
        if not zipfile.is_zipfile(self.path):
            raise ValueError(f"{self.path} is not a checkpoint; name another file, or remove it.")
        with np.load(self.path, allow_pickle=False) as file:
            found = json.loads(str(file["settings"]))
            wrong = [k for k, v in self.settings().items() if found.get(k) != v]
            if wrong:
                raise ValueError(
                    f"{self.path} holds another run: its {wrong[0]} is {found.get(wrong[0])!r}, "
                    f"not {self.settings()[wrong[0]]!r}; name another file, or remove this one."
                )
            missing = {f"{k} {name}" for k, c in enumerate(self.chains) for name in c} - {*file}
            if missing:
                raise ValueError(
                    f"{self.path} was written by another version, which kept no "
                    f"{min(missing).split()[1]!r}; name another file, or remove this one."
                )
            self.warmed, self.done = (int(n) for n in file["position"])
            self.array[:, : self.done] = file["draws"]
            self.stats[:, : self.done] = file["stats"]
            for k, chain in enumerate(self.chains):
                for name in chain:
                    chain[name] = file[f"{k} {name}"]
