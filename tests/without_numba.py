"""Every estimator fits and predicts where Numba cannot be imported: for a library with all kernels

    python tests/without_numba.py [name ...]

Names choose estimators. NEEDS_NUMBA lists those that compile a function at run time.
"""

import sys
import warnings

NEEDS_NUMBA = {"BayesianLogisticRegression"}  # its density becomes one C function with the data
METHODS = "predict", "transform", "predict_proba", "decision_function", "score_samples"


class Refuse:
    """A finder that says that Numba is not installed."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numba", "llvmlite"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Refuse())

import numpy as np  # noqa: E402
from sklearn.datasets import load_iris  # noqa: E402

from mlreplica.core.card import card_of  # noqa: E402
from mlreplica.discovery import all_estimators  # noqa: E402


def use(card):
    """Fit an estimator on iris, or on what its card says, and call what follows a fit."""
    X, y = load_iris(return_X_y=True)
    X, y = (X, y) if card.task != "regression" else (X[:, :3], X[:, 3] + 0.1)
    model = card.estimator(**(card.cheap() if card.cheap else {}))
    tags = model.__sklearn_tags__()
    if card.task == "classification" and not tags.classifier_tags.multi_class:
        X, y = X[y < 2], y[y < 2]
    data = card.data() if card.data else (X, y)
    model.fit(*data)
    for name in METHODS:
        if not card.data and hasattr(model, name):
            getattr(model, name)(X)


warnings.simplefilter("ignore")
np.seterr(all="ignore")
failed, done = [], 0
for name, estimator in all_estimators():
    card = card_of(estimator)
    if card and name not in NEEDS_NUMBA and (not sys.argv[1:] or name in sys.argv[1:]):
        try:
            use(card)
        except ImportError as error:
            failed.append(f"{name}: {error}")
        done += 1
sys.stdout.write(f"{done - len(failed)} of {done} estimators run without Numba\n")
sys.exit("\n".join(failed) or None)
