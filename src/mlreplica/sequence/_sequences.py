"""Sequences: rows of several sequences one below the other, however they were given"""

from typing import NamedTuple

import numpy as np

from mlreplica.core.validation import validate_data


class Sequences(NamedTuple):
    """All rows, and offsets: sequence s has the rows from offsets[s] to offsets[s + 1]."""

    X: np.ndarray
    offsets: np.ndarray


def as_sequences(estimator, X, lengths=None, *, reset=False):
    """Rows and offsets of a table, a list of tables, a 3-d array, or a frame with an id column.

    Parameters
    ----------
    estimator : estimator
        Whose columns X must have.
    X : array-like of shape (n, p), list of such, or array of shape (S, T, p)
    lengths : array-like of int, str or None
        Rows of each sequence in turn; or the name of the column of a frame that says which
        sequence a row belongs to; or None for one sequence.
    reset : bool, default=False
        Whether this is the X of `fit`.
    """
    if isinstance(lengths, str):
        X, lengths = without_id(X, lengths)
    elif isinstance(X, list | tuple) and len(X) and np.ndim(X[0]) == 2:
        if lengths is not None:
            raise ValueError("lengths must be None for a list of sequences, which have their own.")
        widths = {np.shape(x)[1] if np.ndim(x) == 2 else None for x in X}
        if len(widths) > 1:
            raise ValueError(f"Every sequence needs the same columns, got widths {widths}.")
        lengths, X = [len(x) for x in X], np.concatenate([np.asarray(x) for x in X])
    elif getattr(X, "ndim", 2) == 3 and lengths is None:
        lengths, X = [X.shape[1]] * len(X), np.asarray(X).reshape(-1, X.shape[2])
    X = validate_data(
        estimator, X, reset=reset, dtype=np.float64, order="C", ensure_all_finite="allow-nan"
    )
    if lengths is None:
        return Sequences(X, np.array([0, len(X)]))
    lengths = np.asarray(lengths)
    if lengths.ndim != 1 or lengths.size == 0 or lengths.dtype.kind not in "iu":
        raise ValueError("lengths must be whole numbers, one per sequence.")
    if (lengths < 1).any():
        raise ValueError(f"lengths must be positive, got {lengths.min()}.")
    if lengths.sum() != len(X):
        raise ValueError(f"lengths add up to {lengths.sum()}, but X has {len(X)} rows.")
    return Sequences(X, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))


def without_id(X, name):
    """The other columns of a frame, and how many rows each id has in turn."""
    if name not in getattr(X, "columns", ()):
        raise ValueError(f"X has no column {name!r} that could tell the sequences apart.")
    ids = np.asarray(X[name])
    starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
    if len(set(ids[starts].tolist())) < len(starts):
        raise ValueError(f"Rows of one {name!r} must stand together; sort X by it first.")
    lengths = np.diff(np.append(starts, len(ids)))
    return X[[column for column in X.columns if column != name]], lengths


def known_states(y, n, K):
    """States 0 … K−1 as integers, −1 where y is −1, None or NaN."""
    y = np.concatenate([np.ravel(part) for part in y]) if is_ragged(y) else np.ravel(np.asarray(y))
    if len(y) != n:
        raise ValueError(f"y needs a state for each of {n} rows, got {len(y)}; −1 is unknown.")
    numbers = np.array([-1.0 if v is None or np.isnan(v) else float(v) for v in y.tolist()])
    found = numbers.astype(np.int64)
    if (found != numbers).any() or found.min() < -1 or found.max() >= K:
        raise ValueError(f"States in y must be 0 to {K - 1}, or −1 for unknown.")
    return found


def is_ragged(y):
    """Whether y is a list of lists of states."""
    return isinstance(y, list | tuple) and len(y) > 0 and np.ndim(y[0]) == 1


def told_apart(X, y, lengths):
    """y and lengths; hmmlearn's users pass lengths in the place of y."""
    if y is None or lengths is not None or isinstance(y, str):
        return (None, y) if isinstance(y, str) else (y, lengths)
    n = len(X) if hasattr(X, "__len__") else X.shape[0]
    given = y if isinstance(y, list | tuple) else np.asarray(y)
    flat = np.ndim(given) == 1 if not isinstance(given, list | tuple) else not np.ndim(given[0])
    if flat and len(given) != n:
        numbers = np.asarray(given)
        if numbers.dtype.kind in "iu" and numbers.sum() == n:
            return None, numbers
    return y, None


def sequence_weights(sample_weight, offsets):
    """A finite weight per sequence."""
    S = len(offsets) - 1
    if sample_weight is None:
        return np.ones(S)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (S,):
        raise ValueError(f"sample_weight needs one weight for each of {S} sequences.")
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError("sample_weight must be finite and not negative, and some positive.")
    return weights


def without_weightless(X, y, offsets, weights):
    """The sequences of positive weight."""
    lengths = np.diff(offsets)
    kept = np.repeat(weights > 0, lengths)
    y = None if y is None else known_rows(y, kept)
    offsets = np.concatenate([[0], np.cumsum(lengths[weights > 0])]).astype(np.int64)
    return X[kept], y, offsets, weights[weights > 0]


def known_rows(y, kept):
    """Entries of y, which may be a list of lists, where `kept` is true."""
    flat = np.concatenate([np.ravel(part) for part in y]) if np.ndim(y[0]) else np.asarray(y)
    return flat[kept]


def raise_impossible(totals):
    """Say which sequence has probability zero."""
    s = int(np.flatnonzero(~np.isfinite(totals))[0])
    raise ValueError(
        f"Sequence {s} is impossible under the parameters: no path of states can show it. Raise "
        "the priors, allow more transitions, or scale X."
    )
