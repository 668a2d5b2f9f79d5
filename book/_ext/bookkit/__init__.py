"""What a page of the book calls in its code cells; the modules beside this one extend Sphinx."""

from bookkit.figure import PALETTE, figure
from bookkit.player import (
    bars,
    box,
    chain,
    contour,
    curve,
    fit,
    level_lines,
    lines,
    margins,
    matrix,
    path,
    plane,
    player,
    sequence,
    strip,
    table,
    tree,
)

__all__ = [
    "PALETTE",
    "bars",
    "box",
    "chain",
    "contour",
    "curve",
    "figure",
    "fit",
    "level_lines",
    "lines",
    "margins",
    "matrix",
    "path",
    "plane",
    "player",
    "sequence",
    "strip",
    "table",
    "tree",
]
