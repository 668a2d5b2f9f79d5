"""Blocks of rows: checked once, named in messages, added up, and read ahead on a thread"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mlreplica.core.rows.walk import total_of
from mlreplica.core.validation import FLOATS, is_finite

AHEAD = 2  # blocks that wait


class Block(NamedTuple):
    """Some rows."""

    X: Any  # (m, p): array of floats, or sparse
    y: Any = None  # (m,) or (m, q)
    s: Any = None  # (m,): weights ≥ 0
    number: int = 0  # of the block in its source
    where: str = ""  # for messages: file and rows
    names: Any = None  # of the columns


def as_block(found: Any, number: int, where: str) -> Block:
    """What a source yields as a Block, with X as floats and one target and weight per row."""
    block = (
        found if isinstance(found, Block) else Block(*found if type(found) is tuple else (found,))
    )
    where = block.where or where
    try:
        X, names = block.X, block.names
        if hasattr(X, "columns"):
            names = [str(name) for name in X.columns]
        if not sp.issparse(X):
            X = np.asarray(X)
            X = X if X.dtype in FLOATS else X.astype(np.float64)
        y, s = (None if a is None else np.asarray(a) for a in (block.y, block.s))
        if X.ndim != 2:
            raise ValueError(f"a block must be a matrix of rows, got {X.ndim} dimension(s).")
        for name, a in (("y", y), ("sample_weight", s)):
            if a is not None and len(a) != X.shape[0]:
                raise ValueError(f"{X.shape[0]} rows but {len(a)} entries of {name}.")
        if s is not None and not (s.ndim == 1 and (s >= 0.0).all() and is_finite(s)):
            raise ValueError("sample_weight must be one finite number >= 0 per row.")
    except (ValueError, TypeError) as error:
        raise placed(error, where) from error
    return Block(X, y, None if s is None else s.astype(np.float64), number, where, names)


def at(of: Callable[..., Any], block: Block, args: tuple[Any, ...]) -> Any:
    """of(block, *args); an error names the block."""
    try:
        return of(block, *args)
    except (ValueError, TypeError) as error:
        raise placed(error, block.where) from error


def placed(error: Exception, where: str) -> Exception:
    """The same error with the place in front of its message."""
    return (TypeError if isinstance(error, TypeError) else ValueError)(f"{where}: {error}")


def at_least_one(terms: Iterable[Any]) -> Any:
    """The sum of the terms that are not None."""
    try:
        return total_of(term for term in terms if term is not None)
    except StopIteration:
        raise ValueError("Found array with 0 sample(s): no block has a row.") from None


def dense(block: Block, *, target: bool = False, gaps: bool = False) -> tuple[Any, Any, Any]:
    """X as an array, y and s of a block.

    Refuses a missing target and what is not finite, but in X if it may have `gaps`.
    """
    X = block.X.toarray() if sp.issparse(block.X) else block.X
    for name, a in (("X", None if gaps else X), ("y", block.y)):
        if a is not None and a.dtype.kind == "f" and not is_finite(a):
            bad = ~np.isfinite(a.reshape(len(a), -1)).all(axis=1)
            if bad.any():
                raise ValueError(f"{name} has NaN or infinity in row {bad.argmax()} of the block.")
    if target and block.y is None:
        raise ValueError("no targets: name them, as in Rows.from_parquet(…, target='price').")
    return X, block.y, block.s


def read_ahead(blocks: Iterable[Any]) -> Iterator[Any]:
    """The same blocks, read on a thread while the last one is used; ends with its reader."""
    waiting: Queue[tuple[bool, Any]] = Queue(AHEAD)
    over = Event()

    def put(item: tuple[bool, Any]) -> None:
        while not over.is_set():
            with suppress(Full):
                waiting.put(item, timeout=0.1)
                return

    def read() -> None:
        try:
            for block in blocks:
                put((True, block))
                if over.is_set():
                    return
            put((False, None))
        except BaseException as error:  # noqa: BLE001  raised again by the reader
            put((False, error))

    thread = Thread(target=read, daemon=True, name="mlreplica-read-ahead")
    thread.start()
    try:
        while True:
            more, block = waiting.get()
            if more:
                yield block
            elif block is None:
                return
            else:
                raise block
    finally:
        over.set()
        while thread.is_alive():
            try:
                waiting.get_nowait()
            except Empty:
                thread.join(timeout=0.1)
