"""`mlreplica book`: the copy that a wheel carries, or a checkout's, built if need be"""

import shutil
import subprocess
import sys
from pathlib import Path

import mlreplica
from mlreplica.discovery import cards

from .console import CommandError, did_you_mean

PACKAGE = Path(mlreplica.__file__).parent
CHECKOUT = PACKAGE.parents[1]
SHIPPED, BUILT = PACKAGE / "_book", CHECKOUT / "book" / "_build" / "html"


def find_site(rebuild=False):
    """The folder of the built book; in a checkout without one, `make book` makes it."""
    for folder in () if rebuild else (SHIPPED, BUILT):
        if (folder / "index.html").exists():
            return folder
    if not (CHECKOUT / "book" / "conf.py").exists():
        raise CommandError(
            "this installation has no book; clone the repository and run `make book`."
        )
    if missing := [name for name in ("make", "npm", "node") if not shutil.which(name)]:
        raise CommandError(f"building the book needs {' and '.join(missing)} on the path.")
    made = subprocess.run(["make", "book", f"PYTHON={sys.executable}"], cwd=CHECKOUT, check=False)
    if made.returncode:
        raise CommandError("the book did not build; `pip install --group book` has what it needs.")
    return BUILT


def find_page(site, name):
    """The file of a page by its name, `smo`, or by that of a model it explains, `SVC`."""
    pages = {path.stem: path for path in site.glob("*.html")}
    explained = {card.name: card.page for card in cards()}
    page = pages.get(name) or pages.get(explained.get(name))
    if page is None:
        raise CommandError(f"the book has no page {name!r}: {did_you_mean(name, sorted(pages))}")
    return page
