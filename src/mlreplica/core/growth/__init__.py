"""How trees are grown, walked and pruned

Read `textbook.py` first (a tree in its shortest form), then `grow.py` (the same, compiled),
`splits.py` (what a split is worth), `nodes.py`
(the compiled loop over nodes), `columns.py` (X sorted once for all trees), `categories.py` and
`medians.py` (two kinds of splits with a search of their own), `options.py` (parameters), `tree.py`
(the result, and the path of a row through it) and `pruning.py`.
"""
