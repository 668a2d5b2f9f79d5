"""Clusters as dense regions

Read `textbook.py` first (DBSCAN in plain Python, a point at a time), then `dbscan.py` (the same by
leaves of a tree, on threads, without lists of neighbours). HDBSCAN follows: `reachability.py` (a
spanning tree of mutual reachability distances), `condensed.py` (which branches of it are clusters),
`new_rows.py` (which of them a new row joins) and `hdbscan.py`.
"""
