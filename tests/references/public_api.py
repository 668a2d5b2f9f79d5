"""Write public_api.txt: every public name, its parameters, and the methods and fields of classes

What leaves this list breaks somebody's program. A release that takes something away, or changes a
default, announces it one minor release before by a warning that names the replacement; say so in
CHANGELOG.md, then run this script.
"""

import inspect
import re
from pathlib import Path

from mlreplica.discovery import chapters

FILE = Path(__file__).with_suffix(".txt")
HIDDEN = re.compile("_|set_.*_request$")  # scikit-learn makes the latter


def described(name, thing):
    """A line for a function, and for a class a line for each of its own public members."""
    if inspect.isclass(thing):
        yield f"{name}{signature(thing)}"
        for member in dir(thing):
            owner = next((c for c in thing.__mro__ if member in vars(c)), object)
            if owner.__module__.startswith("mlreplica") and not HIDDEN.match(member):
                found = inspect.getattr_static(thing, member)
                method = getattr(thing, member, None) if not isinstance(found, property) else None
                yield f"{name}.{member}{signature(method) if callable(method) else ''}"
    else:
        yield f"{name}{signature(thing) if callable(thing) else ''}"


def signature(thing):
    """Parameters and defaults, without types; nothing where Python knows none."""
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return "(…)"
    words = [str(p.replace(annotation=inspect.Parameter.empty)) for p in parameters]
    return "(" + ", ".join(word.partition(" at 0x")[0] for word in words) + ")"


def public_api():
    """The lines, in alphabetical order."""
    names = {
        f"{chapter.__name__.partition('.')[2]}.{name}": getattr(chapter, name)
        for chapter in chapters()
        for name in chapter.__all__
        if getattr(getattr(chapter, name), "__module__", "").startswith("mlreplica")
    }
    return [line for name in sorted(names) for line in described(name, names[name])]


if __name__ == "__main__":
    FILE.write_text("\n".join(public_api()) + "\n", encoding="utf-8")
