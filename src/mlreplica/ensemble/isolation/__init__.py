"""Isolation forest

Read `trees.py` first (random cuts), then `forest.py` (the estimator) and `members.py` (trees one
by one).
"""
