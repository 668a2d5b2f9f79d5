"""Random forests and extra trees: `_forest_base.py` with trees of four kinds

A random forest draws rows for every tree (bootstrap) and columns at every node, and there takes the
best split of all. Extra trees take all rows, and of every drawn column only one threshold, drawn
between its least and its largest value: nothing is sorted, trees are less alike, each is worse.

Breiman, Random forests (2001). Geurts, Ernst, Wehenkel, Extremely randomized trees (2006).
"""

from sklearn import ensemble

from mlreplica import tree

from ._forest_base import Averages, Classifies, Forest


class RandomForestClassifier(Forest, Classifies, ensemble.RandomForestClassifier):
    """Mean of trees grown on draws of the rows, with columns drawn at every node: (1).

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        What a split lowers.
    max_depth : int, default=None
        Most splits between the root and a leaf; None for no limit.
    min_samples_split : int or float, default=2
        Fewest rows of a node that is split; a float for a share of all.
    min_samples_leaf : int or float, default=1
        Fewest rows of a leaf; a float for a share of all.
    min_weight_fraction_leaf : float, default=0.0
        Least share of the weight in a leaf.
    max_features : {"sqrt", "log2", None}, int or float, default="sqrt"
        Columns drawn at a node; a float for a share, None for all.
    max_leaf_nodes : int, default=None
        Most leaves; the splits that gain most come first.
    min_impurity_decrease : float, default=0.0
        What a split must gain.
    bootstrap : bool, default=True
        Draw as many rows as there are, with replacement, for every tree; otherwise it takes all.
    oob_score : bool or callable, default=False
        Score the predictions (3): by accuracy or R², or by a function of targets and predictions.
    n_jobs : int, default=None
        Threads; None for all. The forest does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws rows, columns and thresholds.
    verbose : int, default=0
        Not used.
    warm_start : bool, default=False
        Keep the trees of the last fit and add more.
    class_weight : {"balanced", "balanced_subsample"}, dict or list of dicts, default=None
        Weights of the classes; "balanced" for equal ones, "balanced_subsample" for so in each draw.
    ccp_alpha : float, default=0.0
        Price of a leaf: trees are pruned by cost and complexity.
    max_samples : int or float, default=None
        Rows drawn for a tree; a float for a share, None for as many as there are.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        +1: predictions must grow with the column, −1: fall, 0: free.

    Attributes
    ----------
    estimators_ : list of DecisionTreeClassifier
        The trees, as estimators.
    classes_ : ndarray of shape (n_classes,), or a list of such arrays
        The classes.
    n_classes_ : int or list
        How many.
    feature_importances_ : ndarray of shape (n_features_in_,)
        How much each column lowers the impurity.
    oob_score_ : float
        The score of (3), if asked for.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Probabilities (3), if asked for.
    estimators_samples_ : list of ndarray
        The rows of each tree.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.
    n_outputs_ : int
        Number of targets.

    References
    ----------
    Breiman, Random forests, Machine Learning 45 (2001).

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> RandomForestClassifier(random_state=0).fit(X, y).predict(X[::50])
    array([0, 1, 2])
    """

    _splitter = "best"
    _tree_class = staticmethod(lambda: tree.DecisionTreeClassifier)


class RandomForestRegressor(Forest, Averages, ensemble.RandomForestRegressor):
    """Mean of trees grown on draws of the rows, with columns drawn at every node: (1).

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"squared_error", "absolute_error", "friedman_mse", "poisson"}, \
            default="squared_error"
        What a split lowers.
    max_depth : int, default=None
        Most splits between the root and a leaf; None for no limit.
    min_samples_split : int or float, default=2
        Fewest rows of a node that is split; a float for a share of all.
    min_samples_leaf : int or float, default=1
        Fewest rows of a leaf; a float for a share of all.
    min_weight_fraction_leaf : float, default=0.0
        Least share of the weight in a leaf.
    max_features : {"sqrt", "log2", None}, int or float, default=1.0
        Columns drawn at a node; a float for a share, None for all.
    max_leaf_nodes : int, default=None
        Most leaves; the splits that gain most come first.
    min_impurity_decrease : float, default=0.0
        What a split must gain.
    bootstrap : bool, default=True
        Draw as many rows as there are, with replacement, for every tree; otherwise it takes all.
    oob_score : bool or callable, default=False
        Score the predictions (3): by accuracy or R², or by a function of targets and predictions.
    n_jobs : int, default=None
        Threads; None for all. The forest does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws rows, columns and thresholds.
    verbose : int, default=0
        Not used.
    warm_start : bool, default=False
        Keep the trees of the last fit and add more.
    ccp_alpha : float, default=0.0
        Price of a leaf: trees are pruned by cost and complexity.
    max_samples : int or float, default=None
        Rows drawn for a tree; a float for a share, None for as many as there are.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        +1: predictions must grow with the column, −1: fall, 0: free.

    Attributes
    ----------
    estimators_ : list of DecisionTreeRegressor
        The trees, as estimators.
    feature_importances_ : ndarray of shape (n_features_in_,)
        How much each column lowers the impurity.
    oob_score_ : float
        The score of (3), if asked for.
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Predictions (3), if asked for.
    estimators_samples_ : list of ndarray
        The rows of each tree.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.
    n_outputs_ : int
        Number of targets.

    References
    ----------
    Breiman, Random forests, Machine Learning 45 (2001).

    Examples
    --------
    >>> from mlreplica.datasets import load_diabetes
    >>> from mlreplica.ensemble import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RandomForestRegressor(min_samples_leaf=5, oob_score=True, random_state=0)
    >>> round(model.fit(X, y).oob_score_, 1)
    0.4
    """

    _splitter = "best"
    _tree_class = staticmethod(lambda: tree.DecisionTreeRegressor)


class ExtraTreesClassifier(Forest, Classifies, ensemble.ExtraTreesClassifier):
    """Mean of trees whose thresholds are drawn at random: (1).

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        What a split lowers.
    max_depth : int, default=None
        Most splits between the root and a leaf; None for no limit.
    min_samples_split : int or float, default=2
        Fewest rows of a node that is split; a float for a share of all.
    min_samples_leaf : int or float, default=1
        Fewest rows of a leaf; a float for a share of all.
    min_weight_fraction_leaf : float, default=0.0
        Least share of the weight in a leaf.
    max_features : {"sqrt", "log2", None}, int or float, default="sqrt"
        Columns drawn at a node; a float for a share, None for all.
    max_leaf_nodes : int, default=None
        Most leaves; the splits that gain most come first.
    min_impurity_decrease : float, default=0.0
        What a split must gain.
    bootstrap : bool, default=False
        Draw as many rows as there are, with replacement, for every tree; otherwise it takes all.
    oob_score : bool or callable, default=False
        Score the predictions (3): by accuracy or R², or by a function of targets and predictions.
    n_jobs : int, default=None
        Threads; None for all. The forest does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws rows, columns and thresholds.
    verbose : int, default=0
        Not used.
    warm_start : bool, default=False
        Keep the trees of the last fit and add more.
    class_weight : {"balanced", "balanced_subsample"}, dict or list of dicts, default=None
        Weights of the classes; "balanced" for equal ones, "balanced_subsample" for so in each draw.
    ccp_alpha : float, default=0.0
        Price of a leaf: trees are pruned by cost and complexity.
    max_samples : int or float, default=None
        Rows drawn for a tree; a float for a share, None for as many as there are.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        +1: predictions must grow with the column, −1: fall, 0: free.

    Attributes
    ----------
    estimators_ : list of ExtraTreeClassifier
        The trees, as estimators.
    classes_ : ndarray of shape (n_classes,), or a list of such arrays
        The classes.
    n_classes_ : int or list
        How many.
    feature_importances_ : ndarray of shape (n_features_in_,)
        How much each column lowers the impurity.
    oob_score_ : float
        The score of (3), if asked for.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Probabilities (3), if asked for.
    estimators_samples_ : list of ndarray
        The rows of each tree.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.
    n_outputs_ : int
        Number of targets.

    References
    ----------
    Geurts, Ernst, Wehenkel, Extremely randomized trees, Machine Learning 63 (2006).

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.ensemble import ExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ExtraTreesClassifier(random_state=0).fit(X, y).predict(X[::50])
    array([0, 1, 2])
    """

    _splitter = "random"
    _tree_class = staticmethod(lambda: tree.ExtraTreeClassifier)


class ExtraTreesRegressor(Forest, Averages, ensemble.ExtraTreesRegressor):
    """Mean of trees whose thresholds are drawn at random: (1).

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"squared_error", "absolute_error", "friedman_mse", "poisson"}, \
            default="squared_error"
        What a split lowers.
    max_depth : int, default=None
        Most splits between the root and a leaf; None for no limit.
    min_samples_split : int or float, default=2
        Fewest rows of a node that is split; a float for a share of all.
    min_samples_leaf : int or float, default=1
        Fewest rows of a leaf; a float for a share of all.
    min_weight_fraction_leaf : float, default=0.0
        Least share of the weight in a leaf.
    max_features : {"sqrt", "log2", None}, int or float, default=1.0
        Columns drawn at a node; a float for a share, None for all.
    max_leaf_nodes : int, default=None
        Most leaves; the splits that gain most come first.
    min_impurity_decrease : float, default=0.0
        What a split must gain.
    bootstrap : bool, default=False
        Draw as many rows as there are, with replacement, for every tree; otherwise it takes all.
    oob_score : bool or callable, default=False
        Score the predictions (3): by accuracy or R², or by a function of targets and predictions.
    n_jobs : int, default=None
        Threads; None for all. The forest does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws rows, columns and thresholds.
    verbose : int, default=0
        Not used.
    warm_start : bool, default=False
        Keep the trees of the last fit and add more.
    ccp_alpha : float, default=0.0
        Price of a leaf: trees are pruned by cost and complexity.
    max_samples : int or float, default=None
        Rows drawn for a tree; a float for a share, None for as many as there are.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        +1: predictions must grow with the column, −1: fall, 0: free.

    Attributes
    ----------
    estimators_ : list of ExtraTreeRegressor
        The trees, as estimators.
    feature_importances_ : ndarray of shape (n_features_in_,)
        How much each column lowers the impurity.
    oob_score_ : float
        The score of (3), if asked for.
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Predictions (3), if asked for.
    estimators_samples_ : list of ndarray
        The rows of each tree.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.
    n_outputs_ : int
        Number of targets.

    References
    ----------
    Geurts, Ernst, Wehenkel, Extremely randomized trees, Machine Learning 63 (2006).

    Examples
    --------
    >>> from mlreplica.datasets import load_diabetes
    >>> from mlreplica.ensemble import ExtraTreesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ExtraTreesRegressor(min_samples_leaf=5, bootstrap=True, oob_score=True)
    >>> model.fit(X, y).oob_score_ > 0.3
    True
    """

    _splitter = "random"
    _tree_class = staticmethod(lambda: tree.ExtraTreeRegressor)
