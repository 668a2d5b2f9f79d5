"""Hierarchical clustering

Read `chain.py` first (merges found by chains of nearest neighbours, and by a spanning tree), then
`structured.py` (merges along a graph), `trees.py` (the functions) and `estimator.py`.
"""
