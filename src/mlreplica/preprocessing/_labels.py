"""Labels: classes as numbers, and as columns of zeros and ones

`LabelEncoder` numbers the classes of a target; `LabelBinarizer` gives each class a column, as
one-vs-rest needs, and two classes one column.
"""

from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import type_of_target, unique_labels
from sklearn.utils.validation import check_array, check_is_fitted

from mlreplica.core.card import Card
from mlreplica.core.compat import (
    _align_api_if_sparse,
    _fit_context,
    _num_samples,
    validate_params,
)

from ._categories import Coded, Finder, categories_of
from ._read import series_of

CARD = Card(
    page="encoding",
    checks="classes",
    input="labels",
    use="classes of a target as numbers",
    good="any labels; exact inverse",
    bad="for targets, not for columns of X",
    time="O(n)",
    memory="O(n)",
    rescaling="not needed: classes have no unit",
    instead="OrdinalEncoder for columns of X; classifiers take labels as they are",
)
LABELS = "biuU"  # kinds of arrays that hold classes and nothing else


def label_column(y, dtype=None):
    """y as one column; texts and categoricals of frames as they are stored."""
    series = series_of(y)
    return column_or_1d(y, dtype=dtype, warn=True) if series is None else series


class LabelEncoder(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):
    """Number the classes of a target from 0.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.

    Examples
    --------
    >>> from mlreplica.preprocessing import LabelEncoder
    >>> encoder = LabelEncoder()
    >>> encoder.fit_transform(["no", "yes", "no"])
    array([0, 1, 0])
    >>> encoder.inverse_transform([1])
    array(['yes'], dtype='<U3')
    """

    card = CARD

    def fit(self, y):
        """Learn the classes.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        self : LabelEncoder
        """
        self.classes_, _ = categories_of(label_column(y))
        return self

    def fit_transform(self, y):
        """Learn the classes and number y.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        codes : ndarray of shape (n_samples,)
        """
        self.classes_, codes = categories_of(label_column(y))
        return codes

    def transform(self, y):
        """Number labels.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Labels that `fit` has seen.

        Returns
        -------
        codes : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        dtype = self.classes_.dtype
        y = label_column(y, dtype=str if dtype.kind == "U" else dtype)
        if len(y) == 0:
            return np.array([])
        codes = Finder(self.classes_)(y)
        if (codes < 0).any():
            unknown = codes < 0
            rest = Coded(y.codes[unknown], y.values) if isinstance(y, Coded) else y[unknown]
            labels = categories_of(rest)[0].tolist()
            raise ValueError(f"y contains previously unseen labels: {labels}")
        return codes

    def inverse_transform(self, y):
        """Return the labels of numbers.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Numbers of classes.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        y = column_or_1d(y, warn=True)
        if len(y) == 0:
            return np.array([])
        unknown = np.setdiff1d(y, np.arange(len(self.classes_)))
        if len(unknown):
            raise ValueError(f"y contains previously unseen labels: {unknown.tolist()}")
        return self.classes_[np.asarray(y)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.one_d_labels = True
        return tags


def refuse_signs(neg_label, pos_label, sparse_output):
    """Raise if the two numbers cannot be told apart, or a sparse matrix cannot hold them."""
    if neg_label >= pos_label:
        raise ValueError(f"neg_label={neg_label} must be strictly less than pos_label={pos_label}.")
    if sparse_output and (pos_label == 0 or neg_label != 0):
        raise ValueError(
            "Sparse binarization is only supported with non zero pos_label and zero neg_label, got "
            f"pos_label={pos_label} and neg_label={neg_label}"
        )


class LabelBinarizer(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):
    """Encode each class of a target as a column: one-vs-rest.

    Parameters
    ----------
    neg_label, pos_label : int, default=0 and 1
        What stands for another class, and for the class of the column.
    sparse_output : bool, default=False
        Return a sparse matrix in CSR.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    y_type_ : str
        What `type_of_target` says of y.
    sparse_input_ : bool
        Whether y was sparse.

    Examples
    --------
    >>> from mlreplica.preprocessing import LabelBinarizer
    >>> LabelBinarizer().fit_transform(["a", "c", "b"])
    array([[1, 0, 0],
           [0, 0, 1],
           [0, 1, 0]])
    """

    card = CARD.but(
        use="a target as a column of zeros and ones for each class",
        good="dense or sparse; two classes are one column; exact inverse",
        memory="O(n) for each class, or O(n) sparse",
        instead="OneHotEncoder for columns of X",
    )
    _parameter_constraints: dict = {
        "neg_label": [Integral],
        "pos_label": [Integral],
        "sparse_output": ["boolean"],
    }

    def __init__(self, *, neg_label=0, pos_label=1, sparse_output=False):
        self.neg_label = neg_label
        self.pos_label = pos_label
        self.sparse_output = sparse_output

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, y):
        """Learn the classes.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_classes)
            Labels; of several labels per row, a matrix of zeros and ones.

        Returns
        -------
        self : LabelBinarizer
        """
        refuse_signs(self.neg_label, self.pos_label, self.sparse_output)
        self.sparse_input_ = sp.issparse(y)
        if is_plain(y):
            self.classes_, _ = categories_of(y)
            self.y_type_ = "binary" if len(self.classes_) <= 2 else "multiclass"
            return self
        self.y_type_ = type_of_target(y, input_name="y")
        if "multioutput" in self.y_type_:
            raise ValueError("Multioutput target data is not supported with label binarization")
        if _num_samples(y) == 0:
            raise ValueError(f"y has 0 samples: {y!r}")
        self.classes_ = unique_labels(y)
        return self

    def fit_transform(self, y):
        """Learn the classes and encode y.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_classes)
            Labels.

        Returns
        -------
        Y : ndarray or CSR matrix of shape (n_samples, n_classes), or (n_samples, 1)
        """
        return self.fit(y).transform(y)

    def transform(self, y):
        """Encode labels; those that `fit` has not seen belong to no class.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_classes)
            Labels.

        Returns
        -------
        Y : ndarray or CSR matrix of shape (n_samples, n_classes), or (n_samples, 1)
        """
        check_is_fitted(self)
        if not is_plain(y):
            is_multilabel = type_of_target(y).startswith("multilabel")
            if is_multilabel and not self.y_type_.startswith("multilabel"):
                raise ValueError("The object was not fitted with multilabel input.")
        return binarize(y, self.classes_, self.neg_label, self.pos_label, self.sparse_output)

    def inverse_transform(self, Y, threshold=None):
        """Return the labels of encoded rows, or of scores.

        Parameters
        ----------
        Y : array-like or sparse matrix of shape (n_samples, n_classes) or (n_samples, 1)
            Columns as `transform` returns them, or scores: the largest of a row counts.
        threshold : float, default=None
            From where a score of two classes, or of several labels, is positive; None: halfway
            between `neg_label` and `pos_label`.

        Returns
        -------
        y : ndarray of shape (n_samples,), or of (n_samples, n_classes) for several labels
        """
        check_is_fitted(self)
        if threshold is None:
            threshold = (self.pos_label + self.neg_label) / 2
        if self.y_type_ == "multiclass":
            best = np.asarray(Y.argmax(axis=1)).ravel()
            return self.classes_.take(best, mode="clip")
        y = self._above(Y, threshold)
        if self.sparse_input_:
            return _align_api_if_sparse(sp.csr_array(y))
        return y.toarray() if sp.issparse(y) else y

    def _above(self, Y, threshold):
        """Labels of two classes, or a matrix of labels, by a threshold."""
        if self.y_type_ == "binary" and Y.ndim == 2 and Y.shape[1] > 2:
            raise ValueError(f"output_type='binary', but y.shape = {Y.shape}")
        if self.y_type_ != "binary" and Y.shape[1] != len(self.classes_):
            raise ValueError("The number of class is not equal to the number of dimension of y.")
        above = np.asarray((Y.toarray() if sp.issparse(Y) else np.asarray(Y)) > threshold, int)
        if self.y_type_ == "multilabel-indicator":
            return above
        if self.y_type_ != "binary":
            raise ValueError(f"{self.y_type_} format is not supported")
        if above.ndim == 2 and above.shape[1] == 2:
            above = above[:, 1]
        if len(self.classes_) == 1:
            return np.repeat(self.classes_[0], len(above))
        return self.classes_[above.ravel()]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.one_d_labels = True
        return tags


def is_plain(y):
    """Whether y is an array of classes, with nothing to find out."""
    return type(y) is np.ndarray and y.ndim == 1 and len(y) > 0 and y.dtype.kind in LABELS


@validate_params(
    {
        "y": ["array-like", "sparse matrix"],
        "classes": ["array-like"],
        "neg_label": [Integral],
        "pos_label": [Integral],
        "sparse_output": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def label_binarize(y, *, classes, neg_label=0, pos_label=1, sparse_output=False):
    """Encode labels as a column of zeros and ones for each class.

    Parameters
    ----------
    y : array-like or sparse matrix
        Labels, one per row, or a matrix of zeros and ones.
    classes : array-like of shape (n_classes,)
        The classes, in the order of the columns.
    neg_label, pos_label : int, default=0 and 1
        What stands for another class, and for the class of the column.
    sparse_output : bool, default=False
        Return a sparse matrix in CSR.

    Returns
    -------
    Y : ndarray or CSR matrix of shape (n_samples, n_classes), or (n_samples, 1)

    Examples
    --------
    >>> from mlreplica.preprocessing import label_binarize
    >>> label_binarize([1, 6], classes=[1, 2, 6])
    array([[1, 0, 0],
           [0, 0, 1]])
    """
    return binarize(y, np.asarray(classes), neg_label, pos_label, sparse_output)


def binarize(y, classes, neg_label, pos_label, sparse_output):
    """`label_binarize` without a check of its arguments' types."""
    plain = is_plain(y)
    if not plain and not isinstance(y, list):
        y = check_array(y, input_name="y", accept_sparse="csr", ensure_2d=False, dtype=None)
    elif _num_samples(y) == 0:
        raise ValueError(f"y has 0 samples: {y!r}")
    refuse_signs(neg_label, pos_label, sparse_output)
    if plain:
        codes = Finder(classes)(y)
        few = len(classes) <= 2 and ((codes >= 0).all() or len(categories_of(y)[0]) <= 2)
        kind = "binary" if few else "multiclass"
    else:
        kind = type_of_target(y)
        codes = None
    if "multioutput" in kind:
        raise ValueError("Multioutput target data is not supported with label binarization")
    if kind == "unknown":
        raise ValueError("The type of target data is not known")
    if kind == "multilabel-indicator":
        return several(y, classes, neg_label, pos_label, sparse_output)
    if kind not in ("binary", "multiclass"):
        raise ValueError(f"{kind} target data is not supported with label binarization")
    if codes is None:
        codes = Finder(classes)(column_or_1d(y))
    k = len(classes)
    if kind == "binary" and k <= 2:  # one column: is it the second class?
        codes, k = np.where((codes == 1) & (k == 2), 0, -1), 1
    if sparse_output:
        there = codes >= 0
        start = np.concatenate([[0], np.cumsum(there)]).astype(np.int32)
        at = codes[there].astype(np.int32)
        ones = np.full(len(at), pos_label)
        return _align_api_if_sparse(sp.csr_array((ones, at, start), shape=(len(codes), k)))
    out = np.full((len(codes), k), neg_label)
    rows = np.flatnonzero(codes >= 0)
    out[rows, codes[rows]] = pos_label
    return out


def several(y, classes, neg_label, pos_label, sparse_output):
    """Rows with several labels, which are columns of zeros and ones already."""
    Y = sp.csr_array(y)
    if Y.shape[1] != len(classes):
        raise ValueError(
            f"classes {classes} mismatch with the labels {unique_labels(y)} found in the data"
        )
    Y.eliminate_zeros()
    if sparse_output:
        Y.data = np.full(len(Y.data), pos_label)
        return _align_api_if_sparse(Y)
    out = np.full(Y.shape, neg_label)
    out[Y.nonzero()] = pos_label
    return out
