r"""Metropolis–Hastings: propose, compare, and toss a coin

The chain at x proposes y from q(y | x) and goes there with probability                          (1)

    α(x, y) = min(1, π(y) q(x | y) / (π(x) q(y | x)));    otherwise it stays, and x counts again.

So π(x) q(y | x) α(x, y) = min(π(x) q(y | x), π(y) q(x | y)) is symmetric in x and y: detailed
balance, and π is stationary. Only the ratio of densities counts: no constant of normalisation is
needed.

    random walk     y = x + s L z, z ~ N(0, I): q cancels, and α = min(1, π(y) / π(x))           (2)
    independence    y = m + L z, whatever x: log q = −½ ‖z‖² + a constant                        (3)

On a target of d independent numbers the best s is about 2.38/√d, where a quarter of the proposals
is accepted; during the warm-up s is steered to that rate, and L to the covariance of the draws.

References
----------
Metropolis, Rosenbluth, Rosenbluth, Teller, Teller: Equation of state calculations by fast computing
machines. J. Chem. Phys. 21 (1953), 1087–1092.
Hastings: Monte Carlo sampling methods using Markov chains. Biometrika 57 (1970), 97–109.
Roberts, Gelman, Gilks: Weak convergence and optimal scaling of random walk Metropolis algorithms.
Ann. Appl. Probab. 7 (1997), 110–120.
"""

import math

import numpy as np

from mlreplica.core.compile.jit import kernel

from .adaptation import learn, new_window, window_ends
from .density import evaluate, log_density
from .random import normal, uniform
from .sampler import Sampler
from .user_proposal import UserProposal

VALUE, LOG_SCALE, TIME, WARM, LENGTH = range(5)  # what `numbers` of a chain holds


@kernel(part=True, borrow=True)
def propose(words, base, L, scale, z, y):
    """y ← base + s L z with new normal numbers z; return ‖z‖²."""
    d, total = len(y), 0.0
    for j in range(d):
        z[j] = normal(words)
        total += z[j] * z[j]
    if L.shape[0] == d:
        for i in range(d):
            s = 0.0
            for j in range(i + 1):
                s += L[i, j] * z[j]
            y[i] = base[i] + scale * s
    else:
        for i in range(d):
            y[i] = base[i] + scale * L[0, i] * z[i]
    return total


@kernel(borrow=True)
def metropolis_steps(
    target, words, x, y, z, center, numbers, counts, L, goal, free, out, stats, n, thin
):
    """n draws of (1), every thin-th step; 1 if a density is not a number (it is that of y)."""
    x_value, d = numbers[VALUE], len(x)
    scale = math.exp(numbers[LOG_SCALE])
    for k in range(n):
        for _ in range(thin):
            length = propose(words, center if free else x, L, scale, z, y)
            y_value = log_density(target, y)
            if math.isnan(y_value) or y_value == math.inf:
                return 1
            log_ratio = y_value - x_value  # (2)
            if free:
                log_ratio += 0.5 * (length - numbers[LENGTH])  # (3): log q(x) − log q(y)
            chance = 1.0 if log_ratio >= 0.0 else math.exp(log_ratio)
            if chance >= 1.0 or uniform(words) < chance:  # (1)
                for j in range(d):
                    x[j] = y[j]
                x_value, numbers[LENGTH] = y_value, length
                counts[0] += 1
            counts[1] += 1
            if goal > 0.0:  # equation (1) of adaptation.py
                numbers[TIME] += 1.0
                numbers[LOG_SCALE] += numbers[TIME] ** -0.6 * (chance - goal)
                scale = math.exp(numbers[LOG_SCALE])
        for j in range(d):
            out[k, j] = x[j]
        stats[k, 0] = x_value
    numbers[VALUE] = x_value
    return 0


class MetropolisHastings(Sampler):
    """Metropolis–Hastings (1) on a density that a Python function returns the logarithm of.

    Parameters
    ----------
    log_density : callable
        The logarithm of the density, up to a constant: a function of one vector, or of the names in
        `parameters`. It is compiled if it can be, with the arrays that it uses.
    scale : float, array-like or None, default=None
        Of the proposals: one standard deviation for all, one per coordinate, or a covariance
        matrix. None learns a covariance during the warm-up.
    proposal : {"random-walk", "independence"} or callable, default="random-walk"
        A callable `proposal(x, rng)` returns y; `rng` is a `numpy.random.Generator`.
    log_proposal : callable or None, default=None
        `log_proposal(y, x)` is log q(y | x) of a callable proposal; None if q is symmetric.
    mean : array-like of shape (d,) or None, default=None
        The centre of independent proposals, on the unconstrained scale; None means 0.
    adapt : bool or None, default=None
        Whether the scale is steered during the warm-up; None if none was given.
    target_accept : float or None, default=None
        The acceptance rate it is steered to; None means 0.44 in one dimension, else 0.234.
    parameters : dict of supports or None, default=None
        Names, shapes and supports: `{"mu": real(), "tau": positive()}`.

    Examples
    --------
    >>> from mlreplica.mcmc import MetropolisHastings
    >>> def log_density(x):
    ...     return -0.5 * (x[0] ** 2 + (x[1] - x[0]) ** 2)
    >>> draws = MetropolisHastings(log_density).sample([0.0, 0.0], 5000, random_state=0)
    >>> draws.array.shape, bool(abs(draws.array.mean()) < 0.1)
    ((4, 5000, 2), True)
    """

    def __init__(
        self,
        log_density,
        scale=None,
        *,
        proposal="random-walk",
        log_proposal=None,
        mean=None,
        adapt=None,
        target_accept=None,
        parameters=None,
    ):
        self.log_density, self.scale, self.proposal = log_density, scale, proposal
        self.log_proposal, self.mean, self.adapt = log_proposal, mean, adapt
        self.target_accept, self.parameters = target_accept, parameters
        self.density = self.make_density()
        self.independent = proposal == "independence"
        self.custom = UserProposal(self) if callable(proposal) else None
        if not callable(proposal) and proposal not in ("random-walk", "independence"):
            raise ValueError(
                'proposal must be "random-walk", "independence" or a function of (x, rng), '
                f"got {proposal!r}."
            )
        if target_accept is not None and not 0.0 < target_accept < 1.0:
            raise ValueError(f"target_accept must lie in (0, 1), got {target_accept!r}.")
        for name, value, fits, need in (
            ("log_proposal", log_proposal, self.custom is not None, "a proposal of your own"),
            ("mean", mean, self.independent, 'proposal="independence"'),
            ("adapt", adapt or None, not (self.independent or self.custom), "a random walk"),
        ):
            if value is not None and not fits:
                raise ValueError(f"{name} goes with {need}; proposal is {proposal!r}.")

    @property
    def adapts(self):
        """Whether the warm-up changes the proposals."""
        asked = self.scale is None if self.adapt is None else bool(self.adapt)
        return asked and not self.independent and self.custom is None

    def default_warmup(self):
        """Longer in many dimensions, whose covariance takes longer to learn."""
        return max(self.chain_warmup, 300 * self.layout.free) if self.adapts else self.chain_warmup

    def factor(self):
        """L as (d, d), or its diagonal as (1, d)."""
        d = self.layout.free
        if self.scale is None:
            return np.eye(d)
        scale = np.asarray(self.scale, dtype=np.float64)
        if scale.ndim == 2:
            if scale.shape != (d, d) or not np.allclose(scale, scale.T):
                raise ValueError(f"scale must be a symmetric ({d}, {d}) covariance matrix.")
            try:
                return np.linalg.cholesky(scale)
            except np.linalg.LinAlgError as error:
                raise ValueError("scale is not positive definite.") from error
        if scale.shape not in ((), (d,)) or not (np.isfinite(scale) & (scale > 0.0)).all():
            raise ValueError(f"scale must be positive, one number or {d}, got {self.scale!r}.")
        return np.array(np.broadcast_to(scale, (1, d)))

    def prepare(self, d):
        """Compile for d numbers, and factor the scale once for all chains."""
        super().prepare(d)
        self.first_factor = None if self.custom else self.factor()

    def continued(self, draws):
        """The chains of earlier draws, copied."""
        chains = super().continued(draws)
        if self.custom is not None:
            self.custom.prepare(chains[0]["u"])
        return chains

    def new_chain(self, u, words):
        """A chain at u."""
        if self.custom is not None:
            return self.custom.new_chain(u, words)
        L, d = self.first_factor.copy(), len(u)
        center = np.zeros(d) if self.mean is None else np.array(self.mean, dtype=np.float64)
        if center.shape != (d,):
            raise ValueError(f"mean must have the shape ({d},), got {center.shape}.")
        numbers = np.zeros(5)
        numbers[WARM] = 1.0
        numbers[VALUE] = evaluate(self.density.target(), u)
        if self.scale is None and not self.independent:
            numbers[LOG_SCALE] = math.log(2.38 / math.sqrt(d))
        if self.independent:
            away = np.linalg.solve(L, u - center) if len(L) == d else (u - center) / L[0]
            numbers[LENGTH] = away @ away
        full = self.scale is None or np.ndim(self.scale) == 2
        return {
            "u": u, "trial": u.copy(), "z": np.zeros(d), "center": center, "numbers": numbers,
            "counts": np.zeros(2, dtype=np.int64), "L": L, "words": words, **new_window(d, full),
        }  # fmt: skip

    def advance(self, chain, out, stats, n, thin, step, n_warmup):
        """n draws of a chain, or n steps of its warm-up."""
        if self.custom is not None:
            self.custom.advance(chain, out, stats, n, thin)
        elif out is None:
            self.learn(chain, n, step, n_warmup)
        else:
            if chain["numbers"][WARM]:
                chain["counts"][:], chain["numbers"][WARM] = 0, 0.0
            self.walk(chain, 0.0, out, stats, n, thin)

    def learn(self, chain, n, step, n_warmup):
        """n steps of the warm-up of a chain."""
        d, numbers, ends = len(chain["u"]), chain["numbers"], ()
        goal = float(self.target_accept or (0.44 if d == 1 else 0.234)) if self.adapts else 0.0
        if self.adapts and self.scale is None:
            ends = window_ends(n_warmup, last=max(100, n_warmup // 5))

        def walk(draws):
            self.walk(chain, goal, draws, np.empty((len(draws), 1)), len(draws), 1)

        def renew(L):
            chain["L"][:] = L
            numbers[LOG_SCALE], numbers[TIME] = math.log(2.38 / math.sqrt(d)), 0.0

        learn(chain, ends, step, n, walk, renew)

    def walk(self, chain, goal, out, stats, n, thin):
        """n draws of a chain; a goal steers the scale."""
        names = "words", "u", "trial", "z", "center", "numbers", "counts", "L"
        bad = metropolis_steps(
            self.density.target(), *(chain[name] for name in names), goal, self.independent,
            out, stats, n, thin,
        )  # fmt: skip
        if bad:
            self.refuse(chain)
