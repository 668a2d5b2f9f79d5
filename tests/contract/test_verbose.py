"""Every estimator with a parameter `verbose` writes a line if it is 1, and none if it is 0"""

import inspect
import warnings

import numpy as np
import pytest

from mlreplica.discovery import cards
from mlreplica.warmup import settings


def speaks(card):
    return getattr(inspect.signature(card.estimator).parameters.get("verbose"), "default", None)


SPEAKERS = [card for card in cards() if speaks(card) in (0, False)]


def training_set(card):
    """Rows that are not negative, with gaps where that is the question, and a target."""
    if card.data:
        return card.data()
    X = np.abs(np.random.default_rng(0).normal(size=(60, 4)))
    if "Imputer" in card.name:
        X = np.where(X > 2.0, np.nan, X)
    if card.task == "regression":
        return X, np.stack([X[:, 0], X[:, 1]], axis=1)[:, : 2 if "MultiTask" in card.name else 1]
    return X, (X[:, 0] > 0.7).astype(int)


@pytest.mark.parametrize("card", SPEAKERS, ids=lambda card: card.name)
def test_verbose_speaks(card, capfd):
    X, *y = training_set(card)
    y = [v.ravel() if np.ndim(v) == 2 and np.shape(v)[1] == 1 else v for v in y]
    for verbose in (0, 1):
        model = card.estimator(**settings(card.estimator)[0][0] | {"verbose": verbose})
        capfd.readouterr()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, *y)
        written = "".join(capfd.readouterr())
        assert bool(written.strip()) == bool(verbose)
