r"""Bagging: the mean of models, each fitted on its own draw of the rows

f_1 … f_M are fitted on M draws of m rows, with replacement. The answer is their mean (votes are
counted where a classifier has no probabilities):

    f(x) = 1/M Σ_m f_m(x)                                                                     (1)

With the variance σ² of one model over draws and the correlation ρ between two,

    Var f(x) = ρ σ² + (1 − ρ) σ² / M                                                          (2)

while the mean of f is that of one f_m: bagging lowers the variance and leaves the bias. It helps
models that change much with their rows (deep trees), and not those that do not (least squares).

Breiman, Bagging predictors (1996). The classes are scikit-learn's: drawing rows and columns,
weights and routing are administration. Ours fit members on threads, because these kernels release
the GIL, and take this package's tree unless told otherwise. For trees that also draw columns at
every node, and put X in order once for all of them, see the random forest.
"""

from joblib import parallel_config
from sklearn import ensemble

from mlreplica import tree
from mlreplica.core.card import Card
from mlreplica.core.validation import refuse_heavy_share


class BaggingClassifier(ensemble.BaggingClassifier):
    """Mean (1) of classifiers fitted on draws of the rows.

    scikit-learn's class, on which it stands; members are fitted on threads.

    Parameters
    ----------
    estimator : object, default=None
        What is fitted on every draw; None for `DecisionTreeClassifier`.
    n_estimators : int, default=10
        Number of members M.
    max_samples : int or float, default=None
        Rows drawn for a member; a float for a share, None for as many as there are.
    max_features : int or float, default=1.0
        Columns drawn for a member; a float for a share.
    bootstrap : bool, default=True
        Draw rows with replacement.
    bootstrap_features : bool, default=False
        Draw columns with replacement.
    oob_score : bool, default=False
        Score the predictions of the members that have not seen a row.
    warm_start : bool, default=False
        Keep the members of the last fit and add more.
    n_jobs : int, default=None
        How many members are fitted at once, on threads; None for one after the other.
    random_state : int, RandomState instance or None, default=None
        Draws rows and columns, and the members' own random states.
    verbose : int, default=0
        How much is printed.

    Attributes
    ----------
    estimator_ : estimator
        What the members are copies of.
    estimators_ : list of estimators
        The fitted members.
    estimators_samples_, estimators_features_ : list of ndarray
        The rows and the columns of each.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_classes_ : int
        How many.
    oob_score_ : float
        Accuracy out of bag, if asked for.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Probabilities out of bag, if asked for.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.ensemble import BaggingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> BaggingClassifier(random_state=0).fit(X, y).predict(X[::50])
    array([0, 1, 2])
    """

    card = Card(
        page="bagging",
        checks="members",
        onnx="bagging",
        use="less variance of an unstable model, by fits on resampled rows",
        good="any model; out-of-bag score; members are fitted in parallel",
        bad="bias stays; as many models to keep as members",
        time="one fit of the member per draw",
        memory="all members",
        rescaling="as the members need",
        missing="as the members do",
        instead="RandomForest for trees, boosting to lower the bias",
    )

    def _get_estimator(self):
        """The member as given, or the default."""
        return tree.DecisionTreeClassifier() if self.estimator is None else self.estimator

    def _fit(self, X, y, *args, sample_weight=None, **options):
        refuse_heavy_share(sample_weight, self.max_samples)
        return super()._fit(X, y, *args, sample_weight=sample_weight, **options)

    def _parallel_args(self):
        return {"prefer": "threads"}


class BaggingRegressor(ensemble.BaggingRegressor):
    """Mean (1) of regressors fitted on draws of the rows.

    scikit-learn's class, on which it stands; members are fitted on threads.

    Parameters
    ----------
    estimator : object, default=None
        What is fitted on every draw; None for `DecisionTreeRegressor`.
    n_estimators : int, default=10
        Number of members M.
    max_samples : int or float, default=None
        Rows drawn for a member; a float for a share, None for as many as there are.
    max_features : int or float, default=1.0
        Columns drawn for a member; a float for a share.
    bootstrap : bool, default=True
        Draw rows with replacement.
    bootstrap_features : bool, default=False
        Draw columns with replacement.
    oob_score : bool, default=False
        Score the predictions of the members that have not seen a row.
    warm_start : bool, default=False
        Keep the members of the last fit and add more.
    n_jobs : int, default=None
        How many members are fitted at once, on threads; None for one after the other.
    random_state : int, RandomState instance or None, default=None
        Draws rows and columns, and the members' own random states.
    verbose : int, default=0
        How much is printed.

    Attributes
    ----------
    estimator_ : estimator
        What the members are copies of.
    estimators_ : list of estimators
        The fitted members.
    estimators_samples_, estimators_features_ : list of ndarray
        The rows and the columns of each.
    oob_score_ : float
        R² out of bag, if asked for.
    oob_prediction_ : ndarray of shape (n_samples,)
        Predictions out of bag, if asked for.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X has them.

    Examples
    --------
    >>> from mlreplica.datasets import load_diabetes
    >>> from mlreplica.ensemble import BaggingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggingRegressor(n_estimators=50, oob_score=True, random_state=0).fit(X, y)
    >>> round(model.oob_score_, 1)
    0.4
    """

    card = BaggingClassifier.card

    def _get_estimator(self):
        """The member as given, or the default."""
        return tree.DecisionTreeRegressor() if self.estimator is None else self.estimator

    def _fit(self, X, y, *args, sample_weight=None, **options):
        refuse_heavy_share(sample_weight, self.max_samples)
        return super()._fit(X, y, *args, sample_weight=sample_weight, **options)

    def _parallel_args(self):
        return {"prefer": "threads"}

    def predict(self, X, **params):
        """Predict the mean (1).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        **params : dict
            With metadata routing, what the members' `predict` asks for.

        Returns
        -------
        ndarray of shape (n_samples,)
            Numbers.
        """
        with parallel_config(prefer="threads"):
            return super().predict(X, **params)
