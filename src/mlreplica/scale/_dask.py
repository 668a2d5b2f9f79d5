"""Dask: sums taken where the blocks lie, and answers that stay lazy

A statistic goes to the blocks, not the blocks to the statistic: `sum` evaluates it on each
partition and adds up eight at a time, so that what travels is as small as the statistic. Tasks
change none of their inputs, so that Dask may run them again when a worker is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy, deepcopy
from functools import partial
from typing import Any

import numpy as np

from ._blocks import Block, as_block, at, at_least_one
from ._rows import Rows

ARITY = 8  # statistics that one task adds up


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection; does not import Dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def is_frame(X: Any) -> bool:
    """Whether a Dask collection is a frame or a series: its partitions are those of pandas."""
    return hasattr(X, "map_partitions")


class DaskRows(Rows):
    """Blocks of Dask collections.

    Parameters
    ----------
    X, y, sample_weight : dask array, frame or series
        Partitioned alike. Chunk sizes may be unknown; if those of X are known, y and sample_weight
        may be other arrays, and are cut like X.
    """

    def __init__(self, X: Any, y: Any = None, sample_weight: Any = None) -> None:
        super().__init__(lambda: iter(()), where="partition")
        self.names = [str(name) for name in X.columns] if is_frame(X) else None
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, got {X.ndim}.")
        self.width = len(self.names) if self.names else int(X.shape[1])
        first = partitions(X)
        others = [parts_like(X, len(first), a) for a in (y, sample_weight)]
        self.parts = list(zip(first, *others, range(len(first)), strict=True))

    def _tasks(self, of: Callable[..., Any], *args: Any) -> list[Any]:
        """of(block, *args) of every partition, to be computed; None where there is no row."""
        from dask import delayed

        work = delayed(partial(on_partition, of, args), pure=False)
        return [work(*part) for part in self.parts]

    def __iter__(self) -> Iterator[Block]:
        return (block for block in self.map(itself) if block is not None)

    def sum(self, of: Callable[..., Any], *args: Any) -> Any:
        """The sum of of(block, *args) over all partitions, by a tree of tasks."""
        from dask import delayed

        terms, join = self._tasks(of, *args), delayed(joined, pure=False)
        while len(terms) > 1:
            terms = [join(terms[i : i + ARITY]) for i in range(0, len(terms), ARITY)]
        return at_least_one([term.compute() for term in terms])

    def fold(self, step: Callable[..., Any], state: Any) -> Any:
        """The state after each partition in turn: it travels, they stay."""
        from dask import delayed

        work = delayed(partial(folded_once, step), pure=False)
        found = delayed(state, pure=False, traverse=False)
        for part in self.parts:
            found = work(found, *part)
        return found.compute()

    def map(self, of: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """of(block, *args) of one partition after another; None where there is no row."""
        return (task.compute() for task in self._tasks(of, *args))

    def mapped(self, of: Callable[..., Any], *args: Any) -> Rows:
        """Rows whose X is of(block, *args); targets and weights stay."""
        other = copy(self)
        tasks = self._tasks(of, *args)
        other.parts = [(X, *part[1:]) for X, part in zip(tasks, self.parts, strict=True)]
        other.names, other.width = None, next(iter(other)).X.shape[1]
        return other


def partitions(a: Any) -> list[Any]:
    """The partitions of a collection, along its rows, to be computed."""
    if is_frame(a):
        return list(a.to_delayed())
    whole = a if a.ndim == 1 else a.rechunk({1: -1})
    return list(whole.to_delayed().ravel())


def parts_like(X: Any, count: int, a: Any) -> list[Any]:
    """What goes with each partition of X."""
    if a is None:
        return [None] * count
    known = not is_frame(X) and not np.isnan(X.chunks[0]).any()
    if not is_dask(a):
        if not known:
            raise ValueError(
                "the sizes of the partitions of X are unknown, so that y and sample_weight must be "
                "Dask collections partitioned alike; or call X.compute_chunk_sizes() first."
            )
        a = np.asarray(a)
        if len(a) != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows and its target or weights {len(a)}.")
        return np.split(a, np.cumsum(X.chunks[0])[:-1])
    if known and not is_frame(a) and not np.isnan(a.chunks[0]).any():
        a = a.rechunk({0: X.chunks[0]})
    found = partitions(a)
    if len(found) != count:
        raise ValueError(
            f"X has {count} partitions and its target or weights {len(found)}; partition them "
            "alike."
        )
    return found


def itself(block: Block) -> Block:
    """The block."""
    return block


def on_partition(of: Any, args: Any, X: Any, y: Any, s: Any, number: int) -> Any:
    """of(block, *args) on the worker that holds the partition; None if it has no row."""
    block = as_block((X, y, s), number, f"partition {number}")
    return at(of, block, args) if block.X.shape[0] else None


def folded_once(step: Any, state: Any, X: Any, y: Any, s: Any, number: int) -> Any:
    """The next state; the last one stays as it is, as this task may run again."""
    block = as_block((X, y, s), number, f"partition {number}")
    return at(step, block, (deepcopy(state),)) if block.X.shape[0] else state


def joined(terms: list[Any]) -> Any:
    """The sum of the terms that are there."""
    return at_least_one(terms) if any(term is not None for term in terms) else None


def lazy_answers(model: Any, method: str, X: Any) -> Any:
    """A Dask array of method(block) for every block; the model is asked when it is computed."""
    import dask.array as da
    from dask import delayed

    if is_frame(X):
        tried = getattr(model, method)(X._meta_nonempty)
        sizes = [np.nan] * X.npartitions
    else:
        tried = getattr(model, method)(np.zeros((1, X.shape[1]), dtype=X.dtype))
        sizes = X.chunks[0]
    tried = np.asarray(tried)
    ask = delayed(partial(answer, method, tried[:0]), pure=False)
    asked = delayed(model, pure=False, traverse=False)
    blocks = [
        da.from_delayed(ask(asked, part), shape=(n, *tried.shape[1:]), dtype=tried.dtype)
        for part, n in zip(partitions(X), sizes, strict=True)
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def answer(method: str, none: Any, model: Any, X: Any) -> Any:
    """method(X), or no row."""
    return np.asarray(getattr(model, method)(X)) if len(X) else none
