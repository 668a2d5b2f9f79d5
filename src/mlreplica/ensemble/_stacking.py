r"""Stacking: a model learns how far to trust each of several models

Level one are M models. Let f_m^(−i) be model m fitted without the fold that holds row i. Level two
is a model g fitted on what level one says of rows it has not seen:

    z_i = (f_1^(−i)(x_i), …, f_M^(−i)(x_i)),      g fitted to (z_i, y_i),  i = 1 … n          (1)

    f(x) = g(f_1(x), …, f_M(x))       with every f_m fitted anew on all rows                  (2)

Were z_i made by models that had seen row i, g would trust whoever overfits most.

Wolpert, Stacked generalization (1992). The classes are scikit-learn's: (1) is administration. Ours
run it on threads, and the default of g is this package's.
"""

from joblib import parallel_config
from sklearn import ensemble
from sklearn.base import is_regressor
from sklearn.utils import assert_all_finite

from mlreplica.core.card import Card
from mlreplica.linear_model import LogisticRegression, RidgeCV
from mlreplica.tree import DecisionTreeClassifier, DecisionTreeRegressor


class StackingClassifier(ensemble.StackingClassifier):
    """A classifier on top of the cross-validated answers of several models.

    scikit-learn's class, on which it stands; models are fitted on threads.

    Parameters
    ----------
    estimators : list of (str, estimator)
        Models of level one by name; "drop" in the place of one leaves it out.
    final_estimator : estimator, default=None
        g of (1); None for `LogisticRegression`.
    cv : int, cross-validation generator, iterable or "prefit", default=None
        Folds of (1), None for five; "prefit" for models that are fitted already.
    stack_method : {"auto", "predict_proba", "decision_function", "predict"}, default="auto"
        What level one is asked for: "auto" for the first of these that a model has.
    n_jobs : int, default=None
        How many models are fitted at once, on threads; None for one after the other.
    passthrough : bool, default=False
        Whether g sees the columns of X too.
    verbose : int, default=0
        How much is printed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,) or list of ndarray
        The classes.
    estimators_ : list of estimators
        The fitted models of level one, without those dropped.
    named_estimators_ : Bunch
        The same by name.
    final_estimator_ : estimator
        g, fitted.
    stack_method_ : list of str
        What each model of level one was asked for.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if a model of level one has them.

    Examples
    --------
    >>> from mlreplica.datasets import load_iris
    >>> from mlreplica.ensemble import StackingClassifier
    >>> from mlreplica.linear_model import LogisticRegression, RidgeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> stack = StackingClassifier([("lr", LogisticRegression()), ("ridge", RidgeClassifier())])
    >>> stack.fit(X, y).predict(X[::50])
    array([0, 1, 2])
    """

    card = Card(
        page="ensembles-compared",
        checks="members",
        onnx="stacking",
        input="members",
        cheap=lambda: {"estimators": [("tree", DecisionTreeClassifier(max_depth=1))]},
        use="one answer from models of different kinds, with learned weights",
        good="as good as the best member or better, given enough rows",
        bad="every member is fitted once per fold and once more",
        time="the fits of all members, times the folds plus one",
        memory="all members",
        rescaling="as the members need",
        missing="as the members do",
        instead="Voting for a plain average",
    )

    def _validate_final_estimator(self):
        """Make g; the default is ours, all else scikit-learn's own way."""
        if self.final_estimator is None:
            self._clone_final_estimator(default=LogisticRegression())
        else:
            super()._validate_final_estimator()

    def fit(self, X, y, **fit_params):
        """Fit both levels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to learn from.
        y : array-like of shape (n_samples,)
            Their classes.
        **fit_params : dict
            `sample_weight`; with metadata routing, whatever the models ask for.

        Returns
        -------
        StackingClassifier
            The fitted classifier.
        """
        assert_all_finite(y, input_name="y")
        with parallel_config(prefer="threads"):
            return super().fit(X, y, **fit_params)


class StackingRegressor(ensemble.StackingRegressor):
    """A regressor on top of the cross-validated predictions of several models.

    scikit-learn's class, on which it stands; models are fitted on threads.

    Parameters
    ----------
    estimators : list of (str, estimator)
        Models of level one by name; "drop" in the place of one leaves it out.
    final_estimator : estimator, default=None
        g of (1); None for `RidgeCV`.
    cv : int, cross-validation generator, iterable or "prefit", default=None
        Folds of (1), None for five; "prefit" for models that are fitted already.
    n_jobs : int, default=None
        How many models are fitted at once, on threads; None for one after the other.
    passthrough : bool, default=False
        Whether g sees the columns of X too.
    verbose : int, default=0
        How much is printed.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted models of level one, without those dropped.
    named_estimators_ : Bunch
        The same by name.
    final_estimator_ : estimator
        g, fitted.
    stack_method_ : list of str
        What each model of level one was asked for.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if a model of level one has them.

    Examples
    --------
    >>> from mlreplica.datasets import load_diabetes
    >>> from mlreplica.ensemble import StackingRegressor
    >>> from mlreplica.linear_model import LassoCV, Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> stack = StackingRegressor([("ridge", Ridge()), ("lasso", LassoCV())]).fit(X, y)
    >>> round(stack.score(X, y), 2)
    0.52
    """

    card = StackingClassifier.card.but(
        cheap=lambda: {"estimators": [("tree", DecisionTreeRegressor(max_depth=1))]},
    )

    def _validate_final_estimator(self):
        """Make g; None gives ours."""
        self._clone_final_estimator(default=RidgeCV())
        if not is_regressor(self.final_estimator_):
            raise ValueError(
                f"'final_estimator' parameter should be a regressor. Got {self.final_estimator_}"
            )

    def fit(self, X, y, **fit_params):
        """Fit both levels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to learn from.
        y : array-like of shape (n_samples,)
            Their targets.
        **fit_params : dict
            `sample_weight`; with metadata routing, whatever the models ask for.

        Returns
        -------
        StackingRegressor
            The fitted regressor.
        """
        with parallel_config(prefer="threads"):
            return super().fit(X, y, **fit_params)
