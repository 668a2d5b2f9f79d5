"""Trees that predict classes"""

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from mlreplica.core.card import LEARNED, UNSCALED, Card
from mlreplica.core.compat import StrOptions
from mlreplica.core.validation import distinct

from ._base import BaseTree


class DecisionTreeClassifier(ClassifierMixin, BaseTree):
    """A decision tree: the classes of the training rows that end in the same leaf.

    Splits are exact: every threshold between two values of every column is weighed. X is used as
    it is, in double precision (scikit-learn rounds it to single precision).

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        The impurity that splits reduce; the last two are the same.
    splitter : {"best", "random"}, default="best"
        The best threshold of each column, or one drawn at random.
    max_depth : int, default=None
        The most splits from the root to a leaf.
    min_samples_split : int or float, default=2
        The least rows of a node that is split; a float is a share of all rows.
    min_samples_leaf : int or float, default=1
        The least rows of a leaf; a float is a share of all rows.
    min_weight_fraction_leaf : float, default=0.0
        The least share of all weight in a leaf.
    max_features : int, float or {"sqrt", "log2"}, default=None
        How many columns, drawn at random, a node looks at; a float is a share, None means all.
    random_state : int, RandomState instance or None, default=None
        Draws columns and random thresholds, and decides between splits that are equally good.
    max_leaf_nodes : int, default=None
        Grow best first until there are so many leaves.
    min_impurity_decrease : float, default=0.0
        The least fall of impurity, times the node's share of weight, that is worth a split.
    class_weight : dict, list of dict or "balanced", default=None
        Factors of the weights of each class's rows.
    ccp_alpha : float, default=0.0
        The penalty per leaf in minimal cost-complexity pruning.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        1: the probability of the second class must not fall as the feature grows, -1: not rise.
    categorical_features : array-like of {bool, int, str} or "from_dtype", default=None
        Columns without an order: a mask, numbers or names, or those of a data frame whose type says
        so. A split sends any set of their categories left: the best one for numbers and for two
        classes; the best of all up to 10 categories, else of those by the share of each class, for
        more classes or several outputs. A missing value is a category of its own; one that no
        training row of a node had goes right, to the child with more rows.

    Attributes
    ----------
    tree_ : Tree
        The arrays of the tree.
    classes_ : ndarray of shape (n_classes,) or list of such
        The classes, of every output if there are several.
    n_classes_ : int or ndarray of int
        How many.
    feature_importances_ : ndarray of shape (n_features,)
        How much each feature lowers the impurity, of all 1.
    max_features_ : int
        How many columns a node looked at.
    is_categorical_ : ndarray of bool of shape (n_features,) or None
        Which columns are categorical.
    n_features_in_, n_outputs_ : int
        Columns of X and of y.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where all are strings.

    See Also
    --------
    DecisionTreeRegressor : For numbers.

    References
    ----------
    Breiman, Friedman, Olshen, Stone, Classification and Regression Trees (1984).

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    >>> round(model.score(X, y), 3)
    0.973
    """

    card = Card(
        page="decision-tree",
        checks="one_tree",
        onnx="trees",
        use="a class by rules that people can read",
        good="a few questions per answer; mixed columns, categories, missing values",
        bad="unstable: few rows change the whole tree; less accurate than a forest",
        time="O(n p log n) per level",
        memory="O(n p)",
        rescaling=UNSCALED,
        missing=LEARNED,
        instead="RandomForestClassifier or HistGradientBoostingClassifier for accuracy",
    )

    _parameter_constraints: dict = {
        **BaseTree._parameter_constraints,
        "criterion": [StrOptions({"gini", "entropy", "log_loss"})],
        "class_weight": [dict, list, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        *,
        criterion="gini",
        splitter="best",
        max_depth=None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf=0.0,
        max_features=None,
        random_state=None,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        class_weight=None,
        ccp_alpha=0.0,
        monotonic_cst=None,
        categorical_features=None,
    ):
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features

    def fit(self, X, y, sample_weight=None, check_input=True):
        """Grow the tree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; NaN is a missing value. A sparse matrix is made dense.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes: numbers or names.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, not negative; 0 leaves a row out.
        check_input : bool, default=True
            False skips the validation of X and y.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._validate_params()
        self._find_categories(X)
        if check_input or self._inputs is not None:
            X, y = self._read(X, y)
        y = np.atleast_1d(y)
        if y.dtype.kind not in "biu":
            check_classification_targets(y)
        y = y.reshape(len(y), -1)
        self.n_features_in_, self.n_outputs_ = X.shape[1], y.shape[1]
        found = [distinct(y[:, k]) for k in range(self.n_outputs_)]
        classes = [c for c, _ in found]
        codes = np.stack([code for _, code in found], axis=1).astype(np.int32)
        n_classes = np.array([len(c) for c in classes], dtype=np.intp)
        one = self.n_outputs_ == 1
        self.classes_, self.n_classes_ = (classes[0], n_classes[0]) if one else (classes, n_classes)
        weight = self._weights(sample_weight, X)
        if self.class_weight is not None:
            factor = compute_sample_weight(self.class_weight, y)
            weight = factor if weight is None else weight * factor
        return self._grow(X, codes, weight, n_classes)

    def predict(self, X, check_input=True):
        """Predict the most frequent class of the leaf of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        check_input : bool, default=True
            False skips the validation of X.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        X = self._rows(X, check_input)
        leaves = self.tree_.apply(X)
        winner = self.tree_.value.argmax(axis=2)[leaves]  # (n, outputs)
        if self.n_outputs_ == 1:
            return self.classes_.take(winner[:, 0], axis=0)
        columns = [c.take(winner[:, k]) for k, c in enumerate(self.classes_)]
        return np.stack(columns, axis=1).astype(self.classes_[0].dtype, copy=False)

    def predict_proba(self, X, check_input=True):
        """Predict the share of each class in the leaf of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        check_input : bool, default=True
            False skips the validation of X.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes), or a list of such for several outputs
        """
        X = self._rows(X, check_input)
        proba = self.tree_.predict(X)
        if self.n_outputs_ == 1:
            return proba[:, : self.n_classes_]
        return [proba[:, k, : self.n_classes_[k]] for k in range(self.n_outputs_)]

    def predict_log_proba(self, X):
        """Predict logarithms of the shares; that of 0 is −∞.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes), or a list of such
        """
        proba = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(proba) if self.n_outputs_ == 1 else [np.log(p) for p in proba]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class ExtraTreeClassifier(DecisionTreeClassifier):
    """A decision tree whose thresholds are drawn at random: for ensembles of them.

    As :class:`DecisionTreeClassifier`, whose parameters and attributes it has, with other defaults:
    `splitter="random"` and `max_features="sqrt"`.

    References
    ----------
    Geurts, Ernst, Wehenkel, Extremely randomized trees (2006).

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.tree import ExtraTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ExtraTreeClassifier(random_state=0).fit(X, y).score(X, y)
    1.0
    """

    card = DecisionTreeClassifier.card.but(
        page="random-forest",
        use="a member of ExtraTreesClassifier; rarely alone",
        good="random thresholds: no sorting, so the fastest tree to grow",
        bad="far less accurate alone than a tree of best splits",
        time="O(n p) per level",
        instead="DecisionTreeClassifier alone, ExtraTreesClassifier as a forest",
    )

    def __init__(
        self,
        *,
        criterion="gini",
        splitter="random",
        max_depth=None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf=0.0,
        max_features: float | str | None = "sqrt",
        random_state=None,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        class_weight=None,
        ccp_alpha=0.0,
        monotonic_cst=None,
        categorical_features=None,
    ):
        super().__init__(
            criterion=criterion,
            splitter=splitter,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            random_state=random_state,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            class_weight=class_weight,
            ccp_alpha=ccp_alpha,
            monotonic_cst=monotonic_cst,
            categorical_features=categorical_features,
        )
