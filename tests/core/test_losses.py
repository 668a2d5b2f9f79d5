"""The losses: each satisfies the contract, agrees with scikit-learn, stays finite, compiles."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn import _loss as sklearn_losses

from mlreplica import losses
from mlreplica.core.compile.jit import kernel
from mlreplica.core.formulas import loss_formulas as formulas
from mlreplica.losses import Loss, check_loss
from tests.contract import losses as contract

ALL = [
    *(losses.get(name) for name in losses.NAMES if name != "multinomial"),
    losses.huber(delta=0.3),
    losses.quantile(q=0.9),
    losses.epsilon_insensitive(epsilon=0.0),
]
PARTS = [
    contract.slopes_agree,
    contract.convex_along_chords,
    contract.best_constant_is_best,
    contract.arrays_are_rows,
    contract.survives_pickle,
]


def targets(loss, rng, n):
    """Random y in the loss's domain."""
    return {
        "real": rng.normal(size=n) * 3.0,
        "sign": rng.choice([-1.0, 1.0], n),
        "count": rng.poisson(2.0, n).astype(float),
    }[loss.target]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_contract(loss, part):
    part(loss)


@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_finite_at_extreme_scores_without_a_warning(loss):
    f = np.array([-1e12, -1e5, -1e3, -500.0, -499.999, 0.0, 499.999, 500.0, 1e3, 1e5, 1e12])
    for one in targets(loss, np.random.default_rng(0), 3):
        y = np.full(len(f), one)
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            parts = [loss.value(y, f), loss.gradient(y, f)]
            if loss.hessian is not None:
                parts.append(loss.hessian(y, f))
        assert np.isfinite(parts).all()
        if loss.convex:
            assert (np.diff(parts[1]) >= 0.0).all()


@pytest.mark.parametrize("loss", [losses.exponential, losses.poisson], ids=repr)
def test_beyond_the_exponential_value_slope_and_curvature_agree(loss):
    check_loss(loss, f=[-900.0, -501.0, -499.0, 499.0, 500.0, 501.0, 900.0])


def test_tails_keep_their_relative_precision():
    y, f = np.ones(3), np.array([40.0, 200.0, 700.0])
    np.testing.assert_allclose(losses.logistic.value(y, f), np.exp(-f), rtol=1e-14)
    np.testing.assert_allclose(losses.logistic.gradient(y, f), -np.exp(-f), rtol=1e-14)
    np.testing.assert_allclose(losses.sigmoid(-f), np.exp(-f), rtol=1e-14)


def test_values_by_hand():
    y, f = np.array([1.0, 1.0, -1.0, -1.0]), np.array([2.0, 0.5, 0.5, 0.0])  # z = 2, ½, −½, 0
    by_hand = {
        "zero_one": [0, 0, 1, 1],
        "perceptron": [0, 0, 0.5, 0],
        "hinge": [0, 0.5, 1.5, 1],
        "squared_hinge": [0, 0.25, 2.25, 1],
        "logistic": np.log1p(np.exp([-2.0, -0.5, 0.5, 0.0])),
        "exponential": np.exp([-2.0, -0.5, 0.5, 0.0]),
        "squared": [0.5, 0.125, 1.125, 0.5],
        "absolute": [1, 0.5, 1.5, 1],
    }
    for name, value in by_hand.items():
        np.testing.assert_allclose(losses.get(name).value(y, f), value, rtol=1e-15)
    np.testing.assert_allclose(losses.huber(1.0).value(y, f), [0.5, 0.125, 1.0, 0.5], rtol=1e-15)
    np.testing.assert_allclose(losses.quantile(0.9).value(y, f), [0.1, 0.45, 0.15, 0.1], rtol=1e-15)
    tube = losses.epsilon_insensitive(0.75)
    np.testing.assert_allclose(tube.value(y, f), [0.25, 0, 0.75, 0.25], rtol=1e-15)
    np.testing.assert_allclose(losses.poisson.value(y + 1, f), np.exp(f) - (y + 1) * f, rtol=1e-15)


def test_subgradient_at_the_kink():
    one = np.ones(1)
    assert losses.perceptron.gradient(one, 0.0 * one) == -1.0  # the perceptron moves at z = 0
    assert losses.hinge.gradient(one, one) == 0.0
    assert losses.absolute.gradient(one, one) == 0.0
    assert losses.quantile(0.9).gradient(one, one) == 0.0


PEERS = [
    (losses.squared, sklearn_losses.HalfSquaredError()),
    (losses.absolute, sklearn_losses.AbsoluteError()),
    (losses.quantile(0.8), sklearn_losses.PinballLoss(quantile=0.8)),
    (losses.huber(0.7), sklearn_losses.HuberLoss(delta=0.7)),
    (losses.logistic, sklearn_losses.HalfBinomialLoss()),
    (losses.poisson, sklearn_losses.HalfPoissonLoss()),
]


@pytest.mark.parametrize(("ours", "theirs"), PEERS, ids=lambda loss: repr(loss)[:20])
def test_agrees_with_scikit_learn(ours, theirs):
    rng = np.random.default_rng(1)
    y, f = targets(ours, rng, 200), rng.normal(size=200) * 4.0
    y_theirs = (y + 1.0) / 2.0 if ours.target == "sign" else y
    np.testing.assert_allclose(ours.value(y, f), theirs.loss(y_theirs, f), rtol=1e-12, atol=1e-13)
    g, h = theirs.gradient_hessian(y_theirs, f)
    np.testing.assert_allclose(ours.gradient(y, f), g, rtol=1e-12, atol=1e-13)
    if ours.hessian is not None:
        np.testing.assert_allclose(ours.hessian(y, f), h, rtol=1e-12, atol=1e-13)
    start = theirs.fit_intercept_only(y_theirs)
    best = np.full(200, ours.best_constant(y))  # theirs is approximate for huber and quantile
    assert ours(y, best) <= ours(y, np.full(200, float(start))) * (1.0 + 1e-12)
    np.testing.assert_allclose(ours.inverse_link(f), theirs.link.inverse(f), rtol=1e-12)


def test_exponential_agrees_with_scikit_learn():
    theirs = sklearn_losses.loss.ExponentialLoss()
    rng = np.random.default_rng(2)
    y, f = rng.choice([-1.0, 1.0], 100), rng.normal(size=100) * 3.0
    g, h = theirs.gradient_hessian((y + 1.0) / 2.0, f)
    np.testing.assert_allclose(losses.exponential.gradient(y, f), g, rtol=1e-12)
    np.testing.assert_allclose(losses.exponential.hessian(y, f), h, rtol=1e-12)
    np.testing.assert_allclose(
        losses.exponential.inverse_link(f), theirs.link.inverse(f), rtol=1e-12
    )


@pytest.mark.parametrize(
    "loss", [losses.squared, losses.squared_hinge, losses.logistic, losses.exponential], ids=repr
)
def test_link_of_the_best_constant_is_the_mean(loss):
    rng = np.random.default_rng(3)
    y, w = targets(loss, rng, 50), rng.random(50)
    mean = np.average((y + 1.0) / 2.0 if loss.target == "sign" else y, weights=w)
    np.testing.assert_allclose(loss.inverse_link(loss.best_constant(y, w)), mean, rtol=1e-12)


def test_link_of_counts_classes_and_quantiles():
    rng = np.random.default_rng(4)
    y, w = rng.poisson(3.0, 50), rng.random(50)
    mean = losses.poisson.inverse_link(losses.poisson.best_constant(y, w))
    np.testing.assert_allclose(mean, np.average(y, weights=w), rtol=1e-12)
    shares = losses.multinomial.inverse_link(losses.multinomial.best_constant(y % 3, w))
    np.testing.assert_allclose(shares, np.bincount(y % 3, w) / w.sum(), rtol=1e-12)
    assert losses.absolute.best_constant(y) == np.median(y)
    assert losses.absolute.best_constant([1.0, 2.0, 3.0, 10.0]) == 2.5
    x = rng.normal(size=101)
    assert losses.quantile(0.25).best_constant(x) == np.quantile(x, 0.25)


@pytest.mark.parametrize("loss", ["logistic", "exponential", "poisson", "squared_hinge", "hinge"])
def test_best_constant_of_one_class_is_finite(loss):
    loss = losses.get(loss)
    y = np.zeros(5) if loss.target == "count" else np.ones(5)
    assert np.isfinite(loss.best_constant(y))


@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_kernels_and_plain_python_give_the_numbers_of_arrays(loss):
    rng = np.random.default_rng(5)
    y, f = targets(loss, rng, 40), np.concatenate([rng.normal(size=37) * 5.0, [0.0, 600.0, -600.0]])
    g = loss.gradient(y, f)
    compiled = [
        losses.gradient_at(loss.code, *row, loss.parameter) for row in zip(y, f, strict=True)
    ]
    plain = [
        losses.gradient_at.py_func(loss.code, *row, loss.parameter)
        for row in zip(y, f, strict=True)
    ]
    np.testing.assert_allclose(compiled, g, rtol=1e-13, atol=1e-300)
    np.testing.assert_allclose(plain, g, rtol=1e-15)


def test_all_formulas_inline_in_a_kernel():
    """Value, gradient and hessian of every loss, summed by one compiled loop."""

    @kernel
    def sums(y, z, f, out):
        for i in range(len(f)):
            out[0] += formulas.logistic_value(z[i], f[i]) + formulas.logistic_hessian(z[i], f[i])
            out[1] += formulas.hinge_value(z[i], f[i]) + formulas.zero_one_value(z[i], f[i])
            out[2] += formulas.huber_value(y[i], f[i], 0.5) + formulas.huber_hessian(
                y[i], f[i], 0.5
            )
            out[3] += formulas.poisson_value(2.0, f[i]) + formulas.poisson_hessian(2.0, f[i])
            out[4] += formulas.exponential_value(z[i], f[i]) + formulas.sigmoid(f[i])
            out[5] += formulas.squared_hinge_value(z[i], f[i]) + formulas.half_shifted(f[i])
            out[6] += formulas.quantile_value(y[i], f[i], 0.3) + formulas.absolute_value(y[i], f[i])

    rng = np.random.default_rng(6)
    y, f = rng.normal(size=30), rng.normal(size=30)
    z = np.sign(y)
    compiled, plain = np.zeros(7), np.zeros(7)
    sums(y, z, f, compiled)
    sums.py_func(y, z, f, plain)
    np.testing.assert_allclose(compiled, plain, rtol=1e-13)
    np.testing.assert_allclose(
        compiled[0], (losses.logistic.value(z, f) + losses.logistic.hessian(z, f)).sum(), rtol=1e-13
    )


def test_pure_python_mode_gives_the_same_numbers():
    code = (
        "import numpy as np; from mlreplica import losses;"
        "y, f = np.array([1.0, -1.0]), np.array([0.3, 2.0]);"
        "print(*losses.logistic.gradient(y, f), losses.gradient_at(8, 0.0, 3.0, 1.5))"
    )
    env = {**os.environ, "MLREPLICA_PURE_PYTHON": "1"}
    run = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    y, f = np.array([1.0, -1.0]), np.array([0.3, 2.0])
    np.testing.assert_allclose(
        np.array(run.stdout.split(), dtype=float),
        [*losses.logistic.gradient(y, f), 1.5],
        rtol=1e-15,
    )


def test_multinomial_is_the_softmax_cross_entropy():
    rng = np.random.default_rng(7)
    y, F = rng.integers(0, 4, 30), rng.normal(size=(30, 4)) * 3.0
    loss = losses.multinomial
    theirs = sklearn_losses.HalfMultinomialLoss(n_classes=4)
    np.testing.assert_allclose(loss.value(y, F), theirs.loss(y.astype(float), F), rtol=1e-12)
    g, h = theirs.gradient_hessian(y.astype(float), F)
    np.testing.assert_allclose(loss.gradient(y, F), g, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(loss.hessian(y, F), h, rtol=1e-11, atol=1e-14)
    step = 1e-6 * np.eye(4)
    for j in range(4):
        slope = (loss.value(y, F + step[j]) - loss.value(y, F - step[j])) / 2e-6
        np.testing.assert_allclose(loss.gradient(y, F)[:, j], slope, atol=1e-8)
    assert np.isfinite(loss.value(y, 1e4 * F)).all()
    g, h = loss.derivatives(y, F, np.full(30, 2.0))
    np.testing.assert_allclose(g, 2.0 * loss.gradient(y, F), rtol=1e-13, atol=1e-300)
    np.testing.assert_allclose(h, 2.0 * loss.hessian(y, F), rtol=1e-12)
    backwards, _ = loss.derivatives(y[::-1], F[::-1])  # not contiguous
    np.testing.assert_allclose(backwards, g[::-1] / 2.0, rtol=1e-13, atol=1e-300)


def test_two_classes_of_the_multinomial_are_the_logistic_loss():
    rng = np.random.default_rng(8)
    y, f = rng.integers(0, 2, 20), rng.normal(size=20)
    two = losses.multinomial.value(y, np.column_stack([np.zeros(20), f]))
    np.testing.assert_allclose(two, losses.logistic.value(2.0 * y - 1.0, f), rtol=1e-12)


def log_cosh(y, f):
    return np.log(np.cosh(f - y))


def log_cosh_slope(y, f):
    return np.tanh(f - y)


def test_a_loss_of_the_users_own_passes_the_same_contract():
    own = Loss(log_cosh, log_cosh_slope, name="log cosh", lipschitz=1.0, curvature=1.0)
    contract.satisfy(own)
    assert losses.get(own) is own
    assert own.code == -1
    assert np.isnan(losses.gradient_at(own.code, 1.0, 2.0, 0.0))


def test_mean_loss_is_weighted():
    assert losses.squared([1, 2], [0, 0]) == 1.25
    assert losses.squared([1, 2], [0, 0], sample_weight=[1, 0]) == 0.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gradient": lambda y, f: -y / (1.0 + np.exp(np.minimum(f, 50.0)))}, "the gradient is"),
        ({"gradient": lambda y, f: 1.01 * formulas.logistic_gradient(y, f)}, "the gradient is"),
        ({"hessian": lambda y, f: formulas.logistic_hessian(y, f) + 0.001}, "the hessian is"),
        ({"gradient": lambda y, f: formulas.logistic_gradient(y, f).sum()}, "one number per row"),
        ({"value": lambda y, f: -y * f if y * f < 0 else 0.0}, "does not take arrays"),
        ({"value": lambda y, f: np.where(f > 20.0, np.nan, f)}, "value is nan at"),
        ({"lipschitz": 0.5}, "exceeds lipschitz = 0.5"),
        ({"curvature": 0.2}, "exceeds curvature = 0.2"),
    ],
)
def test_check_loss_finds_what_is_wrong(change, message):
    with pytest.raises(ValueError, match=message):
        check_loss(replace(losses.logistic, **change))


def test_check_loss_finds_a_loss_that_is_not_convex():
    wave = Loss(lambda y, f: np.sin(f - y), lambda y, f: np.cos(f - y))
    with pytest.raises(ValueError, match="declared convex"):
        check_loss(wave)
    check_loss(replace(wave, convex=False))


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [
        ("hinge", [0, 1], r"-1 or \+1 \(labels 0 and 1 become so by 2 \* y - 1\), got 0.0"),
        ("poisson", [1.0, -2.0], "finite and >= 0, got -2.0"),
        ("squared", [np.nan], "finite, got nan"),
        ("multinomial", [0.5, 1.0], "integers 0 … k - 1, got 0.5"),
    ],
)
def test_targets_outside_the_domain_are_named(loss, y, message):
    with pytest.raises(ValueError, match=message):
        losses.get(loss).check_target(y)


def test_get():
    assert losses.get("huber", delta=2.0) == losses.huber(2.0) != losses.huber(1.0)
    assert losses.get("log_loss") is losses.logistic
    assert repr(losses.get("quantile", q=0.9)) == "<quantile(q=0.9)>"
    with pytest.raises(ValueError, match="unknown loss 'huberr'; use a Loss or one of absolute, "):
        losses.get("huberr")
    with pytest.raises(ValueError, match="hinge has no parameters, got delta"):
        losses.get("hinge", delta=1.0)
    for make, wrong in (
        (losses.huber, 0.0),
        (losses.quantile, 1.0),
        (losses.epsilon_insensitive, -1),
    ):
        with pytest.raises(ValueError, match=f"got {wrong}"):
            make(wrong)
    with pytest.raises(ValueError, match="no row with a positive weight"):
        losses.squared.best_constant([1.0], [0.0])
