"""Space: which points are near, found without looking at all of them

Read `tree.py` (boxes or balls around ever fewer points), `walk.py` (a query visits the near ones
and leaves out the far ones), `products.py` (many queries at once by matrix products, when space has
too many dimensions for trees) and `index.py`, which chooses among them: `NeighbourIndex` is what
chapters use.
"""

from .index import NeighbourIndex as NeighbourIndex
from .tree import SpaceTree as SpaceTree
