"""Shapley values: contributions of the columns that add up to a prediction

Read `tree_shap.py` first (trees, exactly: a leaf is a box), then `boxes.py` (the boxes of a tree),
`coalitions.py` (any model, by asking it) and `explain.py`, which chooses among them.
"""
