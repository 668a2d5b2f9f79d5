"""Linear models: least squares and the perceptron, each with its solvers by name"""

from typing import TYPE_CHECKING

from mlreplica.core.lazy import lazy

if TYPE_CHECKING:
    from .lars.criterion import LassoLarsIC as LassoLarsIC
    from .lars.cv import LarsCV as LarsCV
    from .lars.cv import LassoLarsCV as LassoLarsCV
    from .lars.estimators import Lars as Lars
    from .lars.estimators import LassoLars as LassoLars
    from .lars.path import lars_path as lars_path
    from .lars.path import lars_path_gram as lars_path_gram
    from .lasso.cv import ElasticNetCV as ElasticNetCV
    from .lasso.cv import LassoCV as LassoCV
    from .lasso.elastic_net import ElasticNet as ElasticNet
    from .lasso.elastic_net import Lasso as Lasso
    from .lasso.multi_task_cv import MultiTaskElasticNetCV as MultiTaskElasticNetCV
    from .lasso.multi_task_cv import MultiTaskLassoCV as MultiTaskLassoCV
    from .lasso.multi_task_estimators import MultiTaskElasticNet as MultiTaskElasticNet
    from .lasso.multi_task_estimators import MultiTaskLasso as MultiTaskLasso
    from .lasso.path import enet_path as enet_path
    from .lasso.path import lasso_path as lasso_path
    from .least_squares.linear_regression import LinearRegression as LinearRegression
    from .logistic.cv import LogisticRegressionCV as LogisticRegressionCV
    from .logistic.regression import LogisticRegression as LogisticRegression
    from .ridge.bayesian import BayesianRidge as BayesianRidge
    from .ridge.classifier import RidgeClassifier as RidgeClassifier
    from .ridge.classifier import RidgeClassifierCV as RidgeClassifierCV
    from .ridge.cv import RidgeCV as RidgeCV
    from .ridge.regressor import Ridge as Ridge
    from .ridge.regressor import ridge_regression as ridge_regression
    from .robust.huber import HuberRegressor as HuberRegressor
    from .robust.poisson_regressor import PoissonRegressor as PoissonRegressor
    from .robust.quantile import QuantileRegressor as QuantileRegressor
    from .robust.ransac_regressor import RANSACRegressor as RANSACRegressor
    from .robust.tweedie_regressors import GammaRegressor as GammaRegressor
    from .robust.tweedie_regressors import TweedieRegressor as TweedieRegressor
    from .sgd.classifier import SGDClassifier as SGDClassifier
    from .sgd.gradient_descent import gradient_descent as gradient_descent
    from .sgd.mini_batches import stochastic_gradient_descent as stochastic_gradient_descent
    from .sgd.perceptron import perceptron as perceptron
    from .sgd.perceptron_classifier import Perceptron as Perceptron
    from .sgd.regressor import SGDRegressor as SGDRegressor

__all__, __getattr__, __dir__ = lazy(__name__)
