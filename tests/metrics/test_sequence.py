"""Metrics of sequences against seqeval and by hand"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mlreplica.metrics import (
    entity_f1_score,
    entity_precision_recall_f1,
    entity_spans,
    flat_accuracy_score,
    flat_f1_score,
    sequence_accuracy_score,
)


def labels(rng, scheme, n=40):
    """Sequences of any labels of a scheme, well spelt or not."""
    marks = {"BIO": "BI", "BIOES": "BIES"}[scheme]
    names = ["O"] + [f"{m}-{kind}" for m in marks for kind in ("PER", "LOC")]
    return [rng.choice(names, size=rng.integers(1, 12)).tolist() for _ in range(n)]


@pytest.mark.parametrize("average", ["micro", "macro", "weighted", None])
@pytest.mark.parametrize("scheme", ["BIO", "BIOES"])
@pytest.mark.parametrize("mode", [None, "strict"])
def test_entities_are_those_of_seqeval(average, scheme, mode):
    from seqeval import metrics
    from seqeval.scheme import IOB2, IOBES

    rng = np.random.default_rng(0)
    y = labels(rng, scheme)
    guess = [
        [g if rng.random() < 0.3 else t for t, g in zip(a, rng.permutation(a), strict=True)]
        for a in y
    ]
    options = {"average": average, "zero_division": 0}
    if mode:
        options |= {"mode": "strict", "scheme": {"BIO": IOB2, "BIOES": IOBES}[scheme]}
    ours = entity_precision_recall_f1(
        y, guess, average=average, scheme=scheme if mode else "lenient"
    )
    expected = [metrics.precision_score, metrics.recall_score, metrics.f1_score]
    for found, score in zip(ours, expected, strict=True):
        assert_allclose(found, score(y, guess, **options), rtol=1e-12)


def test_by_hand():
    assert entity_spans(["S-A", "B-A", "E-A", "O", "B-B"], "BIOES") == [("A", 0, 0), ("A", 1, 2)]
    assert entity_spans([]) == []
    assert sequence_accuracy_score([], []) == 0
    assert flat_f1_score([["a", "b"]], [["a", "b"]], average="macro") == 1.0
    assert entity_f1_score([["O"]], [["O"]]) == 0.0
    with pytest.raises(ValueError, match="Sequence 0 has 1 true labels and 2"):
        flat_accuracy_score([["a"]], [["a", "b"]])


def test_what_is_no_list_of_sequences_is_refused():
    for metric in (flat_f1_score, flat_accuracy_score, sequence_accuracy_score, entity_f1_score):
        with pytest.raises(ValueError, match=r"pass one as \[y_true\]"):
            metric(["B-PER", "O"], ["B-PER", "O"])
        with pytest.raises(ValueError, match="y_true has 1 sequences, y_pred has 2"):
            metric([["O"]], [["O"], ["O"]])
    with pytest.raises(ValueError, match="must be strings"):
        entity_f1_score([[0, 1]], [[0, 1]])
