r"""The confusion matrix: one statistic, from which every score of class labels derives

C_ij is the number (or weight) of samples of class i that were called j:

    C_ij = Σ_s c_s [y_s = i] [ŷ_s = j]                                        (1)

It is a sum over samples, so the matrices of two blocks of data add up to the matrix of both:

    C(U ∪ V) = C(U) + C(V)                                                    (2)

Seen from one class k, all that precision, recall, F and Jaccard need are three sums:

    tp_k = C_kk,     pred_k = Σ_i C_ik,     true_k = Σ_j C_kj                 (3)

    precision = tp/pred     recall = tp/true     jaccard = tp/(true + pred − tp)
    F_β = (1 + β²) tp / (β² true + pred)                                      (4)

Only the cells that occur are kept, at most min(n, K²) of them for K classes, so that ten thousand
classes cost no more than the samples they were seen in.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.sparsefuncs import count_nonzero

from mlreplica.core.compat import _classification as reference
from mlreplica.core.compat import _nanaverage
from mlreplica.core.compile.jit import kernel

from ._inputs import LARGE, in_parts, integers, is_plain, is_weight


@kernel
def count_pairs(t, p, low, cols, size):
    """Equation (1) without weights; two tables, so that equal neighbours do not wait in line."""
    count = np.zeros((2, size), np.int64)
    for s in range(len(t)):
        count[s & 1, (t[s] - low) * cols + p[s] - low] += 1
    return count[0] + count[1]


@kernel
def weigh_pairs(t, p, low, cols, w, size):
    """Equation (1) with weights, and the plain count beside it: weight 0 is not absence."""
    count, weight = np.zeros(size, np.int64), np.zeros(size)
    for s in range(len(t)):
        cell = (t[s] - low) * cols + p[s] - low
        count[cell] += 1
        weight[cell] += w[s]
    return count, weight


def sums(cell, w, size):
    """Σ of the weights in each cell; whole weights stay exact."""
    if w.dtype.kind == "f":
        return np.bincount(cell, weights=w, minlength=size)
    total = np.zeros(size, np.int64)
    np.add.at(total, cell, w.astype(np.int64))
    return total


def dense_table(t, p, low, cols, size, w):
    """Counts and weights of all cells, by kernels on threads where there is enough to do."""
    if len(t) < LARGE or (w is not None and w.dtype.kind != "f"):
        cell = (t - low) * cols + (p - low)
        count = np.bincount(cell, minlength=size)
        return count, None if w is None else sums(cell, w, size)
    t, p = np.ascontiguousarray(t), np.ascontiguousarray(p)
    if w is None:
        return sum(in_parts(lambda s: count_pairs(t[s], p[s], low, cols, size), len(t))), None
    w = np.ascontiguousarray(w, np.float64)
    tables = in_parts(lambda s: weigh_pairs(t[s], p[s], low, cols, w[s], size), len(t))
    return sum(count for count, _ in tables), sum(weight for _, weight in tables)


def cells(t, p, low, cols, rows, w=None):
    """The cells (i, j, value) that occur, for codes t − low < rows and p − low < cols."""
    if w is not None and w.dtype == object:
        w = w.astype(np.float64)
    if rows * cols <= max(4096, len(t) // 8):
        count, weight = dense_table(t, p, low, cols, rows * cols, w)
        cell = np.flatnonzero(count)
        value = (count if weight is None else weight)[cell]
    else:
        cell, inverse, value = np.unique(
            (t - low) * cols + (p - low), return_inverse=True, return_counts=True
        )
        if w is not None:
            value = sums(inverse, w, len(cell))
    return *np.divmod(cell, cols), value


@kernel
def intern(words, table, first, code):
    """Number equal rows of `words` alike, in order of appearance; return how many there are.

    `table` holds, by hash, the number of a row seen before or −1; `first` where it was seen first.
    Returns −1 as soon as more than half of the table would be taken.
    """
    n, width = words.shape
    mask, k = len(table) - 1, 0
    for s in range(n):
        h = 0
        for c in range(width):
            h = ((h ^ np.int64(words[s, c])) * 1_000_003) & 0xFF_FFFF_FFFF  # 40 bits: no overflow
        slot = (h >> 24) & mask
        while table[slot] >= 0:
            at, c = first[table[slot]], 0
            while c < width and words[s, c] == words[at, c]:
                c += 1
            if c == width:
                break
            slot = (slot + 1) & mask
        if table[slot] < 0:
            if k == len(first):
                return -1
            table[slot], first[k] = k, s
            k += 1
        code[s] = table[slot]
    return k


def encode_strings(y):
    """Sorted distinct strings and the position of each y among them."""
    if len(y) >= LARGE:
        width = y.itemsize // 4
        words = np.ascontiguousarray(y).view(np.uint32).reshape(-1, max(width, 1))
        first, code = np.empty(1 << 11, np.int64), np.empty(len(y), np.int64)
        k = intern(words, np.full(1 << 12, -1), first, code) if width else -1
        if k > 0:
            labels, position = np.unique(y[first[:k]], return_inverse=True)
            return labels, position[code]
    return np.unique(y, return_inverse=True)


def encode(y, labels):
    """Positions of y in the sorted labels."""
    if y.dtype == object:
        position = {label: i for i, label in enumerate(labels.tolist())}
        return np.fromiter(map(position.__getitem__, y.tolist()), np.int64, len(y))
    return np.searchsorted(labels, y)


class Indicator(NamedTuple):
    """Several labels a sample: two CSR matrices of zeros and ones, a column a label."""

    labels: np.ndarray
    true: Any
    pred: Any


def look(y_true, y_pred, w=None):
    """(Confusion or Indicator, weight): the one look at the targets, cheap where they are plain."""
    if is_weight(w, len(y_true) if type(y_true) is np.ndarray and y_true.ndim else 0):
        if is_plain(y_true, y_pred):
            t, p = integers(y_true), integers(y_pred)
            if t is not None and p is not None:
                low, high = int(min(t.min(), p.min())), int(max(t.max(), p.max()))
                if high - low < 64 or (high - low) ** 2 < len(t):
                    span = high - low + 1
                    labels = np.arange(low, high + 1).astype(np.result_type(y_true, y_pred))
                    return Confusion(labels, *cells(t, p, low, span, span, w)).compact(), w
        elif is_plain(y_true, y_pred, kinds="U"):
            labels, code = encode_strings(np.concatenate([y_true, y_pred]))
            n, k = len(y_true), len(labels)
            return Confusion(labels, *cells(code[:n], code[n:], 0, k, k, w)), w
    kind, labels, y_true, y_pred, w = reference._check_targets(y_true, y_pred, w)
    if kind == "multilabel-indicator":
        return Indicator(labels, y_true, y_pred), w
    k = len(labels)
    return Confusion(labels, *cells(encode(y_true, labels), encode(y_pred, labels), 0, k, k, w)), w


class Counts(NamedTuple):
    """Equation (3) for each label (or, of several labels a sample, for each sample)."""

    tp: np.ndarray
    pred: np.ndarray
    true: np.ndarray
    total: Any

    @classmethod
    def of_indicator(cls, y_true, y_pred, w=None, axis=0):
        """Per label (axis 0) or per sample (axis 1), of two CSR label indicators."""
        both = y_true.multiply(y_pred).tocsr()
        three = (count_nonzero(Y, axis, w) for Y in (both, y_pred, y_true))
        n, k = y_true.shape
        weight = 1 if w is None else w
        return cls(*three, np.sum(weight) if axis == 0 and w is not None else (n, k * weight)[axis])

    def pooled(self):
        """One pseudo-label with the sums over all labels: the micro average's counts."""
        return Counts(*(np.atleast_1d(np.sum(x)) for x in self[:3]), self.total)


class Confusion:
    """Confusion matrix of class labels: compute it once, read every score off it.

    Parameters
    ----------
    labels : ndarray of shape (k,)
        The classes, sorted.
    i, j, value : ndarrays of shape (m,)
        The cells that occur: `value` samples (or their weight) of class `labels[i]` were called
        `labels[j]`.

    Examples
    --------
    >>> from mlreplica.metrics import Confusion
    >>> monday = Confusion.of(["cat", "dog", "dog", "cat"], ["cat", "dog", "cat", "cat"])
    >>> tuesday = Confusion.of(["cat", "emu"], ["cat", "cat"])
    >>> week = monday + tuesday
    >>> week.matrix
    array([[3, 0, 0],
           [1, 1, 0],
           [1, 0, 0]])
    >>> week.accuracy(), week.recall(average=None)
    (0.6666666666666666, array([1. , 0.5, 0. ]))
    """

    def __init__(self, labels, i, j, value):
        self.labels, self.i, self.j, self.value = labels, i, j, value

    @classmethod
    def of(cls, y_true, y_pred, sample_weight=None):
        """Equation (1) in one look at the data; labels of any kind that scikit-learn takes."""
        confusion, _ = look(y_true, y_pred, sample_weight)
        if isinstance(confusion, Indicator):
            raise ValueError("multilabel-indicator is not supported")
        return confusion

    def compact(self):
        """The same without labels that no sample has, neither as truth nor as call."""
        seen = np.zeros(len(self.labels), bool)
        seen[self.i] = seen[self.j] = True
        if seen.all():
            return self
        position = np.cumsum(seen) - 1
        return Confusion(self.labels[seen], position[self.i], position[self.j], self.value)

    def __add__(self, other):
        """Equation (2)."""
        labels = np.union1d(self.labels, other.labels)
        i, j = (
            np.concatenate([encode(c.labels, labels)[getattr(c, x)] for c in (self, other)])
            for x in "ij"
        )
        value = np.concatenate([self.value, other.value])
        return Confusion(labels, *cells(i, j, 0, len(labels), len(labels), value))

    def __repr__(self):
        return f"Confusion(labels={self.labels.tolist()}, matrix={self.matrix.tolist()})"

    @property
    def kind(self):
        """scikit-learn's word for the target: "binary" up to two classes, else "multiclass"."""
        return "binary" if len(self.labels) <= 2 else "multiclass"

    @property
    def matrix(self):
        """C as a dense (k, k) array; rows are true classes."""
        C = np.zeros((len(self.labels),) * 2, self.value.dtype)
        C[self.i, self.j] = self.value
        return C

    def at(self, labels):
        """The dense matrix over these labels, in this order; other samples are left out."""
        k = len(labels)
        position = {label: i for i, label in enumerate(labels.tolist())}
        new = np.array([position.get(label, k) for label in self.labels.tolist()], np.intp)
        C = np.zeros((k + 1, k + 1), self.value.dtype)
        C[new[self.i], new[self.j]] = self.value
        return C[:k, :k]

    def counts(self, labels=None, dtype=None):
        """Equation (3) for each label, or for the given ones; an unseen label counts zero."""
        k, value = len(self.labels), self.value.astype(dtype or self.value.dtype, copy=False)
        right = self.i == self.j
        where = self.i[right], self.j, self.i
        what = value[right], value, value
        three = [sums(at, part, k + 1) for at, part in zip(where, what, strict=True)]
        if labels is None:
            return Counts(*(x[:k] for x in three), value.sum())
        position = {label: i for i, label in enumerate(self.labels.tolist())}
        at = [position.get(label, k) for label in np.asarray(labels).tolist()]
        return Counts(*(x[at] for x in three), value.sum())

    def chosen(self, average, labels, pos_label):
        """The labels to score; scikit-learn complains where `average` or `pos_label` cannot be."""
        if average == "binary":
            if self.kind == "binary" and pos_label in self.labels.tolist():
                return [pos_label]
        elif pos_label is None or pos_label == 1:
            return labels
        return reference._check_set_wise_labels(
            self.labels, self.labels, average, labels, pos_label
        )

    def accuracy(self):
        """Share of samples on the diagonal."""
        return float(self.value[self.i == self.j].sum() / self.value.sum())

    def precision_recall_fscore_support(
        self, *, beta=1.0, labels=None, pos_label=1, average=None, zero_division="warn",
        warn_for=("precision", "recall", "f-score"),
    ):  # fmt: skip
        """All four at once, as scikit-learn's function of this name returns them."""
        if average == "samples":
            raise ValueError(
                "Samplewise metrics are not available outside of multilabel classification."
            )
        counts = self.counts(self.chosen(average, labels, pos_label))
        return precision_recall_fscore(counts, beta, average, warn_for, zero_division)

    def precision(self, **options):
        """Of what was called c, the share that is c; options as in `precision_score`."""
        return self.precision_recall_fscore_support(warn_for=("precision",), **options)[0]

    def recall(self, **options):
        """Of what is c, the share that was called c; options as in `recall_score`."""
        return self.precision_recall_fscore_support(warn_for=("recall",), **options)[1]

    def fbeta(self, beta, **options):
        """Weighted harmonic mean of precision and recall; options as in `fbeta_score`."""
        return self.precision_recall_fscore_support(beta=beta, warn_for=("f-score",), **options)[2]

    def f1(self, **options):
        """Harmonic mean of precision and recall; options as in `f1_score`."""
        return self.fbeta(1.0, **options)


def ratio(top, bottom, metric, modifier, average, warn_for, zero_division):
    """top / bottom; where bottom is 0, scikit-learn's rule and warning for `zero_division`."""
    if bottom.all():
        return top / bottom
    return reference._prf_divide(top, bottom, metric, modifier, average, warn_for, zero_division)


def average_of(scores, weight):
    """The mean over labels, without those left undefined (NaN)."""
    if weight is None and len(scores):
        score = scores.mean() if len(scores) > 1 else scores[0]
        if not np.isnan(score):
            return float(score)
    return float(_nanaverage(scores, weights=weight))


def precision_recall_fscore(counts, beta, average, warn_for, zero_division, sample_weight=None):
    """Equation (4) for each label, then averaged; the fourth result is the support."""
    if average == "micro":
        counts = counts.pooled()
    tp, pred, true, _ = counts
    rule = average, warn_for, zero_division
    precision = ratio(tp, pred, "precision", "predicted", *rule)
    recall = ratio(tp, true, "recall", "true", *rule)
    if beta == np.inf:
        f = recall
    elif beta == 0:
        f = precision
    else:
        top, bottom = (1 + beta**2) * tp.astype(float), beta**2 * true.astype(float) + pred
        f = ratio(top, bottom, "f-score", "true nor predicted", *rule)
    if average is None:
        return precision, recall, f, true
    weight = {"weighted": true, "samples": sample_weight}.get(average)
    return average_of(precision, weight), average_of(recall, weight), average_of(f, weight), None
