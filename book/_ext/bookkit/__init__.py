"""What a page of the book calls in its code cells; the modules beside this one extend Sphinx."""

from bookkit.figure import PALETTE, figure
from bookkit.player import contour, curve, fit, lines, matrix, path, plane, player, strip, table

__all__ = [
    "PALETTE",
    "contour",
    "curve",
    "figure",
    "fit",
    "lines",
    "matrix",
    "path",
    "plane",
    "player",
    "strip",
    "table",
]
