"""What every loss must satisfy, ours or a user's: `satisfy(loss)` runs all of it."""

import pickle

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from mlreplica.losses import Loss, check_loss

scores = st.floats(-30.0, 30.0)
TARGETS = {
    "real": st.floats(-15.0, 15.0),
    "sign": st.sampled_from([-1.0, 1.0]),
    "count": st.integers(0, 50).map(float),
}


def samples(loss: Loss, least=1):
    """Hypothesis strategy: a list of (y, weight) with at least one positive weight."""
    pairs = st.tuples(TARGETS[loss.target], st.integers(0, 4))
    return st.lists(pairs, min_size=least, max_size=12).filter(lambda s: any(w for _, w in s))


def slopes_agree(loss):
    """Gradient and hessian are the slopes that differences of value and gradient find."""

    @settings(deadline=None, max_examples=60)
    @given(y=TARGETS[loss.target], f=scores)
    def property_(y, f):
        check_loss(loss, y=[y], f=[f])

    property_()
    check_loss(loss)


def convex_along_chords(loss):
    """L(y, ta + (1−t)b) ≤ t·L(y, a) + (1−t)·L(y, b), if the loss says so."""

    @settings(deadline=None, max_examples=100)
    @given(y=TARGETS[loss.target], a=scores, b=scores, t=st.floats(0.0, 1.0))
    def property_(y, a, b, t):
        y, f = np.full(3, y), np.array([a, b, t * a + (1.0 - t) * b])
        ends = loss.value(y, f)
        chord = t * ends[0] + (1.0 - t) * ends[1]
        assert ends[2] <= chord + 1e-9 * (1.0 + np.abs(ends).max())

    if loss.convex:
        property_()


def best_constant_is_best(loss):
    """No other constant has a smaller weighted mean loss; weights are repetitions."""

    @settings(deadline=None, max_examples=40)
    @given(sample=samples(loss))
    def property_(sample):
        y, w = np.array(sample, dtype=float).T
        best = loss.best_constant(y, sample_weight=w)

        def mean_loss(f):
            return np.average(loss.value(y, np.full(len(y), f)), weights=w)

        found = minimize_scalar(mean_loss, bounds=(-18.0, 18.0), method="bounded")
        assert mean_loss(best) <= found.fun + 1e-9 * (1.0 + abs(found.fun))
        repeated = np.repeat(y, w.astype(int))
        np.testing.assert_allclose(loss.best_constant(repeated), best, rtol=1e-9, atol=1e-9)

    property_()


def arrays_are_rows(loss):
    """Shapes broadcast, and a row's numbers do not depend on the other rows."""
    rng = np.random.default_rng(0)
    y = {"real": rng.normal(size=9000), "sign": rng.choice([-1.0, 1.0], 9000)}.get(
        loss.target, rng.poisson(3.0, 9000).astype(float)
    )
    f, weight = rng.normal(size=9000), rng.random(9000)
    for function in filter(None, (loss.value, loss.gradient, loss.hessian)):
        whole = function(y, f)
        assert whole.shape == f.shape
        np.testing.assert_allclose(whole[5:6], function(y[5:6], f[5:6]), rtol=1e-12)
    g, h = loss.derivatives(y, f, weight)
    np.testing.assert_allclose(g, weight * loss.gradient(y, f), rtol=1e-13, atol=1e-300)
    expected = 0.0 if loss.hessian is None else weight * loss.hessian(y, f)
    np.testing.assert_allclose(h, np.broadcast_to(expected, h.shape), rtol=1e-13, atol=1e-300)


def survives_pickle(loss):
    """Equal, with the same hash, after a round trip."""
    copy = pickle.loads(pickle.dumps(loss))
    assert copy == loss
    assert hash(copy) == hash(loss)


def satisfy(loss: Loss) -> None:
    """Raise if `loss` breaks any part of the contract of a loss with one score per row."""
    slopes_agree(loss)
    convex_along_chords(loss)
    best_constant_is_best(loss)
    arrays_are_rows(loss)
    survives_pickle(loss)
