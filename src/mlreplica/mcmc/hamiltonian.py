r"""Hamiltonian Monte Carlo: let a particle roll, and propose where it ends

A point u gets a momentum p ~ N(0, M), so that (u, p) has the density e^−H with the energy       (1)

    H(u, p) = −log π(u) + ½ pᵀ M⁻¹ p

Newton's equations keep H, volumes and, with p reversed, the direction of time. So does the
leapfrog, but for an error of H of order ε²:                                                     (2)

    p ← p + ½ε ∇log π(u);   u ← u + ε M⁻¹ p;   p ← p + ½ε ∇log π(u)

After L of them the end is accepted with probability min(1, e^{H(start) − H(end)}).              (3)

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

from .adaptation import add_draw, take_covariance, window_ends
from .density import evaluate_gradient, log_density_and_gradient
from .random import normal, uniform
from .sampler import Sampler

# What `numbers` of a chain holds.
VALUE, LOG_STEP, LOG_STEP_MEAN, ERROR_SUM, TIME, CENTER, COUNT, STEP = range(8)
DIVERGED = 1000.0  # an error of H beyond which a trajectory has left the level set
GAMMA, T0, KAPPA = 0.05, 10.0, 0.75


@kernel(part=True, borrow=True)
def velocity(p, L, v):
    """v ← M⁻¹ p with M⁻¹ = LLᵀ, or diagonal if L is (1, d)."""
    d = len(p)
    if L.shape[0] != d or d == 1:
        for i in range(d):
            v[i] = L[0, i] * L[0, i] * p[i]
        return
    for j in range(d):
        s = 0.0
        for i in range(j, d):
            s += L[i, j] * p[i]
        v[j] = s
    for i in range(d - 1, -1, -1):
        s = 0.0
        for j in range(i + 1):
            s += L[i, j] * v[j]
        v[i] = s


@kernel(part=True, borrow=True)
def draw_momentum(words, L, p):
    """p ~ N(0, M): the solution of Lᵀ p = z."""
    d = len(p)
    for i in range(d):
        p[i] = normal(words)
    if L.shape[0] != d or d == 1:
        for i in range(d):
            p[i] /= L[0, i]
        return
    for i in range(d - 1, -1, -1):
        s = p[i]
        for j in range(i + 1, d):
            s -= L[j, i] * p[j]
        p[i] = s / L[i, i]


@kernel(part=True, borrow=True)
def kinetic(p, v):
    """½ pᵀ M⁻¹ p."""
    s = 0.0
    for i in range(len(p)):
        s += p[i] * v[i]
    return 0.5 * s


@kernel(part=True, borrow=True)
def leapfrog(target, u, p, g, v, L, step):
    """One step (2) in place; g is the gradient at u, before and after. Return log π(u)."""
    d = len(u)
    for i in range(d):
        p[i] += 0.5 * step * g[i]
    velocity(p, L, v)
    for i in range(d):
        u[i] += step * v[i]
    value = log_density_and_gradient(target, u, g)
    for i in range(d):
        p[i] += 0.5 * step * g[i]
    velocity(p, L, v)
    return value


@kernel(part=True, borrow=True)
def restart_step(numbers, step):
    """Begin dual averaging (4) at a step."""
    numbers[LOG_STEP] = math.log(step)
    numbers[LOG_STEP_MEAN], numbers[ERROR_SUM], numbers[TIME] = 0.0, 0.0, 0.0
    numbers[CENTER] = math.log(10.0 * step)


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


@kernel(part=True, borrow=True)
def reasonable_step(target, words, u, value, g, L, p, v, u_new, g_new, step):
    """A step that is accepted about half of the time: double or halve until that changes."""
    d, direction = len(u), 0
    for _ in range(60):
        draw_momentum(words, L, p)
        velocity(p, L, v)
        start = kinetic(p, v) - value
        for i in range(d):
            u_new[i], g_new[i] = u[i], g[i]
        found = leapfrog(target, u_new, p, g_new, v, L, step)
        change = start - (kinetic(p, v) - found)
        grow = 1 if change > math.log(0.8) else -1  # false for NaN
        if direction == 0:
            direction = grow
        if grow != direction:
            break
        step *= 2.0 if direction == 1 else 0.5
    return step


@kernel(part=True, borrow=True)
def adapt_metric(u, numbers, L, mean, square, ends):
    """Take the covariance of a window at its end; a step for it is then to be found."""
    numbers[STEP] += 1.0
    inside = len(ends) > 0 and numbers[STEP] <= ends[-1] and numbers[STEP] > ends[0] // 2
    if inside:
        numbers[COUNT] = add_draw(u, mean, square, numbers[COUNT])
    for end in ends:
        if numbers[STEP] == end:
            if numbers[COUNT] > 3.0 and take_covariance(square, numbers[COUNT], L):
                numbers[LOG_STEP] = math.nan
            numbers[COUNT] = 0.0
            mean[:] = 0.0
            square[:] = 0.0


@kernel(part=True, borrow=True)
def first_step(target, words, u, numbers, L, p, v, g, u_new, g_new):
    """Start dual averaging at a reasonable step."""
    step = reasonable_step(target, words, u, numbers[VALUE], g, L, p, v, u_new, g_new, 1.0)
    restart_step(numbers, step)


@kernel(borrow=True)
def hmc_steps(
    target, words, u, trial, numbers, counts, L, mean, square, memory, g, ends, goal, n_steps,
    out, stats, n, thin,
):  # fmt: skip
    """n draws of (3), every thin-th trajectory of n_steps leapfrogs of about the same length."""
    d = len(u)
    p, v, g_new = memory[0], memory[1], memory[2]
    for k in range(n):
        for _ in range(thin):
            if math.isnan(numbers[LOG_STEP]):
                first_step(target, words, u, numbers, L, p, v, g, trial, g_new)
            step = math.exp(numbers[LOG_STEP]) * (0.9 + 0.2 * uniform(words))
            draw_momentum(words, L, p)
            velocity(p, L, v)
            start = kinetic(p, v) - numbers[VALUE]
            for i in range(d):
                trial[i], g_new[i] = u[i], g[i]
            value, energy, done, diverged = numbers[VALUE], start, 0, 0.0
            while done < n_steps:
                value = leapfrog(target, trial, p, g_new, v, L, step)
                done += 1
                if value == math.inf:
                    return 1
                energy = kinetic(p, v) - value
                if not (energy - start < DIVERGED):
                    diverged = 1.0
                    break
            change = start - energy
            chance = 0.0 if math.isnan(change) or diverged > 0.0 else min(1.0, math.exp(change))
            if uniform(words) < chance:  # (3)
                for i in range(d):
                    u[i], g[i] = trial[i], g_new[i]
                numbers[VALUE] = value
                counts[0] += 1
            else:
                energy = start  # of the draw, which stays
            counts[1] += 1
            if goal > 0.0:
                adapt_step(numbers, chance, goal)
                adapt_metric(u, numbers, L, mean, square, ends)
        if len(out) > 0:
            for j in range(d):
                out[k, j] = u[j]
            stats[k, 0], stats[k, 1], stats[k, 2] = numbers[VALUE], energy, diverged
            stats[k, 3], stats[k, 4], stats[k, 5] = done, chance, math.exp(numbers[LOG_STEP])
    return 0


class HamiltonianSampler(Sampler):
    """What HMC and NUTS share: chains with a gradient, a step and a metric."""

    rows = 3  # vectors of working memory

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
        d = len(u)
        shape = (d, d) if self.metric == "dense" else (1, d)
        L = np.eye(d) if self.metric == "dense" else np.ones((1, d))
        g, numbers = np.zeros(d), np.zeros(8)
        target = self.density.target()
        numbers[VALUE] = evaluate_gradient(target, u, g)
        numbers[LOG_STEP] = math.nan if self.step_size is None else math.log(self.step_size)
        return {
            "words": words, "u": u, "trial": u.copy(), "numbers": numbers,
            "counts": np.zeros(2, dtype=np.int64), "L": L, "mean": np.zeros(d),
            "square": np.zeros(shape), "memory": np.zeros((self.rows, d)), "g": g,
        }  # fmt: skip

    def advance(self, chain, out, stats, n, thin, step, n_warmup):
        """n draws of a chain, or n steps of its warm-up."""
        warm, numbers = out is None, chain["numbers"]
        ends = window_ends(n_warmup) if warm else np.zeros(0, dtype=np.int64)
        goal = self.target_accept if warm and self.step_size is None else 0.0
        if not warm and numbers[STEP] >= 0:  # the warm-up is over
            chain["counts"][:] = 0
            if self.step_size is None and numbers[TIME] > 0:
                numbers[LOG_STEP] = numbers[LOG_STEP_MEAN]
            numbers[STEP] = -1.0
        out = np.empty((0, self.layout.size)) if warm else out
        stats = np.empty((0, len(self.stat_names))) if warm else stats
        names = "words", "u", "trial", "numbers", "counts", "L", "mean", "square", "memory", "g"
        given = [chain[name] for name in names]
        if self.steps_of(given, self.density.target(), ends, goal, out, stats, n, thin):
            self.refuse(chain)


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

    stat_names = "lp", "energy", "divergent", "steps", "accept", "step_size"

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

    def steps_of(self, given, target, ends, goal, out, stats, n, thin):
        """The kernel."""
        return hmc_steps(target, *given, ends, goal, int(self.n_steps), out, stats, n, thin)
