r"""The no-U-turn sampler: trajectories that end when they turn back

A trajectory of Hamiltonian Monte Carlo doubles, forwards or backwards by a coin, until its ends
approach each other: with ρ the sum of its momenta q, those at the ends by half, and q₋, q₊ those
at its ends, until                                                                               (5)

    ρᵀ q₋ ≤ 0   or   ρᵀ q₊ ≤ 0

for the whole or for one of the halves, quarters … that doubling built it of, or until H is off by
more than 1000 or not a number (a divergence). One of its points, each weighted by e^−H, is the next
draw. Within a half that is built the draw is renewed by weight; the new half takes over with
probability                                                                                      (6)

    min(1, weight of the new half / weight of the old trajectory)

so that the draw moves far, and the target stays stationary. A half of 2^j points is built one
leapfrog at a time; (5) is checked with at most j momenta in memory: those at which a binary
subtree begins.

References
----------
Hoffman, Gelman: The no-U-turn sampler. JMLR 15 (2014), 1593–1623.
Betancourt: A conceptual introduction to Hamiltonian Monte Carlo (2017), arXiv:1701.02434.
Phan, Pradhan, Jankowiak: Composable effects for flexible and accelerated probabilistic programming
in NumPyro (2019), arXiv:1912.11554: the iterative form.
"""

import math

from mlreplica.core.compile.jit import kernel

from .hamiltonian import (
    DIVERGED,
    LOG_STEP,
    VALUE,
    HamiltonianSampler,
    adapt_step,
    draw_momentum,
    kinetic,
    leapfrog,
)
from .random import uniform

# Rows of the working memory: both ends, the proposals, sums of momenta; then what (5) remembers.
U0, Q0, H0, U1, Q1, H1, U, Q, H, RHO, RHO_HALF, HALF, HALF_H, SAVED = range(14)
MOST_DEPTH = 12


@kernel(part=True, borrow=True)
def log_add(a, b):
    """log(e^a + e^b)."""
    high, low = (a, b) if a > b else (b, a)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))


@kernel(part=True, borrow=True)
def copy_to(a, b):
    """b ← a."""
    for i in range(len(a)):
        b[i] = a[i]


@kernel(part=True, borrow=True)
def turns(rho, before, q_first, q_last):
    """Criterion (5) between these ends, if momenta sum to rho − before + q_first."""
    a, b = 0.0, 0.0
    for i in range(len(rho)):
        middle = rho[i] - before[i] + 0.5 * (q_first[i] - q_last[i])
        a += middle * q_first[i]
        b += middle * q_last[i]
    return a <= 0.0 or b <= 0.0


@kernel(part=True, borrow=True)
def subtree_turns(index, memory, q, rho):
    """(5) for every subtree that ends at leaf `index`; an even leaf is where some begin."""
    place, rest = SAVED, index >> 1
    while rest > 0:  # one place per bit set above the lowest
        place += 2 * (rest & 1)
        rest >>= 1
    if index & 1 == 0:
        copy_to(q, memory[place])
        copy_to(rho, memory[place + 1])
    while index & 1 == 1:
        if turns(rho, memory[place + 1], memory[place], q):
            return True
        index >>= 1
        place -= 2
    return False


@kernel(part=True, borrow=True)
def grow(target, words, memory, L, step, size, start, report):
    """Build a half of `size` leaves from (U, Q, H); its draw is in HALF; return its log-weight.

    report: [a point is +∞, turned, diverged, Σ of acceptance, leaves, value and energy of the draw,
             diverged as H is not a number]
    """
    u, q, h, rho = memory[U], memory[Q], memory[H], memory[RHO_HALF]
    for i in range(len(rho)):
        rho[i] = 0.0
    weight = -math.inf
    for index in range(size):
        value = leapfrog(target, u, q, h, L, step)
        if value == math.inf:
            report[0] = 1.0
            break
        energy = kinetic(q) - value
        change = start - energy
        report[4] += 1.0
        if not (change > -DIVERGED):  # NaN, too
            report[2], report[7] = 1.0, 1.0 if math.isnan(change) else 0.0
            break
        report[3] += 1.0 if change > 0.0 else math.exp(change)
        for i in range(len(rho)):
            rho[i] += q[i]
        weight = log_add(weight, change)
        if change >= weight or uniform(words) < math.exp(change - weight):
            copy_to(u, memory[HALF])
            copy_to(h, memory[HALF_H])
            report[5], report[6] = value, energy
        if subtree_turns(index, memory, q, rho):
            report[1] = 1.0
            break
    return weight


@kernel(part=True, borrow=True)
def nuts_step(target, words, u, h, numbers, L, memory, max_depth, report):
    """One trajectory; u, h and the value move to its draw. Return its depth."""
    step = math.exp(numbers[LOG_STEP])
    start = draw_momentum(words, memory[Q0]) - numbers[VALUE]
    for end in range(U0, U1 + 1, U1 - U0):
        copy_to(u, memory[end])
        copy_to(memory[Q0], memory[end + 1])
        copy_to(h, memory[end + 2])
    copy_to(memory[Q0], memory[RHO])
    for i in range(8):
        report[i] = 0.0
    energy, weight, depth = start, 0.0, 0
    while depth < max_depth:
        forwards = uniform(words) < 0.5
        end = U1 if forwards else U0
        for j in range(3):
            copy_to(memory[end + j], memory[U + j])
        half = grow(
            target, words, memory, L, step if forwards else -step, 1 << depth, start, report
        )
        if report[0] + report[1] + report[2] > 0.0:
            break
        for j in range(3):
            copy_to(memory[U + j], memory[end + j])
        depth += 1
        if half >= weight or uniform(words) < math.exp(half - weight):  # (6)
            copy_to(memory[HALF], u)
            copy_to(memory[HALF_H], h)
            numbers[VALUE], energy = report[5], report[6]
        weight = log_add(weight, half)
        for i in range(len(u)):
            memory[RHO, i] += memory[RHO_HALF, i]
        if turns(memory[RHO], memory[Q0], memory[Q0], memory[Q1]):
            break
    report[6] = energy
    return depth


@kernel(borrow=True)
def nuts_steps(
    target, words, u, trial, numbers, counts, L, memory, h, report, goal, max_depth, out, stats, n,
    thin,
):  # fmt: skip
    """n draws, every thin-th trajectory; 1 if the density is not a number (at trial)."""
    for k in range(n):
        for _ in range(thin):
            depth = nuts_step(target, words, u, h, numbers, L, memory, max_depth, report)
            if report[0] > 0.0:
                copy_to(memory[U], trial)
                return 1
            accept = report[3] / report[4]
            counts[0] += 1 if depth > 0 else 0
            counts[1] += 1
            if goal > 0.0:
                adapt_step(numbers, accept, goal)
        copy_to(u, out[k])
        stats[k, 0], stats[k, 1], stats[k, 2] = numbers[VALUE], report[6], report[2]
        stats[k, 3], stats[k, 4], stats[k, 5] = report[4], accept, math.exp(numbers[LOG_STEP])
        stats[k, 6], stats[k, 7] = depth, report[7]
    return 0


class NUTS(HamiltonianSampler):
    """The no-U-turn sampler: Hamiltonian Monte Carlo that chooses its own length.

    Parameters
    ----------
    log_density : callable
        The logarithm of the density; with `gradient=True` it returns (value, gradient).
    gradient : callable, True or None, default=None
        A function of the same arguments. None takes finite differences, with a warning.
    max_depth : int, default=10
        The most doublings; 2^max_depth leapfrog steps at most.
    step_size : float or None, default=None
        ε; None adapts it to `target_accept`.
    target_accept : float, default=0.8
        Raise it towards 1 if trajectories diverge.
    metric : {"diagonal", "dense"}, default="diagonal"
        The form of M⁻¹, which is learned during the warm-up.
    parameters : dict of supports or None, default=None

    Examples
    --------
    >>> from mlreplica.mcmc import NUTS
    >>> sampler = NUTS(lambda x: -0.5 * x @ x, gradient=lambda x: -x)
    >>> draws = sampler.sample([0.0, 0.0], 500, random_state=0)
    >>> draws.array.shape, int(draws.divergences.sum())
    ((4, 500, 2), 0)
    """

    stat_names = "lp", "energy", "divergent", "steps", "accept", "step_size", "depth", "undefined"

    def __init__(
        self,
        log_density,
        gradient=None,
        *,
        max_depth=10,
        step_size=None,
        target_accept=0.8,
        metric="diagonal",
        parameters=None,
    ):
        super().__init__(log_density, gradient, step_size, target_accept, metric, parameters)
        self.max_depth = max_depth
        if int(max_depth) != max_depth or not 1 <= max_depth <= MOST_DEPTH:
            raise ValueError(
                f"max_depth must be an integer of 1 … {MOST_DEPTH}, got {max_depth!r}."
            )

    @property
    def rows(self):
        """Vectors of working memory: the last ones hold the eight numbers of a report."""
        return SAVED + 2 * MOST_DEPTH + -(-8 // self.layout.free)

    def steps_of(self, given, target, goal, out, stats, n, thin):
        """The kernel."""
        memory = given[-2]
        report = memory[SAVED + 2 * MOST_DEPTH :].reshape(-1)
        return nuts_steps(target, *given, report, goal, int(self.max_depth), out, stats, n, thin)
