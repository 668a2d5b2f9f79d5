"""Blocks from Parquet, CSV and Arrow: record batches as arrays, read by pyarrow"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from glob import glob
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ._blocks import Block
from ._rows import BYTES

TEXT = 1 << 23  # bytes of text in a block: about as many numbers as elsewhere


class Part(NamedTuple):
    """A record batch, and which of its columns are what."""

    batch: Any
    columns: list[str]
    target: Any
    weight: str | None
    where: str


def files_of(pattern: Any) -> list[str]:
    """The files that patterns name, in the order of their names."""
    patterns = [pattern] if isinstance(pattern, str | Path) else list(pattern)
    files = [name for one in patterns for name in sorted(glob(str(one)))]  # noqa: PTH207  any depth
    if not files:
        raise FileNotFoundError(f"no file is named {pattern!r}.")
    return files


def roles(names: list[str], columns: Any, target: Any, weight: Any) -> tuple[list[str], list[str]]:
    """The columns of X, and all columns to read."""
    targets = [] if target is None else [target] if isinstance(target, str) else list(target)
    others = [*targets, *([] if weight is None else [weight])]
    chosen = [name for name in names if name not in others] if columns is None else list(columns)
    missing = [name for name in [*chosen, *others] if name not in names]
    if missing:
        raise ValueError(f"no column is named {missing[0]!r}; there are {', '.join(names)}.")
    return chosen, [*chosen, *others]


def parquet_batches(pattern: Any, columns: Any, target: Any, weight: Any) -> Iterator[Part]:
    """The record batches of Parquet files."""
    import pyarrow.parquet as pq

    for name in files_of(pattern):
        with pq.ParquetFile(name) as file:
            chosen, read = named(roles, name, file.schema_arrow.names, columns, target, weight)
            size, start = max(1, BYTES // (8 * max(1, len(read)))), 0
            for batch in file.iter_batches(size, columns=read):
                stop = start + batch.num_rows
                yield Part(batch, chosen, target, weight, f"{name}, rows {start} to {stop - 1}")
                start = stop


def csv_batches(pattern: Any, columns: Any, target: Any, weight: Any) -> Iterator[Part]:
    """The record batches of CSV files; what begins with numbers is read as floats."""
    import pyarrow as pa
    from pyarrow import csv

    options = csv.ReadOptions(block_size=TEXT)
    for name in files_of(pattern):
        start = 0
        try:
            with csv.open_csv(name) as file:
                schema = file.schema
            chosen, read = named(roles, name, schema.names, columns, target, weight)
            types = {f.name: pa.float64() for f in schema if pa.types.is_integer(f.type)}
            convert = csv.ConvertOptions(
                include_columns=read, column_types={c: types[c] for c in read if c in types}
            )
            with csv.open_csv(name, options, convert_options=convert) as file:
                for batch in file:
                    stop = start + batch.num_rows
                    yield Part(batch, chosen, target, weight, f"{name}, rows {start} to {stop - 1}")
                    start = stop
        except pa.ArrowInvalid as error:
            raise ValueError(f"{name}, after row {start}: {error}") from error


def arrow_batches(
    source: Any, columns: Any, target: Any, weight: Any
) -> Callable[[], Iterator[Part]]:
    """A function that returns the record batches of a data set, a table or a new reader."""
    import pyarrow as pa

    if isinstance(source, pa.RecordBatchReader):
        raise TypeError(
            "a RecordBatchReader can be read once, and fits walk over the rows more often; give a "
            "function that returns a new reader."
        )

    def batches() -> Iterator[Part]:
        found = source() if callable(source) else source
        chosen, read = roles(found.schema.names, columns, target, weight)
        if hasattr(found, "to_batches"):  # a data set reads only these columns
            lazily = hasattr(found, "scanner")
            found = found.to_batches(columns=read) if lazily else found.select(read).to_batches()
        start = 0
        for batch in found:
            stop = start + batch.num_rows
            yield Part(batch, chosen, target, weight, f"rows {start} to {stop - 1}")
            start = stop

    return batches


def read_columns(parts: Iterator[Part]) -> Iterator[Block]:
    """Record batches as blocks of numbers."""
    for batch, columns, target, weight, where in parts:
        X = np.empty((batch.num_rows, len(columns)))
        for j, name in enumerate(columns):
            X[:, j] = named(numbers_of, where, batch.column(name), name)
        several = [] if target is None or isinstance(target, str) else list(target)
        y = None if target is None else values_of(batch.column(target)) if not several else None
        if several:
            y = np.column_stack([named(numbers_of, where, batch.column(t), t) for t in several])
        s = None if weight is None else named(numbers_of, where, batch.column(weight), weight)
        yield Block(X, y, s, where=where, names=columns)


def values_of(column: Any) -> Any:
    """A column as an array; of several batches' dictionaries, the values."""
    column = column.dictionary_decode() if hasattr(column, "dictionary_decode") else column
    return column.to_numpy(zero_copy_only=False)


def numbers_of(column: Any, name: str) -> Any:
    """A column of numbers as floats, NaN where there is none."""
    values = values_of(column)
    if values.dtype.kind not in "fiub":
        try:
            values = values.astype(np.float64)  # numbers and gaps, as objects
        except (TypeError, ValueError):
            raise ValueError(
                f"column {name!r} holds {column.type}, not numbers; leave it out by columns=…, or "
                "encode it first."
            ) from None
    return values


def named(work: Callable[..., Any], where: str, *args: Any) -> Any:
    """work(*args); an error names the place."""
    try:
        return work(*args)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
