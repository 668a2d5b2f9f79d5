"""Bad input: scikit-learn's kind of error, word for word, from every metric"""

import numpy as np
import pytest
import scipy.sparse as sp

from mlreplica import metrics

from .test_references import CLUSTER, REGRESSION, assert_same

A, B = np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0])
S = np.array([0.1, 0.9, 0.4, 0.2])
LABEL_SCORES = ["accuracy_score", "balanced_accuracy_score", "confusion_matrix", "f1_score",
                "precision_recall_fscore_support", "jaccard_score", "matthews_corrcoef",
                "hamming_loss", "zero_one_loss", "classification_report",
                "cohen_kappa_score"]  # fmt: skip
SCORE_SCORES = ["roc_curve", "roc_auc_score", "precision_recall_curve", "average_precision_score",
                "log_loss", "brier_score_loss", "hinge_loss"]  # fmt: skip
PAIRS = {
    "lengths": (A, B[:3]),
    "empty": (A[:0], B[:0]),
    "continuous": (A, S),
    "both continuous": (S, S[::-1].copy()),
    "nan": (np.array([0.0, 1.0, np.nan, 0.0]), B),
    "inf": (A, np.array([0.0, 1.0, np.inf, 0.0])),
    "mixed": (A, np.array(["a", "b", "a", "b"])),
    "mixed objects": (np.array(["a", 1, "b", 2], dtype=object), B),
    "2-d": (np.stack([A, A, 2 * A]), np.stack([B, B, B])),
    "3-d": (A.reshape(1, 2, 2), B.reshape(1, 2, 2)),
    "indicator and classes": (np.eye(4, dtype=int), A),
    "scalar": (1, 1),
    "none": (None, A),
    "str": ("abcd", A),
    "bytes": (np.array([b"a", b"b"]), np.array([b"a", b"b"])),
    "one sample": (A[:1], B[:1]),
}
WEIGHTS = {
    "length": np.ones(3),
    "nan": np.array([1.0, np.nan, 1.0, 1.0]),
    "zeros": np.zeros(4),
    "2-d": np.ones((4, 2)),
    "str": "balanced",
}


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("name", LABEL_SCORES + SCORE_SCORES + REGRESSION + CLUSTER + ["max_error"])
def test_bad_pairs(name, pair):
    if (name, pair) == ("mutual_info_score", "empty"):
        assert metrics.mutual_info_score(*PAIRS[pair]) == 0.0  # theirs takes the logarithm of 0
    elif pair == "3-d":
        with pytest.raises(ValueError, match=r"dim|not supported|must be 1D|shape"):
            getattr(metrics, name)(*PAIRS[pair])
    else:
        assert_same(name, *PAIRS[pair])


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("name", LABEL_SCORES + SCORE_SCORES + REGRESSION)
def test_bad_weights(name, weight):
    second = S if name in SCORE_SCORES + REGRESSION else B
    assert_same(name, A, second, sample_weight=WEIGHTS[weight])


@pytest.mark.parametrize("options", [{"average": "mean"}, {"zero_division": 2}, {"labels": 3},
                                     {"pos_label": [1]}, {"sample_weight": 1}])  # fmt: skip
def test_bad_options(options):
    for name in ("f1_score", "precision_score", "jaccard_score"):
        assert_same(name, A, B, **options)


def test_sparse_labels_have_a_number_and_weights_of_classes_a_length():
    y = sp.coo_array(np.eye(4, dtype=int))
    assert_same("zero_one_loss", y, sp.coo_array(np.eye(4, dtype=int)[::-1]), normalize=False)
    for average in ("macro", "weighted"):
        for w in (np.ones(8), np.ones(3)):
            assert_same("roc_auc_score", np.arange(4), np.eye(4), multi_class="ovr",
                        average=average, sample_weight=w)  # fmt: skip


def test_bad_scores():
    for s in (np.array([0.1, np.nan, 0.2, 0.3]), np.array([0.1, np.inf, 0.2, 0.3]), S[:3],
              np.array(["a", "b", "c", "d"])):  # fmt: skip
        for name in SCORE_SCORES:
            assert_same(name, A, s)
    for y in (np.array([0, 1, 2, 1]), np.array([1, 2, 2, 1]), np.ones(4, int), np.zeros(4, int),
              -np.ones(4, int), np.array(["a", "b", "b", "a"]), np.full(4, 2)):  # fmt: skip
        for name in SCORE_SCORES:
            assert_same(name, y, S)
    assert_same("roc_auc_score", A, S, max_fpr=0.0)
    assert_same("roc_curve", A, S, pos_label="x")
    assert_same("log_loss", A, S, labels=[0, 1, 2])
    assert_same("log_loss", A, y_pred=S)
    assert_same("log_loss", A, S, y_pred=S)
    assert_same("mean_squared_error", S, S, multioutput="other")
