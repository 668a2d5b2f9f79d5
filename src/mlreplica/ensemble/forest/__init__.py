"""Random forests and extra trees

Read `textbook.py` first (the forest in its shortest form), then `base.py` (bootstrap, mean,
out-of-bag), `estimators.py`, `embedding.py` (leaves as columns), `trees.py` (the grower for many
deep trees) and `splits.py` (its search for thresholds).
"""
