"""Hidden Markov models and conditional random fields

Models begin from the same parameters and take the same number of EM steps, so that the likelihoods
agree; conditional random fields are compared by their objective. Labels and marginals are raced as
a wheel finds them: `mlreplica warmup CRF --ahead` first.
"""

import numpy as np

from benchmarks import data as sizes
from benchmarks.data import Data
from benchmarks.race import Race, located

STEPS = 10


def series(kind, K, p, count, length):
    """Sequences of a kind and parameters near those that made them."""

    def make():
        rng = np.random.default_rng(0)
        S, T = count, min(length, sizes.most["n"])
        S = max(1, min(S, sizes.most["n"] // T))
        A = 0.9 * np.eye(K) + 0.1 * rng.dirichlet(np.ones(K), size=K)
        z = np.empty((S, T), dtype=int)
        z[:, 0] = rng.integers(K, size=S)
        u, steps = rng.random((S, T)), np.cumsum(A, axis=1)
        for t in range(1, T):
            z[:, t] = np.minimum((steps[z[:, t - 1]] < u[:, t, None]).sum(axis=1), K - 1)
        z = z.ravel()
        start = {"startprob_": np.full(K, 1 / K), "transmat_": 0.5 * A + 0.5 / K}
        if kind == "categorical":
            b = rng.dirichlet(np.ones(p), size=K)
            X = np.minimum((np.cumsum(b[z], axis=1) < rng.random((S * T, 1))).sum(axis=1), p - 1)
            start["emissionprob_"] = 0.7 * b + 0.3 / p
            return Data(X[:, None], more=(start, [T] * S))
        means = 2.0 * rng.normal(size=(K, p))
        X = means[z] + rng.normal(size=(S * T, p))
        start["means_"] = means + 0.3 * rng.normal(size=(K, p))
        start["covars_"] = {"diag": np.ones((K, p)), "full": np.tile(np.eye(p), (K, 1, 1))}[kind]
        return Data(X, more=(start, [T] * S))

    return make


def hmm(package, name, act, **options):
    """A contestant: a model with given parameters that learns or decodes."""

    def prepare(data):
        (start, lengths), make = data.more, located(f"{package}.{name}")
        options_ = {"init_params": "", "n_iter": STEPS, "tol": -np.inf} | options
        K = len(start["startprob_"])

        def fresh():
            model = make(K, **options_)
            for attribute, value in start.items():
                setattr(model, attribute, np.array(value))
            return model

        if act == "fit":
            return lambda: fresh().fit(data.X, lengths)
        model = fresh()
        model.n_features = None if "emissionprob_" in start else data.X.shape[1]
        return lambda: model.decode(data.X, lengths)[0]

    return prepare


def both(name, act="fit", **options):
    """Ours, and hmmlearn in both implementations."""
    return {
        "mlreplica": hmm("mlreplica.sequence", name, act, **options),
        "hmmlearn, scaling": hmm("hmmlearn.hmm", name, act, implementation="scaling", **options),
        "hmmlearn, log": hmm("hmmlearn.hmm", name, act, implementation="log", **options),
    }


def lost(data, result):
    """−log-likelihood per row, by the same judge for all."""
    if isinstance(result, float):
        return -result / len(data.X)
    history = result.history_ if hasattr(result, "history_") else result.monitor_.history
    return -float(history[-1]) / len(data.X)


def mixture(package):
    """A contestant: GMMHMM from the same means."""

    def prepare(data):
        (start, lengths), make = data.more, located(f"{package}.GMMHMM")
        K, p = start["means_"].shape

        def call():
            model = make(K, 3, init_params="", n_iter=STEPS, tol=-np.inf)
            model.startprob_, model.transmat_ = start["startprob_"], start["transmat_"]
            shifts = np.array([-0.5, 0.0, 0.5])[None, :, None]
            model.weights_ = np.full((K, 3), 1 / 3)
            model.means_ = start["means_"][:, None, :] + shifts
            model.covars_ = np.ones((K, 3, p))
            return model.fit(data.X, lengths)

        return call

    return prepare


def sentences(n, L, vocabulary):
    """Sentences of words whose labels depend on the word and on the label before."""

    def make():
        rng = np.random.default_rng(0)
        m = min(n, sizes.most["n"] // 10)
        prefer = rng.integers(L, size=vocabulary)
        X, y = [], []
        for _ in range(m):
            words, labels, label = [], [], 0
            for _ in range(int(rng.integers(5, 26))):
                rank = int(np.exp(rng.random() * np.log(vocabulary)))
                label = int(prefer[rank]) if rng.random() < 0.8 else (label + 1) % L
                words.append(f"w{rank}")
                labels.append(f"L{label}")
            X.append(items(words))
            y.append(labels)
        return Data(X, y)

    return make


def items(words):
    """Attributes of every word, as in tutorials."""
    found = []
    for t, word in enumerate(words):
        item = {"bias": 1.0, "word": word, "suffix": word[-2:], "prefix": word[:2]}
        item |= {"digit": word[1] == "1", "length": len(word) / 5}
        item |= {"-1:word": words[t - 1]} if t else {"begin": True}
        item |= {"+1:word": words[t + 1]} if t + 1 < len(words) else {"end": True}
        found.append(item)
    return found


def crf(path, act="fit", **options):
    """A contestant: a field that learns, or one that has learned and answers."""

    def prepare(data):
        make = located(path)
        if act == "fit":
            return lambda: make(**options).fit(data.X, data.y)
        model = make(**options).fit(data.X, data.y)  # to its end: equal weights, equal answers
        return lambda: getattr(model, act)(data.X)

    return prepare


def objective(data, model):
    """F, computed from the weights."""
    from mlreplica.sequence import CRF
    from mlreplica.sequence._crf_chain import ChainLikelihood, find_features

    c1, c2 = model.c1 or 0.0, 1.0 if model.c2 is None else model.c2
    judge = CRF()
    table, names = judge._learn_items(data.X)
    from mlreplica.sequence._crf_data import encoded_labels

    classes, labels = encoded_labels(data.y, table.offsets)
    weights = np.ones(len(data.X))
    features, observed = find_features(table, labels, weights, len(classes))
    state, moves = model.state_features_, model.transition_features_
    owner = np.repeat(np.arange(len(names)), np.diff(features.starts))
    pairs = zip(owner.tolist(), features.labels.tolist(), strict=True)
    w = [state.get((names[a], classes[j]), 0.0) for a, j in pairs]
    w += [moves.get((classes[i], classes[j]), 0.0) for i, j in features.pairs.tolist()]
    w = np.array(w)
    value = ChainLikelihood(table, features, observed, weights)(w)[0]
    return (value + c1 * np.abs(w).sum() + c2 * (w @ w)) / len(labels)


def wrong(data, answer):
    """Share of labels that are wrong, of labels or of marginals."""
    total = bad = 0
    for labels, found in zip(data.y, answer, strict=True):
        for label, one in zip(labels, found, strict=True):
            best = max(one, key=one.get) if isinstance(one, dict) else one
            bad += best != label
            total += 1
    return bad / total


def race(name, what, shapes, contestants, **options):
    """A race of likelihoods."""
    options = {"quality": lost, "quality_name": "−log-likelihood", "rtol": 1e-3} | options
    return Race(name=name, what=what, shapes=shapes, contestants=contestants, **options)


def long(kind, *shapes):
    """Shapes: one sequence of T steps, K states, p columns."""
    return {f"{T:,} × {p}, {K} states": series(kind, K, p, 1, T) for T, p, K in shapes}


SHORT = {"10,000 sequences of 20, 5 states": series("diag", 5, 3, 10_000, 20)}
TEXT = {
    "2,000 sentences, 9 labels": sentences(2000, 9, 4000),
    "500 sentences, 25 labels": sentences(500, 25, 2000),
}
PEERS = {"mlreplica": "mlreplica.sequence.CRF", "sklearn-crfsuite": "sklearn_crfsuite.CRF"}
EQUAL = {"quality": objective, "quality_name": "objective", "rtol": 3e-3}
RACES = [
    race(
        "hmm-diag",
        "Gaussian HMM, diagonal",
        long("diag", (100_000, 3, 5), (100_000, 10, 3)),
        both("GaussianHMM"),
        start=True,
        readme=True,
    ),
    race(
        "hmm-full",
        "Gaussian HMM, full",
        long("full", (100_000, 3, 5), (30_000, 8, 4)),
        both("GaussianHMM", covariance_type="full"),
    ),
    race(
        "hmm-categorical",
        "categorical HMM",
        long("categorical", (100_000, 20, 5), (100_000, 4, 2)),
        both("CategoricalHMM"),
        readme=True,
    ),
    race(
        "hmm-mixture",
        "GMMHMM",
        long("diag", (20_000, 3, 3)),
        {"mlreplica": mixture("mlreplica.sequence"), "hmmlearn": mixture("hmmlearn.hmm")},
    ),
    race(
        "hmm-decode",
        "Viterbi",
        long("diag", (100_000, 3, 5), (100_000, 10, 3)),
        both("GaussianHMM", "decode"),
    ),
    race("hmm-short", "Gaussian HMM, many sequences", SHORT, both("GaussianHMM")),
    race(
        "crf-fit",
        "conditional random field",
        TEXT,
        {k: crf(v) for k, v in PEERS.items()},
        start=True,
        readme=True,
        **EQUAL,
    ),
    race(
        "crf-l1",
        "conditional random field, L1",
        TEXT,
        {k: crf(v, c1=0.3, c2=0.01) for k, v in PEERS.items()},
        **EQUAL,
    ),
    race(
        "crf-predict",
        "CRF, labels",
        TEXT,
        {k: crf(v, "predict") for k, v in PEERS.items()},
        quality=wrong,
        quality_name="wrong labels",
        atol=5e-3,
    ),
    race(
        "crf-marginals",
        "CRF, marginals",
        TEXT,
        {k: crf(v, "predict_marginals") for k, v in PEERS.items()},
        quality=wrong,
        quality_name="wrong labels",
        atol=5e-3,
    ),
]
