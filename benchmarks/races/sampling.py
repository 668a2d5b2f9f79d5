"""Sampling: seconds until the worst dimension has a number of effective draws

Before it is timed, each contestant measures how many draws it needs for that; a call then makes so
many. Its warm-up is over and its density is compiled by then: the first result of a new process is
timed apart. Loops of fixed length (Gibbs, Ising) are raced against the same loop written by hand.
"""

import numpy as np

from benchmarks.data import Data
from benchmarks.race import Race

GOAL, CHAINS = 1_000.0, 4
RHO = 0.9
COVARIANCE = np.array([[1.0, RHO], [RHO, 1.0]])


def worst(array):
    """The effective size of the worst dimension of (chains, draws, d)."""
    from mlreplica.mcmc.diagnostics import ess_mean

    return min(ess_mean(array[:, :, j]) for j in range(array.shape[2]))


def missing_size(data, array):
    """How many times too few effective draws there are."""
    return GOAL / worst(np.asarray(array))


def until_goal(draw, first=2000, tries=3):
    """The call that makes as many draws per chain as the goal needs.

    One try is for libraries that compile anew for every number of draws.
    """
    n = first
    for _ in range(tries):
        share = GOAL / worst(np.asarray(draw(n)))
        n = int(n * min(share, 20.0) * 1.05) + 10
        if 0.8 < share < 1.25:
            break
    return lambda: np.asarray(draw(n))


# ------------------------------------------------------------------------------- densities


def plane():
    """A normal density of two numbers with correlation 0.9."""
    return Data(np.zeros((1, 2)), np.zeros(1), more=(np.zeros(2), np.linalg.cholesky(COVARIANCE)))


def regression(n=1000, p=10, kind="normal"):
    """Bayesian logistic regression; `more`: the mode and the factor of the covariance there."""

    def make():
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, p))
        if kind == "correlated":
            X = X @ np.linalg.cholesky(0.8 ** np.abs(np.subtract.outer(range(p), range(p)))).T
        y = np.where(X @ rng.normal(size=p) + rng.logistic(size=n) > 0, 1.0, -1.0)
        w = np.zeros(p)
        for _ in range(30):  # Newton's method
            s = 1 / (1 + np.exp(y * (X @ w)))
            H = (X * (s * (1 - s))[:, None]).T @ X + np.eye(p)
            w = w + np.linalg.solve(H, X.T @ (y * s) - w)
        return Data(X, y, more=(w, np.linalg.cholesky(np.linalg.inv(H))))

    return make


def ours_density(data):
    if data.X.shape[0] == 1:
        return lambda x: -0.5 * (x[0] ** 2 - 2 * RHO * x[0] * x[1] + x[1] ** 2) / (1 - RHO**2)
    X, y = data.X, data.y
    return lambda w: -np.log1p(np.exp(-y * (X @ w))).sum() - 0.5 * w @ w


def jax_density(data):
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    if data.X.shape[0] == 1:
        A = jnp.linalg.inv(COVARIANCE)
        return lambda x: -0.5 * x @ A @ x
    X, y = jnp.asarray(data.X), jnp.asarray(data.y)
    return lambda w: -jnp.logaddexp(0.0, -y * (X @ w)).sum() - 0.5 * w @ w


def rows_density(data):
    """For emcee and zeus: a row per walker."""
    if data.X.shape[0] == 1:
        return lambda x: -0.5 * np.einsum("ij,jk,ik->i", x, np.linalg.inv(COVARIANCE), x)
    X, y = data.X, data.y
    return lambda W: -np.logaddexp(0.0, -(W @ X.T) * y).sum(1) - 0.5 * (W**2).sum(1)


# ----------------------------------------------------------------------------- contestants


def ensemble(data):
    from mlreplica.mcmc import Ensemble

    w, _ = data.more
    W = max(32, 2 * len(w))
    sampler = Ensemble(ours_density(data), n_walkers=W)
    start = sampler.sample(w, 1, n_chains=1, n_warmup=500, random_state=0, warn=False)
    return until_goal(lambda n: sampler.sample(start, n, warn=False).array[:, 1:], 500)


def walk(density):
    def prepare(data):
        from mlreplica.mcmc import MetropolisHastings

        w, L = data.more
        sampler = MetropolisHastings(density(data), scale=2.38**2 / len(w) * L @ L.T)
        options = {"n_chains": CHAINS, "n_warmup": 0, "random_state": 0, "warn": False}
        return until_goal(lambda n: sampler.sample(w, n, **options).array)

    return prepare


def ready_density(data):
    from mlreplica.mcmc import logistic_log_density

    return logistic_log_density(data.X, data.y, gradient=False)


metropolis, metropolis_ready = walk(ours_density), walk(ready_density)


def emcee_stretch(data):
    import emcee

    w, L = data.more
    d, W = len(w), max(32, 2 * len(w))
    start = w + np.random.default_rng(0).normal(size=(W, d)) @ L.T

    def draw(n):
        sampler = emcee.EnsembleSampler(W, d, rows_density(data), vectorize=True)
        sampler.run_mcmc(start, n)
        return sampler.get_chain().swapaxes(0, 1)

    return until_goal(draw, 500)


def zeus_slice(data):
    import logging

    import zeus

    w, L = data.more
    d, W = len(w), max(16, 2 * len(w))
    start = w + np.random.default_rng(0).normal(size=(W, d)) @ L.T

    def draw(n):
        sampler = zeus.EnsembleSampler(
            W, d, rows_density(data), vectorize=True, verbose=False, light_mode=False
        )
        logging.disable(logging.INFO)
        sampler.run_mcmc(start, n, progress=False)
        return sampler.get_chain().swapaxes(0, 1)

    return until_goal(draw, 300, tries=2)


def blackjax_walk(data):
    import blackjax
    import jax
    import jax.numpy as jnp

    f, (w, L) = jax_density(data), data.more
    sigma = jnp.asarray(2.38 / np.sqrt(len(w)) * L)
    step = blackjax.additive_step_random_walk.normal_random_walk(f, sigma)
    compiled = {}

    def chain(key, n):
        state = step.init(jnp.asarray(w))

        def one(state, key):
            state, _ = step.step(key, state)
            return state, state.position

        return jax.lax.scan(one, state, jax.random.split(key, n))[1]

    def draw(n):
        if n not in compiled:
            compiled[n] = jax.jit(jax.vmap(lambda key: chain(key, n)))
        keys = jax.random.split(jax.random.key(0), CHAINS)
        return np.asarray(compiled[n](keys).block_until_ready())

    call = until_goal(draw, tries=1)
    call()
    return call


def numba_walk(data):
    """The loop that one would write for this density alone."""
    import numba

    w, L = data.more
    X, y, d = data.X, data.y, len(data.more[0])
    s = 2.38 / np.sqrt(d) * L

    if len(X) == 1:

        @numba.njit
        def density(x):
            return -0.5 * (x[0] ** 2 - 2 * RHO * x[0] * x[1] + x[1] ** 2) / (1 - RHO**2)
    else:

        @numba.njit(fastmath=True)
        def density(x):
            return -np.log1p(np.exp(-y * (X @ x))).sum() - 0.5 * x @ x

    @numba.njit(parallel=True)
    def chains(n, m):
        out = np.empty((m, n, d))
        for c in numba.prange(m):
            np.random.seed(c)  # noqa: NPY002  what Numba compiles
            x, z = w.copy(), np.empty(d)
            value = density(x)
            for t in range(n):
                for j in range(d):
                    z[j] = np.random.normal()  # noqa: NPY002
                new = x + s @ z
                found = density(new)
                if np.log(np.random.random()) < found - value:  # noqa: NPY002
                    x, value = new, found
                out[c, t] = x
        return out

    return until_goal(lambda n: chains(n, CHAINS))


def nuts(data):
    from mlreplica.mcmc import NUTS, logistic_log_density

    w, _ = data.more
    sampler = NUTS(logistic_log_density(data.X, data.y), gradient=True)
    start = sampler.sample(w, 1, n_chains=CHAINS, n_warmup=500, random_state=0, warn=False)
    return until_goal(lambda n: sampler.sample(start, n, warn=False).array[:, 1:], 500)


def nuts_plain(data):
    """The density and its gradient as one writes them in NumPy."""
    from mlreplica.mcmc import NUTS

    X, y, (w, _) = data.X, data.y, data.more

    def value_and_gradient(w):
        e = np.exp(-y * (X @ w))
        return -np.log1p(e).sum() - 0.5 * w @ w, X.T @ (y * e / (1.0 + e)) - w

    sampler = NUTS(value_and_gradient, gradient=True)
    start = sampler.sample(w, 1, n_chains=CHAINS, n_warmup=500, random_state=0, warn=False)
    return until_goal(lambda n: sampler.sample(start, n, warn=False).array[:, 1:], 500)


def blackjax_nuts(data):
    import blackjax
    import jax
    import jax.numpy as jnp

    f, (w, _) = jax_density(data), data.more
    warm = blackjax.window_adaptation(blackjax.nuts, f)
    (state, settings), _ = warm.run(jax.random.key(1), jnp.asarray(w), num_steps=500)
    step = blackjax.nuts(f, **settings)
    compiled = {}

    def draw(n):
        def chain(key):
            def one(state, key):
                state, _ = step.step(key, state)
                return state, state.position

            return jax.lax.scan(one, state, jax.random.split(key, n))[1]

        if n not in compiled:
            compiled[n] = jax.jit(jax.vmap(chain))
        keys = jax.random.split(jax.random.key(0), CHAINS)
        return np.asarray(compiled[n](keys).block_until_ready())

    call = until_goal(draw, 500, tries=1)
    call()
    return call


def numpyro_nuts(data):
    import numpyro

    numpyro.set_host_device_count(2)
    import jax
    from numpyro.infer import MCMC, NUTS

    f, (w, _) = jax_density(data), data.more
    runs = {}

    def draw(n):
        if n not in runs:
            run = MCMC(
                NUTS(potential_fn=lambda w: -f(w)),
                num_warmup=500, num_samples=n, num_chains=CHAINS,
                chain_method="vectorized", progress_bar=False,
            )  # fmt: skip
            run.warmup(jax.random.key(0), init_params=np.tile(w, (CHAINS, 1)))
            runs[n] = run
        run = runs[n]
        run.post_warmup_state = run.last_state
        run.run(jax.random.key(1))
        return np.asarray(run.get_samples(group_by_chain=True))

    call = until_goal(draw, 500, tries=1)
    call()
    return call


def nutpie_nuts(data):
    """nutpie asks a Python function, in NumPy. It cannot go on: its warm-up is in the time."""
    import nutpie
    from nutpie.compiled_pyfunc import from_pyfunc

    X, y, (w, _) = data.X, data.y, data.more

    def value_and_gradient(w):
        e = np.exp(-y * (X @ w))
        return -np.log1p(e).sum() - 0.5 * w @ w, X.T @ (y * e / (1.0 + e)) - w

    model = from_pyfunc(
        len(w), lambda: value_and_gradient, lambda *seeds: lambda w: {"w": w},
        [np.dtype(np.float64)], [(len(w),)], ["w"],
    )  # fmt: skip

    def draw(n):
        found = nutpie.sample(
            model, draws=n, tune=300, chains=CHAINS, seed=0, progress_bar=False, save_warmup=False
        )
        return found.posterior["w"].values

    return until_goal(draw, 500)


# --------------------------------------------------------------------- loops of fixed length

SWEEPS = 500_000


def gibbs(data):
    from mlreplica.mcmc import Gibbs

    rho, spread = RHO, (1 - RHO**2) ** 0.5
    sampler = Gibbs(
        [
            lambda x, rng: rng.normal(rho * x[1], spread),
            lambda x, rng: rng.normal(rho * x[0], spread),
        ]
    )
    return lambda: (
        sampler.sample([0.0, 0.0], SWEEPS, n_chains=1, n_warmup=0, random_state=0, warn=False).array
    )


def gibbs_by_hand(generator):
    def prepare(data):
        import numba

        rho, spread = RHO, (1 - RHO**2) ** 0.5

        @numba.njit
        def loop(n, rng):
            out, a, b = np.empty((1, n, 2)), 0.0, 0.0
            for t in range(n):
                a = rng.normal(rho * b, spread)
                b = rng.normal(rho * a, spread)
                out[0, t, 0], out[0, t, 1] = a, b
            return out

        @numba.njit
        def legacy(n):
            out, a, b = np.empty((1, n, 2)), 0.0, 0.0
            for t in range(n):
                a = np.random.normal(rho * b, spread)  # noqa: NPY002
                b = np.random.normal(rho * a, spread)  # noqa: NPY002
                out[0, t, 0], out[0, t, 1] = a, b
            return out

        if generator:
            return lambda: loop(SWEEPS, np.random.default_rng(0))
        return lambda: legacy(SWEEPS)

    return prepare


def wrong_correlation(data, array):
    return 1.0 + abs(np.corrcoef(array[0].T)[0, 1] - RHO)


def ising(data):
    from mlreplica.mcmc import Ising

    model = Ising(data.X.shape, 0.5, start="up")
    options = {"n_chains": 1, "n_warmup": 0, "thin": 100, "random_state": 0, "warn": False}
    return lambda: model.sample(None, 2, **options).array[0, -1, 0]


def ising_by_hand(data):
    import numba

    @numba.njit
    def sweeps(s, n, beta):
        rows, columns = s.shape
        chances = 1.0 / (1.0 + np.exp(-2.0 * beta * np.arange(-4, 5)))
        for _ in range(n):
            for colour in range(2):
                for i in range(rows):
                    for j in range((i + colour) % 2, columns, 2):
                        total = s[i - 1, j] + s[(i + 1) % rows, j] + s[i, j - 1]
                        total += s[i, (j + 1) % columns]
                        up = np.random.random() < chances[total + 4]  # noqa: NPY002
                        s[i, j] = 1 if up else -1
        return s.mean()

    return lambda: sweeps(np.ones(data.X.shape, dtype=np.int8), 200, 0.5)


def torus(size):
    return lambda: Data(np.ones((size, size)), np.zeros(size))


def wrong_magnetisation(data, m):
    return 1.0 + abs(m - (1 - np.sinh(1.0) ** -4) ** 0.125)


WALKS = {
    "mlreplica": metropolis,
    "mlreplica, stretch moves": ensemble,
    "emcee": emcee_stretch,
    "zeus-mcmc": zeus_slice,
    "blackjax": blackjax_walk,
}
# On logistic regression emcee needs some 9 s for a call, zeus 13 s: too long for turns.
LOGISTIC_WALKS = {
    "mlreplica": metropolis_ready,
    "mlreplica, density in NumPy": metropolis,
    "blackjax": blackjax_walk,
}
EFFECTIVE = {"quality": missing_size, "quality_name": "goal / ESS", "rtol": 0.35}

RACES = [
    Race(
        name="metropolis-normal",
        what="1,000 effective draws without a gradient",
        shapes={"2 numbers, correlation 0.9": plane},
        contestants=WALKS,
        **EFFECTIVE,
    ),
    Race(
        name="metropolis-by-hand",
        what="1,000 effective draws, beside a loop written for this density alone",
        shapes={"2 numbers, correlation 0.9": plane, "1,000 × 10": regression()},
        contestants={"mlreplica": metropolis, "numba, loop by hand": numba_walk},
        **EFFECTIVE,
    ),
    Race(
        name="metropolis-logistic",
        what="1,000 effective draws of logistic regression without a gradient",
        shapes={
            "1,000 × 10": regression(),
            "300 × 5, correlated": regression(300, 5, "correlated"),
        },
        contestants=LOGISTIC_WALKS,
        **EFFECTIVE,
    ),
    Race(
        name="nuts-logistic",
        what="1,000 effective draws of logistic regression with a gradient",
        shapes={
            "1,000 × 10": regression(),
            "300 × 5, correlated": regression(300, 5, "correlated"),
        },
        contestants={
            "mlreplica": nuts,
            "mlreplica, density in NumPy": nuts_plain,
            "blackjax": blackjax_nuts,
            "numpyro": numpyro_nuts,
            "nutpie": nutpie_nuts,
        },
        **EFFECTIVE,
    ),
    Race(
        name="gibbs-normal",
        what="500,000 Gibbs sweeps",
        shapes={"2 numbers, correlation 0.9": plane},
        contestants={
            "mlreplica": gibbs,
            "numba, loop by hand": gibbs_by_hand(True),
            "numba, loop by hand, old generator": gibbs_by_hand(False),
        },
        quality=wrong_correlation,
        quality_name="error of the correlation",
        rtol=0.02,
    ),
    Race(
        name="ising",
        what="200 sweeps over an Ising model",
        shapes={"256 × 256": torus(256), "64 × 64": torus(64)},
        contestants={"mlreplica": ising, "numba, loop by hand": ising_by_hand},
        quality=wrong_magnetisation,
        quality_name="error of the magnetisation",
        rtol=0.05,
    ),
]
