r"""The Ising model: spins on a grid that prefer to agree, renewed by Gibbs sampling

Spins s_i = ±1 on a grid whose edges are joined (a torus) have the probability                   (1)

    π(s) ∝ exp(β Σ_{i~j} s_i s_j + h Σ_i s_i)

over pairs of neighbours. Given its four neighbours, of sum S, a spin is +1 with probability     (2)

    1 / (1 + e^{−2(βS + h)})

which takes only five values. No two squares of one colour of a checkerboard are neighbours: given
the white ones, the black ones are independent, so a sweep renews first all of one colour, then the
other. Below the critical temperature, β > ½ log(1 + √2) ≈ 0.4407, the spins agree over any
distance; the mean magnetisation of a large grid is then (1 − sinh(2β)^−4)^{1/8} (Onsager, Yang).
                (3)

References
----------
Ising: Beitrag zur Theorie des Ferromagnetismus. Zeitschrift für Physik 31 (1925), 253–258.
Onsager: Crystal statistics I. Physical Review 65 (1944), 117–149.
Yang: The spontaneous magnetization of a two-dimensional Ising model. Physical Review 85 (1952).
"""

import functools
import math

import numpy as np

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.words import as_int, shift_right

from .parameters import Layout, real
from .random import next_word
from .sampler import Sampler

CRITICAL = 0.5 * math.log(1.0 + math.sqrt(2.0))  # β at which order appears


@kernel(borrow=True)
def ising_sweeps(spins, words, limits, beta, field, out, n, thin):
    """n records of (magnetisation, energy) per spin, every thin-th sweep over both colours."""
    rows, columns = spins.shape
    for k in range(n):
        for _ in range(thin):
            for colour in range(2):
                for i in range(rows):
                    row = spins[i]
                    up, down = (
                        spins[i - 1 if i > 0 else rows - 1],
                        spins[i + 1 if i + 1 < rows else 0],
                    )
                    for j in range((i + colour) & 1, columns, 2):
                        left = row[j - 1 if j > 0 else columns - 1]
                        right = row[j + 1 if j + 1 < columns else 0]
                        total = up[j] + down[j] + left + right
                        bits = as_int(shift_right(next_word(words), 11))
                        row[j] = 1 if bits < limits[(total + 4) >> 1] else -1  # (2)
        if len(out) > 0:
            ups, pairs = 0, 0
            for i in range(rows):
                down = spins[i + 1 if i + 1 < rows else 0]
                for j in range(columns):
                    ups += spins[i, j]
                    right = spins[i, j + 1 if j + 1 < columns else 0]
                    pairs += spins[i, j] * (down[j] + right)
            out[k, 0] = ups / (rows * columns)
            out[k, 1] = -(beta * pairs + field * ups) / (rows * columns)
    return 0


class Ising(Sampler):
    """The Ising model (1) on a torus, by Gibbs sampling of a checkerboard.

    Parameters
    ----------
    shape : tuple of two int, default=(64, 64)
        Rows and columns of the grid, both even.
    beta : float, default=0.44
        Coupling, the inverse temperature.
    field : float, default=0.0
        h, an outer field.
    start : {"random", "up"}, default="random"
        How the spins begin.

    Attributes
    ----------
    spins_ : ndarray of shape (n_chains, rows, columns)
        The spins after the last draw.

    Notes
    -----
    A draw is the pair (magnetisation, energy) per spin; the energy is −log π of (1) up to a
    constant.

    Examples
    --------
    >>> from mlreplica.mcmc import Ising
    >>> draws = Ising((32, 32), beta=0.6, start="up").sample(n_draws=500, random_state=0)
    >>> round(float(draws["magnetisation"].mean()), 1)
    1.0
    """

    stat_names = ()
    layout = None  # set by the constructor, not by a density
    chain_warmup = 200

    def __init__(self, shape=(64, 64), beta=0.44, *, field=0.0, start="random"):
        self.shape, self.beta, self.field, self.start = shape, beta, field, start
        rows, columns = (int(size) for size in shape)
        if rows < 2 or columns < 2 or rows % 2 or columns % 2:
            raise ValueError(f"shape must be two even numbers >= 2, got {shape!r}.")
        if not (math.isfinite(beta) and math.isfinite(field)):
            raise ValueError(f"beta and field must be finite, got {beta!r} and {field!r}.")
        if start not in ("random", "up"):
            raise ValueError(f'start must be "random" or "up", got {start!r}.')
        self.layout = Layout({"magnetisation": real(), "energy": real()})
        # (2) for S = −4, −2 … 4, as a number of 53 random bits
        chances = [1.0 / (1.0 + math.exp(-2.0 * (beta * S + field))) for S in range(-4, 5, 2)]
        self.limits = np.array([chance * 2.0**53 for chance in chances]).astype(np.int64)

    @classmethod
    def small_runs(cls):
        """Calls that run the kernel, for the warm-up."""
        yield functools.partial(cls((4, 4)).sample, None, 5, n_warmup=5, warn=False)

    def prepare(self, d):
        """There is nothing to compile."""

    def begin(self, x0, n_chains, random_state):
        """New grids; x0 may hold spins, (n_chains, rows, columns) or (rows, columns)."""
        from .random import seeds

        chains = []
        shape = tuple(int(size) for size in self.shape)
        given = None if x0 is None else np.asarray(x0)
        if given is not None and (
            given.shape not in (shape, (n_chains, *shape)) or not np.isin(given, (-1, 1)).all()
        ):
            raise ValueError(f"x0 must hold spins −1 and +1 in the shape {shape}.")
        for k, child in enumerate(seeds(random_state, n_chains)):
            rng = np.random.default_rng(child)
            spins = rng.integers(0, 2, shape) * 2 - 1 if self.start == "random" else np.ones(shape)
            if given is not None:
                spins = given if given.ndim == 2 else given[k]
            chains.append(
                {
                    "spins": np.ascontiguousarray(spins, dtype=np.int8),
                    "words": rng.integers(0, 2**64, 4, dtype=np.uint64),
                    "counts": np.ones(2, dtype=np.int64),
                }
            )
        return chains

    def advance(self, chain, out, stats, n, thin, step, n_warmup):
        """n draws of a grid, or n sweeps of its warm-up."""
        out = np.empty((0, 2)) if out is None else out
        ising_sweeps(
            chain["spins"],
            chain["words"],
            self.limits,
            float(self.beta),
            float(self.field),
            out,
            n,
            thin,
        )

    def sample(self, *args, **options):
        """Draw (magnetisation, energy) per spin; see `Sampler.sample`.

        Parameters
        ----------
        *args, **options
            As of the other samplers; x0 may hold spins.
        """
        draws = super().sample(*args, **options)
        self.spins_ = np.stack([chain["spins"] for chain in draws.chains])
        return draws
