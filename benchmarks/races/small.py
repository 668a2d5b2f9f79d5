"""Every estimator on small data, as notebooks and grid searches use it all day

Default and common settings on iris, wine, digits and diabetes, standardised: a fit, and the answer
to one row. A race is an estimator, its shapes are all sets, settings and calls, and so its ratio is
the worst of them. Quality is the objective where it is convex and short to write, else 1 − the
training score; within 0.1 % (2 %) of the best is equal, since scikit-learn's defaults stop early.
"""

import importlib

import numpy as np

from benchmarks.data import Data, known
from benchmarks.race import BOTH, Race, located, same

CLASSES, NUMBERS, SEED = ("iris", "wine", "digits"), ("diabetes",), {"random_state": 0}
ESTIMATORS = {  # settings beside the defaults, which `None` leaves out
    "linear_model": {
        "LinearRegression": [],
        "Ridge": [{"alpha": 10.0}],
        "RidgeCV": [],
        "Lasso": [{"alpha": 0.1}],
        "LassoCV": [],
        "ElasticNet": [{"alpha": 0.1}],
        "ElasticNetCV": [],
        "Lars": [],
        "LassoLars": [{"alpha": 0.1}],
        "LarsCV": [],
        "LassoLarsCV": [],
        "LassoLarsIC": [{"criterion": "bic"}],
        "BayesianRidge": [],
        "HuberRegressor": [],
        "PoissonRegressor": [],
        "GammaRegressor": [],
        "TweedieRegressor": [{"power": 1.5}],
        "QuantileRegressor": [{"alpha": 0.01}],
        "RANSACRegressor": [SEED],
        "SGDRegressor": [SEED],
        "SGDClassifier": [SEED, {"loss": "log_loss"} | SEED],
        "Perceptron": [],
        "LogisticRegression": [{"C": 10.0}, {"solver": "newton-cg"}, {"solver": "saga"} | SEED],
        "LogisticRegressionCV": [None, {"Cs": 5, "cv": 3}],
        "RidgeClassifier": [],
        "RidgeClassifierCV": [],
    },
    "svm": {
        "SVC": [{"C": 10.0}, {"kernel": "linear", "C": 10.0}],
        "NuSVC": [{"nu": 0.1}],
        "SVR": [{"C": 100.0}],
        "NuSVR": [],
        "OneClassSVM": [{"nu": 0.1}],
        "LinearSVC": [SEED, {"loss": "hinge"} | SEED],
        "LinearSVR": [SEED, {"C": 10.0} | SEED],
    },
    "tree": {
        "DecisionTreeClassifier": [SEED, {"max_depth": 3} | SEED],
        "DecisionTreeRegressor": [SEED, {"max_depth": 3} | SEED],
        "ExtraTreeClassifier": [SEED],
        "ExtraTreeRegressor": [SEED],
    },
    "ensemble": {
        "RandomForestClassifier": [SEED],
        "RandomForestRegressor": [SEED],
        "ExtraTreesClassifier": [SEED],
        "ExtraTreesRegressor": [SEED],
        "BaggingClassifier": [SEED],
        "BaggingRegressor": [SEED],
        "AdaBoostClassifier": [SEED],
        "AdaBoostRegressor": [SEED],
        "GradientBoostingClassifier": [SEED],
        "GradientBoostingRegressor": [SEED],
        "HistGradientBoostingClassifier": [SEED],
        "HistGradientBoostingRegressor": [SEED],
        "IsolationForest": [SEED],
        "RandomTreesEmbedding": [SEED],
    },
    "calibration": {"CalibratedClassifierCV": []},
    "kernel_ridge": {"KernelRidge": [{"kernel": "rbf", "alpha": 0.1}]},
    "neighbors": {
        "KNeighborsClassifier": [{"weights": "distance"}],
        "KNeighborsRegressor": [],
        "RadiusNeighborsClassifier": [None, {"radius": 9.0}],
        "RadiusNeighborsRegressor": [None, {"radius": 9.0}],
        "NearestNeighbors": [],
        "KNeighborsTransformer": [],
        "RadiusNeighborsTransformer": [None, {"radius": 9.0}],
        "NearestCentroid": [{"shrink_threshold": 0.1}],
        "KernelDensity": [],
        "LocalOutlierFactor": [{"novelty": True}],
        "NeighborhoodComponentsAnalysis": [SEED],
    },
    "impute": {
        "KNNImputer": [],
        "SimpleImputer": [{"strategy": "median"}],
        "MissingIndicator": [],
        "IterativeImputer": [SEED],
    },
    "preprocessing": {
        "StandardScaler": [],
        "MinMaxScaler": [],
        "MaxAbsScaler": [],
        "RobustScaler": [],
        "Normalizer": [],
        "Binarizer": [],
        "FunctionTransformer": [],
        "QuantileTransformer": [None, {"n_quantiles": 100} | SEED],
        "PowerTransformer": [],
        "KBinsDiscretizer": [None, {"quantile_method": "averaged_inverted_cdf"}],
        "PolynomialFeatures": [],
        "SplineTransformer": [],
        "OneHotEncoder": [],
        "OrdinalEncoder": [],
        "TargetEncoder": [SEED],
    },
    "feature_selection": {
        "VarianceThreshold": [],
        "SelectKBest": [None, {"k": 2}],
        "SelectPercentile": [],
        "SelectFpr": [],
        "SelectFdr": [],
        "SelectFwe": [],
        "GenericUnivariateSelect": [],
    },
    "cluster": {
        "KMeans": [{"n_clusters": 3} | SEED],
        "MiniBatchKMeans": [{"n_clusters": 3} | SEED],
        "BisectingKMeans": [{"n_clusters": 3} | SEED],
        "AgglomerativeClustering": [{"linkage": "average"}],
        "FeatureAgglomeration": [],
        "DBSCAN": [],
        "HDBSCAN": [],
        "SpectralClustering": [{"n_clusters": 3, "affinity": "nearest_neighbors"} | SEED],
    },
    "mixture": {
        "GaussianMixture": [{"n_components": 3, "covariance_type": "diag"} | SEED],
        "BayesianGaussianMixture": [{"n_components": 3, "covariance_type": "diag"} | SEED],
    },
    "decomposition": {
        "KernelPCA": [{"n_components": 2, "kernel": "rbf"}],
        "PCA": [{"n_components": 2}, {"whiten": True}],
        "IncrementalPCA": [{"n_components": 2}],
        "TruncatedSVD": [SEED],
        "NMF": [None, {"n_components": 3, "max_iter": 1000, "tol": 1e-3} | SEED],
    },
    "discriminant_analysis": {
        "LinearDiscriminantAnalysis": [{"solver": "lsqr", "shrinkage": "auto"}],
        "QuadraticDiscriminantAnalysis": [None, {"reg_param": 0.1}],
    },
    "naive_bayes": {
        "GaussianNB": [],
        "BernoulliNB": [],
        "MultinomialNB": [],
        "ComplementNB": [],
        "CategoricalNB": [],
    },
    "covariance": {
        "EmpiricalCovariance": [],
        "ShrunkCovariance": [],
        "LedoitWolf": [],
        "OAS": [],
        "MinCovDet": [SEED],
        "EllipticEnvelope": [SEED],
    },
    "kernel_approximation": {"Nystroem": [SEED], "RBFSampler": [SEED]},
}
NUMERIC = ("LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV")
NUMERIC += ("HuberRegressor", "KernelRidge")


ALONE = (
    "AgglomerativeClustering",
    "DBSCAN",
    "HDBSCAN",
    "SpectralClustering",
)  # no answer for new rows
COUNTS = ("NMF", "MultinomialNB", "ComplementNB", "CategoricalNB")
COUNTS += ("OneHotEncoder", "OrdinalEncoder", "TargetEncoder")
ANSWERS = ("predict", "transform", "score_samples", "kneighbors", "mahalanobis")


def standardised(name, options, one_row, counts=False):
    """A known set; `more` is what to do with it."""
    X, y, *_ = known(name)
    X = np.round(X - X.min(axis=0)) if counts else X - X.mean(axis=0)
    X = X / (1.0 if counts else np.maximum(X.std(axis=0), 1e-9))
    return Data(X, y, more=(options, one_row))


def contestant(path):
    """Fits, or a fitted model asked for one row; the result is the model."""

    def prepare(data):
        if path.endswith("IterativeImputer"):
            importlib.import_module("sklearn.experimental.enable_iterative_imputer")
        (options, one_row), make = data.more, located(path)
        if not one_row:
            return lambda: make(**options).fit(data.X, data.y)
        model, row = make(**options).fit(data.X, data.y), data.X[:1].copy()
        answer = next(getattr(model, name) for name in ANSWERS if hasattr(model, name))
        return lambda: (model, answer(row))[0]

    return prepare


def objective(data, model):
    """The training objective, per row."""
    name, given = type(model).__name__, model.get_params()
    if not hasattr(model, "score"):
        return 0.0
    if name not in ("LogisticRegression", "LinearSVC", "Ridge", "Lasso", "ElasticNet"):
        return 1.0 - model.score(data.X, data.y)
    W, b, n = np.atleast_2d(model.coef_), model.intercept_, len(data.y)
    F = data.X @ W.T + b
    squares, absolute = (W**2).sum() / 2, np.abs(W).sum()
    if name == "LogisticRegression":
        loss = np.logaddexp.reduce(F, axis=1) - F[np.arange(n), data.y]
        return loss.mean() + squares / (given["C"] * n)
    if name == "LinearSVC":  # it counts the intercept as a weight
        Y = np.where(data.y[:, None] == np.arange(len(W)), 1.0, -1.0)
        short = np.maximum(1.0 - Y * F, 0.0)
        loss = (short if given["loss"] == "hinge" else short**2).sum()
        return (loss + (squares + (b**2).sum() / 2) / given["C"]) / n
    half = ((data.y[:, None] - F) ** 2).mean() / 2
    share = {"Ridge": 0.0, "Lasso": 1.0}.get(name, given.get("l1_ratio"))
    scale = given["alpha"] / (n if name == "Ridge" else 1)
    return half + scale * (share * absolute + (1.0 - share) * squares)


def race(chapter, name, settings):
    """One estimator; a setting with a seed takes the default's place."""
    numeric = "Regressor" in name or "SVR" in name or name in NUMERIC
    if not (settings and (settings[0] is None or "random_state" in settings[0])):
        settings = [{}, *settings]
    makers = {}
    for options in filter(lambda options: options is not None, settings):
        for data in NUMBERS if numeric else CLASSES:
            said = [f"{k}={v}" for k, v in options.items() if k != "random_state"]
            for one_row in (False, True) if name not in ALONE else (False,):
                call = "one row" if one_row else "fit"
                label = ", ".join([data, *said, call])
                makers[label] = lambda d=data, o=options, r=one_row: standardised(
                    d, o, r, counts=name in COUNTS
                )
    convex = name in ("LogisticRegression", "LinearSVC", "Ridge", "Lasso", "ElasticNet")
    return Race(
        name=f"small-{name.lower()}",
        what=name,
        shapes=makers,
        contestants=same(f"{chapter}.{name}", BOTH, how=contestant),
        quality=objective,
        quality_name="objective" if convex else "1 − score",
        rtol=1e-3 if convex else 0.02,
        atol=1e-9 if convex else 0.01,
        share=0.1,
    )


RACES = [
    race(chapter, name, settings)
    for chapter, names in ESTIMATORS.items()
    for name, settings in names.items()
]
