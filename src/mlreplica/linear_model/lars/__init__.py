"""Least angle regression and the lasso's exact path

Read `homotopy.py` first: the path from the largest α down to any other, piece by piece. `path.py`
has it as functions, `estimators.py` the estimators for one α, `cv.py` and `criterion.py` those that
choose α by cross-validation or by an information criterion.
"""
