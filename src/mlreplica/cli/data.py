"""Read a file as a polars frame; what a text file says of itself is found out and told

Columns of text files stay text here: `columns` decides what they hold, so that a file read for a
prediction is understood as the file that was learned from.
"""

import codecs
import csv
import gzip
import io
import sqlite3
import sys
from contextlib import closing
from itertools import pairwise, takewhile
from math import isfinite
from pathlib import Path

from .console import CommandError, did_you_mean, listed
from .values import pl

TEXT = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
TABLES = (".parquet", ".arrow", ".feather", ".ipc", ".jsonl", ".ndjson", ".json")
BOOKS = (".xlsx", ".xls", ".ods")
DATABASES = (".sqlite", ".sqlite3", ".db", ".duckdb")
SQLITE_TABLES = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
SEPARATORS = (",", ";", "\t", "|")
SAID = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
MARKS = [  # byte-order marks
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
]


def read_frame(path, encoding=None, header=None):
    """The frame, and notes on how the file was understood."""
    path, known = Path(path), TEXT + TABLES + BOOKS + DATABASES
    parts = sorted(path.glob("*.parquet")) if path.is_dir() else []
    suffix = next((s for s in known if path.name.lower().endswith(s)), None)
    if suffix is None and not parts and str(path) != "-":
        raise CommandError(f"cannot read {path}: the name must end in {', '.join(known)}.")
    if not parts and str(path) != "-":
        check_file(path)
    if pl is None:
        raise CommandError('reading files needs polars; install: pip install "mlreplica[cli]"')
    try:
        if parts:
            frame, notes = pl.read_parquet(parts), [f"{len(parts)} Parquet files as one table"]
        elif suffix in TEXT or str(path) == "-":
            frame, notes = read_text(path, encoding, header)
        else:
            frame, notes = read_table(path), []
    except ModuleNotFoundError as missing:
        other = "save the sheet as CSV" if suffix in BOOKS else "export the table as Parquet"
        raise CommandError(
            f"cannot read {path}: install what reads it: pip install {missing.name}; or {other}."
        ) from None
    except PermissionError:
        raise CommandError(f"cannot read {path}: permission denied.") from None
    except (pl.exceptions.PolarsError, OSError, EOFError, sqlite3.Error) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise CommandError(f"cannot read {path}: {reason}") from None
    if frame.height == 0:
        raise CommandError(f"{path} has a header but no rows.")
    return frame, notes


def check_file(path):
    """A CommandError unless there is something to read."""
    if not path.exists():
        near = [p.name for p in path.parent.glob(f"*{path.suffix}")]
        hint = f"; {did_you_mean(path.name, near)}" if near else "."
        raise CommandError(f"no file {path}{hint}")
    if path.is_dir():
        raise CommandError(f"{path} is a folder, not a file.")
    if path.stat().st_size == 0:
        raise CommandError(f"{path} is empty.")


def read_table(path):
    """A file that carries its types."""
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return pl.read_parquet(path)
    if suffix in BOOKS:
        return pl.read_excel(path)
    if suffix in DATABASES:
        return read_database(path)
    if suffix in (".arrow", ".feather", ".ipc"):
        return pl.read_ipc(path)
    if suffix == ".json":
        return pl.read_json(path)
    return pl.read_ndjson(path, infer_schema_length=None)


def read_database(path):
    """The only table of an SQLite or DuckDB file."""
    duck = path.suffix.lower() == ".duckdb"
    with closing(open_duck(path) if duck else open_sqlite(path)) as database:
        asked = "SHOW TABLES" if duck else SQLITE_TABLES
        found = database.execute(asked).fetchall()
        names = [name for (name,) in found if not name.startswith("sqlite_")]
        if len(names) != 1:
            raise CommandError(
                f"{path} holds {len(names)} tables ({listed(names)}); one is wanted: write it to a "
                "file of its own."
            )
        quoted = names[0].replace('"', '""')
        rows = database.execute(f'SELECT * FROM "{quoted}"')
        header = [column[0] for column in rows.description]
        return pl.DataFrame(rows.fetchall(), header, orient="row", infer_schema_length=None)


def open_sqlite(path):
    """A connection that only reads."""
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)


def open_duck(path):
    """The same to a DuckDB file, by the package duckdb."""
    import duckdb

    try:
        return duckdb.connect(str(path), read_only=True)
    except duckdb.Error as error:
        raise OSError(error) from None


def read_text(path, encoding=None, header=None):
    """A separated text file: every column as text, missing values as null."""
    raw = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    if path.suffix.lower() == ".gz":
        raw = gzip.decompress(raw)
    text, notes = decode(raw, path, encoding)
    lines = text.splitlines()
    if not any(line.strip() for line in lines):
        raise CommandError(f"{path} is empty.")
    remarks = len(list(takewhile(lambda line: line.startswith("#"), lines)))
    if remarks == len(lines):
        raise CommandError(f"{path} is empty but for remarks.")
    if remarks:
        notes.append(f"lines that begin with # left out, as the first {remarks} do")
        lines = [line for line in lines if not line.startswith("#")]
        text = "\n".join(lines)
    separator = sniff(lines[:100], "\t" if ".tsv" in path.name.lower() else ",")
    if separator != "," and ".tsv" not in path.name.lower():
        notes.append(f"separated by {SAID[separator]}")
    if text.count('"') % 2:
        check_quotes(lines, separator, path)
    check_widths(lines, separator, path)
    source = io.BytesIO(text.encode())
    headed = has_header(lines[:100], separator) if header is None else header
    frame = pl.read_csv(source, separator=separator, infer_schema_length=0, has_header=headed)
    if not headed:
        why = ", as the first line holds numbers (--header to change)" * (header is None)
        notes.append(f"no header{why}: columns are named by their place")
        return frame.rename({name: f"column {k}" for k, name in enumerate(frame.columns, 1)}), notes
    return frame.rename(dict(zip(frame.columns, titles(frame.columns), strict=True))), notes


def titles(names):
    """Names of columns: one that was empty counts, one that was there already gets a number."""
    for k, name in enumerate(names, start=1):
        title, again, number = name.partition("_duplicated_")  # polars has marked them
        title = title.strip() or f"column {k}"
        yield f"{title} ({int(number) + 2})" if again and not title.endswith(f" {k}") else title


def has_header(lines, separator):
    """Whether the first line names the columns: no number in it, unless numbers count up by 1."""
    rows = [row for row in csv.reader(lines, delimiter=separator) if row]
    numbers = [(k, float(cell)) for k, cell in enumerate(rows[0]) if is_number(cell)]
    if not numbers or len(rows) < 2:
        return True
    if len(numbers) > 2 and all(b - a == 1 for (_, a), (_, b) in pairwise(numbers)):
        return True  # years, or numbered columns
    below = [[row[k] for row in rows[1:] if len(row) > k] for k, _ in numbers]
    return not any(all(is_number(cell) or not cell.strip() for cell in cells) for cells in below)


def is_number(text):
    """Whether a cell is written as a number."""
    try:
        return isfinite(float(text))
    except ValueError:
        return False


def check_quotes(lines, separator, path):
    """A CommandError that names the line where a quote opens that is never closed."""
    rows, begin = csv.reader((f"{line}\n" for line in lines), delimiter=separator, strict=True), 1
    try:
        for _ in rows:
            begin = rows.line_num + 1
    except csv.Error as error:
        if "unexpected end" in str(error):
            raise CommandError(
                f"cannot read {path}: line {begin} opens a quote that is never closed."
            ) from None


def check_widths(lines, separator, path):
    """A CommandError if a line has more fields than the header; quotes make it slower to know."""
    width = lines[0].count(separator)
    if all(line.count(separator) <= width for line in lines):
        return
    rows = csv.reader(lines, delimiter=separator)
    width = len(next(rows))
    for row in rows:
        if len(row) > width:
            raise CommandError(
                f"cannot read {path}: line {rows.line_num} has {len(row)} fields, "
                f"the header {width}; is a text with {SAID[separator]} in it without quotes?"
            )


def decode(raw, path, encoding=None):
    """The bytes as text: as told, by the byte-order mark, as UTF-8, as Windows-1252."""
    if encoding is not None:
        try:
            return raw.decode(encoding), []
        except LookupError:
            raise CommandError(f"no encoding {encoding!r}; try utf-8, latin-1, utf-16.") from None
        except UnicodeError:
            raise CommandError(
                f"{path} is not {encoding}; leave --encoding out to guess it."
            ) from None
    marked = next((name for mark, name in MARKS if raw.startswith(mark)), None)
    try:
        if marked:
            return raw.decode(marked), [f"a byte-order mark says {marked.removesuffix('-sig')}"]
        if b"\0" in raw[:4096]:
            raise CommandError(f"cannot read {path}: it is not text; is its name right?")
        return raw.decode("utf-8"), []
    except UnicodeError:
        pass
    try:
        return raw.decode("cp1252"), ["not UTF-8: read as Windows-1252 (--encoding to change)"]
    except UnicodeError:
        raise CommandError(
            f"cannot read {path}: neither UTF-8 nor Windows-1252; give its --encoding."
        ) from None


def sniff(lines, usual):
    """The separator that cuts the most lines alike; `usual` where nothing is cut."""

    def alike(separator):
        widths = [len(row) for row in csv.reader(lines, delimiter=separator) if row]
        width = widths[0]
        return (width > 1) * widths.count(width) / len(widths), width

    return max((usual, *SEPARATORS), key=alike)
