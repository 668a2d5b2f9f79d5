"""Random forests and extra trees: `base.py` with trees of four kinds

A random forest draws rows for every tree (bootstrap) and columns at every node, and there takes the
best split of all. Extra trees take all rows, and of every drawn column only one threshold, drawn
between its least and its largest value: nothing is sorted, trees are less alike, each is worse.

Breiman, Random forests (2001). Geurts, Ernst, Wehenkel, Extremely randomized trees (2006).
"""

from typing import Any

from mlreplica import tree
from mlreplica.core.card import LEARNED, UNSCALED, Card
from mlreplica.core.compat import StrOptions
from mlreplica.core.growth.options import without_friedman

from .answers import Averages, Classifies
from .base import Forest


def constraints(one, **more):
    """What the parameters of a forest may be, beside those of one tree."""
    of_tree = {k: v for k, v in one._parameter_constraints.items() if k in Forest.estimator_params}
    return Forest._parameter_constraints | of_tree | more


DOC = """{idea}: (1).

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {criterion}
        What a split lowers.
    max_depth : int, default=None
        Most splits between the root and a leaf; None for no limit.
    min_samples_split : int or float, default=2
        Fewest rows of a node that is split; a float for a share of all.
    min_samples_leaf : int or float, default=1
        Fewest rows of a leaf; a float for a share of all.
    min_weight_fraction_leaf : float, default=0.0
        Least share of the weight in a leaf.
    max_features : {{"sqrt", "log2", None}}, int or float, default={max_features}
        Columns drawn at a node; a float for a share, None for all.
    max_leaf_nodes : int, default=None
        Most leaves; the splits that gain most come first.
    min_impurity_decrease : float, default=0.0
        What a split must gain.
    bootstrap : bool, default={bootstrap}
        Draw as many rows as there are, with replacement, for every tree; otherwise it takes all.
    oob_score : bool or callable, default=False
        Score the predictions (3): by accuracy or R², or by a function of targets and predictions.
    n_jobs : int, default=None
        Threads; None for all. The forest does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws rows, columns and thresholds.
    verbose : int, default=0
        Above 0, write how many trees were grown, and the seconds, on standard output.
    warm_start : bool, default=False
        Keep the trees of the last fit and add more.
{class_weight}    ccp_alpha : float, default=0.0
        Cost of a leaf: trees are pruned by cost and complexity.
    max_samples : int or float, default=None
        Rows drawn for a tree; a float for a share, None for as many as there are.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        +1: predictions must grow with the column, −1: fall, 0: free.

    Attributes
    ----------
    estimators_ : list of {members}
        The trees, as estimators.
{classes}    feature_importances_ : ndarray of shape (n_features_in_,)
        How much each column lowers the impurity.
    oob_score_ : float
        The score of (3), if asked for.
{out_of_bag}    estimators_samples_ : list of ndarray
        The rows of each tree.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.
    n_outputs_ : int
        Number of targets.

    References
    ----------
    {source}

    Examples
    --------
{example}
    """
FOR_CLASSES = {
    "criterion": '{"gini", "entropy", "log_loss"}, default="gini"',
    "max_features": '"sqrt"',
    "class_weight": """\
    class_weight : {"balanced", "balanced_subsample"}, dict or list of dicts, default=None
        Weights of the classes; "balanced" for equal ones, "balanced_subsample" for so in each draw.
""",
    "classes": """\
    classes_ : ndarray of shape (n_classes,), or a list of such arrays
        The classes.
    n_classes_ : int or list
        How many.
""",
    "out_of_bag": """\
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Probabilities (3), if asked for.
""",
}
FOR_NUMBERS = {
    "criterion": (
        '{"squared_error", "absolute_error", "friedman_mse", "poisson"}, default="squared_error"'
    ),
    "max_features": "1.0",
    "class_weight": "",
    "classes": "",
    "out_of_bag": """\
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Predictions (3), if asked for.
""",
}
RANDOM_FOREST = {
    "idea": "Mean of trees grown on draws of the rows, with columns drawn at every node",
    "bootstrap": True,
    "source": "Breiman, Random forests, Machine Learning 45 (2001).",
}
EXTRA_TREES = {
    "idea": "Mean of trees whose thresholds are drawn at random",
    "bootstrap": False,
    "source": "Geurts, Ernst, Wehenkel, Extremely randomized trees, Machine Learning 63 (2006).",
}


class RandomForestClassifier(Classifies, Forest):
    __doc__ = DOC.format(
        **RANDOM_FOREST,
        **FOR_CLASSES,
        members="DecisionTreeClassifier",
        example="""\
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> RandomForestClassifier(random_state=0).fit(X, y).predict(X[::50])
    array([0, 1, 2])""",
    )

    card = Card(
        page="random-forest",
        checks="forest",
        onnx="trees",
        use="a class or a number from a table of mixed columns, with little tuning",
        good="accurate by default; out-of-bag score; importances; hard to overfit",
        bad="large models; cannot extrapolate; boosting is often more accurate",
        time="O(n p log n) per level and tree, with max_features for p",
        memory="O(n p) and all nodes",
        rescaling=UNSCALED,
        missing=LEARNED,
        instead="HistGradientBoostingClassifier for accuracy, ExtraTreesClassifier for speed",
    )

    _splitter = "best"
    _tree_class = staticmethod(lambda: tree.DecisionTreeClassifier)

    _parameter_constraints: dict = constraints(
        tree.DecisionTreeClassifier,
        class_weight=[StrOptions({"balanced_subsample", "balanced"}), dict, list, None],
    )

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="gini",
        max_depth=None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf=0.0,
        max_features: float | str | None = "sqrt",
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        bootstrap=True,
        oob_score: Any = False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
        class_weight=None,
        ccp_alpha=0.0,
        max_samples=None,
        monotonic_cst=None,
    ):
        self._keep(locals())


class RandomForestRegressor(Averages, Forest):
    __doc__ = DOC.format(
        **RANDOM_FOREST,
        **FOR_NUMBERS,
        members="DecisionTreeRegressor",
        example="""\
    >>> from mlreplica.datasets import load_diabetes
    >>> from mlreplica.ensemble import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RandomForestRegressor(min_samples_leaf=5, oob_score=True, random_state=0)
    >>> round(model.fit(X, y).oob_score_, 1)
    0.4""",
    )

    card = RandomForestClassifier.card

    _splitter = "best"
    _tree_class = staticmethod(lambda: tree.DecisionTreeRegressor)

    _parameter_constraints: dict = constraints(tree.DecisionTreeRegressor)

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="squared_error",
        max_depth=None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf=0.0,
        max_features: float | str | None = 1.0,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        bootstrap=True,
        oob_score: Any = False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
        ccp_alpha=0.0,
        max_samples=None,
        monotonic_cst=None,
    ):
        criterion = without_friedman(criterion)
        self._keep(locals())


class ExtraTreesClassifier(Classifies, Forest):
    __doc__ = DOC.format(
        **EXTRA_TREES,
        **FOR_CLASSES,
        members="ExtraTreeClassifier",
        example="""\
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.ensemble import ExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ExtraTreesClassifier(random_state=0).fit(X, y).predict(X[::50])
    array([0, 1, 2])""",
    )

    card = RandomForestClassifier.card.but(
        good="random thresholds: faster to grow and smoother than a random forest",
        bad="larger trees; needs more of them if few columns matter",
        time="O(n p) per level and tree, with max_features for p",
        instead="RandomForestClassifier if few columns matter, HistGradientBoostingClassifier",
    )

    _splitter = "random"
    _tree_class = staticmethod(lambda: tree.ExtraTreeClassifier)

    _parameter_constraints: dict = constraints(
        tree.DecisionTreeClassifier,
        class_weight=[StrOptions({"balanced_subsample", "balanced"}), dict, list, None],
    )

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="gini",
        max_depth=None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf=0.0,
        max_features: float | str | None = "sqrt",
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        bootstrap=False,
        oob_score: Any = False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
        class_weight=None,
        ccp_alpha=0.0,
        max_samples=None,
        monotonic_cst=None,
    ):
        self._keep(locals())


class ExtraTreesRegressor(Averages, Forest):
    __doc__ = DOC.format(
        **EXTRA_TREES,
        **FOR_NUMBERS,
        members="ExtraTreeRegressor",
        example="""\
    >>> from mlreplica.datasets import load_diabetes
    >>> from mlreplica.ensemble import ExtraTreesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ExtraTreesRegressor(min_samples_leaf=5, bootstrap=True, oob_score=True)
    >>> model.fit(X, y).oob_score_ > 0.3
    True""",
    )

    card = ExtraTreesClassifier.card

    _splitter = "random"
    _tree_class = staticmethod(lambda: tree.ExtraTreeRegressor)

    _parameter_constraints: dict = constraints(tree.DecisionTreeRegressor)

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="squared_error",
        max_depth=None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf=0.0,
        max_features: float | str | None = 1.0,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        bootstrap=False,
        oob_score: Any = False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
        ccp_alpha=0.0,
        max_samples=None,
        monotonic_cst=None,
    ):
        criterion = without_friedman(criterion)
        self._keep(locals())
