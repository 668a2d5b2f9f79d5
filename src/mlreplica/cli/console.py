"""What the commands share in speaking to a user"""

from difflib import get_close_matches
from math import log10


class CommandError(Exception):
    """Shown as one line, with exit code 1 and without a traceback."""


def listed(names, most=6):
    """Names in quotes, the first few of many."""
    names = list(names)
    return ", ".join(repr(str(n)) for n in names[:most]) + (", …" if len(names) > most else "")


def did_you_mean(name, known):
    """A hint at names that are close, or the first few there are."""
    lower = {str(k).lower(): str(k) for k in known}
    close = [lower[match] for match in get_close_matches(str(name).lower(), lower, n=3)]
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    return f"there are {listed(known)}{'.' if len(known) <= 6 else ''}"


def progress_bar(console, *columns):
    """A bar that goes away when it is full; none at all where nobody watches."""
    from rich.progress import Progress

    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def with_error(value, sd):
    """A number and its spread with the same decimals, four significant digits at least."""
    size = max(abs(value), sd or 0.0, 1e-12)
    if size >= 1e7:
        return f"{value:.3e}" + ("" if sd is None else f" ± {sd:.1e}")
    decimals = max(0, 4 if size < 1 else 3 - int(log10(size)))
    spread = "" if sd is None else f" ± {sd:.{decimals}f}"
    return f"{round(value, decimals) + 0.0:.{decimals}f}{spread}"  # + 0.0: no -0.0000


def duration(seconds):
    """Seconds with a unit that fits."""
    for unit, scale in (("s", 1.0), ("ms", 1e3)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"
