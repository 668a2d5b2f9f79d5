"""Do the samplers sample the right thing? One exact step, Geweke's test, calibration, known targets

Every test is run on broken samplers as well (a missing Hastings factor, a wrong Jacobian, a wrong
conditional) and must find them out. Thresholds are p-values of 1e-4 over some dozens of tests.
"""

import math

import numpy as np
import pytest
from scipy import stats

from mlreplica.mcmc import (
    HMC,
    NUTS,
    Ensemble,
    Gibbs,
    Ising,
    MetropolisHastings,
    MetropolisStep,
    Slice,
    positive,
    real,
)

slow = pytest.mark.slow  # the repetitions that take some minutes in all
LEVEL = 1e-4
QUIET = {"warn": False}

# ------------------------------------------------------------------ a target that can be drawn from


def two_normals(x):
    """0.6 N(−1, 0.5²) + 0.4 N(1.5, 1), and a second number N(x₀, 1)."""
    a = math.log(0.6 / 0.5) - 0.5 * ((x[0] + 1.0) / 0.5) ** 2
    b = math.log(0.4) - 0.5 * (x[0] - 1.5) ** 2
    high = max(a, b)
    return high + math.log(math.exp(a - high) + math.exp(b - high)) - 0.5 * (x[1] - x[0]) ** 2


def two_normals_gradient(x):
    a = 0.6 / 0.5 * math.exp(-0.5 * ((x[0] + 1.0) / 0.5) ** 2)
    b = 0.4 * math.exp(-0.5 * (x[0] - 1.5) ** 2)
    share = a / (a + b + 1e-300)
    slope = -share * (x[0] + 1.0) / 0.25 - (1.0 - share) * (x[0] - 1.5)
    return np.array([slope + (x[1] - x[0]), x[0] - x[1]])


def draw_two_normals(rng, n):
    first = rng.random(n) < 0.6
    x = np.where(first, rng.normal(-1, 0.5, n), rng.normal(1.5, 1.0, n))
    return np.column_stack([x, rng.normal(x, 1.0)])


def to_log(x, rng):
    """A proposal that is not symmetric: steps in proportion to |x|, and a shift."""
    a, b = 0.3 + 0.5 * abs(x[0]), 0.3 + 0.5 * abs(x[1])
    return np.array([x[0] + a * rng.standard_normal(), x[1] + b * rng.standard_normal()])


def to_log_density(y, x):
    s = 0.3 + 0.5 * np.abs(x)
    return -np.log(s).sum() - 0.5 * (((y - x) / s) ** 2).sum()


def renew_second(x, rng):
    return rng.normal(x[0], 1.0)


def renew_second_wrongly(x, rng):
    return rng.normal(x[0], 0.8)


SAMPLERS = {
    "scalar": lambda: MetropolisHastings(two_normals, scale=0.8),
    "diagonal": lambda: MetropolisHastings(two_normals, scale=[0.5, 1.0]),
    "full": lambda: MetropolisHastings(two_normals, scale=[[1.0, 0.5], [0.5, 1.0]]),
    "independence": lambda: MetropolisHastings(
        two_normals, scale=[[2.5, 1.0], [1.0, 4.0]], mean=[0.2, 0.0], proposal="independence"
    ),
    "own proposal": lambda: MetropolisHastings(
        two_normals, proposal=to_log, log_proposal=to_log_density
    ),
    "slice": lambda: Slice(two_normals, width=1.5),
    "hmc": lambda: HMC(two_normals, two_normals_gradient, n_steps=5, step_size=0.4),
    "nuts": lambda: NUTS(two_normals, two_normals_gradient, step_size=0.5),
    "nuts dense": lambda: NUTS(two_normals, two_normals_gradient, step_size=0.5, metric="dense"),
    "gibbs": lambda: Gibbs([MetropolisStep(two_normals, 0.9), renew_second]),
}
REVERSIBLE = set(SAMPLERS) - {"slice", "gibbs"}  # those two renew coordinates in a fixed order
BROKEN = {
    "no Hastings factor": lambda: MetropolisHastings(two_normals, proposal=to_log),
    "wrong conditional": lambda: Gibbs([MetropolisStep(two_normals, 0.9), renew_second_wrongly]),
    "wrong gradient's density": lambda: HMC(
        lambda x: 0.8 * two_normals(x), lambda x: 0.8 * two_normals_gradient(x), step_size=0.4
    ),
}


def one_step(sampler, seed, n=3000):
    """x ~ π, and x' after one step from each: π is stationary if and only if x' ~ π."""
    x = draw_two_normals(np.random.default_rng(seed), n)
    draws = sampler.sample(x, 1, n_chains=n, n_warmup=0, random_state=seed, **QUIET)
    return x, draws.array[:, 0]


def p_values(y, seed):
    """Of both coordinates and their difference against fresh exact draws."""
    z = draw_two_normals(np.random.default_rng(seed + 10_000), 40_000)
    return [stats.ks_2samp(f(y), f(z)).pvalue for f in (first, second, apart)]


def first(x):
    return x[:, 0]


def second(x):
    return x[:, 1]


def apart(x):
    return x[:, 1] - x[:, 0]


def flow_p_value(x, y):
    """Bowker's test: as many chains go from region i to region j as from j to i."""
    edges = [-1.2, -0.5, 0.5, 1.5]
    i, j = np.digitize(x[:, 0], edges), np.digitize(y[:, 0], edges)
    C = np.zeros((5, 5))
    np.add.at(C, (i, j), 1)
    a, b = C[np.triu_indices(5, 1)], C.T[np.triu_indices(5, 1)]
    used = a + b > 0
    return stats.chi2.sf((((a - b) ** 2)[used] / (a + b)[used]).sum(), used.sum())


@pytest.mark.parametrize("name", SAMPLERS)
def test_one_step_from_the_target_stays_in_the_target(name):
    x, y = one_step(SAMPLERS[name](), seed=1)
    assert min(p_values(y, 1)) > LEVEL
    assert (x != y).any(axis=1).mean() > 0.2  # it does move
    if name in REVERSIBLE:
        assert flow_p_value(x, y) > LEVEL


@slow
@pytest.mark.parametrize("name", BROKEN)
def test_broken_samplers_do_not_stay(name):
    sampler = BROKEN[name]()
    x = draw_two_normals(np.random.default_rng(2), 4000)
    draws = sampler.sample(x, 1, n_chains=4000, n_warmup=8, random_state=2, **QUIET)
    assert min(p_values(draws.array[:, 0], 2)) < LEVEL


def test_walkers_of_an_ensemble_stay_in_the_target():
    rng, kept = np.random.default_rng(3), []
    sampler = Ensemble(two_normals, n_walkers=8)
    for seed in range(120):  # ensembles of exact draws, which are set by hand
        chains = sampler.begin([0.0, 0.0], 4, seed)
        for chain in chains:
            chain["walkers"][:] = draw_two_normals(rng, 8)
            chain["values"][:] = [two_normals(x) for x in chain["walkers"]]
            out, lp = np.empty((8, 1, 2)), np.empty((8, 1, 1))
            sampler.advance(chain, out, lp, 1, 3, 0, 0)
            kept.append(out[:, 0])
    assert min(p_values(np.concatenate(kept), 3)) > LEVEL


# ------------------------------------------------ supports: one step from a gamma distribution


def gamma_density(sigma):
    return 2.0 * np.log(sigma) - 2.0 * sigma


def gamma_without_jacobian(sigma):
    return gamma_density(sigma) - np.log(sigma)  # log σ = u takes back what (2) adds


BOUNDED = {
    "metropolis": lambda f: MetropolisHastings(f, scale=0.8, parameters={"sigma": positive()}),
    "slice": lambda f: Slice(f, 1.5, parameters={"sigma": positive()}),
    "nuts": lambda f: NUTS(f, gamma_slope, step_size=0.5, parameters={"sigma": positive()}),
}


def gamma_slope(sigma):
    return 2.0 / sigma - 2.0


def p_value_of_gamma(sampler, n=4000, steps=4):
    x = np.random.default_rng(5).gamma(3.0, 0.5, n)
    draws = sampler.sample(x[:, None], 1, n_chains=n, n_warmup=0, thin=steps, **QUIET)
    return stats.kstest(draws.array[:, 0, 0], stats.gamma(3.0, scale=0.5).cdf).pvalue


@pytest.mark.parametrize("name", ["metropolis", pytest.param("slice", marks=slow), "nuts"])
def test_steps_on_a_support_stay_in_the_target_and_find_a_missing_jacobian(name):
    assert p_value_of_gamma(BOUNDED[name](gamma_density)) > LEVEL
    if name != "nuts":  # whose gradient would be found out before
        assert p_value_of_gamma(BOUNDED[name](gamma_without_jacobian)) < LEVEL


# ---------------------------------------------------------------- detailed balance by enumeration

PI = np.array([0.1, 0.25, 0.05, 0.4, 0.2])
Q = np.array(
    [
        [0.2, 0.5, 0.3, 0.0, 0.0],
        [0.3, 0.1, 0.3, 0.3, 0.0],
        [0.2, 0.2, 0.2, 0.2, 0.2],
        [0.0, 0.3, 0.2, 0.1, 0.4],
        [0.0, 0.0, 0.6, 0.3, 0.1],
    ]
)


def discrete(x):
    return np.log(PI[int(x[0])])


def jump(x, rng):
    left, j = rng.random(), 0
    while j < 4 and left > Q[int(x[0]), j]:
        left -= Q[int(x[0]), j]
        j += 1
    return np.array([float(j)])


def log_jump(y, x):
    return np.log(Q[int(x[0]), int(y[0])])


def exact_kernel(hastings=True):
    """The matrix of transition probabilities by (1)."""
    P = np.zeros((5, 5))
    for i in range(5):
        for j in range(5):
            if i != j and Q[i, j] > 0:
                ratio = PI[j] / PI[i] * (Q[j, i] / Q[i, j] if hastings else 1.0)
                P[i, j] = Q[i, j] * min(1.0, ratio)
        P[i, i] = 1.0 - P[i].sum()
    return P


def flows(P):
    return PI[:, None] * P


def test_detailed_balance_holds_with_the_hastings_factor_and_not_without():
    np.testing.assert_allclose(flows(exact_kernel()), flows(exact_kernel()).T, atol=1e-15)
    np.testing.assert_allclose(PI @ exact_kernel(), PI, atol=1e-15)
    broken = flows(exact_kernel(hastings=False))
    assert np.abs(broken - broken.T).max() > 0.01


@pytest.mark.parametrize("hastings", [True, False])
def test_the_sampler_makes_the_transitions_of_the_enumerated_kernel(hastings):
    sampler = MetropolisHastings(
        discrete, proposal=jump, log_proposal=log_jump if hastings else None
    )
    draws = sampler.sample([0.0], 100_000, n_chains=2, n_warmup=100, random_state=0, **QUIET)
    states = draws.array[:, :, 0].astype(int)
    C = np.zeros((5, 5))
    for chain in states:
        np.add.at(C, (chain[:-1], chain[1:]), 1)
    expected = exact_kernel(hastings) * C.sum(axis=1, keepdims=True)
    used = expected > 0
    assert not C[~used].any()
    statistic = ((C - expected)[used] ** 2 / expected[used]).sum()
    assert stats.chi2.sf(statistic, used.sum() - 5) > LEVEL
    shares = np.bincount(states.ravel(), minlength=5) / states.size
    assert (np.abs(shares - PI).max() < 0.01) == hastings


def test_ising_on_a_torus_of_two_by_two_is_the_enumerated_one():
    beta, field = 0.3, 0.1
    grids = np.array(list(np.ndindex(*[2] * 4))).reshape(-1, 2, 2) * 2 - 1
    pairs = [(g * (np.roll(g, 1, 0) + np.roll(g, 1, 1))).sum() for g in grids]
    weights = np.exp(beta * np.array(pairs) + field * grids.sum(axis=(1, 2)))
    up = grids.sum(axis=(1, 2))
    exact = [weights[up == m].sum() / weights.sum() for m in (-4, -2, 0, 2, 4)]
    sampler = Ising((2, 2), beta, field=field)
    draws = sampler.sample(n_draws=4000, n_chains=8, random_state=0, thin=4, **QUIET)
    m = np.rint(4 * draws["magnetisation"]).astype(int).ravel()
    found = [(m == k).mean() for k in (-4, -2, 0, 2, 4)]
    np.testing.assert_allclose(found, exact, atol=0.015)


# ------------------------------------------------- three models: Geweke's test and calibration


class NormalMean:
    """μ ~ N(0, 2²), y ~ N(μ, 1)."""

    n = 5

    def prior(self, rng):
        return np.array([2.0 * rng.standard_normal()])

    def data(self, theta, rng):
        return theta[0] + rng.standard_normal(self.n)

    def density(self, y):
        def log_density(mu):
            return -0.125 * mu * mu - 0.5 * ((y - mu) ** 2).sum()

        return log_density, {"mu": real()}

    def conditionals(self, y):
        def draw_mu(rng):
            v = 1.0 / (0.25 + len(y))
            return rng.normal(v * y.sum(), np.sqrt(v))

        return {"mu": draw_mu}


class NormalScale:
    """σ ~ Gamma(3, rate 2), y ~ N(0, σ²): needs the Jacobian of a positive number."""

    n = 6
    slip = 0.0  # 1 leaves the Jacobian out

    def prior(self, rng):
        return np.array([rng.gamma(3.0) / 2.0])

    def data(self, theta, rng):
        return theta[0] * rng.standard_normal(self.n)

    def density(self, y):
        slip = self.slip

        def log_density(sigma):
            prior = 2.0 * np.log(sigma) - 2.0 * sigma
            likelihood = -len(y) * np.log(sigma) - 0.5 * (y**2).sum() / sigma**2
            return prior + likelihood - slip * np.log(sigma)

        return log_density, {"sigma": positive()}

    def conditionals(self, y):
        def log_density(x):
            if x[0] <= 0.0:
                return -np.inf
            prior = 2.0 * np.log(x[0]) - 2.0 * x[0]
            return prior - len(y) * np.log(x[0]) - 0.5 * (y**2).sum() / x[0] ** 2

        return {"sigma": MetropolisStep(log_density, 0.7)}


class Line:
    """w ~ N(0, I), y ~ N(w₀ + w₁ x, 1)."""

    x = np.array([-1.0, -0.5, 0.0, 0.7, 1.5])
    wrong = 1.0  # another number makes a conditional wrong

    def prior(self, rng):
        return rng.standard_normal(2)

    def data(self, theta, rng):
        return theta[0] + theta[1] * self.x + rng.standard_normal(5)

    def density(self, y):
        x = self.x

        def log_density(w):
            return -0.5 * (w**2).sum() - 0.5 * ((y - w[0] - w[1] * x) ** 2).sum()

        return log_density, {"w": real(2)}

    def conditionals(self, y):
        x, wrong = self.x, self.wrong

        def draw_w(w, rng):
            v = 1.0 / (1.0 + len(x))
            offset = rng.normal(v * (y - w[1] * x).sum(), np.sqrt(v))
            v = 1.0 / (1.0 + (x**2).sum()) * wrong
            return np.array([offset, rng.normal(v * (x * (y - offset)).sum(), np.sqrt(v))])

        return {"w": draw_w}


class NormalScaleWithoutJacobian(NormalScale):
    slip = 1.0


class LineWithWrongConditional(Line):
    wrong = 0.6


def scaled(x, rng):
    """A proposal that is not symmetric: it multiplies every number, and adds to it."""
    y = np.empty(len(x))
    for j in range(len(x)):
        y[j] = x[j] + (0.2 + 0.4 * abs(x[j])) * rng.standard_normal()
    return y


def log_scaled(y, x):
    s = 0.2 + 0.4 * np.abs(x)
    return -np.log(s).sum() - 0.5 * (((y - x) / s) ** 2).sum()


def stretched(x, rng):
    """A proposal for positive numbers: it multiplies them."""
    y = np.empty(len(x))
    for j in range(len(x)):
        y[j] = x[j] * np.exp(0.5 * rng.standard_normal())
    return y


def log_stretched(y, x):
    return -np.log(y).sum() - 2.0 * (np.log(y / x) ** 2).sum()


def of_vector(f, blocks):
    """The density of one vector: −∞ outside of the support, in place of a Jacobian."""
    (support,) = blocks.values()
    low = support.low

    def of_number(x):
        return f(x[0]) if x[0] > low else -np.inf

    return f if support.shape else of_number


def own(hastings):
    def make(f, blocks, model, y):
        g, (support,) = of_vector(f, blocks), blocks.values()
        move, log_move = (stretched, log_stretched) if support.low == 0 else (scaled, log_scaled)
        return MetropolisHastings(g, proposal=move, log_proposal=log_move if hastings else None)

    return make


MODELS = {"mean": NormalMean(), "scale": NormalScale(), "line": Line()}
BY_DENSITY = {
    "metropolis": lambda f, blocks: MetropolisHastings(f, scale=0.7, parameters=blocks),
    "slice": lambda f, blocks: Slice(f, 2.0, parameters=blocks),
    "ensemble": lambda f, blocks: Ensemble(f, parameters=blocks),
    "hmc": lambda f, blocks: HMC(f, parameters=blocks, step_size=0.3, n_steps=5),
    "nuts": lambda f, blocks: NUTS(f, parameters=blocks, step_size=0.4),
}
MAKERS = {
    name: lambda f, blocks, model, y, make=make: make(f, blocks)
    for name, make in BY_DENSITY.items()
}
MAKERS["independence"] = lambda f, blocks, model, y: MetropolisHastings(
    f, scale=1.5, proposal="independence", parameters=blocks
)
MAKERS["own proposal"] = own(hastings=True)
MAKERS["gibbs"] = lambda f, blocks, model, y: Gibbs(model.conditionals(y), parameters=blocks)
THIN = {"slice": 3, "nuts": 2, "hmc": 3, "gibbs": 5, "ensemble": 25}  # others: 15


def ranks(model, maker, n=150, L=15, thin=5):
    """Ranks of the true parameters among L draws of their posterior: uniform on 0 … L if right."""
    rng, found = np.random.default_rng(7), []
    for k in range(n):
        theta = model.prior(rng)
        y = model.data(theta, rng)
        sampler = maker(*model.density(y), model, y)
        # The walkers of an ensemble begin at one another's side: they need a warm-up.
        n_warmup = 300 if isinstance(sampler, Ensemble) else 0
        draws = sampler.sample(
            theta, L, n_chains=1, n_warmup=n_warmup, thin=thin, random_state=k, **QUIET
        )
        found.append((draws.array[0] < theta).sum(axis=0))
    return np.array(found)


def uniform_p_value(found, L=15):
    """Of the shape of the histogram, and of its mean, which sees a shift best."""
    counts = [np.bincount(column, minlength=L + 1).reshape(8, -1).sum(axis=1) for column in found.T]
    spread = np.sqrt(((L + 1) ** 2 - 1) / 12 / len(found))  # of the mean of uniform ranks 0 … L
    shift = 2.0 * stats.norm.sf(np.abs(found.mean(axis=0) - L / 2) / spread)
    return min(*(stats.chisquare(count).pvalue for count in counts), *shift)


@pytest.mark.filterwarnings("ignore:No gradient")
@slow
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("model", MODELS)
def test_simulation_based_calibration(model, maker):
    found = ranks(MODELS[model], MAKERS[maker], thin=THIN.get(maker, 15))
    assert uniform_p_value(found) > LEVEL


@pytest.mark.filterwarnings("ignore:No gradient")
@slow
@pytest.mark.parametrize("maker", BY_DENSITY)
def test_calibration_finds_a_missing_jacobian(maker):
    found = ranks(NormalScaleWithoutJacobian(), MAKERS[maker], n=400, thin=THIN.get(maker, 15))
    assert uniform_p_value(found) < LEVEL


@slow
@pytest.mark.parametrize("what", ["Hastings factor", "conditional"])
def test_calibration_finds_a_missing_hastings_factor_and_a_wrong_conditional(what):
    if what == "conditional":
        found = ranks(LineWithWrongConditional(), MAKERS["gibbs"], n=400)
    else:
        found = ranks(NormalScale(), own(hastings=False), n=400, thin=15)
    assert uniform_p_value(found) < LEVEL


def geweke(model, maker, n=600, thin=4):
    """z-scores of moments: θ of (θ, y) by turns of sampler and data, against θ of the prior."""
    rng = np.random.default_rng(11)
    theta, found = model.prior(rng), []
    for k in range(n):
        y = model.data(theta, rng)
        sampler = maker(*model.density(y), model, y)
        n_warmup = 200 if isinstance(sampler, Ensemble) else 0
        draws = sampler.sample(
            theta, 1, n_chains=1, n_warmup=n_warmup, thin=thin, random_state=k, **QUIET
        )
        theta = draws.array[0, 0]
        found.append(theta)
    found = np.array(found)
    exact = np.array([model.prior(rng) for _ in range(50_000)])
    scores = []
    for g in (lambda t: t, lambda t: t * t):
        a, b = g(found), g(exact)
        blocks = a.reshape(20, -1, a.shape[1]).mean(axis=1)  # batches that hardly depend
        error = np.sqrt(blocks.var(axis=0, ddof=1) / 20 + b.var(axis=0) / len(b))
        scores.append((a.mean(axis=0) - b.mean(axis=0)) / error)
    return np.abs(scores).max()


@pytest.mark.filterwarnings("ignore:No gradient")
@slow
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("model", MODELS)
def test_gewekes_joint_distribution_test(model, maker):
    found = geweke(MODELS[model], MAKERS[maker], thin=THIN.get(maker, 15))
    assert found < 4.5  # t of 19 degrees: 2e-4


@slow
@pytest.mark.filterwarnings("ignore:No gradient")
@pytest.mark.parametrize("maker", BY_DENSITY)
def test_geweke_finds_a_missing_jacobian(maker):
    # σ and its data drift together: the joint chain leaves the prior though the posterior is near.
    found = geweke(NormalScaleWithoutJacobian(), MAKERS[maker], n=1200, thin=THIN.get(maker, 15))
    assert found > 4.5


@slow
@pytest.mark.parametrize("what", ["Hastings factor", "conditional"])
def test_geweke_finds_a_missing_hastings_factor_and_a_wrong_conditional(what):
    if what == "conditional":
        found = geweke(LineWithWrongConditional(), MAKERS["gibbs"], n=1200)
    else:
        found = geweke(NormalScale(), own(hastings=False), n=1200, thin=15)
    assert found > 4.5


# ----------------------------------------------------------------------------- known targets


def student(x):
    return -3.0 * np.log1p(x[0] ** 2 / 5.0)


def funnel(v, x):
    return -0.5 * v * v / 2.25 - 0.5 * (x**2).sum() * np.exp(-v) - 0.5 * len(x) * v


@slow
@pytest.mark.parametrize("name", ["metropolis", "slice", "ensemble", "nuts"])
def test_quantiles_of_students_t(name):
    maker = {
        "metropolis": lambda: MetropolisHastings(student),
        "slice": lambda: Slice(student),
        "ensemble": lambda: Ensemble(student),
        "nuts": lambda: NUTS(student, lambda x: -6.0 * x / (5.0 + x**2)),
    }[name]
    draws = maker().sample([0.5], 8000, n_chains=4, random_state=5, **QUIET)
    x, ess = draws.array[:, :, 0], draws.ess("tail")[0]
    for q in (0.05, 0.25, 0.5, 0.75, 0.95):
        share = (x < stats.t(5).ppf(q)).mean()
        assert abs(share - q) < 5 * np.sqrt(q * (1 - q) / min(ess, draws.ess()[0]))


@slow
@pytest.mark.filterwarnings("ignore:No gradient")
def test_a_mild_funnel():
    sampler = NUTS(funnel, parameters={"v": real(), "x": real(3)}, target_accept=0.95)
    draws = sampler.sample(None, 3000, random_state=6, **QUIET)
    v = draws["v"]
    ess = draws.ess()[0]
    assert abs(v.mean()) < 5 * 1.5 / np.sqrt(ess)
    assert v.std() == pytest.approx(1.5, rel=0.15)
