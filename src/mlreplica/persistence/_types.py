"""Types: the fixed list of classes that files may name, and what of their state is not kept"""

import functools
from functools import partial
from importlib import import_module

import numpy as np
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

import mlreplica
from mlreplica import feature_selection
from mlreplica.calibration._classifier import CalibratedMember
from mlreplica.calibration._curves import Sigmoid, Temperature
from mlreplica.core.card import card_of
from mlreplica.core.formulas.kernel_words import inverse_lengths
from mlreplica.core.inputs import Inputs
from mlreplica.core.lazy import public_module

# Of scikit-learn: what stands before a model in a pipeline. Our own estimators have cards.
SKLEARN = {
    "compose": "ColumnTransformer TransformedTargetRegressor",
    "decomposition": "PCA TruncatedSVD",
    "dummy": "DummyClassifier DummyRegressor",
    "feature_extraction": "DictVectorizer",
    "feature_extraction.text": "CountVectorizer TfidfTransformer TfidfVectorizer",
    "feature_selection": "VarianceThreshold",
    "frozen": "FrozenEstimator",
    "impute": "MissingIndicator SimpleImputer",
    "multiclass": "OneVsOneClassifier OneVsRestClassifier",
    "multioutput": "MultiOutputClassifier MultiOutputRegressor",
    "pipeline": "FeatureUnion Pipeline",
    "preprocessing": "Binarizer FunctionTransformer KBinsDiscretizer LabelBinarizer LabelEncoder "
    "MaxAbsScaler MinMaxScaler MultiLabelBinarizer Normalizer OneHotEncoder OrdinalEncoder "
    "PolynomialFeatures PowerTransformer QuantileTransformer RobustScaler StandardScaler "
    "TargetEncoder",
}
PRIVATE = {  # what estimators hold that is none itself
    f"mlreplica.{kind.__name__}": kind for kind in (Inputs, CalibratedMember, Sigmoid, Temperature)
}
COLUMNS = "mlreplica.cli.columns.Columns"  # the first step of what `mlreplica fit` writes
SCORES = (
    "chi2", "f_classif", "f_regression", "mutual_info_classif", "mutual_info_regression",
    "r_regression",
)  # fmt: skip
FUNCTIONS = {
    "inverse_lengths": inverse_lengths,
    **{name: PAIRWISE_KERNEL_FUNCTIONS[name] for name in ("poly", "chi2", "additive_chi2")},
    **{name: getattr(np, name) for name in ("mean", "median", "min", "max", "sum")},  # pooling
    **{f"feature_selection.{name}": getattr(feature_selection, name) for name in SCORES},
}
OPTIONS = {"degree", "gamma", "coef0", "n_neighbors", "random_state"}

# Attributes that are made again from the others, and those that belong to a fit under way.
AGAIN = {
    "_forest_of": lambda model: (0, None),
    "_loss": lambda model: model._make_loss(),
    "_made": lambda model: import_module("mlreplica.ensemble.forest.answers").Made(),
    "_objective": lambda model: model._make_objective(),
    "_packed": lambda model: model._pack(model.estimators_),
    "_tables": lambda model: model._make_tables(),
    "scorer_": lambda model: model._scorer_again(),
}
LEFT_OUT = {
    "_callback_fit_ctx",
    "_checked_cv_orig",
    "_last_fit",
    "_skl_callbacks",
    "_skl_callbacks_to_teardown",
}


def make_again(model, name):
    """Set an attribute that the file does not hold."""
    setattr(model, name, AGAIN[name](model))


@functools.cache
def class_of(name):
    """The class of a name on the list; nothing else is ever imported or looked up."""
    if name in PRIVATE:
        return PRIVATE[name]
    if name == COLUMNS:
        return import_module("mlreplica.cli.columns").Columns
    library, _, rest = str(name).partition(".")
    module, _, title = rest.rpartition(".")
    if library == "sklearn" and title in SKLEARN.get(module, "").split():
        return getattr(import_module(f"sklearn.{module}"), title)
    if library == "mlreplica" and module in mlreplica.__all__:
        chapter = import_module(f"mlreplica.{module}")
        found = getattr(chapter, title) if title in chapter.__all__ else None
        if isinstance(found, type) and card_of(found):
            return found
    raise ValueError(f"it names {name!r}, which is not on the list of what may be loaded.")


def name_of(kind, where="model"):
    """The public name of a class on the list."""
    if kind in PRIVATE.values():
        return f"mlreplica.{kind.__name__}"
    if f"{kind.__module__}.{kind.__name__}" == COLUMNS:
        return COLUMNS
    name = f"{public_module(kind)}.{kind.__name__}"
    try:
        if class_of(name) is kind:
            return name
    except ValueError:
        pass
    raise TypeError(
        f"{where} is a {kind.__module__}.{kind.__qualname__}, which is not saved: mlreplica saves "
        "its own estimators and scikit-learn's pipelines, scalers, encoders and imputers."
    )


def name_of_function(f):
    """The name and options of one of FUNCTIONS, or None."""
    options = {}
    if isinstance(f, partial) and not f.args:
        f, options = f.func, f.keywords
    names = [name for name, known in FUNCTIONS.items() if known is f]
    return (names[0], dict(options)) if names and set(options) <= OPTIONS else None


def function_of(name, options):
    """One of FUNCTIONS with its options filled in."""
    if not set(options) <= OPTIONS or not all(type(v) in (int, float) for v in options.values()):
        raise ValueError("it has options of a function that none has.")
    return partial(FUNCTIONS[name], **options) if options else FUNCTIONS[name]
