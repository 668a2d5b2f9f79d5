"""How many states: fits with several numbers of them, compared"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from ._sequences import as_sequences, told_apart


class StateSelection(NamedTuple):
    """The best model, and what was found for each number of states."""

    best_model: object
    n_components: list
    scores: np.ndarray


def select_n_components(
    model, X, candidates=(1, 2, 3, 4, 5), *, lengths=None, criterion="bic", cv=3
):
    """Choose the number of states by a criterion or by held-out likelihood.

    Parameters
    ----------
    model : hidden Markov model
        Cloned with each number of states.
    X : array-like of shape (n_samples, n_features), list of such, or 3-d array
    candidates : iterable of int, default=(1, 2, 3, 4, 5)
    lengths : array-like of int, or str, default=None
    criterion : {"bic", "aic", "held-out"}, default="bic"
        Smaller is better; "held-out" is −log-likelihood per row of sequences left out in turn.
    cv : int, default=3
        In how many parts the sequences are cut for "held-out"; one long sequence is cut in pieces.

    Returns
    -------
    selection : StateSelection
        Named tuple of `best_model` (fitted to X), `n_components` and `scores`.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.sequence import GaussianHMM
    >>> x = np.repeat([0.0, 6.0, 0.0, 6.0], 30) + np.random.default_rng(0).normal(size=120)
    >>> found = select_n_components(GaussianHMM(random_state=0), x[:, None], (1, 2, 3))
    >>> found.best_model.n_components
    2
    """
    if criterion not in ("bic", "aic", "held-out"):
        raise ValueError(f"criterion must be 'bic', 'aic' or 'held-out', got {criterion!r}.")
    _, lengths = told_apart(X, None, lengths)
    rows, offsets = as_sequences(clone(model), X, lengths, reset=True)
    parts = [rows[a:z] for a, z in pairwise(offsets)]
    if criterion == "held-out" and len(parts) < cv:
        parts = np.array_split(rows, cv)
    candidates, scores, fitted = list(candidates), [], []
    for K in candidates:
        made = clone(model).set_params(n_components=K)
        if criterion == "held-out":
            lost = 0.0
            for fold in range(cv):
                kept = [p for k, p in enumerate(parts) if k % cv != fold]
                left = [p for k, p in enumerate(parts) if k % cv == fold]
                lost -= clone(made).fit(kept).score(left)
            scores.append(lost / len(rows))
        fitted.append(made.fit(parts))
        if criterion != "held-out":
            scores.append(getattr(made, criterion)(parts))
    best = int(np.argmin(scores))
    return StateSelection(fitted[best], candidates, np.array(scores))
