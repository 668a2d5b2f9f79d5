r"""Rows that need not fit in memory: blocks of them, walked as often as a solver asks

A source of rows yields blocks (X, y, s): some rows, their targets, their weights. Three kinds of
walk are all that fits ask for, with a function that sees one block at a time:

    sum     Σ_blocks of(block)                  a statistic with +, in any order of blocks
    fold    state ← step(block, state)          one block after another
    map     of(block_1), of(block_2), …         one answer per block

Blocks are read ahead on a thread while the last one is worked on; two wait at most, so memory holds
four blocks whatever the size of the data. An error says which file and which rows it came from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._blocks import Block, as_block, at, at_least_one, read_ahead

BYTES = 1 << 25  # of a block read from a file: 32 MB


class Rows:
    """Rows in blocks, from files or from a function, for every `fit` that needs sums alone.

    Parameters
    ----------
    factory : callable
        Returns an iterator over blocks, anew at each call. A block is X, (X, y) or (X, y, s):
        an array, a frame or a sparse matrix, with targets and weights per row.
    where : str, default="block"
        What messages call a block.

    Attributes
    ----------
    width : int or None
        Number of columns; None before the first walk.
    names : list of str or None
        Their names, if blocks have any.

    Examples
    --------
    >>> import numpy as np
    >>> from mlreplica.linear_model import LinearRegression
    >>> from mlreplica.scale import Rows
    >>> def blocks():
    ...     for k in range(3):
    ...         X = np.arange(4.0 * k, 4.0 * k + 4.0)[:, None]
    ...         yield X, 2.0 * X[:, 0] + 1.0
    >>> rows = Rows.from_iter(blocks)
    >>> model = LinearRegression().fit(rows)
    >>> model.coef_.round(12), round(float(model.intercept_), 12)
    (array([2.]), 1.0)
    """

    dtype = np.dtype(np.float64)  # of what is learnt from them

    def __init__(self, factory: Callable[[], Iterable[Any]], *, where: str = "block") -> None:
        self.factory, self.where = factory, where
        self.width: int | None = None
        self.names: list[str] | None = None

    @classmethod
    def from_iter(cls, factory: Callable[[], Iterable[Any]]) -> Rows:
        """Blocks from a function that returns an iterator over them, anew at each call."""
        if not callable(factory):
            raise TypeError(
                "from_iter takes a function that returns a new iterator, as fits walk over the "
                f"rows more than once; got {type(factory).__name__}."
            )
        return cls(factory)

    @classmethod
    def from_npy(cls, X: Any, y: Any = None, sample_weight: Any = None) -> Rows:
        """Blocks of .npy files, or of arrays.

        Parameters
        ----------
        X, y, sample_weight : path or array
            X of two dimensions, y of one or two, sample_weight of one.
        """
        found = [(None, None) if a is None else readable(a) for a in (X, y, sample_weight)]
        n = len(found[0][0])
        for name, (a, _) in zip(("y", "sample_weight"), found[1:], strict=True):
            if a is not None and len(a) != n:
                raise ValueError(f"X has {n} rows and {name} {len(a)}; they must be as many.")
        size = rows_of_a_block(found[0][0])
        name = str(X) if isinstance(X, str | Path) else "X"

        def blocks() -> Iterator[Block]:
            for start in range(0, n, size):
                stop = min(start + size, n)
                part = (None if read is None else read(start, stop) for _, read in found)
                yield Block(*part, where=f"{name}, rows {start} to {stop - 1}")

        return cls(blocks)

    @classmethod
    def from_parquet(
        cls, pattern: Any, columns: Any = None, target: Any = None, weight: Any = None
    ) -> Rows:
        """Blocks of Parquet files.

        Parameters
        ----------
        pattern : str, path or list of these
            Files, or patterns such as "data/*.parquet".
        columns : list of str, default=None
            The columns of X; None for all others.
        target, weight : str or list of str, str, default=None
            The columns of y and of the weights.
        """
        from ._arrow import parquet_batches, read_columns

        return cls(lambda: read_columns(parquet_batches(pattern, columns, target, weight)))

    @classmethod
    def from_csv(
        cls, pattern: Any, columns: Any = None, target: Any = None, weight: Any = None
    ) -> Rows:
        """Blocks of CSV files with a header; parameters are those of `from_parquet`."""
        from ._arrow import csv_batches, read_columns

        return cls(lambda: read_columns(csv_batches(pattern, columns, target, weight)))

    @classmethod
    def from_arrow(
        cls, source: Any, columns: Any = None, target: Any = None, weight: Any = None
    ) -> Rows:
        """Blocks of an Arrow data set or table, or of a function that returns a batch reader.

        `columns`, `target` and `weight` are those of `from_parquet`.
        """
        from ._arrow import arrow_batches, read_columns

        batches = arrow_batches(source, columns, target, weight)
        return cls(lambda: read_columns(batches()))

    @classmethod
    def from_dask(cls, X: Any, y: Any = None, sample_weight: Any = None) -> Rows:
        """Blocks of Dask collections; walks run where the blocks are."""
        from ._dask import DaskRows

        return DaskRows(X, y, sample_weight)

    def __iter__(self) -> Iterator[Block]:
        """The blocks that have rows, each checked."""
        for number, found in enumerate(read_ahead(self.factory())):
            block = as_block(found, number, f"{self.where} {number}")
            if not block.X.shape[0]:
                continue
            if self.width is None:
                self.width, self.names = block.X.shape[1], block.names
            if block.X.shape[1] != self.width:
                raise ValueError(
                    f"{block.where}: {block.X.shape[1]} columns, {self.width} in blocks before."
                )
            yield block

    def sum(self, of: Callable[..., Any], *args: Any) -> Any:
        """The sum of of(block, *args) over all blocks."""
        return at_least_one(at(of, block, args) for block in self)

    def fold(self, step: Callable[..., Any], state: Any) -> Any:
        """The state after step(block, state) for each block in turn."""
        for block in self:
            state = at(step, block, (state,))
        return state

    def map(self, of: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """of(block, *args) for each block, as it is asked for."""
        return (at(of, block, args) for block in self)

    def mapped(self, of: Callable[..., Any], *args: Any) -> Rows:
        """Rows whose X is of(block, *args); targets and weights stay."""

        def blocks() -> Iterator[Block]:
            return (block._replace(X=at(of, block, args), names=None) for block in self)

        return Rows(blocks)

    def gathered(self) -> Block:
        """All rows as one block in memory."""
        blocks = list(self)
        stack = sp.vstack if any(sp.issparse(b.X) for b in blocks) else np.concatenate
        y, s = (
            None if blocks[0][i] is None else np.concatenate([b[i] for b in blocks]) for i in (1, 2)
        )
        return Block(stack([b.X for b in blocks]), y, s, where="all rows", names=self.names)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            "Rows are never in memory at once; Rows.gathered() loads them, if they fit."
        )


def readable(a: Any) -> tuple[Any, Callable[[int, int], Any]]:
    """An array, or that of a .npy file, and a function that reads the rows from one to another.

    Pages of a mapping would stay in memory, so that a file in the usual order is read instead.
    """
    in_file = isinstance(a, str | Path)
    a = np.load(a, mmap_mode="r") if in_file else np.asanyarray(a)
    if not (in_file and a.flags.c_contiguous):
        return a, lambda start, stop: np.array(a[start:stop])
    each = int(np.prod(a.shape[1:]))

    def read(start: int, stop: int) -> Any:
        at = a.offset + start * each * a.itemsize
        found = np.fromfile(a.filename, a.dtype, (stop - start) * each, offset=at)
        return found.reshape(stop - start, *a.shape[1:])

    return a, read


def rows_of_a_block(X: Any) -> int:
    """How many rows of X make a block."""
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}.")
    return max(1, BYTES // max(1, X.shape[1] * X.dtype.itemsize))
