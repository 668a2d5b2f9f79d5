"""Conditional random fields: enumeration, gradients, certificates, the peer's objective"""

import pickle
from itertools import chain, pairwise, product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils import estimator_checks

import mlreplica
from mlreplica.core.compile.ahead import build, levels, library
from mlreplica.sequence import (
    CRF,
    GMMHMM,
    HMM,
    CategoricalHMM,
    GaussianHMM,
    MultinomialHMM,
    NegativeBinomialHMM,
    PoissonHMM,
    WordFeatures,
    _crf_data,
)
from mlreplica.sequence._crf_chain import ChainLikelihood, find_features
from mlreplica.sequence._crf_data import Items, KeyTable, Vocabulary, encoded_labels


def text(n=30, seed=0, labels=3):
    """Sequences of words whose labels depend on the word and on the label before."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        z, words, tags = 0, [], []
        for t in range(int(rng.integers(1, 9))):
            z = int(rng.integers(labels)) if rng.random() < 0.5 else (z + 1) % labels
            word = f"w{z * 4 + rng.integers(5)}"
            words.append({"word": word, "bias": 1.0, "first": t == 0, "length": len(word) / 3})
            tags.append("ABCDE"[z])
        X.append(words)
        y.append(tags)
    return X, y


def problem(seed, **options):
    """A likelihood and what it is made of."""
    X, y = text(6, seed)
    vocabulary = Vocabulary(grow=True)
    items = vocabulary.encode(X)
    classes, labels = encoded_labels(y, items.offsets)
    weights = np.random.default_rng(seed).integers(1, 4, len(X)).astype(float)
    features, observed = find_features(items, labels, weights, len(classes), **options)
    return ChainLikelihood(items, features, observed, weights), items, features, labels, weights


def by_enumeration(items, features, labels, weights, w):
    """−Σ log p by the definition (1), over all labellings."""
    dense, T = items.matrix.toarray(), features.transitions(w)
    W = np.zeros((dense.shape[1], features.n_labels))
    owner = np.repeat(np.arange(len(features.starts) - 1), np.diff(features.starts))
    W[owner, features.labels] = w[: len(features.labels)]
    scores, total = dense @ W, 0.0
    for s, weight in enumerate(weights):
        rows = slice(items.offsets[s], items.offsets[s + 1])
        S, true = scores[rows], tuple(labels[rows])
        every = {
            z: sum(S[t, k] for t, k in enumerate(z)) + sum(T[a, b] for a, b in pairwise(z))
            for z in product(range(features.n_labels), repeat=len(S))
        }
        total += weight * (np.logaddexp.reduce(list(every.values())) - every[true])
    return total


@given(seed=st.integers(0, 1000), full=st.booleans())
@settings(max_examples=10, deadline=None)
def test_likelihood_is_the_sum_over_labellings_and_its_gradient_its_slope(seed, full):
    f, items, features, labels, weights = problem(seed, all_states=full, all_transitions=full)
    rng = np.random.default_rng(seed)
    w, d = rng.normal(size=features.size), rng.normal(size=features.size)
    value, g = f(w)
    if np.diff(items.offsets).max() <= 6:
        assert_allclose(value, by_enumeration(items, features, labels, weights, w), rtol=1e-10)
    slope = (f(w + 1e-6 * d)[0] - f(w - 1e-6 * d)[0]) / 2e-6
    assert_allclose(g @ d, slope, rtol=1e-5, atol=1e-6)


def test_attributes_with_few_or_most_of_many_labels_add_up_alike():
    rng, n, L = np.random.default_rng(0), 60, 9
    M = np.zeros((n, 4))
    M[:, 0], M[:20, 1], M[20:24, 2], M[59, 3] = rng.normal(size=n), 2.0, 0.5, -1.0
    y = np.concatenate([np.arange(n - 1) % L, [L - 1]])
    y[20:24] = 5  # so that attributes 2 and 3 have a label each, of nine
    items, one = Items(sp.csr_matrix(M), np.array([0, 25, n])), np.ones(2)
    features, observed = find_features(items, y, one, L)
    assert_array_equal(features.wide >= 0, [True, True, False, False])
    w = rng.normal(size=features.size)
    W = np.zeros((4, L))
    owner = np.repeat(np.arange(4), np.diff(features.starts))
    W[owner, features.labels] = w[: len(owner)]
    assert_allclose(features.scores(items, w), M @ W, rtol=1e-12, atol=1e-12)
    f = ChainLikelihood(items, features, observed, one)
    gamma = rng.random((n, L))
    g = f.expected(f.columns[2], gamma)
    assert_allclose(g[: len(owner)], (M.T @ gamma)[owner, features.labels], rtol=1e-12)


@given(seed=st.integers(0, 100), steps=st.integers(1, 30), c1=st.sampled_from([0.0, 0.3]))
@settings(max_examples=12, deadline=None)
def test_certificate_bounds_what_is_left(seed, steps, c1):
    X, y = text(15, seed)
    best = CRF(c1=c1, c2=0.3, epsilon=1e-9, delta=0.0).fit(X, y).objective_
    early = CRF(c1=c1, c2=0.3, max_iterations=steps).fit(X, y)
    assert early.objective_ - best <= early.certificate_ + 1e-8
    assert early.objective_ - best >= -1e-7


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"c1": 0.2, "c2": 0.05},
        {"all_possible_transitions": True, "all_possible_states": True},
        {"min_freq": 3},
    ],
)
def test_objective_is_that_of_crfsuite(options):
    import sklearn_crfsuite as peer

    X, y = text(40)
    ours = CRF(epsilon=1e-9, delta=0.0, **options).fit(X, y)
    theirs = peer.CRF(epsilon=1e-9, delta=1e-12, max_iterations=2000, **options).fit(X, y)
    for key, w in theirs.transition_features_.items():
        assert_allclose(ours.transition_features_.get(key, 0.0), w, atol=5e-3)
    found = {k: w for k, w in ours.state_features_.items() if abs(w) > 0.02}
    assert set(found) <= set(theirs.state_features_)
    for key, w in theirs.state_features_.items():
        assert_allclose(ours.state_features_.get(key, 0.0), w, atol=5e-3)
    assert [list(a) for a in ours.predict(X)] == [list(a) for a in theirs.predict(X)]
    for a, b in zip(ours.predict_marginals(X), theirs.predict_marginals(X), strict=True):
        for p, q in zip(a, b, strict=True):
            assert_allclose([p[k] for k in sorted(p)], [q[k] for k in sorted(q)], atol=2e-3)


def test_correlated_attributes_need_few_steps_of_owl_qn():
    X, y = text(100)
    crf = CRF(c1=0.1, c2=1e-3, delta=1e-9, epsilon=0.0, max_iterations=2000).fit(X, y)
    assert crf.n_iter_ < 350  # 201; 727 if every weight must move against its slope
    assert_allclose(crf.objective_, 67.8604219, rtol=1e-8)


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
def test_every_algorithm_learns_and_repeats_itself(algorithm):
    X, y = text(80)
    crf = CRF(algorithm, max_iterations=30).fit(X, y)
    assert crf.score(X, y) > 0.75
    assert_array_equal(crf.coef_, CRF(algorithm, max_iterations=30).fit(X, y).coef_)
    again = pickle.loads(pickle.dumps(crf))
    assert [list(a) for a in again.predict(X)] == [list(a) for a in crf.predict(X)]


@pytest.mark.parametrize("algorithm", ["ap", "pa", "arow"])
def test_single_steps_are_those_of_crfsuite(algorithm):
    """One sequence, so that no order matters: the weights are the same after every pass."""
    import sklearn_crfsuite as peer

    X, y = text(12, seed=3)
    x, labels = list(chain(*X)), list(chain(*y))
    for passes in (1, 2, 5):  # later on, ties are broken by rounding
        ours = CRF(algorithm, max_iterations=passes).fit([x], [labels])
        theirs = peer.CRF(algorithm, max_iterations=passes).fit([x], [labels])
        for name in ("state_features_", "transition_features_"):
            found, expected = getattr(ours, name), getattr(theirs, name)
            for key in found.keys() | expected.keys():
                assert_allclose(found.get(key, 0.0), expected.get(key, 0.0), atol=1e-5)


def test_gradient_descent_comes_near_the_minimum():
    X, y = text(80)
    exact, sgd = CRF().fit(X, y), CRF("l2sgd", max_iterations=200, delta=0.0).fit(X, y)
    assert sgd.objective_ < 1.01 * exact.objective_
    assert sgd.objective_ - exact.objective_ <= sgd.certificate_


def test_passive_aggressive_types_and_repeated_sequences():
    X, y = text(40)
    for kind in (0, 1, 2):
        assert CRF("pa", pa_type=kind, max_iterations=20).fit(X, y).score(X, y) > 0.7
    weights = np.arange(40) % 3
    weighted = CRF(epsilon=1e-10, delta=0.0).fit(X, y, sample_weight=weights)
    X2 = [x for x, k in zip(X, weights, strict=True) for _ in range(k)]
    y2 = [v for v, k in zip(y, weights, strict=True) for _ in range(k)]
    repeated = CRF(epsilon=1e-10, delta=0.0).fit(X2, y2)
    assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-7)


def test_best_labellings_are_the_best_of_all():
    X, y = text(30)
    crf = CRF(c2=0.1).fit(X, y)
    x = X[3][:4]
    marginals, every = crf.predict_marginals_single(x), {}
    probabilities, found = crf.predict_best(x, 10_000)
    assert_allclose(probabilities.sum(), 1, rtol=1e-10)
    assert len(found) == 3 ** len(x)
    assert (np.diff(probabilities) <= 1e-15).all()
    assert found[0] == crf.predict_single(x)
    for p, labels in zip(probabilities, found, strict=True):
        every.setdefault(labels[1], []).append(p)
    assert_allclose([sum(every[k]) for k in marginals[1]], list(marginals[1].values()), rtol=1e-9)


def test_matrices_and_dictionaries_are_the_same():
    X, y = text(20)
    vocabulary = Vocabulary(grow=True)
    items = vocabulary.encode(X)
    parts = [items.matrix[a:z] for a, z in zip(items.offsets[:-1], items.offsets[1:], strict=True)]
    by_dict = CRF().fit(X, y)
    for rows in (parts, [p.toarray() for p in parts]):
        crf = CRF().fit(rows, y)
        assert_allclose(crf.objective_, by_dict.objective_, rtol=1e-10)
        assert [list(a) for a in crf.predict(rows)] == [list(a) for a in by_dict.predict(X)]
    with pytest.raises(ValueError, match="same columns"):
        CRF().fit([np.ones((2, 3)), np.ones((1, 2))], [["a", "b"], ["a"]])
    assert isinstance(items, Items)
    assert sp.issparse(items.matrix)


@pytest.fixture(scope="module")
def gather(tmp_path_factory):
    """The walk over dictionaries in C; None where nothing can build it."""
    if not levels.has_compiler():
        return None
    folder = tmp_path_factory.mktemp("caller")
    build.build_caller(folder / f"caller{library.COMPILED}")
    return library.load_caller(folder).gather


values = st.sampled_from(["b", "c", "", 1.0, 0.0, -2.5, 1, 0, True, False, np.float32(2), b"c"])
dictionaries = st.dictionaries(st.sampled_from(["a", "a:b", "c", "d", 7]), values)


@given(X=st.lists(st.lists(dictionaries, max_size=4), max_size=6), n=st.integers(0, 6))
@settings(max_examples=60, deadline=None)
def test_dictionaries_become_rows_alike_in_c_in_numpy_and_one_by_one(gather, X, n):
    """Of each walk: the names that the first n sequences have, and all rows, new and known."""
    found = []
    for walk in (gather, None, "one by one"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_crf_data, "from_caller", lambda name, walk=walk: walk)
            if walk == "one by one":
                patch.setattr(Vocabulary, "by_tables", Vocabulary.one_by_one)
            learning = Vocabulary(grow=True)
            rows = [learning.encode(X[:n])]
            known = Vocabulary(learning.numbers)
            rows += [known.encode(X), known.encode(X)]
            found.append([list(learning.numbers), *(r.matrix.toarray() for r in rows)])
    for other in found[1:]:
        assert other[0] == found[0][0]
        for a, b in zip(other[1:], found[0][1:], strict=True):
            assert_array_equal(a, b)


def test_the_walk_in_c_leaves_collections_to_python_and_passes_errors_on(gather):
    if gather is None:
        pytest.skip("needs a C compiler")
    table = KeyTable({"a": 3, "b:x": 5}.get)
    columns, values, rows = gather([{"a": 2.0, "b": "x"}, {}, {"a": 0.0, "b": b"x"}], table)
    assert_array_equal(columns, [3, 5, 5])
    assert_array_equal(values, [2.0, 1.0, 1.0])
    assert_array_equal(rows, [0, 2, 2, 3])
    for item in ({"a": ["x"]}, {"a": ("x", "y")}, {"a": None}, ["a"], "a"):
        with pytest.raises(TypeError):
            gather([{}, item], KeyTable({}.setdefault))
    with pytest.raises(OverflowError):
        gather([{"a": 10**400}], KeyTable({"a": 0}.get))
    many = [{f"k{j}": float(i + j) for j in range(200)} for i in range(3)]  # more than it remembers
    columns, values, _ = gather(many, KeyTable({f"k{j}": j for j in range(200)}.get))
    assert_array_equal(values, [v for item in many for v in item.values() if v])
    assert_array_equal(columns, [*range(1, 200), *range(200), *range(200)])


def test_a_second_fit_forgets_the_words_of_the_first():
    crf = CRF().fit([[{"w": c} for c in "ab"]] * 3, [list("xy")] * 3)
    crf.predict([[{"w": "a"}]])
    X, y = [[{"w": c} for c in "cab"]] * 3, [list("zxy")] * 3
    assert crf.fit(X, y).predict_marginals_single(X[0]) == CRF().fit(X, y).predict_marginals_single(
        X[0]
    )


def test_explanations_add_up_to_the_score():
    X, y = text(30)
    crf = CRF().fit(X, y)
    x = X[2]
    probability, _ = crf.predict_best(x, 1)
    terms = crf.explain(x)
    total = sum(item["transition"] + sum(item["attributes"].values()) for item in terms)
    assert [item["label"] for item in terms] == crf.predict_single(x)
    states, moves, scores = crf.state_features_, crf.transition_features_, []
    for labels in product(crf.classes_, repeat=len(x)):
        score = sum(moves.get(pair, 0.0) for pair in pairwise(labels))
        for item, label in zip(x, labels, strict=True):
            values = {name: value for name, value in item.items() if name != "word"}
            values[f"word:{item['word']}"] = 1.0
            score += sum(v * states.get((name, label), 0.0) for name, v in values.items())
        scores.append(score)
    assert_allclose(total, max(scores), rtol=1e-12)
    assert_allclose(total - np.log(probability[0]), np.logaddexp.reduce(scores), rtol=1e-12)


def test_saved_and_named_files(tmp_path):
    X, y = text(20)
    crf = CRF(model_filename=str(tmp_path / "m.skops")).fit(X, y)
    assert CRF(model_filename=str(tmp_path / "m.skops")).score(X, y) == crf.score(X, y)
    again = mlreplica.load(mlreplica.save(crf, tmp_path / "n.skops"))
    assert again.predict_marginals(X)[0][0] == crf.predict_marginals(X)[0][0]
    crf.feature_labels_ = crf.feature_labels_ + 7
    with pytest.raises(ValueError, match="feature_labels_"):
        mlreplica.load(mlreplica.save(crf, tmp_path / "n.skops"))


def test_odd_input():
    crf = CRF().fit([[{"a": 1.0}], []], [["x"], []])
    assert crf.predict_single([]) == []
    assert crf.predict_single([{"never": "seen"}, {}]) == ["x", "x"]
    assert crf.predict_marginals_single([{"a": 2}])[0] == {"x": 1.0}
    nested = CRF().fit([[{"a": {"b": "c", "d": 2}, "e": ["f", "g"]}, ["p", "q"]]], [["x", "y"]])
    assert {"a:b:c", "a:d", "e:f", "p"} <= set(nested.attributes_)
    with pytest.raises(ValueError, match="Sequence 0 has 1 items and 2 labels"):
        CRF().fit([[{"a": 1}]], [["x", "y"]])
    with pytest.raises(ValueError, match="not finite"):
        CRF().fit([[{"a": np.nan}]], [["x"]])
    with pytest.raises(ValueError, match="no item"):
        CRF().fit([[]], [[]])
    with pytest.raises(ValueError, match="c2"):
        CRF(c2=-1).fit([[{"a": 1}]], [["x"]])


@pytest.mark.parametrize("kind", [CRF, WordFeatures, HMM, CategoricalHMM, GaussianHMM, GMMHMM,
                                  MultinomialHMM, NegativeBinomialHMM, PoissonHMM])  # fmt: skip
@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_valid_tag_types,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_set_params,
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_do_not_raise_errors_in_init_or_set_params,
        estimator_checks.check_mixin_order,
        estimator_checks.check_param_validation,
    ],
)
def test_scikit_learns_checks_that_need_no_table(kind, check):
    """The others hand over a table, and these take sequences, or a target that is no state."""
    check(kind.__name__, kind())


def test_large_weights_do_not_overflow():
    X = [[{"a": 1e4 * (-1) ** t} for t in range(6)]] * 3
    crf = CRF(c2=1e-6).fit(X, [["u", "v"] * 3] * 3)
    assert np.isfinite(crf.objective_)
    assert crf.score(X, [["u", "v"] * 3] * 3) == 1.0
