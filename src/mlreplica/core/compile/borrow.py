"""Borrowed arrays: kernels that make no array need not count who uses theirs"""

from __future__ import annotations

OPTIONS = {"_nrt": False}  # Numba's run-time, which counts and frees


def trial() -> None:
    """Raise unless a kernel compiles with OPTIONS."""
    from .layers import try_options

    try_options(OPTIONS)
