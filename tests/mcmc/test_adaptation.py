"""What the warm-up learns: covariances of windows, whatever the blocks"""

import subprocess
import sys

import numpy as np
import pytest

from mlreplica.mcmc.adaptation import BATCH, covariance_factor, learn, new_window, window_ends


def learned(draws, blocks, full):
    """The factors at the ends of the windows of a warm-up that advances in these blocks."""
    d = draws.shape[1]
    chain, found, at = {**new_window(d, full), "at": 0}, [], 0

    def walk(out):
        out[:] = draws[chain["at"] : chain["at"] + len(out)]
        chain["at"] += len(out)

    for n in blocks:
        learn(chain, window_ends(len(draws)), at, n, walk, found.append)
        at += n
    return found


@pytest.mark.parametrize("full", [True, False])
def test_windows_do_not_depend_on_blocks_and_find_the_covariance(full):
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(2000, 3)) @ np.array([[1.0, 0.5, 0.0], [0.0, 2.0, 0.3], [0, 0, 1]])
    once = learned(draws, [2000], full)
    often = learned(draws, [1, 49, 2, BATCH - 53, 777, 2000 - BATCH - 776], full)
    for a, b in zip(once, often, strict=True):
        np.testing.assert_array_equal(a, b)
    ends = window_ends(2000)
    assert len(once) == len(ends)
    last = draws[ends[-2] : ends[-1]]
    S = np.cov(last.T)
    found = once[-1] @ once[-1].T if full else np.diag(once[-1][0] ** 2)
    share = len(last) / (len(last) + 15.0)
    expected = np.where(np.eye(3), S, share * S) if full else np.diag(np.diag(S))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-14)


def test_a_covariance_that_is_none_leaves_the_metric():
    assert covariance_factor(np.eye(2), 3) is None
    assert covariance_factor(np.array([1.0, 0.0]), 100) is None
    assert covariance_factor(np.array([[1.0, 2.0], [2.0, 1.0]]) * 99, 100) is None
    assert covariance_factor(np.array([1.0, np.nan]), 100) is None


def test_samplers_start_without_scikit_learn():
    text = (
        "import sys; from mlreplica.mcmc import NUTS, Gibbs, MetropolisHastings, Slice, HMC;"
        "MetropolisHastings(lambda x: -x[0] ** 2).sample([0.0], 100, n_warmup=9, random_state=0);"
        "assert 'sklearn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", text], check=True, timeout=300)
