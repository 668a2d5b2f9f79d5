"""Write files, or say why not"""

from os import W_OK, access
from pathlib import Path

from .console import CommandError


def check_writable(path):
    """A CommandError before the work is done, rather than after it."""
    path = Path(path)
    if path.is_dir():
        raise CommandError(f"cannot write {path}: it is a folder; give the name of a file.")
    if not path.parent.exists():
        raise CommandError(f"cannot write {path}: there is no folder {path.parent}.")
    if not access(path if path.exists() else path.parent, W_OK):
        raise CommandError(f"cannot write {path}: permission denied.")


def write_text(path, text):
    """Write a text file as UTF-8."""
    check_writable(path)
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror}.") from None


def check_model_name(path):
    """A CommandError for a name that promises another format, as of a pickle or a table."""
    path = Path(path)
    if path.suffix.lower() not in ("", ".skops"):
        raise CommandError(
            f"cannot write {path}: models are kept in skops files, as data, not as a pickle; "
            f"name it {path.with_suffix('.skops').name}."
        )
