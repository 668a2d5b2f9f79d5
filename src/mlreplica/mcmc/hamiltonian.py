r"""Hamiltonian Monte Carlo: let a particle roll, and propose where it ends

A point u gets a momentum p ~ N(0, M), so that (u, p) has the density e^−H with the energy       (1)

    H(u, p) = −log π(u) + ½ pᵀ M⁻¹ p

Newton's equations keep H, volumes and, with p reversed, the direction of time. So does the
leapfrog, but for an error of H of order ε²:                                                     (2)

    p ← p + ½ε ∇log π(u);   u ← u + ε M⁻¹ p;   p ← p + ½ε ∇log π(u)

After some of them the end is accepted with probability min(1, e^{H(start) − H(end)}).           (3)
Where H is not a number or off by more than 1000, the trajectory diverged, and is rejected.

With M⁻¹ = LLᵀ all is simpler for q = Lᵀp ~ N(0, I), whose kinetic energy is ½‖q‖²: (2) becomes
q ← q + ½ε Lᵀ∇log π(u), u ← u + ε L q, and this is what the kernels do with h = Lᵀ∇log π(u).

During the warm-up the step ε follows the acceptance rate by dual averaging: with x = log ε,     (4)

    x_t = m − √t / γ · 1/(t + t₀) Σ (δ − α_s),     ε = exp(Σ weights t^−κ of x_t)

and M⁻¹ is the covariance of the draws of a window (`adaptation.py`), or its diagonal.

References
----------
Duane, Kennedy, Pendleton, Roweth: Hybrid Monte Carlo. Physics Letters B 195 (1987), 216–222.
Neal: MCMC using Hamiltonian dynamics. Handbook of Markov Chain Monte Carlo (2011), chapter 5.
Hoffman, Gelman: The no-U-turn sampler. JMLR 15 (2014), 1593–1623.
"""

import math

import numpy as np

from mlreplica.core.compile.jit import kernel

from .adaptation import learn, new_window, window_ends
from .density import evaluate_gradient, log_density_and_gradient
from .random import normal, uniform
from .sampler import Sampler

# What `numbers` of a chain holds.
VALUE, LOG_STEP, LOG_STEP_MEAN, ERROR_SUM, TIME, CENTER, WARM = range(7)
DIVERGED = 1000.0  # an error of H beyond which a trajectory has left the level set
GAMMA, T0, KAPPA = 0.05, 10.0, 0.75


@kernel(part=True, borrow=True)
def draw_momentum(words, q):
    """q ~ N(0, I); return its kinetic energy."""
    for i in range(len(q)):
        q[i] = normal(words)
    return kinetic(q)


@kernel(part=True, borrow=True)
def kinetic(q):
    """½ ‖q‖²."""
    s = 0.0
    for i in range(len(q)):
        s += q[i] * q[i]
    return 0.5 * s


@kernel(part=True, borrow=True)
def leapfrog(target, u, q, h, L, step):
    """One step (2) in place; h is Lᵀ times the gradient at u, before and after. Return log π(u)."""
    d = len(u)
    full = L.shape[0] == d
    for i in range(d):
        q[i] += 0.5 * step * h[i]
    for i in range(d):
        s = L[0, i] * q[i]
        if full:
            s = 0.0
            for j in range(i + 1):
                s += L[i, j] * q[j]
        u[i] += step * s
    value = log_density_and_gradient(target, u, h)
    for j in range(d):
        s = L[0, j] * h[j]
        if full:
            s = 0.0
            for i in range(j, d):
                s += L[i, j] * h[i]
        h[j] = s
        q[j] += 0.5 * step * s
    return value


@kernel(part=True, borrow=True)
def adapt_step(numbers, accept, goal):
    """One update of dual averaging (4)."""
    numbers[TIME] += 1.0
    t = numbers[TIME]
    share = 1.0 / (t + T0)
    numbers[ERROR_SUM] = (1.0 - share) * numbers[ERROR_SUM] + share * (goal - accept)
    numbers[LOG_STEP] = numbers[CENTER] - math.sqrt(t) / GAMMA * numbers[ERROR_SUM]
    weight = t**-KAPPA
    numbers[LOG_STEP_MEAN] = weight * numbers[LOG_STEP] + (1.0 - weight) * numbers[LOG_STEP_MEAN]


@kernel(borrow=True)
def hmc_steps(
    target, words, u, trial, numbers, counts, L, memory, h, goal, n_steps, out, stats, n, thin
):
    """n draws of (3), every thin-th trajectory of n_steps leapfrogs of about the same length."""
    d = len(u)
    q, h_new = memory[0], memory[1]
    for k in range(n):
        for _ in range(thin):
            step = math.exp(numbers[LOG_STEP]) * (0.9 + 0.2 * uniform(words))
            start = draw_momentum(words, q) - numbers[VALUE]
            for i in range(d):
                trial[i], h_new[i] = u[i], h[i]
            value, energy, done, diverged, undefined = numbers[VALUE], start, 0, 0.0, 0.0
            while done < n_steps:
                value = leapfrog(target, trial, q, h_new, L, step)
                done += 1
                if value == math.inf:
                    return 1
                energy = kinetic(q) - value
                if not (energy - start < DIVERGED):
                    diverged, undefined = 1.0, 1.0 if math.isnan(energy) else 0.0
                    break
            change = start - energy
            chance = 0.0 if math.isnan(change) or diverged > 0.0 else min(1.0, math.exp(change))
            if uniform(words) < chance:  # (3)
                for i in range(d):
                    u[i], h[i] = trial[i], h_new[i]
                numbers[VALUE] = value
                counts[0] += 1
            else:
                energy = start  # of the draw, which stays
            counts[1] += 1
            if goal > 0.0:
                adapt_step(numbers, chance, goal)
        for j in range(d):
            out[k, j] = u[j]
        stats[k, 0], stats[k, 1], stats[k, 2] = numbers[VALUE], energy, diverged
        stats[k, 3], stats[k, 4], stats[k, 5] = done, chance, math.exp(numbers[LOG_STEP])
        stats[k, 6] = undefined
    return 0


class HamiltonianSampler(Sampler):
    """What HMC and NUTS share: chains with a gradient, a step and a metric."""

    rows = 2  # vectors of working memory

    def __init__(self, log_density, gradient, step_size, target_accept, metric, parameters):
        self.log_density, self.gradient, self.parameters = log_density, gradient, parameters
        self.step_size, self.target_accept, self.metric = step_size, target_accept, metric
        if metric not in ("diagonal", "dense"):
            raise ValueError(f'metric must be "diagonal" or "dense", got {metric!r}.')
        if not 0.0 < target_accept < 1.0:
            raise ValueError(f"target_accept must lie in (0, 1), got {target_accept!r}.")
        if step_size is not None and not 0.0 < step_size < math.inf:
            raise ValueError(f"step_size must be positive, got {step_size!r}.")
        self.density = self.make_density(with_gradient=True)

    def new_chain(self, u, words):
        """A chain at u."""
        d, full = len(u), self.metric == "dense"
        numbers, h = np.zeros(7), np.zeros(d)
        numbers[VALUE], numbers[WARM] = evaluate_gradient(self.density.target(), u, h), 1.0
        chain = {
            "words": words, "u": u, "trial": u.copy(), "numbers": numbers,
            "counts": np.zeros(2, dtype=np.int64), "L": np.eye(d) if full else np.ones((1, d)),
            "memory": np.zeros((self.rows, d)), "h": h, **new_window(d, full),
        }  # fmt: skip
        self.begin_steps(chain)
        return chain

    def begin_steps(self, chain):
        """Start dual averaging (4) at a step that is accepted about half of the time."""
        numbers, step = chain["numbers"], self.step_size
        if step is None:
            step = reasonable_step(self.density.target(), chain)
        numbers[LOG_STEP], numbers[CENTER] = math.log(step), math.log(10.0 * step)
        numbers[LOG_STEP_MEAN] = numbers[ERROR_SUM] = numbers[TIME] = 0.0

    def advance(self, chain, out, stats, n, thin, step, n_warmup):
        """n draws of a chain, or n steps of its warm-up."""
        numbers = chain["numbers"]
        if out is None:
            self.learn(chain, n, step, n_warmup)
            return
        if numbers[WARM]:
            chain["counts"][:], numbers[WARM] = 0, 0.0
            if numbers[TIME] > 0:
                numbers[LOG_STEP] = numbers[LOG_STEP_MEAN]
        self.walk(chain, 0.0, out, stats, n, thin)

    def learn(self, chain, n, step, n_warmup):
        """n steps of the warm-up of a chain."""
        goal, ends = 0.0, ()
        if self.step_size is None:
            goal, ends = self.target_accept, window_ends(n_warmup)

        def walk(draws):
            stats = np.empty((len(draws), len(self.stat_names)))
            self.walk(chain, goal, draws, stats, len(draws), 1)

        def renew(L):
            evaluate_gradient(self.density.target(), chain["u"], chain["h"])
            chain["L"][:], chain["h"][:] = L, pull(L, chain["h"])
            self.begin_steps(chain)

        learn(chain, ends, step, n, walk, renew)

    def walk(self, chain, goal, out, stats, n, thin):
        """n draws of a chain; a goal steers the step."""
        names = "words", "u", "trial", "numbers", "counts", "L", "memory", "h"
        given = [chain[name] for name in names]
        if self.steps_of(given, self.density.target(), goal, out, stats, n, thin):
            self.refuse(chain)


def pull(L, g):
    """h = Lᵀg; without BLAS, whose rounding depends on its threads."""
    return (L * g[:, None]).sum(axis=0) if len(L) == len(g) else L[0] * g


def reasonable_step(target, chain):
    """A step of about half acceptance: double or halve a step of 1 until that changes."""
    u, h, L, energy = chain["u"], chain["h"], chain["L"], -chain["numbers"][VALUE]
    rng, step, direction, g = np.random.default_rng(chain["words"]), 1.0, 0, np.empty(len(u))
    for _ in range(60):
        q = rng.standard_normal(len(u))
        start, q = 0.5 * (q * q).sum() + energy, q + 0.5 * step * h
        moved = (L * q).sum(axis=1) if len(L) == len(u) else L[0] * q
        value = evaluate_gradient(target, u + step * moved, g)
        with np.errstate(all="ignore"):  # far away nothing need be finite
            q = q + 0.5 * step * pull(L, g)
            change = start - 0.5 * (q * q).sum() + value
        grow = 1 if change > math.log(0.8) else -1  # false for NaN
        if direction not in (0, grow):
            break
        step, direction = step * 2.0**grow, grow
    return step


class HMC(HamiltonianSampler):
    """Hamiltonian Monte Carlo with trajectories of a fixed number of steps.

    Parameters
    ----------
    log_density : callable
        The logarithm of the density; with `gradient=True` it returns (value, gradient).
    gradient : callable, True or None, default=None
        A function of the same arguments. None takes finite differences, with a warning.
    n_steps : int, default=16
        Leapfrog steps (2) per trajectory.
    step_size : float or None, default=None
        ε; None adapts it to `target_accept`.
    target_accept : float, default=0.8
    metric : {"diagonal", "dense"}, default="diagonal"
        The form of M⁻¹, which is learned during the warm-up.
    parameters : dict of supports or None, default=None

    Examples
    --------
    >>> from mlreplica.mcmc import HMC
    >>> sampler = HMC(lambda x: -0.5 * x @ x, gradient=lambda x: -x)
    >>> sampler.sample([0.0, 0.0], 1000, random_state=0).array.shape
    (4, 1000, 2)
    """

    stat_names = "lp", "energy", "divergent", "steps", "accept", "step_size", "undefined"

    def __init__(
        self,
        log_density,
        gradient=None,
        *,
        n_steps=16,
        step_size=None,
        target_accept=0.8,
        metric="diagonal",
        parameters=None,
    ):
        super().__init__(log_density, gradient, step_size, target_accept, metric, parameters)
        self.n_steps = n_steps
        if int(n_steps) != n_steps or n_steps < 1:
            raise ValueError(f"n_steps must be an integer >= 1, got {n_steps!r}.")

    def steps_of(self, given, target, goal, out, stats, n, thin):
        """The kernel."""
        return hmc_steps(target, *given, goal, int(self.n_steps), out, stats, n, thin)
