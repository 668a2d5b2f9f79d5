"""Least squares

Read `direct.py` first (normal equations and QR, and when each keeps the digits), then `refine.py`
(iterative refinement), `sparse.py`, `descent.py` (gradient descent and SGD), `linear_regression.py`
(the estimator) and `summary.py` (standard errors and tests).
"""
