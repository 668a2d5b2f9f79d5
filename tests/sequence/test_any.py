"""Emissions of any kind, side by side and of one's own; how many states; attributes of words"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.base import clone

import mlreplica
from mlreplica.sequence import (
    HMM,
    CategoricalHMM,
    GaussianHMM,
    NegativeBinomialHMM,
    PoissonHMM,
    WordFeatures,
    select_n_components,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def table(n=120):
    """A number, a count and a symbol per row, of two regimes."""
    rng, z = np.random.default_rng(0), np.repeat([0, 1, 0, 1], n // 4)
    number = np.array([0.0, 2.0])[z] + rng.normal(size=n)
    symbol = (rng.random(n) < 0.2 + 0.6 * z).astype(float)
    return np.column_stack([number, rng.poisson(np.array([2, 7])[z]), symbol]), z


def mixed():
    return [(GaussianHMM(), [0]), (PoissonHMM(), [1]), (CategoricalHMM(), [2])]


def test_columns_of_different_kinds_multiply_and_likelihood_rises():
    X, z = table()
    model = HMM(2, mixed(), random_state=0, n_iter=30, tol=-np.inf).fit(X)
    assert np.diff(model.history_).min() > -1e-7
    (normal, _), (poisson, _), (symbols, _) = model.emissions_
    k = int(normal.means_[:, 0].argmax())
    expected = (
        stats.norm.logpdf(X[:, 0], normal.means_[k, 0], normal.covars_[k, 0, 0] ** 0.5)
        + stats.poisson.logpmf(X[:, 1], poisson.lambdas_[k, 0])
        + np.log(symbols.emissionprob_[k, X[:, 2].astype(int)])
    )
    assert_allclose(model.log_density(X)[:, k], expected, rtol=1e-10)
    states = model.predict(X)
    assert max((states == z).mean(), (states != z).mean()) > 0.95
    row, _ = model.sample(5, random_state=0)
    assert row.shape == (5, 3)
    with pytest.raises(ValueError, match="must be numbers below 3"):
        HMM(2, [(GaussianHMM(), [3])]).fit(X)


def test_one_emission_is_the_model_of_that_emission(tmp_path):
    X, _ = table()
    X = X[:, :2]
    alone = GaussianHMM(2, random_state=0, n_iter=8, tol=-np.inf).fit(X)
    within = HMM(2, random_state=0, n_iter=8, tol=-np.inf).fit(X)
    assert_allclose(within.history_, alone.history_, rtol=1e-10)
    assert_allclose(within.emissions_[0][0].means_, alone.means_, rtol=1e-8)
    assert_array_equal(within.emissions_[0][0].predict(X), within.predict(X))
    again = mlreplica.load(mlreplica.save(within, tmp_path / "m.skops"))
    assert_array_equal(again.predict_proba(X), within.predict_proba(X))


def test_batches_of_mixed_columns_add_up_to_the_whole():
    """With decay 1 and known states no start matters; a model within a model adds up as well."""
    X, z = table()
    emissions = [(HMM(emissions=mixed()[:2]), [0, 1]), (NegativeBinomialHMM(), [1]),
                 (CategoricalHMM(emissionprob_prior=2.0), [2])]  # fmt: skip
    model = HMM(2, emissions, random_state=0)
    whole = clone(model).fit(X, z, lengths=[60, 60])
    for part in (0, 60):
        model.partial_fit(X[part : part + 60], z[part : part + 60], decay=1.0)
    pairs = list(zip(model.emissions_, whole.emissions_, strict=True))
    pairs[:1] = zip(pairs[0][0][0].emissions_, pairs[0][1][0].emissions_, strict=True)
    for (one, _), (other, _) in pairs:
        for name in one._names.values():
            assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-6, err_msg=name)


def test_batches_of_mixed_columns_learn_as_those_of_one_emission():
    X, z = table(240)
    alone, within = GaussianHMM(2, random_state=0), HMM(2, random_state=0)
    model = HMM(2, mixed(), random_state=0)
    for k in (0, 120, 0, 120):
        part = X[k : k + 120]
        assert_allclose(within.partial_fit(part[:, :2]).score(part[:, :2]),
                        alone.partial_fit(part[:, :2]).score(part[:, :2]), rtol=1e-10)  # fmt: skip
        model.partial_fit(part)
    assert_allclose(within.emissions_[0][0].covars_, alone.covars_, rtol=1e-8)
    states = model.predict(X)
    assert max((states == z).mean(), (states != z).mean()) > 0.95


class Laplace:
    """An emission as a user writes it: absolute deviations from a median."""

    def start(self, X, n_components, random_state):
        spread = np.linspace(0.2, 0.8, n_components)
        self.middle, self.scale = np.quantile(X[:, 0], spread), np.full(n_components, X.std())

    def log_density(self, X):
        return -np.abs(X - self.middle) / self.scale - np.log(2 * self.scale)

    def m_step(self, X, gamma):
        order = X[:, 0].argsort()
        shares = np.cumsum(gamma[order], axis=0) / gamma.sum(axis=0)
        self.middle = X[order, 0][(shares >= 0.5).argmax(axis=0)]
        self.scale = (gamma * np.abs(X - self.middle)).sum(axis=0) / gamma.sum(axis=0)

    def sample(self, state, random_state):
        return random_state.laplace(self.middle[state], self.scale[state])


def test_an_emission_of_your_own():
    X, _ = table()
    model = HMM(2, Laplace(), random_state=0, n_iter=40, tol=-np.inf).fit(X[:, :1])
    assert np.diff(model.history_).min() > -1e-7
    assert_allclose(np.sort(model.emissions_[0][0].middle), [0, 2], atol=0.5)
    assert model.sample(3, random_state=0)[0].shape == (3, 1)

    with pytest.raises(AttributeError, match="no attribute 'partial_fit'") as error:
        model.partial_fit(X[:, :1])
    assert "Laplace.m_step needs all rows" in str(error.value.__cause__)
    assert not hasattr(HMM(2, [(HMM(emissions=Laplace()), [0])]), "partial_fit")

    class Wrong(Laplace):
        def log_density(self, X):
            return np.full((len(X), 2), np.nan)

    with pytest.raises(ValueError, match="finite numbers or −inf"):
        HMM(2, Wrong()).fit(X[:, :1])


@pytest.mark.parametrize("criterion", ["bic", "aic", "held-out"])
def test_the_number_of_states_is_found(criterion):
    X, _ = table(240)
    model = GaussianHMM(random_state=0, n_init=2)
    found = select_n_components(model, X[:, :2], (1, 2), criterion=criterion)
    assert found.best_model.n_components == 2
    assert found.scores[1] < found.scores[0]
    with pytest.raises(ValueError, match="criterion must be"):
        select_n_components(model, X, criterion="best")


def test_words_and_templates():
    rows = [[("Dogs", "N"), ("bark", "V")]]
    first, second = WordFeatures(window=1, prefixes=(2,), suffixes=(2,)).transform(rows)[0]
    assert first["word"] == "dogs"
    assert first["prefix2"] == "Do"
    assert first["+1:tag1"] == "V"
    assert "begin" in first
    assert second["-1:shape"] == "Xx"
    lines = ["# remark", "U0:%x[-1,0]", "U1:%x[0,0]/%x[1,1]", "B"]
    items = WordFeatures(templates=lines).transform(rows)[0]
    assert items == [{"U0": "_B-1", "U1": "Dogs/V"}, {"U0": "Dogs", "U1": "bark/_B+1"}]
    near = WordFeatures(templates=["U:%x[-1,0]\n", "U:%x[1,0]\n", "V:%x[0,0]\n", "B\n"])
    assert near.transform([["a", "b", "c"]])[0][1] == {"U": ["a", "c"], "V": "b"}
    for line, reason in [("U0:word", "A template looks like"),
                         ("B0:%x[0,0]", "one weight per transition; write U"),
                         ("U0:%x[0,2]", "column 2, which not every word has")]:  # fmt: skip
        with pytest.raises(ValueError, match=reason):
            WordFeatures(templates=[line]).transform(rows)
