"""Supports: maps and back, their volumes, their gradients"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlreplica.mcmc import cholesky, interval, ordered, positive, real, simplex
from mlreplica.mcmc.parameters import Layout, constrain, pull_back

SUPPORTS = {
    "real": real(3),
    "positive": positive(2),
    "interval": interval(-1.0, 4.0, 2),
    "above": interval(2.0, np.inf),
    "below": interval(-np.inf, -3.0, 2),
    "ordered": ordered(4),
    "simplex": simplex(4),
    "cholesky": cholesky(3),
}
BENT = [name for name in SUPPORTS if name != "real"]


def mapped(layout, u):
    theta = np.empty(layout.size)
    return theta, constrain(layout.blocks, layout.bounds, u, theta)


def free_coordinates(name, theta):
    """The coordinates of θ whose Lebesgue measure the density is with respect to."""
    if name == "simplex":
        return theta[:-1]
    if name == "cholesky":
        return theta.reshape(3, 3)[np.tril_indices(3)]
    return theta


def jacobian(name, layout, u, h=1e-6):
    columns = []
    for j in range(len(u)):
        up, down = u.copy(), u.copy()
        up[j] += h
        down[j] -= h
        columns.append(
            free_coordinates(name, (mapped(layout, up)[0] - mapped(layout, down)[0]) / (2 * h))
        )
    return np.array(columns).T


@pytest.mark.parametrize("name", BENT)
@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000))
def test_the_volume_is_that_of_differences(name, seed):
    layout = Layout({name: SUPPORTS[name]})
    u = np.random.default_rng(seed).uniform(-2, 2, layout.free)
    expected = np.linalg.slogdet(jacobian(name, layout, u))[1]
    assert mapped(layout, u)[1] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("name", BENT)
@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000))
def test_the_gradient_is_pulled_back(name, seed):
    layout = Layout({name: SUPPORTS[name], "more": positive()})
    rng = np.random.default_rng(seed)
    u, slope = rng.uniform(-2, 2, layout.free), rng.normal(size=layout.size)

    def value(u):
        theta, log_volume = mapped(layout, u)
        return slope @ theta + log_volume

    g, theta = np.empty(layout.free), mapped(layout, u)[0]
    pull_back(layout.blocks, layout.bounds, u, theta, slope, g)
    steps = 1e-6 * np.eye(layout.free)
    expected = [(value(u + s) - value(u - s)) / 2e-6 for s in steps]
    np.testing.assert_allclose(g, expected, rtol=1e-5, atol=1e-6)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10_000))
def test_there_and_back(seed):
    layout = Layout(SUPPORTS)
    u = np.random.default_rng(seed).uniform(-3, 3, layout.free)
    theta = layout.natural(u)
    np.testing.assert_allclose(layout.unconstrained(theta), u, rtol=1e-6, atol=1e-6)
    parts = {name: theta[at] for name, at in layout.places.items()}
    assert (parts["positive"] > 0).all()
    assert ((parts["interval"] > -1) & (parts["interval"] < 4)).all()
    assert (parts["below"] < -3).all()
    assert (parts["above"] > 2).all()
    assert (np.diff(parts["ordered"]) > 0).all()
    assert parts["simplex"].sum() == pytest.approx(1.0)
    L = parts["cholesky"].reshape(3, 3)
    assert (np.diag(L) > 0).all()
    assert not np.triu(L, 1).any()


def test_names():
    layout = Layout({"mu": real(), "theta": real(2), "L": cholesky(2)})
    assert layout.labels == ["mu", "theta[0]", "theta[1]", "L[0,0]", "L[0,1]", "L[1,0]", "L[1,1]"]
    assert (layout.size, layout.free) == (7, 6)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("positive", [1.0, -1.0]),
        ("interval", [0.0, 5.0]),
        ("ordered", [0.0, 1.0, 1.0, 2.0]),
        ("simplex", [0.5, 0.5, 0.5, 0.5]),
        ("cholesky", [1.0, 1.0, 0, 0, 1, 0, 0, 0, 1]),
    ],
)
def test_a_start_outside_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=rf"start {name} = .*support"):
        Layout({name: SUPPORTS[name]}).unconstrained(np.array(value))


def test_what_is_no_support():
    with pytest.raises(TypeError, match="must be a support"):
        Layout({"mu": 3.0})
    with pytest.raises(ValueError, match="low < high"):
        interval(1.0, 1.0)
    for make, told in (
        (lambda: simplex(1), "simplex needs a size of at least 2, got 1"),
        (lambda: simplex((2, 3)), "simplex needs a size"),
        (lambda: ordered(0), "ordered needs a size of at least 1"),
        (lambda: cholesky(0), "cholesky needs a size of at least 1"),
        (lambda: positive(-1), "integers above 0, got -1"),
    ):
        with pytest.raises(ValueError, match=told):
            make()
