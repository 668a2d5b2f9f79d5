"""What all samplers share: starts, seeds, threads, going on, files, interrupts, warnings"""

import logging
import math
import os
import signal
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

from mlreplica.callbacks import Trace
from mlreplica.core.compile.jit import PURE_PYTHON
from mlreplica.mcmc import (
    HMC,
    NUTS,
    Ensemble,
    Gibbs,
    Ising,
    MetropolisHastings,
    MetropolisStep,
    MonteCarloWarning,
    Slice,
    interval,
    positive,
    real,
    simulated_annealing,
)
from mlreplica.mcmc.density import LogDensity, evaluate, evaluate_gradient

QUIET = {"warn": False, "random_state": 0}


def normal(x):
    return -0.5 * (x[0] ** 2 + (x[1] - x[0]) ** 2)


def round_normal(x):
    return -0.5 * x @ x


def slope(x):
    return np.array([x[1] - 2.0 * x[0], x[0] - x[1]])


def draw_first(x, rng):
    return rng.normal(0.5 * x[1], 0.5**0.5)


def draw_second(x, rng):
    return rng.normal(x[0], 1.0)


def step_away(x, rng):
    return np.array([x[0] + rng.standard_normal(), x[1] + rng.standard_normal()])


SAMPLERS = {
    "metropolis": lambda: MetropolisHastings(normal),
    "own proposal": lambda: MetropolisHastings(normal, proposal=step_away),
    "slice": lambda: Slice(normal),
    "ensemble": lambda: Ensemble(normal),
    "hmc": lambda: HMC(normal, slope),
    "nuts": lambda: NUTS(normal, slope),
    "gibbs": lambda: Gibbs([draw_first, draw_second]),
}
every = pytest.mark.parametrize("name", SAMPLERS)


@every
def test_draws_depend_on_the_seed_and_not_on_threads_or_blocks(name, monkeypatch):
    sampler = SAMPLERS[name]()
    a = sampler.sample([0.0, 0.0], 200, n_warmup=100, n_jobs=1, **QUIET)
    monkeypatch.setattr("mlreplica.mcmc.sampler.BLOCK_SECONDS", 0.0)
    b = sampler.sample([0.0, 0.0], 200, n_warmup=100, n_jobs=2, **QUIET)
    c = sampler.sample([0.0, 0.0], 200, n_warmup=100, warn=False, random_state=1)
    np.testing.assert_array_equal(a.array, b.array)
    assert not np.array_equal(a.array, c.array)
    assert len({chain.tobytes() for chain in a.array}) == len(a.array)  # no two chains are alike
    np.testing.assert_allclose(a.flat().mean(axis=0), 0.0, atol=0.6)


@every
def test_continued_draws_are_those_of_one_long_run(name):
    sampler = SAMPLERS[name]()
    long = sampler.sample([0.0, 0.0], 150, n_warmup=50, n_chains=2, **QUIET)
    short = sampler.sample([0.0, 0.0], 100, n_warmup=50, n_chains=2, **QUIET)
    np.testing.assert_array_equal(sampler.sample(short, 50, warn=False).array, long.array)
    np.testing.assert_array_equal(short.array, long.array[:, :100])  # and is itself unchanged


@every
def test_a_run_that_was_stopped_goes_on_from_its_file(name, tmp_path, monkeypatch):
    monkeypatch.setattr("mlreplica.mcmc.sampler.SAVE_SECONDS", 0.0)
    monkeypatch.setattr("mlreplica.mcmc.sampler.BLOCK_SECONDS", 0.0)  # of one step each
    sampler, options = SAMPLERS[name](), {"n_warmup": 50, "n_chains": 2, **QUIET}
    whole = sampler.sample([0.0, 0.0], 300, **options)
    stop_after(sampler, monkeypatch, 60)
    file = tmp_path / "run.npz"
    with pytest.raises(KeyboardInterrupt):
        sampler.sample([0.0, 0.0], 300, checkpoint=file, **options)
    kept = sampler.draws_.array
    assert 0 < kept.shape[1] < 300
    np.testing.assert_array_equal(kept, whole.array[:, : kept.shape[1]])
    more = SAMPLERS[name]().sample(sampler.draws_, 300 - kept.shape[1], warn=False)
    np.testing.assert_array_equal(more.array[:, -10:], whole.array[:, -10:])  # no chain was ahead
    again = SAMPLERS[name]().sample([0.0, 0.0], 300, checkpoint=file, **options)
    np.testing.assert_array_equal(again.array, whole.array)
    with pytest.raises(ValueError, match="holds another run: its n_draws is 300, not 400"):
        SAMPLERS[name]().sample([0.0, 0.0], 400, checkpoint=file, **options)


def stop_after(sampler, monkeypatch, n):
    """Press Ctrl-C when one of two chains has drawn its n-th draw, and the other is to follow."""
    advance, drawn = sampler.advance, []

    def interrupted(chain, out, *rest):
        if out is not None:
            drawn.append(rest[1])
            if sum(drawn) > 2 * n and len(drawn) % 2 == 0:
                raise KeyboardInterrupt
        return advance(chain, out, *rest)

    monkeypatch.setattr(sampler, "advance", interrupted)


@pytest.mark.skipif(PURE_PYTHON, reason="no kernel calls Python")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_between_a_kernel_and_a_python_function_is_not_lost(n_jobs):
    seen, pressed = [], []

    def remembering(x):
        seen.append(1)
        if len(seen) > 2000 and not pressed:
            pressed.append(threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)))
            pressed[0].start()
        return -0.5 * x @ x

    sampler, usual = MetropolisHastings(remembering), signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        sampler.sample(ORIGIN, 10**6, n_warmup=0, n_jobs=n_jobs, **QUIET)
    assert 0 < sampler.draws_.n_draws < 10**6
    assert signal.getsignal(signal.SIGINT) is usual
    n = min(200, sampler.draws_.n_draws)
    again = MetropolisHastings(round_normal).sample(ORIGIN, n, n_warmup=0, **QUIET)
    np.testing.assert_allclose(sampler.draws_.array[:, :n], again.array)


def press_at(n):
    """A density in Python, and its gradient, with a Ctrl-C at the n-th call; the calls."""
    calls = []

    def counting(x):
        calls.append(1)
        if len(calls) == n:
            signal.raise_signal(signal.SIGINT)
        return -0.5 * x @ x

    return counting, calls


@pytest.mark.skipif(PURE_PYTHON, reason="no kernel calls Python")
@pytest.mark.parametrize("n", [2, 4, 14])
@pytest.mark.parametrize(
    "make", [Ensemble, lambda f: HMC(f, lambda x: -x), lambda f: NUTS(f, lambda x: -x)],
    ids=["ensemble", "hmc", "nuts"],
)  # fmt: skip
def test_an_interrupt_of_the_start_is_not_lost(make, n):
    density, calls = press_at(n)
    with pytest.raises(KeyboardInterrupt):
        make(density).sample(ORIGIN, 300, n_warmup=0, **QUIET)
    assert len(calls) <= n + 1


@pytest.mark.skipif(PURE_PYTHON, reason="no kernel calls Python")
def test_an_interrupt_does_not_wait_for_another_evaluation():
    density, calls = press_at(2000)
    with pytest.raises(KeyboardInterrupt):
        MetropolisHastings(density).sample(ORIGIN, 10**6, n_warmup=0, n_jobs=1, **QUIET)
    assert len(calls) == 2000


def test_callbacks_do_not_lengthen_the_blocks(monkeypatch):
    sampler, steps = MetropolisHastings(normal).set_callbacks(Trace()), []
    monkeypatch.setattr("mlreplica.mcmc.sampler.BLOCK_SECONDS", 0.0)
    advance = sampler.advance

    def counting(chain, out, stats, n, *rest):
        steps.append(n)
        return advance(chain, out, stats, n, *rest)

    monkeypatch.setattr(sampler, "advance", counting)
    sampler.sample(ORIGIN, 600, n_warmup=400, n_chains=1, **QUIET)
    assert max(steps) == 1  # an interrupt waits for the end of one


def test_callbacks_see_the_progress():
    trace = Trace()
    sampler = MetropolisHastings(normal).set_callbacks(trace)
    draws = sampler.sample([0.0, 0.0], 1000, n_warmup=500, **QUIET)
    counts = [state["draws"] for state in trace.states]
    assert counts[-1] == 1000
    assert 50 < len(counts) <= 100
    plain = MetropolisHastings(normal).sample([0.0, 0.0], 1000, n_warmup=500, **QUIET)
    np.testing.assert_array_equal(draws.array, plain.array)


def test_draws_as_tables_and_pictures():
    pd = pytest.importorskip("pandas")
    plt = pytest.importorskip("matplotlib.pyplot")
    sampler = NUTS(lambda a, b: -0.5 * a * a - b.sum(), gradient=lambda a, b: (-a, -np.ones(2)),
                   parameters={"a": real(), "b": positive(2)})  # fmt: skip
    draws = sampler.sample(None, 300, **QUIET)
    assert draws["b"].shape == (4, 300, 2)
    assert draws["b[1]"].shape == (4, 300)
    assert (draws["b"] > 0).all()
    frame = draws.to_frame()
    assert list(frame.columns) == ["a", "b[0]", "b[1]"]
    assert isinstance(draws.summary().to_frame(), pd.DataFrame)
    assert str(draws.summary()).count("\n") == 3
    assert draws.energies.shape == (4, 300)
    with pytest.raises(KeyError, match="No parameter 'c'"):
        draws["c"]
    for plot in (draws.plot_trace, draws.plot_pair, draws.plot_autocorrelation):
        assert len(plot()) == 3
        plt.close("all")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        az = pytest.importorskip("arviz")
        data = draws.to_arviz()
        np.testing.assert_array_equal(data["posterior"]["b"].values, draws["b"])
        assert data["sample_stats"]["diverging"].dtype == bool
        table = az.summary(data, round_to="none")
    np.testing.assert_allclose(table["r_hat"], draws.rhat(), rtol=1e-10)
    np.testing.assert_allclose(table["ess_bulk"], draws.ess(), rtol=1e-10)


def test_warnings_say_what_to_do():
    with pytest.warns(MonteCarloWarning, match=r"R̂ is .* for x\[0\].*effective draws"):
        MetropolisHastings(lambda x: -0.5 * x[0] ** 2, scale=0.05).sample(
            [[-9.0], [9.0]], 50, n_chains=2, n_warmup=0, random_state=0
        )


# ------------------------------------------------------------------------------ bad input


@every
def test_bad_arguments_of_sample(name):
    sampler = SAMPLERS[name]()
    for options, told in (
        ({"n_draws": 0}, "n_draws must be an integer >= 1, got 0"),
        ({"n_chains": 1.5}, "n_chains must be an integer >= 1, got 1.5"),
        ({"n_warmup": -1}, "n_warmup must be an integer >= 0"),
        ({"thin": 0}, "thin must be"),
        ({"random_state": -1}, "random_state must be an integer >= 0, .* got -1"),
    ):
        with pytest.raises(ValueError, match=told):
            sampler.sample([0.0, 0.0], **options)
    with pytest.raises(ValueError, match="x0"):
        sampler.sample(np.zeros((3, 2)), n_chains=4)
    with pytest.raises(ValueError, match=r"x0 .*nan|finite"):
        sampler.sample([0.0, np.nan])


@pytest.mark.parametrize("maker", [MetropolisHastings, Slice, Ensemble])
def test_densities_that_are_no_numbers_are_named_with_parameter_and_value(maker):
    def log_of(x):
        return np.log(x[0])

    with np.errstate(all="ignore"):
        with pytest.raises(ValueError, match=r"is nan at the start x\[0\] = -1"):
            maker(log_of).sample([-1.0])
        with pytest.raises(ValueError, match=r"is -inf at the start x\[0\] = 0"):
            maker(log_of).sample([0.0])
        with pytest.raises(ValueError, match=r"is nan at x\[0\] = -.*return -np.inf where"):
            maker(log_of).sample([1.0], 1000, random_state=0, warn=False)


def test_an_exception_inside_the_users_function_comes_out_with_its_place():
    def fussy(x):
        if x[0] > 2.0:
            raise ValueError("too large")
        return -0.5 * x[0] ** 2

    with pytest.raises(ValueError, match="too large") as caught:
        MetropolisHastings(fussy, scale=1.0).sample([0.0], 5000, random_state=0)
    assert "raised this at x[0] = 2." in caught.value.__notes__[0]


def test_shapes_that_disagree():
    with pytest.raises(ValueError, match="must return one number"):
        MetropolisHastings(lambda x: -0.5 * x**2).sample([0.0, 1.0])
    with pytest.raises(ValueError, match=r"x0 has 2 numbers per chain, the parameters .* have 1"):
        MetropolisHastings(lambda a: -a * a, parameters={"a": real()}).sample([0.0, 1.0])
    with pytest.raises(ValueError, match="gradient has 1 entries, expected 2"):
        NUTS(normal, lambda x: x[:1]).sample([0.0, 1.0])


def with_slope(x):
    return normal(x), slope(x)


def test_a_density_with_its_gradient_says_so():
    for make in (MetropolisHastings, Slice, Ensemble, lambda f: NUTS(f, slope)):
        with pytest.raises(ValueError, match=r"one number, got a tuple of 2.*gradient=True to HMC"):
            make(with_slope).sample(ORIGIN)
    with pytest.raises(ValueError, match=r"log_density must .* got a tuple of 2"):
        Gibbs([MetropolisStep(with_slope), draw_second]).sample(ORIGIN)
    with pytest.raises(ValueError, match=r"must return \(value, gradient\) with gradient=True"):
        NUTS(normal, gradient=True).sample(ORIGIN)


def bell(x):
    return -0.5 * x[0] ** 2


def bell_to_one(x):
    return bell(x) if x[0] < 1.0 else np.nan


def pull_to_one(x):
    return -x if x[0] < 1.0 else np.array([np.nan])


def zero_from_one(x):
    return bell(x) if x[0] < 1.0 else -np.inf


@pytest.mark.parametrize("maker", [HMC, NUTS])
@pytest.mark.parametrize(
    ("density", "gradient"),
    [(bell_to_one, lambda x: -x), (bell, pull_to_one)],
    ids=["density", "gradient"],
)
def test_trajectories_that_met_no_number_are_rejected_and_named(maker, density, gradient):
    with pytest.warns(MonteCarloWarning, match=r"\d+ of 2000 .* not a number, one near x\[0\] = "):
        draws = maker(density, gradient).sample([0.0], 500, random_state=0)
    assert draws.array.max() < 1.0
    undefined = draws.stats["undefined"]
    assert 0 < undefined.sum() <= draws.divergences.sum()
    assert (draws.stats["divergent"] >= undefined).all()


@pytest.mark.parametrize("maker", [HMC, NUTS])
def test_where_the_density_is_zero_it_is_a_number(maker):
    draws = maker(zero_from_one, lambda x: -x).sample([0.0], 500, **QUIET)
    assert draws.divergences.sum() > 0
    assert draws.stats["undefined"].sum() == 0


def test_a_wrong_gradient_is_found_before_sampling():
    with pytest.raises(ValueError, match=r"disagrees with log_density: along x\[1\] it is 0"):
        NUTS(normal, lambda x: np.array([x[1] - 2.0 * x[0], 0.0])).sample([0.3, 1.0])
    with pytest.raises(ValueError, match=r"along x\[0\] it is nan"):
        NUTS(normal, lambda x: np.full(2, np.nan)).sample([0.3, 1.0])


def test_no_gradient_is_worth_a_warning():
    with pytest.warns(UserWarning, match="finite differences"):
        NUTS(normal)


def ramp(x):
    return 0.01 * x[0]


def valley(x):
    return 0.5 * x[0] ** 2


def plain(x):
    return 0.0 * x[0]


@pytest.mark.parametrize("density", [ramp, valley, plain])
def test_an_improper_density_is_an_error_that_names_parameter_and_value(density):
    sampler = MetropolisHastings(density)
    with pytest.raises(ValueError, match=r"x\[0\] went from .* to .*improper.*proper priors"):
        sampler.sample([0.5], 500, random_state=0)
    assert sampler.draws_.array.shape == (4, 500, 1)
    with pytest.raises(ValueError, match=r"x\[0\] (is|=) .*"):
        Ensemble(density).sample([0.5], 500, random_state=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["slice", "hmc", "nuts"])
@pytest.mark.parametrize(
    ("density", "gradient"),
    [(ramp, lambda x: np.full(1, 0.01)), (valley, lambda x: 1.0 * x)],
    ids=["ramp", "valley"],
)
def test_every_sampler_refuses_an_improper_density(name, density, gradient):
    sampler = {
        "slice": lambda: Slice(density),
        "hmc": lambda: HMC(density, gradient),
        "nuts": lambda: NUTS(density, gradient),
    }[name]()
    with pytest.raises(ValueError, match=r"x\[0\].*improper"):
        sampler.sample([0.5], 500, random_state=0)


def test_a_parameter_without_a_prior_is_named():
    def no_prior_of_tau(mu, tau):
        return -0.5 * mu**2 + 0.001 * tau

    sampler = MetropolisHastings(no_prior_of_tau, parameters={"mu": real(), "tau": positive()})
    with pytest.raises(ValueError, match=r"tau (is|went|=).*"):
        sampler.sample({"mu": 0.0, "tau": 1.0}, 500, random_state=0)


def test_flat_targets_that_are_proper_are_no_error():
    def in_the_box(x):
        return 0.0 if 0.0 < x[0] < 1.0 else -np.inf

    def next_on_a_ring(x, rng):
        return np.array([(x[0] + (1.0 if rng.random() < 0.5 else 6.0)) % 7.0])

    box = MetropolisHastings(in_the_box, scale=0.3).sample([0.5], 2000, **QUIET)
    assert box.array.mean() == pytest.approx(0.5, abs=0.05)
    ring = MetropolisHastings(lambda x: 0.0, proposal=next_on_a_ring).sample([0.0], 4000, **QUIET)
    assert ring.array.mean() == pytest.approx(3.0, abs=0.2)


def test_a_chain_that_runs_away_is_an_error():
    def run_off(x, rng):
        return 1e30 * (np.abs(x) + 1.0)

    with pytest.raises(ValueError, match=r"ran away: x\[0\] is .*improper"):
        MetropolisHastings(lambda x: 0.0, proposal=run_off).sample([0.0], 50, n_warmup=0)


ORIGIN = [0.0, 0.0]
WRONG = {
    "scale must be positive": lambda: MetropolisHastings(normal, scale=-1.0).sample(ORIGIN),
    "symmetric": lambda: MetropolisHastings(normal, scale=np.eye(3)).sample(ORIGIN),
    "positive definite": lambda: MetropolisHastings(normal, scale=-np.eye(2)).sample(ORIGIN),
    "proposal must be": lambda: MetropolisHastings(normal, proposal="walk"),
    "x0 must be given": lambda: MetropolisHastings(normal).sample(),
    "width must be positive": lambda: Slice(normal, width=0.0).sample(ORIGIN),
    "n_walkers must be at least": lambda: Ensemble(normal, n_walkers=3).sample(ORIGIN),
    "stretch must be above 1": lambda: Ensemble(normal, stretch=1.0),
    "metric must be": lambda: NUTS(normal, slope, metric="full"),
    "max_depth must be": lambda: NUTS(normal, slope, max_depth=0),
    "n_steps must be": lambda: HMC(normal, slope, n_steps=0),
    "Gibbs needs x0": lambda: Gibbs([draw_first]).sample(),
    "returned 2 numbers": lambda: Gibbs([draw_first, lambda x, rng: x]).sample(ORIGIN),
    "of x.1. returned": lambda: Gibbs([draw_first, lambda x, rng: np.nan]).sample(ORIGIN),
    "even numbers": lambda: Ising((3, 4)),
    "objective is inf at x0": lambda: simulated_annealing(lambda x: np.inf, [0.0]),
}


@pytest.mark.parametrize("told", WRONG)
def test_bad_parameters_are_named(told):
    with pytest.raises(ValueError, match=told):
        WRONG[told]()


# ------------------------------------------------------------------- the user's function


def value(function, x, **options):
    density = LogDensity(function, **options)
    if density.layout is None:
        density.set_dimension(len(x))
    return density, evaluate(density.target(), np.array(x, dtype=float))


OFFSET = np.array([1.0, 2.0, 3.0])
WEIGHT = 3


def helper(x, power=2):
    return ((x - OFFSET) ** power).sum() * WEIGHT


def with_helper(x):
    return -helper(x) + helper(x, 2) * 0.5


@pytest.mark.skipif(PURE_PYTHON, reason="nothing is compiled")
def test_functions_of_all_kinds_are_compiled():
    x, A, k, flag = [0.5, 1.0, -2.0], np.eye(3) * 2.0, 3.5, True

    def closing(x):
        return -x @ A @ x + (k if flag else 0.0)

    def writing(x):
        x[0] = 7.0
        return x.sum()

    cases = [with_helper, closing, writing, lambda x: -k * np.abs(x).sum()]
    for f in cases:
        density, found = value(f, x)
        assert density.is_compiled
        assert found == pytest.approx(f(np.array(x)))
    strided = np.arange(12.0)[::4]
    density, found = value(lambda x: (strided * x).sum(), x)
    assert density.is_compiled
    assert found == pytest.approx(strided @ x)


@pytest.mark.skipif(PURE_PYTHON, reason="nothing is compiled")
def test_other_data_of_the_same_types_need_no_compilation():
    def of(data):
        return lambda x: -((x[0] - data) ** 2).sum()

    first, _ = value(of(np.arange(3.0)), [1.0])
    second, found = value(of(np.arange(5.0)), [1.0])
    assert found == -15.0
    assert first.code[0] == second.code[0]


def test_what_cannot_be_compiled_runs_as_python_and_says_so_once(caplog):
    seen = []

    def remembering(x):
        seen.append(x[0])
        return -0.5 * x @ x

    with caplog.at_level(logging.WARNING, logger="mlreplica"):
        draws = MetropolisHastings(remembering).sample([0.0], 50, n_warmup=50, **QUIET)
    assert draws.array.std() > 0.1
    assert len(seen) > 100
    if not PURE_PYTHON:
        lines = [r.getMessage() for r in caplog.records if "runs as plain Python" in r.getMessage()]
        assert len(lines) == 1
        assert "it uses seen, a list" in lines[0]


def test_named_blocks_and_their_gradient():
    def f(mu, tau, z):
        return -mu * mu - tau + (z**2).sum() * 0.5

    def g(mu, tau, z):
        return -2.0 * mu, -1.0, z

    blocks = {"mu": real(), "tau": positive(), "z": interval(0, 1, (2, 2))}
    density = LogDensity(f, g, blocks, with_gradient=True)
    u = np.array([0.3, -0.2, 0.1, 0.5, -0.4, 1.0])
    found = np.zeros(6)
    here = evaluate_gradient(density.target(), u, found)
    steps = 1e-6 * np.eye(6)
    target = density.target()
    numeric = [
        (
            evaluate_gradient(target, u + s, np.zeros(6))
            - evaluate_gradient(target, u - s, np.zeros(6))
        )
        / 2e-6
        for s in steps
    ]
    np.testing.assert_allclose(found, numeric, rtol=1e-5, atol=1e-7)
    assert np.isfinite(here)


SCRIPT = """
import sys, numpy as np
from mlreplica.mcmc import MetropolisHastings
assert "numba" not in sys.modules
data = np.arange(float(sys.argv[1]))
def log_density(x):
    return -((x[0] - data) ** 2).sum()
sampler = MetropolisHastings(log_density, scale=1.0)
draws = sampler.sample([0.0], 20, n_warmup=0, random_state=0, warn=False)
from mlreplica.core.compile.user import compiled
made = list(compiled.values())[0]
print(made.cache_hits, draws.array.sum())
"""


def test_samplers_import_neither_scipy_nor_scikit_learn():
    text = (
        "import sys; from mlreplica.mcmc import HMC, NUTS, Gibbs, MetropolisHastings\n"
        "from mlreplica.mcmc import logistic_log_density\n"
        "assert not {'numba', 'scipy', 'sklearn'} & {*sys.modules}, sorted(sys.modules)"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", text], env=environment, check=True, timeout=300)


@pytest.mark.skipif(PURE_PYTHON, reason="nothing is compiled")
def test_machine_code_is_kept_on_disk(monkeypatch):
    shift = np.array([3.0, 4.0])
    first, found = value(lambda x: -((x - shift) ** 2).sum(), [1.0, 1.0])
    monkeypatch.setattr("mlreplica.core.compile.user.compiled", {})
    second, again = value(lambda x: -((x - shift) ** 2).sum(), [1.0, 1.0])
    assert found == again == -13.0
    made = second.code[2][0]
    assert made is not first.code[2][0]
    assert made.cache_hits == 1


@pytest.mark.slow
@pytest.mark.skipif(PURE_PYTHON, reason="nothing is compiled")
def test_another_process_finds_the_machine_code_on_disk(tmp_path):
    file = tmp_path / "script.py"
    file.write_text(SCRIPT)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    hits = []
    for n in ("7", "9"):
        done = subprocess.run(
            [sys.executable, file, n], env=environment, capture_output=True, text=True, check=True
        )
        hits.append(int(done.stdout.split()[0]))
    assert hits[1] == 1


def test_simulated_annealing_finds_the_lowest_of_many_valleys():
    def rastrigin(x):
        return 10.0 * len(x) + (x**2 - 10.0 * np.cos(2.0 * np.pi * x)).sum()

    found = simulated_annealing(rastrigin, np.full(3, 3.2), n_chains=6, random_state=0)
    assert found.value < 1.0
    assert found.value == pytest.approx(rastrigin(found.x))
    assert (np.diff(found.path[:, :, 2], axis=1) <= 0).all()


# ------------------------------------------------- what once went wrong, and what is refused


def test_chains_of_gibbs_are_contiguous():
    sampler = Gibbs.gaussian_mixture(np.arange(12.0).reshape(-1, 1), 2, random_state=0)
    draws = sampler.sample(n_draws=20, n_warmup=5, n_chains=3, **QUIET)  # rows were not contiguous
    assert draws.array.shape == (3, 20, 6)
    assert all(chain["x"].flags.c_contiguous for chain in draws.chains)


@pytest.mark.skipif(PURE_PYTHON, reason="nothing is compiled")
def test_a_single_conditional_is_compiled():
    sampler = Gibbs([lambda x, generator: generator.normal()])
    assert abs(sampler.sample([0.0], 500, **QUIET).array.mean()) < 0.2
    assert sampler.is_compiled


def far_right(x):
    return np.log(1.5 - x[0]) - 0.5 * x[0] ** 2  # NaN beyond 1.5


def test_metropolis_steps_refuse_densities_that_are_no_numbers():
    with pytest.raises(ValueError, match=r"log_density of x\[0\] is nan at x\[0\] = [12]"):
        Gibbs([MetropolisStep(far_right)]).sample([0.0], 2000, **QUIET)
    with pytest.raises(ValueError, match=r"is -inf at the start x\[0\] = -1"):
        Gibbs([MetropolisStep(lambda x: -np.inf)]).sample([-1.0])


@pytest.mark.skipif(PURE_PYTHON, reason="nothing is compiled")
def test_where_gibbs_holds_its_vector_changes_no_draw(monkeypatch):
    conditionals = [draw_first, MetropolisStep(normal, 0.5)]
    on_stack = Gibbs(conditionals).sample([0.0, 0.0], 200, **QUIET)
    monkeypatch.setattr("mlreplica.mcmc.gibbs.ON_STACK", 0)
    in_place = Gibbs(conditionals).sample([0.0, 0.0], 200, **QUIET)
    np.testing.assert_array_equal(on_stack.array, in_place.array)
    in_two = Gibbs(conditionals).sample([0.0, 0.0], 120, **QUIET)
    np.testing.assert_array_equal(
        Gibbs(conditionals).sample(in_two, 80, warn=False).array, in_place.array
    )


def test_gibbs_counts_what_its_metropolis_steps_accept():
    mixed = Gibbs([draw_first, MetropolisStep(normal, 0.5)])
    rates = mixed.sample([0.0, 0.0], 2000, **QUIET).accept_rates
    assert ((rates > 0.3) & (rates < 0.6)).all()  # the warm-up steers to 0.44
    exact = Gibbs([draw_first, draw_second]).sample([0.0, 0.0], 50, **QUIET)
    np.testing.assert_array_equal(exact.accept_rates, 1.0)


@pytest.mark.parametrize("name", ["gibbs", "own proposal", "nuts"])
def test_a_new_sampler_continues_the_draws_of_another(name):
    first = SAMPLERS[name]().sample([0.0, 0.0], 20, n_warmup=20, n_chains=2, **QUIET)
    long = SAMPLERS[name]().sample([0.0, 0.0], 30, n_warmup=20, n_chains=2, **QUIET)
    again = SAMPLERS[name]().sample(first, 10, warn=False)
    np.testing.assert_array_equal(again.array, long.array)


def test_the_energy_is_that_of_the_draw():
    draws = HMC(normal, slope, step_size=1.6, n_steps=4).sample([0.0, 0.0], 400, **QUIET)
    assert draws.accept_rates.max() < 0.9
    assert (draws.energies + draws.stats["lp"] >= 0.0).all()  # the kinetic part


def raises_at_start(x):
    raise ZeroDivisionError("mine")


@pytest.mark.parametrize(
    "make",
    [
        lambda: MetropolisHastings(raises_at_start),
        lambda: Gibbs([lambda x, rng: raises_at_start(x)]),
        lambda: MetropolisHastings(lambda x: 0.0, proposal=lambda x, rng: raises_at_start(x)),
    ],
    ids=["density", "conditional", "proposal"],
)
def test_an_exception_at_the_start_names_the_place(make):
    with pytest.raises(ZeroDivisionError, match="mine") as caught:
        make().sample([0.25])
    assert "raised this at the start x[0] = 0.25" in caught.value.__notes__[0]


def test_an_exception_of_a_proposal_names_the_place():
    def shy(x, rng):
        if x[0] > 1.0:
            raise ValueError("too far")
        return x + rng.standard_normal(1)

    with pytest.raises(ValueError, match="too far") as caught:
        MetropolisHastings(lambda x: -0.5 * x[0] ** 2, proposal=shy).sample([0.0], 500, **QUIET)
    assert "raised this at x[0] = " in caught.value.__notes__[0]


def raises_beyond(x):
    if x[0] > 0.5:
        raise ValueError("mine")
    return slope(x)


@pytest.mark.parametrize("maker", [HMC, NUTS])
def test_an_exception_of_a_gradient_is_not_blamed_on_the_density(maker):
    with pytest.raises(ValueError, match="mine") as caught:
        maker(normal, raises_beyond).sample(ORIGIN, 500, **QUIET)
    (note,) = caught.value.__notes__
    assert note.startswith("gradient raised this at x[0] = ")
    with pytest.raises(ValueError, match="mine") as caught:
        maker(normal, raises_beyond).sample([1.0, 0.25])
    assert caught.value.__notes__ == ["gradient raised this at the start x[0] = 1, x[1] = 0.25."]


def test_a_proposal_that_is_no_number_is_not_blamed_on_the_density():
    def bell(x):
        return -0.5 * x[0] ** 2

    def far(x, rng):
        return x + (np.nan if x[0] > 0.5 else 0.1)

    def log_far(y, x):
        return math.sqrt(0.5 - x[0]) if x[0] < 0.5 else np.nan

    def near(x, rng):
        return x + 0.1 * rng.standard_normal(1)

    flat = {"n_warmup": 0, "n_chains": 1, **QUIET}
    with pytest.raises(ValueError, match=r"proposal goes from x\[0\] = 0.6 to x\[0\] = nan"):
        MetropolisHastings(bell, proposal=far).sample([0.0], 50, **flat)
    with pytest.raises(ValueError, match=r"log_proposal is .* from x\[0\] = 0.4.* nan for the way"):
        MetropolisHastings(bell, proposal=near, log_proposal=log_far).sample([0.3], 5000, **flat)


def test_where_the_density_is_zero_the_proposal_needs_no_density():
    def log_step(y, x):
        return -math.log(y[0])  # not a number where y is negative

    def step(x, rng):
        return x + rng.standard_normal(1)

    def exponential(x):
        return -x[0] if x[0] > 0.0 else -np.inf

    draws = MetropolisHastings(exponential, proposal=step, log_proposal=log_step).sample(
        [1.0], 500, **QUIET
    )
    assert draws.array.min() > 0.0


def test_annealing_names_its_objective():
    with pytest.raises(ValueError, match=r"objective is nan at x\[0\] = -.*return np.inf where"):
        simulated_annealing(lambda x: np.sqrt(x[0]), [1.0], random_state=0)
    with pytest.raises(ZeroDivisionError) as caught:
        simulated_annealing(raises_at_start, [0.25])
    assert caught.value.__notes__ == ["objective raised this at the start x[0] = 0.25."]


@pytest.mark.parametrize("plain", [False, True], ids=["compiled", "plain"])
def test_annealing_does_not_walk_around_an_exception(plain):
    seen = []

    def fussy(x):
        if x[0] > 0.5:
            raise ValueError("too large")
        return (x[0] - 1.0) ** 2

    def remembering(x):
        seen.append(1)
        return fussy(x)

    with pytest.raises(ValueError, match="too large") as caught:
        simulated_annealing(remembering if plain else fussy, [0.0], random_state=0)
    assert "raised this at x[0] = " in caught.value.__notes__[0]


@pytest.mark.skipif(PURE_PYTHON, reason="no kernel calls Python")
@pytest.mark.parametrize("n", [50, 5000])
def test_an_interrupt_of_annealing_is_not_lost(n):
    density, calls = press_at(n)
    with pytest.raises(KeyboardInterrupt):
        simulated_annealing(lambda x: -density(x), ORIGIN, n_jobs=1, random_state=0)
    assert len(calls) == n


BLOCKS = {"mu": real(), "tau": positive()}
REFUSED = {
    r"takes \(tau, mu\), but the parameters are \(mu, tau\)": lambda: MetropolisHastings(
        lambda tau, mu: -mu * mu - tau, parameters=BLOCKS
    ),
    "one number, got None": lambda: MetropolisHastings(lambda x: None).sample(ORIGIN),
    "one number, got 1j": lambda: MetropolisHastings(lambda x: 1j).sample(ORIGIN),
    "target_accept must lie": lambda: MetropolisHastings(normal, target_accept=2),
    "log_proposal goes with": lambda: MetropolisHastings(normal, log_proposal=normal),
    "mean goes with": lambda: MetropolisHastings(normal, mean=ORIGIN),
    "'s' has no conditional": lambda: Gibbs(
        {"m": lambda rng: rng.normal()}, parameters={"m": real(), "s": real()}
    ),
    "takes 'q', which is none of": lambda: Gibbs(
        {"m": lambda q, rng: rng.normal()}, parameters={"m": real()}
    ).sample([0.0]),
    r"scale of x\[0\] must be positive": lambda: Gibbs([MetropolisStep(normal, -1.0)]),
    "it lacks 'tau'": lambda: MetropolisHastings(
        lambda mu, tau: -mu * mu - tau, parameters=BLOCKS
    ).sample({"mu": 0.0}),
    "n_draws must be an integer": lambda: MetropolisHastings(normal).sample(ORIGIN, None),
}


@pytest.mark.parametrize("told", REFUSED)
def test_what_contradicts_itself_is_refused(told):
    with pytest.raises(ValueError, match=told):
        REFUSED[told]()


def test_files_that_are_no_checkpoints(tmp_path):
    file = tmp_path / "run.npz"
    file.write_bytes(b"nothing")
    with pytest.raises(ValueError, match="is not a checkpoint"):
        MetropolisHastings(normal).sample(ORIGIN, checkpoint=file)
    with pytest.raises(FileNotFoundError, match="folder of checkpoint"):
        MetropolisHastings(normal).sample(ORIGIN, checkpoint=tmp_path / "no" / "run.npz")


def test_a_checkpoint_of_another_version_is_refused(tmp_path):
    file, options = tmp_path / "run.npz", {"n_warmup": 50, "n_chains": 1, "warn": False}
    MetropolisHastings(normal).sample(ORIGIN, 20, checkpoint=file, **options)
    with np.load(file) as found:
        kept = {name: found[name] for name in found if name != "0 recent"}
    np.savez(file, **kept)
    with pytest.raises(ValueError, match="another version, which kept no 'recent'"):
        MetropolisHastings(normal).sample(ORIGIN, 20, checkpoint=file, **options)


KILLED = """
import sys
import numpy as np
import mlreplica.mcmc.sampler as sampler
from mlreplica.mcmc import MetropolisHastings
sampler.SAVE_SECONDS = 0.0
def log_density(x):
    return -0.5 * (x ** 2).sum()
saved = sampler.Run.save
def save_and_say(run):
    saved(run)
    print(run.done, flush=True)
sampler.Run.save = save_and_say
options = dict(n_warmup=100, n_chains=2, random_state=0, warn=False)
options["checkpoint"] = sys.argv[1]
MetropolisHastings(log_density).sample([0.0, 0.0], int(sys.argv[2]), **options)
"""


@pytest.mark.slow
def test_a_process_that_is_killed_leaves_a_file_to_go_on_from(tmp_path):
    script, file, n = tmp_path / "script.py", tmp_path / "run.npz", 20_000_000
    script.write_text(KILLED)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, script, file, str(n)], env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        done = 0
        while done == 0:
            done = int(process.stdout.readline())
        process.kill()
    with np.load(file) as left:
        kept = left["draws"]
    assert 0 < kept.shape[1] < n
    options = {"n_warmup": 100, "n_chains": 2, "random_state": 0, "warn": False}
    density = MetropolisHastings(lambda x: -0.5 * (x**2).sum())
    whole = density.sample([0.0, 0.0], kept.shape[1], **options)
    np.testing.assert_array_equal(kept, whole.array)
