"""MLREPLICA_PLAIN_NUMBA=1 compiles without any layer on Numba: same numbers, one fit a family"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from mlreplica.core.card import card_of
from mlreplica.discovery import all_estimators

FIT = """
import json, sys, warnings
import numpy as np
from mlreplica.core.card import card_of
from mlreplica.core.compile.layers import LAYERS, layer
from mlreplica.discovery import all_estimators
from mlreplica.warmup import settings, targets

warnings.simplefilter("ignore", UserWarning)
card = card_of(dict(all_estimators())[sys.argv[1]])
model = card.estimator(**settings(card.estimator)[0][0])
X = np.random.default_rng(0).standard_normal((30, 4))
if model.__sklearn_tags__().input_tags.positive_only:
    X = abs(X)
data = card.data() if card.data else (X, targets(card.task, X)[0])
model.fit(*data)
found = [
    np.asarray(getattr(model, name)(X), dtype=float).ravel().tolist()
    for name in ("predict", "decision_function", "transform", "score_samples")
    if hasattr(model, name) and not card.data
]
print(json.dumps([[name for name in LAYERS if layer(name)], found]))
"""


def family(estimator):
    """The folder of an estimator, or its file where it has none to itself."""
    module = estimator.__module__
    return module if module.count(".") == 1 else module.rpartition(".")[0]


def shortest_names():
    """One estimator of each family."""
    names = {}
    for name, estimator in all_estimators():
        if card_of(estimator):
            names.setdefault(family(estimator), []).append(name)
    return [min(several, key=lambda name: (len(name), name)) for several in names.values()]


def run(name, **env):
    done = subprocess.run(
        [sys.executable, "-c", FIT, name],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("name", shortest_names())
def test_same_numbers_without_layers(name, tmp_path):
    layers, plain = run(name, MLREPLICA_PLAIN_NUMBA="1", NUMBA_CACHE_DIR=str(tmp_path))
    assert layers == []
    assert list(tmp_path.iterdir()) == []
    layers, usual = run(name)
    assert len(layers) == 5
    for a, b in zip(plain, usual, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
