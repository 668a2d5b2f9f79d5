"""The four functions against the enumeration of all paths, in exact fractions"""

from fractions import Fraction
from itertools import islice, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mlreplica.sequence import backward, baum_welch, forward, viterbi


def exact(rng, K, T):
    """π, A and B as fractions; some transitions are impossible."""

    def row():
        parts = [int(v) for v in rng.integers(0, 4, size=K)]
        parts[rng.integers(K)] += 1
        return [Fraction(v, sum(parts)) for v in parts]

    pi, A = np.array(row()), np.array([row() for _ in range(K)])
    B = np.array([[Fraction(int(v), 7) for v in rng.integers(1, 7, size=K)] for _ in range(T)])
    return pi, A, B


def paths(pi, A, B):
    """Every path and its probability, by definition (1)."""
    T, K = B.shape
    for z in product(range(K), repeat=T):
        p = pi[z[0]] * B[0, z[0]]
        for t in range(1, T):
            p *= A[z[t - 1], z[t]] * B[t, z[t]]
        yield z, p


cases = given(seed=st.integers(0, 10**6), K=st.integers(1, 3), T=st.integers(1, 5))


@cases
@settings(max_examples=40, deadline=None)
def test_likelihood_and_posteriors_are_sums_over_paths(seed, K, T):
    pi, A, B = exact(np.random.default_rng(seed), K, T)
    total = sum(p for _, p in paths(pi, A, B))
    found, beta = forward(pi, A, B, space="plain"), backward(A, B, space="plain")
    assert found.log_likelihood == total  # fractions: equal to the last digit
    for t in range(T):
        for i in range(K):
            share = sum(p for z, p in paths(pi, A, B) if z[t] == i)
            assert found.alpha[t, i] * beta[t, i] == share


@cases
@settings(max_examples=40, deadline=None)
def test_viterbis_path_is_the_best_of_all(seed, K, T):
    pi, A, B = exact(np.random.default_rng(seed), K, T)
    best = max(p for _, p in paths(pi, A, B))
    found = viterbi(pi, A, B, space="plain")
    assert found.log_probability == best
    assert dict(paths(pi, A, B))[tuple(found.states)] == best


@cases
@settings(max_examples=40, deadline=None)
def test_scaled_and_logarithmic_agree_with_exact(seed, K, T):
    pi, A, B = exact(np.random.default_rng(seed), K, T)
    exactly = forward(pi, A, B, space="plain")
    if exactly.log_likelihood == 0:
        return
    pi, A, B = (a.astype(float) for a in (pi, A, B))
    scaled, logs = forward(pi, A, B), forward(pi, A, np.log(B), space="log")
    assert_allclose(scaled.log_likelihood, np.log(float(exactly.log_likelihood)), atol=1e-12)
    assert_allclose(logs.log_likelihood, scaled.log_likelihood, atol=1e-12)
    gamma = scaled.alpha * backward(A, B, scaled.scale)
    log_gamma = logs.alpha + backward(A, np.log(B), space="log") - logs.log_likelihood
    assert_allclose(gamma.sum(axis=1), 1, rtol=1e-12)
    assert_allclose(np.exp(log_gamma), gamma, atol=1e-12)
    assert_allclose(
        viterbi(pi, A, np.log(B)).log_probability,
        np.log(float(viterbi(*exact(np.random.default_rng(seed), K, T), space="plain")[1])),
        atol=1e-12,
    )


@given(seed=st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_baum_welch_never_loses_likelihood_and_keeps_zeros(seed):
    rng = np.random.default_rng(seed)
    K, M, T = 3, 4, 30
    pi, A, b = (rng.dirichlet(np.ones(m), size=k) for m, k in ((K, 1), (K, K), (M, K)))
    A[0, 2] = 0
    A[0] /= A[0].sum()
    steps = list(islice(baum_welch(rng.integers(0, M, T), pi[0], A, b), 12))
    values = [step.log_likelihood for step in steps]
    assert np.diff(values).min() > -1e-10
    assert steps[-1].transmat[0, 2] == 0
    assert_allclose(steps[-1].transmat.sum(axis=1), 1)


def test_one_step_of_baum_welch_counts_what_the_paths_expect():
    pi, A, B = exact(np.random.default_rng(3), 2, 5)
    x = np.array([0, 1, 1, 0, 2])
    b = np.array(
        [[Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)], [Fraction(1, 5)] * 2 + [Fraction(3, 5)]]
    )
    B = b[:, x].T
    weighted = list(paths(pi, A, B))
    total = sum(p for _, p in weighted)
    moves = np.zeros((2, 2))
    for z, p in weighted:
        for t in range(4):
            moves[z[t], z[t + 1]] += float(p / total)
    found = list(islice(baum_welch(x, *(a.astype(float) for a in (pi, A, b))), 2))[1]
    assert_allclose(found.transmat, moves / moves.sum(axis=1, keepdims=True), rtol=1e-12)


@pytest.mark.parametrize("space", ["scaled", "log"])
def test_a_million_steps_stay_finite(space):
    T = 20_000  # the estimators go to a million
    B = np.tile([[0.9, 0.2], [0.1, 0.8]], (T // 2, 1))
    B = np.log(B) if space == "log" else B
    found = forward([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], B, space=space)
    assert np.isfinite(found.log_likelihood)
    assert found.log_likelihood < -1000
