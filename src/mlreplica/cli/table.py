"""Read a table: a float64 matrix, in which categories are codes, and the column to predict"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from mlreplica.cli.console import Problem, did_you_mean

READERS = {".csv": ",", ".tsv": "\t", ".parquet": None}
MISSING = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?"]


class Table(NamedTuple):
    """What a comparison needs to know of its data."""

    name: str
    X: np.ndarray  # (n, p) float64, NaN where a number is missing
    categorical: np.ndarray  # (p,) bool: the column holds codes; a missing value has its own
    y: np.ndarray  # numbers or text
    target: str
    notes: list


def read_shipped(name):
    """A shipped set; its classes go by their names."""
    from mlreplica import datasets

    bunch = getattr(datasets, f"load_{name}")()
    y = bunch.target
    if "target_names" in bunch and y.dtype.kind == "i":
        y = np.asarray(bunch.target_names)[y].astype(str)
    return Table(name, bunch.data, np.zeros(bunch.data.shape[1], dtype=bool), y, "target", [])


def read_file(path, target=None, drop=()):
    """A file as a table; the target is the last column unless named."""
    frame = read_frame(Path(path))
    for column in drop:
        if column not in frame.columns:
            raise Problem(f"no column {column!r} to drop; {did_you_mean(column, frame.columns)}")
    frame = frame.drop(list(drop))
    notes = []
    if target is None and frame.width:
        target = frame.columns[-1]
        notes.append(f"target: {target!r}, the last column (--target to change)")
    if target not in frame.columns:
        raise Problem(f"no column {target!r} in {path}; {did_you_mean(target, frame.columns)}")
    if frame.width < 2:
        raise Problem(f"{path} has no column besides the target {target!r}.")

    known = frame[target].is_not_null()
    if frame[target].dtype.is_float():
        known &= frame[target].is_not_nan()
    if missing := frame.height - int(known.sum()):
        notes.append(f"{missing} rows without a target left out")
        frame = frame.filter(known)
    if frame.height == 0:
        raise Problem(f"column {target!r} holds no values.")
    y = target_values(frame[target])

    columns, categorical, ignored = [], [], []
    for column in frame.drop(target):
        values, is_category = feature_values(column)
        if values is None:
            ignored.append(column.name)
        else:
            columns.append(values)
            categorical.append(is_category)
    if ignored:
        notes.append(f"ignored, neither numbers nor categories: {', '.join(ignored)}")
    if not columns:
        raise Problem(f"{path} has no usable column besides the target {target!r}.")
    return Table(path.name, np.column_stack(columns), np.array(categorical), y, target, notes)


def read_frame(path):
    """The file as a polars frame."""
    suffix = path.suffix.lower()
    if suffix not in READERS:
        raise Problem(f"cannot read {path}: the name must end in {', '.join(READERS)}.")
    if not path.exists():
        near = [p.name for p in path.parent.glob(f"*{path.suffix}")]
        hint = f"; {did_you_mean(path.name, near)}" if near else "."
        raise Problem(f"no file {path}{hint}")
    if path.is_dir():
        raise Problem(f"{path} is a folder, not a file.")
    if path.stat().st_size == 0:
        raise Problem(f"{path} is empty.")
    try:
        import polars as pl
    except ModuleNotFoundError:
        raise Problem('reading files needs polars; install: pip install "mlreplica[cli]"') from None
    try:
        if suffix == ".parquet":
            frame = pl.read_parquet(path)
        else:
            frame = pl.read_csv(
                path,
                separator=READERS[suffix],
                null_values=MISSING,
                infer_schema_length=None,
            )
    except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise Problem(f"cannot read {path}: {reason}") from None
    if frame.height == 0:
        raise Problem(f"{path} has a header but no rows.")
    return frame


def target_values(column):
    """The target as numbers or text."""
    if column.dtype.is_numeric():
        return column.to_numpy()
    return column.cast(str).to_numpy().astype(str)


def feature_values(column):
    """One column as float64 with its being a category; None for what is neither."""
    import polars as pl

    n, name, dtype = len(column), column.name, column.dtype
    if column.null_count() == n:
        raise Problem(f"column {name!r} holds no values; leave it out by --drop {name!r}.")
    if dtype.is_numeric() or dtype == pl.Boolean or dtype.is_temporal():
        numbers = column.to_physical().cast(pl.Float64).to_numpy().astype(np.float64)
        if np.isinf(numbers).any():
            raise Problem(f"column {name!r} holds infinite values.")
        if np.isnan(numbers).all():
            raise Problem(f"column {name!r} holds no values; leave it out by --drop {name!r}.")
        return numbers, False
    if dtype.is_nested() or dtype == pl.Binary:
        return None, False
    text = column.cast(pl.String)
    if text.n_unique() > max(20, n / 2):  # a name or an identifier
        return None, False
    return np.unique(text.fill_null("").to_numpy().astype(str), return_inverse=True)[1] + 0.0, True
