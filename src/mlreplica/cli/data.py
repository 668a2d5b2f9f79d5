"""Read a file as a polars frame; what a text file says of itself is found out and told

Columns of text files stay text here: `columns` decides what they hold, so that a file read for a
prediction is understood as the file that was learned from.
"""

import codecs
import csv
import gzip
import io
from pathlib import Path

from .console import CommandError, did_you_mean
from .values import pl

TEXT = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
TABLES = (".parquet", ".arrow", ".feather", ".ipc", ".jsonl", ".ndjson", ".json")
SEPARATORS = (",", ";", "\t", "|")
SAID = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
MARKS = [  # byte-order marks
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
]


def read_frame(path, encoding=None):
    """The frame, and notes on how the file was understood."""
    path = Path(path)
    suffix = next((s for s in TEXT + TABLES if path.name.lower().endswith(s)), None)
    if suffix is None:
        raise CommandError(f"cannot read {path}: the name must end in {', '.join(TEXT + TABLES)}.")
    check_file(path)
    if pl is None:
        raise CommandError('reading files needs polars; install: pip install "mlreplica[cli]"')
    try:
        frame, notes = read_text(path, encoding) if suffix in TEXT else (read_table(path), [])
    except PermissionError:
        raise CommandError(f"cannot read {path}: permission denied.") from None
    except (pl.exceptions.PolarsError, OSError, EOFError) as error:
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
    if suffix in (".arrow", ".feather", ".ipc"):
        return pl.read_ipc(path)
    if suffix == ".json":
        return pl.read_json(path)
    return pl.read_ndjson(path, infer_schema_length=None)


def read_text(path, encoding=None):
    """A separated text file: every column as text, missing values as null."""
    raw = path.read_bytes()
    if path.suffix.lower() == ".gz":
        raw = gzip.decompress(raw)
    text, notes = decode(raw, path, encoding)
    lines = text.splitlines()
    if not any(line.strip() for line in lines):
        raise CommandError(f"{path} is empty.")
    separator = sniff(lines[:100], "\t" if ".tsv" in path.name.lower() else ",")
    if separator != "," and ".tsv" not in path.name.lower():
        notes.append(f"separated by {SAID[separator]}")
    check_widths(lines, separator, path)
    frame = pl.read_csv(io.BytesIO(text.encode()), separator=separator, infer_schema_length=0)
    return frame.rename(dict(zip(frame.columns, titles(frame.columns), strict=True))), notes


def titles(names):
    """Names of columns: one that was empty counts, one that was there already gets a number."""
    for k, name in enumerate(names, start=1):
        title, again, number = name.partition("_duplicated_")  # polars has marked them
        title = title.strip() or f"column {k}"
        yield f"{title} ({int(number) + 2})" if again and not title.endswith(f" {k}") else title


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
