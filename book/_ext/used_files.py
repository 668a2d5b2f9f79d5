"""Which files a kernel has used: what the cached outputs of a page depend on.

The kernel imports this module before anything else, so that it hears of every file that is opened.
A program that is started may use any file: then `EVERYTHING` is among the names.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EVERYTHING = "*"
STARTS = {"subprocess.Popen", "os.system", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec"}
OTHERS = {"_build", "node_modules", "__pycache__", ".git"}
read, written = set(), set()


def hear(event, arguments):
    """Note what an audit event of Python tells."""
    if event == "open" and isinstance(arguments[0], str):
        writes = set("wax+") & set(arguments[1] or "")
        (written if writes else read).add(arguments[0])
    elif event in STARTS:
        read.add(EVERYTHING)


def used(root=ROOT):
    """The names of the project's own files that were imported or read, below `root`.

    Source that was read but not imported changes no output: a hash of the whole package was taken.
    """
    names = {getattr(module, "__file__", None) for module in list(sys.modules.values())} - {None}
    names |= {name for name in read if not name.endswith((".py", EVERYTHING))}
    found = {EVERYTHING} & read
    for path in {Path(name).resolve() for name in names}:
        if path.is_relative_to(root) and path.is_file():
            below = path.relative_to(root)
            if not OTHERS & set(below.parts):
                found.add(below.as_posix())
    return sorted(found)


def made():
    """The names of the files that were written for the site."""
    folder = Path(os.environ["MLREPLICA_BOOK_FILES"])
    paths = {Path(name).absolute() for name in written}
    return sorted(
        p.relative_to(folder).as_posix() for p in paths if p.is_relative_to(folder) and p.is_file()
    )


sys.addaudithook(hear)
