r"""What a model makes of one or two features, whatever the others are

The partial dependence of a model f on features S is its mean over all other features C:

    f_S(x_S) = E[f(x_S, X_C)]  ≈  1/n Σ_i f(x_S, x_{i,C})                                      (1)

scikit-learn's functions compute and draw it for any estimator, ours among them, by n predictions
for each point of a grid. For trees there is a shorter way: a row walks down from the root, at a
split of a feature in S as its value says, at any other split both ways at once, with the
shares of the training rows that went there. The mean of the leaves it reaches is f_S for
the training rows. That way (`method="recursion"`) scikit-learn takes for its own classes only; here
it is taken for ours too.

Friedman, Greedy function approximation (2001); Breiman, Random forests (2001), for permutations.
"""

import numpy as np
import sklearn.ensemble
from joblib import parallel_config
from sklearn.base import is_classifier, is_regressor
from sklearn.inspection import PartialDependenceDisplay as Display
from sklearn.inspection import partial_dependence as partial_dependence_of_any
from sklearn.inspection import permutation_importance as permutation_importance_of_any

from mlreplica.core.growth.tree import LEAF, Tree

__all__ = ["PartialDependenceDisplay", "partial_dependence", "permutation_importance"]


def permutation_importance(estimator, X, y, **options):
    """How much the score falls when the values of one feature are shuffled among the rows.

    Takes the parameters of scikit-learn's function and returns what it returns; `n_jobs` are
    threads.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : array-like of shape (n_samples, n_features)
        Rows, better such as the model has not seen.
    y : array-like of shape (n_samples,) or None
        Their targets.
    **options
        `scoring`, `n_repeats`, `n_jobs`, `random_state`, `sample_weight`, `max_samples`.

    Returns
    -------
    result : Bunch
        `importances_mean`, `importances_std`, and `importances` of every shuffle.

    Examples
    --------
    >>> from mlreplica.datasets import load_diabetes
    >>> from mlreplica.inspection import permutation_importance
    >>> from mlreplica.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> int(
    ...     permutation_importance(
    ...         Ridge().fit(X, y), X, y, random_state=0
    ...     ).importances_mean.argmax()
    ... )
    2
    """
    with parallel_config(prefer="threads"):
        return permutation_importance_of_any(estimator, X, y, **options)


def partial_dependence(estimator, X, features, **options):
    """The mean prediction at points of a grid of one or two features.

    Takes the parameters of scikit-learn's function and returns what it returns. Our regression
    trees, their forests and gradient boosting have the fast `method="recursion"`, which
    "auto" chooses as it does for scikit-learn's.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : array-like of shape (n_samples, n_features)
        Rows: the grid lies among their values; `method="brute"` takes the mean over them.
    features : array-like of {int, str}
        One feature or two.
    **options
        `sample_weight`, `grid_resolution`, `percentiles`, `method`, `kind` and so on.

    Returns
    -------
    predictions : Bunch
        `grid_values`, and `average`, `individual` or both.

    Examples
    --------
    >>> from mlreplica.datasets import load_diabetes
    >>> from mlreplica.ensemble import GradientBoostingRegressor
    >>> from mlreplica.inspection import partial_dependence
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, y)
    >>> partial_dependence(model, X, [2], grid_resolution=5)["average"].round(1)
    array([[-22.7, -22.7,  18.6,  25.6,  57.1]])
    """
    return partial_dependence_of_any(walkable(estimator), X, features, **options)


class PartialDependenceDisplay(Display):
    """Curves of partial dependence: scikit-learn's display, fast for our trees as well.

    See :class:`sklearn.inspection.PartialDependenceDisplay`.
    """

    @classmethod
    def from_estimator(cls, estimator, X, features, **options):
        """Compute and draw partial dependence.

        Parameters
        ----------
        estimator : estimator
            Fitted.
        X : array-like of shape (n_samples, n_features)
            Rows.
        features : list of {int, str, pair of int, pair of str}
            What to draw: a curve for each feature, level lines for each pair.
        **options
            As in scikit-learn.

        Returns
        -------
        display : PartialDependenceDisplay
        """
        return super().from_estimator(walkable(estimator), X, features, **options)


def walkable(model):
    """The model as scikit-learn's partial dependence knows one that has trees, or as it is."""
    scores = trees_of(model)
    if scores is None:
        return model
    return WalkableClassifier(model, scores) if is_classifier(model) else Walkable(model, scores)


def trees_of(model):
    """For each score, the factor of its trees' sum and the trees; None if there are none."""
    if not type(model).__module__.startswith("mlreplica."):
        return None
    if isinstance(getattr(model, "tree_", None), Tree) and is_regressor(model):
        return [(1.0, [model.tree_])] if model.n_outputs_ == 1 else None
    learners = np.array(getattr(model, "estimators_", []), dtype=object)
    name = type(model).__name__
    if name.startswith("GradientBoosting") and model.init is None and learners.size:
        return [(model.learning_rate, [t.tree_ for t in column]) for column in learners.T]
    if name in ("RandomForestRegressor", "ExtraTreesRegressor") and learners.size:
        trees = [learner.tree_ for learner in learners]
        return [(1.0 / len(trees), trees)] if model.n_outputs_ == 1 else None
    return None


def dependence(tree, grid, features):
    """The weighted mean of the leaves that each point of the grid reaches."""
    column = {int(feature): k for k, feature in enumerate(features)}
    left, right, weight = tree.children_left, tree.children_right, tree.weighted_n_node_samples
    arriving = np.zeros((tree.node_count, len(grid)))
    arriving[0] = 1.0
    for node in np.flatnonzero(left != LEAF):  # parents come before their children
        if (feature := int(tree.feature[node])) in column:
            share = tree.goes_left(node, grid[:, column[feature]])
        else:
            share = weight[left[node]] / weight[node]
        arriving[left[node]] = arriving[node] * share
        arriving[right[node]] = arriving[node] - arriving[left[node]]
    leaves = np.flatnonzero(left == LEAF)
    return tree.value[leaves, 0, 0] @ arriving[leaves]


class Walkable(sklearn.ensemble.GradientBoostingRegressor):
    """A model of ours in the clothes of the class by which scikit-learn chooses the recursion."""

    def __init__(self, model, scores):
        super().__init__()
        self.model, self.scores = model, scores

    def _compute_partial_dependence_recursion(self, grid, target_features):
        grid = np.asarray(grid, dtype=np.float64)
        rows = [
            factor * sum(dependence(tree, grid, target_features) for tree in trees)
            for factor, trees in self.scores
        ]
        return np.array(rows)

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        return self.model.predict(X)


class WalkableClassifier(Walkable, sklearn.ensemble.GradientBoostingClassifier):
    """The same for classes."""

    def __init__(self, model, scores):
        sklearn.ensemble.GradientBoostingClassifier.__init__(self)
        self.model, self.scores, self.classes_ = model, scores, model.classes_

    def __sklearn_tags__(self):
        return self.model.__sklearn_tags__()

    def decision_function(self, X):
        return self.model.decision_function(X)

    def predict_proba(self, X):
        return self.model.predict_proba(X)
