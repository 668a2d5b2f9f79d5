"""What every estimator finds with each of its options, as numbers in a file

    python tests/every_setting.py FILE CHAPTER

Run with and without MLREPLICA_PURE_PYTHON=1, the files must agree.
"""

import inspect
import sys
import warnings
from contextlib import suppress

import numpy as np
import scipy.sparse as sp

from mlreplica.core.card import card_of
from mlreplica.warmup import REFUSED, chosen, settings, targets

METHODS = "predict", "transform", "predict_proba", "decision_function", "score_samples"


def numbers(name, value):
    """(name, array) of whatever numbers a value holds."""
    if sp.issparse(value):
        value = value.toarray()
    if isinstance(value, list | tuple):
        for k, part in enumerate(value):
            yield from numbers(f"{name}[{k}]", part)
    elif isinstance(value, bool | int | float | np.ndarray | np.generic):
        array = np.asarray(value)
        if array.dtype.kind in "biuf":
            yield name, array


def found(model, X):
    """Public attributes of a fitted model, and what its methods say of X."""
    for name, value in sorted(vars(model).items()):
        if name.endswith("_") and not name.startswith("_") and "time" not in name:
            yield from numbers(name, value)
    for name in METHODS:
        if X is not None and hasattr(model, name):
            with suppress(*REFUSED):
                yield from numbers(name, getattr(model, name)(X))


def cases(card):
    """(name, options, data, weights) of every option; of the defaults on sparse rows, too."""
    X = np.random.default_rng(0).standard_normal((30, 4))
    weighted = "sample_weight" in inspect.signature(card.estimator.fit).parameters
    w = {"sample_weight": np.linspace(0.5, 1.5, 30)} if weighted else {}
    for k, options in enumerate(settings(card.estimator)[0]):
        name = f"{card.name}({', '.join(f'{name}={v!r}' for name, v in options.items())})"
        if card.data:
            yield name, options, card.data(), {}
            continue
        kinds = {"": (X, {}), " sparse": (sp.csr_array(X), {}), " weighted": (X, w)}
        for kind, (rows, weights) in kinds.items() if k == 0 else [("", (X, {}))]:
            for t, y in enumerate(targets(card.task, X)):
                yield f"{name}{kind} {t}", options, (rows, y), weights


def all_numbers(chapter):
    """{name: array} of one chapter."""
    result = {}
    for _, thing in chosen([chapter]):
        if card := card_of(thing):
            for name, options, data, weights in cases(card):
                with suppress(*REFUSED):
                    model = thing(**options).fit(*data, **weights)
                    X = None if card.data else data[0]
                    result |= {f"{name}: {key}": array for key, array in found(model, X)}
    return result


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    path, chapter = sys.argv[1:]
    np.savez(path, **all_numbers(chapter))
