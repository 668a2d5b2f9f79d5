"""Linear models: least squares and the perceptron, each with its solvers by name"""

from importlib import import_module

HOME = {
    "ElasticNet": "_elastic_net",
    "ElasticNetCV": "_lasso_cv",
    "HuberRegressor": "_huber",
    "Lasso": "_elastic_net",
    "LassoCV": "_lasso_cv",
    "LinearRegression": "_linear_regression",
    "LogisticRegression": "_logistic_regression",
    "LogisticRegressionCV": "_logistic_cv",
    "Perceptron": "_perceptron_classifier",
    "PoissonRegressor": "_poisson",
    "QuantileRegressor": "_quantile",
    "Ridge": "_ridge_regressor",
    "RidgeCV": "_ridge_cv",
    "RidgeClassifier": "_ridge_classifier",
    "RidgeClassifierCV": "_ridge_classifier",
    "SGDClassifier": "_sgd_classifier",
    "SGDRegressor": "_sgd_regressor",
    "enet_path": "_path",
    "gradient_descent": "_gradient_descent",
    "lasso_path": "_path",
    "perceptron": "_perceptron",
    "ridge_regression": "_ridge_regressor",
    "stochastic_gradient_descent": "_stochastic_descent",
}

__all__ = [
    "ElasticNet",
    "ElasticNetCV",
    "HuberRegressor",
    "Lasso",
    "LassoCV",
    "LinearRegression",
    "LogisticRegression",
    "LogisticRegressionCV",
    "Perceptron",
    "PoissonRegressor",
    "QuantileRegressor",
    "Ridge",
    "RidgeCV",
    "RidgeClassifier",
    "RidgeClassifierCV",
    "SGDClassifier",
    "SGDRegressor",
    "enet_path",
    "gradient_descent",
    "lasso_path",
    "perceptron",
    "ridge_regression",
    "stochastic_gradient_descent",
]


def __getattr__(name: str) -> object:
    if name in HOME:
        return getattr(import_module(f"{__name__}.{HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
