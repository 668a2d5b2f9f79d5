"""Random numbers of the kernels: the naive generator's words, and the right distributions"""

import numpy as np
import pytest
from scipy import stats

from mlreplica.mcmc.random import R, exponential, gamma, next_word, normal, seeds, uniform

LEVEL, MASK = 1e-4, 2**64 - 1


def new_words(seed=0):
    return np.random.SeedSequence(seed).generate_state(4, np.uint64)


def naive_words(state, n):
    """xoshiro256++ as its authors write it, in integers of Python."""

    def rotate(x, k):
        return (x << k | x >> 64 - k) & MASK

    s, found = [int(word) for word in state], []
    for _ in range(n):
        found.append((rotate((s[0] + s[3]) & MASK, 23) + s[0]) & MASK)
        t = s[1] << 17 & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotate(s[3], 45)
    return found


def test_words_are_those_of_the_naive_generator():
    words = new_words()
    expected = naive_words(words, 200)
    assert [int(np.uint64(next_word(words))) for _ in range(200)] == expected


def drawn(function, n=20_000, *args):
    words = new_words(1)
    return np.array([function(words, *args) for _ in range(n)])


def test_uniform_and_exponential_numbers():
    u = drawn(uniform)
    assert 0.0 <= u.min() < u.max() < 1.0
    assert stats.kstest(u, "uniform").pvalue > LEVEL
    assert stats.kstest(drawn(exponential), "expon").pvalue > LEVEL


def test_normal_numbers_and_their_tail():
    z = drawn(normal, 200_000)
    assert stats.kstest(z, "norm").pvalue > LEVEL
    for edge in (1.0, 2.5, R):  # inside, near the end of the layers, beyond them
        expected = 2 * stats.norm.sf(edge) * len(z)
        assert abs((np.abs(z) > edge).sum() - expected) < 4.5 * np.sqrt(expected)
    assert abs(stats.skew(z)) < 5 * np.sqrt(6 / len(z))
    assert abs(stats.kurtosis(z)) < 5 * np.sqrt(24 / len(z))


@pytest.mark.parametrize("shape", [0.3, 1.0, 7.5])
def test_gamma_numbers(shape):
    assert stats.kstest(drawn(gamma, 10_000, shape), stats.gamma(shape).cdf).pvalue > LEVEL


def test_chains_have_seeds_of_their_own_from_whatever_is_given():
    for state in (3, np.random.SeedSequence(3), np.random.RandomState(3), np.random.default_rng(3)):
        words = [tuple(child.generate_state(4)) for child in seeds(state, 5)]
        assert len(set(words)) == 5
    again = [tuple(child.generate_state(4)) for child in seeds(3, 5)]
    assert again == [tuple(child.generate_state(4)) for child in seeds(3, 5)]
