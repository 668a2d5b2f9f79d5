"""What the commands share in speaking to a user"""

from difflib import get_close_matches

from rich.progress import Progress


class Problem(Exception):  # noqa: N818  a user's problem, not an error of ours
    """Shown as one line, with exit code 1 and without a traceback."""


def did_you_mean(name, known):
    """A hint at names that are close, or the first few there are."""
    lower = {str(k).lower(): str(k) for k in known}
    close = [lower[match] for match in get_close_matches(str(name).lower(), lower, n=3)]
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    first = [repr(str(k)) for k in list(known)[:6]]
    return f"there are {', '.join(first)}{', …' if len(known) > 6 else ''}."


def progress_bar(console, *columns):
    """A bar that goes away when it is full; none at all where nobody watches."""
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
