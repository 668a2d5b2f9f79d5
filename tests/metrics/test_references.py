"""Every metric against scikit-learn's, over kinds of labels, averages, weights and containers"""

import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.metrics as theirs
import sklearn.metrics.cluster as theirs_cluster

import mlreplica.metrics as ours

N = 83
rng = np.random.default_rng(7)
CLASS = rng.integers(0, 4, N)
CALL = np.where(rng.random(N) < 0.7, CLASS, rng.integers(0, 5, N))  # one label never true
NAMES = np.array(["ant", "bee", "cat", "dodo", "elephant"])
P = rng.dirichlet(np.ones(4), N)
SCORE = np.round(rng.normal(size=N) + (CLASS > 1), 1)  # with ties
Y = rng.normal(size=N) + 2
F = Y + 0.3 * rng.normal(size=N)
WEIGHTS = {
    "none": None,
    "float": rng.random(N),
    "some zero": np.where(rng.random(N) < 0.3, 0.0, rng.random(N)),
    "whole": rng.integers(0, 4, N),
    "list": list(rng.random(N)),
}

LABELS = {
    "int": (CLASS, CALL),
    "int8": (CLASS.astype(np.int8), CALL.astype(np.int8)),
    "uint8 and int64": (CLASS.astype(np.uint8), CALL),
    "uint64": (CLASS.astype(np.uint64), CALL.astype(np.uint64)),
    "gaps": (CLASS * 7 - 5, CALL * 7 - 5),
    "wide": (CLASS * 10**12, CALL * 10**12),
    "float": (CLASS.astype(float), CALL.astype(float)),
    "float and int": (CLASS.astype(np.float32), CALL),
    "str": (NAMES[CLASS], NAMES[CALL]),
    "object": (NAMES[CLASS].astype(object), NAMES[CALL].astype(object)),
    "list": (CLASS.tolist(), CALL.tolist()),
    "list of str": (NAMES[CLASS].tolist(), NAMES[CALL].tolist()),
    "column": (CLASS[:, None], CALL),
    "strided": (np.repeat(CLASS, 2)[::2], np.repeat(CALL, 3)[::3]),
    "big endian": (CLASS.astype(">i8"), CALL.astype(">i8")),
    "many": (np.arange(N), np.arange(N)[::-1] % 70),
}
BINARY = {
    "01": (CLASS > 1).astype(int),
    "bool": CLASS > 1,
    "-11": np.where(CLASS > 1, 1, -1),
    "float": (CLASS > 1).astype(float),
    "list": (CLASS > 1).astype(int).tolist(),
}
MULTILABEL = {
    kind: (make(rng.integers(0, 2, (N, 3))), make(rng.integers(0, 2, (N, 3))))
    for kind, make in {"dense": np.asarray, "csr": sp.csr_matrix, "float": np.float64}.items()
}
GRID = [(kind, "none") for kind in LABELS] + [
    *(("int", weight) for weight in WEIGHTS if weight != "none"),
    ("str", "float"),
    ("gaps", "some zero"),
]
AVERAGES = [None, "micro", "macro", "weighted"]


def result(function, *args, **options):
    """Value, warnings and error of a call: all that a caller can see."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = function(*args, **options)
        except Exception as error:  # noqa: BLE001 - errors are compared as well
            # options are listed in the order of a set: any
            said = re.sub(r"\{(.*?)\}", lambda m: str(sorted(m[1].split(", "))), str(error))
            return None, type(error), said.split(" samples: [")[0]
    # theirs says "the the" in one place
    said = [(w.category, str(w.message).replace("the the", "the")) for w in caught]
    return value, said, None


def assert_same(name, *args, module=(ours, theirs), rtol=1e-12, atol=1e-14, **options):
    """Our function answers (or complains) as theirs does."""
    mine, theirs_ = (result(getattr(m, name), *args, **options) for m in module)
    assert mine[1:] == theirs_[1:], (mine, theirs_)
    compare(mine[0], theirs_[0], rtol, atol)


def compare(mine, other, rtol, atol):
    """Equal types and shapes, numbers to rtol."""
    if isinstance(other, dict):
        assert mine.keys() == other.keys()
        for key, value in other.items():
            compare(mine[key], value, rtol, atol)
    elif isinstance(other, tuple):
        assert len(mine) == len(other)
        for a, b in zip(mine, other, strict=True):
            compare(a, b, rtol, atol)
    elif other is None or isinstance(other, str):
        assert mine == other
    else:
        assert np.shape(mine) == np.shape(other)
        assert np.asarray(mine).dtype == np.asarray(other).dtype
        np.testing.assert_allclose(mine, other, rtol=rtol, atol=atol)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("kind", "weight"), GRID)
def test_scores_of_labels(kind, weight):
    y, p = LABELS[kind]
    w = WEIGHTS[weight]
    for name in ("balanced_accuracy_score", "matthews_corrcoef", "hamming_loss"):
        assert_same(name, y, p, sample_weight=w)
    for name in ("accuracy_score", "zero_one_loss"):
        for normalize in (True, False):
            assert_same(name, y, p, sample_weight=w, normalize=normalize)
    for normalize in (None, "true", "pred", "all"):
        assert_same("confusion_matrix", y, p, sample_weight=w, normalize=normalize)
    assert_same("balanced_accuracy_score", y, p, sample_weight=w, adjusted=True)
    for weights in (None, "linear", "quadratic"):
        assert_same("cohen_kappa_score", y, p, sample_weight=w, weights=weights)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("kind", "weight"), GRID)
def test_set_wise_scores_of_labels(kind, weight):
    y, p = LABELS[kind]
    w = WEIGHTS[weight]
    for average in [*AVERAGES, "binary", "samples"]:
        for name in ("precision_score", "recall_score", "f1_score", "jaccard_score"):
            assert_same(name, y, p, sample_weight=w, average=average)
        assert_same("fbeta_score", y, p, sample_weight=w, average=average, beta=2.0)


@pytest.mark.parametrize("beta", [0.0, 0.5, 2, np.inf])
def test_beta(beta):
    for average in AVERAGES:
        assert_same("precision_recall_fscore_support", CLASS, CALL, average=average, beta=beta)


@pytest.mark.parametrize("zero_division", ["warn", 0, 1.0, np.nan])
def test_report_and_zero_division(zero_division):
    for kind in ("int", "str", "float", "gaps"):
        y, p = LABELS[kind]
        for weight in (None, WEIGHTS["whole"]):
            for output_dict in (True, False):
                assert_same(
                    "classification_report", y, p, sample_weight=weight, output_dict=output_dict,
                    zero_division=zero_division,
                )  # fmt: skip
    for average in AVERAGES:
        for name in ("precision_score", "recall_score", "f1_score"):
            assert_same(name, CLASS, CALL, average=average, zero_division=zero_division)


@pytest.mark.parametrize("labels", [[0, 2], [3, 1, 0], [2, 9], [9], np.array([4]), []])
def test_chosen_labels(labels):
    for average in AVERAGES:
        assert_same("f1_score", CLASS, CALL, labels=labels, average=average)
    assert_same("classification_report", CLASS, CALL, labels=labels, output_dict=True)
    assert_same("confusion_matrix", CLASS, CALL, labels=labels)
    if len(labels):
        assert_same("cohen_kappa_score", CLASS, CALL, labels=labels)
        assert_same("multilabel_confusion_matrix", CLASS, CALL, labels=labels)


@pytest.mark.parametrize("pos_label", [1, 0, -1, True, "a", None, 5])
def test_binary_average_and_pos_label(pos_label):
    call = np.roll(BINARY["01"], 5)
    for y in BINARY.values():
        assert_same("f1_score", y, call.astype(np.asarray(y).dtype), pos_label=pos_label)
    assert_same("f1_score", CLASS, CALL, pos_label=pos_label)
    assert_same("f1_score", CLASS, CALL, pos_label=pos_label, average="macro")
    if pos_label is not None:  # theirs fails to sort None
        assert_same("precision_score", np.zeros(5, int), np.zeros(5, int), pos_label=pos_label)
    assert_same("recall_score", np.array(["a", "b"]), np.array(["a", "a"]), pos_label=pos_label)


@pytest.mark.parametrize("weight", ["none", "float"])
@pytest.mark.parametrize("kind", MULTILABEL)
def test_multilabel(kind, weight):
    y, p = MULTILABEL[kind]
    w = WEIGHTS[weight]
    for name in ("accuracy_score", "hamming_loss", "zero_one_loss", "matthews_corrcoef",
                 "confusion_matrix", "balanced_accuracy_score"):  # fmt: skip
        assert_same(name, y, p, sample_weight=w)
    for average in [*AVERAGES, "samples", "binary"]:
        for labels in (None, [0, 2], [0, 5], [-1]):
            for name in ("f1_score", "jaccard_score"):
                assert_same(name, y, p, sample_weight=w, average=average, labels=labels)
    for samplewise in (True, False):
        assert_same("multilabel_confusion_matrix", y, p, sample_weight=w, samplewise=samplewise)
    assert_same("classification_report", y, p, sample_weight=w, output_dict=True)
    scores = rng.random((N, 3))
    for average in [*AVERAGES, "samples"]:
        for name in ("roc_auc_score", "average_precision_score"):
            assert_same(name, y, scores, average=average, sample_weight=w)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("kind", BINARY)
def test_curves(kind, weight):
    y, w = BINARY[kind], WEIGHTS[weight]
    kinds = SCORE, SCORE.astype(np.float32), np.round(SCORE).astype(int), SCORE.tolist()
    for s in kinds if kind == "01" else kinds[:1]:
        for drop in (True, False):
            assert_same("roc_curve", y, s, sample_weight=w, drop_intermediate=drop)
            assert_same("precision_recall_curve", y, s, sample_weight=w, drop_intermediate=drop)
        assert_same("average_precision_score", y, s, sample_weight=w)
        for max_fpr in (None, 1.0, 0.4, 0.05):
            assert_same("roc_auc_score", y, s, sample_weight=w, max_fpr=max_fpr)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("weight", ["none", "float"])
def test_areas_of_several_classes(weight):
    for y in (CLASS, NAMES[CLASS]):
        for multi_class in ("ovr", "ovo", "raise"):
            for average in [*AVERAGES, "samples"]:
                assert_same(
                    "roc_auc_score", y, P, multi_class=multi_class, average=average,
                    sample_weight=WEIGHTS[weight],
                )  # fmt: skip
    for average in AVERAGES:
        assert_same(
            "average_precision_score", CLASS, P, average=average, sample_weight=WEIGHTS[weight]
        )


def test_areas_of_several_classes_with_labels():
    few = CLASS[CLASS < 3]
    for labels in ([0, 1, 2, 3], [0, 1, 2], [3, 2, 1, 0], [0, 0, 1, 2], [0, 1, 2, 4]):
        for multi_class in ("ovr", "ovo"):
            assert_same("roc_auc_score", few, P[CLASS < 3], labels=labels, multi_class=multi_class)
    assert_same("roc_auc_score", CLASS, P[:, :3], multi_class="ovr")
    assert_same("roc_auc_score", CLASS, 2 * P, multi_class="ovr")


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("weight", ["none", "float", "whole"])
def test_probabilities_and_margins(weight):
    w, sure = WEIGHTS[weight], np.eye(4)[CLASS]
    for y in [*BINARY.values(), NAMES[BINARY["01"]]]:
        p = P[:, 0]
        for normalize in (True, False):
            assert_same("log_loss", y, p, sample_weight=w, normalize=normalize)
        for scale in ("auto", True, False):
            assert_same("brier_score_loss", y, p, sample_weight=w, scale_by_half=scale)
        assert_same("hinge_loss", y, SCORE, sample_weight=w)
        assert_same("log_loss", y, np.stack([1 - p, p], axis=1), sample_weight=w)
    for y in (CLASS, NAMES[CLASS], CLASS * 3, CLASS.tolist()):
        for q in (P, sure, np.asfortranarray(P), P.tolist(), 1.1 * P, -P, P[:, :3]):
            assert_same("log_loss", y, q, sample_weight=w)
            assert_same("brier_score_loss", y, q, sample_weight=w)
        for f in (P, np.asfortranarray(P), P[:, :3], SCORE):
            assert_same("hinge_loss", y, f, sample_weight=w)
    assert_same("log_loss", CLASS, P.astype(np.float32), rtol=1e-5, sample_weight=w)
    assert_same("log_loss", CLASS[CLASS < 3], P[CLASS < 3], labels=[0, 1, 2, 3])
    assert_same("hinge_loss", CLASS[CLASS < 3], P[CLASS < 3], labels=[0, 1, 2, 3])
    for pos_label in (0, 1, "x"):
        assert_same("brier_score_loss", BINARY["01"], P[:, 0], pos_label=pos_label)


REGRESSION = [
    "mean_squared_error",
    "root_mean_squared_error",
    "mean_absolute_error",
    "median_absolute_error",
    "mean_absolute_percentage_error",
    "r2_score",
    "explained_variance_score",
]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("name", REGRESSION)
@pytest.mark.parametrize("weight", WEIGHTS)
def test_errors_of_numbers(name, weight):
    w = WEIGHTS[weight]
    if name == "median_absolute_error" and weight == "list":
        w = np.asarray(w)  # theirs fails on a list
    for scale, offset in ((1e-150, 0.0), (1e150, 0.0), (1e307, 0.0), (1.0, 1e6)):
        y, f = scale * (Y + offset), scale * (F + offset)
        assert_same(name, y, f, sample_weight=w, rtol=1e-9)
    assert_same(name, Y, F, sample_weight=w)
    assert_same(name, np.zeros(N), F, sample_weight=w)
    assert_same(name, Y, Y, sample_weight=w)
    assert_same(name, np.ones(N), np.ones(N), sample_weight=w)
    assert_same(name, Y.tolist(), F.tolist(), sample_weight=w)
    assert_same(name, CLASS, CALL, sample_weight=w)
    assert_same(name, Y.astype(np.float32), F.astype(np.float32), sample_weight=w, rtol=1e-5)
    pair = np.stack([Y, F], axis=1), np.stack([F, Y + 1], axis=1)
    for multioutput in ("raw_values", "uniform_average", "variance_weighted", [0.3, 0.7], [1.0]):
        assert_same(name, *pair, sample_weight=w, multioutput=multioutput)
    if name in ("r2_score", "explained_variance_score"):
        assert_same(name, np.ones(N), F, sample_weight=w, force_finite=False)
        assert_same(name, Y[:1], F[:1])


def test_max_error():
    assert_same("max_error", Y, F)
    assert_same("max_error", CLASS, CALL)
    assert_same("max_error", np.stack([Y, Y], axis=1), np.stack([F, F], axis=1))
    assert_same("auc", np.sort(Y), F)
    assert_same("auc", np.sort(Y)[::-1], F)
    assert_same("auc", Y, F)
    assert_same("auc", Y[:1], F[:1])


CLUSTER = [
    "adjusted_rand_score",
    "rand_score",
    "mutual_info_score",
    "normalized_mutual_info_score",
    "adjusted_mutual_info_score",
    "homogeneity_completeness_v_measure",
    "homogeneity_score",
    "completeness_score",
    "v_measure_score",
    "pair_confusion_matrix",
]


@pytest.mark.parametrize("name", CLUSTER)
@pytest.mark.parametrize("kind", ["int", "gaps", "wide", "float", "str", "list", "many"])
def test_clusterings(name, kind):
    y, p = (np.ravel(a) for a in LABELS[kind])
    close = {"rtol": 1e-11, "atol": 1e-11}  # of independent labellings nothing but rounding is left
    assert_same(name, y, p, **close)
    assert_same(name, y, y, **close)
    assert_same(name, np.zeros(len(y)), p, **close)
    assert_same(name, y, np.arange(len(y)), **close)
    assert_same(name, np.zeros(3, int), np.zeros(3, int))
    assert_same(name, NAMES[CLASS], p[: len(CLASS)], **close)
    assert_same(name, Y, p, **close)
    if name != "mutual_info_score":  # theirs takes the logarithm of 0
        assert_same(name, [], [])


def test_clusterings_by_other_means():
    for method in ("min", "max", "geometric", "arithmetic", "other"):
        for name in ("normalized_mutual_info_score", "adjusted_mutual_info_score"):
            assert_same(name, CLASS, CALL, average_method=method, rtol=1e-11)
    module = ours.cluster, theirs_cluster
    for options in ({}, {"eps": 0.1}, {"dtype": float}):
        assert_same("contingency_matrix", NAMES[CLASS], CALL, module=module, **options)
    C = ours.cluster.contingency_matrix(CLASS, CALL, sparse=True)
    assert (C.toarray() == theirs_cluster.contingency_matrix(CLASS, CALL)).all()
    for table in (C, C.toarray()):
        assert_same("mutual_info_score", None, None, contingency=table)


@pytest.mark.parametrize("p", [1, 5, 40])
@pytest.mark.parametrize("n", [40, 700])
def test_silhouettes(n, p):
    X, labels = rng.normal(size=(n, p)) + 3, np.append(rng.integers(0, 4, n - 1), 9)
    for name in ("silhouette_samples", "silhouette_score"):
        assert_same(name, X, labels, rtol=1e-9)
        assert_same(name, X, labels - 5, rtol=1e-9)
        assert_same(name, X, labels.astype(str), rtol=1e-9)
        assert_same(name, X, labels, metric="manhattan")
        assert_same(name, sp.csr_matrix(X), labels, rtol=1e-9)
        assert_same(name, theirs.pairwise_distances(X), labels, metric="precomputed")
    assert_same("silhouette_score", X, labels, sample_size=30, random_state=0, rtol=1e-9)
    for bad in (np.zeros(n), np.arange(n), labels[1:]):
        assert_same("silhouette_samples", X, bad)
