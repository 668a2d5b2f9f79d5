r"""Ensemble sampling: walkers that stretch towards and away from each other

Each of W walkers x moves along the line through another one, c, drawn from the other half:      (1)

    y = c + z (x − c),    z of density ∝ 1/√z on [1/a, a]

and is accepted with probability min(1, z^{d−1} π(y) / π(x)): the power of z is the change of
volume of the map, and the density of z satisfies g(1/z) = z g(z), so detailed balance holds.
Stretching the space in any direction changes nothing: no scale has to be known.                 (2)

References
----------
Goodman, Weare: Ensemble samplers with affine invariance. Comm. App. Math. Comp. Sci. 5 (2010),
65–80. Foreman-Mackey, Hogg, Lang, Goodman: emcee: the MCMC hammer. PASP 125 (2013), 306–312.
"""

import math

import numpy as np

from mlreplica.core.compile.jit import kernel

from .density import evaluate, log_density
from .random import uniform
from .sampler import Sampler


@kernel(borrow=True)
def stretch_steps(target, words, walkers, trial, values, counts, a, out, stats, n, thin):
    """n sweeps over both halves of the walkers; 1 if a density is not a number (that of trial)."""
    W, d = walkers.shape
    half = W // 2
    for k in range(n):
        for _ in range(thin):
            for i in range(W):
                first, size = (half, W - half) if i < half else (0, half)
                c = walkers[first + min(int(size * uniform(words)), size - 1)]
                root = (math.sqrt(a) - 1.0 / math.sqrt(a)) * uniform(words) + 1.0 / math.sqrt(a)
                z = root * root
                for j in range(d):
                    trial[j] = c[j] + z * (walkers[i, j] - c[j])  # (1)
                value = log_density(target, trial)
                if math.isnan(value) or value == math.inf:
                    return 1
                log_ratio = (d - 1.0) * math.log(z) + value - values[i]
                if log_ratio >= 0.0 or uniform(words) < math.exp(log_ratio):  # (2)
                    for j in range(d):
                        walkers[i, j] = trial[j]
                    values[i] = value
                    counts[0] += 1
                counts[1] += 1
        if len(out) > 0:
            for i in range(W):
                for j in range(d):
                    out[k, i, j] = walkers[i, j]
                stats[k, i] = values[i]
    return 0


class Ensemble(Sampler):
    """The affine-invariant stretch move of several ensembles of walkers.

    Parameters
    ----------
    log_density : callable
        The logarithm of the density, up to a constant.
    n_walkers : int or None, default=None
        Walkers per ensemble; None means 2 d + 2, and at least 8.
    stretch : float, default=2.0
        a of (1).
    spread : float, default=0.1
        Standard deviation of the walkers around x0 at the start, on the unconstrained scale.
    parameters : dict of supports or None, default=None

    Notes
    -----
    `sample(n_chains=k)` runs k independent ensembles. `Draws.array` has a row per walker, k ·
    n_walkers in all; walkers of one ensemble depend on each other.

    Examples
    --------
    >>> from mlreplica.mcmc import Ensemble
    >>> draws = Ensemble(lambda x: -0.5 * x @ x).sample([0.0, 0.0], 1000, random_state=0)
    >>> draws.array.shape
    (32, 1000, 2)
    """

    def __init__(self, log_density, *, n_walkers=None, stretch=2.0, spread=0.1, parameters=None):
        self.log_density, self.n_walkers, self.stretch = log_density, n_walkers, stretch
        self.spread, self.parameters = spread, parameters
        self.density = self.make_density()
        if not 1.0 < stretch < math.inf:
            raise ValueError(f"stretch must be above 1, got {stretch!r}.")
        if not 0.0 < spread < math.inf:
            raise ValueError(f"spread must be positive, got {spread!r}.")

    @property
    def rows_per_chain(self):
        """Walkers in an ensemble."""
        d = self.layout.free
        W = max(8, 2 * d + 2) if self.n_walkers is None else int(self.n_walkers)
        if d + 2 > W:
            raise ValueError(
                f"n_walkers must be at least d + 2 = {d + 2}, got {W}: fewer never "
                "leave their plane."
            )
        return W

    def new_chain(self, u, words):
        """An ensemble around u, at points of finite density."""
        rng, target = np.random.default_rng([int(word) for word in words]), self.density.target()
        walkers, values = np.empty((self.rows_per_chain, len(u))), np.empty(self.rows_per_chain)
        for i in range(len(walkers)):
            scale = self.spread
            for _ in range(60):
                walkers[i] = u + scale * rng.standard_normal(len(u))
                values[i] = evaluate(target, walkers[i])
                if math.isfinite(values[i]):
                    break
                scale *= 0.7
        return {
            "words": words, "walkers": walkers, "trial": u.copy(), "values": values,
            "counts": np.zeros(2, dtype=np.int64),
        }  # fmt: skip

    def advance(self, chain, out, stats, n, thin, step, n_warmup):
        """n draws of an ensemble, or n steps of its warm-up."""
        warm, W = out is None, len(chain["walkers"])
        block = np.empty((0 if warm else n, W, self.layout.free))
        values = np.empty((0 if warm else n, W))
        target = self.density.target()
        if stretch_steps(target, *chain.values(), float(self.stretch), block, values, n, thin):
            self.refuse(chain)
        if not warm:
            out[...] = block.swapaxes(0, 1)
            stats[..., 0] = values.T
