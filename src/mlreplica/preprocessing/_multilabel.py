"""Several labels per row, as a matrix of zeros and ones"""

import itertools
import warnings
from collections import defaultdict

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mlreplica.core.compat import _align_api_if_sparse, _fit_context

from ._labels import CARD


class MultiLabelBinarizer(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):
    """Encode sets of labels as rows with a column for each label.

    Parameters
    ----------
    classes : array-like of shape (n_classes,), default=None
        The labels, in the order of the columns; None learns and sorts them.
    sparse_output : bool, default=False
        Return a sparse matrix in CSR.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, in the order of the columns.

    Examples
    --------
    >>> from mlreplica.preprocessing import MultiLabelBinarizer
    >>> binarizer = MultiLabelBinarizer()
    >>> binarizer.fit_transform([{"drama", "war"}, {"war"}])
    array([[1, 1],
           [0, 1]])
    >>> binarizer.classes_
    array(['drama', 'war'], dtype=object)
    """

    card = CARD.but(
        use="sets of labels as columns of zeros and ones",
        good="any hashable labels; dense or sparse; exact inverse",
        time="O(labels)",
        memory="O(n) for each class, or O(labels) sparse",
        instead="LabelBinarizer for one label per row",
    )
    _parameter_constraints: dict = {"classes": ["array-like", None], "sparse_output": ["boolean"]}

    def __init__(self, *, classes=None, sparse_output=False):
        self.classes = classes
        self.sparse_output = sparse_output

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, y):
        """Learn the labels.

        Parameters
        ----------
        y : iterable of iterables
            The labels of each row; not looked at if `classes` is given.

        Returns
        -------
        self : MultiLabelBinarizer
        """
        if self.classes is None:
            self._keep(sorted(set(itertools.chain.from_iterable(y))))
        else:
            self._keep(self.classes)
        return self

    def _keep(self, classes):
        """Publish the classes as an array."""
        if len(set(classes)) < len(classes):
            raise ValueError(
                "The classes argument contains duplicate classes. Remove these duplicates before "
                "passing them to MultiLabelBinarizer."
            )
        self.classes_ = np.empty(
            len(classes), dtype=int if all(isinstance(c, int) for c in classes) else object
        )
        self.classes_[:] = classes

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, y):
        """Learn the labels and encode y.

        Parameters
        ----------
        y : iterable of iterables
            The labels of each row.

        Returns
        -------
        Y : ndarray or CSR matrix of shape (n_samples, n_classes)
        """
        if self.classes is not None:
            return self.fit(y).transform(y)
        numbers = defaultdict()
        numbers.default_factory = numbers.__len__
        codes, start = flat(y, numbers)
        seen = list(numbers)
        self._keep(sorted(seen))
        place = {label: c for c, label in enumerate(self.classes_.tolist())}
        return self._matrix(np.array([place[label] for label in seen], np.int64)[codes], start)

    def transform(self, y):
        """Encode sets of labels; a label that is no class is ignored, with a warning.

        Parameters
        ----------
        y : iterable of iterables
            The labels of each row.

        Returns
        -------
        Y : ndarray or CSR matrix of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        k = len(self.classes_)
        numbers = defaultdict()
        numbers.update((label, c) for c, label in enumerate(self.classes_.tolist()))
        numbers.default_factory = numbers.__len__
        codes, start = flat(y, numbers)
        unknown = list(numbers)[k:]
        if unknown:
            warnings.warn(
                f"unknown class(es) {sorted(unknown, key=str)} will be ignored", stacklevel=2
            )
            known = codes < k
            start = np.concatenate([[0], np.cumsum(known)])[start]
            codes = codes[known]
        return self._matrix(codes, start)

    def _matrix(self, codes, start):
        """Rows with ones in columns codes[start_i … start_(i+1) − 1]."""
        shape = len(start) - 1, len(self.classes_)
        if not self.sparse_output:
            out = np.zeros(shape, int)
            out[np.repeat(np.arange(shape[0]), np.diff(start)), codes] = 1
            return out
        parts = np.ones(len(codes), int), codes.astype(np.int32), start.astype(np.int32)
        out = sp.csr_array(parts, shape=shape)
        out.sum_duplicates()
        out.data[:] = 1  # a label that is named twice
        return _align_api_if_sparse(out)

    def inverse_transform(self, yt):
        """Return the labels of encoded rows.

        Parameters
        ----------
        yt : ndarray or sparse matrix of shape (n_samples, n_classes)
            Zeros and ones.

        Returns
        -------
        y : list of tuples
        """
        check_is_fitted(self)
        if yt.shape[1] != len(self.classes_):
            raise ValueError(
                f"Expected indicator for {len(self.classes_)} classes, but got {yt.shape[1]}"
            )
        values = yt.data if sp.issparse(yt) else np.asarray(yt)
        other = np.setdiff1d(values, [0, 1])
        if len(other):
            raise ValueError(
                f"Expected only 0s and 1s in label indicator. Also got {other.tolist()}"
            )
        rows = sp.csr_array(yt)
        rows.eliminate_zeros()
        names, start = self.classes_.take(rows.indices).tolist(), rows.indptr
        return [tuple(names[a:b]) for a, b in itertools.pairwise(start.tolist())]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.two_d_labels = True
        return tags


def flat(y, numbers):
    """The numbers of all labels one after the other, and where each row begins."""
    rows = [list(row) for row in y]
    start = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=start[1:])
    labels = itertools.chain.from_iterable(rows)
    return np.fromiter(map(numbers.__getitem__, labels), np.int64, start[-1]), start
