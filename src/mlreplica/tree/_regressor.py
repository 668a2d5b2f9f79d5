"""Trees that predict numbers"""

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import assert_all_finite

from mlreplica.core.card import LEARNED, UNSCALED, Card
from mlreplica.core.compat import StrOptions
from mlreplica.core.growth.options import without_friedman

from ._base import BaseTree


class DecisionTreeRegressor(RegressorMixin, BaseTree):
    """A regression tree: the mean of the training rows that end in the same leaf.

    Splits are exact: every threshold between two values of every column is weighed. X is used as
    it is, in double precision (scikit-learn rounds it to single precision).

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error", "poisson"}, default="squared_error"
        The impurity that splits reduce: variance, mean absolute deviation from the median, or half
        the Poisson deviance.
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
    ccp_alpha : float, default=0.0
        The penalty per leaf in minimal cost-complexity pruning.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        1: predictions must not fall as the feature grows, -1: not rise, 0: anything.
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
    DecisionTreeClassifier : For classes.

    References
    ----------
    Breiman, Friedman, Olshen, Stone, Classification and Regression Trees (1984).

    Examples
    --------
    >>> from mlreplica.datasets import load_diabetes
    >>> from mlreplica.tree import DecisionTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = DecisionTreeRegressor(max_depth=2).fit(X, y)
    >>> model.predict(X[:2]).round(2).tolist()
    [225.88, 96.31]
    """

    card = Card(
        page="regression-tree",
        checks="one_tree",
        onnx="trees",
        use="a number by rules that people can read",
        good="a few questions per answer; mixed columns, categories, missing values",
        bad="predicts in steps; unstable; cannot extrapolate",
        time="O(n p log n) per level",
        memory="O(n p)",
        rescaling=UNSCALED,
        missing=LEARNED,
        instead="RandomForestRegressor or HistGradientBoostingRegressor for accuracy",
    )

    _parameter_constraints: dict = {
        **BaseTree._parameter_constraints,
        "criterion": [StrOptions({"squared_error", "absolute_error", "poisson"})],
    }

    def __init__(
        self,
        *,
        criterion="squared_error",
        splitter="best",
        max_depth=None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf=0.0,
        max_features=None,
        random_state=None,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        ccp_alpha=0.0,
        monotonic_cst=None,
        categorical_features=None,
    ):
        self.criterion = without_friedman(criterion)
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
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
            Targets.
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
            if self.criterion == "poisson":
                if np.any(y < 0):
                    raise ValueError(
                        "Some value(s) of y are negative which is not allowed for Poisson "
                        "regression."
                    )
                if np.sum(y) <= 0:
                    raise ValueError(
                        "Sum of y is not positive which is necessary for Poisson regression."
                    )
        y = np.atleast_1d(y)
        y = np.ascontiguousarray(y.reshape(len(y), -1), dtype=np.float64)
        assert_all_finite(y, input_name="y")
        self.n_features_in_, self.n_outputs_ = X.shape[1], y.shape[1]
        return self._grow(X, y, self._weights(sample_weight, X))

    def predict(self, X, check_input=True):
        """Predict the mean (median for the absolute error) of the leaf of each row.

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
        value = self.tree_.predict(X)
        return value[:, 0] if self.n_outputs_ == 1 else value[:, :, 0]

    def _compute_partial_dependence_recursion(self, grid, target_features):
        """The average prediction over the grid, by a walk that splits at the other features."""
        grid = np.asarray(grid, dtype=np.float64)
        return self.tree_.partial_dependence(grid, np.asarray(target_features))


class ExtraTreeRegressor(DecisionTreeRegressor):
    """A regression tree whose thresholds are drawn at random: for ensembles of them.

    As :class:`DecisionTreeRegressor`, whose parameters and attributes it has, with other defaults:
    `splitter="random"` and `max_features=1.0`.

    References
    ----------
    Geurts, Ernst, Wehenkel, Extremely randomized trees (2006).

    Examples
    --------
    >>> from mlreplica.datasets import load_diabetes
    >>> from mlreplica.tree import ExtraTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ExtraTreeRegressor(max_depth=3, random_state=0).fit(X, y).get_n_leaves()
    8
    """

    card = DecisionTreeRegressor.card.but(
        page="random-forest",
        use="a member of ExtraTreesRegressor; rarely alone",
        good="random thresholds: no sorting, so the fastest tree to grow",
        bad="far less accurate alone than a tree of best splits",
        time="O(n p) per level",
        instead="DecisionTreeRegressor alone, ExtraTreesRegressor as a forest",
    )

    def __init__(
        self,
        *,
        criterion="squared_error",
        splitter="random",
        max_depth=None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf=0.0,
        max_features: float | str | None = 1.0,
        random_state=None,
        min_impurity_decrease=0.0,
        max_leaf_nodes=None,
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
            ccp_alpha=ccp_alpha,
            monotonic_cst=monotonic_cst,
            categorical_features=categorical_features,
        )
