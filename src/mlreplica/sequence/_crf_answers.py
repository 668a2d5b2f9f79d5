"""Answers of a fitted field: labels, marginals, explanations, files, sklearn-crfsuite's names"""

from itertools import pairwise, repeat
from operator import is_not
from pathlib import Path

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._crf_chain import Features, smoothed
from ._crf_data import Vocabulary, stacked
from ._paths import best_of_scores, decode_scores


class Tagger:
    """The labels of a fitted model, as CRFsuite's tagger names them."""

    def __init__(self, model):
        self.model = model

    def labels(self):
        """All labels."""
        return list(self.model.labels_)

    def tag(self, xseq):
        """The best labels of one sequence."""
        return self.model.predict_single(xseq)


class CRFAnswers:
    """What a fitted `CRF` says."""

    def _model(self):
        """Features, weights and vocabulary of the fitted model."""
        if "coef_" not in vars(self) and self.model_filename and Path(self.model_filename).exists():
            self._restore()
        check_is_fitted(self, "coef_")
        learned = self.attributes_in_, self.starts_, self.feature_labels_, self.pairs_
        made = vars(self).get("_made")  # for the next call: of these very objects, not of a refit
        if made is None or any(map(is_not, made[0], learned)):
            made = learned, Features(*learned[1:], self.n_labels_), Vocabulary(learned[0])
            self._made = made
        return made[1], self.coef_, made[2]

    def _items(self, X, vocabulary):
        """Items of new sequences."""
        X = list(X)
        items = stacked(X)
        if items is None:
            return vocabulary.encode(X)
        known = [int(name) for name in self.attributes_in_]
        if known and max(known) >= items.matrix.shape[1]:
            raise ValueError(
                f"X has {items.matrix.shape[1]} columns, the model knows {max(known)}."
            )
        matrix = items.matrix[:, known].tocsr()
        matrix.indices, matrix.indptr = (
            matrix.indices.astype(np.int64),
            matrix.indptr.astype(np.int64),
        )
        return items._replace(matrix=matrix)

    def predict(self, X):
        """The best labels of every sequence.

        Parameters
        ----------
        X : list of lists of dicts, or of arrays or sparse matrices

        Returns
        -------
        y : ndarray of lists of labels
        """
        return as_objects(self._best(X))

    def _best(self, X):
        """A list of labels for every sequence."""
        features, w, vocabulary = self._model()
        items = self._items(X, vocabulary)
        states = np.empty(0, dtype=np.int64)
        if items.offsets[-1]:
            scores, T = features.scores(items, w), features.transitions(w)
            _, states = decode_scores(np.zeros(len(T)), T, scores, np.unique(items.offsets))
        names = np.fromiter(self.labels_, object)[states].tolist()
        ends = items.offsets.tolist()
        return [names[a:z] for a, z in pairwise(ends)]

    def predict_single(self, xseq):
        """The best labels of one sequence.

        Parameters
        ----------
        xseq : list of dicts, array or sparse matrix

        Returns
        -------
        y : list of labels
        """
        return self._best([xseq])[0]

    def predict_marginals(self, X):
        """The probability of every label for every item.

        Parameters
        ----------
        X : list of lists of dicts, or of arrays or sparse matrices

        Returns
        -------
        y : ndarray of lists of dicts {label: probability}
        """
        return as_objects(self._marginals(X))

    def _marginals(self, X):
        """A list of dictionaries for every sequence."""
        features, w, vocabulary = self._model()
        items = self._items(X, vocabulary)
        rows = []
        if items.offsets[-1]:
            found, _ = smoothed(features, items, w)
            flat = iter(found.gamma.ravel().tolist())  # each zip takes the next L numbers
            rows = list(map(dict, map(zip, repeat(self.labels_, len(found.gamma)), repeat(flat))))
        ends = items.offsets.tolist()
        return [rows[a:z] for a, z in pairwise(ends)]

    def predict_marginals_single(self, xseq):
        """The probability of every label for every item of one sequence.

        Parameters
        ----------
        xseq : list of dicts, array or sparse matrix

        Returns
        -------
        y : list of dicts {label: probability}
        """
        return self._marginals([xseq])[0]

    def score(self, X, y):
        """The share of items whose label is right.

        Parameters
        ----------
        X : list of lists of dicts, or of arrays or sparse matrices
        y : list of lists of labels

        Returns
        -------
        accuracy : float
        """
        found = [label for labels in self._best(X) for label in labels]
        true = [label for labels in y for label in labels]
        return sum(map(lambda a, b: a == b, found, true)) / max(len(true), 1)

    def predict_best(self, xseq, n_paths=5):
        """The most probable labellings of one sequence, best first.

        Parameters
        ----------
        xseq : list of dicts, array or sparse matrix
        n_paths : int, default=5

        Returns
        -------
        probabilities : ndarray of shape (n_paths,)
        labellings : list of lists of labels
        """
        features, w, vocabulary = self._model()
        items = self._items([xseq], vocabulary)
        scores, T = features.scores(items, w), features.transitions(w)
        values, paths = best_of_scores(np.zeros(len(T)), T, scores, n_paths)
        found, shift = smoothed(features, items, w, smooth=False)
        log_z = found.log_likelihoods[0] + shift * (len(scores) - 1)
        return np.exp(values - log_z), [[self.labels_[k] for k in path] for path in paths.tolist()]

    def explain(self, xseq):
        """Why each item got its label: the terms that the best labelling's score is made of.

        Parameters
        ----------
        xseq : list of dicts, array or sparse matrix

        Returns
        -------
        terms : list of dicts
            Of each item its `label`, `transition` (the score of coming from the label before) and
            `attributes`: {attribute: score}, largest first.
        """
        features, w, vocabulary = self._model()
        items, labels = self._items([xseq], vocabulary), self.predict_single(xseq)
        T, M, found = features.transitions(w), items.matrix, []
        numbers = [self.labels_.index(label) for label in labels]
        for t, (label, j) in enumerate(zip(labels, numbers, strict=True)):
            terms = {}
            for a, v in zip(
                M.indices[M.indptr[t] : M.indptr[t + 1]], M.data[M.indptr[t] :], strict=False
            ):
                own = slice(features.starts[a], features.starts[a + 1])
                hit = np.flatnonzero(features.labels[own] == j)
                if len(hit):
                    name = self.attributes_in_[a]
                    terms[name] = terms.get(name, 0.0) + float(v * w[own][hit[0]])
            ordered = dict(sorted(terms.items(), key=lambda term: -abs(term[1])))
            move = float(T[numbers[t - 1], j]) if t else 0.0
            found.append({"label": label, "transition": move, "attributes": ordered})
        return found

    def _store(self):
        """Save the fitted model where `model_filename` says."""
        from mlreplica.persistence import save

        save(self, self.model_filename)

    def _restore(self):
        """Load what was learned from the file of that name."""
        from mlreplica.persistence import load

        loaded = vars(load(self.model_filename))
        vars(self).update({k: v for k, v in loaded.items() if k.endswith("_")})

    @property
    def classes_(self):
        """Labels; None before the fit."""
        return vars(self).get("labels_")

    @property
    def attributes_(self):
        """Attributes with a weight that is not zero; None before the fit."""
        return vars(self).get("attributes_in_")

    @property
    def num_attributes_(self):
        """How many there are; None before the fit."""
        return None if self.attributes_ is None else len(self.attributes_)

    @property
    def size_(self):
        """Bytes that the model takes in memory, about; None before the fit."""
        if self.attributes_ is None:
            return None
        arrays = (self.coef_, self.starts_, self.feature_labels_, self.pairs_)
        return (
            int(sum(a.nbytes for a in arrays) + sum(50 + len(name) for name in self.attributes_))
            + 1000
        )

    @property
    def tagger_(self):
        """An object with the method `labels`, as in CRFsuite; None before the fit."""
        return None if self.classes_ is None else Tagger(self)

    @property
    def state_features_(self):
        """{(attribute, label): weight}; None before the fit."""
        if self.attributes_ is None:
            return None
        owners = np.repeat(np.arange(len(self.attributes_)), np.diff(self.starts_)).tolist()
        pairs = zip(owners, self.feature_labels_.tolist(), self.coef_.tolist(), strict=False)
        return {(self.attributes_[a], self.labels_[j]): w for a, j, w in pairs}

    @property
    def transition_features_(self):
        """{(label, next label): weight}; None before the fit."""
        if self.attributes_ is None:
            return None
        weights = self.coef_[len(self.feature_labels_) :].tolist()
        pairs = zip(self.pairs_.tolist(), weights, strict=True)
        return {(self.labels_[i], self.labels_[j]): w for (i, j), w in pairs}


def as_objects(lists):
    """An array of lists; as in sklearn-crfsuite, one with two axes if they are of equal length."""
    if len(set(map(len, lists))) == 1:
        return np.array(lists, dtype=object)
    found = np.empty(len(lists), dtype=object)  # NumPy would look into every list
    found[:] = lists
    return found
