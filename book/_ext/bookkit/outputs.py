"""Run the cells of a page, or take their outputs from the last time nothing was different.

A page is run again when its code, a file of the project that its run used, or the version of a
package has changed. The outputs, the names and hashes of those files, and what the cells wrote for
the site (long recordings) lie in `_build/cells`, in a folder named by the hash of the code.
"""

import hashlib
import json
import shutil
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import nbformat
from myst_nb import sphinx_
from myst_nb.core.execute.base import NotebookClientBase
from myst_nb.core.execute.direct import NotebookClientDirect
from used_files import EVERYTHING, ROOT

from bookkit.assets import BOOK, STATIC

CELLS = BOOK / "_build" / "cells"
PACKAGES = ["numpy", "scipy", "numba", "scikit-learn", "matplotlib", "polars", "ipykernel"]
LAST_CELL = "import json, used_files; print(json.dumps([used_files.used(), used_files.made()]))"


@cache
def hash_of(name):
    """The hash of a file of the project; of all Python files for `EVERYTHING`; "" if it is gone."""
    if name == EVERYTHING:
        names = [p.relative_to(ROOT).as_posix() for p in sorted((ROOT / "src").rglob("*.py"))]
        return digest("".join(name + hash_of(name) for name in names))
    path = ROOT / name
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def digest(text):
    """A short hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:24]


@cache
def versions():
    """Python and the packages on whose versions outputs depend."""
    found = [sys.version]
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} absent")
    return found


def place(notebook):
    """The folder where the outputs of a notebook are kept."""
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    return CELLS / digest(json.dumps([code, versions()]))


def kept_outputs(folder):
    """The outputs of every cell, if they are there and no file they used has changed; or None."""
    record = folder / "record.json"
    if not record.exists():
        return None
    known = json.loads(record.read_text(encoding="utf-8"))
    if any(hash_of(name) != value for name, value in known["files"].items()):
        return None
    for name in known["made"]:
        copy(folder / "made" / name, STATIC / name)
    return known


def copy(source, target):
    """Copy a file, with the folders it needs."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def keep(folder, cells, language, files, made):
    """Keep the outputs of a run."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in made:
        copy(STATIC / name, folder / "made" / name)
    record = {
        "files": {name: hash_of(name) for name in files},
        "made": made,
        "language": language,
        "outputs": [[c.get("execution_count"), c.outputs] for c in cells],
    }
    text = json.dumps(record)
    (folder / "record.json").write_text(text, encoding="utf-8")


class CachedClient(NotebookClientDirect):
    """Runs a notebook unless its outputs are known."""

    def start_client(self):
        """Fill in the outputs."""
        cells = [cell for cell in self.notebook.cells if cell.cell_type == "code"]
        if not cells:
            return
        folder = place(self.notebook)
        known = kept_outputs(folder)
        if known is None:
            self.notebook.cells.append(nbformat.v4.new_code_cell(LAST_CELL))
            super().start_client()
            last = self.notebook.cells.pop()
            if not self.exec_metadata["succeeded"]:
                return
            files, made = json.loads(last.outputs[0]["text"])
            language = self.notebook.metadata.get("language_info", {})
            keep(folder, cells, language, files, made)
            return
        for cell, (count, outputs) in zip(cells, known["outputs"], strict=True):
            cell.execution_count = count
            cell.outputs = [nbformat.from_dict(output) for output in outputs]
        self.notebook.metadata["language_info"] = nbformat.from_dict(known["language"])


def client(notebook, source, config, logger, read_format=None):
    """What MyST-NB calls to run the notebook of a page."""
    kind = NotebookClientBase if config.execution_mode == "off" else CachedClient
    return kind(notebook, Path(source), config, logger)


def forget_unused(app, exception):
    """Remove recordings that no page plays any more, from the site and from its making."""
    if exception or app.builder.name != "html" or "**" not in app.config.include_patterns:
        return
    html = "".join(path.read_text(encoding="utf-8") for path in app.outdir.glob("*.html"))
    for folder in (STATIC / "players", app.outdir / "_static" / "players"):
        for path in folder.glob("*.js"):
            if path.name not in html:
                path.unlink()


def setup(app):
    """Run pages through the cache."""
    sphinx_.create_client = client
    hash_of.cache_clear()
    app.connect("build-finished", forget_unused)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
