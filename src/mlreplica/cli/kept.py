"""Fits of a comparison kept in a file, to go on from"""

import json
from hashlib import sha256
from pathlib import Path

from mlreplica import __version__
from mlreplica.core.compile.cache import user_folder

from .fits import Fit


class Kept:
    """The file for one table and one way to split and judge it; plain values, no code."""

    def __init__(self, path):
        self.path = path

    @classmethod
    def of(cls, file, *how):
        """Its place follows from what the fits depend on."""
        known = [str(file), *map(str, how), __version__]
        if Path(file).is_file():
            about = Path(file).stat()
            known += [str(Path(file).resolve()), str(about.st_size), str(about.st_mtime_ns)]
        name = sha256("\n".join(known).encode()).hexdigest()[:20]
        return cls(user_folder() / "compare" / f"{name}.json")

    def read(self):
        """The fits {(name, fold, rows, rows to judge by): Fit}; none if there is no file."""
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
            return {tuple(key): Fit(**fit) for key, fit in found}
        except (OSError, ValueError, TypeError):
            return {}

    def write(self, fits):
        """Keep them; where that is not possible, go on without."""
        plain = [[key, fit._asdict()] for key, fit in dict(fits).items()]
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(plain), encoding="utf-8")
        except OSError:
            pass
