"""Hidden Markov models: enumeration, monotone likelihood, gaps, labels, weights, hard cases"""

import pickle
import warnings
from math import fsum

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_pipeline_consistency, parametrize_with_checks

import mlreplica
from mlreplica.datasets import load_earthquakes
from mlreplica.sequence import (
    GMMHMM,
    CategoricalHMM,
    GaussianHMM,
    MultinomialHMM,
    NegativeBinomialHMM,
    PoissonHMM,
    backward,
    forward,
    viterbi,
)
from mlreplica.sequence._lattice import walk_lattice
from mlreplica.sequence._paths import best_of_lattice, decode_lattice

from .test_textbook import exact, paths

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def data(kind, n=120, seed=0):
    """Rows that suit a model, from two regimes."""
    rng = np.random.default_rng(seed)
    z = np.repeat([0, 1, 0, 1], n // 4)
    if kind is CategoricalHMM:
        return np.where(rng.random(n) < 0.8, z * 2, rng.integers(0, 4, n))[:, None]
    if kind is MultinomialHMM:
        return np.array([rng.multinomial(8, [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]][k]) for k in z])
    if kind in (PoissonHMM, NegativeBinomialHMM):
        return rng.poisson(np.array([[2, 9], [8, 3]])[z] * rng.gamma(5, 0.2, size=(n, 2)))
    return rng.normal(size=(n, 2)) + np.array([[0, 0], [2.5, -1]])[z]


def models():
    """Every kind of emission."""
    found = [CategoricalHMM(2), MultinomialHMM(2), PoissonHMM(2), NegativeBinomialHMM(2)]
    found += [GaussianHMM(2, kind) for kind in ("spherical", "diag", "full", "tied")]
    return found + [
        GMMHMM(2, 2, covariance_type=kind) for kind in ("spherical", "diag", "full", "tied")
    ]


names = lambda m: f"{type(m).__name__}-{getattr(m, 'covariance_type', '')}"
every = pytest.mark.parametrize("model", models(), ids=names)


@given(seed=st.integers(0, 10**6), K=st.integers(1, 3), T=st.integers(1, 5), log=st.booleans())
@settings(max_examples=60, deadline=None)
def test_lattice_equals_enumeration(seed, K, T, log):
    pi, A, B = exact(np.random.default_rng(seed), K, T)
    weighted = list(paths(pi, A, B))
    total = sum(p for _, p in weighted)
    pi, A, B = (a.astype(float) for a in (pi, A, B))
    offsets = np.array([0, T])
    found = walk_lattice(pi, A, np.log(B), offsets, smooth=True, log=log)
    if total == 0:
        assert found.log_likelihoods[0] == -np.inf
        return
    assert_allclose(found.log_likelihoods[0], np.log(float(total)), atol=1e-12)
    gamma, moves = np.zeros((T, K)), np.zeros((K, K))
    for z, p in weighted:
        share = float(p / total)
        gamma[np.arange(T), z] += share
        np.add.at(moves, (z[:-1], z[1:]), share)
    assert_allclose(found.gamma, gamma, atol=1e-12)
    assert_allclose(found.transitions, moves, atol=1e-12)
    assert_allclose(found.start, gamma[0], atol=1e-12)
    best = sorted((float(p) for _, p in weighted if p > 0), reverse=True)
    totals, states = decode_lattice(pi, A, np.log(B), offsets)
    assert_allclose(totals[0], np.log(best[0]), atol=1e-12)
    assert_allclose(float(dict(weighted)[tuple(states)]), best[0], rtol=1e-12)
    scores, several = best_of_lattice(pi, A, np.log(B), 4)
    assert_allclose(np.exp(scores), best[:4], rtol=1e-10)
    assert len({tuple(z) for z in several}) == len(several) == min(4, len(best))


def test_filtered_probabilities_are_those_of_shorter_sequences():
    model = GaussianHMM(3, random_state=0).fit(data(GaussianHMM))
    X = data(GaussianHMM, seed=1)[:9]
    filtered = model.filter_proba(X)
    for t in range(1, 10):
        assert_allclose(filtered[t - 1], model.predict_proba(X[:t])[-1], atol=1e-12)
    assert_allclose(model.score_next(X).sum(), model.score(X), rtol=1e-12)
    assert_allclose(model.score_next(X)[4], model.score(X[:5]) - model.score(X[:4]), rtol=1e-9)
    assert_allclose(
        model.forecast_proba(X, steps=2)[0], filtered[-1] @ model.transmat_ @ model.transmat_
    )


def test_kernels_agree_with_the_textbook():
    rng = np.random.default_rng(0)
    pi, A = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4), size=4)
    log_b = rng.normal(size=(300, 4)) * 20 - 500
    offsets = np.array([0, 1, 120, 300])
    found = walk_lattice(pi, A, log_b.copy(), offsets, smooth=True)
    totals, states = decode_lattice(pi, A, log_b.copy(), offsets)
    for s in range(3):
        rows = slice(offsets[s], offsets[s + 1])
        plain = forward(pi, A, log_b[rows], space="log")
        gamma = plain.alpha + backward(A, log_b[rows], space="log") - plain.log_likelihood
        assert_allclose(found.log_likelihoods[s], plain.log_likelihood, rtol=1e-12)
        assert_allclose(found.gamma[rows], np.exp(gamma), atol=1e-9)
        assert_array_equal(states[rows], viterbi(pi, A, log_b[rows]).states)
        assert_allclose(totals[s], viterbi(pi, A, log_b[rows]).log_probability, rtol=1e-12)


@given(seed=st.integers(0, 10**6), K=st.integers(1, 19), T=st.integers(1, 12), sparse=st.booleans())
@settings(max_examples=60, deadline=None)
def test_both_ends_meet_where_logarithms_say(seed, K, T, sparse):
    rng = np.random.default_rng(seed)
    pi, A = rng.dirichlet(np.ones(K)), rng.dirichlet(np.ones(K), size=K)
    if sparse:
        A = np.triu(A) / np.triu(A).sum(axis=1, keepdims=True)
    log_b, offsets = 30 * rng.normal(size=(T + 3, K)), np.array([0, T, T + 3])
    options = {"smooth": True, "weights": np.array([2.0, 0.5])}
    found = walk_lattice(pi, A, log_b.copy(), offsets, **options)
    plain = walk_lattice(pi, A, log_b.copy(), offsets, log=True, **options)
    for name in ("log_likelihoods", "gamma", "start", "transitions"):
        assert_allclose(getattr(found, name), getattr(plain, name), rtol=1e-10, atol=1e-12)


def test_a_sequence_that_fails_in_its_second_half_is_done_again_as_it_was():
    pi, A = np.array([1.0, 0.0]), np.array([[0.5, 0.5], [0.0, 1.0]])
    log_b = np.zeros((13, 2))
    log_b[5:10, 0] = -200.0  # the first state is lost after the chains have met
    offsets = np.array([0, 10, 13])
    found = walk_lattice(pi, A, log_b.copy(), offsets, smooth=True)
    plain = walk_lattice(pi, A, log_b.copy(), offsets, smooth=True, log=True)
    assert_allclose(found.gamma, plain.gamma, atol=1e-12)
    assert_allclose(found.transitions, plain.transitions, atol=1e-12)


def test_scaling_loses_no_path_that_comes_back():
    """State 1 is 1e-320 as likely at first, and the only one that explains the end."""
    A, pi = np.eye(2), np.array([0.5, 0.5])
    log_b = np.array([[0.0, -740.0]] + [[-230.0, 0.0]] * 4)
    for log in (False, True):
        found = walk_lattice(pi, A, log_b.copy(), np.array([0, 5]), smooth=True, log=log)
        assert_allclose(found.log_likelihoods[0], np.log(0.5) - 740, rtol=1e-12)
        assert_allclose(found.gamma[:, 1], 1.0)


@every
def test_likelihood_never_falls(model):
    """With no priors, EM is monotone."""
    X = data(type(model))
    model = clone(model).set_params(n_iter=40, tol=-np.inf, random_state=3)
    if isinstance(model, GaussianHMM):
        model.set_params(covars_prior=0.0)
    model.fit(X, lengths=[50, 70])
    assert len(model.history_) == 40
    assert np.diff(model.history_).min() > -1e-7
    assert model.history_[-1] > model.history_[0]


def test_a_step_of_a_mixture_is_that_of_its_formulas():
    """In NumPy, by the definitions; hmmlearn's covariances are 0.18 away."""
    X, A, w = data(GaussianHMM), np.array([[0.8, 0.2], [0.3, 0.7]]), np.array([[0.6, 0.4]] * 2)
    means = np.array([[[0.0, 0.0], [1.0, 1.0]], [[2.0, 0.0], [0.0, 2.0]]])
    model = GMMHMM(2, 2, covariance_type="full", init_params="", n_iter=1)
    model.startprob_, model.transmat_, model.weights_ = [0.5, 0.5], A, w
    model.means_, model.covars_ = means, np.tile(np.cov(X.T), (2, 2, 1, 1))
    model.fit(X)
    density = stats.multivariate_normal.pdf
    part = [[w[k, m] * density(X, means[k, m], np.cov(X.T)) for m in (0, 1)] for k in (0, 1)]
    part = np.array(part)
    b = part.sum(axis=1)
    found = forward([0.5, 0.5], A, b.T)
    gamma = found.alpha * backward(A, b.T, found.scale)
    share = gamma.T[:, None] * part / b[:, None]
    total = share.sum(axis=2)
    assert_allclose(model.weights_, total / total.sum(axis=1, keepdims=True), rtol=1e-10)
    means = np.einsum("kmn,nd->kmd", share, X) / total[..., None]
    assert_allclose(model.means_, means, rtol=1e-10)
    off = X - means[:, :, None]
    scatter = np.einsum("kmn,kmnd,kmne->kmde", share, off, off)
    assert_allclose(model.covars_, scatter / total[..., None, None], rtol=1e-10)


def with_priors(model):
    """A copy with every prior that the model has, none of them weak."""
    matrices = getattr(model, "covariance_type", "") in ("full", "tied")
    priors = {"startprob_prior": 2.0, "transmat_prior": 3.0, "emissionprob_prior": 4.0}
    priors |= {"lambdas_prior": 5.0, "lambdas_weight": 2.0, "weights_prior": 3.0}
    priors |= {"means_prior": 1.0, "means_weight": 6.0}
    priors |= {"covars_prior": 9 * np.eye(2) if matrices else 9.0, "covars_weight": 7.0}
    return clone(model).set_params(**{k: v for k, v in priors.items() if hasattr(model, k)})


@every
@pytest.mark.parametrize("gaps", [False, True])
def test_with_priors_the_penalised_likelihood_never_falls(model, gaps):
    X = data(type(model)).astype(float)
    if gaps:
        X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    model = with_priors(model).set_params(n_iter=40, tol=-np.inf, random_state=3)
    model.fit(X, lengths=[50, 70])
    assert np.diff(model.history_).min() > -1e-7
    before = model.score(X, [50, 70]) + model._log_prior()
    assert_allclose(model.set_params(init_params="", n_iter=1).fit(X, [50, 70]).history_, before)


def test_a_likelihood_that_falls_for_the_prior_is_no_failure(caplog):
    X, found = np.ones((20, 2)), []
    for steps in (1, 2, 40):
        model = GaussianHMM(2, random_state=0, n_iter=steps, tol=1e-9).fit(X)
        found.append(model.score(X))
    assert found[1] < found[0] - 0.5
    assert found[2] > found[1] + 0.5  # it goes on
    assert np.diff(model.history_).min() > -1e-9
    assert not any("not converging" in text for text in caplog.messages)
    model.monitor_.report(0.0)
    assert "penalised log-likelihood fell" in caplog.messages[-1]


@every
def test_missing_values_are_marginalised(model):
    X = data(type(model)).astype(float)
    model = clone(model).set_params(n_iter=15, random_state=0)
    model.fit(X)
    gone = X.copy()
    gone[5] = np.nan
    assert np.isfinite(model.score(gone))
    K, log_b = model.n_components, model.log_density(model._encode(X)).copy()
    log_b[5] = 0.0
    found = walk_lattice(
        model.startprob_, model.transmat_, log_b, np.array([0, len(X)]), smooth=True
    )
    assert_allclose(model.predict_proba(gone), found.gamma, atol=1e-10)
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    if isinstance(model, GaussianHMM):
        model.set_params(covars_prior=0.0)
    refit = clone(model).set_params(tol=-np.inf, n_iter=15).fit(holes)
    assert np.diff(refit.history_).min() > -1e-7
    assert K == 2


def test_missing_columns_of_a_full_covariance_are_those_of_the_marginal():
    model = GaussianHMM(2, "full", random_state=0).fit(data(GaussianHMM))
    X = data(GaussianHMM, seed=5)
    X[:, 1] = np.nan
    part = GaussianHMM(2, "full")
    part.startprob_, part.transmat_ = model.startprob_, model.transmat_
    part.means_, part.covars_ = model.means_[:, :1], model.covars_[:, :1, :1]
    assert_allclose(model.score(X), part.score(X[:, :1]), rtol=1e-12)


@every
def test_densities_are_those_of_scipy(model):
    X = data(type(model))
    model = clone(model).set_params(n_iter=5, random_state=0).fit(X)
    rows = model._encode(X.astype(float))
    found = model.log_density(rows) + model._row_measure(rows)[:, None]
    for k in range(2):
        if isinstance(model, CategoricalHMM):
            expected = np.log(model.emissionprob_[k, X[:, 0]])
        elif isinstance(model, MultinomialHMM):
            expected = stats.multinomial.logpmf(X, X.sum(axis=1), model.emissionprob_[k])
        elif isinstance(model, PoissonHMM):
            expected = stats.poisson.logpmf(X, model.lambdas_[k]).sum(axis=1)
        elif isinstance(model, NegativeBinomialHMM):
            r, lam = model.dispersions_[k], model.lambdas_[k]
            expected = stats.nbinom.logpmf(X, r, r / (r + lam)).sum(axis=1)
        elif isinstance(model, GaussianHMM):
            expected = stats.multivariate_normal.logpdf(X, model.means_[k], model.covars_[k])
        else:
            parts = []
            for m in range(2):
                tied = model.covariance_type == "tied"
                spread = model.covars_[k] if tied else model.covars_[k, m]
                S = spread if np.ndim(spread) == 2 else np.eye(2) * spread
                parts.append(
                    model.weights_[k, m] * stats.multivariate_normal.pdf(X, model.means_[k, m], S)
                )
            expected = np.log(sum(parts))
        assert_allclose(found[:, k], expected, rtol=1e-9, atol=1e-9)


# Zucchini, MacDonald: Hidden Markov Models for Time Series (2009), tables 4.1 and 4.2: what EM has
# found after some steps for the earthquakes, from rates 10, 30 and 10, 20, 30.
TWO = {
    0: (413.27542, [10.0, 30.0], 0.5),
    1: (343.76023, [13.742, 24.169], 0.99963),
    2: (343.13618, [14.090, 24.061], 1.0),
    30: (341.87871, [15.419, 26.014], 1.0),
    50: (341.87870, [15.421, 26.018], 1.0),
}
THREE = {
    0: (342.90781, [10.0, 20.0, 30.0], 0.33333),
    1: (332.12143, [11.699, 19.030, 29.741], 0.92471),
    2: (330.63689, [12.265, 19.078, 29.581], 0.99588),
    30: (328.52748, [13.134, 19.713, 29.710], 1.0),
}


@pytest.mark.parametrize("published", [TWO, THREE], ids=["two", "three"])
def test_steps_of_em_are_those_of_a_textbook(published):
    X, K = load_earthquakes(), len(published[0][1])
    for steps, (lost, rates, first) in published.items():
        model = PoissonHMM(K, init_params="", tol=-np.inf, n_iter=steps)
        model.startprob_, model.lambdas_ = np.full(K, 1 / K), np.array(published[0][1])[:, None]
        model.transmat_ = np.full((K, K), 0.1) + np.eye(K) * (1 - 0.1 * K)
        model.fit(X)
        assert_allclose(-model.score(X), lost, atol=6e-6)
        assert_allclose(model.lambdas_[:, 0], rates, atol=6e-4)
        assert_allclose(model.startprob_[0], first, atol=6e-6)


@every
def test_explanations_add_up_to_the_score_of_the_path(model):
    X = data(type(model))
    model = clone(model).set_params(n_iter=5, random_state=0).fit(X)
    found = model.explain(X, [50, 70])
    total, states = model.decode(X, [50, 70])
    assert_array_equal(found["state"], states)
    assert_allclose(found["transition"].sum() + found["emission"].sum(), total, rtol=1e-12)
    gamma, rows = model.predict_proba(X, [50, 70]), np.arange(len(X))
    assert_array_equal(found["probability"], gamma[rows, states])
    assert_array_equal(found["other"], 1 - states)
    b = model.log_density(model._encode(X.astype(float)))
    assert_allclose(found["evidence"], b[rows, states] - b[rows, 1 - states], rtol=1e-12)


def test_supervised_counts_and_means():
    X, y = data(GaussianHMM), np.repeat([0, 1, 0, 1], 30)
    model = GaussianHMM(2, covars_prior=0.0).fit(X, y)
    assert model.n_iter_ == 1
    assert_allclose(model.means_, [X[y == k].mean(axis=0) for k in (0, 1)])
    assert_allclose(model.transmat_, [[58 / 60, 2 / 60], [1 / 59, 58 / 59]])
    assert_array_equal(model.startprob_, [1, 0])
    some = np.where(np.arange(120) % 7 == 0, y, -1)
    half = GaussianHMM(2, random_state=0).fit(X, some)
    assert (half.predict(X) == y).mean() > 0.9
    assert_array_equal(half.n_iter_ > 1, True)
    with pytest.raises(ValueError, match="0 to 1, or −1"):
        model.fit(X, y + 1)


def test_sequences_in_every_form_give_the_same():
    pd = pytest.importorskip("pandas")
    X = data(GaussianHMM)
    parts = [X[:60], X[60:]]
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(who=np.repeat(["u", "v"], 60))
    ways = [
        lambda m: m.fit(X, [60, 60]),
        lambda m: m.fit(X, lengths=[60, 60]),
        lambda m: m.fit(parts),
        lambda m: m.fit(np.stack(parts)),
        lambda m: m.fit(frame, lengths="who"),
    ]
    found = [way(GaussianHMM(2, random_state=0)) for way in ways]
    for model in found[1:]:
        assert_allclose(model.means_, found[0].means_, rtol=1e-12)
        assert_allclose(model.transmat_, found[0].transmat_, rtol=1e-12)
    assert_array_equal(found[4].predict(frame, lengths="who"), found[0].predict(X, [60, 60]))
    with pytest.raises(ValueError, match="must stand together"):
        found[4].predict(frame.iloc[[0, 100, 1]], lengths="who")


@every
def test_weights_repeat_sequences(model):
    X = data(type(model))
    a, b, c = X[:40], X[40:80], X[80:]
    model = clone(model).set_params(n_iter=4, tol=-np.inf, random_state=0).fit(X)
    model.set_params(init_params="")
    twice = clone_with(model).fit([a, b, b])
    weighted = clone_with(model).fit([a, b, c], sample_weight=[1, 2, 0])
    assert_allclose(weighted.transmat_, twice.transmat_, rtol=1e-8)
    assert_allclose(weighted.history_, twice.history_, rtol=1e-10)


def clone_with(model):
    """A copy, with its parameters."""
    return pickle.loads(pickle.dumps(model))


def test_several_starts_keep_the_best():
    X = data(CategoricalHMM)
    model = CategoricalHMM(3, n_init=6, random_state=0).fit(X)
    assert len(model.start_log_likelihoods_) == 6
    assert_allclose(model.score(X), model.start_log_likelihoods_.max(), rtol=1e-9)


def test_topologies_are_kept_exactly():
    X = data(GaussianHMM)
    model = GaussianHMM(3, topology="left-right", random_state=0, transmat_prior=2.0).fit(X)
    assert (np.tril(model.transmat_, -1) == 0).all()
    assert_array_equal(model.startprob_, [1, 0, 0])
    mask = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], dtype=bool)
    model = GaussianHMM(3, topology=mask, random_state=0, n_iter=20).fit(X)
    assert (model.transmat_[~mask] == 0).all()


@pytest.mark.slow
def test_a_million_steps_are_right():
    rng = np.random.default_rng(0)
    A, means = np.array([[0.99, 0.01], [0.02, 0.98]]), np.array([[0.0], [3.0]])
    model = GaussianHMM(2)
    model.startprob_, model.transmat_, model.means_, model.covars_ = (
        [0.5, 0.5],
        A,
        means,
        [[1.0], [1.0]],
    )
    x = rng.normal(size=(1_000_000, 1)) + 3 * (np.arange(1_000_000)[:, None] // 100 % 2)
    total, gamma = model.score_samples(x)
    assert_allclose(gamma.sum(axis=1), 1, atol=1e-9)
    model.implementation = "log"
    assert_allclose(total, model.score(x), rtol=1e-11)
    model.implementation, model.transmat_ = "scaling", np.full((2, 2), 0.5)  # independent rows
    terms = np.log(0.5) + stats.norm.logpdf(x, means.T)
    independent = fsum(np.logaddexp.reduce(terms, axis=1))
    assert_allclose([model.score(x), model.score_next(x).sum()], independent, rtol=1e-12)
    assert_array_equal(model.predict(x), terms.argmax(axis=1))


def test_hard_cases_are_right_or_clear_errors():
    assert GaussianHMM(1).fit([[1.0], [1.0], [1.0]]).predict([[1.0]]).tolist() == [0]
    one = CategoricalHMM(2, random_state=0).fit([[0]])
    assert np.isfinite(one.score([[0]]))
    assert one.score([[5]]) == -np.inf
    with pytest.raises(ValueError, match="is impossible under the parameters"):
        one.predict_proba([[5]])
    with pytest.raises(ValueError, match="at least 3 rows"):
        GaussianHMM(3).fit([[1.0], [2.0]])
    with pytest.raises(ValueError, match="infinity"):
        GaussianHMM(1).fit([[np.inf], [2.0]])
    with pytest.raises(ValueError, match="lengths add up to 3"):
        GaussianHMM(1).fit([[1.0], [2.0]], lengths=[3])
    with pytest.raises(ValueError, match="nonnegative integers"):
        PoissonHMM(1).fit([[-1.0], [2.0]])
    equal = GaussianHMM(2, random_state=0).fit(np.ones((20, 2)))
    assert np.isfinite(equal.score(np.ones((5, 2))))
    dead = GaussianHMM(2, init_params="")
    dead.startprob_, dead.transmat_ = [1.0, 0.0], np.array([[1.0, 0.0], [0.5, 0.5]])
    dead.means_, dead.covars_ = [[0.0], [9.0]], [[1.0], [1.0]]
    dead.fit(np.random.default_rng(0).normal(size=(30, 1)))
    assert_array_equal(dead.transmat_[1], [0.5, 0.5])
    assert dead.means_[1, 0] == 9.0


def test_parameters_that_a_fit_discards_are_named_once(caplog):
    X = data(GaussianHMM)
    model = GaussianHMM(2, random_state=0)
    model.startprob_ = np.array([0.5, 0.5])
    model.fit(X)
    assert ["'startprob_' will be overwritten" in text for text in caplog.messages] == [True]
    model.fit(X)
    assert len(caplog.messages) == 1


def test_a_budget_too_small_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning, match="raise n_iter"):
            GaussianHMM(3, n_iter=2, random_state=0).fit(data(GaussianHMM))


def test_outliers_underflow_neither_implementation():
    x = np.concatenate([np.random.default_rng(0).normal(size=100), [1e5]])[:, None]
    found = [
        GaussianHMM(2, random_state=0, implementation=kind).fit(x) for kind in ("log", "scaling")
    ]
    assert_allclose(found[0].history_, found[1].history_, rtol=1e-9)


@every
def test_batches_learn_what_all_learn(model):
    """Each batch is a sequence through both regimes: the first one is all a start is made of."""
    parts = [data(type(model), n=100, seed=seed) for seed in range(4)]
    model = clone(model).set_params(random_state=0)
    for _ in range(8):
        for part in parts:
            model.partial_fit(part)
    whole = clone(model).set_params(random_state=0, n_init=3).fit(parts)
    assert model.score(parts) > whole.score(parts) - 0.01 * abs(whole.score(parts))


@every
def test_batches_of_known_states_add_up_to_the_whole(model):
    """With decay 1 all batches weigh the same, and no start matters: moments about any centre."""
    X, y = data(type(model)), np.tile(np.repeat([0, 1], 20), 3)
    model = clone(model).set_params(random_state=0)
    if isinstance(model, GMMHMM):
        model.set_params(n_mix=1)
    if isinstance(model, CategoricalHMM):  # else what a first batch does not show is impossible
        model.set_params(emissionprob_prior=2.0)
    whole = clone(model).fit(X, y, lengths=[40, 40, 40])
    for part in range(0, 120, 40):
        model.partial_fit(X[part : part + 40], y[part : part + 40], decay=1.0)
    for name in ("startprob_", "transmat_", *model._names.values()):
        assert_allclose(getattr(model, name), getattr(whole, name), rtol=1e-8, err_msg=name)


def test_a_fit_forgets_earlier_batches():
    X, wide = data(GaussianHMM), data(GaussianHMM) @ np.array([[1.0, 0, 1], [0, 1, -1]])
    wide[:, 2] += np.random.default_rng(0).normal(size=len(wide))
    fresh = GaussianHMM(2, random_state=0).fit(wide).partial_fit(wide)
    used = GaussianHMM(2, random_state=0).partial_fit(X).fit(wide)
    assert not hasattr(used, "n_batches_")
    used.partial_fit(wide)
    assert used.n_batches_ == fresh.n_batches_ == 1
    assert_array_equal(used.means_, fresh.means_)
    assert_array_equal(used.covars_, fresh.covars_)


@every
def test_saved_models_answer_the_same(model, tmp_path):
    X = data(type(model))
    model = clone(model).set_params(n_iter=5, random_state=0).fit(X)
    again = mlreplica.load(mlreplica.save(model, tmp_path / "m.skops"))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    model.transmat_ = model.transmat_[:1]
    with pytest.raises(ValueError, match="transmat_"):
        mlreplica.load(mlreplica.save(model, tmp_path / "m.skops"))


def test_multinomial_samples_have_as_many_trials_as_the_rows_of_the_fit(tmp_path):
    X = np.random.default_rng(0).multinomial(8, [0.2, 0.3, 0.5], size=40)
    model = MultinomialHMM(2, random_state=0, n_iter=3).fit(X)
    again = mlreplica.load(mlreplica.save(model, tmp_path / "m.skops"))
    for fitted in (model, again):
        assert set(fitted.sample(5, random_state=0)[0].sum(axis=1)) == {8}
    X[0, 0] += 1
    with pytest.raises(ValueError, match="single n_trials"):
        model.fit(X).sample(5)


def test_samples_and_stationary_shares():
    model = GaussianHMM(2)
    model.startprob_, model.transmat_ = [1.0, 0.0], [[0.9, 0.1], [0.3, 0.7]]
    model.means_, model.covars_ = [[0.0], [5.0]], [[1.0], [1.0]]
    X, z = model.sample(4000, random_state=0)
    assert_allclose(model.get_stationary_distribution(), [0.75, 0.25])
    assert abs(z.mean() - 0.25) < 0.05
    assert abs(X[z == 1].mean() - 5) < 0.2


class IgnoresLabels:
    """scikit-learn's checks hand over any target, and here y are known states."""

    def fit(self, X, y=None):
        return super().fit(X)

    def partial_fit(self, X, y=None):
        return super().partial_fit(X)


class Unlabelled(IgnoresLabels, GaussianHMM):
    pass


class UnlabelledMixture(IgnoresLabels, GMMHMM):
    pass


@pytest.mark.parametrize("kind", [Unlabelled, UnlabelledMixture])
def test_pipelines_are_consistent(kind):
    """A check that the tag `non_deterministic` leaves out, and that a fixed seed passes."""

    class Deterministic(kind):
        def __sklearn_tags__(self):
            tags = super().__sklearn_tags__()
            tags.non_deterministic = False
            return tags

    check_pipeline_consistency(kind.__name__, Deterministic(random_state=0))


@parametrize_with_checks([Unlabelled(random_state=0), UnlabelledMixture(random_state=0)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)
