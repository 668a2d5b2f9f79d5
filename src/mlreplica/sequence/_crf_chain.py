r"""The likelihood of a linear-chain conditional random field and its gradient

A sequence x with labels y scores

    s(x, y) = Σ_t Σ_a v_ta w_{a, y_t} + Σ_{t>1} w_{y_{t−1}, y_t},  p(y | x) = e^{s(x,y)} / Z(x)  (1)

with attributes a of value v_ta. Z is a sum over all paths: the lattice of a hidden Markov model
whose log b_tj are the scores of label j and whose A_ij = e^{w_ij} need not be probabilities. With
N = −Σ log p,

    ∂N/∂w_{a,j} = Σ_t v_ta (P(y_t = j | x) − [y_t = j])                                          (2)
    ∂N/∂w_{i,j} = Σ_t (P(y_{t−1} = i, y_t = j | x) − [y_{t−1} = i, y_t = j])                     (3)

expected minus observed. Only features that occur have a weight, as lists of labels per attribute.
"""

import numpy as np

from mlreplica.core.compile.jit import kernel
from mlreplica.core.compile.threads import run

from ._lattice import pieces, walk_lattice

NARROW = 4  # an attribute with a quarter of the labels has a row with all of them


@kernel(borrow=True)
def add_scores(indptr, columns, values, starts, labels, w, wide, table, out, first, last):
    """out[t, j] = Σ_a v_ta w_aj of rows first … last−1; a has row wide[a] of `table`, or −1."""
    L = out.shape[1]
    for t in range(first, last):
        row = out[t]
        for j in range(L):
            row[j] = 0.0
        for k in range(indptr[t], indptr[t + 1]):
            v, a = values[k], columns[k]
            if wide[a] >= 0:
                weights = table[wide[a]]
                for j in range(L):
                    row[j] += v * weights[j]
            else:
                for f in range(starts[a], starts[a + 1]):
                    row[labels[f]] += v * w[f]
    return 0


@kernel(borrow=True)
def add_expected(indptr, rows, values, starts, labels, wide, gamma, sums, g, first, last):
    """g_aj = Σ_t v_ta γ_tj of the attributes first … last−1, by columns of the matrix.

    Where an attribute has a wide row, all labels are summed, in `sums`.
    """
    for a in range(first, last):
        if wide[a] >= 0:
            for j in range(len(sums)):
                sums[j] = 0.0
            for k in range(indptr[a], indptr[a + 1]):
                v, t = values[k], rows[k]
                for j in range(len(sums)):
                    sums[j] += v * gamma[t, j]
            for f in range(starts[a], starts[a + 1]):
                g[f] = sums[labels[f]]
            continue
        for f in range(starts[a], starts[a + 1]):
            g[f] = 0.0
        for k in range(indptr[a], indptr[a + 1]):
            v, t = values[k], rows[k]
            for f in range(starts[a], starts[a + 1]):
                g[f] += v * gamma[t, labels[f]]
    return 0


class Features:
    """Which pairs of attribute and label, and of labels, have a weight.

    Attributes
    ----------
    starts, labels : ndarray
        Attribute a has the labels labels[starts[a]:starts[a + 1]]; a weight each.
    pairs : ndarray of shape (m, 2)
        Transitions; their weights follow those of the attributes.
    wide : ndarray
        Attributes with most of the labels have a row with all of them, in a table that is filled
        at every evaluation: adding a whole row needs no index per label. −1 for the others.
    """

    def __init__(self, starts, labels, pairs, n_labels):
        self.starts, self.labels, self.pairs, self.n_labels = starts, labels, pairs, n_labels
        counts = np.diff(starts)
        many = counts * NARROW >= n_labels
        self.wide = np.where(many, np.cumsum(many) - 1, -1)
        self.in_table = np.repeat(many, counts)
        self.cells = np.repeat(self.wide, counts)[self.in_table], labels[self.in_table]

    @property
    def size(self):
        """How many weights there are."""
        return len(self.labels) + len(self.pairs)

    def transitions(self, w):
        """Scores of all pairs of labels; 0 where there is no weight."""
        T = np.zeros((self.n_labels, self.n_labels))
        T[self.pairs[:, 0], self.pairs[:, 1]] = w[len(self.labels) :]
        return T

    def scores(self, items, w):
        """Score of every label for every item."""
        M = items.matrix
        out = np.empty((M.shape[0], self.n_labels))
        table = np.zeros((self.wide.max(initial=-1) + 1, self.n_labels))
        table[self.cells] = w[: len(self.labels)][self.in_table]
        matrix, weights = (M.indptr, M.indices, M.data), (self.starts, self.labels, w)
        arrays = *matrix, *weights, self.wide, table, out
        tasks = pieces(M.indptr, least=20_000)
        run(lambda first, last: add_scores(*arrays, first, last), *zip(*tasks, strict=True))
        return out


def sums_of_pairs(rows, columns, weights, shape):
    """Distinct pairs and the sum of the weights of each."""
    keys = rows * shape[1] + columns
    if shape[0] * shape[1] <= 50_000_000:
        sums = np.bincount(keys, weights, shape[0] * shape[1])
        seen = np.flatnonzero(np.bincount(keys, minlength=len(sums)))
        return seen // shape[1], seen % shape[1], sums[seen]
    seen, back = np.unique(keys, return_inverse=True)
    return seen // shape[1], seen % shape[1], np.bincount(back, weights)


def find_features(items, y, weights, L, min_freq=0.0, all_states=False, all_transitions=False):
    """The features of training sequences, and how often each is observed."""
    M, offsets = items
    n, F = M.shape
    row_weights = np.repeat(weights, np.diff(offsets))
    rows = np.repeat(np.arange(n), np.diff(M.indptr))
    a, j, freq = sums_of_pairs(M.indices, y[rows], M.data, (F, L))
    observed = sums_of_pairs(M.indices, y[rows], M.data * row_weights[rows], (F, L))[2]
    inner = np.ones(n, dtype=bool)
    inner[offsets[:-1][offsets[:-1] < n]] = False
    last = np.flatnonzero(inner)
    i_from, i_to, moves = sums_of_pairs(y[last - 1], y[last], np.ones(len(last)), (L, L))
    moved = sums_of_pairs(y[last - 1], y[last], row_weights[last], (L, L))[2]
    if all_states:
        full = np.zeros((F, L))
        full[a, j] = observed
        a, j = (index.ravel() for index in np.indices((F, L)))
        observed, freq = full.ravel(), np.full(F * L, np.inf)
    if all_transitions:
        full = np.zeros((L, L))
        full[i_from, i_to] = moved
        i_from, i_to = (index.ravel() for index in np.indices((L, L)))
        moved, moves = full.ravel(), np.full(L * L, np.inf)
    keep, keep_moves = freq >= min_freq, moves >= min_freq
    a, j, observed = a[keep], j[keep], observed[keep]
    starts = np.concatenate([[0], np.cumsum(np.bincount(a, minlength=F))]).astype(np.int64)
    pairs = np.stack([i_from, i_to], axis=1)[keep_moves].astype(np.int64)
    features = Features(starts, np.ascontiguousarray(j, dtype=np.int64), pairs, L)
    return features, np.concatenate([observed, moved[keep_moves]])


class ChainLikelihood:
    """N of (1) and its gradient (2), (3), as a function of the weights."""

    def __init__(self, items, features, observed, weights):
        self.items, self.features, self.observed, self.weights = items, features, observed, weights
        M = items.matrix.tocsc()
        self.columns = M.indptr.astype(np.int64), M.indices.astype(np.int64), M.data
        n, L = M.shape[0], features.n_labels
        self.work = np.empty((n, L)), np.empty((n, L))
        self.row_weights = np.repeat(weights, np.diff(items.offsets))[:, None]

    def __call__(self, w):
        """N and its gradient."""
        F = self.features
        found, shift = smoothed(F, self.items, w, self.weights, self.work)
        lengths = np.diff(self.items.offsets)
        log_z = found.log_likelihoods + shift * np.maximum(lengths - 1, 0)
        gamma = found.gamma if (self.weights == 1).all() else found.gamma * self.row_weights
        self.gamma, self.moves = found.gamma, found.transitions
        g = self.expected(self.columns[2], gamma)
        g[len(F.labels) :] = self.moves[F.pairs[:, 0], F.pairs[:, 1]]
        g -= self.observed
        return float(self.weights @ log_z - w @ self.observed), g

    def curvature(self):
        """About the second derivatives of N where it was evaluated last: variances of features."""
        F, gamma = self.features, self.gamma
        h = self.expected(self.columns[2] ** 2, gamma * (1 - gamma) * self.row_weights)
        moves, n = self.moves[F.pairs[:, 0], F.pairs[:, 1]], max(self.moves.sum(), 1e-300)
        h[len(F.labels) :] = moves * (1 - moves / n)
        return h

    def expected(self, values, gamma):
        """Σ_t v_ta γ_tj of all pairs (a, j) that have a weight; transitions are to follow."""
        F, (indptr, rows, _) = self.features, self.columns
        g = np.empty(F.size)
        arrays = indptr, rows, values, F.starts, F.labels, F.wide, gamma
        tasks = pieces(indptr, least=20_000)

        def task(first, last):
            add_expected(*arrays, np.empty(F.n_labels), g, first, last)

        run(task, *zip(*tasks, strict=True))
        return g


def smoothed(features, items, w, weights=None, work=None, smooth=True):
    """The lattice of (1), and what every transition's score was lowered by."""
    T = features.transitions(w)
    shift = T.max()
    ones = np.ones(features.n_labels)
    scores, offsets = features.scores(items, w), items.offsets
    empty = np.diff(offsets) == 0
    if empty.any():  # a sequence without items has one labelling: none
        offsets = np.unique(offsets)
        weights = None if weights is None else weights[~empty]
    options = {"smooth": smooth, "weights": weights, "work": work}
    found = walk_lattice(ones, np.exp(T - shift), scores, offsets, **options)
    if empty.any():
        totals = np.zeros(len(empty))
        totals[~empty] = found.log_likelihoods
        found = found._replace(log_likelihoods=totals)
    return found, shift
